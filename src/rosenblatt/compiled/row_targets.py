"""The target of a row in compiled code: codes of classes, an indicator of labels, or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.compiled.machine_code import callee

Array = np.ndarray[Any, Any]


@callee
def is_on(y: Array, i: Any, k: Any) -> bool:
    """Whether column k is positive for row i; y holds codes, or an indicator."""
    return bool(y[i] == k) if y.ndim == 1 else bool(y[i, k] != 0)  # only one of the two is compiled


@callee
def code_of(y: Array, i: Any) -> Any:
    """The class of row i; an indicator of labels has none."""
    return np.int64(y[i]) if y.ndim == 1 else np.int64(0)


@callee
def number_of(y: Array, i: Any) -> Any:
    """The number of row i; an indicator of labels has none."""
    return np.float64(y[i]) if y.ndim == 1 else np.float64(0)
