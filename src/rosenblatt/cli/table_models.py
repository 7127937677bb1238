"""Models of raw tables on the command line: train, predict, evaluate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from rosenblatt.formats.byte_sources import expand_paths, spooled
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.read_and_stream import rereadable
from rosenblatt.scale.prediction import how_to_read
from rosenblatt.scale.table_files import table_and_labels
from rosenblatt.tables.columns.files import table_parts
from rosenblatt.tables.columns.labels import labels_of
from rosenblatt.tables.columns.values import as_names

Array = np.ndarray[Any, Any]


def column_kinds(options: Sequence[str]) -> dict[str, str] | None:
    """The kinds in options such as zip=names."""
    kinds = {}
    for option in options:
        name, equals, kind = option.rpartition("=")
        if not equals or not name:
            raise ValueError(f'--column takes name=kind, such as "zip=names", not {option!r}.')
        kinds[name] = kind
    return kinds or None


def answers_by_part(
    model: Any, source: Any, settings: dict[str, Any], labelled: bool, answer: Callable[[Any], str]
) -> Iterator[str]:
    """The results of `answer` for a file's table, part by part."""
    with spooled(source, stdin=False) as found:
        how = how_to_read(model, found, settings)
        how = replace(how, labelled=labelled)
        with rereadable(found, how) as files:
            rows = 0
            for table in table_parts(files, how):
                rows += table.rows
                yield answer(table)
        if not rows:
            raise FileError("expected rows, found none", expand_paths(found)[0])


def labelled_rows(model: Any, source: Any, settings: dict[str, Any]) -> tuple[Any, Array]:
    """The table in a file and its labels, in the type of the model's classes; rows without a label are left out."""
    with spooled(source, stdin=False) as found:
        how = how_to_read(model, found, settings)
        with rereadable(found, how, scan=True) as files:
            table, column, *_ = table_and_labels(files, how)
    labels = labels_of(column)
    if not is_classifier(model):
        return table, labels.values
    classes = model.classes_
    if classes.dtype.kind == "U":
        codes, names = as_names(labels.column)
        known = set(classes.tolist())
        return table, np.array([_as_class(name, known) for name in names])[codes[labels.present]]
    return table, _as_type(classes.dtype, labels.classes)


def _as_class(name: str, known: set[str]) -> str:
    """The class that this label is written for: itself, or the same number as a class of fractions is written."""
    try:
        return name if name in known or str(float(name)) not in known else str(float(name))
    except ValueError:
        return name


def _as_type(kind: Any, labels: Array) -> Array:
    """Numbers in the type of the classes if it holds them: NumPy rounds large integers where it joins types."""
    if kind.kind not in "iu" or labels.dtype.kind not in "iuf":
        return labels
    with np.errstate(invalid="ignore"):
        found = labels.astype(kind)
    return found if found.tolist() == labels.tolist() else labels
