"""Parameters of learners: what many share, names, checks, and answers to names of other libraries."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from rosenblatt.learn.plan import ORDERS
from rosenblatt.shell.held_out_scoring import ScorerName

SIMPLE, MOST_VALIDATED = frozenset([type(None), bool, int, float, str]), 10_000
_validated: set[tuple[Any, ...]] = set()  # values of parameters that were found valid
LARGEST_SEED = int(np.iinfo(np.int32).max)
# Parameter names of textbooks and other libraries, and the corresponding names here.
ALIASES = {
    **dict.fromkeys(("eta", "eta0"), ("learning_rate", "learning_rate_init")),
    **dict.fromkeys(("n_iter", "max_iter"), ("max_epochs",)),
    **dict.fromkeys(("budget",), ("max_support",)),
    **dict.fromkeys(("epsilon",), ("adam_epsilon",)),
    **dict.fromkeys(("algorithm",), ("rule",)),
}


class Parameters(BaseEstimator):
    """The parameters of an estimator."""

    random_state: Any

    def __init_subclass__(cls, **how: Any) -> None:
        """Make `__init__` answer parameter names of other libraries with the names used here."""
        super().__init_subclass__(**how)
        if "__init__" in vars(cls):
            cls.__init__ = _answering(cls.__init__)  # type: ignore[method-assign]

    @property
    def errors_(self) -> Any:
        """Not available: the error says where the mistakes of each epoch are recorded."""
        where = "model.report_.errors counts the training rows that are wrong at the end."
        if "record_errors" in self._get_param_names():
            where = (
                "the mistakes of each epoch are [record.updates for record in model.report_.epochs]; with "
                "record_errors=True record.errors has the rows that are wrong at its end."
            )
        raise AttributeError(f"{type(self).__name__} has no errors_: {where}")

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        """The same as in scikit-learn, but read from the signature once: every call of `partial_fit` needs them."""
        return list(super()._get_param_names())

    def _validate_params(self) -> None:
        """The same as in scikit-learn, but once for the same simple values: every call of `partial_fit` validates."""
        values = [getattr(self, name) for name in self._get_param_names()]
        types = tuple(map(type, values))
        key, simple = (type(self), types, *values), SIMPLE.issuperset(types)
        if simple and key in _validated:
            return
        super()._validate_params()
        if simple and len(_validated) < MOST_VALIDATED:
            _validated.add(key)

    def _take(self, values: dict[str, Any]) -> None:
        """Set each parameter of `__init__` from its local of the same name."""
        for name in self._get_param_names():
            setattr(self, name, values[name])


def new_seed(random_state: Any) -> int:
    """One whole number from `random_state`."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(LARGEST_SEED))


def _answering(init: Callable[..., None]) -> Callable[..., None]:
    """The same `__init__`, with an error that names the right parameter if another library's is given."""
    known = inspect.signature(init).parameters
    meant = {name: next((one for one in ALIASES[name] if one in known), None) for name in ALIASES if name not in known}

    @functools.wraps(init)
    def answering(self: Any, *args: Any, **params: Any) -> None:
        strange = [name for name in params if meant.get(name)]
        if strange:
            names, right = " or ".join(map(repr, strange)), ", ".join(f"{meant[name]}=" for name in strange)
            raise TypeError(f"{type(self).__name__} has no parameter {names}: use {right}.")
        init(self, *args, **params)

    return answering


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
