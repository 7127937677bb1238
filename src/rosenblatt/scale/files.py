"""`fit`: any online learner, from files of any size, in bounded memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.data.errors import FileError
from rosenblatt.data.gathering import give_back
from rosenblatt.data.reading import (
    Contents,
    Facts,
    Piece,
    Reading,
    in_bytes,
    longest_line,
    looked_through,
    prepared,
    reading,
)
from rosenblatt.data.sources import CHUNK, expand, spare_inputs, spooled
from rosenblatt.estimators.classifier import OnlineClassifier, named_classes
from rosenblatt.estimators.epochwise import EpochwiseClassifier
from rosenblatt.estimators.files import save
from rosenblatt.estimators.online import OnlineLearner
from rosenblatt.learn.minimising import Aim
from rosenblatt.learn.network import Network
from rosenblatt.learn.orders import Blocks
from rosenblatt.learn.training import EpochRecord, Plan
from rosenblatt.learn.tree import Grown
from rosenblatt.scale.ahead import ahead
from rosenblatt.scale.cache import cached, fresh
from rosenblatt.scale.jobs import LEAST_MEMORY, Branching, Descent, Job, Layered, Progress, as_it_was, located, resumed
from rosenblatt.scale.rows import Kept, Parsed, Rows, measures, strange_label, taught_to

Array = np.ndarray[Any, Any]
PIECE = 1 << 24  # bytes of text learned from at once, where no cache is made


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
            raise strange_label(label)
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
    size, longest = min(CHUNK, memory // 32), longest_line(memory)
    plan = model._plan()
    once = plan.order == "cyclic" and model.max_epochs == 1 and not measures(model) and not plan.record_errors
    if not once:
        return Kept(cached(source, how, size, longest))
    found = fresh(source, how)
    if found is not None:
        return Kept(found)
    if known is not None:
        return Parsed(source, known, min(PIECE, longest), longest)
    ready = prepared(source, how, size)
    facts = Facts()
    pieces = ahead(looked_through(source, ready, size, longest))
    with closing(pieces):  # type: ignore[type-var]
        for piece in pieces:
            facts.add(piece) if isinstance(piece, Piece) else facts.see(piece)
    if not facts.rows:
        raise FileError("expected rows, found none", expand(source)[0])
    return Parsed(source, facts.contents(facts.settle(ready)), min(PIECE, longest), longest)


def _kind(plan: Plan, state: Any) -> type[Job]:
    if isinstance(plan, Aim):
        return Descent
    if isinstance(state, Network):
        return Layered
    return Branching if isinstance(state, Grown) else Job


def _job(model: Any, rows: Rows, plan: Plan, classes_given: Array | None) -> Job:
    if classes_given is not None:
        rows.contents = _given(rows.contents, classes_given)
    contents = rows.contents
    taught = taught_to(model, contents)
    model.n_features_in_ = taught.n_features
    vars(model).pop("feature_names_in_", None)
    classes = 1 if taught.classes is None else taught.classes.size
    state: Any
    if isinstance(model, EpochwiseClassifier):
        if taught.how.multilabel:
            raise ValueError(f"{type(model).__name__} learns one class a row; these have several labels.")
        state = model._begin(taught.no_rows(contents))
    else:
        state = model._start(taught.no_rows(contents), plan, classes, bool(taught.how.multilabel), None, None)
    order = Blocks(rows.cache.bounds, state.seed) if plan.order != "cyclic" and isinstance(rows, Kept) else None
    model.reading_, model._contents = contents.how, contents
    return _kind(plan, state)(model, rows, taught, plan, state, order)


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
    if checkpoint is not None:
        spare_inputs(expand(source), [checkpoint])
    named = None if classes is None else named_classes(classes)
    if named is not None and not isinstance(estimator, OnlineClassifier):
        raise ValueError(f"{type(estimator).__name__} learns numbers: it has no classes.")
    with as_it_was(estimator), ExitStack() as stack:
        source = stack.enter_context(spooled(source, stdin=False))
        how = reading(source, **settings)
        known = None if checkpoint is not None else _unscanned(estimator, how, named is not None)
        source = stack.enter_context(spooled(source))
        job = _job(estimator, _rows(source, how, estimator, limit, known), plan, named)
        path = None if checkpoint is None else Path(checkpoint)
        records = []
        if resume and path is not None and path.exists():
            records = list(resumed(job, path).report_.epochs)
        with located(job.largest):
            yield from _passes(job, records, path)
    give_back()


def _passes(job: Job, records: list[EpochRecord], checkpoint: Path | None) -> Iterator[Progress]:
    """Pass after pass, to the end; the model is published, and the checkpoint written, after each."""
    began, contents = time.perf_counter(), job.rows.contents
    limit = job.model.max_epochs or job.default_epochs()
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
    ones, whatever needs max‖x‖ (the bias step "radius", objectives, trees of classes, networks), shards and standard
    input go through a binary cache, beside the file or in the folder ROSENBLATT_CACHE, which is used again until a
    file changes. A single pass of others in the order of the file needs none, and its report tells no errors.

    With shards every pass is made over each of them from the same weights, and the results are mixed: iterative
    parameter mixing (McDonald, Hall and Mann 2010),

        w ← Σ_i μ_i w_i          μ_i = 1/S, or by the mistakes of shard i

    to the same bits for any number of threads or workers.

    Parameters
    ----------
    estimator : online learner of rosenblatt
        Fitted in place. A vote and a pocket need all rows at once and are refused; so are learners with kernels, duals
        and the batch solver, each with the reason. In shards only planes can be mixed.
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
