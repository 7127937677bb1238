"""Online training: a `Solver` that visits rows one by one and updates by any rule.

It shuffles, schedules, averages, votes and keeps a pocket. Its random numbers depend on (seed, epoch) alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from rosenblatt.compiled.row_arrays import rows_per_call, spans
from rosenblatt.compiled.step_sizes import squared_bias_feature
from rosenblatt.learn.counters import Count
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Source
from rosenblatt.learn.evaluation import Criterion, Problem, clean, problems, row_to_learn_from, total_loss, wrong
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.models import Planes, copy_rows
from rosenblatt.learn.orders import Explicit, Order, visited
from rosenblatt.learn.plan import Needs
from rosenblatt.learn.repeated_visits import VisitLimit
from rosenblatt.learn.scans import Clean, errors_in
from rosenblatt.learn.schemes import Scheme
from rosenblatt.online.rules import CONSTANT, HARMONIC, ROOT, Encoded, PerceptronRule, Rule
from rosenblatt.online.visits import learner, sweep
from rosenblatt.planes.companions import Weights
from rosenblatt.planes.covariance import FullCovariance
from rosenblatt.planes.linear_plan import LinearPlan, LinearSolver
from rosenblatt.planes.pocket import Pocket
from rosenblatt.planes.state import Machine, State
from rosenblatt.planes.update_log import LOG_ROOM, NO_LOG, UpdateLog
from rosenblatt.planes.votes import LoggedUpdates

Array = np.ndarray[Any, Any]
MOST_WATCHED = 20_000  # repeated visits that a trace may record
SMALLEST_STEP = 1 / 1024
# The counters that start at 0 in each pass. An array, because a list of enum members would be converted at each use.
PER_PASS = np.array([Count.VIOLATIONS, Count.LOSS, Count.POSITION, Count.LEFT])


@dataclass(frozen=True, kw_only=True)
class OnlinePlan(LinearPlan):
    """How to learn by an update rule."""

    rule: Rule
    rate: float | str | Callable[[int], float] = 1.0
    batch: bool = False
    # Called after each visit, with its row, or the rows that changed w in a batch, and the epoch.
    watch: Callable[[Machine, Problem, int | tuple[int, ...], int], None] | None = None
    rows: int = 0  # of a whole epoch, if a call learns from a part of it

    @cached_property
    def criterion(self) -> Criterion:
        """That of the rule."""
        return self.rule.criterion

    @property
    def bounded(self) -> bool:
        """For perceptrons with a constant rate."""
        return isinstance(self.rule, PerceptronRule) and isinstance(self.rate, int | float)

    @property
    def local(self) -> bool:
        """A visit changes only the weights of its row's features; a batch is summed in arrays as large as w."""
        return not self.batch

    @property
    def _rule(self) -> Rule:
        return self.rule

    @property
    def needs(self) -> Needs:
        """Votes, pockets, batches and orders that jump need all rows."""
        memory, mixing = self.why_not_in_parts, None
        if self.batch:
            memory = 'update="batch" moves w once per pass; from files learn with update="online".'
            mixing = 'update="batch" changes w once per pass over all rows'
        elif not isinstance(self.order, str) or self.order in ("first", "worst"):
            mixing = "its order needs all rows at once"
        if self.keep == "vote":
            memory = "{name} stores every row that made an update, which may be the whole file: use fit, in memory."
            mixing = "it stores every row that made an update, and votes do not mix"
        if self.keep == "pocket":
            memory = "{name} reads all rows again for each entry of its pocket: use fit, in memory."
            mixing = "its pocket is chosen on all rows, and pockets do not mix"
        return Needs(memory, mixing, self.bias == "radius")

    def scheme(self, classes: int, labels: bool) -> Scheme:
        """How classes become planes; between classes there is one margin."""
        scheme = super().scheme(classes, labels)
        low, high, *_ = self.criterion
        if scheme.joint and low != high:
            raise ValueError(
                f"margin=({low:g}, {high:g}) is a pair, which is for two classes; with {classes} classes and "
                'multiclass="multinomial" a margin lies between classes: give one number, or multiclass="ovr".'
            )
        return scheme

    def new_state(self, source: Source, seed: int, weights: Weights | None = None) -> State:
        """Machines at zero or at these weights; a covariance without a bias has no room for an intercept."""
        if weights is not None and self.rule.order == 2 and self.bias == "none" and weights.intercept.any():
            raise ValueError(
                f"fit_intercept=False learns planes through the origin: intercept {weights.intercept} must be 0."
            )
        return super().new_state(source, seed, weights)

    def follow(self, state: State) -> OnlineSolver:
        """The solver that visits rows one by one."""
        return OnlineSolver(self, state)

    def refuse_change(self, state: State) -> None:
        """`keep`, the form of a covariance and its bias stay as they were."""
        super().refuse_change(state)
        if self.rule.order == 1:
            return
        full = state.machines[0].full
        if self.rule.full != full:
            raise ValueError(f"covariance was {'full' if full else 'diagonal'} in the first call and must not change.")
        bias = state.bias  # the initial variance
        if state.epoch and bias != squared_bias_feature(self.bias, 0.0):
            was = f"bias_step was {bias:g}" if bias else "there was no bias"
            raise ValueError(f"{was} in the first call: fit_intercept and bias_step must not change.")

    def encode(self, epoch: int, bias: float) -> Encoded:
        """The rule in this epoch, for compiled code."""
        if callable(self.rate):
            returned = self.rate(epoch)
            eta = float(returned) if isinstance(returned, Real) else math.nan
            if not (math.isfinite(eta) and eta > 0):
                raise ValueError(f"learning_rate({epoch}) returned {returned!r}: a rate must be finite and above 0.")
            return self.rule.encode(eta, CONSTANT, bias)
        if isinstance(self.rate, str):
            decay = {"1/t": HARMONIC, "1/sqrt(t)": ROOT, "line-search": CONSTANT}[self.rate]
            return self.rule.encode(1.0, decay, bias)
        return self.rule.encode(self.rate, CONSTANT, bias)


