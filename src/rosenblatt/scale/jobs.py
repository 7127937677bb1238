"""What is learned from a file: one pass after the other, each of many pieces of rows, and the report at the end.

A pass is many short passes of the training generator, one a piece, without an epoch's end between them. The next
pieces are made on the other core while this one is learned from.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.data.errors import FileError, NotFiniteError
from rosenblatt.data.examples import Examples
from rosenblatt.estimators.encoding import Arrays, encode
from rosenblatt.estimators.files import load
from rosenblatt.estimators.network import MOST_EPOCHS
from rosenblatt.estimators.report import Report, looked_at, scan
from rosenblatt.learn import minimising, network, pegasos
from rosenblatt.learn.evaluation import Problem
from rosenblatt.learn.finite import check_state, largest_of
from rosenblatt.learn.minimising import Aim, Patience
from rosenblatt.learn.orders import Blocks
from rosenblatt.learn.pegasos import PegasosPlan
from rosenblatt.learn.training import (
    EpochRecord,
    Plan,
    default_epochs,
    epochs,
    errors_of,
    problems,
    recorded,
    whole_problem,
)
from rosenblatt.learn.tree import visit_rows
from rosenblatt.learn.visits import CLOCK, LEFT, LOSS, POSITION, VIOLATIONS
from rosenblatt.scale.ahead import ahead
from rosenblatt.scale.rows import Census, Parsed, Rows, Taught

LEAST_MEMORY = 160_000_000


@dataclass(frozen=True)
class Progress:
    """How far training is.

    Attributes
    ----------
    epoch : int
        The pass that is under way, from 1.
    rows, total : int
        Rows visited in this pass, and rows of a pass; 0 where nobody counted them before.
    updates : int
        Updates in this pass so far.
    seconds : float
        Since training began.
    record : EpochRecord or None
        Of the pass, at its end.
    done, shards : int
        Shards that this pass is through with, and all of them; 0 where there are none.
    """

    epoch: int
    rows: int
    total: int
    updates: int
    seconds: float
    record: EpochRecord | None = None
    done: int = 0
    shards: int = 0


@dataclass
class Job:
    """What is learned, from what, and how."""

    model: Any
    rows: Rows
    taught: Taught
    plan: Plan
    state: Any
    order: Blocks | None

    @property
    def size(self) -> int:
        """Rows that take part."""
        return self.taught.size(self.rows.contents)

    def default_epochs(self) -> int:
        """How many passes at most when nobody says."""
        return default_epochs(self.rows.contents.stored, self.plan.keep)

    def parts(self) -> Iterator[Examples]:
        """All rows, in the order of the file."""
        pieces = ahead(self.rows.tasks(self.taught, None, 0))
        with closing(pieces):  # type: ignore[type-var]
            yield from _filled(pieces)

    def largest(self) -> tuple[int, int, float]:
        """Row, in the order of the file, column and value of the largest absolute value."""
        pieces = ahead(self.rows.tasks(self.taught, None, 0))
        with closing(pieces):  # type: ignore[type-var]
            return largest_of(pieces)

    @contextmanager
    def pieces(self, epoch: int) -> Iterator[Iterator[Examples]]:
        """The rows of a pass, in its order; nothing is read ahead any more at the end of the block."""
        pieces = ahead(self.rows.tasks(self.taught, self.order, epoch), workers=2 if self.order is None else 1)
        with closing(pieces):  # type: ignore[type-var]
            yield _filled(pieces)

    def epoch(self, records: list[EpochRecord]) -> Iterator[tuple[int, int] | EpochRecord]:
        """One pass: yields the rows and updates of each piece that was learned from, and at last the record."""
        state, began, before, epoch = self.state, time.perf_counter(), self.state.updates, self.state.epoch
        plan = replace(self.plan, order="cyclic", record_errors=False)  # pieces come in their order
        violations, losses = 0.0, np.zeros(len(state.machines))
        census = None if self.rows.contents.rows else Census(self.taught.classes)
        with self.pieces(epoch) as pieces:
            for examples in pieces:
                steps = epochs(examples, plan, state)
                record = next(steps)
                steps.close()
                state.epoch = epoch
                violations += sum(machine.tally[VIOLATIONS] for machine in state.machines)
                losses += [machine.tally[LOSS] for machine in state.machines]
                if census is not None:
                    census.add(examples)
                yield examples.target.shape[0], record.updates
        if census is not None:
            self.rows.contents = self.model._contents = census.contents(self.rows)
        state.epoch = epoch + 1
        made, errors = state.updates - before, None
        if self.plan.record_errors:
            kept = state.kept(self.plan.rule)
            errors = sum(errors_of(part, kept, self.plan) for part in self.parts())
        converged = violations == 0 and (made == 0 or self.clean())
        loss = self.taught.mean_loss(losses, self.rows.contents, state.scheme)
        yield recorded(state.epoch, made, errors, loss, time.perf_counter() - began, converged)

    def clean(self) -> bool:
        """Whether a scan finds every row above its margin."""
        scans = scan(self.parts(), self.plan, self.state, self.state.last(self.plan.rule))
        return all(one.violations == 0 for one in scans)

    def publish(self, records: list[EpochRecord], began: float, outcome: str) -> None:
        """Put the model, as it is now, into its attributes."""
        check_state(self.state)
        about = self.about()
        self.model._keep(self.state, self.plan, about, records, began, outcome)
        self.model.report_ = replace(self.model.report_, rows=self.size)

    def finish(self, records: list[EpochRecord], began: float, outcome: str) -> None:
        """The model and its report, with a scan of all rows where that costs no more parsing."""
        self.publish(records, began, outcome)
        if isinstance(self.rows, Parsed):
            return
        seconds = time.perf_counter() - began
        report = looked_at(
            outcome, records, self.about(), self.plan, self.state, self.model._kept, seconds, parts=self.parts
        )
        if outcome == "budget" and not report.errors and self.clean():
            report = replace(report, outcome="converged")
        self.model.report_ = replace(self.told(report), rows=self.size)
        self.model._warn(self.model.report_)

    def mass(self) -> float:
        """The weight of all rows."""
        return self.taught.mass(self.rows.contents)

    def told(self, report: Report) -> Report:
        """The report, with what else there is to say."""
        return report

    def about(self) -> Examples:
        """Examples that hold no rows, only what is true of all."""
        return self.taught.no_rows(self.rows.contents)


def _filled(pieces: Iterator[Examples]) -> Iterator[Examples]:
    """Those that have rows, none of them held on to."""
    for piece in pieces:
        if piece.size:
            yield piece
        del piece


@dataclass
class Descent(Job):
    """A job that minimises an objective: a pass ends once, after its last piece."""

    def epoch(self, records: list[EpochRecord]) -> Iterator[tuple[int, int] | EpochRecord]:
        """One pass: yields the rows and updates of each piece that was learned from, and at last the record."""
        state, aim, began, before, run = self.state, self.plan, time.perf_counter(), self.state.updates, None
        assert isinstance(aim, Aim)
        state.radius2 = max(state.radius2, self.rows.contents.radius2)
        state.bias = 0.0 if aim.bias == "none" else 1.0
        (machine,) = state.machines
        machine.tally[[LOSS, POSITION, LEFT]] = 0.0
        with self.pieces(state.epoch) as pieces:
            for examples in pieces:
                made = machine.updates
                (problem,) = problems(examples, state.scheme, state.classes)
                run = run or self._begin(aim, problem)
                run.visit(problem, problem.index(0, problem.size))
                yield examples.target.shape[0], machine.updates - made
        assert run is not None
        run.end()
        state.epoch += 1
        loss = machine.tally[LOSS] / self.mass() + aim.penalty_of(machine.coef)
        patience, steps = Patience(aim), machine.tally[CLOCK] / state.epoch
        seen = [*((record.loss, record.epoch) for record in records), (loss, state.epoch)]
        done = [patience.spent(one, aim.ripe(steps * epoch, state.radius2)) for one, epoch in seen][-1]
        seconds = time.perf_counter() - began
        yield recorded(state.epoch, state.updates - before, None, float(loss), seconds, done)

    def _begin(self, aim: Aim, problem: Problem) -> minimising.Pass | pegasos.Pass:
        if isinstance(aim, PegasosPlan):
            return pegasos.Pass(aim, self.state)
        return minimising.Pass(aim, self.state, problem.rows, self.mass())

    def clean(self) -> bool:
        """Rows on their right side say nothing about the objective."""
        return False

    def told(self, report: Report) -> Report:
        """With the objective."""
        assert isinstance(self.plan, Aim)
        objective = minimising.objective_of_parts(self.parts(), self.plan, self.model._kept)
        found: Report = self.model._told(report, objective)
        return found


@dataclass
class Epochwise(Job):
    """A job of a classifier that is more than one plane a class, and tells of itself."""

    def publish(self, records: list[EpochRecord], began: float, outcome: str) -> None:
        """Put the model, as it is now, into its attributes."""
        self.model._store(self.state, self.about(), records, began, outcome)
        self.model.report_ = replace(self.model.report_, rows=self.size)

    def finish(self, records: list[EpochRecord], began: float, outcome: str) -> None:
        """The model and its report, with a scan of all rows."""
        self.publish(records, began, outcome)
        seconds = time.perf_counter() - began
        report = self.model._conclude_parts(outcome, records, self.parts, self.about(), self.state, seconds)
        self.model.report_ = replace(report, rows=self.size)
        self.model._warn(self.model.report_)

    def errors(self) -> int | None:
        """Rows that are wrong now, where somebody wants to know after each pass."""
        if not self.plan.record_errors:
            return None
        return sum(errors_of(part, self.state.kept(), self.plan) for part in self.parts())


@dataclass
class Layered(Epochwise):
    """A job that trains a network: batches span the pieces."""

    def default_epochs(self) -> int:
        """How many passes at most when nobody says."""
        return min(MOST_EPOCHS, super().default_epochs())

    def epoch(self, records: list[EpochRecord]) -> Iterator[tuple[int, int] | EpochRecord]:
        """One pass: yields the rows and updates of each piece that was learned from, and at last the record."""
        state, model, began, before = self.state, self.model, time.perf_counter(), self.state.updates
        run = network.Pass(state, model._optimiser(), int(model.batch_size))
        with self.pieces(state.epoch) as pieces:
            for examples in pieces:
                made = state.updates
                run.visit(examples, np.arange(examples.size, dtype=np.uint64))
                yield examples.target.shape[0], state.updates - made
        loss = run.end()
        done = network.stalled([*(record.loss for record in records), loss], model.tol, model.n_iter_no_change)
        seconds = time.perf_counter() - began
        yield recorded(state.epoch, state.updates - before, self.errors(), loss, seconds, done)


@dataclass
class Branching(Epochwise):
    """A job that learns along the paths of a tree of classes."""

    def epoch(self, records: list[EpochRecord]) -> Iterator[tuple[int, int] | EpochRecord]:
        """One pass: yields the rows and updates of each piece that was learned from, and at last the record."""
        state, began, before, tally = self.state, time.perf_counter(), self.state.updates, self.state.tally
        tally[[VIOLATIONS, LOSS, LEFT]] = 0.0
        with self.pieces(state.epoch) as pieces:
            for examples in pieces:
                made, problem = state.updates, whole_problem(examples, "multinomial")
                visit_rows(problem, problem.index(0, problem.size), self.plan, state)
                yield examples.target.shape[0], state.updates - made
        state.epoch += 1
        loss, seconds = float(tally[LOSS] / self.mass()), time.perf_counter() - began
        converged = bool(tally[VIOLATIONS] == 0)
        yield recorded(state.epoch, state.updates - before, self.errors(), loss, seconds, converged)


# -- from one run to the next ----------------------------------------------------------------------------------------


@contextmanager
def as_it_was(model: Any) -> Iterator[None]:
    """A model that is as it was before where training fails; stopped by hand, it keeps its last whole pass."""
    before = dict(vars(model))
    try:
        yield
    except BaseException as error:
        learned = vars(model).get("report_") is not before.get("report_")
        if not (learned and isinstance(error, KeyboardInterrupt | GeneratorExit)):
            model.__dict__.clear()
            model.__dict__.update(before)
        raise


@contextmanager
def located(largest: Callable[[], tuple[int, int, float]]) -> Iterator[None]:
    """An overflow is told with the row and the column of the largest value of all that is learned from."""
    try:
        yield
    except NotFiniteError as error:
        raise error.at(largest()) from None


def _equal(mine: Any, theirs: Any) -> bool:
    """Whether two parameters are the same; of random states, whether they go on in the same way."""
    if callable(mine) or callable(theirs):
        return mine is theirs
    return _plain(mine) == _plain(theirs)


def _plain(value: Any) -> tuple[Any, dict[str, bytes]]:
    """A parameter as data that can be compared."""
    arrays = Arrays()
    tree = encode(value, arrays, "a parameter")
    return tree, {name: array.tobytes() for name, array in arrays.stored.items()}


def resumed(job: Any, path: Path) -> Any:
    """Go on where the checkpoint stopped: its model, and its state in the job."""
    other, model = load(path), job.model
    mine, theirs = model.get_params(), other.get_params()
    differ = [name for name in mine if name != "max_epochs" and not _equal(mine[name], theirs.get(name))]
    if type(other) is not type(model) or differ:
        what = f"{differ[0]}={theirs[differ[0]]!r}" if differ and differ[0] in theirs else type(other).__name__
        raise FileError(f"a checkpoint of another training, with {what}: train without resume", path)
    if getattr(other, "_contents", None) != model._contents:
        raise FileError("a checkpoint of training on other rows: train without resume", path)
    job.state = other._state
    if job.order is not None:
        job.order = replace(job.order, seed=job.state.seed)
    return other
