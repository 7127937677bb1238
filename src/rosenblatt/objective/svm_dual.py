"""The support vector machine by dual coordinate ascent, with shrinking, until the duality gap is closed.

Two classes, and one-vs-rest with one column per class. With x̂ = (x, B), B the intercept's scale, z_i = y_i x̂_i and
C_i = C·s_i

    primal  ½‖w‖² + Σ C_i ξ_i (hinge) or Σ C_i ξ_i² (squared hinge), ξ_i = max(0, 1 − w·z_i)
    dual    Σ α_i − ½‖w‖² − ½Σ D_i α_i²,  w = Σ α_i z_i,  0 ≤ α_i ≤ U_i
            hinge: U_i = C_i, D_i = 0;  squared hinge: U_i = ∞, D_i = 1/(2C_i)
    step    G = w·z_i − 1 + D_i α_i;  α_i ← clip(α_i − G/(‖x̂_i‖² + D_i), 0, U_i)

A free intercept has no B in the primal; `free_intercept` says how passes find it. Since ‖w‖² = Σ α_i w·z_i, the gap is
a sum over rows, each term ≥ 0: C_i ξ_i − α_i(1 − w·z_i) for the hinge, C_i ξ_i² + α_i²/(4C_i) − α_i(1 − w·z_i) for its
square. A pass sums the terms as an estimate; once the estimate is near the tolerance, a scan of all rows computes the
gap. It relies on w = Σ α_i z_i, which rounding of the steps spoils: if it is closed, w is summed again from the rows
and α, and the gap of the rounded weights is bounded (`svm_gap`). Where that is not closed, training goes on from the
new w; after two such checks in double precision, after more not at all. Shrinking: a row whose α is at a bound, with a
slope beyond the largest violation of the previous pass, is left out until a scan. (Hsieh, Chang, Lin, Keerthi,
Sundararajan, ICML 2008.)

Multinomial (Crammer and Singer 2001): w_k = Σ α_ik x̂_i, α_ik ≤ C_i [k = y_i], Σ_k α_ik = 0, and with
e_k = [k ≠ y], G_k = w_k·x̂ + e_k

    primal  ½‖W‖² + Σ C_i ξ_i, ξ_i = max_k G_k − G_y          dual  Σ α_{i,y_i} − ½‖W‖²
    step    all α_ik of a row at once: α_k = min(C_ik, (β − B_k)/‖x̂‖²), B_k = G_k − ‖x̂‖² α_k, β such that Σ_k α_k = 0
    gap     Σ_i C_i ξ_i + Σ_k α_ik G_k          (Keerthi, Sundararajan, Chang, Hsieh, Lin, KDD 2008)
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.prefetching import prefetch
from rosenblatt.compiled.row_arrays import Dense, norm, read_only, spans
from rosenblatt.compiled.row_targets import code_of, is_on
from rosenblatt.compiled.rows import STARTS, add, add_class, dot, dots, fetch_ahead, usual_lines
from rosenblatt.learn.counters import Count
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Source
from rosenblatt.learn.evaluation import DECISION, Criterion, Problem, problems
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.models import Model
from rosenblatt.learn.orders import Shuffled
from rosenblatt.learn.overflow import check_objective
from rosenblatt.learn.plan import MOST_EPOCHS, Needs
from rosenblatt.learn.report import Report
from rosenblatt.learn.schemes import JOINT, REST, TWO, Scheme
from rosenblatt.learn.sharding import Sharding
from rosenblatt.objective import free_intercept
from rosenblatt.objective.stochastic_visits import add_all
from rosenblatt.objective.svm_gap import CAP, CURVE, Gap, Published, Sums, duality_gap, longest, losses, summed
from rosenblatt.planes.linear_plan import LinearPlan, LinearSolver
from rosenblatt.planes.state import State

Array = np.ndarray[Any, Any]
SCAN_RATIO = 3.0  # a scan is made once the estimated gap is at most this many times the tolerance
FINE = 1e-5  # the tolerance below which single precision is not enough

CHECKS_IN_SINGLE, CHECKS = 2, 5  # that do not halve the gap although a scan found it closed
WINDOW = 50  # passes over which the rise of the dual is measured
FLAT = 0.01  # share by which the gap changes in a window at most while α only moves towards distant bounds

# Indices into `DualVariables.sums`:
ESTIMATE, STEPS, KEPT = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class DualPlan(LinearPlan):
    """The problem of a support vector machine, and the tolerance of its solution."""

    squared: bool = False
    C: float = 1.0
    scale: float = 1.0  # B, 0 without intercept; what B is for a free one, the rows say
    free: bool = False  # whether b has no penalty
    tol: float = 1e-3
    shrinking: bool = True

    @property
    def criterion(self) -> Criterion:
        """A row is wrong as `predict` decides."""
        return DECISION

    @property
    def needs(self) -> Needs:
        """All rows: each has a dual variable."""
        why = "{name} cannot learn from files because its dual needs all rows at once: use fit, in memory."
        return Needs(why, "its state is more than weights, and does not mix")

    def scheme(self, classes: int, labels: bool) -> Scheme:
        """Classes together (Crammer and Singer), or each against the rest."""
        if classes <= 2 and not labels:
            return TWO
        return JOINT if self.multiclass == "crammer_singer" and not labels else REST

    def follow(self, state: State) -> DualSolver:
        """The only solver; its α start at 0."""
        return DualSolver(self, state)

    def ascent(self, source: Source, state: State) -> Ascent:
        """All rows in memory, in one part."""
        (examples,) = source.parts(state.epoch)
        return DualAscent.of(examples, self, state.scheme, state.classes, state.machines[0].intercept.size)


class DualVariables(NamedTuple):
    """All α, and the data of rows and columns that passes need."""

    alpha: Array  # (n, K)
    left_out: Array  # (n, K) int8
    rows: Array  # (n, 2): ‖x̂‖², C_i
    worst: Array  # (K, 4): the largest and smallest slope of this pass, and of the previous pass
    sums: Array  # the estimated gap, updates, rows that stay active
    w: Array  # (K, d), or (d, K) for sparse rows and K > 1
    b: Array
    scores: Array
    order: Array  # scratch space to sort K classes


class DualSettings(NamedTuple):
    """The settings for compiled code."""

    squared: bool
    bias: float  # B²
    shrinking: bool
    sigma: float = 1.0  # σ′, of copies of w whose changes are added


@compiled
def ascent_step(a: float, G: float, q: float, cap: float, squared: bool) -> float:
    """The new α; q = ‖x̂‖² + D."""
    if q > 0.0:
        a = max(a - G / q, 0.0)
    elif G < 0.0:
        a = cap
    return float(a if squared else min(a, cap))


@compiled
def gap_of_row(a: float, m: float, cap: float, squared: bool) -> float:
    """A row's term of the gap, at the margin m = w·z."""
    xi = max(0.0, 1.0 - m)
    if squared:
        return cap * xi * xi + 0.25 * a * a / cap - a * (1.0 - m)
    return cap * xi - a * (1.0 - m)


