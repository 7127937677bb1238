"""Columns of numbers and of booleans: standardised, or as piecewise-linear splines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.formats.declared_fields import doubles, must

Array = np.ndarray[Any, Any]
DENSE_SHARE = 0.5  # a column with a smaller share of nonzero values stays sparse
KNOTS = 8
ROWS_AT_ONCE = 1 << 13
# Up to one entry per row: its feature, its value, and whether it is present (None: in every row).
Entries = tuple[int | Array, float | Array, Array | None]


@dataclass(frozen=True)
class Moments:
    """The count, the mean and the standard deviation of numbers, the largest absolute value, and how many are not 0."""

    count: int = 0
    mean: float = 0.0
    deviation: float = 0.0
    largest: float = 1.0
    nonzero: int = 0

    @classmethod
    def of(cls, values: Array) -> Moments:
        """The moments of these values, none of which is missing."""
        if not values.size:
            return cls()
        largest = max(-float(values.min()), float(values.max())) or 1.0  # squares of large numbers would overflow
        part = values / largest
        mean = float(part.mean())
        part -= mean
        deviation = float(np.sqrt(np.dot(part, part) / values.size))
        return cls(values.size, mean * largest, deviation * largest, largest, int(np.count_nonzero(values)))

    @classmethod
    def joined(cls, parts: list[Moments]) -> Moments:
        """The moments of the values of all parts together."""
        parts = [part for part in parts if part.count]
        if len(parts) < 2:
            return parts[0] if parts else cls()
        count, largest = sum(part.count for part in parts), max(part.largest for part in parts)
        shares = np.array([part.count / count for part in parts])
        means, deviations = np.array([(part.mean / largest, part.deviation / largest) for part in parts]).T
        mean = float(shares @ means)
        deviation = float(np.sqrt(shares @ (deviations**2 + (means - mean) ** 2)))
        nonzero = sum(part.nonzero for part in parts)
        return cls(count, mean * largest, deviation * largest, largest, nonzero)


@dataclass(frozen=True)
class NumberEncoding:
    """(x − shift)/scale, with the mean for a missing value, and an indicator feature for missing values.

    A column of mostly zeros is scaled without a shift, so that it stays sparse.
    """

    mean: float
    shift: float
    scale: float
    indicator: bool

    def check(self) -> None:
        """A scale by which numbers can be divided."""
        must(self.scale > 0, "a scale above 0")

    @classmethod
    def fit(cls, values: Array) -> NumberEncoding:
        """Learn the mean and the scale of these values, NaN where they are missing."""
        absent = np.isnan(values)
        return cls.of(Moments.of(values[~absent] if absent.any() else values), values.size)

    @classmethod
    def of(cls, found: Moments, rows: int) -> NumberEncoding:
        """The encoding of a column with this many rows whose known values have these moments."""
        if not found.count:
            return cls(0.0, 0.0, 1.0, True)
        scale = found.deviation if found.deviation > 1e-12 * found.largest else 1.0
        sparse = found.nonzero < DENSE_SHARE * found.count
        return cls(found.mean, 0.0 if sparse else found.mean, scale, found.count < rows)

    @property
    def width(self) -> int:
        """The number of features."""
        return 1 + self.indicator

    def feature_names(self, column: str) -> list[str]:
        """The name of each feature."""
        return [column, f"{column} (missing)"][: self.width]

    def entries(self, values: Array) -> list[Entries]:
        """The stored entries of the features of these values."""
        absent = np.isnan(values)
        scaled = (np.where(absent, self.mean, values) / self.scale) - (self.shift / self.scale)
        found: list[Entries] = [(0, scaled, None if self.shift else scaled != 0)]
        return [*found, (1, 1.0, absent)] if self.indicator else found


@dataclass(frozen=True)
class SplineEncoding:
    """A piecewise-linear function of x: one hat function per quantile, two of which differ from 0 at each x."""

    knots: Annotated[Array, doubles("knots")]
    mean: float
    indicator: bool

    def check(self) -> None:
        """Different knots, in order."""
        must(self.knots.size and np.isfinite(self.knots).all() and (np.diff(self.knots) > 0).all(), "knots in order")

    @classmethod
    def fit(cls, values: Array) -> SplineEncoding:
        """Learn the quantiles of these values, NaN where they are missing."""
        known = values[~np.isnan(values)]
        if not known.size:
            return cls(np.zeros(1), 0.0, True)
        knots = np.unique(np.quantile(known, np.linspace(0, 1, KNOTS)))
        return cls(knots, float((known / known.size).sum()), known.size < values.size)

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.knots.size) + self.indicator

    def feature_names(self, column: str) -> list[str]:
        """The name of each feature."""
        names = [f"{column} at {knot:.6g}" for knot in self.knots.tolist()]
        return [*names, f"{column} (missing)"] if self.indicator else names

    def entries(self, values: Array) -> list[Entries]:
        """The stored entries of the features: 1 − t and t, with t the position of x between two knots."""
        absent, last = np.isnan(values), self.knots.size - 1
        found: list[Entries] = [(0, 1.0, None)]
        if last:
            x = np.clip(np.where(absent, self.mean, values), self.knots[0], self.knots[-1])
            left = np.minimum(np.searchsorted(self.knots, x, side="right") - 1, last - 1)
            t = (x - self.knots[left]) / (self.knots[left + 1] - self.knots[left])
            found = [(left, 1.0 - t, t != 1), (left + 1, t, t != 0)]
        return [*found, (last + 1, 1.0, absent)] if self.indicator else found


def side_by_side(widths: list[int], columns: list[list[Entries]], rows: int) -> Any:
    """The result of `hstack` for blocks with few entries per row, by copying columns, which is several times faster."""
    entries = [(sum(widths[:k]), *one) for k, column in enumerate(columns) for one in column]
    values, places = np.empty((rows, len(entries))), np.empty((rows, len(entries)), np.int32)
    kept = None if all(one[3] is None for one in entries) else np.ones((rows, len(entries)), bool)
    for begin in range(0, rows, ROWS_AT_ONCE):  # few enough rows for the processor's cache
        end = min(begin + ROWS_AT_ONCE, rows)
        for k, (first, place, value, where) in enumerate(entries):
            values[begin:end, k] = value[begin:end] if isinstance(value, np.ndarray) else value
            here = place[begin:end] if isinstance(place, np.ndarray) else place
            np.add(here, first, out=places[begin:end, k], casting="unsafe")
            if kept is not None and where is not None:
                kept[begin:end, k] = where[begin:end]
    counts = np.full(rows, len(entries)) if kept is None else np.count_nonzero(kept, axis=1)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32 if values.size < 1 << 31 else np.int64)
    matrix = sp.csr_matrix((rows, sum(widths)))
    matrix.data, matrix.indices = (values.ravel(), places.ravel()) if kept is None else (values[kept], places[kept])
    matrix.indptr, matrix.has_sorted_indices, matrix.has_canonical_format = starts, True, True
    return matrix
