"""`Table`: what a proof is about, rows and labels read without loss.

A number that no double holds (a whole number beyond 2⁵³, say) is refused rather than rounded: a proof about rounded
rows would prove nothing about those given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.data.arrow_checks import check_buffers
from rosenblatt.data.examples import (
    Dense,
    Sparse,
    as_labels,
    check_labels,
    distinct,
    encode_labels,
    encode_rows,
    signed,
)
from rosenblatt.data.sparse_checks import well_formed

Array = np.ndarray[Any, Any]
DENSE_VALUES = 1 << 22  # sparse rows of fewer values, zeros counted, are read as an array


@dataclass(frozen=True)
class Table:
    """Rows x_i and labels, checked.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n, d)
        float32 or float64, finite; the array given where it was one.
    rows : Dense or Sparse
        The same, as the compiled loops take it.
    radius2 : float
        max‖x‖², rounded; may be infinite.
    names : tuple of str or None
        Column names, where X had some, each its own.
    classes : ndarray
        The labels, sorted.
    codes : ndarray
        The label of each row, as its place in `classes`.
    """

    X: Any
    rows: Dense | Sparse
    radius2: float
    names: tuple[str, ...] | None
    classes: Array
    codes: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.X.shape[0]), int(self.X.shape[1])


def read_table(X: Any, y: Any) -> Table:
    """X and y, checked; an error says what is wrong and where."""
    check_buffers(X, "X")
    check_buffers(y, "y")
    names = told_apart(getattr(X, "columns", None))
    X = _csr(X) if sp.issparse(X) else _array(X)
    n, d = X.shape
    if n == 0 or d == 0:
        raise ValueError(f"X has {n} rows and {d} columns: at least one of each is needed.")
    rows, radius2 = encode_rows(X)
    X, rows = read_rows(rows, d)
    y = _labels(y, n)
    classes = distinct(y)
    check_labels(y, classes)
    check_nameable(classes)
    return Table(X, rows, radius2, names, classes, encode_labels(y, classes))


def read_rows(rows: Dense | Sparse, d: int) -> tuple[Any, Dense | Sparse]:
    """Rows as an array or SciPy's matrix, and as the loops take them; few sparse ones become an array."""
    if isinstance(rows, Dense):
        return rows.values, rows
    parts = (rows.values, signed(rows.columns), signed(rows.starts))
    X = sp.csr_matrix(parts, shape=(rows.starts.size - 1, d), copy=False)
    if X.shape[0] * d > DENSE_VALUES:
        return X, rows
    dense = X.toarray()
    return dense, Dense(dense)


def check_nameable(classes: Array) -> None:
    """Refuse labels that a certificate cannot hold: dates, and objects that are neither numbers nor names."""
    for name in classes if classes.dtype.kind == "O" else classes[:1]:
        if classes.dtype.kind in "mM" or not isinstance(name, bool | int | float | str | bytes | np.generic):
            raise ValueError(
                f"Unknown label type: {type(name).__name__}. A certificate holds numbers and names, not {name!r}: pass "
                "labels as text, such as y.astype(str)."
            )


def told_apart(names: Any) -> tuple[str, ...] | None:
    """Names of columns; None where they are none, or two columns share one: then their numbers tell them apart."""
    if names is None or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return None
    return tuple(str(name) for name in names)


def _array(X: Any) -> Array:
    given = np.asarray(X)
    if given.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, got an array of {given.ndim} dimensions.")
    return np.ascontiguousarray(_doubles(given, "X"))


def _csr(X: Any) -> Any:
    X = well_formed(X).tocsr()
    values = _doubles(X.data, "X")
    return X if values is X.data else sp.csr_matrix((values, X.indices, X.indptr), shape=X.shape)


def _doubles(values: Array, what: str) -> Array:
    """The same numbers as float32 or float64."""
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} has dtype {values.dtype}.")
    try:
        found = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be numbers: {error}.") from error
    if values.dtype.kind in "iuO" or values.dtype.itemsize > 8:
        with np.errstate(over="ignore", invalid="ignore"):
            changed = found != values
            if values.dtype.kind in "iu":  # the comparison above rounds; a double of 2⁵³ or more may hide a change
                changed = np.abs(found) >= 2.0**53
                changed[changed] = [int(a) != int(b) for a, b in zip(values[changed], found[changed], strict=True)]
        changed = np.asarray(changed, dtype=bool) & ~np.isnan(found)
        if changed.any():
            where = ", ".join(str(int(at)) for at in np.argwhere(changed)[0])
            raise ValueError(f"{what} has a number that no double holds, at ({where}): {values[changed][0]}.")
    return found


def _labels(y: Any, n: int) -> Array:
    if y is None:
        raise ValueError("y is None: every row needs a label.")
    y = as_labels(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must have one label a row, got an array of shape {y.shape}.")
    if y.shape[0] != n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: X has {n} rows, y {y.shape[0]}.")
    return np.asarray(y)