@compiled
def column(duals: DualVariables, i: Any, k: Any, m: float, how: DualSettings) -> float:
    """Update one α; returns its change, and sets `left_out` if the row is left out from now on."""
    a, q, cap = duals.alpha[i, k], duals.rows[i, CURVE], duals.rows[i, CAP]
    D = 0.5 / cap if how.squared else 0.0
    duals.sums[ESTIMATE] += gap_of_row(a, m, cap, how.squared)
    G, at = m - 1.0 + D * a, duals.worst[k]
    full = not how.squared and a >= cap
    if (a <= 0.0 and at[2] < G) or (full and at[3] > G):
        if how.shrinking:
            duals.left_out[i, k] = 1
        return 0.0
    slope = min(G, 0.0) if a <= 0.0 else max(G, 0.0) if full else G
    at[0], at[1] = max(at[0], slope), min(at[1], slope)
    if slope == 0.0:
        return 0.0
    new = ascent_step(a, G, how.sigma * q + D, cap, how.squared)
    duals.alpha[i, k] = new
    duals.sums[STEPS] += 1.0
    return float(new - a)


@compiled
def pass_one(duals: DualVariables, rows: Any, y: Array, active: Array, how: DualSettings) -> None:
    """Two classes: one step per active row, in order; rows that stay active are moved to the front."""
    w, kept, n = duals.w, 0, np.uint64(active.size)
    lines = usual_lines(rows)
    for t in range(n):
        fetch_ahead(rows, y, active, t, lines)
        if t + STARTS < n:
            far = active[t + STARTS]
            prefetch(duals.alpha, far, True)
            prefetch(duals.rows, far * np.uint64(2), True)
        i = active[t]
        side = np.float64(y[i])
        m = side * (np.float64(dot(rows, i, w)) + duals.b[0])
        step = how.sigma * side * column(duals, i, 0, m, how)
        if step != 0.0:
            add(rows, i, step, w)
            duals.b[0] += step * how.bias
        if duals.left_out[i, 0] == 0:
            active[kept] = i
            kept += 1
    duals.sums[KEPT] = kept


