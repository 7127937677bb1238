"""Encodes columns: values and a kind → a parsed column → a learned encoding → features.

Parsing does not depend on the rows that are learned from, so that folds parse a table once and learn many times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.formats.term_counts import TermCounts
from rosenblatt.tables.columns.dates import DateEncoding, as_dates, date_format
from rosenblatt.tables.columns.numbers import NumberEncoding, SplineEncoding, side_by_side
from rosenblatt.tables.columns.one_hot_categories import MAX_NAMES, CodedNames, NameEncoding
from rosenblatt.tables.columns.text import TextEncoding, counted
from rosenblatt.tables.columns.transformers import TransformerEncoding
from rosenblatt.tables.columns.values import ColumnValues, as_names, as_numbers, as_text

Array = np.ndarray[Any, Any]
Encoding = NumberEncoding | SplineEncoding | NameEncoding | DateEncoding | TextEncoding | TransformerEncoding
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
    transformer: Any = None  # the user's, which encodes `raw` in place of the kind's encoding
    raw: Array | None = None

    @property
    def form(self) -> Any:
        """The input of the column's encoding."""
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
    """The column in the form that this kind learns from; `format` is the format of dates, if known."""
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
    """A boolean written as text, as 0 or 1; NaN if it is not one."""
    return {"true": 1.0, "false": 0.0}.get(name.lower(), np.nan)


def learned(column: ParsedColumn, max_names: int = MAX_NAMES) -> ColumnEncoding:
    """The encoding learned from a column."""
    values = column.values
    encoding: Encoding
    if column.raw is not None:
        encoding = TransformerEncoding.fit(column.transformer, column.raw)
    elif isinstance(values, CodedNames):
        encoding = NameEncoding.fit(values, max_names)
    elif isinstance(values, TermCounts):
        encoding = TextEncoding.fit(values)
    elif column.kind == "dates":
        encoding = DateEncoding.fit(values, column.date_format)
    elif column.kind == "splines":
        encoding = SplineEncoding.fit(values)
    else:
        encoding = NumberEncoding.fit(values)
    return ColumnEncoding(column.name, column.kind, encoding)


def in_given_units(one: ColumnEncoding) -> ColumnEncoding:
    """The same with numbers as they are, neither shifted nor scaled."""
    if not isinstance(one.encoding, NumberEncoding):
        return one
    return replace(one, encoding=replace(one.encoding, shift=0.0, scale=1.0))


def encoded(encodings: tuple[ColumnEncoding, ...], columns: list[ParsedColumn], rows: int) -> Any:
    """The features of a table, as CSR of float64."""
    blocks = []
    for few, run in groupby(zip(encodings, columns, strict=True), lambda pair: _has_entries(pair[0])):
        if few:
            some = list(run)
            entries = [one.encoding.entries(column.values) for one, column in some]  # type: ignore[union-attr]
            blocks.append(side_by_side([one.encoding.width for one, _ in some], entries, rows))
        else:
            blocks += [one.encoding.encode(column.form) for one, column in run]  # type: ignore[union-attr]
    if not blocks:
        return sp.csr_matrix((rows, 0))
    matrix = blocks[0] if len(blocks) == 1 else sp.csr_matrix(sp.hstack(blocks, format="csr"))
    return matrix if matrix.has_sorted_indices else matrix.sorted_indices()


def _has_entries(one: ColumnEncoding) -> bool:
    """Whether a row has only a few entries in the features of the column."""
    return not isinstance(one.encoding, TextEncoding | TransformerEncoding)