# -- epochs ----------------------------------------------------------------------------------------------------------


class OnlineSolver(LinearSolver):
    """Visits rows one by one, one machine after the other, until the last iterate has converged.

    The orders "first" and "worst", batches, votes and pockets need all rows in one part.
    """

    plan: OnlinePlan
    separates = True

    def __init__(self, plan: OnlinePlan, state: State) -> None:
        super().__init__(plan, state)
        self.converged: list[bool | None] = [None] * len(state.machines)
        self.losses: Sequence[float] = []
        self.totals: Sequence[float] = []

    @property
    def finished(self) -> str:  # type: ignore[override]
        """Every row is on its side; for regression every row is in its tube, so that no loss is left."""
        return "solved" if self.plan.criterion.numbers else "separated"

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Set R, and recount the errors of the pocket."""
        self.tasks = self.whole_tasks(source)
        self.state.radius2 = max(self.state.radius2, source.facts.radius2)
        if source.whole:
            (examples,) = source.parts(self.state.epoch)
            self._meet(examples)
            if self.state.keep == "pocket" and self.state.epoch:
                for machine, problem in zip(self.state.machines, self._problems(examples), strict=True):
                    _recount(machine, problem)

    def _problems(self, examples: Examples) -> Iterator[Problem]:
        return problems(examples, self.state.scheme, self.state.classes)

    def _meet(self, examples: Examples) -> None:
        state = self.state
        state.radius2 = max(state.radius2, examples.radius2)
        state.bias = float(squared_bias_feature(self.plan.bias, state.radius2))
        if examples.weights is not None:
            state.whole = state.whole and bool((examples.weights == np.floor(examples.weights)).all())

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass of all machines over each part."""
        state = self.state
        plan = self.plan
        if not source.whole:  # rows are visited in the order of the parts
            plan = replace(plan, order="cyclic", rows=source.facts.rows)
        count = len(state.machines)
        self.losses, self.totals = losses, totals = [0.0] * count, [0.0] * count
        self.converged = [True] * count
        for examples in source.parts(state.epoch):
            if not source.whole:
                self._meet(examples)
            before = state.updates
            tasks = self._problems(examples) if self.tasks is None else self.tasks
            for k, (machine, problem) in enumerate(zip(state.machines, tasks, strict=True)):
                machine.tally[PER_PASS] = 0.0
                if problem.size:
                    self._join(k, _epoch(machine, problem, plan, state))
                    losses[k] += float(machine.tally[Count.LOSS])
                    totals[k] += problem.total
            yield PartOfEpoch(examples.target.shape[0], state.updates - before)

    def _join(self, k: int, converged: bool | None) -> None:
        """Combine the results of parts for machine k: False if any is False, else None if any is None."""
        both = (self.converged[k], converged)
        self.converged[k] = False if False in both else None if None in both else True

    def ending(self, source: Source) -> Ending:
        """The mean loss, and whether every row is above its margin."""
        known = [converged is True for converged in self.converged]
        converged = False not in self.converged and (all(known) or self._scanned(source, known))
        errors = errors_in(source, self.model(), self.plan.criterion) if self.plan.record_errors else None
        return Ending(self.mean_loss(source), converged, errors)

    def mean_loss(self, source: Source) -> float:
        """The sum over machines of the loss divided by the weight of the machine's rows."""
        mean = 0.0
        for loss, total in zip(self.losses, self.state.scheme.totals(source.facts, self.totals), strict=True):
            mean += loss / max(total, 1e-300)
        return float(mean)

    def take(self, losses: Array, violations: float, updates: int) -> None:
        """Take over the results of an epoch that was run elsewhere: the losses of each machine."""
        self.losses = losses.tolist()
        untouched = updates == 0 and self.plan.covers
        self.converged = [False if violations else True if untouched else None] * len(self.state.machines)

    def clean(self, source: Source) -> bool:
        """Whether every row is above its margin."""
        return self._scanned(source, [False] * len(self.state.machines))

    def _scanned(self, source: Source, known: list[bool]) -> bool:
        """Whether a scan finds every row above its margin, for machines not known to have converged."""
        planes = tuple(
            None if converged else _alone(machine, self.state).current()
            for converged, machine in zip(known, self.state.machines, strict=True)
        )
        return all(source.ask(Clean(self.plan.criterion, self.state.scheme, self.state.classes, planes)))