@compiled
def pass_many(duals: DualVariables, rows: Any, y: Array, active: Array, how: DualSettings) -> None:
    """One-vs-rest: the same for K columns at a time; a row stays active while any column needs it."""
    W, scores, kept, n = duals.w, duals.scores, 0, np.uint64(active.size)
    lines = usual_lines(rows)
    for t in range(n):
        fetch_ahead(rows, y, active, t, lines)
        i = active[t]
        dots(rows, i, W, scores)
        moved, stays = 0, False
        for k in range(scores.size):
            if duals.left_out[i, k] != 0:
                scores[k] = 0.0
                continue
            side = 1.0 if is_on(y, i, k) else -1.0
            step = how.sigma * side * column(duals, i, k, side * (np.float64(scores[k]) + duals.b[k]), how)
            scores[k] = step
            duals.b[k] += step * how.bias
            moved += step != 0.0
            stays = stays or duals.left_out[i, k] == 0
        if moved > 3:
            add_all(rows, i, scores, W)
        elif moved > 0:
            for k in range(scores.size):
                if scores[k] != 0.0:
                    add_class(rows, i, scores[k], W, k)
        if stays:
            active[kept] = i
            kept += 1
    duals.sums[KEPT] = kept


@compiled
def level(duals: DualVariables, B: Array, q: float, cap: float, true: Any) -> float:
    """β, at which the α_k of a row sum to 0: the row's subproblem, solved by one pass over sorted B."""
    order = duals.order
    B[true] += q * cap  # the bound of the true class as a shift, so that all α_k ≤ 0
    for k in range(B.size):  # insertion sort, largest first: K is small
        at = k
        while at > 0 and B[order[at - 1]] < B[k]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k
    beta = B[order[0]] - q * cap
    count = 1
    while count < B.size and beta / count < B[order[count]]:
        beta += B[order[count]]
        count += 1
    B[true] -= q * cap
    return float(beta / count)


@compiled
def pass_together(duals: DualVariables, rows: Any, y: Array, active: Array, how: DualSettings) -> None:
    """Crammer and Singer: all α of a row in one step."""
    G, n, kept = duals.scores, np.uint64(active.size), 0
    lines = usual_lines(rows)
    for t in range(n):
        fetch_ahead(rows, y, active, t, lines)
        i = active[t]
        true, a = code_of(y, i), duals.alpha[i]
        q, cap = how.sigma * duals.rows[i, CURVE], duals.rows[i, CAP]
        dots(rows, i, duals.w, G)
        idle, gap, best = True, 0.0, -np.inf
        for k in range(G.size):
            G[k] += duals.b[k] + (0.0 if k == true else 1.0)
            best = max(best, G[k])
            gap += a[k] * G[k]
            idle = idle and a[k] == 0.0
        gap += cap * (best - G[true])
        duals.sums[ESTIMATE] += gap
        if how.shrinking and idle and best == G[true] and gap <= 0.0 and duals.worst[0, 2] < np.inf:
            second = -np.inf
            for k in range(G.size):
                if k != true:
                    second = max(second, G[k])
            if G[true] - second > duals.worst[0, 2]:
                continue
        active[kept] = i
        kept += 1
        duals.worst[0, 0] = max(duals.worst[0, 0], gap / cap)
        if q <= 0.0 or gap <= 0.0:
            continue
        for k in range(G.size):
            G[k] -= q * a[k]
        beta = level(duals, G, q, cap, true)
        for k in range(G.size):
            new = min(cap if k == true else 0.0, (beta - G[k]) / q)
            G[k] = how.sigma * (new - a[k])
            a[k] = new
            duals.b[k] += G[k] * how.bias
        duals.sums[STEPS] += 1.0
        add_all(rows, i, G, duals.w)
    duals.sums[KEPT] = kept


