"""Warnings that point at the caller's line."""

from __future__ import annotations

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

OURS = ("rosenblatt", "sklearn", "contextlib", "functools")


def warn(sentence: str, category: type[Warning] = ConvergenceWarning) -> None:
    """Issue a warning that points at the caller's line, outside this package and scikit-learn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, category, stacklevel=level)
