"""Models from given weights: fitted as far as prediction, pictures, files and further learning are concerned."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from rosenblatt.learn.counters import Count
from rosenblatt.learn.examples import Facts
from rosenblatt.learn.schemes import PAIRS, Scheme
from rosenblatt.planes.companions import Weights
from rosenblatt.shell.fitting import named_classes, shown
from rosenblatt.shell.parameters import new_seed

Array = np.ndarray[Any, Any]


def take_weights(model: Any, coef: Any, intercept: Any, classes: Any = None) -> Any:
    """Put these weights into an estimator as if it had learned them; regression has no classes."""
    model._validate_params()
    plan = model._plan()
    names = None
    if classes is not None:
        coef, intercept, names = given_planes(coef, intercept, classes, plan.scheme(len(classes), False))
        model.classes_ = names
    else:
        coef, intercept = _planes(coef, intercept)
        if coef.shape[0] != 1:
            raise ValueError(f"coef has shape {coef.shape}: regression has one plane.")
    facts = Facts(coef.shape[1], names, False, np.dtype(np.float64), 0, 0.0, 0, 0.0)
    model.n_features_in_ = coef.shape[1]
    state = plan.new_state(SimpleNamespace(facts=facts), new_seed(model.random_state), Weights(coef, intercept))
    if plan.keep == "vote":
        for machine in state.machines:
            machine.tally[Count.CLOCK] = 1.0  # one vote: with none it could not predict
    kept = state.kept()
    learned = {"_state": state, "_kept": kept, "_by_labels": False, "n_iter_": 0, "report_": None}
    vars(model).update(learned | shown(kept, numbers=classes is None))
    return model


def given_planes(coef: Any, intercept: Any, classes: Any, scheme: Scheme) -> tuple[Array, Array, Array]:
    """Checked planes in the order of the sorted classes, and the classes."""
    return in_class_order(*_planes(coef, intercept), classes, scheme)


def in_class_order(coef: Array, intercept: Array, classes: Any, scheme: Scheme) -> tuple[Array, Array, Array]:
    """Planes in the order of the sorted classes, and the classes; two classes have one plane, positive for the second.

    >>> in_class_order(np.array([[1.0]]), np.array([2.0]), ("yes", "no"), Scheme())[:2]
    Traceback (most recent call last):
    ValueError: coef has 1 row; 2 classes need 2: give one class per row, or two classes for one row.
    """
    names, given = named_classes(classes), list(classes)
    planes = scheme.planes(names.size)
    if len(given) != names.size or coef.shape[0] != planes:
        rows = f"{coef.shape[0]} row{'' if coef.shape[0] == 1 else 's'}"
        raise ValueError(
            f"coef has {rows}; {len(given)} classes need {planes}: give one class per row, or two classes for one row."
        )
    order = [given.index(name) for name in names.tolist()]
    if order == sorted(order):
        return coef, intercept, names
    if scheme == PAIRS:
        raise ValueError(f"One-vs-one planes must be in the order of sorted classes, {names.tolist()}; got {given}.")
    if names.size == 2:
        return 0.0 - coef, 0.0 - intercept, names
    return coef[order], intercept[order], names


def _planes(coef: Any, intercept: Any) -> tuple[Array, Array]:
    """Finite planes (K, d) and (K,)."""
    try:
        W = np.atleast_2d(np.array(coef, dtype=np.float64))
        b = np.array(intercept, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"coef and intercept must be numbers: {error}.") from error
    if W.ndim != 2 or not W.size or b.shape not in ((), (W.shape[0],)):
        raise ValueError(f"coef has shape {W.shape} and intercept {b.shape}: one row and one number per plane.")
    if not (np.isfinite(W).all() and np.isfinite(b).all()):
        raise ValueError("coef or intercept contains NaN or infinity.")
    return W, np.broadcast_to(b, W.shape[:1]).copy()
