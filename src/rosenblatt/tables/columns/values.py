"""The columns of a table as Arrow arrays of a few types, with missing values as nulls.

Frames and files meet here: a column of text in which every value is written as a number is a column of numbers,
whether it comes from a file or from a frame.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Array = np.ndarray[Any, Any]
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "?", "null", "NULL", "None")
TEXT_TYPES = (pa.types.is_string, pa.types.is_large_string)
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
INTEGER = r"^[+-]?[0-9]+$"
PADDED = r"^[+-]?0[0-9]+$"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True)
class ColumnValues:
    """A column: its name, its values without blanks around text, and whether its type says that it has categories.

    Values are an Arrow array of large_string, float64, int64, uint64 (of integers that int64 cannot hold), bool or
    timestamp; or, for text, the code of each value, −1 where it is missing, and the different values that codes stand
    for.
    """

    name: str
    given: Any
    categorical: bool = False
    coded: tuple[Array, Any] | None = None
    placeholders: bool = False  # whether text such as "?" stands for missing values

    def __len__(self) -> int:
        return len(self.given) if self.coded is None else self.coded[0].size

    @cached_property
    def values(self) -> Any:
        """The values as an Arrow array."""
        if self.coded is None:
            return self.given
        codes, words = self.coded
        return words.take(pa.array(codes, mask=codes < 0))

    @cached_property
    def missing(self) -> int:
        """How many values are missing."""
        if self.coded is None:
            return int(self.given.null_count)
        return int(np.count_nonzero(self.coded[0] < 0))

    @property
    def present(self) -> Array:
        """Whether each value is present."""
        found: Array = ~np.asarray(self.given.is_null()) if self.coded is None else self.coded[0] >= 0
        return found

    @property
    def is_text(self) -> bool:
        """Whether the values are text."""
        return self.coded is not None or bool(pa.types.is_large_string(self.given.type))

    def take(self, rows: Array) -> ColumnValues:
        """Some of the rows."""
        if self.coded is None:
            return ColumnValues(self.name, self.given.take(pa.array(rows)), self.categorical)
        return replace(self, coded=(self.coded[0][rows], self.coded[1]))


def column_values(name: str, column: Any, missing: tuple[str, ...] = MISSING) -> ColumnValues:
    """A column of Arrow as one of the types that columns have here; text such as "NA" becomes null.

    Parameters
    ----------
    name : str
    column : pyarrow Array or ChunkedArray
    missing : tuple of str
        Strings that mean a missing value.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    kind = column.type
    if pa.types.is_dictionary(kind):
        words = column.dictionary
        if pa.types.is_nested(words.type) or isinstance(words.type, pa.BaseExtensionType):  # intervals of pandas
            words = pa.array([str(one) for one in words.to_pylist()], pa.large_string())
        inside = column_values(name, words, missing)
        return ColumnValues(name, inside.values.take(column.indices), categorical=True)
    if pa.types.is_null(kind):
        return ColumnValues(name, column.cast(pa.large_string()))
    if pa.types.is_boolean(kind):
        return ColumnValues(name, column)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return ColumnValues(name, _numbers(column))
    if pa.types.is_duration(kind):
        counts = column.cast(pa.int64()).cast(pa.float64(), safe=False)
        return ColumnValues(name, pc.divide(counts, PER_SECOND[kind.unit]))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return ColumnValues(name, _microseconds(column))
    if not (pa.types.is_time(kind) or any(is_text(kind) for is_text in TEXT_TYPES)):
        raise ValueError(f"expected numbers, text, booleans or dates, found values of type {kind}")
    return _text_column(name, column, missing)


def one_column(parts: list[Any]) -> Any:
    """Parts of an Arrow column as one; parts of different types are converted to a common type, or to text."""
    if len({part.type for part in parts}) == 1:
        return pa.chunked_array(parts)
    try:
        return pa.concat_tables([pa.table({"": part}) for part in parts], promote_options="permissive").column(0)
    except pa.ArrowException:  # a mix of numbers and text, or integers that a float cannot hold
        return pa.chunked_array([_as_written(part) for part in parts])


def _as_written(column: Any) -> Any:
    codes, names = as_names(column_values("", column))
    return pa.array(names, pa.large_string()).take(pa.array(codes, mask=codes < 0))


def _text_column(name: str, column: Any, missing: tuple[str, ...]) -> ColumnValues:
    """A column of text; each distinct value is processed once."""
    coded = column.dictionary_encode()
    words = _text(coded.dictionary.cast(pa.large_string()), missing).dictionary_encode()
    indices = words.indices.take(coded.indices)
    codes = (indices.fill_null(-1) if indices.null_count else indices).to_numpy(zero_copy_only=False)
    return ColumnValues(name, None, coded=(codes, words.dictionary), placeholders=bool(words.null_count))


