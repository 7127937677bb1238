"""Training in shards: the same learners, mixed after every pass (`learn.mixing`), by threads or on a cluster.

An engine puts a question to every shard and gives the answers in the order of the shards. `Threads` is one, Dask's
workers (`scale.cluster`) are another; nothing else differs between them, so the bits do not either.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rosenblatt.data import tables
from rosenblatt.data.errors import FileError
from rosenblatt.data.examples import Examples
from rosenblatt.data.reading import HASHED_NAMES, Contents, Reading, in_bytes, reading, united
from rosenblatt.data.sources import expand, flows, spare_inputs
from rosenblatt.estimators.epochwise import EpochwiseClassifier
from rosenblatt.estimators.files import save
from rosenblatt.estimators.online import OnlineLearner
from rosenblatt.estimators.report import Sharding, concluded
from rosenblatt.learn.evaluation import Evaluation
from rosenblatt.learn.finite import check_objective, check_state
from rosenblatt.learn.kept import Kept, Planes
from rosenblatt.learn.machines import State
from rosenblatt.learn.minimising import Aim
from rosenblatt.learn.mixing import MIXINGS, Mixer, outgoing, refusal
from rosenblatt.learn.training import EpochRecord, Plan, default_epochs, recorded
from rosenblatt.scale.ahead import ahead
from rosenblatt.scale.consistency import (
    Check,
    accepted,
    check_found,
    check_learned,
    check_place,
    check_seen,
    check_survey,
    check_vocabulary,
)
from rosenblatt.scale.jobs import LEAST_MEMORY, Progress, as_it_was, located, resumed
from rosenblatt.scale.rows import taught_to
from rosenblatt.scale.shards import (
    TABLES,
    Contain,
    FileShard,
    Found,
    Largest,
    Look,
    Opening,
    Pass,
    Seen,
    Shard,
    Store,
    Survey,
    Vocabulary,
    array_shards,
    cut_up,
    file_groups,
    look_payload,
    paths_of,
)

Array = np.ndarray[Any, Any]
MEMORY = "256MB"


class Engine(Protocol):
    """Where shards are worked on."""

    sent_again: int
    bytes_moved: int

    @property
    def slots(self) -> int:
        """How many shards are worked on at once."""

    def round(
        self, question: Any, shards: Sequence[Shard], check: Check, payload: bytes | None = None
    ) -> Iterator[Any]:
        """The answer of each shard that passes the check, in their order."""


class Threads:
    """Shards worked on by threads of this process; compiled code lets them run side by side."""

    sent_again = bytes_moved = 0

    def __init__(self, slots: int, store: Store) -> None:
        self._slots, self.store = slots, store

    @property
    def slots(self) -> int:
        """How many shards are worked on at once."""
        return self._slots

    def round(
        self, question: Any, shards: Sequence[Shard], check: Check, payload: bytes | None = None
    ) -> Iterator[Any]:
        """The answer of each shard that passes the check, in their order."""
        answers = ahead((partial(question, shard, self.store, payload) for shard in shards), workers=self._slots)
        with closing(answers):  # type: ignore[type-var]
            for shard, answer in zip(shards, answers, strict=True):
                yield accepted(answer, check, shard, "this process")


# -- what the shards hold --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """A source, cut into shards, and what they hold together."""

    shards: list[Shard]
    sizes: list[int]  # rows of each
    contents: Contents
    asked: Reading
    shift: int
    single: bool
    heaviest: float  # bytes of the rows of the largest shard


def laid_out(engine: Engine, groups: Sequence[Shard], how: Reading) -> Reading:
    """The reading with what is true of the columns of all tables."""
    if how.format not in TABLES or how.layout is not None:
        return how
    names = [group.name for group in groups]
    seen = tables.together(list(zip(names, engine.round(Survey(how), groups, check_survey), strict=True)))
    target = tables.label_of(how.label, list(seen), names[0])
    columns = tuple(tables.columns_of_names(seen, target))
    words: dict[str, set[str]] = {name: set() for name in columns}
    if columns and how.categorical == "onehot":
        for found in engine.round(Vocabulary(how, columns), groups, partial(check_vocabulary, columns)):
            for name in columns:
                words[name] |= found[name]
    hashed = (how.n_features or HASHED_NAMES) if how.categorical == "hash" else 0
    layout = tables.settled(seen, target, words, hashed, names[0])
    return replace(how, layout=layout, n_features=layout.n_features)


def cut_source(engine: Engine, groups: Sequence[Shard], how: Reading, shards: int | None) -> Cut:
    """Look through all groups once, side by side, and cut them into shards."""
    asked = laid_out(engine, groups, how)
    found: list[Found] = list(engine.round(Contain(asked), groups, check_found))
    parts = [one.contents for one in found]
    if not any(part.rows for part in parts):
        raise FileError("expected rows, found none", groups[0].name)
    try:
        contents, shift = united(parts, asked)
    except FileError as error:
        widest = int(np.argmax([part.most for part in parts]))
        raise FileError(error.what, groups[widest].name) from error
    rows = [part.rows for part in parts]
    files = [group for group in groups if isinstance(group, FileShard)]
    if files:
        pieces, sizes = cut_up(files, rows, max(shards or 0, len(files)))
    else:
        pieces = [group for group, count in zip(groups, rows, strict=True) if count]
        sizes = [count for count in rows if count]
    a_value = 8 if contents.dense else 12
    share = -(-(shards or 1) // len(groups))
    heaviest = max(part.stored for part in parts) * a_value / max(share, 1)
    single = all(one.single for one in found if one.contents.rows)
    return Cut(pieces, sizes, contents, asked, shift, single, heaviest)


# -- one epoch -------------------------------------------------------------------------------------------------------


@dataclass
class Job:
    """What is learned, from which shards, and where."""

    model: Any
    engine: Engine
    cut: Cut
    opening: Opening
    plan: Plan
    state: State
    sharding: Sharding
    order: None = None  # each shard has its own

    def epoch(self, records: Sequence[EpochRecord]) -> Iterator[tuple[int, int] | EpochRecord]:
        """One pass: yields the rows and updates of each shard, and at last the record."""
        began, slots, again = time.perf_counter(), self.engine.slots, self.engine.sent_again
        moved = self.engine.bytes_moved
        mixer = Mixer(self.state, self.plan.rule, self.sharding.mixing)
        question = Pass(self.opening, self.plan, {shard.name: k for k, shard in enumerate(self.cut.shards)})
        payload = pickle.dumps(outgoing(self.state), protocol=5)
        mistakes, computing, reading = [], 0.0, 0.0
        check = partial(check_learned, self.state, self.opening.taught.n_features)
        answers = self.engine.round(question, self.cut.shards, check, payload)
        with closing(answers):  # type: ignore[type-var]
            for size, learned in zip(self.cut.sizes, answers, strict=True):
                mixer.add(learned.part)
                mistakes.append(learned.part.updates)
                computing, reading = computing + learned.part.seconds, reading + learned.reading
                yield size, learned.part.updates
        state, before = mixer.mixed(), self.state.updates
        wall = (time.perf_counter() - began) * max(slots, self.engine.slots)
        self.state, made = state, state.updates - before
        self.sharding = replace(
            self.sharding,
            mistakes=(*self.sharding.mistakes, tuple(mistakes)),
            weighted=self.sharding.weighted + mixer.weighted,
            sent_again=self.sharding.sent_again + self.engine.sent_again - again,
            bytes_moved=self.sharding.bytes_moved + self.engine.bytes_moved - moved,
            computing=self.sharding.computing + computing,
            reading=self.sharding.reading + reading,
            waiting=self.sharding.waiting + max(wall - computing - reading, 0.0),
        )
        yield self._record(records, mixer, made, began)

    def _record(self, records: Sequence[EpochRecord], mixer: Mixer, made: int, began: float) -> EpochRecord:
        errors = None
        if self.plan.record_errors:
            kept = self.state.kept(self.plan.rule)
            errors = self.look(self.state.last(self.plan.rule), kept).errors
        loss = self.opening.taught.mean_loss(mixer.losses, self.cut.contents, self.state.scheme)
        if isinstance(self.plan, Aim):
            loss += self.plan.penalty_of(self.state.machines[0].coef)
            converged = stalled([*(record.loss for record in records), loss], self.plan)
        else:
            untouched = made == 0 and self.plan.order != "random"
            converged = mixer.violations == 0 and (untouched or self.clean())
        return recorded(self.state.epoch, made, errors, loss, time.perf_counter() - began, converged)

    def look(self, planes: Planes, kept: Kept | None = None) -> Seen:
        """What all shards say of these planes."""
        payload = look_payload(self.state, planes, kept)
        rows = {shard.name: size for shard, size in zip(self.cut.shards, self.cut.sizes, strict=True)}
        check, total = partial(check_seen, self.state, rows), Seen((), 0, 0.0, 0.0)
        for one in self.engine.round(Look(self.opening, self.plan), self.cut.shards, check, payload):
            scans = one.scans
            if total.scans and scans:
                scans = tuple(a.joined(b) for a, b in zip(total.scans, scans, strict=True))
            total = Seen(scans or total.scans, total.errors + one.errors, total.loss + one.loss, total.mass + one.mass)
        return total

    def largest(self) -> tuple[int, int, float]:
        """Row, counted through all shards, column and value of the largest absolute value."""
        first, found = 0, (0, 0, 0.0)
        places = self.engine.round(Largest(self.opening), self.cut.shards, check_place)
        for size, (row, column, value) in zip(self.cut.sizes, places, strict=True):
            if abs(value) > abs(found[2]):
                found = (first + row, column, value)
            first += size
        return found

    def clean(self) -> bool:
        """Whether a scan finds every row above its margin."""
        return all(one.violations == 0 for one in self.look(self.state.last(self.plan.rule)).scans)

    # -- the model -----------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Rows that take part."""
        return self.opening.taught.size(self.cut.contents)

    def about(self) -> Examples:
        """Examples that hold no rows, only what is true of all."""
        return self.opening.no_rows(self.cut.contents)

    def publish(self, records: list[EpochRecord], began: float, outcome: str) -> None:
        """Put the model, as it is now, into its attributes."""
        check_state(self.state)
        self.model._keep(self.state, self.plan, self.about(), records, began, outcome)
        self.model.report_ = replace(self.model.report_, rows=self.size, sharding=self.sharding)

    def finish(self, records: list[EpochRecord], began: float, outcome: str) -> None:
        """The model and its report, after a scan of all shards."""
        self.publish(records, began, outcome)
        kept, seconds, looks = self.model._kept, time.perf_counter() - began, dict[int, Seen]()

        def scanned(planes: Planes) -> list[Evaluation]:
            looks[id(planes)] = self.look(planes)
            return list(looks[id(planes)].scans)

        def wrong() -> int:
            return self.look(kept, kept).errors

        report = concluded(outcome, records, self.about(), self.plan, self.state, kept, seconds, scanned, wrong)
        if report.bound is not None:
            report = replace(report, bound=report.bound * len(self.cut.shards))
        if isinstance(self.plan, Aim):
            seen = looks[id(kept)]
            objective = check_objective(seen.loss / seen.mass + self.plan.penalty_of(kept.coef))
            report = replace(report, objective=objective)
            if self.plan.shape.of == "residual" and self.plan.loss != "epsilon_insensitive":
                report = replace(report, errors=None)
        elif outcome == "budget" and not report.errors and self.clean():
            report = replace(report, outcome="converged")
        self.model.report_ = replace(report, rows=self.size, sharding=self.sharding)
        self.model._warn(self.model.report_)


