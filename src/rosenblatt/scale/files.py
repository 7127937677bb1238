"""`fit`: any online learner, from files of any size, in bounded memory.

A pass over a file is many short passes of the training generator, one a piece of rows, without an epoch's end between
them. Pieces are parsed, or read from the cache and shuffled, on the other core while the last one is learned from.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.data.errors import FileError
from rosenblatt.data.examples import Dense, Examples, Sparse, check_labels, class_weights, encode_rows, radius2
from rosenblatt.data.gathering import gather
from rosenblatt.data.reading import (
    Contents,
    Facts,
    Piece,
    Reading,
    in_bytes,
    looked_through,
    prepared,
    reading,
    target,
    tasks,
)
from rosenblatt.data.sources import CHUNK, STDIN, expand, spooled
from rosenblatt.estimators.classifier import OnlineClassifier, named_classes
from rosenblatt.estimators.encoding import Arrays, encode
from rosenblatt.estimators.epochwise import EpochwiseClassifier
from rosenblatt.estimators.files import load, save
from rosenblatt.estimators.linear import Minimiser
from rosenblatt.estimators.online import OnlineLearner
from rosenblatt.estimators.report import Report, looked_at, scan
from rosenblatt.learn import minimising, pegasos
from rosenblatt.learn.evaluation import Problem
from rosenblatt.learn.minimising import Aim, Patience
from rosenblatt.learn.orders import POOL, Blocks, Pool
from rosenblatt.learn.pegasos import PegasosPlan
from rosenblatt.learn.training import EpochRecord, Plan, default_epochs, epochs, errors_of, problems, whole_problem
from rosenblatt.learn.tree import Grown, visit_rows
from rosenblatt.learn.visits import CLOCK, LEFT, LOSS, POSITION, VIOLATIONS
from rosenblatt.scale.ahead import ahead
from rosenblatt.scale.cache import Block, Cache, cached, fresh, read_blocks

Array = np.ndarray[Any, Any]
LEAST_MEMORY = 128_000_000
PIECE = 1 << 24  # bytes of text learned from at once, where no cache is made


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


# -- rows, piece by piece --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Taught:
    """How rows become examples for one estimator."""

    how: Reading
    classes: Array | None  # None for regression
    shares: Array | None  # one weight a class
    n_features: int

    def examples(self, rows: Dense | Sparse, truth: Any, reach: float) -> Examples:
        """Examples of these rows and labels (numbers, codes of `classes`, or an indicator)."""
        weights = present = None
        if self.shares is not None:
            weights = self.shares[truth]
            if not weights.all():
                present = np.flatnonzero(weights).astype(np.uint64)
                reach = radius2(rows, present)
        return Examples(rows, self.n_features, truth, self.classes, weights, present, reach)

    def truth(self, labels: Array, names: tuple[str, ...] | None = None) -> Array:
        """Labels as codes, or as numbers for regression."""
        if self.classes is None:
            return labels.astype(np.float64)
        if names is not None:  # codes in the order in which names were first seen
            return np.searchsorted(self.classes, np.array(names)).astype(np.int32)[labels]
        if labels.dtype.kind == "O":
            labels = labels.astype(str if self.classes.dtype.kind == "U" else self.classes.dtype)
        codes = np.searchsorted(self.classes, labels).astype(np.int32)
        strange = self.classes[np.minimum(codes, self.classes.size - 1)] != labels
        if strange.any():
            raise _strange(labels[strange][0])
        return codes

    def of_piece(self, piece: Piece) -> Examples:
        """Examples of a piece as it was parsed."""
        if self.how.multilabel:
            truth = target(piece, self.how)
        else:
            assert piece.labels is not None
            truth = self.truth(piece.labels)
        rows, reach = encode_rows(piece.X)
        return self.examples(rows, truth, reach)

    def of_blocks(self, blocks: list[Block], cache: Cache, order: Array | None) -> Examples:
        """Examples of blocks of the cache, their rows in this order."""
        values = np.concatenate([block.values for block in blocks]).astype(np.float64, copy=False)
        labels = np.concatenate([block.labels for block in blocks])
        lengths = np.concatenate([block.lengths for block in blocks])
        if self.how.multilabel:
            counts = [b.label_counts if b.label_counts.size else np.ones(b.lengths.size, np.uint32) for b in blocks]
            starts = np.concatenate([[0], np.cumsum(np.concatenate(counts), dtype=np.int64)])
            truth = target(Piece(np.empty((lengths.size, 0)), labels, starts), self.how)
        else:
            truth = self.truth(labels, cache.names)
        truth = truth if order is None else truth[order]
        rows: Dense | Sparse
        if cache.contents.dense:
            grid = values.reshape(lengths.size, -1)
            rows = Dense(grid if order is None else grid[order])
        else:
            columns = np.concatenate([block.columns for block in blocks]) - np.uint32(cache.shift)
            starts = np.zeros(lengths.size + 1, np.uint32 if values.size < 1 << 32 else np.uint64)
            np.cumsum(lengths, out=starts[1:], dtype=starts.dtype)
            rows = Sparse(values, columns, starts) if order is None else Sparse(*gather(values, columns, starts, order))
        return self.examples(rows, truth, cache.contents.radius2)


def _strange(label: Any) -> ValueError:
    label = label.item() if isinstance(label, np.generic) else label
    return ValueError(f"The label {label!r} is none of the classes that were given.")


class Rows:
    """The rows of a source, as often as they are asked for."""

    contents: Contents

    def tasks(self, taught: Taught, order: Blocks | None, epoch: int) -> Iterator[Callable[[], Examples]]:
        """What makes the examples of a pass, piece by piece."""
        raise NotImplementedError


@dataclass
class Parsed(Rows):
    """Rows that are parsed anew each time, in the order of the file."""

    source: Any
    contents: Contents
    size: int

    def tasks(self, taught: Taught, order: Blocks | None, epoch: int) -> Iterator[Callable[[], Examples]]:
        """What makes the examples of a pass, piece by piece."""
        for task in tasks(self.source, self.contents.how, self.size):
            yield partial(_parsed, task, taught)


def _parsed(task: Callable[[], Piece], taught: Taught) -> Examples:
    return taught.of_piece(task())


@dataclass
class Kept(Rows):
    """Rows from a cache, in the order of the file or shuffled."""

    cache: Cache
    contents: Contents = field(init=False)

    def __post_init__(self) -> None:
        self.contents = self.cache.contents

    def tasks(self, taught: Taught, order: Blocks | None, epoch: int) -> Iterator[Callable[[], Examples]]:
        """What makes the examples of a pass, piece by piece."""
        if order is not None:
            for pool in order.pools(epoch):
                yield partial(self._shuffled, pool, epoch, taught)
            return
        count = self.cache.table.shape[0]
        for begin in range(0, count, POOL):
            yield partial(self._in_turn, np.arange(begin, min(begin + POOL, count)), taught)

    def _in_turn(self, numbers: Array, taught: Taught) -> Examples:
        return taught.of_blocks(read_blocks(self.cache, numbers), self.cache, None)

    def _shuffled(self, pool: Pool, epoch: int, taught: Taught) -> Examples:
        order = pool.order.piece(epoch, 0, pool.order.size)
        return taught.of_blocks(read_blocks(self.cache, pool.blocks), self.cache, order)


@dataclass
class Census:
    """What a first scan would have told, gathered in the only pass."""

    classes: Array | None
    rows: int = 0
    counts: Any = 0

    def add(self, examples: Examples) -> None:
        """Take note of a piece."""
        self.rows += examples.target.shape[0]
        if self.classes is not None:
            self.counts = self.counts + np.bincount(examples.target, minlength=self.classes.size)

    def contents(self, rows: Rows) -> Contents:
        """What was found."""
        if not self.rows:
            raise FileError("expected rows, found none", expand(rows.source)[0] if isinstance(rows, Parsed) else None)
        counts = () if self.classes is None else tuple(self.counts.tolist())
        return replace(rows.contents, rows=self.rows, counts=counts)


# -- one pass --------------------------------------------------------------------------------------------------------


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
        return taking_part(self.rows.contents, self.taught)

    def parts(self) -> Iterator[Examples]:
        """All rows, in the order of the file."""
        pieces = ahead(self.rows.tasks(self.taught, None, 0))
        with closing(pieces):  # type: ignore[type-var]
            yield from (part for part in pieces if part.size)

    def epoch(self, records: list[EpochRecord]) -> Iterator[tuple[int, int] | EpochRecord]:
        """One pass: yields the rows and updates of each piece that was learned from, and at last the record."""
        state, began, before, epoch = self.state, time.perf_counter(), self.state.updates, self.state.epoch
        plan = replace(self.plan, order="cyclic", record_errors=False)  # pieces come in their order
        violations, losses = 0.0, np.zeros(len(state.machines))
        census = None if self.rows.contents.rows else Census(self.taught.classes)
        pieces = ahead(self.rows.tasks(self.taught, self.order, epoch), workers=2 if self.order is None else 1)
        with closing(pieces):  # type: ignore[type-var]
            for examples in pieces:
                if not examples.size:
                    continue
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
        loss = mean_loss(losses, self.rows.contents, self.taught, state.scheme)
        yield EpochRecord(state.epoch, made, errors, loss, time.perf_counter() - began, converged)

    def clean(self) -> bool:
        """Whether a scan finds every row above its margin."""
        scans = scan(self.parts(), self.plan, self.state, self.state.last(self.plan.rule))
        return all(one.violations == 0 for one in scans)

    def publish(self, records: list[EpochRecord], began: float, outcome: str) -> None:
        """Put the model, as it is now, into its attributes."""
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
        shares, contents = self.taught.shares, self.rows.contents
        return float(contents.rows) if shares is None else float(np.dot(contents.counts, shares))

    def told(self, report: Report) -> Report:
        """The report, with what else there is to say."""
        return report

    def about(self) -> Examples:
        """Examples that hold no rows, only what is true of all."""
        return _no_rows(self.taught, self.rows.contents)


def taking_part(contents: Contents, taught: Taught) -> int:
    """How many rows have a weight."""
    return contents.rows if taught.shares is None else int(np.array(contents.counts)[taught.shares > 0].sum())


def mean_loss(losses: Array, contents: Contents, taught: Taught, scheme: str) -> float:
    """The loss of each machine by the weight of the rows that it learns from, summed."""
    counts = np.array(contents.counts, dtype=np.float64)
    masses = counts if taught.shares is None else counts * taught.shares
    if scheme != "ovo":
        whole = float(masses.sum()) if taught.shares is not None else float(contents.rows)
        return float(losses.sum() / max(whole, 1e-300))
    pairs = [masses[a] + masses[b] for a in range(masses.size) for b in range(a + 1, masses.size)]
    return float((losses / np.maximum(pairs, 1e-300)).sum())


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
        pieces = ahead(self.rows.tasks(self.taught, self.order, state.epoch), workers=2 if self.order is None else 1)
        with closing(pieces):  # type: ignore[type-var]
            for examples in pieces:
                if not examples.size:
                    continue
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
        yield EpochRecord(state.epoch, state.updates - before, None, float(loss), seconds, done)

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
class Branching(Job):
    """A job that learns along the paths of a tree of classes."""

    def epoch(self, records: list[EpochRecord]) -> Iterator[tuple[int, int] | EpochRecord]:
        """One pass: yields the rows and updates of each piece that was learned from, and at last the record."""
        state, began, before, tally = self.state, time.perf_counter(), self.state.updates, self.state.tally
        tally[[VIOLATIONS, LOSS, LEFT]] = 0.0
        pieces = ahead(self.rows.tasks(self.taught, self.order, state.epoch), workers=2 if self.order is None else 1)
        with closing(pieces):  # type: ignore[type-var]
            for examples in pieces:
                made, problem = state.updates, whole_problem(examples, "multinomial")
                visit_rows(problem, problem.index(0, problem.size), self.plan, state)
                yield examples.target.shape[0], state.updates - made
        state.epoch += 1
        errors = None
        if self.plan.record_errors:
            errors = sum(errors_of(part, state.kept(), self.plan) for part in self.parts())
        loss, seconds = float(tally[LOSS] / self.mass()), time.perf_counter() - began
        converged = bool(tally[VIOLATIONS] == 0)
        yield EpochRecord(state.epoch, state.updates - before, errors, loss, seconds, converged)

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


def _no_rows(taught: Taught, contents: Contents) -> Examples:
    d, several = taught.n_features, taught.how.multilabel
    truth = np.zeros((0, taught.classes.size) if several and taught.classes is not None else 0, np.int8)
    return Examples(Dense(np.zeros((0, d))), d, truth, taught.classes, None, None, contents.radius2)


# -- from a source to a job ------------------------------------------------------------------------------------------


def _refuse(model: Any, plan: Plan) -> None:
    """Say what cannot be learned from files, and why."""
    name = type(model).__name__
    if plan.keep == "vote":
        raise ValueError(
            f"{name} keeps every row that made an update, which may be the whole file: use fit, in memory."
        )
    if plan.keep == "pocket":
        raise ValueError(f"{name} looks at all rows again and again to fill its pocket: use fit, in memory.")
    if plan.batch:
        raise ValueError('update="batch" moves w once a pass; from files learn with update="online".')
    if not isinstance(plan.order, str) or plan.order not in ("shuffle", "blocks", "cyclic"):
        raise ValueError(f'order={model.order!r} jumps about in the rows; from files use "shuffle" or "cyclic".')
    if getattr(model, "early_stopping", False):
        raise ValueError("early_stopping holds out rows of its own: use fit, in memory, or score on another file.")


def _taught(model: Any, contents: Contents) -> Taught:
    """How these rows become examples for this estimator."""
    how, d = contents.how, contents.how.n_features
    assert d is not None
    if not isinstance(model, OnlineClassifier):
        if how.multilabel or (contents.labels is not None and isinstance(contents.labels[0], str)):
            raise ValueError(f"{type(model).__name__} learns numbers, and the labels are names or sets.")
        return Taught(how, None, None, d)
    if how.multilabel:
        if model.class_weight is not None:
            raise ValueError("class_weight weighs classes; rows with several labels have none.")
        return Taught(how, np.arange(len(how.labels or ())), None, d)
    if contents.labels is None:
        raise ValueError("There are too many different labels for classes: these are numbers, for a regressor.")
    classes = np.array(contents.labels)
    check_labels(classes, classes)
    if classes.size < 2:
        name = type(model).__name__
        raise ValueError(f"{name} needs at least 2 classes to learn from; y has 1 class: {classes[0]!r}.")
    counts = np.array(contents.counts, dtype=np.float64)
    if isinstance(model.class_weight, str) and not counts.all():
        raise ValueError(f'class_weight="balanced" needs rows of every class; {classes[counts == 0][0]!r} has none.')
    shares = class_weights(model.class_weight, classes, np.arange(classes.size), counts)
    if shares is not None and not shares.any():
        raise ValueError("class_weight is zero on every row: nothing is left to learn from.")
    if shares is not None and not shares.all() and _measured(model):
        raise ValueError("class_weight leaves out a class, whose rows would still be measured for max‖x‖.")
    return Taught(how, classes, shares, d)


def _measured(model: Any) -> bool:
    """Whether R must be known before the first step, or is not found on the way."""
    return isinstance(model, Minimiser | EpochwiseClassifier) or model._plan().bias == "radius"


def _given(contents: Contents, classes: Array) -> Contents:
    """The contents with the classes that were given, in which all labels must be."""
    if contents.how.multilabel:
        raise ValueError("classes are for rows with one label, and these have several.")
    found = dict(zip(contents.labels or (), contents.counts, strict=True))
    if contents.labels is None and contents.rows:
        raise ValueError("There are too many different labels for classes: these are numbers, for a regressor.")
    if contents.how.format == "svmlight" and classes.dtype.kind in "biuf":
        classes = classes.astype(np.float64)  # as labels are read
    names = classes.tolist()
    for label in found:
        if label not in names:
            raise _strange(label)
    return replace(contents, labels=tuple(names), counts=tuple(found.get(name, 0) for name in names))


def _unscanned(model: Any, how: Reading, named: bool) -> Contents | None:
    """What is known without a first scan, where that is enough for a single pass; the pass itself counts the rows."""
    numbers = not isinstance(model, OnlineClassifier) and how.format == "svmlight"
    if not (how.known and how.format in ("svmlight", "text") and (named or numbers)):
        return None
    if isinstance(getattr(model, "class_weight", None), str):
        return None
    if how.multilabel is None:
        how = replace(how, multilabel=False)  # a row with several labels is refused when it comes
    return None if how.multilabel else Contents(how, 0, 0, 0.0, None, (), False)


def _rows(source: Any, how: Reading, model: Any, memory: int, known: Contents | None) -> Rows:
    """Rows to be learned from: parsed as they are needed for a single pass in their order, else from the cache."""
    size = min(CHUNK, memory // 32)
    plan = model._plan()
    once = plan.order == "cyclic" and model.max_epochs == 1 and not _measured(model) and not plan.record_errors
    if not once:
        return Kept(cached(source, how, size))
    found = fresh(source, how)
    if found is not None:
        return Kept(found)
    if known is not None:
        return Parsed(source, known, min(PIECE, memory // 16))
    ready = prepared(source, how)
    facts = Facts()
    pieces = ahead(looked_through(source, ready, size))
    with closing(pieces):  # type: ignore[type-var]
        for piece in pieces:
            facts.add(piece) if isinstance(piece, Piece) else facts.see(piece)
    if not facts.rows:
        raise FileError("expected rows, found none", expand(source)[0])
    return Parsed(source, facts.contents(facts.settle(ready)), min(PIECE, memory // 16))


def _job(model: Any, rows: Rows, plan: Plan, classes_given: Array | None) -> Job:
    if classes_given is not None:
        rows.contents = _given(rows.contents, classes_given)
    contents = rows.contents
    taught = _taught(model, contents)
    model.n_features_in_ = taught.n_features
    vars(model).pop("feature_names_in_", None)
    classes = 1 if taught.classes is None else taught.classes.size
    state: Any
    if isinstance(model, EpochwiseClassifier):
        if taught.how.multilabel:
            raise ValueError(f"{type(model).__name__} learns one class a row; these have several labels.")
        state = model._begin(_no_rows(taught, contents))
    else:
        state = model._start(_no_rows(taught, contents), plan, classes, bool(taught.how.multilabel), None, None)
    order = Blocks(rows.cache.bounds, state.seed) if plan.order != "cyclic" and isinstance(rows, Kept) else None
    model.reading_, model._contents = contents.how, contents
    kind = Descent if isinstance(plan, Aim) else Branching if isinstance(state, Grown) else Job
    return kind(model, rows, taught, plan, state, order)


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


def _resumed(job: Any, path: Path) -> Any:
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


# -- training --------------------------------------------------------------------------------------------------------


def training(
    estimator: Any,
    source: Any,
    *,
    memory: str | int = "256MB",
    checkpoint: str | PathLike[str] | None = None,
    resume: bool = False,
    classes: Any = None,
    **settings: Any,
) -> Iterator[Progress]:
    """`fit`, step by step: yields how far it is after each piece of rows."""
    if not isinstance(estimator, OnlineLearner):
        raise TypeError(f"fit learns from files with online learners; {type(estimator).__name__} is none.")
    limit = in_bytes(memory)
    if limit < LEAST_MEMORY:
        raise ValueError(f"memory must be at least {LEAST_MEMORY // 1_000_000}MB, got {memory!r}.")
    if resume and checkpoint is None:
        raise ValueError("resume needs to know the checkpoint.")
    if estimator._why_memory() is not None:
        name = type(estimator).__name__
        raise ValueError(f"{name} cannot learn from files, since {estimator._why_memory()}: use fit, in memory.")
    estimator._validate_params()
    plan = estimator._plan()
    _refuse(estimator, plan)
    named = None if classes is None else named_classes(classes)
    if named is not None and not isinstance(estimator, OnlineClassifier):
        raise ValueError(f"{type(estimator).__name__} learns numbers: it has no classes.")
    how = reading(source, **settings)
    known = None if checkpoint is not None else _unscanned(estimator, how, named is not None)
    before, done = dict(vars(estimator)), False
    try:
        with ExitStack() as stack:
            source = stack.enter_context(spooled(source)) if STDIN in expand(source) else source
            job = _job(estimator, _rows(source, how, estimator, limit, known), plan, named)
            path = None if checkpoint is None else Path(checkpoint)
            records = []
            if resume and path is not None and path.exists():
                records = list(_resumed(job, path).report_.epochs)
            for progress in _passes(job, records, path):
                done = done or progress.record is not None
                yield progress
    except BaseException as error:
        if not (done and isinstance(error, KeyboardInterrupt | GeneratorExit)):
            estimator.__dict__.clear()
            estimator.__dict__.update(before)
        raise


def _passes(job: Job, records: list[EpochRecord], checkpoint: Path | None) -> Iterator[Progress]:
    """Pass after pass, to the end; the model is published, and the checkpoint written, after each."""
    began, contents = time.perf_counter(), job.rows.contents
    limit = job.model.max_epochs or default_epochs(contents.stored, job.plan.keep)
    while not (records and records[-1].converged) and len(records) < limit:
        snapshot, rows, updates = job.state.copy(), 0, 0
        try:
            for step in job.epoch(records):
                if isinstance(step, EpochRecord):
                    records.append(step)
                    continue
                rows, updates = rows + step[0], updates + step[1]
                yield Progress(len(records) + 1, rows, contents.rows, updates, time.perf_counter() - began)
        except BaseException:
            job.state.__dict__.update(snapshot.__dict__)
            if records:
                job.publish(records, began, "interrupted")
            raise
        job.publish(records, began, "interrupted")
        if checkpoint is not None:
            save(job.model, checkpoint)
        yield Progress(len(records), rows, contents.rows, updates, time.perf_counter() - began, records[-1])
    job.finish(records, began, "converged" if records[-1].converged else "budget")


def fit(
    estimator: Any,
    source: Any,
    *,
    shards: int | None = None,
    n_jobs: int = 1,
    client: Any = None,
    mixing: str = "uniform",
    memory: str | int | None = None,
    deadline: float | None = None,
    checkpoint: str | PathLike[str] | None = None,
    resume: bool = False,
    classes: Any = None,
    **settings: Any,
) -> Any:
    r"""Train an online learner from files of any size, on one machine or on many.

    Without shards the result is the one of `estimator.fit` on the same rows in memory, to the bit, if the order is one
    that a file can give: "cyclic", or "blocks", which is also what "shuffle" means here. Several passes, shuffled
    ones, whatever needs max‖x‖ (the bias step "radius", objectives, trees of classes), shards and standard input go
    through a binary cache, beside the file or in the folder ROSENBLATT_CACHE, which is used again until a file changes.
    A single pass of others in the order of the file needs none, and its report tells no errors.

    With shards every pass is made over each of them from the same weights, and the results are mixed: iterative
    parameter mixing (McDonald, Hall and Mann 2010),

        w ← Σ_i μ_i w_i          μ_i = 1/S, or by the mistakes of shard i

    to the same bits for any number of threads or workers.

    Parameters
    ----------
    estimator : online learner of rosenblatt
        Fitted in place. A vote and a pocket need all rows at once and are refused; so are learners with kernels,
        networks, duals and the batch solver, each with the reason.
    source : path, pattern of paths, sequence of paths, or "-"
        As for `rosenblatt.read`. In shards also a Dask DataFrame with its column `label`, a pair of Dask arrays
        (rows, dense or sparse, and labels), or a pair of arrays in memory.
    shards : int, optional
        Into how many parts of about equal size rows are cut: files are dealt out, and cut up where there are fewer
        than shards. By default there is one, and with a `client` one for each file; a Dask collection has one for
        each of its blocks or partitions.
    n_jobs : int, default=1
        Threads of this process that learn from shards.
    client : dask.distributed.Client, optional
        A cluster whose workers learn from shards (extra `cluster`). They read the files themselves, by the same paths.
    mixing : {"uniform", "mistakes"}, default="uniform"
    memory : str or int, optional
        What training may take beside the model, "256MB" by default; on a cluster what each worker may keep of its
        shards between passes, half of its memory by default.
    deadline : float, optional
        Seconds after which a shard that a worker is not through with is given to another; by default ten times what
        shards take, and at least 60. After three attempts the run ends.
    checkpoint : path, optional
        A model file that is written after each epoch.
    resume : bool, default=False
        Go on from the checkpoint, if it is there, to exactly the model of an uninterrupted run.
    classes : array-like, optional
        All classes to expect, whether or not they are in the files; another label is refused. With `n_features` and
        `zero_based` too, a single pass in the order of an svmlight file needs no first scan.
    **settings
        How to read: see `Reading`.

    Returns
    -------
    estimator
        With `reading_`, a `Reading` that reads other files in the same way.

    Examples
    --------
    >>> import rosenblatt, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = path.write_text("+1 1:2 2:1\n-1 1:-1 2:1\n+1 1:3\n-1 2:4\n")
    >>> model = rosenblatt.fit(rosenblatt.Perceptron(random_state=0), path)
    >>> model.report_.outcome, model.report_.errors
    ('converged', 0)
    >>> X, y = rosenblatt.read(path, like=model.reading_)
    >>> bool((model.predict(X) == y).all())
    True
    >>> mixed = rosenblatt.fit(rosenblatt.Perceptron(random_state=0), path, shards=2, n_jobs=2)
    >>> mixed.report_.errors, mixed.report_.sharding.rows
    (0, (2, 2))
    """
    for _ in steps(
        estimator,
        source,
        shards=shards,
        n_jobs=n_jobs,
        client=client,
        mixing=mixing,
        memory=memory,
        deadline=deadline,
        checkpoint=checkpoint,
        resume=resume,
        classes=classes,
        **settings,
    ):
        pass
    return estimator


def steps(estimator: Any, source: Any, **how: Any) -> Iterator[Progress]:
    """`fit`, step by step, in shards or not."""
    from rosenblatt.scale import mixed

    if how["shards"] is None and how["client"] is None and how["n_jobs"] != 1:
        raise ValueError("n_jobs threads learn from shards: say into how many shards the rows are cut.")
    aside = mixed.is_collection(source) or mixed.is_arrays(source)
    if how["shards"] not in (None, 1) or how["client"] is not None or aside:
        if how.pop("classes", None) is not None:
            raise ValueError("classes are found by the workers that read the shards: leave classes as it is.")
        return mixed.training(estimator, source, **how)
    for name in ("shards", "n_jobs", "client", "mixing", "deadline"):
        how.pop(name)
    how["memory"] = "256MB" if how["memory"] is None else how["memory"]
    return training(estimator, source, **how)