def _numbers(column: Any) -> Any:
    """Integers as int64 or uint64 if they fit, other numbers as float64 with null for values that are not finite."""
    if pa.types.is_integer(column.type) or (pa.types.is_decimal(column.type) and column.type.scale <= 0):
        whole = as_integers(column)
        if whole is not None:
            return whole
    values = column.cast(pa.float64(), safe=False)
    finite = pc.is_finite(values)
    return values if pc.all(finite, min_count=0).as_py() else pc.if_else(finite, values, None)


def as_integers(values: Any) -> Any:
    """Whole numbers, or text that is written as some, as int64 or uint64; None if neither holds all of them."""
    for kind in (pa.int64(), pa.uint64()):
        try:
            return values.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _microseconds(column: Any) -> Any:
    """Dates and times as microseconds, without a time zone; refuses those that int64 cannot count."""
    kind = column.type
    timed = pa.types.is_timestamp(kind)
    try:  # a safe cast would refuse nanoseconds, which are rounded
        found = column.cast(pa.timestamp("us", kind.tz if timed else None), safe=not (timed and kind.unit == "ns"))
    except pa.ArrowInvalid as error:
        value = str(error).rpartition(" ")[2]
        raise ValueError(f"expected dates within 290,000 years of 1970, found {value} in {kind}") from error
    return pc.local_timestamp(found) if timed and kind.tz is not None else found


def _text(column: Any, missing: tuple[str, ...]) -> Any:
    """Text without blanks around it; null where it means a missing value."""
    trimmed = pc.utf8_trim_whitespace(column)
    absent = pc.is_in(trimmed, pa.array(missing, pa.large_string()))
    return pc.if_else(absent, None, trimmed) if pc.any(absent, min_count=0).as_py() else trimmed


# -- values as numbers and as names -----------------------------------------------------------------------------------


def as_numbers(column: ColumnValues) -> Array:
    """The values as float64; NaN where a value is missing or not a number."""
    if column.coded is not None:
        codes, words = column.coded
        return np.append(as_numbers(ColumnValues(column.name, words)), np.nan)[codes]
    values = column.values
    if column.is_text:
        values = _parsed(values)
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    floats: Array = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    floats = np.array(floats, np.float64)
    floats[~np.isfinite(floats)] = np.nan
    return floats


def _parsed(values: Any) -> Any:
    try:
        return values.cast(pa.float64())
    except pa.ArrowInvalid:
        written = pc.match_substring_regex(values, NUMBER)
        return pc.if_else(written, values, None).cast(pa.float64())


def first_stray(column: ColumnValues) -> int | None:
    """The first row of a text column whose value is neither missing nor a number; None if there is none."""
    try:
        column.values.cast(pa.float64())
        return None
    except pa.ArrowInvalid:
        stray = pc.invert(pc.match_substring_regex(column.values, NUMBER)).fill_null(False)
        row = pc.index(stray, True).as_py()
        return None if row < 0 else int(row)


def as_names(column: ColumnValues) -> tuple[Array, list[str]]:
    """The code of each value, −1 where it is missing, and the names that the codes stand for."""
    codes, words = as_codes(column)
    return codes, written(words)


def as_codes(column: ColumnValues) -> tuple[Array, Any]:
    """The code of each value, −1 where it is missing, and the different values as Arrow."""
    if column.coded is not None:
        return column.coded
    values = column.values
    if pa.types.is_boolean(values.type):
        values = pc.if_else(values, "True", "False").cast(pa.large_string())
    coded = values.dictionary_encode()
    indices = coded.indices if not coded.indices.null_count else coded.indices.fill_null(-1)
    return indices.to_numpy(zero_copy_only=False), coded.dictionary


def written(words: Any) -> list[str]:
    """Arrow values as names."""
    if pa.types.is_timestamp(words.type):  # as `str` of a datetime, which ends with the year 9999
        texts = np.datetime_as_string(words.to_numpy(zero_copy_only=False)).tolist()
        return [one.replace("T", " ").removesuffix(".000000") for one in texts]
    names = words.to_pylist()
    if pa.types.is_floating(words.type):  # 7.0 as 7: a missing value makes integers floats in pandas
        return [str(int(one)) if one.is_integer() and abs(one) < 1e16 else repr(one) for one in names]
    return [str(one) for one in names]


def as_text(column: ColumnValues) -> Any:
    """The values as Arrow text."""
    values = column.values
    return values if column.is_text else values.cast(pa.large_string())