@compiled
def gap_one(duals: DualVariables, rows: Any, y: Array, index: Array, how: DualSettings) -> float:
    """The sum of these rows' terms of the gap."""
    total = 0.0
    for i in index:
        m = y[i] * (np.float64(dot(rows, i, duals.w)) + duals.b[0])
        total += gap_of_row(duals.alpha[i, 0], m, duals.rows[i, CAP], how.squared)
    return total


@compiled
def gap_many(duals: DualVariables, rows: Any, y: Array, index: Array, how: DualSettings, together: bool) -> float:
    """The same for K columns."""
    total, scores = 0.0, duals.scores
    for i in index:
        dots(rows, i, duals.w, scores)
        cap = duals.rows[i, CAP]
        if together:
            true, best = code_of(y, i), -np.inf
            for k in range(scores.size):
                G = np.float64(scores[k]) + duals.b[k] + (0.0 if k == true else 1.0)
                best = max(best, G)
                total += duals.alpha[i, k] * G
            total += cap * (best - np.float64(scores[true]) - duals.b[true])
        else:
            for k in range(scores.size):
                m = (1.0 if is_on(y, i, k) else -1.0) * (np.float64(scores[k]) + duals.b[k])
                total += gap_of_row(duals.alpha[i, k], m, cap, how.squared)
    return total


@compiled
def squared_norms(rows: Any, index: Array, out: Array) -> None:
    """‖x_i‖² of rows."""
    for i in index:
        out[i, CURVE] = norm(rows, i)


# -- the training ----------------------------------------------------------------------------------------------------


def next_bounds(high: Array, low: Array, joint: bool) -> Array:
    """(K, 2): the slopes beyond which the next pass leaves out a row, from the largest and smallest of a pass."""
    if joint:
        return np.column_stack([np.full(high.size, max(high[0], 1e-12)), np.full(high.size, -np.inf)])
    return np.column_stack([np.where(high > 0, high, np.inf), np.where(low < 0, low, -np.inf)])