def _epoch(machine: Machine, problem: Problem, plan: OnlinePlan, state: State) -> bool | None:
    """One pass of one machine; returns whether it has converged, None if only a scan can tell."""
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
        done = done or clean(problem, _planes(machine, plan, state), plan.criterion)
        if done and not machine.tally[Count.HELD]:
            _offer_to_pocket(machine, problem, plan, state)
    return done


def _planes(machine: Machine, plan: OnlinePlan, state: State) -> Planes:
    return _alone(machine, state).last()


def _alone(machine: Machine, state: State) -> State:
    return State([machine], state.scheme.alone, "last", state.classes, 0)


def _visit_in_order(
    machine: Machine, problem: Problem, plan: OnlinePlan, state: State, rule: Encoded, order: Order
) -> None:
    """Visit rows in order, piece by piece."""
    arrays = learner(machine, state.scheme, plan.rule, problem.rows)
    K, tally = machine.intercept.size, machine.tally
    log = _new_log(K) if plan.keep == "vote" else NO_LOG
    # With a full Σ every visit reads and writes all of it, whatever the row holds.
    full = machine.covariance
    per_row = problem.per_row * K
    step = most = rows_per_call(per_row)
    if isinstance(full, FullCovariance):
        most = rows_per_call(2.0 * full.matrices.size)
    repeats = None  # rows that have no weights are visited once
    if problem.weights.size and plan.watch is None:
        repeats = VisitLimit(max(plan.rows, problem.size))
    elif plan.watch is not None:
        most, repeats = 1, VisitLimit(problem.size, MOST_WATCHED)
    for begin in range(0, order.size, step):
        piece = visited(order, problem.present, state.epoch, begin, min(begin + step, order.size))
        task, places = problem.visit(piece)
        tally[Count.POSITION] = 0.0
        if repeats is not None:
            repeats.begin(piece.size)
        while (at := int(tally[Count.POSITION])) < piece.size:
            visits = most if repeats is None else repeats.few(most)
            left = sweep(arrays, task, places, rule, tally, log, visits)
            if repeats is not None:
                repeats.spend(visits - left)
            if plan.watch is not None:
                plan.watch(machine, problem, int(piece[at]), state.epoch + 1)
            if machine.votes is not None and tally[Count.LOGGED]:
                machine.votes.add(_drain(machine, task.rows, log, rule.bias))
            if machine.pocket is not None:
                _try_pocket(machine, problem, plan, state)


