"""Columns that are encoded by the user's own transformer."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.tables.columns.values import ColumnValues, as_numbers

Array = np.ndarray[Any, Any]


def transformer_input(column: ColumnValues, kind: str) -> Array:
    """The input of a transformer: (n, 1) numbers or objects, NaN where they are missing; or (n,) texts."""
    if kind in ("numbers", "splines", "booleans"):
        return as_numbers(column).reshape(-1, 1)
    absent = "" if kind == "text" else np.nan
    try:
        given = column.values.to_pylist()
    except (OverflowError, ValueError) as error:
        what = "its transformer gets datetimes, which hold the years 1 to 9999, and it has dates beyond them"
        raise ValueError(f"column {column.name!r}: {what}.") from error
    values = np.array([absent if one is None else one for one in given], dtype=object)
    return values if kind == "text" else values.reshape(-1, 1)


@dataclass(frozen=True)
class TransformerEncoding:
    """A fitted transformer, and the number of its features."""

    transformer: Any
    width: int

    @classmethod
    def fit(cls, transformer: Any, values: Array) -> TransformerEncoding:
        """Fit a copy of the transformer."""
        fitted = copy.deepcopy(transformer).fit(values)
        return cls(fitted, _rows(fitted.transform(values[:1])).shape[1])

    def feature_names(self, column: str) -> list[str]:
        """The name of each feature: the transformer's own after the column's, or numbers."""
        if self.width == 1:
            return [column]
        try:
            names = self.transformer.get_feature_names_out()
        except (AttributeError, TypeError, ValueError):
            names = range(self.width)
        return [f"{column}: {str(name).removeprefix('x0_')}" for name in names]

    def encode(self, values: Array) -> Any:
        """The features of these values."""
        return _rows(self.transformer.transform(values)) if values.size else sp.csr_matrix((0, self.width))


def _rows(found: Any) -> Any:
    """The output of a transformer, as CSR of float64."""
    found = found.to_numpy() if hasattr(found, "to_numpy") else found
    return sp.csr_matrix(found, dtype=np.float64)
