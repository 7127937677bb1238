"""Overflow checks: infinity and NaN are detected when an epoch or a fit ends, and never returned as a result.

Compiled loops let infinity and NaN propagate. A weight that is infinite or NaN stays so, it makes the scores of the
rows that have its feature infinite or NaN, and such a score on the wrong side makes the loss of its pass infinite or
NaN. So three checks are enough: the loss of each epoch (`epochs.Training`), the weights when they become those of the
model, and the scores of every scan whose errors are reported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.compiled.row_arrays import Dense, widened
from rosenblatt.formats.declared_fields import is_count, is_number, must
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.learn.epochs import Source
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.models import copy_rows

Array = np.ndarray[Any, Any]
ROWS_AT_ONCE = 1 << 12
FEW_VALUES = 50  # up to this many, Python is faster than NumPy
ONE_THREAD = 10_000  # up to this many, BLAS starts no threads for a dot product, and is faster than a sum
PLAIN = frozenset([type(None), bool, int, float, str])


def all_finite(*arrays: Array) -> bool:
    """Whether no number is NaN or infinite."""
    return all(map(_is_finite, arrays))


def _is_finite(array: Array) -> bool:
    if array.size <= FEW_VALUES:
        return all(map(math.isfinite, array.ravel().tolist()))
    if array.size <= ONE_THREAD:  # a finite sum of squares already shows it; `vdot` does not warn, as `dot` does
        return math.isfinite(np.vdot(array, array)) or bool(np.isfinite(array).all())
    with np.errstate(over="ignore", invalid="ignore"):  # as does a finite sum
        return math.isfinite(array.sum()) or bool(np.isfinite(array).all())


def check_scores(scores: Array) -> Array:
    """The scores, unless one of them overflowed."""
    if not all_finite(scores):
        raise NotFiniteError("The score of a row overflowed")
    return scores


def check_objective(objective: float) -> float:
    """The objective, unless it overflowed."""
    if not np.isfinite(objective):
        raise NotFiniteError("The objective overflowed")
    return objective


def check_state(state: Any) -> None:
    """Refuse a state of training with a number that is not finite."""
    if not all_finite(*_arrays(state)):
        raise NotFiniteError(f"The weights overflowed in epoch {state.epoch}")


def _arrays(*parts: Any) -> list[Array]:
    """The arrays of numbers in a state, its machines and their companions."""
    found: list[Array] = []
    for part in parts:
        for value in vars(part).values():
            kind = type(value)
            if kind is np.ndarray:
                found += [value] if value.dtype.kind == "f" else []
            elif kind is list:
                found += _arrays(*[one for one in value if is_dataclass(one)])
            elif kind not in PLAIN and is_dataclass(value):
                found += _arrays(value)
    return found


def largest_entry(X: Any, taking_part: Array | None = None) -> tuple[int, int, float]:
    """Row, column and value of the largest absolute value of an array-like or sparse matrix."""
    X = X.tocsr() if sp.issparse(X) else np.asarray(X, dtype=getattr(X, "dtype", np.float64))
    rows = np.arange(X.shape[0]) if taking_part is None else np.flatnonzero(taking_part)
    found = (0, 0, 0.0)
    for begin in range(0, rows.size, ROWS_AT_ONCE):
        index = rows[begin : begin + ROWS_AT_ONCE]
        part = X[index]
        part = sp.coo_array(part if sp.issparse(part) else part.astype(widened(part.dtype), copy=False))
        if part.nnz:
            at = int(np.argmax(np.abs(part.data)))
            if abs(part.data[at]) > abs(found[2]):
                found = (int(index[part.row[at]]), int(part.col[at]), float(part.data[at]))
    return found


@dataclass(frozen=True)
class Largest:
    """Row, column and value of the largest absolute value, and the number of rows."""

    def __call__(self, examples: Examples, shard: int) -> tuple[int, int, float, int]:
        """The answer for these examples."""
        n, rows = examples.target.shape[0], examples.rows
        X = rows.values if isinstance(rows, Dense) else copy_rows(rows, np.arange(n), examples.n_features)
        weights = examples.weights
        if examples.present is not None:
            weights = np.zeros(n)
            weights[examples.present] = 1.0
        return (*largest_entry(X, weights), n)

    def check(self, answer: Any, rows: int, features: int) -> None:
        """A place within the rows."""
        must(isinstance(answer, tuple) and len(answer) == 4 and answer[3] == rows, "a row, a column and a value")
        must(all(is_count(one) for one in answer[:2]) and is_number(answer[2]), "a row, a column and a value")
        must(answer[0] < max(rows, 1) and answer[1] < features, f"a place in {rows:,} rows of {features:,} columns")


def largest_in(source: Source) -> tuple[int, int, float]:
    """The same for all rows of a source, numbered consecutively."""
    first, found = 0, (0, 0, 0.0)
    for row, column, value, n in source.ask(Largest()):
        if abs(value) > abs(found[2]):
            found = (first + row, column, value)
        first += n
    return found
