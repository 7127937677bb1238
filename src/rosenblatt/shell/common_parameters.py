"""Parameters that many learners have, and what their values may be."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from rosenblatt.learn.plan import ORDERS
from rosenblatt.shell.held_out_scoring import ScorerName

# Parameters of every online classifier.
COMMON: dict[str, Any] = {
    "fit_intercept": ["boolean"],
    "order": [StrOptions(ORDERS), "array-like"],
    "multiclass": [StrOptions({"multinomial", "ovr", "ovo"})],
    "max_epochs": [Interval(Integral, 1, None, closed="left"), None],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
    "scoring": [ScorerName(), callable, None],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "record_errors": ["boolean"],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
}
# The orders of learners that visit rows in any parts.
PASSES = [StrOptions({"shuffle", "blocks", "cyclic", "random"}), "array-like"]
# c², the square of the value of the bias feature.
BIAS_STEP: dict[str, Any] = {"bias_step": [StrOptions({"unit", "radius"}), Interval(Real, 0, None, closed="neither")]}


def chosen_bias(model: Any) -> str | float:
    """The bias of a plan: "none", "unit", "radius" or c²."""
    if not model.fit_intercept:
        return "none"
    return model.bias_step if isinstance(model.bias_step, str) else float(model.bias_step)
