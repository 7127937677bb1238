"""Columns of dates and times: year, month, day of the week, hour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.formats.declared_fields import must, one_of
from rosenblatt.tables.columns.numbers import Entries, Moments, NumberEncoding
from rosenblatt.tables.columns.values import ColumnValues

Array = np.ndarray[Any, Any]
TIME = r"(?:[T ](?P<time>\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?$"
# Each format is a pattern with year, month and day; ambiguous dates are taken month first unless some day is above 12.
FORMATS = {
    "year-month-day": r"^(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})" + TIME,
    "day.month.year": r"^(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})" + TIME,
    "month/day/year": r"^(?P<month>\d{1,2})[/-](?P<day>\d{1,2})[/-](?P<year>\d{4})" + TIME,
    "day/month/year": r"^(?P<day>\d{1,2})[/-](?P<month>\d{1,2})[/-](?P<year>\d{4})" + TIME,
}
PARTS = (("month", 1, 12), ("day of week", 0, 7), ("hour", 0, 24))


def date_format(values: Any) -> str | None:
    """The first format in which all of these texts are dates; None if there is none."""
    return next(date_formats(values, FORMATS), None)


def date_formats(values: Any, formats: Iterable[str]) -> Iterator[str]:
    """Those of these formats in which all of these texts are dates."""
    for name in formats:
        written = len(values) and pc.all(pc.match_substring_regex(values, FORMATS[name])).as_py()
        if written and parse_dates(values, name).null_count == 0:
            yield name


def parse_dates(values: Any, format: str) -> Any:
    """Texts as timestamps; null where they are not dates in this format."""
    parts = pc.extract_regex(values, FORMATS[format])
    year, month, day, time = (pc.struct_field(parts, name) for name in ("year", "month", "day", "time"))
    date = pc.binary_join_element_wise(year, _two_digits(month), _two_digits(day), _literal("-"))
    clock = pc.if_else(pc.equal(time, ""), _literal("00:00"), _two_digits(time))
    written = pc.binary_join_element_wise(date, clock, _literal(" "))
    coded = written.dictionary_encode()
    return pa.array([_timestamp(one) for one in coded.dictionary.to_pylist()], pa.timestamp("us")).take(coded.indices)


def _two_digits(texts: Any) -> Any:
    return pc.replace_substring_regex(texts, r"^(\d)(:|$)", r"0\1\2")


def _literal(text: str) -> Any:
    return pa.scalar(text, pa.large_string())


def _timestamp(text: str | None) -> np.datetime64 | None:
    try:
        return None if text is None else np.datetime64(text, "us")
    except ValueError:
        return None


def as_dates(column: ColumnValues, format: str) -> Array:
    """The values as datetime64, NaT where they are missing or not dates."""
    if column.coded is not None:
        codes, words = column.coded
        return np.append(as_dates(ColumnValues(column.name, words), format), np.datetime64("NaT", "us"))[codes]
    values = column.values
    if column.is_text:
        values = parse_dates(values, format or next(iter(FORMATS)))
    elif not pa.types.is_timestamp(values.type):
        values = pa.nulls(len(values), pa.timestamp("us"))
    found: Array = values.to_numpy(zero_copy_only=False)
    return found


@dataclass(frozen=True)
class DateMoments:
    """The moments of the year, and the range of each of `PARTS`."""

    year: Moments
    lowest: tuple[int, ...]
    highest: tuple[int, ...]

    @classmethod
    def of(cls, dates: Array) -> DateMoments:
        """The moments of these dates, NaT where they are missing."""
        known = dates[~np.isnat(dates)]
        parts = [_part(known, name) for name, _, _ in PARTS] if known.size else []
        year = Moments.of(_part(known, "year").astype(np.float64))
        return cls(year, tuple(int(part.min()) for part in parts), tuple(int(part.max()) for part in parts))


@dataclass(frozen=True)
class DateEncoding:
    """The year as a number; month, day of the week and hour one-hot, if they vary in the training rows."""

    format: Annotated[str, one_of("", *FORMATS)]
    year: NumberEncoding
    parts: tuple[str, ...]
    indicator: bool

    def check(self) -> None:
        """Parts that dates have."""
        must(set(self.parts) <= {name for name, _, _ in PARTS}, "parts of dates")

    @classmethod
    def fit(cls, dates: Array, format: str) -> DateEncoding:
        """Learn from these dates, NaT where they are missing."""
        return cls.of([DateMoments.of(dates)], format, dates.size)

    @classmethod
    def of(cls, found: list[DateMoments], format: str, rows: int) -> DateEncoding:
        """The encoding of a column with this many rows whose parts have these moments."""
        found = [one for one in found if one.year.count]
        differ = [
            name
            for k, (name, _, _) in enumerate(PARTS)
            if found and min(one.lowest[k] for one in found) < max(one.highest[k] for one in found)
        ]
        years = Moments.joined([one.year for one in found])
        year = NumberEncoding.of(years, rows)
        return cls(format, NumberEncoding(year.mean, year.mean, year.scale, False), tuple(differ), years.count < rows)

    @property
    def width(self) -> int:
        """The number of features."""
        return 1 + sum(size for name, _, size in PARTS if name in self.parts) + self.indicator

    def feature_names(self, column: str) -> list[str]:
        """The name of each feature."""
        names = [f"{column} year"]
        names += [f"{column} {part}={first + k}" for part, first, size in self._kept() for k in range(size)]
        return [*names, f"{column} (missing)"] if self.indicator else names

    def _kept(self) -> list[tuple[str, int, int]]:
        return [part for part in PARTS if part[0] in self.parts]

    def entries(self, dates: Array) -> list[Entries]:
        """The stored entries of the features of these dates."""
        absent = np.isnat(dates)
        filled = np.where(absent, np.datetime64(0, "us"), dates)
        ((_, years, _),) = self.year.entries(np.where(absent, np.nan, _part(filled, "year")))
        found: list[Entries] = [(0, years, np.not_equal(years, 0))]
        place = 1
        for name, first, size in self._kept():
            found.append((place + _part(filled, name) - first, 1.0, ~absent))
            place += size
        return [*found, (place, 1.0, absent)] if self.indicator else found


def _part(dates: Array, name: str) -> Array:
    if name == "year":
        return dates.astype("datetime64[Y]").astype(np.int64) + 1970
    if name == "month":
        return dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
    if name == "day of week":  # Monday is 0; 1970 began on a Thursday
        return (dates.astype("datetime64[D]").astype(np.int64) + 3) % 7
    return dates.astype("datetime64[h]").astype(np.int64) % 24
