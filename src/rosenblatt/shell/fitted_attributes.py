"""The attributes of fitted estimators: what a model file may set, and what users may have assigned.

A model file may be forged. Each estimator checks its own attributes in `_check_whole`, and its records verify
themselves (`formats.declared_fields`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from rosenblatt.compiled.row_arrays import read_only
from rosenblatt.formats.declared_fields import is_array, is_count, must, verify
from rosenblatt.learn.models import Planes, VotedPlanes
from rosenblatt.learn.report import ProbeReport, Report
from rosenblatt.learn.schemes import REST, TWO
from rosenblatt.planes.state import State

Array = np.ndarray[Any, Any]
# What a model file may set, and `check_attributes` checks; each estimator adds its own in `STORED`.
ATTRIBUTES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "n_features_in_": (lambda d: is_count(d, 1), "a number of features"),
    "classes_": (lambda names: isinstance(names, np.ndarray) and names.ndim == 1 and names.size, "names of classes"),
    "_by_labels": (lambda flag: isinstance(flag, bool | np.bool_), "whether labels come by indicator"),
    "report_": (lambda one: one is None or (isinstance(one, Report | ProbeReport) and str(one)), "a report"),
    "n_iter_": (is_count, "a number of epochs"),
}
SHARED = {*ATTRIBUTES, "feature_names_in_", "reading_"}


def check_attributes(model: Any) -> None:
    """The attributes that estimators share, if present: features and their names, classes, the report."""
    held = vars(model)
    for name, (holds, what) in ATTRIBUTES.items():
        must(name not in held or holds(held[name]), what)
    if "feature_names_in_" in held:
        names = held["feature_names_in_"]
        must(is_array(names, (held.get("n_features_in_"),), "OU"), "a name for each feature")
        must(all(isinstance(name, str) for name in names.tolist()), "names of features that are text")
    if "reading_" in held:
        from rosenblatt.formats.reading import Reading  # imports compiled code that rows in memory never need

        must(isinstance(held["reading_"], Reading), "how a file is read")
        held["reading_"].check()
    if not isinstance(held.get("_contents", ""), str):  # the digest of sentences
        from rosenblatt.formats.contents import Contents

        verify(held["_contents"], Contents)


def class_count(model: Any) -> int:
    """How many classes a model has; 1 for regression."""
    return int(model.classes_.size) if "classes_" in vars(model) else 1


def check_model(model: Any, kept: Any, state: Any, **sizes: int) -> None:
    """A model of one of the kinds `kept`, and if it is there, a state of one of the kinds `state`."""
    sizes["classes"] = class_count(model)
    verify(model._kept, kept, **sizes)
    if "_state" in vars(model):
        verify(model._state, state, **sizes)


def check_scheme(model: Any) -> None:
    """A scheme that suits the number of classes, or labels, and is that of the state."""
    scheme, labels = model._kept.scheme, "classes_" in vars(model) and model._by_labels
    must((scheme == TWO) == (class_count(model) <= 2 and not labels), "a scheme for as many classes")
    must(not labels or scheme == REST, "labels one by one")
    must("_state" not in vars(model) or model._state.scheme == scheme, "its own scheme")


def check_linear(model: Any, d: int, second: bool) -> None:
    """Planes over d features, or a vote of such planes, and their state; `second` is for second-order rules."""
    must(("classes_" in vars(model)) == isinstance(model, ClassifierMixin), "classes, for a classifier")
    check_model(model, Planes | VotedPlanes, State, d=d)
    check_scheme(model)
    voted = isinstance(model._kept, VotedPlanes)
    if "_state" in vars(model):
        must(voted == (model._state.keep == "vote"), "votes where they are kept")
        sure = [machine.covariance is not None for machine in model._state.machines]
        must(all(one == second for one in sure), "a covariance where the rule learns one")
    if not voted:
        check_assigned_planes(model)


def check_planes(coef: Any, intercept: Any, planes: int, d: int, kinds: str = "f") -> None:
    """Refuse anything but this number of planes over d features."""
    must(is_array(coef, (planes, d), kinds), f"planes of shape {(planes, d)}")
    must(is_array(intercept, (planes,), kinds), f"{planes} intercepts")


def check_assigned_planes(model: Any) -> None:
    """Refuse `coef_` and `intercept_` of other shapes than the planes that were learned."""
    planes, d = model._kept.coef.shape
    check_planes(np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_), planes, d, "fiu")


# -- what users may have assigned -------------------------------------------------------------------------------------


def check_assigned(model: Any, planes: Any, width: int) -> None:
    """Refuse `classes_` or a number of features that no longer match the learned planes or votes."""
    if width != planes.width:
        raise ValueError(
            f"{type(model).__name__} learned {planes.width} features and now has {width}: n_features_in_ is set by fit."
        )
    classes = vars(model).get("classes_")
    if classes is not None and not (isinstance(classes, np.ndarray) and classes.shape == (planes.classes,)):
        raise ValueError(
            f"classes_ is now {_described(classes)}; {type(model).__name__} learned {planes.classes} classes: "
            f"assign an array of shape ({planes.classes},)."
        )


def assigned(model: Any, name: str, shape: tuple[int, ...]) -> Array:
    """An attribute that users may have assigned, as an array of real numbers; another shape is refused."""
    value = getattr(model, name)
    array = np.asarray(value)
    array = array if array.ndim == len(shape) else array.reshape(1, *array.shape) if array.ndim < len(shape) else array
    if array.shape != shape or array.dtype.kind not in "fiu":
        raise ValueError(f"{name} is now {_described(value)}: assign real numbers of shape {shape}.")
    return array if array.flags.writeable else array.copy()  # read-only arrays would be compiled for again


def is_view_of(value: Any, array: Array) -> bool:
    """Whether this is a view that `read_only` made of the array, or a row of it."""
    return isinstance(value, np.ndarray) and value.base is (array if array.base is None else array.base)


def planes_now(model: Any, kept: Planes) -> Planes:
    """The planes with the current `coef_` and `intercept_`."""
    if is_view_of(model.coef_, kept.coef) and is_view_of(model.intercept_, kept.intercept):
        return kept
    coef, intercept = assigned(model, "coef_", kept.coef.shape), assigned(model, "intercept_", kept.intercept.shape)
    return Planes(coef, intercept, kept.scheme, kept.classes)


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    return f"a {type(value).__name__}"


def protect(model: Any, *names: str) -> None:
    """Make these attributes read-only if they are arrays: arrays of copies and files are writable."""
    held = vars(model)
    for name in names:
        if isinstance(held.get(name), np.ndarray):
            held[name] = read_only(held[name])