class Ascent:
    """A dual problem, wherever its rows are: w, and after each pass whether its gap is closed.

    Attributes
    ----------
    size : int
        The rows that take part.
    longest : int
        The most stored values of a row.
    across : int or None
        The axis of the features in w; None for a single column.
    parts : int
        The shards.
    estimate : float
        The gap as the last pass saw it.
    w, b : ndarray
        The weights as the steps left them.
    """

    size: int
    longest: int
    across: int | None
    parts = 1
    estimate: float
    w: Array
    b: Array

    def __init__(self, plan: DualPlan, scheme: Scheme, K: int) -> None:
        self.centre = np.zeros(K)  # b₀ of a free intercept
        self.plan, self.scheme = plan, scheme
        self.how = DualSettings(plan.squared, plan.scale * plan.scale, plan.shrinking)
        self.ratio = SCAN_RATIO
        self.lowest, self.checks = np.inf, 0  # the gap of a check that halved the one before, and the checks since then
        self.given_up, self.sweeps = False, 0
        self.objective = np.inf  # the primal, estimated during the last pass
        # The dual and the estimated gap `WINDOW` passes ago, and the rise until then.
        self.earlier = (0.0, np.inf, np.nan)

    # -- what depends on where the rows are ----------------------------------------------------------------------------

    def sweep(self, epoch: int, seed: int) -> int:
        """A pass over the active rows, in a new order; returns the steps made."""
        raise NotImplementedError

    @property
    def shrunk(self) -> tuple[bool, bool]:
        """Whether some rows are left out, in any column, and whether all are."""
        raise NotImplementedError

    def activate_all(self) -> None:
        """Make all rows active again."""
        raise NotImplementedError

    def linear_terms(self) -> tuple[float, float]:
        """Σ α_i and ½Σ D_i α_i²."""
        raise NotImplementedError

    def scanned_gap(self) -> float:
        """The duality gap of w as the steps left it, by a scan of all rows."""
        raise NotImplementedError

    def summed(self) -> Sums:
        """Σ α_i z_i, by a pass over the rows with α > 0."""
        raise NotImplementedError

    def losses(self, of: Published) -> Array:
        """The sum of the losses of all rows, and how far it may be from the exact one."""
        raise NotImplementedError

    def settled(self) -> Sums:
        """Make w what the rows and α say; of a free intercept, after α is scaled, and with the best b."""
        raise NotImplementedError

    def gap_of(self, w: Array, b: Array) -> Gap:
        """The gap of these weights; of a free intercept, with α scaled aside."""
        raise NotImplementedError

    def alpha_bounds(self) -> tuple[Array, float]:
        """Σ |α_i| of each column, and max ‖x̂_i‖² of the rows that take part."""
        raise NotImplementedError

    def use_doubles(self) -> None:
        """Store w in double precision from now on."""
        raise NotImplementedError

    def mark(self) -> Any:
        """What `shares` needs to find the α of this moment."""
        raise NotImplementedError

    def shares(self, mark: Any = None) -> Array:
        """(n, K): the coefficient of each x̂_i in w_k, now or at the time of this mark."""
        raise NotImplementedError

    def sharding(self, mark: Any = None) -> Sharding | None:
        """How training in shards went, until now or until this mark."""
        return None

    def recentred(self, estimate: float) -> float:
        """Centre the penalty of a free intercept at b; the estimate with Σ |Σ y_i α_i|, which goes to 0."""
        b, move = self.b, self.b - self.centre
        estimate -= float(b @ move) / self.how.bias
        self.centre = b.copy()
        b += move
        return float(np.abs(move).sum()) / self.how.bias + max(estimate, 0.0)

    # -- after a pass --------------------------------------------------------------------------------------------------

    def dual(self) -> float:
        """The dual objective, of w as the steps left it."""
        norm2 = float(np.vdot(self.w, self.w).real)
        if self.how.bias and not self.plan.free:
            norm2 += float(self.b @ self.b) / self.how.bias
        linear, quadratic = self.linear_terms()
        return linear - quadratic - 0.5 * norm2

    def closed(self, dtype: Any) -> Gap | None:
        """The gap of the weights rounded to `dtype`, if it is below the tolerance.

        Else None, and after a scan all rows are active again; where the scan was wrong, w is what the rows and α say.
        """
        estimate, dual, tol = self.estimate, self.dual(), self.plan.tol
        self.objective = dual + max(estimate, 0.0)
        if estimate > self.ratio * tol * (dual + estimate):
            self.given_up = self._only_marches(dual, estimate)
            if self.shrunk[1]:
                self.activate_all()
            return None
        gap = self.scanned_gap()
        if gap <= tol * (dual + gap):
            sums = self.settled()
            checked = duality_gap(self, sums, *self.published(dtype))
            if checked.relative <= tol:
                return checked
            self._count(checked.relative)
            if self.plan.free:  # scaling α changed w by too much
                self.ratio *= 0.5
        else:
            self.ratio = min(SCAN_RATIO, max(estimate / gap, 0.1))
        if self.shrunk[0]:
            self.activate_all()
        return None

    def _count(self, relative: float) -> None:
        """Count a check that found a gap where a scan had found none."""
        halved = relative <= 0.5 * self.lowest
        self.lowest, self.checks = (relative, 0) if halved else (self.lowest, self.checks + 1)
        if self.w.dtype == np.float64:
            self.given_up = self.checks >= CHECKS
        elif self.checks >= CHECKS_IN_SINGLE:
            self.checks = 0
            self.use_doubles()

    def _only_marches(self, dual: float, estimate: float) -> bool:
        """Whether α only moves, at a steady rate, towards bounds that it would not reach in all passes there may be.

        Contradictory rows with a large C raise the dual by the same little step in each pass.
        """
        self.sweeps += 1
        if self.sweeps % WINDOW:
            return False
        before, gap, rise = self.earlier
        self.earlier = dual, estimate, dual - before
        now = dual - before
        steady = 0.5 * rise <= now <= 2.0 * rise and abs(estimate - gap) <= FLAT * gap
        return steady and now * (max(MOST_EPOCHS, self.plan.max_epochs or 0) / WINDOW) < estimate

    def published(self, dtype: Any) -> tuple[Array, Array]:
        """Copies of w and b, which an interrupted pass does not change."""
        return self.w.astype(dtype), self.b.astype(dtype)


