"""`Examples`: rows, labels and weights, checked and encoded once.

After this module nobody asks "sparse or dense?" or "which dtype?"; `row_checks` checks X, `encode_weights` the weights.
Input that cannot be learned from is refused with an error that names the row and the column. C-contiguous arrays and
canonical CSR are not copied.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.row_arrays import Dense, Sparse, radius2, widened
from rosenblatt.formats.arrow import check_collected

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Examples:
    """The data of a fit: rows, targets and weights, checked and encoded.

    Attributes
    ----------
    rows : Dense or Sparse
    n_features : int
    target : ndarray
        Codes into `classes` (n,) int32; an indicator (n, K) int8 for several labels per row; numbers (n,) for
        regression.
    classes : ndarray or None
        The distinct labels as given, sorted; None for regression.
    weights : ndarray or None
        One float64 per row; None if all are 1.
    present : ndarray or None
        The rows that are used; None for all. Rows with weight 0 are left out.
    radius2 : float
        R² = max‖x‖² over the rows that are used.
    """

    rows: Dense | Sparse
    n_features: int
    target: Array
    classes: Array | None
    weights: Array | None
    present: Array | None
    radius2: float

    @property
    def size(self) -> int:
        """The number of rows that are used."""
        return int(self.target.shape[0] if self.present is None else self.present.size)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values, float32 or float64; narrower ones are widened to float32 when they are used."""
        return widened(self.rows.values.dtype)

    @property
    def stored(self) -> int:
        """The number of stored values that one pass reads."""
        total = self.target.shape[0]
        return int(math.prod(self.rows.values.shape) * (self.size / total)) if total else 0

    def only(self, rows: Array) -> Examples:
        """The same examples, restricted to these rows."""
        return Examples(
            self.rows, self.n_features, self.target, self.classes, self.weights, rows, radius2(self.rows, rows)
        )

    def facts(self) -> Facts:
        """Properties of all the rows that are used."""
        mass = float(self.size)
        if self.weights is not None:
            mass = float(self.weights.sum() if self.present is None else self.weights[self.present].sum())
        return Facts(
            self.n_features, self.classes, self.target.ndim == 2, self.dtype, self.size, mass, self.stored, self.radius2
        )


class Facts(NamedTuple):
    """Properties of all rows of a source, in memory or in files.

    Attributes
    ----------
    n_features : int
    classes : ndarray or None
        None for regression.
    by_labels : bool
        Whether the target is an indicator matrix of labels.
    dtype : dtype
        The dtype of the values.
    rows : int
        The number of rows that are used; 0 until a first pass has counted them.
    mass : float
        The sum of their weights.
    stored : int
        The number of stored values that a pass reads.
    radius2 : float
        max‖x‖².
    masses : ndarray or None
        The total weight of each class, if it was counted.
    """

    n_features: int
    classes: Array | None
    by_labels: bool
    dtype: np.dtype[Any]
    rows: int
    mass: float
    stored: int
    radius2: float
    masses: Array | None = None


# -- weights ---------------------------------------------------------------------------------------------------------


def encode_weights(sample_weight: Any, n: int) -> Array | None:
    """Row weights as float64; None if all are 1."""
    if sample_weight is None:
        return None
    check_collected(sample_weight, "sample_weight")
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}.") from error
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got an array of shape {weights.shape}.")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}: one weight per row.")
    if not np.isfinite(weights).all():
        row = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise ValueError(f"sample_weight contains NaN or infinity at row {row}: {weights[row]}.")
    if (weights < 0).any():
        row = int(np.flatnonzero(weights < 0)[0])
        raise ValueError(f"sample_weight must not be negative; row {row} has {weights[row]}.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
    return None if (weights == 1.0).all() else weights


def class_weights(class_weight: Any, classes: Array, codes: Array, weights: Array | None) -> Array | None:
    """One weight per class: from a mapping, or "balanced", n / (K · count), where a row of weight s counts s times."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(codes, weights=weights, minlength=classes.size)
        with np.errstate(divide="ignore"):
            share = counts.sum() / (np.count_nonzero(counts) * counts)
        return np.where(counts > 0, share, 1.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(f'class_weight must be a mapping, "balanced" or None, got {class_weight!r}.')
    check_class_weight(class_weight)
    result = np.ones(classes.size)
    for label, weight in class_weight.items():
        found = [k for k, name in enumerate(classes) if name == label]
        if not found:
            raise ValueError(f"class_weight names the class {label!r}, which is not one of {classes.tolist()}.")
        result[found[0]] = float(weight)
    return result


def check_class_weight(class_weight: Mapping[Any, Any]) -> None:
    """Weights of classes are finite and not negative."""
    for label, weight in class_weight.items():
        if not (isinstance(weight, Real) and 0 <= float(weight) < math.inf):
            raise ValueError(f"class_weight of {label!r} must be finite and not negative, got {weight!r}.")
