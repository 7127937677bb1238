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
from rosenblatt.estimators.files import load, save
from rosenblatt.estimators.online import OnlineClassifier, OnlineLearner
from rosenblatt.estimators.report import looked_at, scan
from rosenblatt.learn.machines import State
from rosenblatt.learn.orders import POOL, Blocks, Pool
from rosenblatt.learn.training import EpochRecord, Plan, default_epochs, epochs, errors_of
from rosenblatt.learn.visits import LOSS, VIOLATIONS
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
        Rows visited in this pass, and rows of a pass.
    updates : int
        Updates in this pass so far.
    seconds : float
        Since training began.
    record : EpochRecord or None
        Of the pass, at its end.
    """

    epoch: int
    rows: int
    total: int
    updates: int
    seconds: float
    record: EpochRecord | None = None


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
            labels = labels.astype(self.classes.dtype)
        return np.searchsorted(self.classes, labels).astype(np.int32)

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


# -- one pass --------------------------------------------------------------------------------------------------------


@dataclass
class Job:
    """What is learned, from what, and how."""

    model: Any
    rows: Rows
    taught: Taught
    plan: Plan
    state: State
    order: Blocks | None

    @property
    def size(self) -> int:
        """Rows that take part."""
        contents, shares = self.rows.contents, self.taught.shares
        return contents.rows if shares is None else int(np.array(contents.counts)[shares > 0].sum())

    def parts(self) -> Iterator[Examples]:
        """All rows, in the order of the file."""
        pieces = ahead(self.rows.tasks(self.taught, None, 0))
        with closing(pieces):  # type: ignore[type-var]
            yield from (part for part in pieces if part.size)

    def epoch(self) -> Iterator[tuple[int, int] | EpochRecord]:
        """One pass: yields the rows and updates of each piece that was learned from, and at last the record."""
        state, began, before, epoch = self.state, time.perf_counter(), self.state.updates, self.state.epoch
        plan = replace(self.plan, order="cyclic", record_errors=False)  # pieces come in their order
        violations, losses = 0.0, np.zeros(len(state.machines))
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
                yield examples.target.shape[0], record.updates
        state.epoch = epoch + 1
        made, errors = state.updates - before, None
        if self.plan.record_errors:
            kept = state.kept(self.plan.rule)
            errors = sum(errors_of(part, kept, self.plan) for part in self.parts())
        converged = violations == 0 and (made == 0 or self.clean())
        yield EpochRecord(state.epoch, made, errors, self._mean(losses), time.perf_counter() - began, converged)

    def _mean(self, losses: Array) -> float:
        """The loss of each machine by the weight of the rows that it learns from, summed."""
        counts = np.array(self.rows.contents.counts, dtype=np.float64)
        masses = counts if self.taught.shares is None else counts * self.taught.shares
        if self.state.scheme != "ovo":
            whole = float(masses.sum()) if self.taught.shares is not None else float(self.rows.contents.rows)
            return float(losses.sum() / max(whole, 1e-300))
        pairs = [masses[a] + masses[b] for a in range(masses.size) for b in range(a + 1, masses.size)]
        return float((losses / np.maximum(pairs, 1e-300)).sum())

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
        self.model.report_ = replace(report, rows=self.size)
        self.model._warn(self.model.report_)

    def about(self) -> Examples:
        """Examples that hold no rows, only what is true of all."""
        return _no_rows(self.taught, self.rows.contents)


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
    shares = class_weights(model.class_weight, classes, np.arange(classes.size), counts)
    if shares is not None and not shares.any():
        raise ValueError("class_weight is zero on every row: nothing is left to learn from.")
    if shares is not None and not shares.all() and getattr(model, "bias_step", "unit") == "radius":
        raise ValueError('class_weight leaves out a class, whose rows bias_step="radius" would still measure.')
    return Taught(how, classes, shares, d)


def _rows(source: Any, how: Reading, plan: Plan, epochs_at_most: int | None, memory: int) -> Rows:
    """Rows to be learned from: parsed as they are needed for a single pass in their order, else from the cache."""
    size = min(CHUNK, memory // 32)
    once = plan.order == "cyclic" and epochs_at_most == 1 and plan.bias != "radius" and not plan.record_errors
    if not once:
        return Kept(cached(source, how, size))
    found = fresh(source, how)
    if found is not None:
        return Kept(found)
    ready = prepared(source, how)
    facts = Facts()
    pieces = ahead(looked_through(source, ready, size))
    with closing(pieces):  # type: ignore[type-var]
        for piece in pieces:
            facts.add(piece) if isinstance(piece, Piece) else facts.see(piece)
    if not facts.rows:
        raise FileError("expected rows, found none", expand(source)[0])
    return Parsed(source, facts.contents(facts.settle(ready)), min(PIECE, memory // 16))


def _job(model: Any, rows: Rows, plan: Plan) -> Job:
    contents = rows.contents
    taught = _taught(model, contents)
    model.n_features_in_ = taught.n_features
    vars(model).pop("feature_names_in_", None)
    classes = 1 if taught.classes is None else taught.classes.size
    state = model._start(_no_rows(taught, contents), plan, classes, bool(taught.how.multilabel), None, None)
    order = Blocks(rows.cache.bounds, state.seed) if plan.order != "cyclic" and isinstance(rows, Kept) else None
    model.reading_, model._contents = contents.how, contents
    return Job(model, rows, taught, plan, state, order)


def _resumed(job: Job, path: Path) -> list[EpochRecord]:
    """Go on where the checkpoint stopped: its records, and its state in the job."""
    other, model = load(path), job.model
    mine, theirs = model.get_params(), other.get_params()
    differ = [name for name in mine if name != "max_epochs" and repr(mine[name]) != repr(theirs.get(name))]
    if type(other) is not type(model) or differ:
        what = f"{differ[0]}={theirs[differ[0]]!r}" if differ and differ[0] in theirs else type(other).__name__
        raise FileError(f"a checkpoint of another training, with {what}: train without resume", path)
    if getattr(other, "_contents", None) != model._contents:
        raise FileError("a checkpoint of training on other rows: train without resume", path)
    job.state = other._state
    if job.order is not None:
        job.order = replace(job.order, seed=job.state.seed)
    return list(other.report_.epochs)


# -- training --------------------------------------------------------------------------------------------------------


def training(
    estimator: Any,
    source: Any,
    *,
    memory: str | int = "256MB",
    checkpoint: str | PathLike[str] | None = None,
    resume: bool = False,
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
    estimator._validate_params()
    plan = estimator._plan()
    _refuse(estimator, plan)
    how = reading(source, **settings)
    before, done = dict(vars(estimator)), False
    try:
        with ExitStack() as stack:
            source = stack.enter_context(spooled(source)) if STDIN in expand(source) else source
            job = _job(estimator, _rows(source, how, plan, estimator.max_epochs, limit), plan)
            path = None if checkpoint is None else Path(checkpoint)
            records = _resumed(job, path) if resume and path is not None and path.exists() else []
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
            for step in job.epoch():
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
    shards: int = 1,
    n_jobs: int = 1,
    client: Any = None,
    memory: str | int = "256MB",
    checkpoint: str | PathLike[str] | None = None,
    resume: bool = False,
    **settings: Any,
) -> Any:
    r"""Train an online learner from files of any size.

    The result is the one of `estimator.fit` on the same rows in memory, to the bit, if the order is one that a file
    can give: "cyclic", or "blocks", which is also what "shuffle" means here. Several passes, shuffled ones, the bias
    step "radius" and standard input go through a binary cache, beside the file or in the folder ROSENBLATT_CACHE,
    which is used again until a file changes. A single pass in the order of the file needs none, and its report tells
    no errors.

    Parameters
    ----------
    estimator : online learner of rosenblatt
        Fitted in place. A vote and a pocket need all rows at once and are refused.
    source : path, pattern of paths, sequence of paths, or "-"
        As for `rosenblatt.read`.
    shards, n_jobs, client
        More than one shard or job, or a cluster: not yet.
    memory : str or int, default="256MB"
        What training may take beside the model.
    checkpoint : path, optional
        A model file that is written after each epoch.
    resume : bool, default=False
        Go on from the checkpoint, if it is there, to exactly the model of an uninterrupted run.
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
    """
    if shards != 1 or n_jobs != 1 or client is not None:
        raise ValueError(
            "Training in shards, by several jobs or on a cluster is not there yet: leave shards, n_jobs and "
            "client as they are."
        )
    for _ in training(estimator, source, memory=memory, checkpoint=checkpoint, resume=resume, **settings):
        pass
    return estimator
