"""The learners once more, in fractions: slow, and without rounding.

The same rules, orders and stops as the compiled learners, for the numbers that a lecture works out by hand. Arrays
hold `Fraction` objects; a machine's planes are W (K, d) and b (K,).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.data.examples import Examples
from rosenblatt.learn.evaluation import Problem
from rosenblatt.learn.online.rules import AROWRule, PassiveAggressiveRule, PerceptronRule, Rule, SecondOrderRule
from rosenblatt.learn.online.solver import MOST_WATCHED, Plan, problems
from rosenblatt.learn.orders import visited
from rosenblatt.learn.repeated_visits import Repeats
from rosenblatt.learn.schemes import Scheme
from rosenblatt.show.number_format import as_fraction

Array = np.ndarray[Any, Any]
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Wish:
    """What a row asks of planes: which to move, up or down, for a margin that is so much too small."""

    moves: tuple[tuple[int, int], ...]
    margin: Fraction
    lack: Fraction
    stands: bool = False  # the tie rule of many classes answers it rightly


@dataclass
class Machine:
    """One learner, as its planes and whatever else its rule remembers."""

    W: Array
    b: Array
    rule: Rule
    rate: Any
    c: Fraction  # what stands for 1 in the bias
    scheme: Scheme
    total: Array = field(init=False)  # Σ clock·Δ, for the average
    total_b: Array = field(init=False)
    updates: int = 0
    clock: Fraction = ZERO

    def __post_init__(self) -> None:
        self.total, self.total_b = self.W * 0, self.b * 0

    def planes(self) -> tuple[Array, Array]:
        """W and b."""
        return self.W, self.b

    def scores(self, x: Array) -> Array:
        """The score of a row, one a plane."""
        return self.W @ x + self.b

    def average(self) -> tuple[Array, Array]:
        """(N·w − u)/N after N visits."""
        clock = max(self.clock, ONE)
        return self.W - self.total / clock, self.b - self.total_b / clock

    def learns(self, wish: Wish) -> bool:
        """Whether the rule grants the wish."""
        if isinstance(self.rule, PerceptronRule | SecondOrderRule):
            return wish.lack >= 0 and not wish.stands
        return wish.lack > 0

    def violates(self, wish: Wish) -> bool:
        """Whether the wish shows that the learner has not converged."""
        if isinstance(self.rule, PerceptronRule):
            return wish.lack >= 0 and not wish.stands
        if isinstance(self.rule, PassiveAggressiveRule) and self.rule.epsilon >= 0:
            return wish.lack > 0
        return wish.margin <= 0 and not wish.stands

    def size(self, wish: Wish, x: Array, epoch: int) -> Fraction:
        """How far the rule goes: `learn.online.first_order.size`, in fractions."""
        if isinstance(self.rule, PerceptronRule):
            return self.rate_at(epoch)
        assert isinstance(self.rule, PassiveAggressiveRule)
        q: Fraction = len(wish.moves) * (x @ x + self.c)
        C = as_fraction(self.rule.C)
        if self.rule.variant == "PA-II":
            return wish.lack / (q + 1 / (2 * C))
        if q == 0:
            return ZERO
        return wish.lack / q if self.rule.variant == "PA" else min(C, wish.lack / q)

    def rate_at(self, epoch: int) -> Fraction:
        """η of the next update."""
        if callable(self.rate):
            return as_fraction(self.rate(epoch))
        return Fraction(1, self.updates + 1) if self.rate == "1/t" else as_fraction(self.rate)

    def step(self, wish: Wish, x: Array, share: Fraction, epoch: int) -> bool:
        """Move; whether anything changed."""
        size = share * self.size(wish, x, epoch)
        for k, sign in wish.moves:
            self.shift(k, sign * size * x, sign * size * self.c)
        self.updates += size != 0
        return size != 0

    def shift(self, k: int, move: Array, bias: Fraction) -> None:
        """Move plane k, and the average with it."""
        self.W[k] = self.W[k] + move
        self.b[k] = self.b[k] + bias
        self.total[k] = self.total[k] + self.clock * move
        self.total_b[k] = self.total_b[k] + self.clock * bias


class Curved(Machine):
    """AROW and the second-order perceptron: w and Σ, or, for the diagonal second-order perceptron, v and A."""

    def __post_init__(self) -> None:
        super().__post_init__()
        K, d = self.W.shape
        self.tempered = isinstance(self.rule, SecondOrderRule) and not self.rule.full
        self.v = np.full((K, d + 1), ZERO, dtype=object)
        start = ONE
        if isinstance(self.rule, SecondOrderRule):
            start = as_fraction(self.rule.a) if self.tempered else 1 / as_fraction(self.rule.a)
        eye = np.full((d + 1, d + 1), ZERO, dtype=object)
        np.fill_diagonal(eye, start)
        self.spread = np.stack([eye] * K)

    def _hat(self, x: Array) -> Array:
        return np.array([*x, self.c], dtype=object)

    def scores(self, x: Array) -> Array:
        """The score of a row, one a plane."""
        hat = self._hat(x)
        if self.tempered:
            diagonals = np.stack([np.diagonal(A) for A in self.spread])
            tempered: Array = (self.v * hat / (diagonals + hat * hat)).sum(axis=1)
            return tempered
        return self.v @ hat

    def planes(self) -> tuple[Array, Array]:
        """W and b."""
        w = self.v / np.stack([np.diagonal(A) for A in self.spread]) if self.tempered else self.v
        return w[:, :-1], w[:, -1]

    def step(self, wish: Wish, x: Array, share: Fraction, epoch: int) -> bool:
        """Move; whether anything changed."""
        hat, full = self._hat(x), self.rule.full  # type: ignore[union-attr]
        r = as_fraction(self.rule.r) if isinstance(self.rule, AROWRule) else ONE
        q = sum((hat @ self.spread[k] @ hat for k, _ in wish.moves), ZERO)
        beta = share / (share * q + r)
        for k, sign in wish.moves:
            if self.tempered:
                self.v[k] = self.v[k] + sign * share * hat
                self.spread[k] = self.spread[k] + share * np.diag(hat * hat)
                continue
            g = self.spread[k] @ hat
            shrink = beta * np.outer(g, g)
            self.v[k] = self.v[k] + sign * (1 - wish.margin) * beta * g
            self.spread[k] = self.spread[k] - (shrink if full else np.diag(np.diagonal(shrink)))
        self.updates += 1
        return True


# -- what a row asks for ---------------------------------------------------------------------------------------------


def wishes(scores: Array, truth: Any, machine: Machine) -> list[Wish]:
    """What a row of such a truth asks for: one wish, or one a column; `lack` < 0 asks for nothing."""
    rule, scheme = machine.rule, machine.scheme
    low, high = (ZERO, ZERO) if isinstance(rule, SecondOrderRule) else (ONE, ONE)
    if isinstance(rule, PerceptronRule):
        low, high = as_fraction(rule.low), as_fraction(rule.high)
    if isinstance(rule, PassiveAggressiveRule) and rule.epsilon >= 0:
        gap = as_fraction(truth) - scores[0]
        return [Wish(((0, 1 if gap > 0 else -1),), -abs(gap), abs(gap) - as_fraction(rule.epsilon))]
    if scheme.joint:
        true = int(truth)
        rival = max((k for k in range(scores.size) if k != true), key=lambda k: (scores[k], -k))
        margin = scores[true] - scores[rival]
        stands = bool(margin == 0 and high == 0 and true < rival)
        return [Wish(((true, 1), (rival, -1)), margin, high - margin, stands)]
    found = []
    for k in range(scores.size):
        on = truth > 0 if scheme.single else bool(truth == k) if np.ndim(truth) == 0 else truth[k] != 0
        side = 1 if on else -1
        found.append(Wish(((k, side),), side * scores[k], (high if on else low) - side * scores[k]))
    return found


# -- epochs ----------------------------------------------------------------------------------------------------------

Watch = Callable[[int, Machine, Problem, "int | None", int], None]


def exact_epochs(
    X: Array,
    examples: Examples,
    plan: Plan,
    rate: Any,
    machines: list[Machine],
    scheme: Scheme,
    seed: int,
    watch: Watch,
) -> Iterator[bool]:
    """Pass after pass, telling `watch` of every visit; yields whether the pass showed that all have converged."""
    classes = 0 if examples.classes is None else examples.classes.size
    tasks = list(problems(examples, scheme, classes))
    epoch = 0
    while True:
        converged = True
        for number, (machine, problem) in enumerate(zip(machines, tasks, strict=True)):
            if problem.size:
                converged &= _epoch(X, machine, problem, plan, number, epoch, seed, watch)
        epoch += 1
        yield converged
        if converged:
            return


def _epoch(
    X: Array, machine: Machine, problem: Problem, plan: Plan, number: int, epoch: int, seed: int, watch: Watch
) -> bool:
    if plan.batch:
        return _batch(X, machine, problem, number, epoch, watch)
    picking = isinstance(plan.order, str) and plan.order in ("first", "worst")
    if picking:
        row = _find(X, machine, problem, worst=plan.order == "worst")
        if row is None:  # converged, unless rows that nothing moves are still wrong
            return not any(machine.learns(wish) for _, found in plane_wishes(X, machine, problem) for wish in found)
        piece, covers = np.array([row]), False
    else:
        order = plan.make_order(problem, seed)
        piece, covers = visited(order, problem.present, epoch, 0, order.size), order.covers
    before, calm, repeats = machine.updates, True, Repeats(problem.size, MOST_WATCHED)
    repeats.begin(piece.size)
    for row in piece:
        calm &= _show(X, machine, problem, number, int(row), epoch, watch, repeats)
    if picking or not calm:
        return False
    return (covers and machine.updates == before) or clean(X, machine, problem)


def _show(
    X: Array, machine: Machine, problem: Problem, number: int, row: int, epoch: int, watch: Watch, repeats: Repeats
) -> bool:
    """⌈s⌉ visits to a row of weight s, no more once one changes nothing; whether no visit showed a violation."""
    left = as_fraction(problem.weights[row]) if problem.weights.size else ONE
    calm = True
    while left > 0:
        share, changed = min(left, ONE), False
        for wish in wishes(machine.scores(X[row]), problem.truth[row], machine):
            calm &= not machine.violates(wish)
            if machine.learns(wish):
                changed |= machine.step(wish, X[row], share, epoch + 1)
        spent = share if changed else left
        repeats.spend(1)
        machine.clock += spent
        left -= spent
        watch(number, machine, problem, row, epoch + 1)
    return calm


def _batch(X: Array, machine: Machine, problem: Problem, number: int, epoch: int, watch: Watch) -> bool:
    """W += η · mean of y·x over the rows that lack margin; each column has its own rows."""
    move, shift, mass = machine.W * 0, machine.b * 0, machine.b * 0
    for row in problem.index(0, problem.size):
        weight = as_fraction(problem.weights[row]) if problem.weights.size else ONE
        for wish in wishes(machine.scores(X[row]), problem.truth[row], machine):
            if machine.learns(wish):
                for k, sign in wish.moves:
                    move[k] = move[k] + weight * sign * X[row]
                    shift[k] = shift[k] + weight * sign * machine.c
                mass[wish.moves[0][0]] += weight
    if machine.scheme.joint:
        mass[:] = mass.sum()
    converged = not mass.any()
    if not converged:
        eta = machine.rate_at(epoch + 1)
        for k in np.flatnonzero(mass).tolist():
            machine.shift(k, eta * move[k] / mass[k], eta * shift[k] / mass[k])
        machine.updates += 1
    machine.clock += 1
    watch(number, machine, problem, None, epoch + 1)
    return converged


def plane_wishes(X: Array, machine: Machine, problem: Problem) -> Iterator[tuple[int, list[Wish]]]:
    """What every row asks of the planes as they are."""
    W, b = machine.planes()
    for row in problem.index(0, problem.size):
        yield int(row), wishes(W @ X[row] + b, problem.truth[row], machine)


def clean(X: Array, machine: Machine, problem: Problem) -> bool:
    """Whether a scan finds every row where it should be."""
    return not any(machine.violates(wish) for _, found in plane_wishes(X, machine, problem) for wish in found)


def _find(X: Array, machine: Machine, problem: Problem, worst: bool) -> int | None:
    best, most = None, None
    for row, found in plane_wishes(X, machine, problem):
        lacks = [wish.lack for wish in found if machine.learns(wish)]
        if not machine.c and not X[row].any():  # an empty row, without a bias, moves nothing: as in `evaluation.find`
            continue
        if lacks and (most is None or (worst and max(lacks) > most)):
            best, most = row, max(lacks)
    return best


def new_machines(plan: Plan, rate: Any, scheme: Scheme, planes: int, d: int, c: Fraction, start: Any) -> list[Machine]:
    """Machines at the given planes (P, d) and (P,), in fractions: one of all planes, or one a pair of classes."""
    kind = Curved if plan.rule.order == 2 else Machine
    groups = [[k] for k in range(planes)] if scheme.single else [list(range(planes))]
    return [kind(start[0][group].copy(), start[1][group].copy(), plan.rule, rate, c, scheme.alone) for group in groups]


def exact_plan(model: Any) -> tuple[Plan, Any]:
    """The plan of a learner whose arithmetic is rational, and its rate; refused where roots or searches are needed."""
    plan: Plan = replace(model._plan(), record_errors=False)
    rate = getattr(model, "learning_rate", 1)
    if isinstance(rate, str) and rate != "1/t":
        why = "takes square roots" if rate == "1/sqrt(t)" else "searches in floating point"
        raise ValueError(f"exact=True works in fractions, and learning_rate={rate!r} {why}. Use exact=False.")
    if plan.keep == "pocket":
        raise ValueError('exact=True follows the last w or the average; for keep="pocket" use exact=False.')
    if getattr(model, "early_stopping", False):
        raise ValueError("exact=True follows all rows; for early_stopping use exact=False.")
    return plan, rate
