"""The support vector machine with a kernel, by dual coordinate ascent.

Its intercept b is free, or penalised as a part of the kernel, K̂ = K + B²; then ŵ = (w, b/B), and there is no constraint
on Σ y_i α_i:

    primal  ½‖ŵ‖² + C Σ s_i ξ_i,               ξ_i = max(0, 1 − y_i f_i)
    dual    Σ α_i − ½ Σ α_i α_j y_i y_j K̂_ij,   0 ≤ α_i ≤ C s_i,   Σ y_i α_i = 0 if b is free

With β = yα the gradient is r = y − f, where f has no free b; the best b for α is found by a search over the rows. A
round ascends two rows at a time (`pair_ascent`) on the rows that may still move: a row at the end of its box whose
gradient points outwards by more than the largest violation is left out (shrinking). Then f of all rows is updated from
the changes. primal − dual bounds how far either is from the optimum; with g = 1 − yf it is

    primal − dual = Σ C s_i max(0, g_i) − α_i g_i

so that rows that are rightly left out add nothing to it, and the gap is known from the working set while f of other
rows is out of date.

A round updates f step by step, and its rounding adds up. So a gap is believed only after a check: f is computed again
from the rows and α in double precision (where that does not suffice for a dot product, in extended), with a bound
e_i ≥ |f_i − K̂β_i| on its own rounding. No term of the gap changes by more than max(α_i, C s_i − α_i)·e_i, or by more
than one of the two where the sign of g is certain; their sum is added to the gap. If it is still above `tol`, training
goes on from the new f. A plane is given up when checks no longer lower its gap, when a round makes no step, when rounds
hardly raise the dual and no longer lower the primal, and when the kernel is not positive semidefinite: then the gap
bounds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.compiled.row_arrays import VALUES_AT_ONCE, read_only
from rosenblatt.kernel.final_scan import geometric, scan_kernel_model, separators
from rosenblatt.kernel.functions import Kernel, squared_lengths
from rosenblatt.kernel.kernel_row_cache import KernelRowCache
from rosenblatt.kernel.pair_ascent import AscentRows, ascend_in_pairs, gap_of, recentre
from rosenblatt.kernel.perceptron import BLOCK, KernelModel, KernelSolver, kernel_overflow
from rosenblatt.learn.best_intercept import best_intercept, even_sides
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Source
from rosenblatt.learn.evaluation import DECISION, whole_problem
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.models import copy_rows
from rosenblatt.learn.report import Report
from rosenblatt.learn.schemes import Scheme

if TYPE_CHECKING:
    from rosenblatt.kernel.plans import KernelDualPlan

Array = np.ndarray[Any, Any]
STEPS_PER_ROW = 100  # of a round at most, for each row of the working set
SLACK = 0.02  # part of the largest violation down to which a round ascends
GAP_STEPS = 200  # steps between two computations of the gap of the working set
SHRINK_STEPS = 1000  # between two searches for rows to leave out
FEWER = 0.8  # rows are left out if at most this share of the working set remains
CLOSED = 0.9  # part of the tolerance at which the gap of the working set counts as closed
LARGEST_SINGLE = 1e30  # kernel values above this are kept in double precision
CHECKS = 5  # in a row that do not halve the gap of a plane, before it is given up
SLOW_ROUNDS = 50  # over which the rise of a dual is measured
LOWER = 0.99  # part of its lowest value that a primal must reach to count as lowered
MOST_ROUNDS = 10_000  # in which such a rise must be able to close the gap
MOST_EXTENDED = 100_000_000  # products of two values in extended precision per check, which has no fast ones


@dataclass(eq=False)  # a plane is itself; its arrays have no truth value
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
    gap: float = np.inf  # (primal − dual)/primal; 0 at the optimum
    checked: bool = False  # whether the gap includes a bound on its rounding
    given_up: bool = False
    lowest: float = np.inf  # gap of a check that halved the one before
    checks: int = 0  # since then
    earlier: tuple[int, float, float] = (0, -np.inf, np.inf)  # a round, and the dual and the gap after it
    lowered: tuple[int, float] = (0, np.inf)  # the last round that lowered the primal, and to what
    free: bool = False
    b: float = 0.0  # a free intercept, which f does not include

    def evaluate(self, search: bool = True) -> None:
        """Compute the primal and dual objectives at α, with the best free intercept unless it is kept, and the gap."""
        if search and self.free and self.y.size:
            self.b = best_intercept(self.f, self.y > 0, self.limit, squared=False)
        square = float(self.alpha * self.y @ self.f)
        slacks = np.maximum(0.0, 1.0 - self.y * (self.f + self.b))
        self.primal = 0.5 * square + float(self.limit @ slacks)
        self.dual = float(self.alpha.sum()) - 0.5 * square
        self.gap, self.checked = (self.primal - self.dual) / max(self.primal, 1e-300), False

    def even(self) -> None:
        """Scale α until Σ yα = 0, if the intercept is free."""
        if self.free and self.y.size:
            self.alpha = even_sides(self.alpha[:, None], self.y[:, None] > 0)[:, 0]

    def check(self, f: Array, error: Array, reach2: float, search: bool) -> float:
        """Take over f, whose rounding is at most `error`, and bound the gap; the part of it that is due to rounding.

        `reach2` is the largest K̂(x, x). A free b that is best has |b| ≤ 1 + max|f|, which bounds what a sum Σ yα of
        the size of its rounding may hide.
        """
        alpha, limit, y = self.alpha, self.limit, self.y
        self.f = f.astype(np.float64)
        self.evaluate(search)
        square, f = 0.5 * float(alpha * y @ f), f + self.b
        g, eps = 1.0 - y * f, float(np.finfo(f.dtype).eps)
        error = error + 2.0 * eps * (1.0 + np.abs(f))
        room = np.where(g > error, limit - alpha, np.where(g < -error, alpha, np.maximum(alpha, limit - alpha)))
        slacks = limit * np.maximum(0.0, g)
        rounding = float(room @ error) + (y.size + 8.0) * eps * float((slacks + alpha * np.abs(g)).sum())
        if self.free:
            left = abs(float(alpha @ y)) + (y.size + 4.0) * float(np.finfo(np.float64).eps) * float(alpha.sum())
            farthest = np.sqrt(2.0 * max(self.primal * reach2, 0.0)) + np.abs(f).max(initial=0.0)
            rounding += left * float(1.0 + abs(self.b) + farthest)
        primal = square + float(slacks.sum())
        primal -= float((0.5 * alpha + np.where(g > -error, limit, 0.0)) @ error) + (y.size + 8.0) * eps * self.primal
        primal = max(primal, 1e-300)
        gap = float((slacks - alpha * g).sum())
        self.gap, self.checked = (max(gap, 0.0) + rounding) / primal, True
        return rounding / primal

    def at_work(self, index: Array, diagonal: Array) -> AscentRows:
        """These rows, for an ascent."""
        y, limit, alpha, f = (one[index] for one in (self.y, self.limit, self.alpha, self.f))
        grows, falls = alpha < limit, alpha > 0
        up, down = np.where(y > 0, grows, falls), np.where(y > 0, falls, grows)
        r = y - f - self.b
        return AscentRows(y, limit, diagonal[self.rows[index]], alpha, r, 1.0 * up, -1.0 * down, np.empty(y.size))


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
        free = np.array([one.b for one in self.planes]) if any(one.free for one in self.planes) else None
        return KernelModel(self.kernel, values, coef, self.scheme, self.classes, free=free)


def new_kernel_dual_state(
    examples: Examples, kernel: Kernel, scheme: Scheme, classes: int, C: float, seed: int, free: bool
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
        y, limit = sides[member, k].copy(), C * mass[member]
        planes.append(BinaryDual(rows[member], y, limit, zeros, zeros.copy(), free=free))
    return KernelDualState(kernel, scheme, classes, examples, planes, seed, dtype=examples.dtype)


class KernelDualSolver(KernelSolver):
    """Makes rounds until the relative duality gap of every plane is at most `tol`, or can no longer be lowered."""

    finished = "solved"
    iterates = True
    definite = False  # whether the kernel has been found to be positive semidefinite
    continues = False  # the state holds all training rows; prediction needs only the support
    complains = ("budget", "stalled")
    state: KernelDualState
    plan: KernelDualPlan

    def __init__(self, plan: KernelDualPlan, state: KernelDualState) -> None:
        self.plan, self.state, self.tol = plan, state, plan.tol

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Keep the rows and their K̂(x, x); the cache of kernel rows starts empty."""
        super().begin(source, records)
        examples, kernel, state = self.examples, self.state.kernel, self.state
        every = np.arange(examples.target.shape[0])
        blocks = (copy_rows(examples.rows, every[at : at + BLOCK], examples.n_features) for at in every[::BLOCK])
        both = [(kernel.diagonal(one), squared_lengths(one)) for one in blocks]
        self.diagonal, lengths2 = (np.concatenate(one) for one in zip(*both, strict=True))
        present = every if examples.present is None else examples.present
        state.reach2 = float(self.diagonal[present].max())
        self.lengths2 = np.zeros(every.size)  # rows without weight may overflow
        self.lengths2[present] = (self.diagonal if callable(kernel.kind) else lengths2)[present]
        if not np.isfinite(state.reach2):
            raise kernel_overflow()
        self._new_cache(np.float32 if state.reach2 < LARGEST_SINGLE else np.float64, examples.dtype)

    def _new_cache(self, dtype: Any, precision: Any) -> None:
        n = self.diagonal.size
        largest_part = max((one.rows.size for one in self.state.planes if one.rows.size < n), default=0)
        self.cache = KernelRowCache(self.examples, self.state.kernel, self.plan.memory, largest_part, dtype, precision)

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One round of each plane that is not solved yet."""
        state, before, gap = self.state, self.state.updates, self.state.gap
        moved = np.zeros((self.diagonal.size, len(state.planes)))
        open_planes = [k for k, plane in enumerate(state.planes) if plane.gap > self.tol and not plane.given_up]
        idle = []
        for k in open_planes:
            plane = state.planes[k]
            if plane.rows.size:  # two classes without weight leave no rows
                shared, steps = len(state.planes) > 1 and plane.rows.size == self.diagonal.size, plane.steps
                moved[plane.rows, k] = _round(plane, self.cache, self.diagonal, self.tol, shared)
                if plane.steps == steps:
                    idle.append(plane)
                    plane.given_up = plane.checked
        old = np.flatnonzero(moved.any(axis=0))
        if old.size:
            change = self.cache.scores(np.ascontiguousarray(moved[:, old]))
            for k, column in zip(old.tolist(), change.T, strict=True):
                state.planes[k].f += column[state.planes[k].rows]
        changed = [state.planes[k] for k in open_planes]
        for plane in changed:
            if not plane.given_up:
                plane.evaluate()
        unchecked = [one for one in changed if not one.checked and (one.gap <= self.tol or one in idle)]
        self._check(unchecked)
        for plane in changed:
            self._give_up_if_slow(plane)
        # Rounded kernel values may be why the gap does not close.
        if not self.cache.precise and any(one.gap > self.tol for one in unchecked):
            self._new_cache(np.float64, np.float64)
        elif not self.cache.exact and state.gap > max(self.tol, 0.5 * gap):
            self._new_cache(np.float64, self.examples.dtype)
        yield PartOfEpoch(self.examples.size, state.updates - before)

    @property
    def described(self) -> dict[str, Any]:
        """The rows with α > 0 in some plane."""
        return {"support_": read_only(self.state.support_rows())}

    def conclude(self, source: Source, report: Report, kept: KernelModel) -> Report:
        """Errors and margin, and the largest gap, which includes a bound on its rounding."""
        self._check([one for one in self.state.planes if not one.checked], kept=True)
        errors, lows = scan_kernel_model(source, kept, DECISION)
        margin = min(geometric(one) for one in separators(kept, lows))
        return replace(report, errors=errors, margin=margin, gap=self.state.gap)

    def complaint(self, name: str, report: Report) -> str:
        """The budget was spent, or the gap could not be lowered."""
        if report.outcome == "budget":
            return (
                f"{name} spent its budget of {report.n_epochs} rounds with a relative duality gap of "
                f"{report.gap:.2g}, above tol={self.tol}. Scale the features, or give it more rounds (max_epochs)."
            )
        if report.gap == np.inf:
            return (
                f"{name} stalled with a kernel that is not positive semidefinite, so that nothing tells how far it is "
                "from the optimum."
            )
        return (
            f"{name} stalled with a relative duality gap of {report.gap:.2g}, above tol={self.tol}: scale the "
            "features, or lower C."
        )

    def _check(self, planes: list[BinaryDual], kept: bool = False) -> None:
        """Compute f of these planes again, and their gaps; give up those that checks no longer improve.

        α and b stay as they are if the model is `kept` already.
        """
        rounding = self._checked(planes, np.float64, kept)
        unclear = [plane for plane, part in zip(planes, rounding, strict=True) if plane.gap > self.tol < 10.0 * part]
        support = np.concatenate([np.zeros(0, np.int64), *(one.rows[one.alpha > 0] for one in unclear)])
        products = float(self.diagonal.size) * np.unique(support).size * self.examples.n_features
        if self.state.kernel.kind in ("linear", "poly") and not self.cache.sparse and products <= MOST_EXTENDED:
            self._checked(unclear, np.longdouble, kept)
        if not self.definite and any(one.gap <= self.tol and one.rows.size for one in planes):
            self.definite = self.cache.definite(self.state.support_rows())
            if not self.definite:
                for plane in self.state.planes:
                    plane.gap, plane.checked, plane.given_up = np.inf, True, True
        for plane in planes:
            halved = plane.gap <= 0.5 * plane.lowest
            plane.lowest, plane.checks = (plane.gap, 0) if halved else (plane.lowest, plane.checks + 1)
            plane.given_up = plane.given_up or (plane.gap > self.tol and plane.checks >= CHECKS)

    def _checked(self, planes: list[BinaryDual], precision: Any, kept: bool) -> list[float]:
        """Compute f of these planes in this precision; the parts of their gaps that are due to rounding."""
        if not planes:
            return []
        beta = np.zeros((self.diagonal.size, len(planes)))
        for k, plane in enumerate(planes):
            if not kept:
                plane.even()
            beta[plane.rows, k] = plane.alpha * plane.y
        kernel, eps, width = self.state.kernel, float(np.finfo(precision).eps), self.examples.n_features
        found = []
        for plane, column, f in zip(planes, np.abs(beta).T, self.cache.scores(beta, precision).T, strict=True):
            error = kernel.rounding(self.lengths2, column, width, eps)
            found.append(plane.check(f[plane.rows], error[plane.rows], float(self.state.reach2), not kept))
        return found

    def _give_up_if_slow(self, plane: BinaryDual) -> None:
        """Give up a plane whose gap no longer halves, if `MOST_ROUNDS` such rises of its dual would not close it.

        Not while its primal falls: with a large C it may be many times its minimum, and then says little of the dual.
        """
        begun, dual, gap = plane.earlier
        at = self.state.epoch
        if plane.primal <= LOWER * plane.lowered[1]:
            plane.lowered = at, plane.primal
        if at - begun >= SLOW_ROUNDS or not np.isfinite(dual):
            rise = (plane.dual - dual) * MOST_ROUNDS / SLOW_ROUNDS
            slow = plane.gap > 0.5 * gap and rise < plane.primal - plane.dual and 2 * plane.lowered[0] <= at
            plane.given_up = plane.given_up or (plane.gap > self.tol and slow)
            plane.earlier = at, plane.dual, plane.gap

    def ending(self, source: Source) -> Ending:
        """The sum of the primal objectives, and whether all duality gaps are closed or planes given up."""
        planes = self.state.planes
        self.finished = "solved" if self.state.gap <= self.tol else "stalled"
        return Ending(sum(one.primal for one in planes), all(one.gap <= self.tol or one.given_up for one in planes))


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
    index, worst = _open_rows(plane.y, plane.limit, plane.alpha, plane.y - plane.f - plane.b)
    if not 0 < index.size <= FEWER * size or not cache.fits(index.size):
        index = np.arange(size)
    rows = plane.at_work(index, diagonal)
    cache.choose(plane.rows[index])
    dual, left, to_shrink = plane.dual, STEPS_PER_ROW * size, SHRINK_STEPS
    while left > 0:
        steps, gain, within = _ascend(rows, cache, SLACK * worst, min(left, GAP_STEPS), plane.free)
        if plane.free:
            plane.b += recentre(rows)
            within = within and not steps
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
        plane.f = plane.y - rows.r - plane.b
        return np.zeros(size)
    return np.asarray((plane.alpha - before) * plane.y)


def _ascend(rows: AscentRows, cache: KernelRowCache, slack: float, most: int, free: bool) -> tuple[int, float, bool]:
    """Take steps with the kernel rows they need: their number, their gain, and whether all violations are small."""
    done, total = 0, 0.0
    at_once = max(1, VALUES_AT_ONCE // (4 * rows.y.size))  # so that Ctrl-C works
    while done < most:
        few = min(at_once, most - done)
        steps, gain, missing = ascend_in_pairs(rows, cache.cached, slack, few, cache.clock, free)
        cache.clock += steps + 1
        done, total = done + steps, total + gain
        if missing >= 0:
            cache.fetch(missing, rows)
        elif steps < few:
            return done, total, True
    return done, total, False
