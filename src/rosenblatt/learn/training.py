"""Training: a generator that makes one pass over the examples and yields one `EpochRecord`, until it has converged.

The estimators, the command line, the lab and a cluster each drive this same generator. It shuffles, schedules,
averages, votes and keeps a pocket; whoever drives it decides when to stop. Its random numbers come from (seed, epoch)
alone. When a pass is interrupted, the state goes back to the end of the last whole epoch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from rosenblatt.data.errors import NotFiniteError
from rosenblatt.data.examples import VALUES_AT_ONCE, Dense, Examples, Sparse, spans
from rosenblatt.learn.evaluation import Problem, clean, evaluate, find, total_loss, wrong
from rosenblatt.learn.kept import Kept, Planes, take
from rosenblatt.learn.loops import sweep
from rosenblatt.learn.machines import LOG_ROOM, NO_LOG, NONE, Machine, Piece, State, learner, lengthened, new_machine
from rosenblatt.learn.orders import Blocks, Cyclic, Explicit, Order, Random, Shuffled, block_bounds, visited
from rosenblatt.learn.rules import CONSTANT, HARMONIC, ROOT, Encoded, Rule
from rosenblatt.learn.visits import (
    BEST,
    CHECKED,
    CLOCK,
    HELD,
    LEFT,
    LOGGED,
    LOSS,
    POSITION,
    RUN,
    TALLY,
    UPDATES,
    VIOLATIONS,
    Log,
)

Array = np.ndarray[Any, Any]
SMALLEST_STEP = 1 / 1024
MOST_VALUES, MOST_EPOCHS, FEWEST_EPOCHS = 2_000_000_000, 10_000, 10
VOTED_VALUES, VOTED_EPOCHS = 20_000_000, 1000  # of a vote every update is stored


@dataclass(frozen=True)
class EpochRecord:
    """One pass over the examples.

    Attributes
    ----------
    epoch : int
        Counted from 1, over all passes of the model's life.
    updates : int
        Updates made in this pass.
    errors : int or None
        Rows that the model as kept gets wrong at the end of the pass, where asked for.
    loss : float
        Mean loss met during the pass, before each update.
    seconds : float
    converged : bool
        Whether the last iterate is known to have every row on its right side.
    score : float or None
        Score on the held-out rows, where there are some.
    """

    epoch: int
    updates: int
    errors: int | None
    loss: float
    seconds: float
    converged: bool = False
    score: float | None = None


def recorded(epoch: int, updates: int, errors: int | None, loss: float, seconds: float, converged: bool) -> EpochRecord:
    """The record of a pass that has just been made; refused where its loss overflowed (see `finite`)."""
    if not math.isfinite(loss):
        raise NotFiniteError(f"The loss overflowed in epoch {epoch}")
    return EpochRecord(epoch, updates, errors, float(loss), seconds, bool(converged))


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
    watch: Callable[[Machine, Problem, int | None, int], None] | None = None  # told of each visit: its row and epoch

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


def new_state(examples: Examples, plan: Plan, scheme: str, classes: int, seed: int) -> State:
    """Zero weights for so many classes."""
    d, dtype = examples.n_features, examples.dtype
    columns = classes if scheme in ("multinomial", "ovr") else 1
    count = classes * (classes - 1) // 2 if scheme == "ovo" else 1
    machines = [new_machine(plan.rule, plan.keep, columns, d, dtype) for _ in range(count)]
    return State(machines, scheme, plan.keep, classes, seed)


def start_from(state: State, coef: Array, intercept: Array) -> None:
    """Begin at these weights, a row a plane."""
    at = 0
    for machine in state.machines:
        K = machine.intercept.size
        machine.coef[:] = coef[at : at + K]
        machine.intercept[:] = intercept[at : at + K]
        at += K
        if machine.start is not None:
            machine.start = (machine.coef.copy(), machine.intercept.copy())
        if machine.pocket is not None:
            machine.pocket = (machine.coef.copy(), machine.intercept.copy(), np.inf)
    state.from_zero = state.from_zero and not (coef.any() or intercept.any())


def problems(examples: Examples, scheme: str, classes: int) -> Iterator[Problem]:
    """What each machine learns, one at a time."""
    whole = whole_problem(examples, scheme)
    if scheme == "one" and whole.truth.dtype.kind != "f":
        yield replace(whole, truth=_signs(whole.truth == 1))
    elif scheme != "ovo":
        yield whole
    else:
        every = whole.index(0, whole.size)
        mine = whole.truth[every]
        for a in range(classes):
            for b in range(a + 1, classes):
                index = every[(mine == a) | (mine == b)]
                total = float(whole.mass(index).sum())
                yield replace(
                    whole, truth=_signs(whole.truth == b), present=index, size=index.size, total=total, scheme="one"
                )


def _signs(on: Array) -> Array:
    """1 where it is on, −1 where not, in the same memory."""
    signs = on.view(np.int8)
    signs += signs
    signs -= 1
    return signs


def whole_problem(examples: Examples, scheme: str) -> Problem:
    """The problem of all classes at once, whatever the machines learn."""
    weights = NONE if examples.weights is None else examples.weights
    total = float(examples.size)
    if examples.weights is not None:
        total = float(weights.sum() if examples.present is None else weights[examples.present].sum())
    return Problem(examples.rows, examples.target, weights, examples.present, examples.size, total, scheme)


def errors_of(examples: Examples, kept: Kept, plan: Plan) -> int:
    """Rows answered wrongly; for regression, rows outside the tube."""
    problem = whole_problem(examples, kept.scheme)
    if examples.classes is None:
        assert isinstance(kept, Planes)
        return evaluate(problem, kept, plan.rule).violations
    return wrong(problem, kept, examples.target.ndim == 2)[0]


# -- epochs ----------------------------------------------------------------------------------------------------------


def epochs(examples: Examples, plan: Plan, state: State, restore: bool = True) -> Generator[EpochRecord, None, None]:
    """Pass after pass, changing `state`, until an epoch shows that the last iterate has converged.

    An epoch that is broken off leaves the state of the one before, unless nobody wants it back (`restore`).
    """
    state.radius2 = max(state.radius2, examples.radius2)
    state.bias = {"none": 0.0, "unit": 1.0, "radius": state.radius2}[plan.bias]
    if examples.weights is not None:
        state.whole = state.whole and bool((examples.weights == np.floor(examples.weights)).all())
    single = None if state.scheme == "ovo" else list(problems(examples, state.scheme, state.classes))
    if state.keep == "pocket" and state.epoch:
        tasks = single if single is not None else problems(examples, state.scheme, state.classes)
        for machine, problem in zip(state.machines, tasks, strict=True):
            _recount(machine, problem)
    while True:
        began, before = time.perf_counter(), state.updates
        # Of a state without a whole epoch nobody has any use when its first one breaks off: nothing to go back to.
        snapshot = state.copy() if restore and state.epoch else None
        try:
            converged, loss = True, 0.0
            tasks = single if single is not None else problems(examples, state.scheme, state.classes)
            for machine, problem in zip(state.machines, tasks, strict=True):
                machine.tally[[VIOLATIONS, LOSS, POSITION, LEFT]] = 0.0
                if problem.size:
                    converged &= _epoch(machine, problem, plan, state)
                    loss += machine.tally[LOSS] / max(problem.total, 1e-300)
            errors = None
            if plan.record_errors:
                errors = errors_of(examples, state.kept(plan.rule), plan)
            state.epoch += 1
            seconds = time.perf_counter() - began
            record = recorded(state.epoch, state.updates - before, errors, loss, seconds, converged)
        except BaseException:
            if snapshot is not None:
                state.__dict__.update(snapshot.__dict__)
            raise
        yield record
        if converged:
            return


def _epoch(machine: Machine, problem: Problem, plan: Plan, state: State) -> bool:
    """One pass of one machine; whether it is known to have converged."""
    rule = plan.encode(state.epoch + 1, state.bias)
    if isinstance(plan.order, str) and plan.order in ("first", "worst"):
        return _pick(machine, problem, plan, state, rule)
    order = plan.make_order(problem, state.seed)
    if plan.batch:
        converged = _batch(machine, problem, plan, state, rule)
        if plan.watch is not None:
            plan.watch(machine, problem, None, state.epoch + 1)
        return converged
    before = machine.updates
    _run(machine, problem, plan, state, rule, order)
    if machine.tally[VIOLATIONS] > 0:
        return False
    done = (order.covers and machine.updates == before) or confirmed(machine, problem, plan, state)
    if done and machine.pocket is not None and not machine.tally[HELD]:
        _offer(machine, problem, plan, state)
    return done


def confirmed(machine: Machine, problem: Problem, plan: Plan, state: State) -> bool:
    """Whether a scan finds every row above its margin; it ends at the first that is not."""
    return clean(problem, _planes(machine, plan, state), plan.rule)


def _planes(machine: Machine, plan: Plan, state: State) -> Planes:
    alone = State([machine], "one" if state.scheme == "ovo" else state.scheme, "last", state.classes, 0)
    return alone.last(plan.rule)


def _run(machine: Machine, problem: Problem, plan: Plan, state: State, rule: Encoded, order: Order) -> None:
    """Visit rows in order, piece by piece."""
    work = learner(machine, state.scheme, plan.rule, problem.rows)
    K, tally = machine.intercept.size, machine.tally
    log = _new_log(K) if plan.keep == "vote" else NO_LOG
    # A visit to a full Σ reads and writes all of it, whatever the row holds.
    visits = max(1, VALUES_AT_ONCE // (2 * machine.spread.size)) if machine.spread.ndim == 3 else order.size
    for begin, end in spans(order.size, problem.per_row * K):
        piece = visited(order, problem.present, state.epoch, begin, end)
        tally[POSITION] = 0.0
        while tally[POSITION] < piece.size:
            row = int(piece[int(tally[POSITION])])
            most = min(visits, piece.size) if plan.watch is None else 1
            sweep(work, problem.rows, problem.truth, problem.weights, piece, rule, tally, log, most)
            if plan.watch is not None:
                plan.watch(machine, problem, row, state.epoch + 1)
            if tally[LOGGED]:
                machine.log = lengthened(machine.log, _drain(machine, problem.rows, log, rule.bias))
            if machine.pocket is not None and tally[RUN] > 0 and not tally[HELD] and not tally[CHECKED]:
                _try_pocket(machine, problem, plan, state)


def _try_pocket(machine: Machine, problem: Problem, plan: Plan, state: State) -> None:
    """Gallant's ratchet: w goes into the pocket only when it errs strictly less on all rows."""
    if machine.tally[RUN] > machine.tally[BEST]:
        _offer(machine, problem, plan, state)


