"""Checks that the arrays of a model fit together before compiled code reads them.

A model file may be forged. Each estimator checks its parts in `_check_whole`, with the functions defined
here; each raises ValueError if a check fails.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.data.examples import read_only
from rosenblatt.data.sparse_checks import well_formed
from rosenblatt.estimators.base.probe_report import ProbeReport
from rosenblatt.learn.counters import check_tally
from rosenblatt.learn.models import Planes, UpdateHistory, VotedPlanes
from rosenblatt.learn.online.average import Average
from rosenblatt.learn.online.covariance import Covariance
from rosenblatt.learn.online.penalty_debt import L1Debt
from rosenblatt.learn.online.pocket import Pocket
from rosenblatt.learn.online.state import Machine, State
from rosenblatt.learn.online.votes import Votes
from rosenblatt.learn.report import Report
from rosenblatt.learn.schemes import REST, TWO, Scheme

Array = np.ndarray[Any, Any]
KEEPS = ("last", "average", "pocket", "vote")
# Attributes that `check_attributes` checks; each estimator adds its own in `STORED`, which is all that a file may set.
SHARED = {"n_features_in_", "feature_names_in_", "classes_", "_by_labels", "report_", "n_iter_", "reading_"}
MOST_COUNT = 1 << 63  # compiled code takes counts as 64-bit integers


def must(holds: Any, what: str) -> None:
    """Raise ValueError unless the condition holds."""
    if not holds:
        raise ValueError(f"expected {what}")


def is_count(value: Any, least: int = 0) -> bool:
    """Whether this is a whole number of at least `least` that fits into 64 bits."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and least <= int(value) < MOST_COUNT


def is_number(value: Any) -> bool:
    """Whether this is a finite number."""
    return isinstance(value, int | float | np.integer | np.floating) and math.isfinite(value)


def is_array(value: Any, shape: tuple[int, ...], kinds: str = "f") -> bool:
    """Whether this is an array of this shape, of one of these kinds of dtype."""
    return isinstance(value, np.ndarray) and value.shape == shape and value.dtype.kind in kinds


# -- all estimators --------------------------------------------------------------------------------------------------


def check_attributes(model: Any) -> None:
    """The attributes that estimators share, if present: features and their names, classes, the report."""
    held = vars(model)
    if "n_features_in_" in held:
        must(is_count(held["n_features_in_"], 1), "a number of features")
    if "feature_names_in_" in held:
        names = held["feature_names_in_"]
        must(is_array(names, (held.get("n_features_in_"),), "OU"), "a name for each feature")
        must(all(isinstance(name, str) for name in names.tolist()), "names of features that are text")
    if "classes_" in held:
        classes = held["classes_"]
        must(isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size, "the names of classes")
    if "_by_labels" in held:
        must(isinstance(held["_by_labels"], bool | np.bool_), "whether labels come by indicator")
    if "report_" in held:
        report = held["report_"]  # None after from_weights
        must(report is None or (isinstance(report, Report | ProbeReport) and str(report)), "a report")
    if "n_iter_" in held:
        must(is_count(held["n_iter_"]), "a number of epochs")
    if "reading_" in held:
        from rosenblatt.data.formats.reading import Reading  # imports compiled code that rows in memory never need

        must(isinstance(held["reading_"], Reading), "how a file is read")
        held["reading_"].check()


def check_planes(coef: Any, intercept: Any, planes: int, d: int, kinds: str = "f") -> None:
    """Refuse anything but this number of planes over d features."""
    must(is_array(coef, (planes, d), kinds), f"planes of shape {(planes, d)}")
    must(is_array(intercept, (planes,), kinds), f"{planes} intercepts")


def check_rows(rows: Any, d: int) -> None:
    """An array or a CSR matrix of rows of d features."""
    sparse = sp.issparse(rows) and rows.format == "csr"
    must(sparse or isinstance(rows, np.ndarray), "rows in an array or a CSR matrix")
    must(rows.ndim == 2 and rows.shape[1] == d, f"rows of {d} features")
    must(rows.dtype in (np.float32, np.float64), "rows of float32 or float64")
    well_formed(rows, "rows")


def class_count(model: Any) -> int:
    """How many classes a model has; 1 for regression."""
    return int(model.classes_.size) if "classes_" in vars(model) else 1


def check_scheme(kept: Any, classes: int, labels: Any) -> None:
    """A scheme that fits this number of classes, or labels."""
    must(isinstance(kept.scheme, Scheme) and is_count(kept.classes, 1), "a scheme")
    must(kept.classes == classes, "as many classes as names")
    must((kept.scheme == TWO) == (classes <= 2 and not labels), "a scheme for as many classes")
    must(not labels or kept.scheme == REST, "labels one by one")


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
    return (
        array if array.flags.writeable else array.copy()
    )  # compiled code would be compiled again for read-only arrays


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


# -- linear machines -------------------------------------------------------------------------------------------------


