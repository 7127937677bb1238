"""A kind and the values of a column → what is learned from them → features.

Parsing does not depend on the rows that are learned from, so that folds parse a table once and learn many times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.data.columns.dates import DateEncoding, as_dates, date_format
from rosenblatt.data.columns.names import MAX_NAMES, CodedNames, NameEncoding
from rosenblatt.data.columns.numbers import NumberEncoding, SplineEncoding
from rosenblatt.data.columns.text import CountedWords, TextEncoding, counted
from rosenblatt.data.columns.transformers import TransformerEncoding, transformer_input
from rosenblatt.data.columns.values import ColumnValues, as_names, as_numbers, as_text

Array = np.ndarray[Any, Any]
Encoding = NumberEncoding | SplineEncoding | NameEncoding | DateEncoding | TextEncoding | TransformerEncoding
ROWS_AT_ONCE = 1 << 13
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
    transformer: Any = None  # of the user, which encodes `raw` in place of the kind
    raw: Array | None = None

    @property
    def form(self) -> Any:
        """What the encoding of the column takes."""
        return self.values if self.raw is None else self.raw

    def take(self, rows: Array) -> ParsedColumn:
        """Some of the rows."""
        values = self.values[rows] if isinstance(self.values, np.ndarray) else self.values.take(rows)
        return replace(self, values=values, raw=None if self.raw is None else self.raw[rows])


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


def transformed(column: ColumnValues, found: ParsedColumn, transformer: Any) -> ParsedColumn:
    """The column, to be encoded by a transformer of the user."""
    return replace(found, transformer=transformer, raw=transformer_input(column, found.kind))


def truth_of(name: str) -> float:
    """A boolean that is written as text as 0 or 1; NaN if it is none."""
    return {"true": 1.0, "false": 0.0}.get(name.lower(), np.nan)


def learned(column: ParsedColumn, max_names: int = MAX_NAMES) -> ColumnEncoding:
    """What is learned from a column."""
    values = column.values
    encoding: Encoding
    if column.raw is not None:
        encoding = TransformerEncoding.fit(column.transformer, column.raw)
    elif isinstance(values, CodedNames):
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
    if not encodings:
        return sp.csr_matrix((rows, 0))
    pairs = list(zip(encodings, columns, strict=True))
    single = [_one_per_row(one.encoding, column.values) for one, column in pairs]
    if all(one is not None for one in single):
        return _side_by_side([one.encoding.width for one in encodings], single, rows)
    blocks = [one.encoding.encode(column.form) for one, column in pairs]
    matrix = sp.csr_matrix(sp.hstack(blocks, format="csr"))
    matrix.sort_indices()
    return matrix


def _one_per_row(encoding: Encoding, values: Any) -> Any:
    return encoding.one_per_row(values) if isinstance(encoding, NumberEncoding | NameEncoding) else None


def _side_by_side(widths: list[int], columns: list[Any], rows: int) -> Any:
    """What `hstack` gives for blocks with one value per row, by copying columns, which is several times faster."""
    values, places = np.empty((rows, len(columns))), np.empty((rows, len(columns)), np.int32)
    first = [sum(widths[:k]) for k in range(len(widths))]
    for begin in range(0, rows, ROWS_AT_ONCE):  # few enough rows for the processor's cache
        end = min(begin + ROWS_AT_ONCE, rows)
        for k, (place, value) in enumerate(columns):
            values[begin:end, k] = value[begin:end] if isinstance(value, np.ndarray) else value
            here = place[begin:end] if isinstance(place, np.ndarray) else place
            np.add(here, first[k], out=places[begin:end, k], casting="unsafe")
    starts = np.arange(0, values.size + 1, len(columns), dtype=np.int32 if values.size < 1 << 31 else np.int64)
    matrix = sp.csr_matrix((rows, sum(widths)))
    matrix.data, matrix.indices, matrix.indptr = values.ravel(), places.ravel(), starts
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix
