"""The support vector machine with a kernel, by dual coordinate ascent.

The bias is a feature of the kernel, K̂ = K + 1, so that the dual has a box and no equality:

    primal  ½‖ŵ‖² + C Σ s_i ξ_i,               ξ_i = max(0, 1 − y_i f_i)
    dual    Σ α_i − ½ Σ α_i α_j y_i y_j K̂_ij,   0 ≤ α_i ≤ C s_i

One coordinate has its optimum at α_i ← clip(α_i + (1 − y_i f_i)/K̂_ii, 0, C s_i) (Hsieh et al. 2008). A round takes the
rows that violate their optimality most, ascends among them alone, with the kernel within them, and then brings f of
all rows up to date by one product of matrices. primal − dual bounds how far either is from the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rosenblatt.compiling import compiled
from rosenblatt.data.examples import Examples
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Source
from rosenblatt.learn.kernel.functions import Kernel
from rosenblatt.learn.kernel.perceptron import BLOCK, KernelModel, KernelSolver, kernel_overflow
from rosenblatt.learn.models import take
from rosenblatt.learn.online.solver import whole_problem
from rosenblatt.learn.schemes import Scheme

Array = np.ndarray[Any, Any]
WORKING = 512  # rows of a round
SWEEPS = 200  # passes over them at most


@compiled
def ascend_working_set(
    G: Array, y: Array, alpha: Array, limit: Array, f: Array, order: Array, slack: float, sweeps: int
) -> int:
    """Passes over a few rows, in a fresh order each, until none violates its optimality by more than `slack`.

    G is K̂ within them, f = ŵ·φ̂(x) of them. Returns the steps taken.
    """
    steps = 0
    for sweep in range(sweeps):
        worst = 0.0
        for place in range(order.shape[1]):
            i = order[sweep % order.shape[0], place]
            gain = 1.0 - y[i] * f[i]
            if alpha[i] <= 0.0 and gain < 0.0:
                continue
            if alpha[i] >= limit[i] and gain > 0.0:
                continue
            worst = max(worst, abs(gain))
            before = alpha[i]
            if G[i, i] > 0.0:
                alpha[i] = min(max(before + gain / G[i, i], 0.0), limit[i])
            elif gain > 0.0:
                alpha[i] = limit[i]
            step = (alpha[i] - before) * y[i]
            if step != 0.0:
                steps += 1
                row = G[i]
                for j in range(f.size):
                    f[j] += step * row[j]
        if worst <= slack:
            break
    return steps


@dataclass
class BinaryDual:
    """One two-class machine: its rows, its α, and f of its rows."""

    rows: Array  # of the examples
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

    def weigh(self) -> None:
        """Primal and dual values at α."""
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
        """A state that shares nothing that changes."""
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
        """Support rows and y·α, a column a plane."""
        rows = self.support_rows()
        coef = np.zeros((rows.size, len(self.planes)))
        for k, one in enumerate(self.planes):
            mine = one.alpha > 0
            coef[np.searchsorted(rows, one.rows[mine]), k] = (one.alpha * one.y)[mine]
        support = take(self.examples.rows, rows, self.examples.n_features)
        return KernelModel(self.kernel, support, coef, self.scheme, self.classes)


def new_kernel_dual_state(
    examples: Examples, kernel: Kernel, scheme: Scheme, classes: int, C: float, seed: int
) -> KernelDualState:
    """All α at 0."""
    problem = whole_problem(examples, scheme)
    rows = problem.index(0, problem.size).astype(np.int64)
    sides = scheme.sides(examples.target[rows], classes).astype(np.float64)
    mass = problem.mass(rows)
    planes = []
    for k in range(scheme.planes(classes)):
        mine = sides[:, k] != 0
        zeros = np.zeros(int(mine.sum()))
        planes.append(BinaryDual(rows[mine], sides[mine, k].copy(), C * mass[mine], zeros, zeros.copy()))
    return KernelDualState(kernel, scheme, classes, examples, planes, seed, dtype=examples.dtype)


class KernelRows:
    """Rows of the kernel matrix, those asked for last kept within a limit of bytes; one of them is always allowed."""

    def __init__(self, examples: Examples, kernel: Kernel, limit: float) -> None:
        self.examples, self.kernel = examples, kernel
        self.most = int(limit // (8 * max(examples.target.shape[0], 1)))
        self.known: dict[int, Array] = {}

    def of(self, index: Array) -> Array:
        """K̂ of the rows `index` with all rows, (m, n), in double."""
        wanted = index.tolist()
        missing = np.array([i for i in wanted if i not in self.known], np.int64)
        fresh: dict[int, Array] = {}
        for begin in range(0, missing.size, BLOCK):
            some = missing[begin : begin + BLOCK]
            fresh.update(zip(some.tolist(), self._compute(some), strict=True))
        found = np.stack([self.known.pop(i) if i in self.known else fresh[i] for i in wanted])
        for i, row in zip(wanted, found, strict=True):  # the last asked for are the last forgotten
            self.known[i] = row
        while len(self.known) > self.most:
            self.known.pop(next(iter(self.known)))
        return found

    def _compute(self, some: Array) -> Array:
        n, d = self.examples.target.shape[0], self.examples.n_features
        A, out = take(self.examples.rows, some, d), np.empty((some.size, n))
        for begin in range(0, n, BLOCK):
            index = np.arange(begin, min(begin + BLOCK, n))
            out[:, index] = self.kernel.block(A, take(self.examples.rows, index, d))
        if not np.isfinite(out).all():
            raise kernel_overflow()
        return out


class KernelDualSolver(KernelSolver):
    """Rounds over all planes until each has a relative duality gap of at most `tol`."""

    iterates = True
    state: KernelDualState

    def __init__(self, state: KernelDualState, tol: float, memory: float) -> None:
        self.state, self.tol, self.memory = state, tol, memory

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """No row of the kernel matrix is known yet."""
        super().begin(source, records)
        self.rows = KernelRows(self.examples, self.state.kernel, self.memory)

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One round: a working set for each plane that is not solved."""
        state, before = self.state, self.state.updates
        for k, plane in enumerate(state.planes):
            if plane.gap > self.tol:
                _round(plane, self.rows, np.random.default_rng((state.seed, state.epoch, k)))
        yield PartOfEpoch(self.examples.size, state.updates - before)

    def ending(self, source: Source) -> Ending:
        """The primal objective of all planes, and whether their gaps are closed."""
        return Ending(sum(one.primal for one in self.state.planes), self.state.gap <= self.tol)


def _round(plane: BinaryDual, rows: KernelRows, rng: np.random.Generator) -> None:
    """One working set."""
    gain = 1.0 - plane.y * plane.f
    gain[((plane.alpha <= 0) & (gain < 0)) | ((plane.alpha >= plane.limit) & (gain > 0))] = 0.0
    violation = np.abs(gain)
    count = min(WORKING, int(np.count_nonzero(violation)))
    work = np.argpartition(-violation, count - 1)[:count] if count else np.zeros(0, np.int64)
    if count:
        K = rows.of(plane.rows[work])[:, plane.rows]
        alpha, order = plane.alpha[work], np.stack([rng.permutation(count) for _ in range(16)])
        slack = 0.1 * float(violation.max())
        G = np.ascontiguousarray(K[:, work])
        plane.steps += ascend_working_set(
            G, plane.y[work], alpha, plane.limit[work], plane.f[work], order, slack, SWEEPS
        )
        plane.f += ((alpha - plane.alpha[work]) * plane.y[work]) @ K
        plane.alpha[work] = alpha
    plane.weigh()