class DualAscent(Ascent):
    """One machine's dual problem: α, w, and the active rows."""

    def __init__(
        self, problem: Problem, plan: DualPlan, scheme: Scheme, d: int, K: int, bias: float | None = None
    ) -> None:
        super().__init__(plan, scheme, K)
        self.problem, self.size, self.longest = problem, problem.size, longest(problem)
        n = problem.truth.shape[0]
        dense = isinstance(problem.rows, Dense)
        dtype = problem.rows.values.dtype if plan.tol >= FINE else np.dtype(np.float64)
        self.across = None if scheme.single else 1 if dense else 0
        shape: tuple[int, ...] = (d,) if scheme.single else (K, d) if dense else (d, K)
        bounds = np.tile([-np.inf, np.inf, np.inf, -np.inf], (K, 1))
        self.duals = DualVariables(
            np.zeros((n, K)),
            np.zeros((n, K), np.int8),
            np.empty((n, 2)),
            bounds,
            np.zeros(3),
            np.zeros(shape, dtype),
            np.zeros(K),
            np.zeros(K, dtype),
            np.zeros(K, np.int64),
        )
        self.duals.rows[:, CAP] = plan.C * (problem.weights if problem.weights.size else 1.0)
        for index in problem.pieces(1):
            squared_norms(problem.rows, index, self.duals.rows)
        if plan.free and bias is None:
            square = float(self.duals.rows[problem.index(0, problem.size), CURVE].mean())
            bias = free_intercept.SHARE * square or 1.0
        if bias is not None:
            self.how = self.how._replace(bias=bias)
        self.duals.rows[:, CURVE] += self.how.bias
        self.activate_all()

    @classmethod
    def of(
        cls, examples: Examples, plan: DualPlan, scheme: Scheme, classes: int, K: int, bias: float | None = None
    ) -> DualAscent:
        """The dual problem of these examples, with α = 0; B² of a free intercept, if it is known."""
        (problem,) = problems(examples, scheme, classes)
        return cls(problem, plan, scheme, examples.n_features, K, bias)

    @property
    def w(self) -> Array:  # type: ignore[override]
        """The weights as the steps left them."""
        return self.duals.w

    @property
    def b(self) -> Array:  # type: ignore[override]
        """The intercepts as the steps left them."""
        return self.duals.b

    @property
    def estimate(self) -> float:  # type: ignore[override]
        """The gap as the last pass saw it."""
        return float(self.duals.sums[ESTIMATE])

    def activate_all(self) -> None:
        """Make all rows active again."""
        self.active = self.problem.index(0, self.problem.size).copy()
        self.duals.left_out[:] = 0
        self.duals.worst[:, 2:] = (np.inf, -np.inf)

    @property
    def shrunk(self) -> tuple[bool, bool]:
        """Whether some rows are left out, in any column, and whether all are."""
        return bool(self.active.size < self.size or self.duals.left_out.any()), not self.active.size

    def sweep(self, epoch: int, seed: int) -> int:
        """A pass over the active rows, in a new order; returns the steps made."""
        duals, before = self.duals, self.duals.sums[STEPS]
        self.begin_pass()
        order = Shuffled(self.active.size, seed)
        self.active = self.visit(self.active[order.piece(epoch, 0, self.active.size)])
        if self.plan.free:
            duals.sums[ESTIMATE] = self.recentred(duals.sums[ESTIMATE])
        self.end_pass()
        return int(duals.sums[STEPS] - before)

    def begin_pass(self) -> None:
        """Forget the estimate and the slopes of the previous pass."""
        self.duals.sums[ESTIMATE], self.duals.worst[:, :2] = 0.0, (-np.inf, np.inf)

    def visit(self, rows: Array) -> Array:
        """One step per row, in this order; returns the rows that stay active."""
        duals, kept = self.duals, [rows[:0]]
        run = pass_one if self.scheme.single else pass_together if self.scheme.joint else pass_many
        for begin, end in spans(rows.size, self.problem.per_row * duals.b.size):
            piece = rows[begin:end]
            run(duals, self.problem.rows, self.problem.truth, piece, self.how)
            kept.append(piece[: int(duals.sums[KEPT])])
        return np.concatenate(kept)

    def end_pass(self) -> None:
        """The slopes of this pass decide what the next one leaves out."""
        worst = self.duals.worst
        worst[:, 2:] = next_bounds(worst[:, 0], worst[:, 1], self.scheme.joint)

    def linear_terms(self) -> tuple[float, float]:
        """Σ α_i and ½Σ D_i α_i²."""
        duals, problem = self.duals, self.problem
        if self.scheme.joint:
            rows = problem.index(0, problem.size)
            return float(duals.alpha[rows, problem.truth[rows]].sum()), 0.0
        if not self.plan.squared:
            return float(duals.alpha.sum()), 0.0
        squares = (duals.alpha**2).sum(axis=1)
        return float(duals.alpha.sum()), float(squares @ (0.25 / np.maximum(duals.rows[:, CAP], 1e-300)))

    def scanned_gap(self) -> float:
        """The duality gap of w as the steps left it, by a scan of all rows."""
        return free_intercept.scanned_gap(self) if self.plan.free else max(self.gap_terms(), 0.0)

    def gap_terms(self) -> float:
        """The sum of the rows' terms of the gap."""
        problem, total = self.problem, 0.0
        for index in problem.pieces(self.duals.b.size):
            if self.scheme.single:
                total += gap_one(self.duals, problem.rows, problem.truth, index, self.how)
            else:
                total += gap_many(self.duals, problem.rows, problem.truth, index, self.how, self.scheme.joint)
        return total

    def summed(self) -> Sums:
        """Σ α_i z_i, by a pass over the rows with α > 0."""
        duals = self.duals
        return summed(self.problem, duals.alpha, duals.rows, duals.w.shape, self.how.bias)

    def losses(self, of: Published) -> Array:
        """The sum of the losses of all rows, and how far it may be from the exact one."""
        return losses(self.problem, self.duals.alpha, self.duals.rows, of, self.how.squared)

    def settled(self) -> Sums:
        """Make w what the rows and α say; of a free intercept, after α is scaled, and with the best b."""
        duals = self.duals
        if self.plan.free:
            free_intercept.balance(self)
        sums = self.summed()
        duals.w[...] = sums.u
        duals.b[:] = free_intercept.intercepts(self) if self.plan.free else sums.b
        self.centre = duals.b.copy()
        return sums

    def gap_of(self, w: Array, b: Array) -> Gap:
        """The gap of these weights; of a free intercept, with α scaled aside."""
        aside = copy.copy(self)
        if self.plan.free:
            aside.duals = self.duals._replace(alpha=self.duals.alpha.copy())
            free_intercept.balance(aside)
        return duality_gap(aside, aside.summed(), w, b)

    def alpha_bounds(self) -> tuple[Array, float]:
        """Σ |α_i| of each column, and max ‖x̂_i‖² of the rows that take part."""
        curve = self.duals.rows[self.problem.index(0, self.size), CURVE]
        return np.abs(self.duals.alpha).sum(axis=0), float(curve.max())

    def use_doubles(self) -> None:
        """Store w in double precision from now on."""
        duals = self.duals
        self.duals = duals._replace(w=duals.w.astype(np.float64), scores=duals.scores.astype(np.float64))

    def mark(self) -> Any:
        """The rows that can change in the next pass, and their α: the active ones; all may be scaled if b is free."""
        rows = self.problem.index(0, self.size) if self.plan.free else self.active
        return rows, self.duals.alpha[rows]

    def shares(self, mark: Any = None) -> Array:
        """(n, K): the coefficient of each x̂_i in w_k, now or at the time of this mark."""
        alpha = self.duals.alpha
        if mark is not None:
            active, were = mark
            alpha = alpha.copy()
            alpha[active] = were
        return self.signed(alpha)

    def signed(self, alpha: Array) -> Array:
        """α as coefficients of x̂_i instead of z_i."""
        truth = self.problem.truth
        if self.scheme.joint:
            return alpha
        if self.scheme.single:
            return alpha * truth[:, None]
        on = truth != 0 if truth.ndim == 2 else truth[:, None] == np.arange(alpha.shape[1])
        return np.where(on, alpha, -alpha)