def _offer(machine: Machine, problem: Problem, plan: Plan, state: State) -> None:
    """Put w into the pocket if it errs strictly less than what is there."""
    assert machine.pocket is not None
    planes = _planes(machine, plan, state)
    mass = wrong(problem, planes, problem.truth.ndim == 2)[1]
    if mass < machine.pocket[2]:
        machine.pocket = (planes.coef, planes.intercept, mass)
        machine.tally[HELD] = 1.0
    else:
        machine.tally[CHECKED] = 1.0


def _recount(machine: Machine, problem: Problem) -> None:
    """Count the errors of the pocket on the rows of this call: those of a call before say nothing of them."""
    assert machine.pocket is not None
    coef, intercept, mass = machine.pocket
    if problem.size and mass < np.inf:
        planes = Planes(coef, intercept, problem.scheme, intercept.size)
        machine.pocket = (coef, intercept, wrong(problem, planes, problem.truth.ndim == 2)[1])
        machine.tally[CHECKED] = 0.0


def _new_log(K: int) -> Log:
    room = max(LOG_ROOM, 2 * K + 2)
    return Log(np.zeros(room, np.uint64), np.zeros(room, np.int32), np.zeros(room), np.zeros(room), np.zeros(room))


def _drain(machine: Machine, rows: Any, log: Log, bias: float) -> Piece:
    """What the log holds, with the distinct rows it speaks of; and an empty log."""
    used = int(machine.tally[LOGGED])
    machine.tally[LOGGED] = 0.0
    distinct, which = np.unique(log.rows[:used], return_inverse=True)
    part = Log(which.astype(np.uint64), *(column[:used].copy() for column in log[1:]))
    d = machine.coef.shape[0] if machine.by_feature else machine.coef.shape[1]
    return Piece(take(rows, distinct, d), part, bias)


