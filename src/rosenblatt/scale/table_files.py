"""Models of raw tables, from files."""

from __future__ import annotations

import os
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.formats.byte_sources import expand_paths, refuse_overwriting_inputs, spooled
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import Reading, make_reading
from rosenblatt.formats.table_layout import find_label_column
from rosenblatt.learn.phases import phase, printed
from rosenblatt.scale.checkpoints import Checkpoint
from rosenblatt.scale.fit_from_files import memory_limit
from rosenblatt.scale.large_tables import TableJob, fit_large_table, fits_in_memory, settings_of
from rosenblatt.scale.sharded_source import checked_shards, groups_of, in_shards, is_arrays, is_collection, make_engine
from rosenblatt.scale.sharded_tables import fit_sharded_table
from rosenblatt.scale.shards import paths_of
from rosenblatt.shell.fitting import as_it_was
from rosenblatt.tables.columns.files import label_name, read_table, table_parts
from rosenblatt.tables.columns.labels import labels_of
from rosenblatt.tables.columns.values import ColumnValues, as_codes
from rosenblatt.tables.fit import learn_table
from rosenblatt.tables.model import TableModel, store
from rosenblatt.tables.plan import AUTO
from rosenblatt.tables.results import concluded
from rosenblatt.tables.targets import ClassTarget, NumberTarget, Target

Array = np.ndarray[Any, Any]


def is_table_source(source: Any, settings: dict[str, Any]) -> bool:
    """Whether this source is a table or text, rather than rows of numbers."""
    if is_collection(source) or is_arrays(source):
        return True
    with spooled(source, stdin=False) as found:
        return make_reading(found, **settings).format != "svmlight"


def table_and_labels(source: Any, how: Reading) -> tuple[Any, ColumnValues, str, int]:
    """The columns of the rows that have a label, the labels, the name of their column, and the rows without one."""
    table = read_table(source, how)
    path = expand_paths(source)[0]
    name = label_name(how, table, path)
    rest, labels, absent = table.labelled(name)
    if absent == table.rows:
        raise FileError("expected labels, found none", path, None, name)
    if not rest.columns:
        raise FileError("expected columns beside the label, found none", path)
    return rest, labels, name, absent


def fit_table(
    estimator: Any,
    source: Any,
    task: str | None = None,
    *,
    shards: int | None = None,
    n_jobs: int = 1,
    client: Any = None,
    mixing: str = "uniform",
    memory: str | int | None = None,
    deadline: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    **settings: Any,
) -> Any:
    """Fit a table model to files; a mapping of parameters becomes a classifier or a regressor, depending on the labels.

    Rows without a label are left out and counted in the summary.

    Parameters
    ----------
    estimator : TableClassifier, TableRegressor, or a mapping of their parameters
    source : path, pattern of paths, sequence of paths, or "-"; in shards also a Dask DataFrame
    task : {"classification", "regression"}, optional
    shards, n_jobs, client, mixing, deadline
        As for `rosenblatt.fit`.
    memory : str or int, default="1GB"
        Files that take more, read and encoded, are learned from in bounded memory.
    checkpoint, resume
        As for `rosenblatt.fit`, for files that are larger than memory and for shards.
    **settings
        How to read: see `Reading`.
    """
    limit = memory_limit("1GB" if memory is None else memory)
    if checkpoint is not None:
        _refuse_another_search(estimator)
    point = Checkpoint.at(checkpoint, resume)
    unharmed = as_it_was(estimator) if isinstance(estimator, TableModel) else nullcontext()
    with point.named(), unharmed, printed(settings_of(estimator).get("verbose", False)):
        if in_shards(source, shards, n_jobs, client):
            engine, cut = (
                make_engine(client, n_jobs, limit if client is None else memory, deadline),
                checked_shards(shards, mixing),
            )
            if isinstance(source, tuple) and (is_collection(source) or is_arrays(source)):
                raise ValueError(
                    "In shards, tables are files or a Dask DataFrame; for a table in memory use the model's fit."
                )
            groups, how = groups_of(source, shards, client, settings)
            if checkpoint is not None:
                refuse_overwriting_inputs(paths_of(groups), [checkpoint])
            name, shown = _label_of(source, groups, how)
            job = TableJob(estimator, task, how, limit, point, name)
            model, unlabelled = fit_sharded_table(job, engine, groups, cut, mixing)
        else:
            if deadline is not None:
                raise ValueError("deadline is for shards: give shards or a client too.")
            shown = os.path.basename(expand_paths(source)[0])
            if checkpoint is not None:
                refuse_overwriting_inputs(expand_paths(source), [checkpoint])
            with spooled(source, stdin=False) as found:
                how = make_reading(found, **settings)
                with spooled(found) as files:
                    fit_here = _fit_small_table if fits_in_memory(files, limit) else _fit_large_table
                    model, name, unlabelled = fit_here(TableJob(estimator, task, how, limit, point), files)
        model.summary_ = replace(model.summary_, source=shown, label=name, unlabelled=unlabelled)
        model.reading_ = replace(how, label=None if how.format == "text" else name)
    return model


def _refuse_another_search(estimator: Any) -> None:
    """Refuse a checkpoint after a search that the next run may not repeat."""
    settings = settings_of(estimator)
    if settings.get("learner", AUTO) == AUTO and settings.get("seconds") is not None:
        raise ValueError(
            "A search limited by seconds may choose another setting in the next run, but a checkpoint has a fixed "
            "setting: search without seconds, or leave out checkpoint and resume."
        )


def _label_of(source: Any, groups: list[Any], how: Reading) -> tuple[str, str]:
    """The names of the label column and of the source."""
    if is_collection(source):
        return find_label_column(how.label, [str(name) for name in source.columns], groups[0].name), "a Dask DataFrame"
    return _label(source, how), os.path.basename(expand_paths(source)[0])


def _fit_small_table(job: TableJob, files: Any) -> tuple[Any, str, int]:
    """Fit a model to a table in memory; the model, the name of the label column and the rows without a label."""
    phase("reading the file")
    table, labels, name, absent = table_and_labels(files, job.how)
    codes, words = as_codes(labels)  # of text, so that each distinct label is examined once
    numeric = not labels.is_text and not pa.types.is_boolean(labels.values.type)
    found = labels_of(labels if numeric else ColumnValues(name, words, labels.categorical))
    model = job.model(found.task)
    plan = model.plan(job.kinds)
    target: Target
    if plan.target is NumberTarget:
        target, y = NumberTarget.of(labels_of(labels).values)
    elif numeric:
        target, y = ClassTarget.of(found.classes, plan.class_weight)
    else:
        classes, places = np.unique(found.classes, return_inverse=True)
        y = places[codes]
        target = ClassTarget.counted(classes, np.bincount(y, minlength=classes.size), plan.class_weight)
    return store(model, concluded(*learn_table(plan, table, target, y), job.began)), name, absent


def _fit_large_table(job: TableJob, files: Any) -> tuple[Any, str, int]:
    """The same for files that are larger than memory."""
    name = _label(files, job.how)
    model, unlabelled = fit_large_table(replace(job, label=name), files)
    return model, name, unlabelled


def _label(source: Any, how: Reading) -> str:
    """The name of the label column, from the first rows."""
    path = expand_paths(source)[0]
    with closing(table_parts(source, how)) as parts:  # type: ignore[type-var]
        first = next(parts, None)
    if first is None:
        raise FileError("expected rows, found none", path)
    name = label_name(how, first, path)
    if len(first.columns) < 2:
        raise FileError("expected columns beside the label, found none", path)
    return name
