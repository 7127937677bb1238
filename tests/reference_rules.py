"""The rules and linear learners of the slow twin (`reference`), in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Row = Sequence[Any]
Vector = list[Any]


def dot(a: Row, b: Row) -> Any:
    return sum(p * q for p, q in zip(a, b, strict=True))


# -- rules -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Perceptron:
    """A row with y·f ≤ τ_y makes a step of η: Rosenblatt at τ = 0, else the perceptron with (uneven) margins."""

    low: Any = 0
    high: Any = 0
    rate: Any = 1  # a number, "1/t", "1/sqrt(t)", "line-search" (batch) or a function of the epoch

    def asked(self, side: Any) -> Any:
        return self.high if side > 0 else self.low

    def learns(self, margin: Any, lack: Any) -> bool:
        return lack >= 0

    def satisfied(self, margin: Any, lack: Any) -> bool:
        return lack < 0

    def size(self, lack: Any, norm2: Any, t: int, epoch: int) -> Any:
        if callable(self.rate):
            return self.rate(epoch)
        return {"1/t": 1 / t, "1/sqrt(t)": 1 / math.sqrt(t)}.get(self.rate, self.rate)

    def learner(self, K: int, d: int, c: Any, scheme: str) -> Linear:
        return Linear(self, K, d, c)


@dataclass(frozen=True)
class PassiveAggressive:
    """The smallest step that makes good what a row lacks of margin 1, or of distance ε in regression."""

    variant: str = "PA"
    C: Any = 1
    epsilon: Any = None

    def asked(self, side: Any) -> Any:
        return 1 if self.epsilon is None else -self.epsilon

    def learns(self, margin: Any, lack: Any) -> bool:
        return lack > 0

    def satisfied(self, margin: Any, lack: Any) -> bool:
        return margin > 0 if self.epsilon is None else lack <= 0

    def size(self, lack: Any, norm2: Any, t: int, epoch: int) -> Any:
        if self.variant == "PA-II":
            return lack / (norm2 + 1 / (2 * self.C))
        if norm2 == 0:
            return 0
        return lack / norm2 if self.variant == "PA" else min(self.C, lack / norm2)

    def learner(self, K: int, d: int, c: Any, scheme: str) -> Linear:
        return Linear(self, K, d, c)


@dataclass(frozen=True)
class AROW:
    """If y·f < 1: w += (1 − y·f) β y Σx, Σ −= β Σx xᵀΣ, β = 1/(xᵀΣx + r)."""

    r: float = 1.0
    full: bool = False

    def asked(self, side: Any) -> Any:
        return 1

    def learns(self, margin: Any, lack: Any) -> bool:
        return lack > 0

    def satisfied(self, margin: Any, lack: Any) -> bool:
        return margin > 0

    def learner(self, K: int, d: int, c: Any, scheme: str) -> Gaussian:
        return Gaussian(K, d, c, 1.0, self.r, self.full)


@dataclass(frozen=True)
class SecondOrder:
    """f = vᵀ(A + xxᵀ)⁻¹x; on a mistake v += yx, A += xxᵀ."""

    a: float = 1.0
    full: bool = False

    def asked(self, side: Any) -> Any:
        return 0

    def learns(self, margin: Any, lack: Any) -> bool:
        return lack >= 0

    def satisfied(self, margin: Any, lack: Any) -> bool:
        return lack < 0

    def learner(self, K: int, d: int, c: Any, scheme: str) -> Gaussian | Whitened:
        # Of many classes two move at once, and their matrices would grow into one of (K·d)²: the form that keeps one
        # a class is AROW's step, taken on mistakes.
        if self.full and scheme == "multinomial":
            return Gaussian(K, d, c, 1 / self.a, 1.0, True)
        return Whitened(K, d, c, self.a, self.full)


Rule = Perceptron | PassiveAggressive | AROW | SecondOrder


# -- learners --------------------------------------------------------------------------------------------------------


@dataclass
class Wish:
    """What a row asks for: planes to move, each up or down, since it lacks so much of its margin."""

    moves: list[tuple[int, int]]
    margin: Any
    lack: Any


class Linear:
    """K planes w, b; a step moves w by size·x and b by size·c."""

    def __init__(self, rule: Any, K: int, d: int, c: Any) -> None:
        self.rule, self.c = rule, c
        self.w: list[Vector] = [[0] * d for _ in range(K)]
        self.b: Vector = [0] * K

    def scores(self, x: Row) -> Vector:
        return [dot(w, x) + b for w, b in zip(self.w, self.b, strict=True)]

    def step(self, x: Row, wish: Wish, share: Any, t: int, epoch: int) -> bool:
        norm2 = len(wish.moves) * (dot(x, x) + self.c)  # the bias is a feature of value √c
        size = share * self.rule.size(wish.lack, norm2, t, epoch)
        for k, sign in wish.moves:
            self.w[k] = [w + sign * size * p for w, p in zip(self.w[k], x, strict=True)]
            self.b[k] = self.b[k] + sign * size * self.c
        return size != 0

    def planes(self) -> tuple[list[Vector], Vector]:
        return [list(w) for w in self.w], list(self.b)


class Gaussian:
    """Means and covariances, the bias as the last feature: AROW."""

    def __init__(self, K: int, d: int, c: Any, variance: float, r: float, full: bool) -> None:
        self.c, self.r, self.full = float(c), r, full
        self.mean = np.zeros((K, d + 1))
        self.cov = [variance * np.eye(d + 1) for _ in range(K)]

    def scores(self, x: Row) -> Vector:
        return [float(mean @ self._hat(x)) for mean in self.mean]

    def step(self, x: Row, wish: Wish, share: Any, t: int, epoch: int) -> bool:
        hat = self._hat(x)
        q = sum(hat @ self.cov[k] @ hat for k, _ in wish.moves)
        beta = share / (share * q + self.r)
        for k, sign in wish.moves:
            g = self.cov[k] @ hat
            self.mean[k] += sign * (1 - wish.margin) * beta * g
            shrink = beta * np.outer(g, g)
            self.cov[k] -= shrink if self.full else np.diag(np.diag(shrink))
        return True

    def planes(self) -> tuple[list[Vector], Vector]:
        return self.mean[:, :-1].tolist(), (self.mean[:, -1] * (math.sqrt(self.c) or 1)).tolist()

    def _hat(self, x: Row) -> Any:
        return np.array([*x, math.sqrt(self.c)], dtype=np.float64)


class Whitened:
    """v and A, the bias as the last feature: the second-order perceptron as its paper has it."""

    def __init__(self, K: int, d: int, c: Any, a: float, full: bool) -> None:
        self.c, self.full = float(c), full
        self.v = np.zeros((K, d + 1))
        self.A = [a * np.eye(d + 1) for _ in range(K)]

    def scores(self, x: Row) -> Vector:
        hat, outer = self._hat(x)
        if not self.full:  # the diagonal form answers by its plane: v_j x_j/(a_j + x_j²) could differ from it in sign
            outer = 0 * outer
        return [float(v @ np.linalg.inv(A + outer) @ hat) for v, A in zip(self.v, self.A, strict=True)]

    def step(self, x: Row, wish: Wish, share: Any, t: int, epoch: int) -> bool:
        hat, outer = self._hat(x)
        for k, sign in wish.moves:
            self.v[k] += share * sign * hat
            self.A[k] = self.A[k] + share * outer
        return True

    def planes(self) -> tuple[list[Vector], Vector]:
        w = np.array([np.linalg.solve(A, v) for v, A in zip(self.v, self.A, strict=True)])
        return w[:, :-1].tolist(), (w[:, -1] * (math.sqrt(self.c) or 1)).tolist()

    def _hat(self, x: Row) -> tuple[Any, Any]:
        hat = np.array([*x, math.sqrt(self.c)], dtype=np.float64)
        return hat, np.outer(hat, hat) if self.full else np.diag(hat * hat)
