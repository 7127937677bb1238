"""Training in shards: the same learners, mixed after every pass (`planes.mixing`), in threads or on a cluster.

An engine asks every shard a question and returns the answers in the order of the shards. `Threads` is one engine, the
workers of Dask (`scale.dask_cluster`) are another; everything else is shared, so results are identical to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, Protocol

import numpy as np

from rosenblatt.formats import table_layout
from rosenblatt.formats.byte_sources import expand_paths, readable_once, refuse_overwriting_inputs
from rosenblatt.formats.contents import Contents, merge_contents
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import HASHED_FEATURES, Reading, format_family, in_bytes, make_reading
from rosenblatt.planes.mixing import MIXINGS, ShardCosts
from rosenblatt.scale.checkpoints import Checkpoint
from rosenblatt.scale.file_source import example_encoder
from rosenblatt.scale.fit_from_files import memory_limit
from rosenblatt.scale.progress import Progress, followed
from rosenblatt.scale.read_ahead import ahead
from rosenblatt.scale.shards import (
    AskColumns,
    AskContents,
    AskExamples,
    AskNames,
    AskShard,
    FileShard,
    Shard,
    ShardContents,
    ShardOpener,
    Store,
    accepted,
    array_shards,
    cut_up,
    file_groups,
    paths_of,
)
from rosenblatt.shell.fitting import RowsWanted, train_from

Array = np.ndarray[Any, Any]
MEMORY = "256MB"


class Engine(Protocol):
    """What processes shards."""

    sent_again: int
    bytes_moved: int

    @property
    def slots(self) -> int:
        """How many shards are processed in parallel."""

    def round(self, question: AskShard, shards: Sequence[Shard]) -> Iterator[Any]:
        """The answer of each shard, checked, in the order of the shards."""


class Threads:
    """Processes shards in threads of this process; they run in parallel because compiled code releases the GIL."""

    sent_again = bytes_moved = 0

    def __init__(self, slots: int, store: Store) -> None:
        self._slots, self.store = slots, store

    @property
    def slots(self) -> int:
        """How many shards are processed in parallel."""
        return self._slots

    def round(self, question: AskShard, shards: Sequence[Shard]) -> Iterator[Any]:
        """The answer of each shard, checked, in the order of the shards."""
        answers = ahead((partial(question, shard, self.store) for shard in shards), workers=self._slots)
        with closing(answers):  # type: ignore[type-var]
            for shard, answer in zip(shards, answers, strict=True):
                yield accepted(answer, question, shard, "this process")


# -- the contents of shards ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShardedRows:
    """A source divided into shards, and the contents of all of them."""

    shards: list[Shard]
    sizes: list[int]  # the number of rows of each
    contents: Contents
    asked: Reading
    shift: int
    single: bool
    heaviest: float  # bytes of the rows of the largest shard


def laid_out(engine: Engine, groups: Sequence[Shard], how: Reading) -> Reading:
    """The reading completed with the layout of the columns of all tables."""
    if format_family(how.format) != "table" or how.layout is not None:
        return how
    names = [group.name for group in groups]
    surveys = engine.round(AskColumns(how), groups)
    survey = table_layout.merge_surveys(list(zip(names, surveys, strict=True)))
    target = table_layout.find_label_column(how.label, list(survey), names[0])
    columns = tuple(table_layout.categorical_columns(survey, target))
    words: dict[str, set[str]] = {name: set() for name in columns}
    if columns and how.categorical == "onehot":
        for found in engine.round(AskNames(how, columns), groups):
            for name in columns:
                words[name] |= found[name]
    hashed = (how.n_features or HASHED_FEATURES) if how.categorical == "hash" else 0
    layout = table_layout.build_layout(survey, target, words, hashed, names[0])
    return replace(how, layout=layout, n_features=layout.n_features)


def cut_source(
    engine: Engine, groups: Sequence[Shard], how: Reading, shards: int | None, described: Reading | None = None
) -> ShardedRows:
    """Scan all groups once, in parallel, and divide them into shards; contents may be described by another reading."""
    asked = laid_out(engine, groups, how)
    found: list[ShardContents] = list(engine.round(AskContents(asked), groups))
    parts = [one.contents for one in found]
    if not any(part.rows for part in parts):
        raise FileError("expected rows, found none", groups[0].name)
    try:
        contents, shift = merge_contents(parts, described or asked)
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
    return ShardedRows(pieces, sizes, contents, asked, shift, single, heaviest)


# -- shards as a source ----------------------------------------------------------------------------------------------


class ShardSource:
    """Shards as a source for the training loop: questions are sent to the shards, and their rows are not read here."""

    whole, lasting = False, True

    def __init__(self, engine: Engine, cut: ShardedRows, wanted: RowsWanted) -> None:
        encoder = example_encoder(wanted, cut.contents)
        self.engine, self.cut = engine, cut
        self.opening = ShardOpener(encoder, cut.asked, cut.shift, cut.single).named()
        self.places = {shard.name: k for k, shard in enumerate(cut.shards)}
        self.facts = encoder.facts(cut.contents, self.opening.dtype)
        self.sizes, self.reading = tuple(cut.sizes), 0.0
        self.described: dict[str, Any] = {"_contents": cut.contents}
        if cut.contents.how.format != "arrays":
            self.described["reading_"] = cut.contents.how

    def parts(self, epoch: int) -> Iterator[Any]:
        """Not available: the rows of shards are not sent."""
        raise TypeError("The rows of shards cannot be read; ask questions instead.")

    def ask(self, question: Any) -> Iterator[Any]:
        """The answer of each shard, in the order of the shards."""
        about = AskExamples(self.opening, question, self.places, self.sizes, self.facts.n_features)
        answers = self.engine.round(about, self.cut.shards)
        with closing(answers):  # type: ignore[type-var]
            for answered in answers:
                self.reading += answered.reading
                yield answered.value

    def spent(self) -> ShardCosts:
        """The costs of the shards so far."""
        return ShardCosts(self.engine.sent_again, self.engine.bytes_moved, self.reading, self.engine.slots)


# -- training --------------------------------------------------------------------------------------------------------


def is_collection(source: Any) -> bool:
    """Whether the source is a Dask collection, or a pair of them; without importing Dask."""
    several = source if isinstance(source, tuple) else (source,)
    return any(hasattr(one, "__dask_graph__") for one in several)


def is_arrays(source: Any) -> bool:
    """Whether the source is a pair of rows and labels in memory."""
    return isinstance(source, tuple) and len(source) == 2 and hasattr(source[0], "shape") and not is_collection(source)


def in_shards(source: Any, shards: int | None, n_jobs: int, client: Any) -> bool:
    """Whether rows are divided into shards."""
    if shards is None and client is None and n_jobs != 1:
        raise ValueError("n_jobs is the number of threads that learn from shards: give shards too.")
    return shards not in (None, 1) or client is not None or is_collection(source) or is_arrays(source)


def checked_shards(shards: int | None, mixing: str) -> int | None:
    """The number of shards; an error if it, or how they are mixed, is not valid."""
    if shards is not None and not (isinstance(shards, int) and shards >= 1):
        raise ValueError(f"shards must be a whole number, at least 1, got {shards!r}.")
    if mixing not in MIXINGS:
        raise ValueError(f"mixing must be one of {MIXINGS}, got {mixing!r}.")
    return shards


def groups_of(source: Any, shards: int | None, client: Any, settings: dict[str, Any]) -> tuple[list[Any], Reading]:
    """The groups of rows that are scanned in parallel, and how they are read."""
    if is_collection(source):
        from rosenblatt.scale.dask_cluster import collection_shards

        if shards is not None:
            raise ValueError(
                "A Dask collection has one shard per block: leave out shards, and repartition the collection instead."
            )
        return collection_shards(source, settings)
    if is_arrays(source):
        if client is not None:
            raise ValueError(
                "Arrays in memory are not sent to a cluster: give it files, or dask.array.from_array(X, chunks)."
            )
        X, y = source
        if len(X.shape) != 2:
            raise FileError(f"X must be a table of rows and columns, got an array of {len(X.shape)} dimensions.")
        how = Reading("arrays", n_features=int(X.shape[1]), zero_based=True, multilabel=False)
        return list(array_shards(X, y, shards or 1)), how
    paths = expand_paths(source)
    if any(readable_once(path) for path in paths):
        raise ValueError("Standard input and pipes cannot be divided into shards: give files.")
    how = make_reading(source, **settings)
    return list(file_groups(paths, shards or len(paths))), how


def make_engine(client: Any, n_jobs: int, memory: str | int | None, deadline: float | None) -> Engine:
    """The engine that processes shards: the workers of a client, or threads of this process."""
    if not (isinstance(n_jobs, int) and n_jobs >= 1):
        raise ValueError(f"n_jobs must be a number of threads, at least 1, got {n_jobs!r}.")
    if client is None:
        return Threads(n_jobs, Store(memory_limit(MEMORY if memory is None else memory)))
    from rosenblatt.scale.dask_cluster import Cluster

    if n_jobs != 1:
        raise ValueError("n_jobs sets the threads of this process; the workers of a cluster have their own.")
    return Cluster(client, None if memory is None else in_bytes(memory), deadline)


def training_in_shards(
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
    """`fit` in shards, step by step: yields its progress after each shard."""
    checked_shards(shards, mixing)
    point = Checkpoint.at(checkpoint, resume)
    engine, opened = make_engine(client, n_jobs, memory, deadline), list[ShardSource]()

    def open_source(wanted: RowsWanted) -> ShardSource:
        groups, how = groups_of(source, shards, client, settings)
        if checkpoint is not None:
            refuse_overwriting_inputs(paths_of(groups), [checkpoint])
        cut = cut_source(engine, groups, how, shards)
        check_fits(engine, cut)
        opened.append(ShardSource(engine, cut, wanted))
        return opened[0]

    with point.named():
        steps = train_from(estimator, open_source, mixing=mixing, save=point.save, resume=point.resume)
        yield from followed(steps, lambda: (sum(opened[0].sizes), len(opened[0].sizes)), point.epochs)


def check_fits(engine: Engine, cut: ShardedRows) -> None:
    """Refuse shards of files that are too large for the allowed memory of this process."""
    if not (isinstance(engine, Threads) and isinstance(cut.shards[0], FileShard)):
        return
    needed = int(cut.heaviest * engine.slots)
    if needed > engine.store.limit:
        raise ValueError(
            f"The largest of {len(cut.shards)} shards takes {cut.heaviest / 1e6:,.0f}MB, and {engine.slots} are in "
            f"memory at once: more than {engine.store.limit / 1e6:,.0f}MB. Use more shards, or allow more memory."
        )
