"""Online training: a `Solver` that visits rows one by one, by any rule.

It shuffles, schedules, averages, votes and keeps a pocket. Its random numbers come from (seed, epoch) alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from rosenblatt.data.examples import Dense, Examples, Facts, Sparse, rows_per_call, spans
from rosenblatt.learn.compiled_loops import sweep
from rosenblatt.learn.counters import Count
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Solver, Source
from rosenblatt.learn.evaluation import Problem, clean, evaluate, row_to_learn_from, total_loss, wrong
from rosenblatt.learn.models import Model, Planes, take
from rosenblatt.learn.online.companions import LOG_ROOM, NO_LOG, NONE, FullCovariance, LoggedUpdates, Pocket
from rosenblatt.learn.online.first_order import UpdateLog
from rosenblatt.learn.online.rules import CONSTANT, HARMONIC, ROOT, Encoded, Rule
from rosenblatt.learn.online.state import Machine, State, begin_at, learner, new_machine
from rosenblatt.learn.orders import Blocks, Cyclic, Explicit, Order, Random, Shuffled, block_bounds, visited
from rosenblatt.learn.repeated_visits import VisitLimit
from rosenblatt.learn.schemes import PAIRS, Scheme

Array = np.ndarray[Any, Any]
MOST_WATCHED = 20_000  # repeated visits that a trace may write down
SMALLEST_STEP = 1 / 1024
MOST_VALUES, MOST_EPOCHS, FEWEST_EPOCHS = 2_000_000_000, 10_000, 10
VOTED_VALUES, VOTED_EPOCHS = 20_000_000, 1000  # of a vote every update is stored


@dataclass(frozen=True)
class Plan:
    """How to train; the estimators' parameters, checked."""

    rule: Rule
    rate: float | str | Callable[[int], float] = 1.0
    bias: str = "unit"  # "none", "unit", "radius"
    batch: bool = False
    order: str | Array = "shuffle"
    keep: str = "last"
    record_errors: bool = False
    # Told of each visit: its row, or the rows that moved a batch, and the epoch.
    watch: Callable[[Machine, Problem, int | tuple[int, ...], int], None] | None = None
    rows: int = 0  # of a whole epoch, where what is learned from at once is only a part of it

    def encode(self, epoch: int, bias: float) -> Encoded:
        """The rule as it is in this epoch."""
        if callable(self.rate):
            said = self.rate(epoch)
            eta = float(said) if isinstance(said, Real) else math.nan
            if not (math.isfinite(eta) and eta > 0):
                raise ValueError(f"learning_rate({epoch}) returned {said!r}: a rate must be finite and above 0.")
            return self.rule.encode(eta, CONSTANT, bias)
        if isinstance(self.rate, str):
            decay = {"1/t": HARMONIC, "1/sqrt(t)": ROOT, "line-search": CONSTANT}[self.rate]
            return self.rule.encode(1.0, decay, bias)
        return self.rule.encode(self.rate, CONSTANT, bias)

    def make_order(self, problem: Problem, seed: int) -> Order:
        """The order of visits over the rows that take part."""
        if not isinstance(self.order, str):
            rows = self.order
            return Explicit(rows if problem.present is None else rows[np.isin(rows, problem.present)])
        if self.order == "shuffle":
            return Shuffled(problem.size, seed)
        if self.order == "blocks":
            return Blocks(_bounds(problem.rows), seed, problem.present)
        return Random(problem.size, seed) if self.order == "random" else Cyclic(problem.size)

    @property
    def covers(self) -> bool:
        """Whether an epoch visits every row."""
        return isinstance(self.order, str) and self.order in ("shuffle", "blocks", "cyclic")

    def visits(self, problem: Problem, state: Any, whole: bool, columns: int) -> Iterator[Array]:
        """The rows of an epoch in pieces that are quickly visited; a part of a source comes as it is visited."""
        order = self.make_order(problem, state.seed) if whole else Cyclic(problem.size)
        for begin, end in spans(order.size, problem.per_row * columns):
            yield visited(order, problem.present, state.epoch, begin, end)


