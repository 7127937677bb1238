"""Labels: their distinct values in order, their codes, and those that cannot be learned."""

from __future__ import annotations

from decimal import InvalidOperation
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import read_only
from rosenblatt.formats.arrow import check_collected
from rosenblatt.formats.sparse_checks import well_formed

Array = np.ndarray[Any, Any]
FEW_LABELS = 100
MOST_HASHED, MOST_BYTES = 1 << 10, 1 << 10  # distinct labels that are hashed, and the bytes of each
LABELS_AT_ONCE = 1 << 18  # labels sorted per call: about 20 ms, so that Ctrl-C is handled promptly


def as_signed(index: Array) -> Array:
    """A view of the same memory with the signed dtype that SciPy uses."""
    return index.view(np.dtype(f"i{index.dtype.itemsize}"))


# -- labels ----------------------------------------------------------------------------------------------------------


def distinct(y: Array) -> Array:
    """The distinct labels of y, sorted."""
    pieces = []
    try:
        for begin in range(0, y.shape[0], LABELS_AT_ONCE):
            pieces.append(_distinct_in_chunk(y[begin : begin + LABELS_AT_ONCE]))
        return pieces[0] if len(pieces) == 1 else np.unique(np.concatenate(pieces))
    except (TypeError, InvalidOperation) as error:  # a Decimal that is NaN has no order
        row = next((i for i, label in enumerate(y) if is_missing(label)), None)
        if row is not None:
            raise ValueError(f"Input y contains NaN or None at row {row}: every row needs a label.") from None
        raise ValueError(f"Labels y must all be of one kind so that they can be sorted: {error}.") from error


def is_missing(label: Any) -> bool:
    """Whether the label is None, NaN, NaT or pandas' NA, which cannot even be compared with itself."""
    try:
        return label is None or bool(label != label)
    except (TypeError, InvalidOperation):  # NA; a signalling NaN
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
    return distinct(_joined(known, more))


def _joined(known: Array, more: Array) -> Array:
    """Both as one array, of objects if its common type would round integers."""
    both = np.concatenate([known, more])
    if both.dtype.kind != "f":
        return both
    exact: Array = np.concatenate([known.astype(object), more.astype(object)])
    return both if (both == exact).all() else exact


def as_labels(y: Any) -> Array:
    """Labels as an array; refuses a list of both text and numbers, all of which NumPy would convert to text."""
    check_collected(y, "y")
    labels = np.asarray(y)
    if isinstance(y, list | tuple):
        labels = unrounded(y, labels)
    if labels.dtype.kind == "U" and labels.ndim == 1 and isinstance(y, list | tuple):
        for row, label in enumerate(y):
            if not isinstance(label, str):
                raise ValueError(f"Labels y must all be of one kind: row {row} has {label!r}, other rows have text.")
    if (
        labels.dtype.kind in "US" and labels.ndim == 1 and not isinstance(y, np.ndarray)
    ):  # a list, or a column of polars
        check_no_trailing_nul(y)
    return labels


def unrounded(given: Any, labels: Array) -> Array:
    """The labels as objects if NumPy has rounded large integers to floats, as it does with 2**63 beside −1 or 1.0."""
    if labels.dtype.kind != "f" or labels.ndim != 1 or (np.abs(labels) < 2**53).all():
        return labels
    pairs = zip(given, labels.tolist(), strict=True)  # Python compares its numbers exactly
    rounded = any(isinstance(one, int | np.integer) and int(one) != value for one, value in pairs)
    return np.array(given, dtype=object) if rounded else labels


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
    elif classes.dtype.kind in "mM":
        if np.isnat(classes).any():
            raise ValueError(f"Input y contains NaT at row {int(np.argmax(np.isnat(y)))}: every row needs a label.")
    elif classes.dtype.kind == "O":
        for label in classes:
            if is_missing(label):
                row = next(i for i, value in enumerate(y) if is_missing(value))
                raise ValueError(f"Input y contains NaN or None at row {row}: every row needs a label.")
        check_no_trailing_nul(classes)


