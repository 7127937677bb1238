"""The losses of the lectures as functions of the margin m = y·f, or of the residual r = y − f, for curves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

OF_MARGIN: dict[str, Callable[[Array], Array]] = {
    "0/1": lambda m: (m <= 0).astype(float),
    "perceptron": lambda m: np.maximum(0.0, -m),
    "hinge": lambda m: np.maximum(0.0, 1 - m),
    "squared hinge": lambda m: np.maximum(0.0, 1 - m) ** 2,
    "log": lambda m: np.logaddexp(0.0, -m),
    "exponential": lambda m: np.exp(-m),
    "modified Huber": lambda m: np.where(m >= -1, np.maximum(0.0, 1 - m) ** 2, -4 * m),
}

OF_RESIDUAL: dict[str, Callable[[Array], Array]] = {
    "squared": lambda r: r**2,
    "absolute": np.abs,
    "Huber": lambda r: np.where(np.abs(r) <= 1, r**2 / 2, np.abs(r) - 0.5),
    "log-cosh": lambda r: np.logaddexp(r, -r) - np.log(2.0),
}
