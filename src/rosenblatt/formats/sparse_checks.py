"""Validation of sparse input: SciPy trusts the arrays of a sparse matrix and reads out of bounds if they are wrong.

All sparse input passes `well_formed` before SciPy converts, slices or multiplies it. CSR that goes straight to
`row_checks.encode_rows` needs only `check_arrays`, because every index is checked there anyway.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray[Any, Any]


def well_formed(X: Any, name: str = "X") -> Any:
    """Return X; raise ValueError if it is a sparse matrix whose arrays are inconsistent."""
    if not sp.issparse(X):
        return X
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, rows and columns, got a sparse array of {X.ndim}.")
    if X.format in ("csr", "csc", "bsr"):
        check_arrays(X, name)
        _check_entries(X, name)
    elif X.format == "coo":
        _check_coordinates(X, name)
    elif X.format == "lil":
        _check_lists(X, name)
    elif X.format == "dia":
        whole = _is_index(X.offsets) and X.data.ndim == 2 and X.data.shape[0] == X.offsets.size
        _require(whole, X, name, "data must have one row per offset")
    elif X.format == "dok":
        _check_coordinates(X.tocoo(), name)
    return X


def check_arrays(X: Any, name: str = "X") -> None:
    """Check that the arrays of CSR, CSC or BSR have the right types and lengths."""
    starts, index, data = X.indptr, X.indices, X.data
    for array, what in ((starts, "indptr"), (index, "indices")):
        _require(_is_index(array), X, name, f"{what} must be a one-dimensional array of integers in native byte order")
    many = _major_and_minor(X)[0]
    right = starts.size == many + 1 and starts[0] == 0 and index.size == data.shape[0]
    line = "columns" if X.format == "csc" else "rows"
    _require(
        right,
        X,
        name,
        f"indptr must start at 0 and have one more entry than there are {line}, indices one entry per value",
    )
    _require(data.ndim == (3 if X.format == "bsr" else 1), X, name, f"data has {data.ndim} dimensions")
    if X.format == "bsr":
        whole = all(size and most % size == 0 for most, size in zip(X.shape, data.shape[1:], strict=True))
        _require(whole, X, name, f"blocks of {data.shape[1]} × {data.shape[2]} do not tile {X.shape[0]} × {X.shape[1]}")


def _major_and_minor(X: Any) -> tuple[int, int]:
    """The number of lines (rows, or columns of CSC) that `indptr` delimits, and the length of each."""
    rows, columns = X.shape
    if X.format == "bsr":
        high, wide = X.data.shape[1:] if X.data.ndim == 3 else (1, 1)
        return rows // max(high, 1), columns // max(wide, 1)
    return (columns, rows) if X.format == "csc" else (rows, columns)


def _check_entries(X: Any, name: str) -> None:
    starts, index, size = X.indptr, X.indices, X.indices.size
    wrong = (starts[1:] < starts[:-1]) | (starts[1:] < 0) | (starts[1:] > size)
    if wrong.any():
        raise ValueError(out_of_range_message(X, int(np.argmax(wrong)), name))
    index = index[: starts[-1]]
    most = _major_and_minor(X)[1]
    if index.size and (index.min() < 0 or index.max() >= most):
        place = int(np.argmax((index < 0) | (index >= most)))
        raise ValueError(out_of_range_message(X, int(np.searchsorted(starts, place, side="right")) - 1, name))


def out_of_range_message(X: Any, line: int, name: str = "X") -> str:
    """The message for a row of CSR or BSR, or a column of CSC, whose indices are out of range."""
    start, end = int(X.indptr[line]), int(X.indptr[line + 1])
    kind, across = ("column", "rows") if X.format == "csc" else ("row", "columns")
    kind, across = (f"block {kind}", f"block {across}") if X.format == "bsr" else (kind, across)
    if not 0 <= start <= end <= X.indices.size:
        return (
            f"Input {name} is not a valid {X.format.upper()} matrix: indptr of {kind} {line} runs from {start} to "
            f"{end} of {X.indices.size} values."
        )
    index, most = X.indices[start:end], _major_and_minor(X)[1]
    wrong = index[(index < 0) | (index >= most)][0]
    return f"Input {name} has index {wrong} out of range in {kind} {line}: it has {most} {across}."


def _check_coordinates(X: Any, name: str) -> None:
    for index, most, what in zip(X.coords, X.shape, ("row", "column"), strict=True):
        _require(_is_index(index) and index.size == X.data.size, X, name, f"there must be one {what} index per value")
        if index.size and (index.min() < 0 or index.max() >= most):
            wrong = index[(index < 0) | (index >= most)][0]
            raise ValueError(f"Input {name} has {what} index {wrong} out of range: it has {most} {what}s.")


def _check_lists(X: Any, name: str) -> None:
    lines = X.rows.shape == X.data.shape == (X.shape[0],)
    _require(lines, X, name, "rows and data must have one list per row")
    for row, (index, values) in enumerate(zip(X.rows, X.data, strict=True)):
        _require(len(index) == len(values), X, name, f"row {row} has {len(index)} indices and {len(values)} values")
        if index and not (min(index) >= 0 and max(index) < X.shape[1]):
            raise ValueError(f"Input {name} has an index out of range in row {row}: it has {X.shape[1]} columns.")


def _is_index(array: Any) -> bool:
    known = isinstance(array, np.ndarray) and array.ndim == 1
    return known and array.dtype.kind in "iu" and bool(array.dtype.isnative)


def _require(holds: bool, X: Any, name: str, what: str) -> None:
    if not holds:
        raise ValueError(f"Input {name} is not a valid {X.format.upper()} matrix: {what}.")