def _try_pocket(machine: Machine, problem: Problem, plan: OnlinePlan, state: State) -> None:
    """Gallant's ratchet: w replaces the pocket only if it makes strictly fewer errors on all rows."""
    tally = machine.tally
    if tally[Count.RUN] > tally[Count.BEST] and not (tally[Count.HELD] or tally[Count.CHECKED]):
        _offer_to_pocket(machine, problem, plan, state)


def _offer_to_pocket(machine: Machine, problem: Problem, plan: OnlinePlan, state: State) -> None:
    """Put w into the pocket if it makes strictly fewer errors."""
    assert machine.pocket is not None
    planes = _planes(machine, plan, state)
    mass = wrong(problem, planes, problem.truth.ndim == 2)[1]
    if mass < machine.pocket.errors:
        machine.pocket = Pocket(planes.coef, planes.intercept, mass)
        machine.tally[Count.HELD] = 1.0
    else:
        machine.tally[Count.CHECKED] = 1.0


def _recount(machine: Machine, problem: Problem) -> None:
    """Recount the errors of the pocket on the rows of this call, which may differ from those of earlier calls."""
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
    """The logged updates with the distinct rows they refer to; empties the log."""
    used = int(machine.tally[Count.LOGGED])
    machine.tally[Count.LOGGED] = 0.0
    distinct, which = np.unique(log.rows[:used], return_inverse=True)
    part = UpdateLog(which.astype(np.uint64), *(column[:used].copy() for column in log[1:]))
    d = machine.coef.shape[0] if machine.by_feature else machine.coef.shape[1]
    return LoggedUpdates(copy_rows(rows, distinct, d), part, bias)


def _update_on_chosen_row(machine: Machine, problem: Problem, plan: OnlinePlan, state: State, rule: Encoded) -> bool:
    """PLA: one update, on the first or the worst misclassified row."""
    planes = _planes(machine, plan, state)
    row = row_to_learn_from(problem, planes, plan.criterion, worst=plan.order == "worst", bias=rule.bias)
    if row is None:  # or only empty rows, which no update can correct
        return clean(problem, planes, plan.criterion)
    _visit_in_order(machine, problem, plan, state, rule, Explicit(np.array([row], dtype=np.uint64)))
    if machine.pocket is not None:  # correct rows are never visited, so there are no runs; scan instead
        _offer_to_pocket(machine, problem, plan, state)
    return False


def _batch(machine: Machine, problem: Problem, plan: OnlinePlan, state: State, rule: Encoded) -> bool:
    """Add (η/N)·Σ y·x over the rows whose margin is too small, N the weight of all rows; each column has its own rows.

    A line search chooses the step size along their mean instead.
    """
    arrays = learner(machine, state.scheme, plan.rule, problem.rows, batch=True)
    tally, rows = _gather(arrays, machine, problem, plan, rule)
    machine.tally[[Count.VIOLATIONS, Count.LOSS]] = tally[[Count.VIOLATIONS, Count.LOSS]]
    moved = arrays.mass > 0
    if tally[Count.UPDATES] > 0:
        machine.tally[Count.MISTAKES] += float(arrays.mass.sum())
        _move_by(arrays, machine, problem, plan, state, rule)
    machine.tally[Count.CLOCK] += 1.0
    if moved.any() and machine.pocket is not None:
        machine.tally[[Count.HELD, Count.CHECKED]] = 0.0
        _offer_to_pocket(machine, problem, plan, state)
    if plan.watch is not None:
        plan.watch(machine, problem, tuple(rows), state.epoch + 1)
    return not moved.any()