def stalled(losses: Sequence[float], aim: Aim) -> bool:
    """Whether the objective met on the way has stopped to fall, as `minimising.descend` says."""
    lowest, waited = np.inf, 0
    for loss in losses:
        waited = 0 if loss < lowest - aim.tol * abs(lowest) else waited + 1
        lowest = min(lowest, loss)
    return aim.tol > 0 and waited >= aim.patience


# -- training --------------------------------------------------------------------------------------------------------


def checked(estimator: Any) -> Plan:
    """The plan of a learner whose state mixes; another is refused, and told why."""
    name = type(estimator).__name__
    if not isinstance(estimator, OnlineLearner) or isinstance(estimator, EpochwiseClassifier):
        raise ValueError(f"{name} cannot learn in shards: it is no linear learner whose weights mix.")
    estimator._validate_params()
    plan = estimator._plan()
    why = refusal(plan)
    if why is None and getattr(estimator, "solver", "stochastic") == "batch":
        why = 'solver="batch" needs all rows for every step: use solver="stochastic"'
    if why is not None:
        raise ValueError(f"{name} cannot learn in shards: {why}.")
    if getattr(estimator, "early_stopping", False):
        raise ValueError("early_stopping holds out rows of its own: use fit, in memory, or score on other shards.")
    return plan


