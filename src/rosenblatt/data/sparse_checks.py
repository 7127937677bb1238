"""The gate for sparse input: SciPy trusts the arrays of a sparse matrix and reads outside them where they are wrong.

Whatever is given to rosenblatt passes `well_formed` before SciPy converts, slices or multiplies it. CSR that goes
straight to `examples.encode_rows` needs only `check_arrays`: the census there looks at every index anyway.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray[Any, Any]


def well_formed(X: Any, name: str = "X") -> Any:
    """X itself, or ValueError if it is a sparse matrix whose arrays do not fit together."""
    if not sp.issparse(X):
        return X
    if X.ndim != 2:
        raise ValueError(f"{name} must be a table of rows and columns, got a sparse array of {X.ndim} dimensions.")
    if X.format in ("csr", "csc", "bsr"):
        check_arrays(X, name)
        _check_entries(X, name)
    elif X.format == "coo":
        _check_coordinates(X, name)
    elif X.format == "lil":
        _check_lists(X, name)
    elif X.format == "dia":
        whole = _is_index(X.offsets) and X.data.ndim == 2 and X.data.shape[0] == X.offsets.size
        _must(whole, X, name, "data must have one row for each of offsets")
    elif X.format == "dok":
        _check_coordinates(X.tocoo(), name)
    return X


def check_arrays(X: Any, name: str = "X") -> None:
    """Whether the arrays of CSR, CSC or BSR have the right types and lengths."""
    starts, index, data = X.indptr, X.indices, X.data
    for array, what in ((starts, "indptr"), (index, "indices")):
        _must(_is_index(array), X, name, f"{what} must be whole numbers in one dimension, in the machine's byte order")
    many = _sizes(X)[0]
    right = starts.size == many + 1 and starts[0] == 0 and index.size == data.shape[0]
    line = "columns" if X.format == "csc" else "rows"
    _must(right, X, name, f"indptr must start at 0 and have one entry more than {line}, indices one for each value")
    _must(data.ndim == (3 if X.format == "bsr" else 1), X, name, f"data has {data.ndim} dimensions")


def _sizes(X: Any) -> tuple[int, int]:
    """How many lines `indptr` tells apart, and how many places each has."""
    rows, columns = X.shape
    if X.format == "bsr":
        high, wide = X.data.shape[1:] if X.data.ndim == 3 else (1, 1)
        return rows // max(high, 1), columns // max(wide, 1)
    return (columns, rows) if X.format == "csc" else (rows, columns)


def _check_entries(X: Any, name: str) -> None:
    starts, index, size = X.indptr, X.indices, X.indices.size
    wrong = (starts[1:] < starts[:-1]) | (starts[1:] < 0) | (starts[1:] > size)
    if wrong.any():
        raise ValueError(out_of_range(X, int(np.argmax(wrong)), name))
    index = index[: starts[-1]]
    most = _sizes(X)[1]
    if index.size and (index.min() < 0 or index.max() >= most):
        place = int(np.argmax((index < 0) | (index >= most)))
        raise ValueError(out_of_range(X, int(np.searchsorted(starts, place, side="right")) - 1, name))


def out_of_range(X: Any, line: int, name: str = "X") -> str:
    """What is wrong with a row of CSR or BSR, or with a column of CSC."""
    start, end = int(X.indptr[line]), int(X.indptr[line + 1])
    kind, across = ("column", "rows") if X.format == "csc" else ("row", "columns")
    kind, across = (f"block {kind}", f"block {across}") if X.format == "bsr" else (kind, across)
    if not 0 <= start <= end <= X.indices.size:
        return (
            f"Input {name} is no valid {X.format.upper()} matrix: indptr of {kind} {line} runs from {start} to {end} "
            f"of {X.indices.size} values."
        )
    index, most = X.indices[start:end], _sizes(X)[1]
    wrong = index[(index < 0) | (index >= most)][0]
    return f"Input {name} has index {wrong} out of range in {kind} {line}: it has {most} {across}."


def _check_coordinates(X: Any, name: str) -> None:
    for index, most, what in zip(X.coords, X.shape, ("row", "column"), strict=True):
        _must(_is_index(index) and index.size == X.data.size, X, name, f"one {what} index for each value")
        if index.size and (index.min() < 0 or index.max() >= most):
            wrong = index[(index < 0) | (index >= most)][0]
            raise ValueError(f"Input {name} has {what} index {wrong} out of range: it has {most} {what}s.")


def _check_lists(X: Any, name: str) -> None:
    lines = X.rows.shape == X.data.shape == (X.shape[0],)
    _must(lines, X, name, "rows and data must have one list for each row")
    for row, (index, values) in enumerate(zip(X.rows, X.data, strict=True)):
        _must(len(index) == len(values), X, name, f"row {row} has {len(index)} indices and {len(values)} values")
        if index and not (min(index) >= 0 and max(index) < X.shape[1]):
            raise ValueError(f"Input {name} has an index out of range in row {row}: it has {X.shape[1]} columns.")


def _is_index(array: Any) -> bool:
    known = isinstance(array, np.ndarray) and array.ndim == 1
    return known and array.dtype.kind in "iu" and bool(array.dtype.isnative)


def _must(holds: bool, X: Any, name: str, what: str) -> None:
    if not holds:
        raise ValueError(f"Input {name} is no valid {X.format.upper()} matrix: {what}.")
