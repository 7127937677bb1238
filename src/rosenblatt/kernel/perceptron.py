"""The kernel perceptron: f_k(x) = Σ_j β_jk K(x_j, x), and β changes by ±1 on a mistake.

Rows are visited in blocks. The scores of a block by the support so far are one matrix product (BLAS), the kernel
matrix of the block another; the visits themselves then need neither rows nor kernels, only these numbers:

    a mistake at row t with step s:   β_t += s,   F_u += s·K(x_t, x_u)  for the rows u ≥ t of the block

From the second epoch on, K of support rows with all rows is cached, for as many support rows as fit into the allowed
memory. The two-class machines of one-vs-rest, one-vs-one and labels are the columns k; a side of 0 excludes a row.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import Dense, Sparse
from rosenblatt.compiled.tie_rule import rival, wins_tie
from rosenblatt.formats.declared_fields import (
    doubles,
    floats,
    integers,
    is_count,
    matrix,
    must,
    one_of,
    size,
    such_that,
)
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.kernel.final_scan import geometric, scan_kernel_model, separators
from rosenblatt.kernel.functions import COLUMNS_AT_ONCE, GrowingRows, Kernel
from rosenblatt.learn.counters import Count
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Solver, Source
from rosenblatt.learn.evaluation import MISTAKE, whole_problem
from rosenblatt.learn.examples import Examples, Facts
from rosenblatt.learn.models import UpdateHistory, copy_rows
from rosenblatt.learn.orders import visited
from rosenblatt.learn.repeated_visits import VisitLimit
from rosenblatt.learn.report import Report
from rosenblatt.learn.scans import errors_in
from rosenblatt.learn.schemes import REST, Scheme
from rosenblatt.prove.mistake_formula import Separator, mistake_bound

if TYPE_CHECKING:
    from rosenblatt.kernel.plans import KernelPlan

Array = np.ndarray[Any, Any]
PRODUCTS_PER_SECOND = 1e10  # a low estimate for any machine
BLOCK = 512  # rows per block
SLOTS = such_that(lambda slots: all(isinstance(key, bytes) and is_count(slots[key]) for key in slots), "places")
LOG_ROOM = 1 << 12
VALUES_AT_ONCE = 1 << 22
VISITS_AT_ONCE = 1 << 13  # per call, so that Ctrl-C works


def kernel_overflow() -> NotFiniteError:
    """The error for a kernel that is infinite or NaN on some rows."""
    return NotFiniteError("The kernel overflows on these rows", remedy="Scale the features, or lower degree or gamma.")


# -- the visits of a block -------------------------------------------------------------------------------------------


class KernelBlock(NamedTuple):
    """Rows to visit and what their visits change: G is their kernel matrix, F (K, n) their scores.

    beta and total (n, K) sum the steps of each row, and the steps times the clock; log holds the steps one by one.
    """

    G: Array
    F: Array
    weights: Array
    clocks: Array
    beta: Array
    total: Array
    log: Array
    tally: Array


@compiled
def _log_step(log: Array, tally: Array, t: Any, k: Any, step: float, clock: float, share: float) -> None:
    """Append a step to the log, if there is one."""
    if log.shape[0] > 0:
        entry = log[np.int64(tally[Count.LOGGED])]
        entry[0], entry[1], entry[2], entry[3], entry[4] = t, k, step, clock, share
        tally[Count.LOGGED] += 1.0


@compiled
def _move(G: Array, F: Array, t: Any, k: Any, step: float, beta: Array, total: Array, clock: float) -> None:
    beta[t, k] += step
    total[t, k] += clock * step
    f, row = F[k], G[t]
    for u in range(t, f.size):
        f[u] += step * row[u]


@compiled
def visit_apart(block: KernelBlock, sides: Array) -> None:
    """Every column is a two-class machine: y·f ≤ 0 is a mistake. A row of weight s gets ⌈s⌉ visits, as in `sweep`."""
    G, F, weights, clocks, beta, total, log, tally = block
    for t in range(np.int64(tally[Count.POSITION]), G.shape[0]):
        for k in range(np.int64(tally[Count.COLUMN]), F.shape[0]):
            side = np.float64(sides[t, k])
            left = tally[Count.LEFT] if tally[Count.LEFT] > 0.0 else weights[t]
            tally[Count.LEFT] = 0.0
            if side == 0.0:
                continue
            while left > 0.0:
                if tally[Count.VISITS] == 0.0 or (log.shape[0] > 0 and tally[Count.LOGGED] >= log.shape[0]):
                    tally[Count.POSITION], tally[Count.COLUMN], tally[Count.LEFT] = t, k, left
                    return
                tally[Count.VISITS] -= 1.0
                share = min(left, 1.0)
                margin = side * F[k, t]
                if margin > 0.0:
                    clocks[k] += left
                    break
                tally[Count.VIOLATIONS] += 1.0
                tally[Count.UPDATES] += 1.0
                tally[Count.LOSS] -= share * margin
                _log_step(log, tally, t, k, share * side, clocks[k], share)
                _move(G, F, t, k, share * side, beta, total, clocks[k])
                clocks[k] += share
                left -= share
        tally[Count.COLUMN] = 0.0
    tally[Count.POSITION] = G.shape[0]


@compiled
def visit_together(block: KernelBlock, truth: Array, scores: Array) -> None:
    """Multinomial: a mistake raises the score of the true class and lowers that of its best rival."""
    G, F, weights, clocks, beta, total, log, tally = block
    for t in range(np.int64(tally[Count.POSITION]), G.shape[0]):
        true = np.int64(truth[t])
        left = tally[Count.LEFT] if tally[Count.LEFT] > 0.0 else weights[t]
        tally[Count.LEFT] = 0.0
        while left > 0.0:
            if tally[Count.VISITS] == 0.0 or (log.shape[0] > 0 and tally[Count.LOGGED] + 1.0 >= log.shape[0]):
                tally[Count.POSITION], tally[Count.LEFT] = t, left
                return
            tally[Count.VISITS] -= 1.0
            share = min(left, 1.0)
            for k in range(scores.size):
                scores[k] = F[k, t]
            other = rival(scores, true)
            margin = scores[true] - scores[other]
            if margin > 0.0 or (margin == 0.0 and wins_tie(true, other)):
                clocks[0] += left
                break
            tally[Count.VIOLATIONS] += 1.0
            tally[Count.UPDATES] += 1.0
            tally[Count.LOSS] -= share * margin
            _log_step(log, tally, t, true, share, clocks[0], share)
            _log_step(log, tally, t, other, -share, clocks[0], share)
            _move(G, F, t, true, share, beta, total, clocks[0])
            _move(G, F, t, other, -share, beta, total, clocks[0])
            clocks[0] += share
            left -= share
    tally[Count.POSITION] = G.shape[0]


# -- the model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelModel:
    """A trained model: support rows and their coefficients, or for a vote the history of all updates."""

    kernel: Kernel
    support: Annotated[Any, matrix("rows", "inputs")]
    coef: Annotated[Array, floats("rows", "planes")]
    scheme: Scheme
    classes: Annotated[int, size("classes")]
    histories: tuple[UpdateHistory, ...] = ()
    rows: Annotated[Array | None, integers("rows")] = None  # of each support row in X; None: in the order of X
    free: Annotated[Array | None, doubles("planes")] = None  # intercepts that are not part of the kernel

    def check(self, planes: int) -> None:
        """As many planes as the scheme has; histories, if any, that start at zero."""
        must(planes == self.scheme.planes(self.classes), "as many planes as the classes need")
        several, K = (1, planes) if self.scheme.joint else (planes, 1)
        must(len(self.histories) in (0, several), "histories")
        must(all(one.coef.shape == (K, 0) and one.support is None for one in self.histories), "a start at zero")

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.support.shape[1])

    def raw(self, rows: Dense | Sparse, index: Array, n_features: int) -> Array:
        """The scores f, or the votes, of rows, (n, columns)."""
        out = np.empty((index.size, self.coef.shape[1]))
        step = max(1, min(BLOCK, VALUES_AT_ONCE // max(self.support.shape[0], 1)) if self.histories else BLOCK)
        for begin in range(0, index.size, step):
            X = copy_rows(rows, index[begin : begin + step], n_features)
            if self.histories:
                out[begin : begin + step] = self._votes(X)
            else:
                out[begin : begin + step] = self.kernel.score(X, self.support, self.coef)
        return out if self.free is None else out + self.free

    @property
    def intercept(self) -> Array:
        """The bias of each plane."""
        return np.asarray(self.kernel.shift * self.coef.sum(axis=0)) if self.free is None else self.free.copy()

    def _votes(self, X: Any) -> Array:
        values = np.empty((X.shape[0], self.support.shape[0]))
        for begin in range(0, self.support.shape[0], COLUMNS_AT_ONCE):
            end = begin + COLUMNS_AT_ONCE
            values[:, begin:end] = self.kernel.block(X, self.support[begin:end])
        parts = []
        for history in self.histories:
            first = np.zeros((X.shape[0], history.coef.shape[0]))
            parts.append(history.votes(values, first, self.scheme).reshape(X.shape[0], -1))
        return np.concatenate(parts, axis=1)

    def scores(self, rows: Dense | Sparse, index: Array) -> Array:
        """Decision values: (n,) for two classes, (n, K) for more."""
        return self.decided(self.raw(rows, index, self.support.shape[1]))

    def decided(self, raw: Array) -> Array:
        """Decision values from the scores f of all columns."""
        return self.scheme.scores(raw, self.classes)

    def norms2(self) -> Array:
        """‖w_k‖² in the feature space of the kernel, without the bias."""
        plain = replace(self.kernel, shift=0.0)
        total = np.zeros(self.coef.shape[1])
        for begin in range(0, self.support.shape[0], BLOCK):
            end = begin + BLOCK
            f = plain.score(self.support[begin:end], self.support, self.coef)
            total += np.einsum("sk,sk->k", self.coef[begin:end], f)
        return total


# -- the state -------------------------------------------------------------------------------------------------------


@dataclass
class KernelState:
    """The state of all columns."""

    kernel: Kernel
    scheme: Scheme
    keep: Annotated[str, one_of("last", "average", "vote")]
    classes: Annotated[int, size("classes")]
    support: GrowingRows
    seed: int
    beta: Annotated[Array, doubles("rows", "planes")]
    total: Annotated[Array, doubles("rows", "planes")]  # Σ clock·step
    clocks: Annotated[Array, doubles("clocks")]  # visits of each column, or of all for "multinomial", by weight
    epoch: int = 0
    updates: int = 0
    reach2: float = 0.0  # max K(x, x)
    whole: bool = True  # all row weights so far were whole numbers
    computed: int = 0  # kernel values between rows and support rows computed so far
    slots: Annotated[dict[bytes, int], SLOTS] = field(default_factory=dict)  # of a row, by its digest
    log: tuple[Annotated[Array, doubles("steps", "entries")], ...] = ()  # (support, column, step, clock, share)
    dtype: Annotated[Any, one_of(np.float32, np.float64)] = np.float64
    rows: Annotated[Any, integers("rows")] = None  # the number of each support row in the X that it came with, or −1

    def __post_init__(self) -> None:
        if self.rows is None:
            self.rows = np.full(self.beta.shape[0], -1)

    def check(self, rows: int, planes: int, clocks: int) -> None:
        """As many planes as the scheme has, and a log of them and of the support."""
        must(planes == self.scheme.planes(self.classes), "as many planes as the classes need")
        must(clocks == (1 if self.scheme.joint else planes), "clocks")
        must(all(slot < rows for slot in self.slots.values()), "places of support rows")
        for part in self.log:
            index = part[:, :2].astype(np.int64)
            must(part.shape[1] == 5 and (index >= 0).all() and (index < (rows, planes)).all(), "log entries")

    def copy(self) -> KernelState:
        """An independent copy."""
        arrays = {name: getattr(self, name).copy() for name in ("beta", "total", "clocks")}
        return replace(self, **arrays, support=self.support.copy(), slots=dict(self.slots))

    def kept(self) -> KernelModel:
        """The model that `keep` selects: the last iterate, the average or the vote."""
        if self.keep == "vote":
            return self._dual(self.beta, self._histories())
        if self.keep == "average":
            return self._dual(self.beta - self.total / np.maximum(self.clocks, 1.0))
        return self.last()

    def last(self) -> KernelModel:
        """The last iterate."""
        return self._dual(self.beta)

    def _dual(self, coef: Array, histories: tuple[UpdateHistory, ...] = ()) -> KernelModel:
        dual = (self.kernel, self.support.rows, coef.copy(), self.scheme, self.classes)
        return KernelModel(*dual, histories, self.rows)

    def _histories(self) -> tuple[UpdateHistory, ...]:
        log = np.concatenate([np.zeros((0, 5)), *self.log])
        K = self.beta.shape[1]
        groups = [log] if self.clocks.size == 1 else [log[log[:, 1] == k] for k in range(K)]
        found = []
        for part, end in zip(groups, self.clocks, strict=True):
            width = K if self.scheme.joint else 1
            start = (np.zeros((width, 0)), np.zeros(width))
            which, columns = part[:, 0].astype(np.int64), part[:, 1].astype(np.int32)
            columns = columns if width > 1 else np.zeros_like(columns)  # the only plane of its history
            bias = np.zeros(which.size)  # none: the kernel includes it
            found.append(
                UpdateHistory(None, which, columns, part[:, 2], part[:, 3], part[:, 4], float(end), *start, bias)
            )
        return tuple(found)


def new_kernel_state(
    examples: Examples, kernel: Kernel, scheme: Scheme, keep: str, classes: int, seed: int
) -> KernelState:
    """A state without support."""
    K = scheme.planes(classes)
    support = GrowingRows(examples.n_features, examples.dtype)
    empty = np.zeros((0, K))
    clocks = np.zeros(1 if scheme.joint else K)
    return KernelState(kernel, scheme, keep, classes, support, seed, empty, empty, clocks, dtype=examples.dtype)


def largest_diagonal(kernel: Kernel, examples: Examples) -> float:
    """R² = max K(x, x) over the rows that take part."""
    problem = whole_problem(examples, REST)
    pieces = (copy_rows(examples.rows, i, examples.n_features) for i in problem.pieces(1))
    found = max(float(kernel.diagonal(piece).max()) for piece in pieces)
    if not np.isfinite(found):
        raise kernel_overflow()
    return found


class KernelCache:
    """Caches K of all rows with the oldest support rows, up to a limit in bytes."""

    def __init__(self, examples: Examples, limit: float) -> None:
        self.examples, self.columns = examples, 0
        rows = examples.target.shape[0]
        self.most = int(limit // (rows * examples.dtype.itemsize))
        self.parts: list[Array] = []

    def extend(self, kernel: Kernel, support: Any) -> None:
        """Add new support rows to the cache."""
        rows, d = self.examples.target.shape[0], self.examples.n_features
        while self.columns < min(support.shape[0], self.most):
            end = min(self.columns + COLUMNS_AT_ONCE, support.shape[0], self.most)
            part = np.empty((rows, end - self.columns), self.examples.dtype)
            for begin in range(0, rows, BLOCK):
                index = np.arange(begin, min(begin + BLOCK, rows))
                part[index] = kernel.block(copy_rows(self.examples.rows, index, d), support[self.columns : end])
            if self.parts and self.parts[-1].shape[1] < COLUMNS_AT_ONCE // 4:
                part = np.hstack([self.parts.pop(), part])
            self.parts.append(part)
            self.columns = end

    def score(self, kernel: Kernel, X: Any, index: Array, support: Any, beta: Array) -> Array:
        """The scores of the rows `index`, whose values are X: (columns, rows)."""
        out, at = np.zeros((X.shape[0], beta.shape[1])), 0
        for part in self.parts:
            out += part[index] @ beta[at : at + part.shape[1]].astype(part.dtype)
            at += part.shape[1]
        out += kernel.score(X, support[at:], beta[at:])
        return np.ascontiguousarray(out.T)


# -- training --------------------------------------------------------------------------------------------------------


class KernelSolver(Solver):
    """Base of the kernel solvers: all rows are in memory, and a scan counts errors."""

    finished = "separated"
    examples: Examples
    plan: KernelPlan

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Keep the rows."""
        (self.examples,) = source.parts(self.state.epoch)

    def clean(self, source: Source) -> bool:
        """Whether the last iterate classifies every row correctly."""
        return errors_in(source, self.state.last()) == 0

    def radius(self, facts: Facts) -> float:
        """R = max √K(x, x), without the bias."""
        return math.sqrt(max(float(self.state.reach2) - float(self.state.kernel.shift), 0.0))

    def worth_a_scan(self, facts: Facts) -> bool:
        """Whether errors are to be counted at the end."""
        return True

    def bound(self, lasts: list[Separator]) -> float | None:
        """The bound on mistakes, from the planes of the last iterate."""
        return None

    def conclude(self, source: Source, report: Report, kept: KernelModel) -> Report:
        """Errors, margin and bound, by a scan of all rows, if it is worth one."""
        if not self.worth_a_scan(source.facts):
            return report
        last, outcome = self.plan.keep == "last", report.outcome
        errors, lows = scan_kernel_model(source, kept, MISTAKE)
        planes = separators(kept, lows) if self.plan.keep != "vote" else []
        margin = min((geometric(one) for one in planes), default=None)
        if outcome == "budget" and (errors == 0 if last else self.clean(source)):
            outcome = self.finished  # the last epoch made updates, but no row is wrong after it
        bound = None
        if outcome == "separated" and self.state.whole and self.plan.budget is None:
            if not last:
                planes = separators(self.state.last(), scan_kernel_model(source, self.state.last(), MISTAKE)[1])
            bound = self.bound(planes)
        return replace(report, outcome=outcome, errors=errors, margin=margin, bound=bound)


