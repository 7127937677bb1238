"""Columns of numbers and of booleans: standardised, or as piecewise-linear splines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray[Any, Any]
DENSE_SHARE = 0.5  # a column with a smaller share of values other than 0 keeps its zeros
KNOTS = 8


@dataclass(frozen=True)
class NumberEncoding:
    """(x − shift)/scale, with the mean for a missing value, and a feature that says that it is missing.

    A column of mostly zeros is scaled without a shift, so that it stays sparse.
    """

    mean: float
    shift: float
    scale: float
    indicator: bool

    @classmethod
    def fit(cls, values: Array) -> NumberEncoding:
        """Learn the mean and the scale of these values, NaN where they are missing."""
        known = values[~np.isnan(values)]
        if not known.size:
            return cls(0.0, 0.0, 1.0, True)
        largest = float(np.abs(known).max()) or 1.0  # squares of large numbers would overflow
        part = known / largest
        mean, deviation = float(part.mean()) * largest, float(part.std()) * largest
        if not deviation > 1e-12 * largest:
            deviation = 1.0
        sparse = np.count_nonzero(known) < DENSE_SHARE * known.size
        return cls(mean, 0.0 if sparse else mean, deviation, known.size < values.size)

    @property
    def width(self) -> int:
        """The number of features."""
        return 1 + self.indicator

    def feature_names(self, column: str) -> list[str]:
        """The name of each feature."""
        return [column, f"{column} (missing)"][: self.width]

    def encode(self, values: Array) -> Any:
        """The features of these values."""
        absent = np.isnan(values)
        filled = np.where(absent, self.mean, values)
        scaled = (filled / self.scale) - (self.shift / self.scale)
        block = full_column(scaled) if self.shift else sp.csr_matrix(scaled.reshape(-1, 1))
        return sp.hstack([block, indicator(absent)], format="csr") if self.indicator else block


@dataclass(frozen=True)
class SplineEncoding:
    """A piecewise-linear function of x: one hat function per quantile, two of which differ from 0 at each x."""

    knots: Array
    mean: float
    indicator: bool

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

    def encode(self, values: Array) -> Any:
        """The features of these values."""
        absent = np.isnan(values)
        filled = np.where(absent, self.mean, values)
        hats = [np.interp(filled, self.knots, unit) for unit in np.eye(self.knots.size)]
        block = sp.csr_matrix(np.column_stack(hats))
        return sp.hstack([block, indicator(absent)], format="csr") if self.indicator else block


def full_column(values: Array) -> Any:
    """One column with every value stored."""
    places = np.zeros(values.size, np.int32)
    return sp.csr_matrix((values, places, np.arange(values.size + 1)), shape=(values.size, 1))


def indicator(where: Array) -> Any:
    """One column that is 1 where this holds."""
    rows = np.flatnonzero(where)
    starts = np.concatenate([[0], np.cumsum(where)])
    return sp.csr_matrix((np.ones(rows.size), np.zeros(rows.size, np.int32), starts), shape=(where.size, 1))
