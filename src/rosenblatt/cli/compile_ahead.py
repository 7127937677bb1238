"""`rosenblatt compile`: machine code for learners, compiled before it is needed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.registry import LEARNERS, Learner

ROWS = 12
LAYOUTS: dict[str, Any] = {"dense": np.asarray, "sparse": sp.csr_array}
NUMBERS = (np.float32, np.float64)


def compile_ahead(names: Sequence[str]) -> Iterator[str]:
    """Fit, update and ask each learner on a few rows of every layout and type; a line for each, with its seconds."""
    unknown = [name for name in names if name not in LEARNERS]
    if unknown:
        raise ValueError(f"no learner is called {unknown[0]!r}; there are {', '.join(LEARNERS)}")
    for name in names or LEARNERS:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for layout in LAYOUTS.values():
                for dtype in NUMBERS:
                    _warm(LEARNERS[name], layout, dtype)
        yield f"{name:<20} {time.perf_counter() - began:6.1f} s"


def _warm(learner: Learner, layout: Any, dtype: Any) -> None:
    """Two classes and three, or numbers, through everything that runs machine code."""
    X = layout((np.arange(ROWS * 3).reshape(ROWS, 3) % 5).astype(dtype))
    for classes in (2, 3):
        y = np.arange(ROWS) % classes
        model = learner.kind(**learner.settings)
        if "max_epochs" in model.get_params():
            model.set_params(max_epochs=2)
        try:
            model.fit(X, y)
        except ValueError:  # the learner does not take such rows, and says so to who asks for it
            return
        model.predict(X)
        if hasattr(model, "partial_fit"):
            model.partial_fit(X, y)
