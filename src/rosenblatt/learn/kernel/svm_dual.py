"""The support vector machine with a kernel, by dual coordinate ascent.

The bias is part of the kernel, K̂ = K + 1, so that the dual has box constraints and no equality constraint:

    primal  ½‖ŵ‖² + C Σ s_i ξ_i,               ξ_i = max(0, 1 − y_i f_i)
    dual    Σ α_i − ½ Σ α_i α_j y_i y_j K̂_ij,   0 ≤ α_i ≤ C s_i

With β = yα the gradient is r = y − f. A round takes a working set: all rows if the kernel matrix fits into memory, else
those that violate the optimality conditions most and half of the last ones. It ascends on the working set alone, two
rows at a time, and then updates f of all rows by one matrix product. The first row of a pair is the one with the
largest |r| that its box allows, the second the one with which the Newton step gains most (second-order selection: Fan,
Chen and Lin, JMLR 6, 2005, there for a dual with an equality constraint). Pairs matter because of the 1 in K̂, which
couples all rows: a step in one coordinate alone moves b for all of them. primal − dual bounds how far either is from
the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rosenblatt.compiling import compiled
from rosenblatt.data.examples import VALUES_AT_ONCE, Examples
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Source
from rosenblatt.learn.kernel.functions import Kernel
from rosenblatt.learn.kernel.perceptron import BLOCK, KernelModel, KernelSolver, kernel_overflow
from rosenblatt.learn.models import take
from rosenblatt.learn.online.solver import whole_problem
from rosenblatt.learn.schemes import Scheme

Array = np.ndarray[Any, Any]
WORKING = 512  # rows of a working set
STEPS_PER_ROW = 40  # pairs at most, per row of the working set
SLACK = 0.02  # part of the largest violation down to which a round ascends
SINGULAR = 1e-12  # a determinant below this part of the product of its diagonal is rounding


@compiled
def beta_room(y: float, alpha: float, limit: float) -> tuple[float, float]:
    """How far β = yα may move down (≤ 0) and up (≥ 0)."""
    if y > 0.0:
        return -alpha, limit - alpha
    return alpha - limit, alpha


@compiled
def clipped(step: float, low: float, high: float) -> float:
    """The step within its room."""
    return min(max(step, low), high)


@compiled
def pair_step(a: float, b: float, c: float, r: float, s: float, box: tuple[float, float, float, float]) -> Any:
    """The best (u, v) in a box: maximises ru + sv − ½(au² + 2cuv + bv²)."""
    low, high, down, up = box
    det = a * b - c * c
    u, v = 0.0, 0.0
    if det > SINGULAR * a * b:
        u, v = (b * r - c * s) / det, (a * s - c * r) / det
        if low <= u <= high and down <= v <= up:
            return u, v
    best, p, q = 0.0, 0.0, 0.0
    for side in range(4):  # on each side of the box the problem has one variable
        if side < 2:
            u = low if side == 0 else high
            v = clipped((s - c * u) / b, down, up) if b > 0.0 else 0.0
        else:
            v = down if side == 2 else up
            u = clipped((r - c * v) / a, low, high) if a > 0.0 else 0.0
        value = r * u + s * v - 0.5 * (a * u * u + 2.0 * c * u * v + b * v * v)
        if value > best:
            best, p, q = value, u, v
    return p, q


@compiled
def ascend_working_set(G: Array, y: Array, alpha: Array, limit: Array, f: Array, slack: float, most: int) -> int:
    """Take steps in pairs until no row violates its optimality condition by more than `slack`; how many.

    G is the kernel matrix K̂ of the working set, f = ŵ·φ̂(x) its scores.
    """
    n = y.size
    for step in range(most):
        i, worst = -1, slack
        for k in range(n):
            r = y[k] - f[k]
            low, high = beta_room(y[k], alpha[k], limit[k])
            if abs(r) > worst and ((r > 0.0 and high > 0.0) or (r < 0.0 and low < 0.0)):
                i, worst = k, abs(r)
        if i < 0:
            return step
        a, r = G[i, i], y[i] - f[i]
        row = G[i]
        j, gain = -1, r * r / a if a > 0.0 else np.inf
        for k in range(n):
            b, c, s = G[k, k], row[k], y[k] - f[k]
            det = a * b - c * c
            if k != i and det > SINGULAR * a * b:
                u, v = (b * r - c * s) / det, (a * s - c * r) / det
                low, high = beta_room(y[k], alpha[k], limit[k])
                if r * u > 0.0 and ((v > 0.0 and high > 0.0) or (v < 0.0 and low < 0.0)) and r * u + s * v > gain:
                    j, gain = k, r * u + s * v
        low, high = beta_room(y[i], alpha[i], limit[i])
        if j < 0:
            u = clipped(r / a, low, high) if a > 0.0 else (high if r > 0.0 else low)
        else:
            down, up = beta_room(y[j], alpha[j], limit[j])
            u, v = pair_step(a, G[j, j], row[j], r, y[j] - f[j], (low, high, down, up))
            alpha[j] = clipped(alpha[j] + y[j] * v, 0.0, limit[j])
            other = G[j]
            for k in range(n):
                f[k] += v * other[k]
        alpha[i] = clipped(alpha[i] + y[i] * u, 0.0, limit[i])
        for k in range(n):
            f[k] += u * row[k]
    return most


@dataclass
class BinaryDual:
    """One two-class machine: its rows, their α and their f."""

    rows: Array  # indices into the examples
    y: Array
    limit: Array
    alpha: Array
    f: Array
    primal: float = np.inf
    dual: float = 0.0
    steps: int = 0

    @property
    def gap(self) -> float:
        """(primal − dual)/primal; 0 at the optimum."""
        return (self.primal - self.dual) / max(self.primal, 1e-300) if np.isfinite(self.primal) else np.inf

    def evaluate(self) -> None:
        """Compute the primal and dual objectives at α."""
        square = float(self.alpha * self.y @ self.f)
        slacks = np.maximum(0.0, 1.0 - self.y * self.f)
        self.primal = 0.5 * square + float(self.limit @ slacks)
        self.dual = float(self.alpha.sum()) - 0.5 * square


@dataclass
class KernelDualState:
    """All planes of a support vector machine."""

    kernel: Kernel
    scheme: Scheme
    classes: int
    examples: Any
    planes: list[BinaryDual]
    seed: int
    reach2: float = 0.0
    epoch: int = 0
    dtype: Any = np.float64

    def copy(self) -> KernelDualState:
        """An independent copy."""
        return replace(self, planes=[replace(one, alpha=one.alpha.copy(), f=one.f.copy()) for one in self.planes])

    @property
    def updates(self) -> int:
        """Steps of all planes."""
        return sum(one.steps for one in self.planes)

    @property
    def gap(self) -> float:
        """The largest relative duality gap of all planes."""
        return max(one.gap for one in self.planes)

    def support_rows(self) -> Array:
        """The rows with α > 0 in some plane."""
        used = np.zeros(self.examples.target.shape[0], bool)
        for one in self.planes:
            used[one.rows[one.alpha > 0]] = True
        return np.flatnonzero(used)

    def kept(self) -> KernelModel:
        """Support rows and y·α, one column per plane."""
        rows = self.support_rows()
        coef = np.zeros((rows.size, len(self.planes)))
        for k, one in enumerate(self.planes):
            support = one.alpha > 0
            coef[np.searchsorted(rows, one.rows[support]), k] = (one.alpha * one.y)[support]
        values = take(self.examples.rows, rows, self.examples.n_features)
        return KernelModel(self.kernel, values, coef, self.scheme, self.classes)


def new_kernel_dual_state(
    examples: Examples, kernel: Kernel, scheme: Scheme, classes: int, C: float, seed: int
) -> KernelDualState:
    """The state with all α at 0."""
    problem = whole_problem(examples, scheme)
    rows = problem.index(0, problem.size).astype(np.int64)
    sides = scheme.sides(examples.target[rows], classes).astype(np.float64)
    mass = problem.mass(rows)
    planes = []
    for k in range(scheme.planes(classes)):
        member = sides[:, k] != 0
        zeros = np.zeros(int(member.sum()))
        planes.append(BinaryDual(rows[member], sides[member, k].copy(), C * mass[member], zeros, zeros.copy()))
    return KernelDualState(kernel, scheme, classes, examples, planes, seed, dtype=examples.dtype)


class KernelRows:
    """Rows of the kernel matrix, with a least-recently-used cache of a limited size in bytes."""

    def __init__(self, examples: Examples, kernel: Kernel, limit: float) -> None:
        self.examples, self.kernel = examples, kernel
        self.most = int(limit // (8 * max(examples.target.shape[0], 1)))
        self.known: dict[int, Array] = {}

        n = examples.target.shape[0]
        self.whole = self._all(n) if self.most >= n else None

    def _all(self, n: int) -> Array:
        """The whole matrix, which is symmetric: each block is computed once."""
        X, out = take(self.examples.rows, np.arange(n), self.examples.n_features), np.empty((n, n))
        for begin in range(0, n, BLOCK):
            end = begin + BLOCK
            out[begin:end, begin:] = self._block(X[begin:end], X[begin:])
            out[end:, begin:end] = out[begin:end, end:].T
        return out

    def of(self, index: Array) -> Array:
        """K̂ of the rows `index` with all rows, (m, n), in double."""
        wanted = index.tolist()
        missing = np.array([i for i in wanted if i not in self.known], np.int64)
        fresh: dict[int, Array] = {}
        for begin in range(0, missing.size, BLOCK):
            block = missing[begin : begin + BLOCK]
            fresh.update(zip(block.tolist(), self._compute(block), strict=True))
        found = np.stack([self.known.pop(i) if i in self.known else fresh[i] for i in wanted])
        for i, row in zip(wanted, found, strict=True):  # most recently used last
            self.known[i] = row
        while len(self.known) > self.most:
            self.known.pop(next(iter(self.known)))
        return found

    def _compute(self, rows: Array) -> Array:
        n, d = self.examples.target.shape[0], self.examples.n_features
        A, out = take(self.examples.rows, rows, d), np.empty((rows.size, n))
        for begin in range(0, n, BLOCK):
            end = min(begin + BLOCK, n)
            out[:, begin:end] = self._block(A, take(self.examples.rows, np.arange(begin, end), d))
        return out

    def _block(self, A: Any, B: Any) -> Array:
        block = self.kernel.block(A, B)
        if not np.isfinite(block).all():
            raise kernel_overflow()
        return block


class KernelDualSolver(KernelSolver):
    """Makes rounds until the relative duality gap of every plane is at most `tol`."""

    finished = "solved"
    iterates = True
    state: KernelDualState

    def __init__(self, state: KernelDualState, tol: float, memory: float) -> None:
        self.state, self.tol, self.memory = state, tol, memory

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Keep the rows; the cache of kernel rows starts empty."""
        super().begin(source, records)
        self.rows = KernelRows(self.examples, self.state.kernel, self.memory)
        self.recent = [np.zeros(0, np.int64) for _ in self.state.planes]

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One round: one working set for each plane that is not solved yet."""
        state, before = self.state, self.state.updates
        for k, plane in enumerate(state.planes):
            if plane.gap > self.tol:
                self.recent[k] = _round(plane, self.rows, self.recent[k])
        yield PartOfEpoch(self.examples.size, state.updates - before)

    def ending(self, source: Source) -> Ending:
        """The sum of the primal objectives, and whether all duality gaps are closed."""
        return Ending(sum(one.primal for one in self.state.planes), self.state.gap <= self.tol)


def _round(plane: BinaryDual, rows: KernelRows, recent: Array) -> Array:
    """Choose a working set, ascend on it, and update f; the working set."""
    gain = 1.0 - plane.y * plane.f
    gain[((plane.alpha <= 0) & (gain < 0)) | ((plane.alpha >= plane.limit) & (gain > 0))] = 0.0
    violation = np.abs(gain)
    slack = SLACK * float(violation.max(initial=0.0))
    if rows.whole is not None:
        every = plane.rows.size == rows.whole.shape[0]
        G = rows.whole if every else rows.whole[np.ix_(plane.rows, plane.rows)]
        most = max(1, VALUES_AT_ONCE // (4 * plane.y.size))
        plane.steps += ascend_working_set(G, plane.y, plane.alpha, plane.limit, plane.f, slack, most)
        plane.evaluate()
        return recent
    count = min(WORKING, int(np.count_nonzero(violation)))
    chosen = np.zeros(0, np.int64)
    if count:
        chosen = np.argpartition(-violation, count - 1)[:count]
        if count == WORKING:  # rows that have just been at work still depend on each other
            free = recent[(plane.alpha[recent] > 0) & (plane.alpha[recent] < plane.limit[recent])][: WORKING // 2]
            chosen = chosen[np.argsort(-violation[chosen], kind="stable")]
            chosen = np.concatenate([free, chosen[~np.isin(chosen, free)]])[:WORKING]
        K = rows.of(plane.rows[chosen])[:, plane.rows]
        alpha, G = plane.alpha[chosen], np.ascontiguousarray(K[:, chosen])
        y, limit, f = plane.y[chosen], plane.limit[chosen], plane.f[chosen]
        plane.steps += ascend_working_set(G, y, alpha, limit, f, slack, STEPS_PER_ROW * chosen.size)
        plane.f += ((alpha - plane.alpha[chosen]) * y) @ K
        plane.alpha[chosen] = alpha
    plane.evaluate()
    return chosen
