"""`LabelledRows`: the rows and labels that a proof is about, read without loss.

A number that a double cannot represent (such as 2⁵³ + 1) is refused rather than rounded: a proof about rounded rows
would prove nothing about the given ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.compiled.row_arrays import Dense, Sparse, read_only
from rosenblatt.formats.arrow import check_buffers, check_collected
from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.labels import as_labels, as_signed, check_labels, distinct, encode_labels
from rosenblatt.learn.row_checks import encode_rows

Array = np.ndarray[Any, Any]
DENSE_VALUES = 1 << 22  # sparse rows with at most this many values, including zeros, become an array


@dataclass(frozen=True)
class LabelledRows:
    """Rows x_i and their labels, checked.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n, d)
        float32 or float64, finite; the given array itself if it already was that.
    rows : Dense or Sparse
        The same rows in the form that compiled loops take.
    radius2 : float
        max‖x‖², rounded; infinite if it overflows.
    names : tuple of str or None
        Column names, if X has any and they are all different.
    classes : ndarray
        The distinct labels, sorted.
    codes : ndarray
        The label of each row, as an index into `classes`.
    """

    X: Any
    rows: Dense | Sparse
    radius2: float
    names: tuple[str, ...] | None
    classes: Array
    codes: Array

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and columns."""
        return int(self.X.shape[0]), int(self.X.shape[1])


def read_labelled_rows(X: Any, y: Any) -> LabelledRows:
    """Check X and y and return them; an error says what is wrong and where."""
    for given, name in ((X, "X"), (y, "y")):
        check_collected(given, name)
        check_buffers(given, name)
    names = unique_column_names(getattr(X, "columns", None))
    X = _as_csr(X) if sp.issparse(X) else _as_array(X)
    n, d = X.shape
    if n == 0 or d == 0:
        raise ValueError(f"X has {n} rows and {d} columns, but at least one of each is needed.")
    rows, radius2 = encode_rows(X)
    X, rows = dense_if_small(rows, d)
    y = _as_label_vector(y, n)
    classes = distinct(y)
    check_labels(y, classes)
    check_label_types(classes)
    return LabelledRows(X, rows, radius2, names, classes, encode_labels(y, classes))


def dense_if_small(rows: Dense | Sparse, d: int) -> tuple[Any, Dense | Sparse]:
    """Rows as an array or SciPy matrix, and in the form that compiled loops take; small sparse ones become dense."""
    if isinstance(rows, Dense):
        return rows.values, rows
    parts = (rows.values, as_signed(rows.columns), as_signed(rows.starts))
    X = sp.csr_matrix(parts, shape=(rows.starts.size - 1, d), copy=False)
    if X.shape[0] * d > DENSE_VALUES:
        return X, rows
    dense = X.toarray()
    return dense, Dense(read_only(dense))


def check_label_types(classes: Array) -> None:
    """Refuse labels that a certificate cannot store: dates, and objects that are neither numbers nor text."""
    for name in classes if classes.dtype.kind == "O" else classes[:1]:
        if classes.dtype.kind in "mM" or not isinstance(name, bool | int | float | str | bytes | np.generic):
            raise ValueError(
                f"Unknown label type: {type(name).__name__}. A certificate stores numbers and text, not {name!r}: pass "
                "labels as text, such as y.astype(str)."
            )


def unique_column_names(names: Any) -> tuple[str, ...] | None:
    """The column names; None if there are none or two are equal, so that columns go by their numbers."""
    if names is None or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return None
    return tuple(str(name) for name in names)


def _as_array(X: Any) -> Array:
    given = np.asarray(X)
    if given.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and columns, got an array of {given.ndim}.")
    return np.ascontiguousarray(_as_doubles(given, "X"))


def _as_csr(X: Any) -> Any:
    X = well_formed(X).tocsr()
    values = _as_doubles(X.data, "X")
    return X if values is X.data else sp.csr_matrix((values, X.indices, X.indptr), shape=X.shape)


def _as_doubles(values: Array, what: str) -> Array:
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
            if values.dtype.kind in "iu":  # the comparison above rounds, which can hide a change from 2⁵³ on
                changed = np.abs(found) >= 2.0**53
                changed[changed] = [int(a) != int(b) for a, b in zip(values[changed], found[changed], strict=True)]
        changed = np.asarray(changed, dtype=bool) & ~np.isnan(found)
        if changed.any():
            where = ", ".join(str(int(at)) for at in np.argwhere(changed)[0])
            raise ValueError(f"{what} has a number that a double cannot represent, at ({where}): {values[changed][0]}.")
    return found


def _as_label_vector(y: Any, n: int) -> Array:
    if y is None:
        raise ValueError("y is None: every row needs a label.")
    y = as_labels(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must have one label per row, got an array of shape {y.shape}.")
    if y.shape[0] != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {y.shape[0]}."
        )
    return np.asarray(y)


def check_flag(name: str, value: Any) -> None:
    """Refuse a value that is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