class DualSolver(LinearSolver):
    """Makes passes until the duality gap is closed."""

    finished = "solved"
    iterates = True
    complains = ("budget", "stalled")
    plan: DualPlan

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Set all α to 0."""
        self.state.radius2 = max(self.state.radius2, source.facts.radius2)
        self.ascent = self.plan.ascent(source, self.state)
        self.gap: Gap | None = None
        self.before: tuple[State | None, Any] = None, None

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass over the active rows."""
        state, ascent = self.state, self.ascent
        (machine,) = state.machines
        made = ascent.sweep(state.epoch, state.seed)
        self.gap = ascent.closed(machine.coef.dtype)
        w, machine.intercept = ascent.published(machine.coef.dtype)
        machine.coef = w[None, :] if w.ndim == 1 else w
        machine.by_feature = ascent.across == 0
        machine.tally[Count.UPDATES] += made
        yield PartOfEpoch(ascent.size, made)

    def ending(self, source: Source) -> Ending:
        """The primal objective, estimated during the pass, and whether the gap is closed or given up."""
        self.finished = "solved" if self.gap is not None else "stalled"
        return Ending(self.ascent.objective, self.gap is not None or self.ascent.given_up)

    def copy(self) -> State:
        """A copy that shares the weights, which are replaced, never written to; the α of active rows are kept aside."""
        kept = self.state.shallow()
        self.before = kept, self.ascent.mark()
        return kept

    @property
    def sharding(self) -> Sharding | None:
        """How training in shards went."""
        before, mark = self.before
        return self.ascent.sharding(mark if self.state is before else None)

    @property
    def described(self) -> dict[str, Any]:
        """The rows that w is made of, and their coefficients."""
        before, mark = self.before
        shares = self.ascent.shares(mark if self.state is before else None)
        support = np.flatnonzero(shares.any(axis=1))
        return {
            "support_": read_only(support),
            "dual_coef_": read_only(np.ascontiguousarray(shares[support].T)),
        }

    def conclude(self, source: Source, report: Report, kept: Model) -> Report:
        """Errors, margin, the duality gap and the objective, by a scan of all rows."""
        report = super().conclude(source, report, kept)
        (machine,), gap = self.state.machines, self.gap
        if gap is None:
            w = machine.coef[0] if self.ascent.across is None else machine.coef
            gap = self.ascent.gap_of(w, machine.intercept)
        closed, objective = gap.relative <= self.plan.tol, check_objective(gap.primal)
        outcome = "solved" if closed else "stalled" if report.outcome == "solved" else report.outcome
        return replace(report, outcome=outcome, gap=gap.relative, objective=objective)

    def complaint(self, name: str, report: Report) -> str:
        """The budget ended before the gap was closed, or the gap could not be lowered."""
        if report.outcome == "stalled":
            return (
                f"{name} stalled with a relative duality gap of {report.gap:.2g}, above tol={self.plan.tol:g}: scale "
                "the features, or lower C."
            )
        return (
            f"{name} spent its budget of {report.n_epochs} epochs before its relative duality gap was below "
            f"tol={self.plan.tol:g}. Raise max_epochs or tol, or scale the features."
        )
