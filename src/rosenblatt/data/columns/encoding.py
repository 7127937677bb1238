"""A kind and the values of a column → what is learned from them → features.

Parsing does not depend on the rows that are learned from, so that folds parse a table once and learn many times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.data.columns.dates import DateEncoding, as_dates, date_format
from rosenblatt.data.columns.names import MAX_NAMES, CodedNames, NameEncoding
from rosenblatt.data.columns.numbers import NumberEncoding, SplineEncoding
from rosenblatt.data.columns.text import CountedWords, TextEncoding, counted
from rosenblatt.data.columns.values import ColumnValues, as_names, as_numbers, as_text

Array = np.ndarray[Any, Any]
Encoding = NumberEncoding | SplineEncoding | NameEncoding | DateEncoding | TextEncoding
ENCODINGS: dict[str, type] = {
    "numbers": NumberEncoding,
    "splines": SplineEncoding,
    "booleans": NumberEncoding,
    "names": NameEncoding,
    "dates": DateEncoding,
    "text": TextEncoding,
}


@dataclass(frozen=True)
class ParsedColumn:
    """A column in the form that its kind learns from."""

    name: str
    kind: str
    values: Any  # numbers, codes of names, dates or counts of words
    date_format: str = ""

    def take(self, rows: Array) -> ParsedColumn:
        """Some of the rows."""
        plain = isinstance(self.values, np.ndarray)
        return ParsedColumn(
            self.name, self.kind, self.values[rows] if plain else self.values.take(rows), self.date_format
        )


@dataclass(frozen=True)
class ColumnEncoding:
    """A column's name, its kind, and how it becomes features."""

    name: str
    kind: str
    encoding: Encoding

    @property
    def date_format(self) -> str:
        """How dates are written."""
        return self.encoding.format if isinstance(self.encoding, DateEncoding) else ""

    def feature_names(self) -> list[str]:
        """The name of each feature."""
        return self.encoding.feature_names(self.name)


def parsed(column: ColumnValues, kind: str, format: str | None = None) -> ParsedColumn:
    """The column in the form that this kind learns from; `format` is how dates are written, if that is known."""
    if kind == "names":
        return ParsedColumn(column.name, kind, CodedNames(*as_names(column)))
    if kind == "text":
        return ParsedColumn(column.name, kind, counted(as_text(column)))
    if kind == "dates":
        if format is None:
            format = (date_format(column.values.drop_null().unique()) or "") if column.is_text else ""
        return ParsedColumn(column.name, kind, as_dates(column, format), format)
    if kind == "booleans" and column.is_text:
        codes, names = as_names(column)
        numbers = np.array([*map(truth_of, names), np.nan])
        return ParsedColumn(column.name, kind, numbers[codes])
    return ParsedColumn(column.name, kind, as_numbers(column))


def truth_of(name: str) -> float:
    """A boolean that is written as text as 0 or 1; NaN if it is none."""
    return {"true": 1.0, "false": 0.0}.get(name.lower(), np.nan)


def learned(column: ParsedColumn, max_names: int = MAX_NAMES) -> ColumnEncoding:
    """What is learned from a column."""
    values = column.values
    encoding: Encoding
    if isinstance(values, CodedNames):
        encoding = NameEncoding.fit(values, max_names)
    elif isinstance(values, CountedWords):
        encoding = TextEncoding.fit(values)
    elif column.kind == "dates":
        encoding = DateEncoding.fit(values, column.date_format)
    elif column.kind == "splines":
        encoding = SplineEncoding.fit(values)
    else:
        encoding = NumberEncoding.fit(values)
    return ColumnEncoding(column.name, column.kind, encoding)


def encoded(encodings: tuple[ColumnEncoding, ...], columns: list[ParsedColumn], rows: int) -> Any:
    """The features of a table, as CSR of float64."""
    blocks = [one.encoding.encode(column.values) for one, column in zip(encodings, columns, strict=True)]
    if not blocks:
        return sp.csr_matrix((rows, 0))
    if all(_one_per_row(block) for block in blocks):
        return _side_by_side(blocks, rows)
    matrix = sp.csr_matrix(sp.hstack(blocks, format="csr"))
    matrix.sort_indices()
    return matrix


def _one_per_row(block: Any) -> bool:
    return bool(block.nnz == block.shape[0] and (np.diff(block.indptr) == 1).all())


def _side_by_side(blocks: list[Any], rows: int) -> Any:
    """What `hstack` gives for blocks with one value per row, by copying columns, which is several times faster."""
    widths = np.array([block.shape[1] for block in blocks])
    values, places = np.empty((rows, len(blocks))), np.empty((rows, len(blocks)), np.int32)
    for k, (block, before) in enumerate(zip(blocks, np.cumsum(widths) - widths, strict=True)):
        values[:, k], places[:, k] = block.data, block.indices + np.int32(before)
    starts = np.arange(0, values.size + 1, len(blocks))
    return sp.csr_matrix((values.ravel(), places.ravel(), starts), shape=(rows, int(widths.sum())))