def is_collection(source: Any) -> bool:
    """Whether the source is a collection of Dask's, or a pair of them; without importing Dask."""
    several = source if isinstance(source, tuple) else (source,)
    return any(hasattr(one, "__dask_graph__") for one in several)


def is_arrays(source: Any) -> bool:
    """Whether the source is a pair of rows and labels in memory."""
    return isinstance(source, tuple) and len(source) == 2 and hasattr(source[0], "shape") and not is_collection(source)


def groups_of(source: Any, shards: int | None, client: Any, settings: dict[str, Any]) -> tuple[list[Any], Reading]:
    """What is looked through side by side, and how it is read."""
    if is_collection(source):
        from rosenblatt.scale.cluster import collection_shards

        if shards is not None:
            raise ValueError(
                "A collection of Dask's has a shard for each of its blocks: repartition it, without shards."
            )
        return collection_shards(source, settings)
    if is_arrays(source):
        if client is not None:
            raise ValueError("Arrays in memory stay here: give the cluster files, or dask.array.from_array(X, chunks).")
        X, y = source
        if len(X.shape) != 2:
            raise FileError(f"X must be a table of rows and columns, got an array of {len(X.shape)} dimensions.")
        how = Reading("arrays", n_features=int(X.shape[1]), zero_based=True, multilabel=False)
        return list(array_shards(X, y, shards or 1)), how
    paths = expand(source)
    if any(flows(path) for path in paths):
        raise ValueError("Standard input and pipes cannot be cut into shards: give files.")
    how = reading(source, **settings)
    return list(file_groups(paths, shards or len(paths))), how