class KernelPerceptronSolver(KernelSolver):
    """Makes passes until every row is classified correctly; up to `memory` bytes of kernel values are cached."""

    state: KernelState

    def __init__(self, plan: KernelPlan, state: KernelState) -> None:
        self.plan, self.state = plan, state

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Keep the rows, and record the largest K(x, x)."""
        super().begin(source, records)
        state, weights = self.state, self.examples.weights
        self.problem, self.cache = (
            whole_problem(self.examples, state.scheme),
            KernelCache(self.examples, self.plan.memory),
        )
        self.order = self.plan.make_order(self.problem, state.seed)
        state.reach2 = max(state.reach2, largest_diagonal(state.kernel, self.examples))
        if weights is not None:
            state.whole = state.whole and bool((weights == np.floor(weights)).all())
        self.places = np.full(self.examples.target.shape[0], -1)  # the index of each row in the support
        self.passes = 0

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass, block by block."""
        state, order, before = self.state, self.order, self.state.updates
        if self.passes:
            columns = self.cache.columns
            self.cache.extend(state.kernel, state.support.rows)
            state.computed += self.places.size * (self.cache.columns - columns)
        self.passes, self.counts = self.passes + 1, np.zeros(len(Count))
        repeats = VisitLimit(self.problem.size * state.beta.shape[1])
        for begin in range(0, order.size, BLOCK):
            index = visited(order, self.problem.present, state.epoch, begin, min(begin + BLOCK, order.size))
            self.counts += _visit_block(self.examples, state, self.cache, index, self.places, repeats)
        yield PartOfEpoch(order.size, state.updates - before)

    def ending(self, source: Source) -> Ending:
        """The mean loss, and whether every row is classified correctly."""
        converged = self.counts[Count.VIOLATIONS] == 0 and (self.order.covers or self.clean(source))
        errors = errors_in(source, self.model()) if self.plan.record_errors else None
        return Ending(float(self.counts[Count.LOSS]) / max(self.problem.total, 1e-300), bool(converged), errors)

    def worth_a_scan(self, facts: Facts) -> bool:
        """If it takes no longer than learning did, or less than a second."""
        if self.plan.record_errors:
            return True
        values = facts.rows * self.state.support.size
        cheap = values * facts.stored / max(facts.rows, 1) <= PRODUCTS_PER_SECOND
        return bool(values <= self.state.computed or cheap)

    def bound(self, lasts: list[Separator]) -> float | None:
        """The bounds of all planes, summed; the bias counts as a feature of the kernel."""
        state = self.state
        classes = state.classes if state.scheme.joint else 2
        bounds = [
            mistake_bound(Separator(one.low, one.norm2 + one.bias2, 0.0), state.reach2, bias="none", classes=classes)
            for one in lasts
        ]
        return None if any(bound is None for bound in bounds) else float(sum(bounds))  # type: ignore[arg-type]

    def complaint(self, name: str, report: Report) -> str:
        """Without errors, where they were not counted."""
        if report.errors is not None:
            return super().complaint(name, report)
        return (
            f"{name} spent its budget of {report.n_epochs} epochs; the last made {report.epochs[-1].updates:,} updates."
        )


