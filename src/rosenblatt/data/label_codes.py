"""Labels as codes into the sorted classes, or as an indicator; labels that cannot be classes are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.data.sparse_checks import well_formed

Array = np.ndarray[Any, Any]
FEW_LABELS = 100
LABELS_AT_ONCE = 1 << 18  # labels sorted per call: about 20 ms, so that Ctrl-C is handled promptly


def distinct(y: Array) -> Array:
    """The distinct labels of y, sorted."""
    pieces = []
    try:
        for begin in range(0, y.shape[0], LABELS_AT_ONCE):
            pieces.append(_distinct_in_chunk(y[begin : begin + LABELS_AT_ONCE]))
        return pieces[0] if len(pieces) == 1 else np.unique(np.concatenate(pieces))
    except TypeError as error:
        row = next((i for i, label in enumerate(y) if is_missing(label)), None)
        if row is not None:
            raise ValueError(f"Input y contains NaN or None at row {row}: every row needs a label.") from None
        raise ValueError(f"Labels y must all be of one kind so that they can be sorted: {error}.") from error


def is_missing(label: Any) -> bool:
    """Whether the label is None, NaN or pandas' NA, which cannot even be compared with itself."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def merge_labels(known: Array, more: Array) -> Array:
    """The sorted labels of both, which must be of one kind: NumPy would convert numbers to text."""
    kinds = {"number" if each.dtype.kind in "biuf" else each.dtype.kind for each in (known, more)} - {"O"}
    if len(kinds) > 1:
        raise ValueError(f"Labels must all be of one kind: earlier labels are {known.dtype}, new ones {more.dtype}.")
    if known.dtype == more.dtype and known.dtype.kind in "biufUS" and known.size:
        places = np.minimum(np.searchsorted(known, more), known.size - 1)
        if (known[places] == more).all():
            return known
    return distinct(np.concatenate([known, more]))


def as_labels(y: Any) -> Array:
    """Labels as an array; refuses a list of both text and numbers, all of which NumPy would convert to text."""
    labels = np.asarray(y)
    if labels.dtype.kind == "U" and labels.ndim == 1 and isinstance(y, list | tuple):
        for row, label in enumerate(y):
            if not isinstance(label, str):
                raise ValueError(f"Labels y must all be of one kind: row {row} has {label!r}, other rows have text.")
    if labels.dtype.kind in "US" and isinstance(y, list | tuple):
        check_no_trailing_nul(y)
    return labels


def check_no_trailing_nul(names: Any) -> None:
    """Refuse names that end with NUL, which NumPy drops, so that two names could become equal."""
    for name in names:
        if isinstance(name, str | bytes) and name[-1:] in ("\0", b"\0"):
            raise ValueError(f"Labels y must not end with NUL, which NumPy drops: got {name!r}.")


def _distinct_in_chunk(y: Array) -> Array:
    """np.unique, but faster for few labels, and by counting if they are integers in a small range."""
    if y.dtype.kind in "biu" and y.size <= FEW_LABELS:
        return np.array(sorted(set(y.tolist())), dtype=y.dtype)
    if y.dtype.kind not in "iu":
        return np.unique(y)
    low, high = y.min(), y.max()
    if int(high) - int(low) <= 1:
        return np.array([low, high] if low < high else [low], y.dtype)
    if int(high) - int(low) < 1 << 12:
        # In int8, 100 - (-100) would overflow.
        places = (y.astype(np.int64, copy=False) if y.dtype.kind == "i" else y) - low
        found: Array = np.flatnonzero(np.bincount(places.astype(np.intp, copy=False))).astype(y.dtype)
        found += low
        return found
    return np.unique(y)


def check_labels(y: Array, classes: Array) -> None:
    """Refuse labels that cannot be classes: missing, infinite or fractional ones."""
    if classes.dtype.kind in "cV":
        raise ValueError(f"Unknown label type: y has dtype {classes.dtype}, classes must be numbers or text.")
    if classes.dtype.kind == "f":
        if not np.isfinite(classes).all():
            row = int(np.flatnonzero(~np.isfinite(y))[0])
            raise ValueError(f"Input y contains {'NaN' if np.isnan(y[row]) else 'infinity'} at row {row}.")
        fraction = classes[classes != np.floor(classes)]
        if fraction.size:
            row = int(np.flatnonzero(y == fraction[0])[0])
            raise ValueError(
                f"Unknown label type: continuous. y has {fraction[0]} at row {row}; classes must be integers or text."
            )
    elif classes.dtype.kind == "O":
        for label in classes:
            if is_missing(label):
                row = next(i for i, value in enumerate(y) if is_missing(value))
                raise ValueError(f"Input y contains NaN or None at row {row}: every row needs a label.")
        check_no_trailing_nul(classes)


def encode_labels(y: Array, classes: Array) -> Array:
    """Codes of y into the sorted classes, which must contain every label of y."""
    codes = np.empty(y.shape[0], dtype=np.int32)
    # If the classes are consecutive integers, the difference to the first is the code.
    plain = y.dtype.kind == classes.dtype.kind == "i" and int(classes[-1]) - int(classes[0]) == classes.size - 1
    for begin in range(0, y.shape[0], LABELS_AT_ONCE):
        part = y[begin : begin + LABELS_AT_ONCE]
        if plain and classes[0] != 0:
            part = np.subtract(part, classes[0], dtype=np.int64)
        codes[begin : begin + LABELS_AT_ONCE] = part if plain else classes.searchsorted(part)
    return codes


def encode_indicator(y: Any) -> Array:
    """A 0/1 indicator matrix, one column per label, as int8."""
    dense = well_formed(y, "y").toarray() if sp.issparse(y) else np.asarray(y)
    if dense.dtype.kind not in "biuf" or not np.isin(dense, (0, 1)).all():
        raise ValueError(
            "Unknown label type: multiclass-multioutput. A y of two dimensions must be a label indicator of 0s and 1s."
        )
    return np.ascontiguousarray(dense, dtype=np.int8)
