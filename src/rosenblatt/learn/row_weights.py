"""Row weights and class weights, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from rosenblatt.formats.arrow import check_collected

Array = np.ndarray[Any, Any]


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
    result = np.ones(classes.size)
    for label, weight in class_weight.items():
        found = [k for k, name in enumerate(classes) if name == label]
        if not found:
            raise ValueError(f"class_weight names the class {label!r}, which is not one of {classes.tolist()}.")
        if not (isinstance(weight, Real) and 0 <= float(weight) < math.inf):
            raise ValueError(f"class_weight of {label!r} must be finite and not negative, got {weight!r}.")
        result[found[0]] = float(weight)
    return result