def _visit_block(
    examples: Examples, state: KernelState, cache: KernelCache, index: Array, places: Array, repeats: VisitLimit
) -> Array:
    """Visit the rows `index`; returns the counters."""
    X = copy_rows(examples.rows, index, examples.n_features)
    F = cache.score(state.kernel, X, index, state.support.rows, state.beta)
    state.computed += index.size * (state.support.size - cache.columns)
    truth, tally = examples.target[index], np.zeros(len(Count))
    weights = np.ones(index.size) if examples.weights is None else examples.weights[index]
    sides = None if state.scheme.joint else state.scheme.sides(truth, state.classes)
    if not np.isfinite(F).all():
        raise kernel_overflow()
    # Rows before the first mistake change nothing, and their kernel matrix is not needed.
    mistakes = np.argmax(F, axis=0) != truth if sides is None else ((sides * F.T <= 0) & (sides != 0)).any(axis=1)
    first = int(np.argmax(mistakes)) if mistakes.any() else index.size
    state.clocks += weights[:first].sum() if sides is None else weights[:first] @ (sides[:first] != 0)
    if first == index.size:
        return tally
    index, X, weights, F = index[first:], X[first:], weights[first:], np.ascontiguousarray(F[:, first:])
    G = state.kernel.block(X, X)
    if not np.isfinite(G).all():
        raise kernel_overflow()
    K = state.beta.shape[1]
    beta, total = np.zeros((index.size, K)), np.zeros((index.size, K))
    log, scores = np.empty((LOG_ROOM if state.keep == "vote" else 0, 5)), np.zeros(K)
    block, entries = KernelBlock(G, F, weights, state.clocks, beta, total, log, tally), []
    repeats.begin(index.size * K)
    while tally[Count.POSITION] < index.size:
        tally[Count.VISITS] = visits = repeats.few(VISITS_AT_ONCE)
        if sides is None:
            visit_together(block, truth[first:], scores)
        else:
            visit_apart(block, sides[first:])
        repeats.spend(visits - int(tally[Count.VISITS]))
        entries.append(log[: int(tally[Count.LOGGED])].copy())
        tally[Count.LOGGED] = 0.0
    state.updates += int(tally[Count.UPDATES])
    _add_support(state, X, index, places, beta, total, entries)
    return tally