def _threads(n_jobs: int, memory: str | int | None) -> Threads:
    limit = in_bytes(MEMORY if memory is None else memory)
    if limit < LEAST_MEMORY:
        raise ValueError(f"memory must be at least {LEAST_MEMORY // 1_000_000}MB, got {memory!r}.")
    return Threads(n_jobs, Store(limit))


def make_engine(client: Any, n_jobs: int, memory: str | int | None, deadline: float | None) -> Engine:
    """Where shards are worked on: the workers of a client, or threads of this process."""
    if not (isinstance(n_jobs, int) and n_jobs >= 1):
        raise ValueError(f"n_jobs is a number of threads, at least 1, got {n_jobs!r}.")
    if client is None:
        return _threads(n_jobs, memory)
    from rosenblatt.scale.cluster import Cluster

    if n_jobs != 1:
        raise ValueError("n_jobs are threads of this process; the workers of a cluster have their own.")
    return Cluster(client, None if memory is None else in_bytes(memory), deadline)


def training(
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
    **settings: Any,
) -> Iterator[Progress]:
    """`fit` in shards, step by step: yields how far it is after each shard."""
    plan = checked(estimator)
    if shards is not None and not (isinstance(shards, int) and shards >= 1):
        raise ValueError(f"shards is a whole number, at least 1, got {shards!r}.")
    if mixing not in MIXINGS:
        raise ValueError(f"mixing is one of {MIXINGS}, got {mixing!r}.")
    if resume and checkpoint is None:
        raise ValueError("resume needs to know the checkpoint.")
    engine = make_engine(client, n_jobs, memory, deadline)
    with as_it_was(estimator):
        groups, how = groups_of(source, shards, client, settings)
        if checkpoint is not None:
            spare_inputs(paths_of(groups), [checkpoint])
        cut = cut_source(engine, groups, how, shards)
        if isinstance(engine, Threads) and isinstance(cut.shards[0], FileShard):
            _fits(engine, cut)
        job = _job(estimator, engine, cut, plan, mixing)
        path = None if checkpoint is None else Path(checkpoint)
        records = _continued(job, path) if resume and path is not None and path.exists() else []
        with located(job.largest):
            yield from _passes(job, records, path)


