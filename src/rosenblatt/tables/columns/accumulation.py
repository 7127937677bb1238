"""Statistics and encodings of a column of a large table, accumulated part by part in bounded memory.

Numbers, booleans and dates give the encoding that all rows at once would give, to rounding. So do names, as long as
there are at most `most` different ones; with more, the rare ones are dropped repeatedly (lossy counting), which leaves
the counts of frequent names almost unchanged. The number of different values of such a column is estimated from those
whose hash ends with enough zeros (P. Gibbons, "Distinct sampling", VLDB 2001).
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.tables.columns.dates import FORMATS, DateEncoding, DateMoments, as_dates, date_formats
from rosenblatt.tables.columns.encoding import ColumnEncoding, Encoding, truth_of
from rosenblatt.tables.columns.numbers import Moments, NumberEncoding
from rosenblatt.tables.columns.one_hot_categories import MAX_NAMES, NameEncoding
from rosenblatt.tables.columns.statistics import MAX_STRAYS, ColumnStatistics, has_padding
from rosenblatt.tables.columns.text import count_words
from rosenblatt.tables.columns.values import INTEGER, NUMBER, ColumnValues, as_codes, as_numbers, written

Array = np.ndarray[Any, Any]
SAMPLED = 4096  # different values that are stored to estimate how many there are


class DistinctSample:
    """The different values whose hash ends with `level` zeros, and whether one of them occurred twice."""

    def __init__(self) -> None:
        self.level, self.repeated = 0, False
        self.seen: set[tuple[int, bytes]] = set()

    def add(self, names: list[str], counts: Array) -> None:
        """Add different values of a part, with how often they occur in it."""
        self.repeated = self.repeated or bool((counts > 1).any())
        for name in names:
            data = name.encode("utf-8", "surrogatepass")
            check = zlib.crc32(data)
            if check & ((1 << self.level) - 1):
                continue
            key = (check, hashlib.blake2b(data, digest_size=8).digest())
            self.repeated = self.repeated or key in self.seen
            self.seen.add(key)
            self._shrink()

    def join(self, other: DistinctSample) -> None:
        """Add the values of another sample."""
        self.level = max(self.level, other.level)
        ours, theirs = self._at_level(self.seen), self._at_level(other.seen)
        self.repeated = self.repeated or other.repeated or bool(ours & theirs)
        self.seen = ours | theirs
        self._shrink()

    def _shrink(self) -> None:
        while len(self.seen) > SAMPLED:
            self.level += 1
            self.seen = self._at_level(self.seen)

    def _at_level(self, seen: set[tuple[int, bytes]]) -> set[tuple[int, bytes]]:
        return {one for one in seen if not one[0] & ((1 << self.level) - 1)}

    @property
    def distinct(self) -> int:
        """About how many different values there are."""
        return len(self.seen) << self.level


class ColumnAccumulator:
    """The statistics of a column that its kind and its encodings need."""

    def __init__(self, name: str, most: int, as_names: bool = False) -> None:
        self.name, self.most, self.as_names = name, most, as_names
        self.rows = self.missing = self.numbers = 0
        self.whole, self.categorical, self.boolean, self.text = True, False, False, False
        self.padded = self.placeholders = False
        self.strays: list[str] = []
        self.words = np.zeros(2, np.int64)  # how many values have 0, 1, … words
        self.moments: list[Moments] = []
        self.dates: dict[str, list[DateMoments]] | None = None  # by the formats that fit all values so far
        self.names: dict[str, int] = {}
        self.sample: DistinctSample | None = None  # once there are more than `most` names

    def add(self, column: ColumnValues) -> None:
        """Add a part of the column."""
        self.rows += len(column)
        self.missing += column.missing
        self.categorical = self.categorical or column.categorical
        self.text = self.text or column.is_text
        self.placeholders = self.placeholders or column.placeholders
        if self._add_measurements(column):
            return
        codes, distinct = as_codes(column)
        counts = np.bincount(codes[codes >= 0], minlength=len(distinct))
        if column.is_text:
            self._add_text(column, distinct, counts)
        else:
            self._add_typed(column)
        self._add_names(distinct, counts)

    def _add_measurements(self, column: ColumnValues) -> bool:
        """Add a part that consists of fractional numbers, too many for names; returns whether it does."""
        if self.whole or self.sample is None or self.as_names:
            return False
        words = column.values if column.coded is None else column.coded[1]
        if column.is_text:
            try:
                words.cast(pa.float64())
            except pa.ArrowInvalid:
                return False
        elif not pa.types.is_floating(words.type):
            return False
        present = len(column) - column.missing
        self.numbers += present
        self.words[1] += present
        self.moments.append(_moments(as_numbers(column)))
        self.dates = {}
        return True

    def _add_text(self, column: ColumnValues, distinct: Any, counts: Array) -> None:
        number = pc.match_substring_regex(distinct, NUMBER).to_numpy(zero_copy_only=False).astype(np.bool_)
        numbers = int(counts[number].sum())
        self.numbers += numbers
        if self.whole and numbers:
            whole = pc.match_substring_regex(distinct, INTEGER).to_numpy(zero_copy_only=False).astype(np.bool_)
            self.whole = bool(whole[number].all())
            self.padded = self.padded or has_padding(distinct)
        if numbers:
            self.moments.append(_moments(as_numbers(column)))
        if number.all():
            self.words[1] += int(counts.sum())
        else:
            if len(self.strays) < MAX_STRAYS:
                first = distinct.filter(pa.array(~number)).slice(0, MAX_STRAYS).to_pylist()
                self.strays = list(dict.fromkeys([*self.strays, *first]))[:MAX_STRAYS]
            found = np.bincount(count_words(distinct), counts, minlength=self.words.size).astype(np.int64)
            found[: self.words.size] += self.words
            self.words = found
        if len(distinct):
            fitting = () if numbers else date_formats(distinct, FORMATS if self.dates is None else self.dates)
            before = self.dates or {}
            self.dates = {name: [*before.get(name, []), DateMoments.of(as_dates(column, name))] for name in fitting}

    def _add_typed(self, column: ColumnValues) -> None:
        kind, present = column.values.type, len(column) - column.missing
        self.words[1] += present
        self.boolean = self.boolean or pa.types.is_boolean(kind)
        if pa.types.is_timestamp(kind):
            self.dates = {"": [*(self.dates or {}).get("", []), DateMoments.of(as_dates(column, ""))]}
        elif not pa.types.is_boolean(kind):
            self.numbers += present
        self.whole = self.whole and bool(pa.types.is_integer(kind))
        self.moments.append(_moments(as_numbers(column)))

    def _add_names(self, distinct: Any, counts: Array) -> None:
        names = written(distinct)
        if self.sample is not None:
            self.sample.add(names, counts)
            if self.numbers and not self.as_names and not self.strays:
                return
        self._count(dict(zip(names, counts.tolist(), strict=True)))

    def _count(self, counts: dict[str, int]) -> None:
        """Add to the counts of names; if there are too many, drop the rare ones."""
        for name, count in counts.items():
            self.names[name] = self.names.get(name, 0) + count
        if len(self.names) <= self.most:
            return
        self.sample = self.distinct_sample()
        kept = sorted(self.names.items(), key=lambda one: (-one[1], one[0]))[: self.most // 2]
        self.names = dict(kept)

    def distinct_sample(self) -> DistinctSample:
        """A sample of the different values so far."""
        if self.sample is not None:
            return self.sample
        found = DistinctSample()
        found.add(list(self.names), np.array(list(self.names.values())))
        return found

    def join(self, other: ColumnAccumulator) -> None:
        """Add the counts of other rows of the same column."""
        self.rows, self.missing, self.numbers = (
            self.rows + other.rows,
            self.missing + other.missing,
            self.numbers + other.numbers,
        )
        self.whole = self.whole and other.whole
        self.categorical, self.boolean = self.categorical or other.categorical, self.boolean or other.boolean
        self.text, self.padded = self.text or other.text, self.padded or other.padded
        self.placeholders = self.placeholders or other.placeholders
        self.strays = list(dict.fromkeys([*self.strays, *other.strays]))[:MAX_STRAYS]
        words = np.zeros(max(self.words.size, other.words.size), np.int64)
        words[: self.words.size] += self.words
        words[: other.words.size] += other.words
        self.words = words
        self.moments = [*self.moments, *other.moments]
        if self.dates is None or other.dates is None:
            self.dates = other.dates if self.dates is None else self.dates
        else:
            both = [name for name in self.dates if name in other.dates]
            self.dates = {name: [*self.dates[name], *other.dates[name]] for name in both}
        if self.sample is not None or other.sample is not None:
            self.sample = self.distinct_sample()
            self.sample.join(other.distinct_sample())
        self._count(other.names)

    # -- results -------------------------------------------------------------------------------------------------------

    def statistics(self) -> ColumnStatistics:
        """The statistics from which the kind of the column is decided."""
        present, distinct = self.rows - self.missing, len(self.names)
        if self.sample is not None:
            distinct = min(self.sample.distinct, present - 1) if self.sample.repeated else present
        lower = {name.lower() for name in self.names} if distinct <= 4 else set()
        dates = [] if self.dates is None or self.numbers else list(self.dates)
        ends = np.cumsum(self.words)
        middle = [int(np.searchsorted(ends, k, side="right")) for k in ((ends[-1] - 1) // 2, ends[-1] // 2)]
        return ColumnStatistics(
            rows=self.rows,
            missing=self.missing,
            distinct=distinct,
            numbers=self.numbers,
            whole=self.whole,
            boolean=self.boolean or (bool(lower) and lower <= {"true", "false"}),
            date_format=dates[0] if dates else None,
            median_words=sum(middle) / 2 if ends[-1] else 1.0,
            strays=tuple(self.strays),
            text=self.text and not self.placeholders,
            padded=self.padded and self.whole,
        )

    def encoding(self, kind: str, date_format: str, max_names: int = MAX_NAMES) -> ColumnEncoding:
        """The encoding of a column of numbers, booleans, names or dates."""
        found: Encoding
        if kind == "names":
            found = NameEncoding.of(self.names, self.missing > 0, max_names)
        elif kind == "dates":
            found = DateEncoding.of((self.dates or {}).get(date_format, []), date_format, self.rows)
        elif kind == "booleans" and self.text:
            known = [(truth_of(name), count) for name, count in self.names.items()]
            found = NumberEncoding.of(
                Moments.joined([_repeated(value, count) for value, count in known if value == value]), self.rows
            )
        else:
            found = NumberEncoding.of(Moments.joined(self.moments), self.rows)
        return ColumnEncoding(self.name, kind, found)


def _moments(values: Array) -> Moments:
    return Moments.of(values[~np.isnan(values)])


def _repeated(value: float, count: int) -> Moments:
    return Moments(count, value, 0.0, abs(value) or 1.0, count if value else 0)