def _add_support(
    state: KernelState, X: Any, index: Array, places: Array, beta: Array, total: Array, entries: list[Array]
) -> None:
    """Add the steps of a block to the support, which holds each distinct row once."""
    moved = np.flatnonzero((beta != 0).any(axis=1) | (total != 0).any(axis=1))
    if state.keep == "vote":  # the vote needs a row even if its steps have cancelled
        moved = np.union1d(moved, np.concatenate(entries)[:, 0].astype(np.int64))
    fresh: list[int] = []
    for t in moved.tolist():
        if places[index[t]] < 0:
            slot = state.slots.setdefault(_digest(X, t), state.support.size + len(fresh))
            places[index[t]] = slot
            if slot == state.support.size + len(fresh):
                fresh.append(t)
    if fresh:
        state.support.add(X[fresh])
        state.rows = np.concatenate([state.rows, index[fresh].astype(np.int64)])
        room = np.zeros((len(fresh), beta.shape[1]))
        state.beta, state.total = np.concatenate([state.beta, room]), np.concatenate([state.total, room])
    slots = places[index[moved]]
    np.add.at(state.beta, slots, beta[moved])
    np.add.at(state.total, slots, total[moved])
    for part in entries:
        if part.shape[0]:
            part[:, 0] = places[index[part[:, 0].astype(np.int64)]]
            state.log = (*state.log, part)


def _digest(X: Any, t: int) -> bytes:
    """A key for a row: equal rows become one support row."""
    row = X[t : t + 1].toarray()[0] if sp.issparse(X) else X[t]
    return hashlib.blake2b(np.ascontiguousarray(row + row.dtype.type(0)).tobytes(), digest_size=16).digest()
