"""Models of raw tables, from files."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from rosenblatt.data.columns.files import TEXT, label_name, read_table
from rosenblatt.data.columns.labels import Labels, labels_of
from rosenblatt.data.errors import FileError
from rosenblatt.data.formats.byte_sources import expand_paths, spooled
from rosenblatt.data.formats.reading import Reading, make_reading, rereadable
from rosenblatt.estimators.base.table_model import TableModel
from rosenblatt.estimators.tables import TableClassifier, TableRegressor

Array = np.ndarray[Any, Any]


def is_table_source(source: Any, settings: dict[str, Any]) -> bool:
    """Whether this source is a table or text, rather than rows of numbers."""
    with spooled(source, stdin=False) as found:
        return make_reading(found, **settings).format != "svmlight"


def labelled_table(source: Any, how: Reading) -> tuple[Any, Labels, str]:
    """The columns of the files without the label, the labels of rows that have one, and the name of their column."""
    table = read_table(source, how)
    path = expand_paths(source)[0]
    name = label_name(how, table, path)
    labels = labels_of(table.values(name))
    if not labels.present.any():
        raise FileError("expected labels, found none", path, None, name)
    rest = table.without(name)
    if not rest.columns:
        raise FileError("expected columns beside the label, found none", path)
    return rest if labels.present.all() else rest.take(np.flatnonzero(labels.present)), labels, name


def fit_table(estimator: Any, source: Any, task: str | None = None, **settings: Any) -> Any:
    """Fit a model of tables to files; for `estimator` None, the one that the labels call for.

    Rows without a label are left out and counted in the summary.

    Parameters
    ----------
    estimator : TableClassifier, TableRegressor, or a mapping of their parameters
    source : path, pattern of paths, sequence of paths, or "-"
    task : {"classification", "regression"}, optional
    **settings
        How to read: see `Reading`.
    """
    with spooled(source, stdin=False) as found:
        how = make_reading(found, **settings)
        shown = os.path.basename(expand_paths(source)[0])
        with rereadable(found, how, scan=True) as files:
            table, labels, name = labelled_table(files, how)
    if not isinstance(estimator, TableModel):
        kind = TableRegressor if (task or labels.task) == "regression" else TableClassifier
        estimator = kind(**estimator)
    y = _as_classes(labels.values) if isinstance(estimator, TableClassifier) else labels.values
    estimator._fit_table(table, y, {TEXT: "text"} if how.format == "text" else None)
    unlabelled = int(np.count_nonzero(~labels.present))
    estimator.summary_ = replace(estimator.summary_, source=shown, label=name, unlabelled=unlabelled)
    estimator.reading_ = replace(how, label=None if how.format == "text" else name)
    return estimator


def _as_classes(values: Array) -> Array:
    """Fractions as text, where they were asked to be classes."""
    return values.astype(str) if values.dtype.kind == "f" and (values != np.floor(values)).any() else values