def encode_labels(y: Array, classes: Array) -> Array:
    """Codes of y into the sorted classes, which must contain every label of y."""
    codes = np.empty(y.shape[0], dtype=np.int32)
    # If the classes are consecutive integers, the difference to the first is the code. They may have been assigned by a
    # user, or forged: out of order, they would give codes that are out of range.
    plain = y.dtype.kind == classes.dtype.kind == "i" and y.shape[0] > FEW_LABELS
    plain = plain and int(classes[-1]) - int(classes[0]) == classes.size - 1 and bool((np.diff(classes) == 1).all())
    for begin in range(0, y.shape[0], LABELS_AT_ONCE):
        part = y[begin : begin + LABELS_AT_ONCE]
        if plain and classes[0] != 0:
            part = np.subtract(part, classes[0], dtype=np.int64)
        codes[begin : begin + LABELS_AT_ONCE] = part if plain else classes.searchsorted(part)
    return codes


def coded_labels(y: Array) -> tuple[Array, Array] | None:
    """The distinct labels of y, sorted, and the code of each row; None where `distinct` has to sort them.

    Handles two distinct numbers, or up to 1,024 distinct strings or floats.
    """
    if y.size <= FEW_LABELS:
        return None
    return _two_numbers(y) or _hashed_labels(y)


def _two_numbers(y: Array) -> tuple[Array, Array] | None:
    if y.dtype.kind not in "biuf" or len(set(y[:FEW_LABELS].tolist())) > 2:
        return None
    low, high = y.min(), y.max()
    on = y == high
    if not (on | (y == low)).all():  # NaN equals nothing
        return None
    classes = np.array([low, high] if low < high else [low], dtype=y.dtype)
    return classes, on.astype(np.int32) if low < high else np.zeros(y.shape[0], dtype=np.int32)


def _hashed_labels(y: Array) -> tuple[Array, Array] | None:
    most = 8 if y.dtype.kind == "f" else MOST_BYTES  # wider floats have undefined padding
    if y.dtype.kind not in "fUS" or y.itemsize % 4 or not 0 < y.itemsize <= most:
        return None
    words = read_only(np.ascontiguousarray(y).view(np.uint32).reshape(y.shape[0], -1))
    codes, firsts = np.empty(y.shape[0], dtype=np.int32), np.empty(MOST_HASHED, dtype=np.int64)
    table, count = np.full(4 * MOST_HASHED, -1, dtype=np.int32), 0
    for begin in range(0, y.shape[0], LABELS_AT_ONCE):
        count = _number_labels(words, begin, min(begin + LABELS_AT_ONCE, y.shape[0]), table, firsts, count, codes)
        if count < 0:
            return None
    labels = y[firsts[:count]]
    if labels.dtype.kind == "f" and (np.signbit(labels) & (labels == 0)).any():  # −0.0 is 0.0
        return None
    order = np.argsort(labels, kind="stable")
    ranks = np.empty(count, dtype=np.int32)
    ranks[order] = np.arange(count)
    for begin in range(0, codes.size, LABELS_AT_ONCE):
        part = codes[begin : begin + LABELS_AT_ONCE]
        part[:] = ranks[part]
    return labels[order], codes


@compiled
def _number_labels(words: Array, begin: int, end: int, table: Array, firsts: Array, count: int, numbers: Array) -> int:
    """Number labels, rows of words, as they first appear; returns how many there are, −1 if too many.

    `table` is a hash table of the numbers of labels, with linear probing; `firsts` holds the first row of each label.
    """
    mask = np.uint64(table.size - 1)
    for i in range(begin, end):
        h = np.uint64(0)
        for k in range(words.shape[1]):
            h = ((h ^ np.uint64(words[i, k])) * np.uint64(0x9E3779B1)) & np.uint64(0xFFFFFFFF)
            h ^= h >> np.uint64(15)
        at = h & mask
        while True:
            number = table[at]
            if number < 0:
                if count == firsts.size:
                    return -1
                table[at] = number = count
                firsts[count] = i
                count += 1
                break
            same = True
            for k in range(words.shape[1]):
                same &= words[firsts[number], k] == words[i, k]
            if same:
                break
            at = (at + np.uint64(1)) & mask
        numbers[i] = number
    return count


def encode_indicator(y: Any) -> Array:
    """A 0/1 indicator matrix, one column per label, as int8."""
    dense = well_formed(y, "y").toarray() if sp.issparse(y) else np.asarray(y)
    if dense.dtype.kind not in "biuf" or not np.isin(dense, (0, 1)).all():
        raise ValueError(
            "Unknown label type: multiclass-multioutput. A y of two dimensions must be a label indicator of 0s and 1s."
        )
    return np.ascontiguousarray(dense, dtype=np.int8)