def _fits(engine: Threads, cut: Cut) -> None:
    """Refuse shards that are too large for the memory that was granted."""
    needed = int(cut.heaviest * engine.slots)
    if needed > engine.store.limit:
        raise ValueError(
            f"The largest of {len(cut.shards)} shards takes {cut.heaviest / 1e6:,.0f}MB, and {engine.slots} are "
            f"learned from at once: more than {engine.store.limit / 1e6:,.0f}MB. Cut more shards, or grant more memory."
        )


def _job(model: Any, engine: Engine, cut: Cut, plan: Plan, mixing: str) -> Job:
    taught = taught_to(model, cut.contents)
    opening = Opening(taught, cut.asked, cut.shift, cut.single).named()
    model.n_features_in_ = taught.n_features
    vars(model).pop("feature_names_in_", None)
    classes = 1 if taught.classes is None else taught.classes.size
    about = opening.no_rows(cut.contents)
    state = model._start(about, plan, classes, bool(taught.how.multilabel), None, None)
    if taught.shares is None or taught.shares.all():
        state.radius2 = max(state.radius2, cut.contents.radius2)  # R² of all shards, from the first step on
    if cut.contents.how.format != "arrays":
        model.reading_ = cut.contents.how
    model._contents = cut.contents
    return Job(model, engine, cut, opening, plan, state, Sharding(mixing, tuple(cut.sizes)))


def _continued(job: Job, path: Path) -> list[EpochRecord]:
    """Go on where the checkpoint stopped, if it is one of the same shards."""
    other = resumed(job, path)
    told = other.report_.sharding
    if told is None or (told.mixing, told.rows) != (job.sharding.mixing, job.sharding.rows):
        raise FileError("a checkpoint of training in other shards: train without resume", path)
    job.sharding = told
    return list(other.report_.epochs)


def _passes(job: Job, records: list[EpochRecord], checkpoint: Path | None) -> Iterator[Progress]:
    """Pass after pass, to the end; the model is published, and the checkpoint written, after each."""
    began, total, count = time.perf_counter(), job.cut.contents.rows, len(job.cut.shards)
    limit = job.model.max_epochs or default_epochs(job.cut.contents.stored, job.plan.keep)

    def progress(epoch: int, rows: int, updates: int, done: int, record: EpochRecord | None = None) -> Progress:
        return Progress(epoch, rows, total, updates, time.perf_counter() - began, record, done, count)

    while not (records and records[-1].converged) and len(records) < limit:
        rows, updates, done = 0, 0, 0
        for step in job.epoch(records):
            if isinstance(step, EpochRecord):
                records.append(step)
                continue
            rows, updates, done = rows + step[0], updates + step[1], done + 1
            yield progress(len(records) + 1, rows, updates, done)
        job.publish(records, began, "interrupted")
        if checkpoint is not None:
            save(job.model, checkpoint)
        yield progress(len(records), rows, updates, done, records[-1])
    job.finish(records, began, "converged" if records[-1].converged else "budget")