def _gather(
    arrays: Any, machine: Machine, problem: Problem, plan: OnlinePlan, rule: Encoded
) -> tuple[Array, list[int]]:
    """Sum y·x over the rows whose margin is too small; if the plan has a `watch`, also return these rows."""
    step = rule._replace(eta=1.0, decay=CONSTANT)
    rows: list[int] = []
    tally, repeats = np.zeros(len(Count)), VisitLimit(problem.size)
    most = rows_per_call(problem.per_row * machine.intercept.size)
    if plan.watch is not None:
        most, repeats = 1, VisitLimit(problem.size, MOST_WATCHED)
    for begin, end in spans(problem.size, problem.per_row * machine.intercept.size):
        piece = problem.index(begin, end)
        task, places = problem.visit(piece)
        tally[Count.POSITION] = 0.0
        repeats.begin(piece.size)
        while tally[Count.POSITION] < piece.size:
            row, before = int(piece[int(tally[Count.POSITION])]), tally[Count.UPDATES]
            visits = repeats.few(most)
            left = sweep(arrays, task, places, step, tally, NO_LOG, visits)
            repeats.spend(visits - left)
            if plan.watch is not None and tally[Count.UPDATES] > before and row not in rows[-1:]:
                rows.append(row)
    return tally, rows


def _move_by(arrays: Any, machine: Machine, problem: Problem, plan: OnlinePlan, state: State, rule: Encoded) -> None:
    """Change w by the step that was summed."""
    together = state.scheme.joint  # the same rows update all planes; else each plane has its own
    mass = np.full_like(arrays.mass, arrays.mass[0]) if together else arrays.mass
    moved = mass > 0
    if plan.rate == "line-search":
        mass = np.where(moved, mass, 1.0)
        move, shift = arrays.dw / _by_plane(mass, machine), arrays.db / mass
        eta = np.full_like(mass, _line_search(machine, problem, plan, state, move, shift))
    else:
        move, shift = arrays.dw, arrays.db
        eta = _rates(rule, machine) / problem.total
    _step(machine, _by_plane(eta, machine) * move, eta * shift)
    machine.moves += moved
    machine.tally[Count.UPDATES] += 1.0 if together else float(np.count_nonzero(moved))


def _by_plane(numbers: Array, machine: Machine) -> Array:
    """One number per plane, broadcastable to the layout of the weights."""
    return numbers[None, :] if machine.by_feature else numbers[:, None]


def _rates(rule: Encoded, machine: Machine) -> Array:
    """The rate of each plane, by its own count of updates."""
    t = machine.moves + 1.0
    return np.asarray({CONSTANT: np.full_like(t, rule.eta), HARMONIC: 1.0 / t, ROOT: 1.0 / np.sqrt(t)}[rule.decay])


def _step(machine: Machine, move: Array, shift: Array) -> None:
    """Add `move` to the weights, and update the average."""
    move = move if move.ndim == 2 else move[None, :]
    machine.coef += move.astype(machine.coef.dtype)
    machine.intercept += shift.astype(machine.intercept.dtype)
    if machine.average is not None:
        machine.average.coef += machine.tally[Count.CLOCK] * move
        machine.average.intercept += machine.tally[Count.CLOCK] * shift


def _line_search(
    machine: Machine, problem: Problem, plan: OnlinePlan, state: State, move: Array, shift: Array
) -> float:
    """Double the step size from 1 while the loss decreases, up to √(2k) at update k; else halve it, down to 1/1024.

    The loss is convex along a line. Step sizes between 1/1024 and √(2k) preserve the convergence theorem: with w·Δ ≤ 0
    for every step Δ, (Ση)²γ² ≤ ‖w‖² ≤ R²Ση², and Ση²/(Ση)² goes to 0.
    """
    if not (machine.coef.any() or machine.intercept.any()):
        return 1.0  # from zero the step size only sets the scale
    most = math.sqrt(2.0 * (float(machine.moves.max()) + 1.0))

    def loss(eta: float) -> float:
        trial = machine.copy()
        _step(trial, eta * move, eta * shift)
        return total_loss(problem, _planes(trial, plan, state), plan.criterion)

    best, here = 1.0, loss(1.0)
    for factor in (2.0, 0.5):
        eta = best * factor
        while SMALLEST_STEP <= eta <= most and (there := loss(eta)) < here:
            best, here, eta = eta, there, eta * factor
        if best != 1.0:
            break
    return best
