"""Columns that give the label away: copies of it, and columns that alone predict it."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.tables.columns.encoding import ParsedColumn
from rosenblatt.tables.columns.one_hot_categories import CodedNames

Array = np.ndarray[Any, Any]
BINS = 64
ENOUGH_ROWS = 10  # in fewer rows, a useful column may agree with the label by chance


def is_copy(column: ParsedColumn, target: Array, classes: int | None) -> bool:
    """Whether values of the column and labels correspond one to one.

    Parameters
    ----------
    column : ParsedColumn
    target : ndarray of shape (n,)
        The class code of each row, or numbers if `classes` is None: then only equal values are a copy.
    classes : int or None
    """
    if target.size < ENOUGH_ROWS or column.kind in ("dates", "text"):
        return False
    if classes is None:
        return isinstance(column.values, np.ndarray) and bool(np.array_equal(column.values, target))
    if classes < 2 or classes * 2 > target.size:
        return False
    codes, distinct = _codes(column, classes)
    return distinct == classes and np.count_nonzero(np.bincount(codes * classes + target)) == classes


def _codes(column: ParsedColumn, most: int) -> tuple[Array, int]:
    """The column as small integers, and how many there are; (empty, 0) if there are more than `most`."""
    if isinstance(column.values, CodedNames):
        counts = np.bincount(column.values.codes + 1)
        found = np.flatnonzero(counts)
        codes = (np.cumsum(counts > 0) - 1)[column.values.codes + 1] if found.size <= most else found
    else:
        if np.unique(column.values[: 4 * most + 16]).size > most:
            return np.zeros(0, np.int64), 0
        found, codes = np.unique(column.values, return_inverse=True)
    return (codes, found.size) if found.size <= most else (np.zeros(0, np.int64), 0)


def accuracy_alone(column: ParsedColumn, target: Array, classes: int, folds: Array) -> float:
    """How often the most frequent class of a row's value, in the other folds, is the row's class.

    Numbers are cut into bins of equal counts. `folds` has the fold of each row.
    """
    if column.kind == "text" or not target.size:
        return 0.0
    codes = _binned(column)
    values, count = int(codes.max()) + 1, int(folds.max()) + 1
    cells = np.bincount((folds * values + codes) * classes + target, minlength=count * values * classes)
    table = cells.reshape(count, values, classes)
    others = table.sum(axis=0) - table
    right = np.take_along_axis(table, others.argmax(axis=2)[..., None], axis=2)[..., 0]
    return float(right[others.sum(axis=2) > 0].sum()) / target.size


def r2_alone(column: ParsedColumn, target: Array, folds: Array) -> float:
    """R² of the mean target of a row's value in the other folds; numbers are cut into bins of equal counts."""
    if column.kind == "text" or not target.size:
        return 0.0
    codes = _binned(column)
    values, count = int(codes.max()) + 1, int(folds.max()) + 1
    cells = folds * values + codes
    sums = np.bincount(cells, target, count * values).reshape(count, values)
    sizes = np.bincount(cells, minlength=count * values).reshape(count, values)
    others, rows = sums.sum(axis=0) - sums, sizes.sum(axis=0) - sizes
    means = np.where(rows > 0, others / np.maximum(rows, 1), target.mean())
    spread = float(((target - target.mean()) ** 2).sum())
    return 1 - float(((target - means.ravel()[cells]) ** 2).sum()) / spread if spread else 0.0


def _binned(column: ParsedColumn) -> Array:
    if isinstance(column.values, CodedNames):
        return column.values.codes + 1
    values = column.values.astype(np.int64) if column.values.dtype.kind == "M" else column.values
    absent = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.size, np.bool_)
    known = values[~absent]
    edges = np.unique(np.sort(known)[known.size * np.arange(1, BINS) // BINS]) if known.size else known
    return np.where(absent, 0, np.searchsorted(edges, values) + 1)
