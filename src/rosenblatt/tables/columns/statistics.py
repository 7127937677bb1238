"""Statistics of a column, from which its kind is decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.tables.columns.dates import date_format
from rosenblatt.tables.columns.text import count_words
from rosenblatt.tables.columns.values import INTEGER, NUMBER, PADDED, ColumnValues, as_codes

Array = np.ndarray[Any, Any]
MAX_STRAYS = 3  # examples of values that are not numbers


@dataclass(frozen=True)
class ColumnStatistics:
    """Counts over all rows of a column."""

    rows: int
    missing: int
    distinct: int
    numbers: int  # values that are numbers or are written as numbers
    whole: bool  # whether all of these are integers
    boolean: bool
    date_format: str | None  # the format of dates: "" for dates of a frame, None if the column has none
    median_words: float
    strays: tuple[str, ...]  # the first values that are not numbers
    text: bool = False  # whether the values are text, and none of it, such as "?", stands for a missing value
    padded: bool = False  # whether a whole number is written with leading zeros

    @property
    def present(self) -> int:
        """Values that are not missing."""
        return self.rows - self.missing


def statistics(column: ColumnValues) -> ColumnStatistics:
    """The statistics of a column, over all rows.

    Parameters
    ----------
    column : ColumnValues
    """
    if column.is_text:
        return _text_statistics(column)
    values = column.values
    present = len(values) - values.null_count
    boolean, dated = pa.types.is_boolean(values.type), pa.types.is_timestamp(values.type)
    return ColumnStatistics(
        rows=len(values),
        missing=values.null_count,
        distinct=pc.count_distinct(values).as_py(),
        numbers=0 if boolean or dated else present,
        whole=bool(pa.types.is_integer(values.type)),
        boolean=boolean,
        date_format="" if dated else None,
        median_words=1.0,
        strays=(),
    )


def _text_statistics(column: ColumnValues) -> ColumnStatistics:
    """Everything except the median number of words is computed from the distinct values."""
    codes, distinct = as_codes(column)
    counts = np.bincount(codes + 1, minlength=len(distinct) + 1)[1:]
    number = np.asarray(pc.match_substring_regex(distinct, NUMBER).to_numpy(zero_copy_only=False), np.bool_)
    integer = pc.match_substring_regex(distinct, INTEGER).to_numpy(zero_copy_only=False).astype(np.bool_)
    lower = set(pc.utf8_lower(distinct).to_pylist()) if 0 < len(distinct) <= 4 else set()
    strays = distinct.filter(pa.array(~number)).slice(0, MAX_STRAYS).to_pylist()
    words = np.sort(np.repeat(count_words(distinct), counts)) if not number.all() else np.ones(1)
    return ColumnStatistics(
        rows=len(column),
        missing=column.missing,
        distinct=len(distinct),
        numbers=int(counts[number].sum()),
        whole=bool(integer[number].all()),
        boolean=bool(lower) and lower <= {"true", "false"},
        date_format=None if number.any() else date_format(distinct),
        median_words=float(np.median(words)) if words.size else 0.0,
        strays=tuple(strays),
        text=not column.placeholders,
        padded=bool(integer[number].all()) and has_padding(distinct),
    )


def has_padding(distinct: Any) -> bool:
    """Whether one of these texts is a whole number with leading zeros."""
    return bool(pc.any(pc.match_substring_regex(distinct, PADDED), min_count=0).as_py())
