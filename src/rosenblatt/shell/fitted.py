"""What a fitted estimator holds: the one place where other packages read it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from rosenblatt.learn.epochs import EpochRecord
from rosenblatt.learn.report import Report
from rosenblatt.planes.state import State


class Fitted(NamedTuple):
    """What was learned: the model that predicts, and the state that learning goes on from, if it can."""

    model: Any
    state: Any
    by_labels: bool
    contents: Any  # what its rows were, to resume training on the same ones


def fitted(estimator: Any) -> Fitted:
    """What this estimator has learned; all None before it is fitted.

    >>> from rosenblatt import Perceptron
    >>> fitted(Perceptron()).model is None
    True
    """
    held = vars(estimator)
    if isinstance(held.get("_state"), State):
        held.setdefault("_kept", estimator._kept)
    return Fitted(held.get("_kept"), held.get("_state"), bool(held.get("_by_labels", False)), held.get("_contents"))


def check_whole(model: Any) -> None:
    """Refuse a model whose parts do not fit together: compiled code would read outside them."""
    model._check_whole()


def renew(model: Any) -> None:
    """Make the arrays of a model that was read from a file read-only views of each other, as `fit` leaves them."""
    model._renew()


def with_state(model: Any, state: State, classes: Any, names: Any, rows: int, loss: float, seconds: float) -> Any:
    """An unfitted estimator as if it had learned this state, from `rows` rows whose mean loss was `loss`."""
    record = EpochRecord(state.epoch, state.updates, None, loss, seconds)
    learned = {
        "n_features_in_": state.width,
        "_state": state,
        "_by_labels": False,
        "n_iter_": state.epoch,
        "report_": Report(
            outcome="budget",
            epochs=(record,),
            updates=state.updates,
            radius=math.sqrt(state.radius2),
            seconds=seconds,
            rows=rows,
        ),
    }
    named = {"classes_": classes, "feature_names_in_": names}
    vars(model).update(learned | {name: value for name, value in named.items() if value is not None})
    return model