def check_online(model: Any, d: int, second: bool) -> None:
    """An online learner of planes over d features, or of a vote; `second` is for second-order rules."""
    kept, classes, several = model._kept, class_count(model), "classes_" in vars(model)
    labels = model._by_labels if several else False
    must(several == hasattr(type(model), "decision_function"), "classes, for a classifier")
    must(is_count(d, 1) and isinstance(kept, Planes | VotedPlanes), "planes or votes")
    check_scheme(kept, classes, labels)
    K, count = kept.scheme.columns(classes), kept.scheme.machines(classes)
    if "_state" in vars(model):
        must(isinstance(model._state, State), "a state")
        _check_state(model._state, kept, K, count, d, second)
    if isinstance(kept, Planes):
        check_planes(kept.coef, kept.intercept, K * count, d)
        check_planes(np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_), K * count, d, "fiu")
        return
    must(len(kept.histories) == count, f"{count} histories")
    for history in kept.histories:
        check_planes(history.coef, history.intercept, K, d)
        parts = history.support if isinstance(history.support, tuple) else (history.support,)
        for part in parts:
            check_rows(part, d)
        check_history(history, sum(part.shape[0] for part in parts) if parts else -1, K)


def _check_state(state: Any, kept: Any, K: int, count: int, d: int, second: bool) -> None:
    must(state.scheme == kept.scheme and state.classes == kept.classes and state.keep in KEEPS, "its own scheme")
    must(is_count(state.epoch) and is_count(state.seed), "an epoch and a seed")
    must(isinstance(state.from_zero, bool) and isinstance(state.whole, bool), "flags")
    must(is_number(state.radius2) and is_number(state.bias), "a radius and a bias")
    must(isinstance(kept, VotedPlanes) == (state.keep == "vote"), "votes where they are kept")
    must(isinstance(state.machines, list) and len(state.machines) == count, f"{count} machines")
    for machine in state.machines:
        must(isinstance(machine, Machine), "machines")
        check_machine(machine, K, d, second)
        _check_kept(machine, state.keep)


def check_machine(machine: Machine, K: int, d: int, second: bool) -> None:
    """The weights of K planes over d features, and their companions."""
    kinds = {"average": Average, "debt": L1Debt, "covariance": Covariance, "pocket": Pocket, "votes": Votes}
    for name, kind in kinds.items():
        must(isinstance(getattr(machine, name), kind | None), f"{name} of its own kind")
    must((machine.covariance is not None) == second, "a covariance where the rule learns one")
    must(all(isinstance(array, np.ndarray) for array in (*machine.arrays, machine.tally, machine.moves)), "arrays")
    turned, dtype = machine.by_feature, machine.coef.dtype
    must(not (machine.full and turned), "full covariances by class")
    shape = (K, d + 1) if machine.full else (d, K) if turned else (K, d)
    must(isinstance(turned, bool) and dtype.name in ("float32", "float64"), "weights of float32 or float64")
    must(machine.coef.shape == shape and machine.intercept.shape == (K,), f"weights of shape {shape}")
    must(machine.intercept.dtype == dtype, "one dtype")
    must(machine.moves.shape == (K,) and machine.moves.dtype == np.float64, "updates of each plane")
    check_tally(machine.tally)
    for part in (machine.average, machine.debt, machine.covariance):
        wrong = None if part is None else part.wrong(K, d, shape, dtype)
        must(wrong is None, str(wrong))
    for kept in (machine.votes, machine.pocket):
        if kept is not None:
            check_planes(kept.coef, kept.intercept, K, d)
    if machine.pocket is not None:
        must(isinstance(machine.pocket.errors, float) and machine.pocket.errors >= 0, "the errors of a pocket")
    for support, log, bias in machine.votes.log if machine.votes is not None else ():
        check_rows(support, d)
        must(isinstance(bias, float), "a log with its bias")
        check_log(log.rows, log.columns, (log.steps, log.clocks, log.shares), support.shape[0], K)


def _check_kept(machine: Machine, keep: str) -> None:
    must(keep != "average" or isinstance(machine.average, Average), "sums of an average")
    must(keep != "pocket" or isinstance(machine.pocket, Pocket), "a pocket")
    must(keep != "vote" or isinstance(machine.votes, Votes), "the start of a vote")


def check_history(history: Any, n: int, K: int) -> None:
    """Updates by n rows of K columns."""
    must(isinstance(history, UpdateHistory) and is_number(history.end), "a history")
    others = (history.steps, history.clocks, history.shares, history.bias)
    check_log(history.which, history.columns, others, n, K)


def check_log(rows: Any, columns: Any, others: tuple[Any, ...], n: int, K: int) -> None:
    """Entries of one length that name n rows and K columns."""
    for array in (rows, columns, *others):
        must(array.shape == (rows.size,), "a log of one length")
    for array, most in ((rows, n), (columns, K)):
        must(array.dtype.kind in "iu" and (not array.size or (array.min() >= 0 and array.max() < most)), "log entries")
    must(n >= 0 and all(array.dtype == np.float64 for array in others), "a log of float64")
