"""The support vector machine with a kernel, by dual coordinate ascent.

The bias is part of the kernel, K̂ = K + 1, so that the dual has box constraints and no equality constraint:

    primal  ½‖ŵ‖² + C Σ s_i ξ_i,               ξ_i = max(0, 1 − y_i f_i)
    dual    Σ α_i − ½ Σ α_i α_j y_i y_j K̂_ij,   0 ≤ α_i ≤ C s_i

With β = yα the gradient is r = y − f. A round ascends two rows at a time (`pair_ascent`) on the rows that may still
move: a row at the end of its box whose gradient points outwards by more than the largest violation is left out
(shrinking). Then f of all rows is updated from the changes. primal − dual bounds how far either is from the
optimum; with g = 1 − yf it is

    primal − dual = Σ C s_i max(0, g_i) − α_i g_i

so that rows that are rightly left out add nothing to it, and the gap is known from the working set while f of other
rows is out of date.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rosenblatt.data.examples import VALUES_AT_ONCE, Examples
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Source
from rosenblatt.learn.kernel.functions import Kernel
from rosenblatt.learn.kernel.kernel_row_cache import KernelRowCache
from rosenblatt.learn.kernel.pair_ascent import AscentRows, ascend_in_pairs, gap_of
from rosenblatt.learn.kernel.perceptron import BLOCK, KernelModel, KernelSolver, kernel_overflow
from rosenblatt.learn.models import copy_rows
from rosenblatt.learn.online.solver import whole_problem
from rosenblatt.learn.schemes import Scheme

Array = np.ndarray[Any, Any]
STEPS_PER_ROW = 100  # of a round at most, for each row of the working set
SLACK = 0.02  # part of the largest violation down to which a round ascends
GAP_STEPS = 200  # steps between two computations of the gap of the working set
SHRINK_STEPS = 1000  # between two searches for rows to leave out
FEWER = 0.8  # rows are left out if at most this share of the working set remains
CLOSED = 0.9  # part of the tolerance at which the gap of the working set counts as closed
LARGEST_SINGLE = 1e30  # kernel values above this are kept in double precision


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

    def at_work(self, index: Array, diagonal: Array) -> AscentRows:
        """These rows, for an ascent."""
        y, limit, alpha, f = (one[index] for one in (self.y, self.limit, self.alpha, self.f))
        grows, falls = alpha < limit, alpha > 0
        up, down = np.where(y > 0, grows, falls), np.where(y > 0, falls, grows)
        return AscentRows(y, limit, diagonal[self.rows[index]], alpha, y - f, 1.0 * up, -1.0 * down, np.empty(y.size))


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
        values = copy_rows(self.examples.rows, rows, self.examples.n_features)
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


class KernelDualSolver(KernelSolver):
    """Makes rounds until the relative duality gap of every plane is at most `tol`."""

    finished = "solved"
    iterates = True
    state: KernelDualState

    def __init__(self, state: KernelDualState, tol: float, memory: float) -> None:
        self.state, self.tol, self.memory = state, tol, memory

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Keep the rows and their K̂(x, x); the cache of kernel rows starts empty."""
        super().begin(source, records)
        examples, kernel, state = self.examples, self.state.kernel, self.state
        every = np.arange(examples.target.shape[0])
        blocks = (copy_rows(examples.rows, every[at : at + BLOCK], examples.n_features) for at in every[::BLOCK])
        self.diagonal = np.concatenate([kernel.diagonal(one) for one in blocks])
        state.reach2 = float(self.diagonal[every if examples.present is None else examples.present].max())
        if not np.isfinite(state.reach2):
            raise kernel_overflow()
        self._new_cache(np.float32 if state.reach2 < LARGEST_SINGLE else np.float64)

    def _new_cache(self, dtype: Any) -> None:
        n = self.diagonal.size
        largest_part = max((one.rows.size for one in self.state.planes if one.rows.size < n), default=0)
        self.cache = KernelRowCache(self.examples, self.state.kernel, self.memory, largest_part, dtype)

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One round of each plane that is not solved yet."""
        state, before, gap = self.state, self.state.updates, self.state.gap
        moved = np.zeros((self.diagonal.size, len(state.planes)))
        for k, plane in enumerate(state.planes):
            if plane.rows.size and plane.gap > self.tol:  # two classes without weight leave no rows
                shared = len(state.planes) > 1 and plane.rows.size == self.diagonal.size
                moved[plane.rows, k] = _round(plane, self.cache, self.diagonal, self.tol, shared)
        old = np.flatnonzero(moved.any(axis=0))
        if old.size:
            change = self.cache.scores(np.ascontiguousarray(moved[:, old]))
            for k, column in zip(old.tolist(), change.T, strict=True):
                state.planes[k].f += column[state.planes[k].rows]
        for plane in state.planes:
            plane.evaluate()
        if not self.cache.exact and state.gap > max(self.tol, 0.5 * gap):
            self._new_cache(np.float64)  # rounded kernel values may be why the gap does not close
        yield PartOfEpoch(self.examples.size, state.updates - before)

    def ending(self, source: Source) -> Ending:
        """The sum of the primal objectives, and whether all duality gaps are closed."""
        return Ending(sum(one.primal for one in self.state.planes), self.state.gap <= self.tol)


def _open_rows(y: Array, limit: Array, alpha: Array, r: Array) -> tuple[Array, float]:
    """The rows that may still move, and the largest violation of an optimality condition."""
    gain = y * r
    content = ((alpha <= 0) & (gain < 0)) | ((alpha >= limit) & (gain > 0))
    gain = np.abs(gain)
    worst = float(gain[~content].max(initial=0.0))
    return np.flatnonzero(~content | (gain <= worst)), worst


def _round(plane: BinaryDual, cache: KernelRowCache, diagonal: Array, tol: float, shared: bool) -> Array:
    """Ascend on the rows that may still move; the change of β that f does not include yet.

    Rows are not left out during a round on all rows whose kernel rows other planes share, unless the cache has the
    whole matrix: computing kernel rows again would take longer than longer steps do.
    """
    before, size = plane.alpha.copy(), plane.rows.size
    index, worst = _open_rows(plane.y, plane.limit, plane.alpha, plane.y - plane.f)
    if not 0 < index.size <= FEWER * size or not cache.fits(index.size):
        index = np.arange(size)
    rows = plane.at_work(index, diagonal)
    cache.choose(plane.rows[index])
    dual, left, to_shrink = plane.dual, STEPS_PER_ROW * size, SHRINK_STEPS
    while left > 0:
        steps, gain, within = _ascend(rows, cache, SLACK * worst, min(left, GAP_STEPS))
        plane.steps, dual = plane.steps + steps, dual + gain
        left, to_shrink = left - steps, to_shrink - steps
        gap = gap_of(rows.y, rows.limit, rows.alpha, rows.r)
        if within or gap <= CLOSED * tol * (gap + dual):
            break
        if to_shrink <= 0 and not (shared and cache.whole is None and index.size == size):
            kept, to_shrink = _open_rows(rows.y, rows.limit, rows.alpha, rows.r)[0], SHRINK_STEPS
            if 0 < kept.size <= FEWER * index.size and cache.fits(kept.size):
                plane.alpha[index] = rows.alpha
                cache.keep(kept)
                index, rows = index[kept], AscentRows(*(one[kept] for one in rows))
    plane.alpha[index] = rows.alpha
    if index.size == size and cache.exact:
        plane.f = plane.y - rows.r
        return np.zeros(size)
    return np.asarray((plane.alpha - before) * plane.y)


def _ascend(rows: AscentRows, cache: KernelRowCache, slack: float, most: int) -> tuple[int, float, bool]:
    """Take steps with the kernel rows they need: their number, their gain, and whether all violations are small."""
    done, total = 0, 0.0
    at_once = max(1, VALUES_AT_ONCE // (4 * rows.y.size))  # so that Ctrl-C works
    while done < most:
        few = min(at_once, most - done)
        steps, gain, missing = ascend_in_pairs(rows, cache.cached, slack, few, cache.clock)
        cache.clock += steps + 1
        done, total = done + steps, total + gain
        if missing >= 0:
            cache.fetch(missing, rows)
        elif steps < few:
            return done, total, True
    return done, total, False