def _bounds(rows: Dense | Sparse) -> Array:
    """The blocks of rows, as a file would have them."""
    if isinstance(rows, Sparse):
        return block_bounds(rows.starts)
    return block_bounds(np.arange(rows.values.shape[0] + 1) * rows.values.shape[1])


def default_epochs(stored: int, keep: str) -> int:
    """How many epochs at most when nobody says: small sets run until they are clean, large ones not for minutes."""
    values, most = (VOTED_VALUES, VOTED_EPOCHS) if keep == "vote" else (MOST_VALUES, MOST_EPOCHS)
    return max(FEWEST_EPOCHS, min(most, values // max(stored, 1)))


# -- the state at the start ------------------------------------------------------------------------------------------


def new_state(facts: Facts, plan: Plan, scheme: Scheme, classes: int, seed: int) -> State:
    """Zero weights for so many classes."""
    d, dtype = facts.n_features, facts.dtype
    columns = scheme.columns(classes)
    machines = [new_machine(plan.rule, plan.keep, columns, d, dtype) for _ in range(scheme.machines(classes))]
    return State(machines, scheme, plan.keep, classes, seed)


def start_from(state: State, coef: Array, intercept: Array) -> None:
    """Begin at these weights, a row a plane."""
    at = 0
    for machine in state.machines:
        K = machine.intercept.size
        machine.coef[:] = coef[at : at + K]
        machine.intercept[:] = intercept[at : at + K]
        at += K
        begin_at(machine, state.keep)
    state.from_zero = state.from_zero and not (coef.any() or intercept.any())


def problems(examples: Examples, scheme: Scheme, classes: int) -> Iterator[Problem]:
    """What each machine learns, one at a time."""
    return scheme.problems(whole_problem(examples, scheme), classes)


def whole_problem(examples: Examples, scheme: Scheme) -> Problem:
    """The problem of all classes at once, whatever the machines learn."""
    weights = NONE if examples.weights is None else examples.weights
    total = float(examples.size)
    if examples.weights is not None:
        total = float(weights.sum() if examples.present is None else weights[examples.present].sum())
    return Problem(examples.rows, examples.target, weights, examples.present, examples.size, total, scheme)


# -- what is asked of examples ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Errors:
    """How many rows a model answers wrongly, by the tie rule; for regression, rows outside the tube of the rule."""

    kept: Any
    rule: Rule | None = None

    def __call__(self, examples: Examples, shard: int) -> int:
        """Rows of these examples."""
        problem = whole_problem(examples, self.kept.scheme)
        if examples.classes is None:
            assert self.rule is not None
            return evaluate(problem, self.kept, self.rule).violations
        return wrong(problem, self.kept, examples.target.ndim == 2)[0]


def errors_in(source: Source, kept: Any, rule: Rule | None = None) -> int:
    """How many rows of all parts a model answers wrongly."""
    return sum(source.ask(Errors(kept, rule)))


@dataclass(frozen=True)
class Clean:
    """Whether every row is above its margin, for machines of which some need no scan; it ends at the first that is not.

    `planes` has one entry per machine, None for those that are known to be clean.
    """

    rule: Rule
    scheme: Scheme
    classes: int
    planes: tuple[Planes | None, ...]

    def __call__(self, examples: Examples, shard: int) -> bool:
        """Whether it is so for these examples."""
        return all(
            clean(problem, planes, self.rule)
            for planes, problem in zip(self.planes, problems(examples, self.scheme, self.classes), strict=True)
            if planes is not None and problem.size
        )


# -- epochs ----------------------------------------------------------------------------------------------------------


class LinearSolver(Solver):
    """A solver whose state is machines of planes."""

    state: State

    def __init__(self, plan: Any, state: State) -> None:
        self.plan, self.state = plan, state

    def last(self) -> Planes:
        """The last iterate, whatever is kept."""
        return self.state.last()

    def model(self) -> Model:
        """What `keep` says."""
        return self.state.kept()

    def radius(self, facts: Facts) -> float:
        """R of all rows so far."""
        return math.sqrt(max(self.state.radius2, facts.radius2))


class OnlineSolver(LinearSolver):
    """Visits rows one by one, one machine after the other, until the last iterate has converged.

    Orders that look for a row ("first", "worst"), batches, votes and pockets need all rows in one part.
    """

    plan: Plan

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        self.converged: list[bool | None] = [None] * len(state.machines)
        self.losses = self.totals = np.zeros(len(state.machines))

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Take in R, and count the errors of the pocket anew."""
        self.tasks: list[Problem] | None = None
        self.state.radius2 = max(self.state.radius2, source.facts.radius2)
        if source.whole:
            (examples,) = source.parts(self.state.epoch)
            self._meet(examples)
            self.tasks = None if self.state.scheme == PAIRS else list(self._problems(examples))
            if self.state.keep == "pocket" and self.state.epoch:
                for machine, problem in zip(self.state.machines, self._problems(examples), strict=True):
                    _recount(machine, problem)

    def _problems(self, examples: Examples) -> Iterator[Problem]:
        return problems(examples, self.state.scheme, self.state.classes)

    def _meet(self, examples: Examples) -> None:
        state = self.state
        state.radius2 = max(state.radius2, examples.radius2)
        state.bias = {"none": 0.0, "unit": 1.0, "radius": state.radius2}[self.plan.bias]
        if examples.weights is not None:
            state.whole = state.whole and bool((examples.weights == np.floor(examples.weights)).all())

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass of all machines over each part."""
        state = self.state
        plan = self.plan
        if not source.whole:  # parts come in their order
            plan = replace(plan, order="cyclic", rows=source.facts.rows)
        count = len(state.machines)
        self.losses, self.totals = np.zeros(count), np.zeros(count)
        self.converged = [True] * count
        for examples in source.parts(state.epoch):
            if not source.whole:
                self._meet(examples)
            before = state.updates
            tasks = self._problems(examples) if self.tasks is None else self.tasks
            for k, (machine, problem) in enumerate(zip(state.machines, tasks, strict=True)):
                machine.tally[[Count.VIOLATIONS, Count.LOSS, Count.POSITION, Count.LEFT]] = 0.0
                if problem.size:
                    self._join(k, _epoch(machine, problem, plan, state))
                    self.losses[k] += machine.tally[Count.LOSS]
                    self.totals[k] += problem.total
            yield PartOfEpoch(examples.target.shape[0], state.updates - before)

    def _join(self, k: int, converged: bool | None) -> None:
        """What parts say of machine k together: False if one does, else None if one does."""
        both = (self.converged[k], converged)
        self.converged[k] = False if False in both else None if None in both else True

    def ending(self, source: Source) -> Ending:
        """The mean loss, and whether every row is above its margin."""
        sure = [converged is True for converged in self.converged]
        converged = False not in self.converged and (all(sure) or self._scanned(source, sure))
        errors = errors_in(source, self.model(), self.plan.rule) if self.plan.record_errors else None
        return Ending(self.mean_loss(source), converged, errors)

    def mean_loss(self, source: Source) -> float:
        """The loss of each machine by the weight of the rows that it learns from, summed."""
        totals = self.state.scheme.totals(source.facts, self.totals)
        return float(sum(self.losses / np.maximum(totals, 1e-300)))

    def take(self, losses: Array, violations: float, updates: int) -> None:
        """End an epoch that was made elsewhere, with these losses of each machine."""
        self.losses = losses
        untouched = updates == 0 and self.plan.covers
        self.converged = [False if violations else True if untouched else None] * len(self.state.machines)

    def clean(self, source: Source) -> bool:
        """Whether every row is above its margin."""
        return self._scanned(source, [False] * len(self.state.machines))

    def _scanned(self, source: Source, sure: list[bool]) -> bool:
        """Whether a scan finds every row above its margin, for machines that are not sure of it."""
        planes = tuple(
            None if known else _planes(machine, self.plan, self.state)
            for known, machine in zip(sure, self.state.machines, strict=True)
        )
        return all(source.ask(Clean(self.plan.rule, self.state.scheme, self.state.classes, planes)))


def _epoch(machine: Machine, problem: Problem, plan: Plan, state: State) -> bool | None:
    """One pass of one machine; whether it has converged, None where only a scan can tell."""
    rule = plan.encode(state.epoch + 1, state.bias)
    if isinstance(plan.order, str) and plan.order in ("first", "worst"):
        return _update_on_chosen_row(machine, problem, plan, state, rule)
    order = plan.make_order(problem, state.seed)
    if plan.batch:
        return _batch(machine, problem, plan, state, rule)
    before = machine.updates
    _visit_in_order(machine, problem, plan, state, rule, order)
    if machine.tally[Count.VIOLATIONS] > 0:
        return False
    done = True if order.covers and machine.updates == before else None
    if machine.pocket is not None:
        done = done or clean(problem, _planes(machine, plan, state), plan.rule)
        if done and not machine.tally[Count.HELD]:
            _offer_to_pocket(machine, problem, plan, state)
    return done


def _planes(machine: Machine, plan: Plan, state: State) -> Planes:
    alone = State([machine], state.scheme.alone, "last", state.classes, 0)
    return alone.last()


def _visit_in_order(machine: Machine, problem: Problem, plan: Plan, state: State, rule: Encoded, order: Order) -> None:
    """Visit rows in order, piece by piece."""
    work = learner(machine, state.scheme, plan.rule, problem.rows)
    K, tally = machine.intercept.size, machine.tally
    log = _new_log(K) if plan.keep == "vote" else NO_LOG
    # A visit to a full Σ reads and writes all of it, whatever the row holds.
    sure = machine.covariance
    most = rows_per_call(2.0 * sure.matrices.size if isinstance(sure, FullCovariance) else problem.per_row * K)
    repeats = VisitLimit(max(plan.rows, problem.size))
    if plan.watch is not None:
        most, repeats = 1, VisitLimit(problem.size, MOST_WATCHED)
    for begin, end in spans(order.size, problem.per_row * K):
        piece = visited(order, problem.present, state.epoch, begin, end)
        tally[Count.POSITION] = 0.0
        repeats.begin(piece.size)
        while tally[Count.POSITION] < piece.size:
            row = int(piece[int(tally[Count.POSITION])])
            some = repeats.few(most)
            left = sweep(work, problem.task, piece, rule, tally, log, some)
            repeats.spend(some - left)
            if plan.watch is not None:
                plan.watch(machine, problem, row, state.epoch + 1)
            if tally[Count.LOGGED] and machine.votes is not None:
                machine.votes.add(_drain(machine, problem.rows, log, rule.bias))
            fresh = tally[Count.RUN] > 0 and not tally[Count.HELD] and not tally[Count.CHECKED]
            if machine.pocket is not None and fresh:
                _try_pocket(machine, problem, plan, state)


def _try_pocket(machine: Machine, problem: Problem, plan: Plan, state: State) -> None:
    """Gallant's ratchet: w goes into the pocket only when it errs strictly less on all rows."""
    if machine.tally[Count.RUN] > machine.tally[Count.BEST]:
        _offer_to_pocket(machine, problem, plan, state)


def _offer_to_pocket(machine: Machine, problem: Problem, plan: Plan, state: State) -> None:
    """Put w into the pocket if it errs strictly less than what is there."""
    assert machine.pocket is not None
    planes = _planes(machine, plan, state)
    mass = wrong(problem, planes, problem.truth.ndim == 2)[1]
    if mass < machine.pocket.errors:
        machine.pocket = Pocket(planes.coef, planes.intercept, mass)
        machine.tally[Count.HELD] = 1.0
    else:
        machine.tally[Count.CHECKED] = 1.0


def _recount(machine: Machine, problem: Problem) -> None:
    """Count the errors of the pocket on the rows of this call: those of a call before say nothing of them."""
    assert machine.pocket is not None
    coef, intercept, errors = machine.pocket.arrays
    if problem.size and errors < np.inf:
        planes = Planes(coef, intercept, problem.scheme, intercept.size)
        machine.pocket = Pocket(coef, intercept, wrong(problem, planes, problem.truth.ndim == 2)[1])
        machine.tally[Count.CHECKED] = 0.0


def _new_log(K: int) -> UpdateLog:
    room = max(LOG_ROOM, 2 * K + 2)
    return UpdateLog(
        np.zeros(room, np.uint64), np.zeros(room, np.int32), np.zeros(room), np.zeros(room), np.zeros(room)
    )


def _drain(machine: Machine, rows: Any, log: UpdateLog, bias: float) -> LoggedUpdates:
    """What the log holds, with the distinct rows it speaks of; and an empty log."""
    used = int(machine.tally[Count.LOGGED])
    machine.tally[Count.LOGGED] = 0.0
    distinct, which = np.unique(log.rows[:used], return_inverse=True)
    part = UpdateLog(which.astype(np.uint64), *(column[:used].copy() for column in log[1:]))
    d = machine.coef.shape[0] if machine.by_feature else machine.coef.shape[1]
    return LoggedUpdates(take(rows, distinct, d), part, bias)


def _update_on_chosen_row(machine: Machine, problem: Problem, plan: Plan, state: State, rule: Encoded) -> bool:
    """PLA: one update, on the first or the most wrong row of all."""
    planes = _planes(machine, plan, state)
    row = row_to_learn_from(problem, planes, plan.rule, worst=plan.order == "worst", bias=rule.bias)
    if row is None:  # or only empty ones, which nothing can put right
        return clean(problem, planes, plan.rule)
    _visit_in_order(machine, problem, plan, state, rule, Explicit(np.array([row], dtype=np.uint64)))
    if machine.pocket is not None:  # rows that are right are never visited: no runs, the scan makes up for them
        _offer_to_pocket(machine, problem, plan, state)
    return False


def _batch(machine: Machine, problem: Problem, plan: Plan, state: State, rule: Encoded) -> bool:
    """W += (η/N)·Σ y·x over the rows that lack margin, N the weight of all rows; each column has its own rows.

    A line search chooses the step along their mean instead.
    """
    work = learner(machine, state.scheme, plan.rule, problem.rows, batch=True)
    tally, rows = _gather(work, machine, problem, plan, rule)
    machine.tally[[Count.VIOLATIONS, Count.LOSS]] = tally[[Count.VIOLATIONS, Count.LOSS]]
    moved = work.mass > 0
    if tally[Count.UPDATES] > 0:
        machine.tally[Count.MISTAKES] += float(work.mass.sum())
        _move_by(work, machine, problem, plan, state, rule)
    machine.tally[Count.CLOCK] += 1.0
    if moved.any() and machine.pocket is not None:
        machine.tally[[Count.HELD, Count.CHECKED]] = 0.0
        _offer_to_pocket(machine, problem, plan, state)
    if plan.watch is not None:
        plan.watch(machine, problem, tuple(rows), state.epoch + 1)
    return not moved.any()


def _gather(work: Any, machine: Machine, problem: Problem, plan: Plan, rule: Encoded) -> tuple[Array, list[int]]:
    """Add up y·x over the rows that lack margin; where somebody watches, also say which rows they are."""
    step = rule._replace(eta=1.0, decay=CONSTANT)
    rows: list[int] = []
    tally, repeats = np.zeros(len(Count)), VisitLimit(problem.size)
    most = rows_per_call(problem.per_row * machine.intercept.size)
    if plan.watch is not None:
        most, repeats = 1, VisitLimit(problem.size, MOST_WATCHED)
    for begin, end in spans(problem.size, problem.per_row * machine.intercept.size):
        piece = problem.index(begin, end)
        tally[Count.POSITION] = 0.0
        repeats.begin(piece.size)
        while tally[Count.POSITION] < piece.size:
            row, before = int(piece[int(tally[Count.POSITION])]), tally[Count.UPDATES]
            some = repeats.few(most)
            left = sweep(work, problem.task, piece, step, tally, NO_LOG, some)
            repeats.spend(some - left)
            if plan.watch is not None and tally[Count.UPDATES] > before and row not in rows[-1:]:
                rows.append(row)
    return tally, rows


def _move_by(work: Any, machine: Machine, problem: Problem, plan: Plan, state: State, rule: Encoded) -> None:
    """Move w by what was gathered."""
    together = state.scheme.joint  # all planes move by the same rows, else each by its own
    mass = np.full_like(work.mass, work.mass[0]) if together else work.mass
    moved = mass > 0
    if plan.rate == "line-search":
        mass = np.where(moved, mass, 1.0)
        move, shift = work.dw / _by_plane(mass, machine), work.db / mass
        eta = np.full_like(mass, _line_search(machine, problem, plan, state, move, shift))
    else:
        move, shift = work.dw, work.db
        eta = _rates(rule, machine) / problem.total
    _step(machine, _by_plane(eta, machine) * move, eta * shift)
    machine.moves += moved
    machine.tally[Count.UPDATES] += 1.0 if together else float(np.count_nonzero(moved))


def _by_plane(numbers: Array, machine: Machine) -> Array:
    """One number a plane, to be multiplied with weights as they lie."""
    return numbers[None, :] if machine.by_feature else numbers[:, None]


def _rates(rule: Encoded, machine: Machine) -> Array:
    """The rate of each plane, by its own count of updates."""
    t = machine.moves + 1.0
    return np.asarray({CONSTANT: np.full_like(t, rule.eta), HARMONIC: 1.0 / t, ROOT: 1.0 / np.sqrt(t)}[rule.decay])


def _step(machine: Machine, move: Array, shift: Array) -> None:
    """W += move, and the average with it."""
    move = move if move.ndim == 2 else move[None, :]
    machine.coef += move.astype(machine.coef.dtype)
    machine.intercept += shift.astype(machine.intercept.dtype)
    if machine.average is not None:
        machine.average.coef += machine.tally[Count.CLOCK] * move
        machine.average.intercept += machine.tally[Count.CLOCK] * shift


def _line_search(machine: Machine, problem: Problem, plan: Plan, state: State, move: Array, shift: Array) -> float:
    """Double the step from 1 while the loss falls, up to √(2k) at update k; else halve it, down to 1/1024.

    The loss is convex along a line. Steps between 1/1024 and √(2k) keep the convergence theorem: with w·Δ ≤ 0 for every
    step Δ, (Ση)²γ² ≤ ‖w‖² ≤ R²Ση², and Ση²/(Ση)² goes to 0.
    """
    if not (machine.coef.any() or machine.intercept.any()):
        return 1.0  # from zero a step only sets the scale
    most = math.sqrt(2.0 * (float(machine.moves.max()) + 1.0))

    def loss(eta: float) -> float:
        trial = machine.copy()
        _step(trial, eta * move, eta * shift)
        return total_loss(problem, _planes(trial, plan, state), plan.rule)

    best, here = 1.0, loss(1.0)
    for factor in (2.0, 0.5):
        eta = best * factor
        while SMALLEST_STEP <= eta <= most and (there := loss(eta)) < here:
            best, here, eta = eta, there, eta * factor
        if best != 1.0:
            break
    return best
