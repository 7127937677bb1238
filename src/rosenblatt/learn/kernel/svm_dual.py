"""The support vector machine with a kernel, by dual coordinate ascent.

The bias is part of the kernel, K̂ = K + 1, so that the dual has box constraints and no equality constraint:

    primal  ½‖ŵ‖² + C Σ s_i ξ_i,               ξ_i = max(0, 1 − y_i f_i)
    dual    Σ α_i − ½ Σ α_i α_j y_i y_j K̂_ij,   0 ≤ α_i ≤ C s_i

With β = yα the gradient is r = y − f. A round takes a working set: all rows if the kernel matrix fits into memory, else
those that violate the optimality conditions most and half of the last ones. It ascends on the working set alone, two
rows at a time (`pair_ascent`), and then updates f of all rows by one matrix product. primal − dual bounds how far
either is from the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rosenblatt.data.examples import VALUES_AT_ONCE, Examples
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Source
from rosenblatt.learn.kernel.functions import Kernel
from rosenblatt.learn.kernel.pair_ascent import ascend_working_set
from rosenblatt.learn.kernel.perceptron import BLOCK, KernelModel, KernelSolver, kernel_overflow
from rosenblatt.learn.models import take
from rosenblatt.learn.online.solver import whole_problem
from rosenblatt.learn.schemes import Scheme

Array = np.ndarray[Any, Any]
WORKING = 512  # rows of a working set
STEPS_PER_ROW = 40  # pairs at most, per row of the working set
SLACK = 0.02  # part of the largest violation down to which a round ascends


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