def _pick(machine: Machine, problem: Problem, plan: Plan, state: State, rule: Encoded) -> bool:
    """PLA: one update, on the first or the most wrong row of all."""
    planes = _planes(machine, plan, state)
    row = find(problem, planes, plan.rule, worst=plan.order == "worst", bias=rule.bias)
    if row is None:  # or only empty ones, which nothing can put right
        return clean(problem, planes, plan.rule)
    _run(machine, problem, plan, state, rule, Explicit(np.array([row], dtype=np.uint64)))
    if machine.pocket is not None:  # rows that are right are never visited: no runs, the scan makes up for them
        _offer(machine, problem, plan, state)
    return False


def _batch(machine: Machine, problem: Problem, plan: Plan, state: State, rule: Encoded) -> bool:
    """W += η · mean of y·x over the rows that lack margin; each column has its own rows."""
    step = rule._replace(eta=1.0, decay=CONSTANT)
    work = learner(machine, state.scheme, plan.rule, problem.rows, batch=True)
    tally = np.zeros(TALLY)
    for begin, end in spans(problem.size, problem.per_row * machine.intercept.size):
        piece = problem.index(begin, end)
        tally[POSITION] = 0.0
        while tally[POSITION] < piece.size:
            sweep(work, problem.rows, problem.truth, problem.weights, piece, step, tally, NO_LOG, piece.size)
    machine.tally[[VIOLATIONS, LOSS]] = tally[[VIOLATIONS, LOSS]]
    if tally[UPDATES] == 0:
        machine.tally[CLOCK] += 1.0
        return True
    together = state.scheme == "multinomial"  # all planes move by the same rows, else each by its own
    mass = np.full_like(work.mass, work.mass[0]) if together else work.mass
    moved = mass > 0
    mass = np.where(moved, mass, 1.0)
    move, shift = work.dw / _by_plane(mass, machine), work.db / mass
    if plan.rate == "line-search":
        eta = np.full_like(mass, _line_search(machine, problem, plan, state, move, shift))
    else:
        eta = _rates(rule, machine)
    _step(machine, _by_plane(eta, machine) * move, eta * shift)
    machine.moves += moved
    machine.tally[UPDATES] += 1.0 if together else float(np.count_nonzero(moved))
    machine.tally[CLOCK] += 1.0
    if machine.pocket is not None:
        machine.tally[[HELD, CHECKED]] = 0.0
        _offer(machine, problem, plan, state)
    return False


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
    if machine.total_b.size:
        machine.total += machine.tally[CLOCK] * move
        machine.total_b += machine.tally[CLOCK] * shift


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
