"""`fit`: trains any online learner from files of any size, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from rosenblatt.formats.byte_sources import CHUNK_BYTES, expand_paths, refuse_overwriting_inputs, spooled
from rosenblatt.formats.contents import Contents, Inventory, with_layout
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.read_and_stream import max_line_bytes
from rosenblatt.formats.reading import Reading, in_bytes, make_reading
from rosenblatt.formats.row_blocks import RowBlock, preview_tasks
from rosenblatt.registry import family
from rosenblatt.scale.checkpoints import Checkpoint
from rosenblatt.scale.file_source import CachedRows, FileRows, FileSource, ParsedRows, example_encoder, strange_label
from rosenblatt.scale.memory_trimming import give_back
from rosenblatt.scale.progress import Progress, followed
from rosenblatt.scale.read_ahead import ahead
from rosenblatt.scale.row_cache import cached, fresh
from rosenblatt.shell.fitting import RowsWanted, named_classes, train_from

Array = np.ndarray[Any, Any]
LEAST_MEMORY = 160_000_000
PIECE = 1 << 24  # bytes of text per piece, if there is no cache


# -- from files to a source ------------------------------------------------------------------------------------------


def _given(contents: Contents, classes: Array) -> Contents:
    """The contents with the given classes, which must include all labels."""
    if contents.how.multilabel:
        raise ValueError("classes applies to rows with one label, but these have several.")
    found = dict(zip(contents.labels or (), contents.counts, strict=True))
    if contents.labels is None and contents.rows:
        raise ValueError("There are too many different labels for classes: use a regressor for numbers.")
    if contents.how.format == "svmlight" and classes.dtype.kind in "biuf":
        classes = classes.astype(np.float64)  # as labels are read
    names = classes.tolist()
    for label in found:
        if label not in names:
            raise strange_label(label)
    return replace(contents, labels=tuple(names), counts=tuple(found.get(name, 0) for name in names))


def _unscanned(wanted: RowsWanted, how: Reading, named: bool) -> Contents | None:
    """What is known without a first scan, if it suffices for a single pass, which then counts the rows; else None."""
    numbers = not wanted.classes and how.format == "svmlight"
    if not (how.known and how.format in ("svmlight", "text") and (named or numbers)):
        return None
    if isinstance(wanted.class_weight, str):
        return None
    if how.multilabel is None:
        how = replace(how, multilabel=False)  # a row with several labels will be refused
    return None if how.multilabel else Contents(how, 0, 0, 0.0, None, (), False)


def _rows(source: Any, how: Reading, wanted: RowsWanted, memory: int, known: Contents | None) -> FileRows:
    """The rows to learn from: parsed on the fly for a single pass in file order, else from the cache."""
    size, longest = min(CHUNK_BYTES, memory // 32), max_line_bytes(memory)
    if not wanted.once:
        return CachedRows(cached(source, how, size, longest, memory))
    found = fresh(source, how)
    if found is not None:
        return CachedRows(found)
    if known is not None:
        return ParsedRows(source, known, min(PIECE, longest), longest)
    ready = with_layout(source, how, size)
    inventory = Inventory()
    pieces = ahead(preview_tasks(source, ready, size, longest))
    with closing(pieces):  # type: ignore[type-var]
        for piece in pieces:
            inventory.add(piece) if isinstance(piece, RowBlock) else inventory.add_preview(piece)
    if not inventory.rows:
        raise FileError("expected rows, found none", expand_paths(source)[0])
    return ParsedRows(source, inventory.contents(inventory.complete_reading(ready)), min(PIECE, longest), longest)


# -- training --------------------------------------------------------------------------------------------------------


@dataclass
class FileOpener:
    """Opens a source of files once the requirements of the estimator are known."""

    source: Any
    how: Reading
    memory: int
    classes: Array | None
    checkpointed: bool
    opened: FileSource | None = None

    def __call__(self, wanted: RowsWanted) -> FileSource:
        """The rows of the files."""
        if self.classes is not None and not wanted.classes:
            raise ValueError(f"{wanted.name} learns numbers: it has no classes.")
        known = None if self.checkpointed else _unscanned(wanted, self.how, self.classes is not None)
        rows = _rows(self.source, self.how, wanted, self.memory, known)
        if self.classes is not None:
            rows.contents = _given(rows.contents, self.classes)
        self.opened = FileSource(rows, example_encoder(wanted, rows.contents), wanted.in_turn)
        return self.opened

    def size(self) -> tuple[int, int]:
        """The rows per pass, and 0 shards."""
        assert self.opened is not None
        return self.opened.rows.contents.rows, 0


def memory_limit(memory: str | int) -> int:
    """The memory of a fit, in bytes; refuses too little."""
    limit = in_bytes(memory)
    if limit < LEAST_MEMORY:
        raise ValueError(f"memory must be at least {LEAST_MEMORY // 1_000_000}MB, got {memory!r}.")
    return limit


def training_from_files(
    estimator: Any,
    source: Any,
    *,
    memory: str | int = "256MB",
    checkpoint: str | PathLike[str] | None = None,
    resume: bool = False,
    classes: Any = None,
    **settings: Any,
) -> Iterator[Progress]:
    """`fit`, step by step: yields its progress after each piece of rows."""
    limit = memory_limit(memory)
    if checkpoint is not None:
        refuse_overwriting_inputs(expand_paths(source), [checkpoint])
    point = Checkpoint.at(checkpoint, resume)
    named = None if classes is None else named_classes(classes)
    with ExitStack() as stack, point.named():
        source = stack.enter_context(spooled(source, stdin=False))
        how = make_reading(source, **settings)
        source = stack.enter_context(spooled(source))
        opening = FileOpener(source, how, limit, named, checkpoint is not None)
        steps = train_from(estimator, opening, save=point.save, resume=point.resume)
        yield from followed(steps, opening.size, point.epochs)
    give_back()


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

    Without shards the result is identical, to the bit, to that of `estimator.fit` on the same rows in memory with the
    order "cyclic" or "blocks"; "shuffle" means "blocks" here. A binary copy of the rows is used for several or
    shuffled passes, for everything that needs max‖x‖ (the bias step "radius", objectives, trees of classes, networks),
    for shards and for standard input. If it is small compared with `memory`, it is held in memory; else it is a cache
    in the user's cache folder, or in ROSENBLATT_CACHE, which is reused until a file changes (`rosenblatt cache` lists
    and removes caches). Any other single pass, in the order of the file, needs no copy, and its report does not count
    errors.

    With shards every epoch makes one pass over each shard from the same weights, and mixes the results: iterative
    parameter mixing (McDonald, Hall and Mann 2010),

        w ← Σ_i μ_i w_i          μ_i = 1/S, or in proportion to the mistakes of shard i

    with the same bits for any number of threads or workers.

    Parameters
    ----------
    estimator : online learner of rosenblatt
        Fitted in place. Learners that need all rows at once are refused with the reason: votes, pockets, kernels,
        duals and the batch solver. With shards the learner must be linear. Models of tables hold out a sample of rows,
        and with `learner="auto"` search another one; both fit in `memory`.
    source : path, pattern of paths, sequence of paths, or "-"
        As for `rosenblatt.read`. In shards also a Dask DataFrame with its column `label`, a pair of Dask arrays
        (rows, dense or sparse, and labels), or a pair of arrays in memory.
    shards : int, optional
        The number of parts, of about equal size, into which rows are divided: files are distributed over shards, and
        divided if there are fewer files than shards. The default is one, and with a `client` one per file; a Dask
        collection has one per block or partition.
    n_jobs : int, default=1
        The number of threads of this process that learn from shards.
    client : dask.distributed.Client, optional
        A cluster whose workers learn from shards (extra `cluster`). They read the files themselves, from the same
        paths.
    mixing : {"uniform", "mistakes"}, default="uniform"
        How the weights of the shards are averaged after each pass: all alike, or by their numbers of updates.
    memory : str or int, optional
        The memory that training may use in addition to the model, "256MB" by default, "1GB" for models of tables; on a
        cluster, the memory in which each worker may keep its shards between passes, half of its memory by default.
    deadline : float, optional
        Seconds after which an unfinished shard is sent to another worker; by default ten times the median time of a
        shard, and at least 60. After three attempts the run ends.
    checkpoint : path, optional
        A model file that is written after each epoch.
    resume : bool, default=False
        Continue from the checkpoint, if it exists, to exactly the model of an uninterrupted run.
    classes : array-like, optional
        All classes to expect, whether or not they occur in the files; any other label is refused. If `n_features` and
        `zero_based` are also given, a single pass in the order of an svmlight file needs no first scan.
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
    ('separated', 0)
    >>> X, y = rosenblatt.read(path, like=model.reading_)
    >>> bool((model.predict(X) == y).all())
    True
    >>> mixed = rosenblatt.fit(rosenblatt.Perceptron(random_state=0), path, shards=2, n_jobs=2)
    >>> mixed.report_.errors, mixed.report_.sharding.rows
    (0, (2, 2))
    """
    how: dict[str, Any] = {"shards": shards, "n_jobs": n_jobs, "client": client, "mixing": mixing}
    how |= {"memory": memory, "deadline": deadline, "checkpoint": checkpoint, "resume": resume}
    if family(estimator) == "tables":
        from rosenblatt.scale.table_files import fit_table, is_table_source

        if is_table_source(source, settings):
            if classes is not None:
                raise ValueError(f"{type(estimator).__name__} determines the classes itself: leave out classes.")
            return fit_table(estimator, source, **how, **settings)
    if family(estimator) == "sequences":
        from rosenblatt.scale.sequence_files import sequence_training

        given = {"shards": shards, "client": client, "memory": memory, "deadline": deadline, "classes": classes}
        for option in [name for name, value in {**given, **settings}.items() if value is not None]:
            raise ValueError(f"{type(estimator).__name__} reads its sentences into memory: leave out {option}.")
        for _ in sequence_training(estimator, source, checkpoint=checkpoint, resume=resume):
            pass
        return estimator
    if family(estimator) == "words":
        raise TypeError(
            f"{type(estimator).__name__} learns from sentences in memory, as lists of words. From a file of CoNLL "
            "columns: X, y = rosenblatt.read_conll(file), then Tagger().fit([[token[0] for token in sentence] for "
            "sentence in X], y). From the file itself: rosenblatt.fit(SequencePerceptron(template=...), file)."
        )
    for _ in steps(estimator, source, **how, classes=classes, **settings):
        pass
    return estimator


def steps(estimator: Any, source: Any, **how: Any) -> Iterator[Progress]:
    """`fit`, step by step, in shards or not."""
    from rosenblatt.scale import sharded_source

    if sharded_source.in_shards(source, how["shards"], how["n_jobs"], how["client"]):
        if how.pop("classes", None) is not None:
            raise ValueError("With shards, classes are found by the workers that read them: leave out classes.")
        return sharded_source.training_in_shards(estimator, source, **how)
    for name in ("shards", "n_jobs", "client", "mixing", "deadline"):
        how.pop(name)
    how["memory"] = "256MB" if how["memory"] is None else how["memory"]
    return training_from_files(estimator, source, **how)
