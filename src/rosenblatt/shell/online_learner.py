"""The shell of all learners that go through their rows epoch by epoch: encode, plan, train, report, predict.

An estimator is a shell: parameters, their constraints, a docstring, and `_plan`. What depends on the solver is in the
solver, what depends on the model in the model, and how X and y become examples in `encoding`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted

from rosenblatt.compiled.row_arrays import Dense, Sparse, read_only
from rosenblatt.formats.declared_fields import must
from rosenblatt.learn.epochs import InMemory, Training
from rosenblatt.learn.examples import Examples, Facts
from rosenblatt.learn.labels import merge_labels
from rosenblatt.learn.models import Model, Planes, VotedPlanes
from rosenblatt.learn.orders import Shuffled
from rosenblatt.learn.plan import Plan, checked_order, class_count
from rosenblatt.learn.report import Report
from rosenblatt.planes.companions import Weights
from rosenblatt.planes.linear_plan import LinearPlan
from rosenblatt.planes.state import State
from rosenblatt.planes.undo_log import UndoLog
from rosenblatt.shell.encoding import CLASSES, PLAIN, Classes, Numbers, Reader, encode_examples
from rosenblatt.shell.fitted_attributes import (
    SHARED,
    check_assigned,
    check_attributes,
    check_linear,
    planes_now,
    protect,
)
from rosenblatt.shell.fitting import LEARNED, FromState, named_classes, one_epoch, shown, train
from rosenblatt.shell.held_out_scoring import ScoredRows, chosen_rows, given_rows
from rosenblatt.shell.parameters import Parameters, new_seed

Array = np.ndarray[Any, Any]
ROWS_AT_ONCE = 1 << 16
SPLIT = 1 << 32  # epoch numbers from here on seed the choice of held-out rows
SPARE = 8  # rows that store fewer values than one for so many features are scored by their own weights alone
PATIENT_EPOCHS = 10  # without a better score, if n_iter_no_change is None


class OnlineLearner(CallbackSupportMixin, Parameters):
    """What all learners share. A subclass defines `_plan`; some also have a reader of their own."""

    _state: Any
    _by_labels: bool
    report_: Report
    n_features_in_: int
    n_iter_: int
    classes_: Array
    _kept: Any = FromState()
    coef_: Array = FromState()  # type: ignore[assignment]
    intercept_: Array = FromState()  # type: ignore[assignment]
    # Parameters that not every learner has.
    order: Any = "shuffle"
    keep: str = "last"
    record_errors: bool = False
    multiclass: str = "ovr"
    early_stopping: bool = False
    validation_fraction: float = 0.1
    scoring: Any = None
    n_iter_no_change: Any  # scikit-learn takes an attribute of this name for a parameter, so there is no default
    class_weight: Any = None
    warm_start: bool = False
    max_epochs: int | None = None
    STORED = SHARED | {"_contents", "_kept", "_state", "coef_", "intercept_"}  # in a model file, beside the parameters
    several_labels: ClassVar[bool] = True  # whether y may be an indicator of labels
    ENCODED: ClassVar[tuple[str, ...]] = ("n_features_in_",)  # what a copy needs, beside a model, to predict
    _target: ClassVar[Classes | Numbers] = CLASSES
    _reader: Reader = PLAIN

    def _plan(self) -> Plan:
        """How to train, from the parameters alone."""
        raise NotImplementedError

    def _shared(self) -> dict[str, Any]:
        """The parameters that plans of all families share."""
        return {
            "order": checked_order(self.order),
            "keep": self.keep,
            "record_errors": self.record_errors,
            "multiclass": self.multiclass,
            "max_epochs": self.max_epochs,
        }

    # -- learning ------------------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any, weights: tuple[Any, Any], validation: tuple[Any, ...]) -> Any:
        """Prepare, train, conclude."""
        ready = prepare(self, X, y, sample_weight, weights, validation)
        with watched(self, ready.run.limit, X, y, ready.examples) as watch:
            for _ in train(self, ready.run, watch):
                pass
        return self

    def _one_more_epoch(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Any:
        """Make one epoch over these rows, after those of earlier calls."""
        plan = plan_of(self)
        if isinstance(self.class_weight, str):
            raise ValueError('class_weight="balanced" needs all rows at once; pass a mapping to partial_fit.')
        if self.early_stopping:
            raise ValueError("early_stopping needs all rows at once: use fit, not partial_fit.")
        first, undo = "_state" not in vars(self), None
        if not first:
            self._check_assigned()
            plan.refuse_change(self._state)
        known = None if first else vars(self).get("classes_")
        if classes is not None:
            named = named_classes(classes)
            known = named if known is None else merge_labels(known, named)
        dtype = None if first else self._state.dtype
        examples = learnable(self, plan, X, y, sample_weight, reset=first, dtype=dtype, known=known)
        source = InMemory(examples)
        if first:
            self._target.check_labels(examples)
            state = plan.new_state(source, new_seed(self.random_state))
        else:
            state, undo = self._state_for(examples, plan)
        one_epoch(self, plan.follow(state), source, undo)
        return self

    def _state_for(self, examples: Examples, plan: Plan) -> tuple[Any, UndoLog | None]:
        """The state to go on from, extended by new classes.

        It is a copy, stored once its epoch is complete; or the state itself, with a log to undo what the epoch does to
        it, where an epoch changes only what its rows touch.
        """
        classes, known = examples.classes, self._model_now.classes
        found = known if classes is None else classes.size
        if classes is not None:
            self._check_classes(plan, examples, known, found)
        if classes is None or known == found:
            local = isinstance(plan, LinearPlan) and plan.local and "_skl_callbacks" not in vars(self)
            if local and assigned_planes(self) is None:
                return self._state, UndoLog(self._state, examples.rows)
            return state_now(self, plan), None
        if not plan.grows:
            new = [label for label in classes.tolist() if label not in self.classes_.tolist()]
            raise ValueError(
                f"{type(self).__name__} got new classes {new}: name all classes in the first call of partial_fit."
            )
        places = np.searchsorted(classes, np.asarray(self.classes_))
        return plan.grown(state_now(self, plan), places, found, plan.scheme(found, False)), None

    def _check_classes(self, plan: Plan, examples: Examples, known: int, found: int) -> None:
        """Refuse labels for classes, another number of labels, and another way of handling several classes."""
        labels = examples.target.ndim == 2
        if labels != self._by_labels or (labels and known != found):
            raise ValueError(
                f"y has {found} {'label columns' if labels else 'classes'}, the model learned {known} "
                f"{'label columns' if self._by_labels else 'classes'}."
            )
        scheme = plan.scheme(found, labels)
        before = self._model_now.scheme
        if known > 2 and scheme != before:
            raise ValueError(f"multiclass was {before.name!r} in the first call and is now {scheme.name!r}.")

    # -- the model -----------------------------------------------------------------------------------------------------

    @property
    def _model_now(self) -> Any:
        """The model, or the state that it has not been formed from yet."""
        held = vars(self)
        return held["_kept"] if "_kept" in held or "_state" not in held else held["_state"]

    def _complete(self) -> OnlineLearner:
        """Itself, with the model formed."""
        for name in LEARNED if "_state" in vars(self) else ():
            with suppress(AttributeError):
                getattr(self, name)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """What a copy holds."""
        self._complete()
        held: dict[str, Any] = super().__getstate__()
        return held

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, whose `coef_` is a read-only view of its own planes.

        Its state is its own, because `partial_fit` changes it in place: the one given may be that of the original, in
        the memory of another process, or read-only.
        """
        super().__setstate__(state)
        if isinstance(vars(self).get("_state"), State):
            self._state = self._state.copy()
        self._renew()

    def _renew(self) -> None:
        """Make `coef_` and `intercept_` views of the planes again; values that a user assigned are left alone."""
        held = vars(self)
        kept = held.get("_kept")
        if isinstance(kept, Planes) and {"coef_", "intercept_"} <= held.keys():
            for name, plane in (("coef_", kept.coef), ("intercept_", kept.intercept)):
                shown = held[name]
                if isinstance(shown, np.ndarray) and np.array_equal(shown.reshape(np.shape(plane)), plane):
                    setattr(self, name, read_only(plane).reshape(shown.shape))
        protect(self, "support_", "dual_coef_")

    def _check_whole(self) -> None:
        """Refuse a model whose parts do not fit together: compiled code would read outside them."""
        check_attributes(self)
        if {"_kept", "_state"} & vars(self._complete()).keys():
            self._check_learned()

    def _check_learned(self) -> None:
        must("_state" in vars(self) or isinstance(self._kept, Planes | VotedPlanes), "planes or votes without a state")
        check_linear(self, self._reader.width(self), plan_of(self).second_order)

    def _check_assigned(self) -> None:
        """Refuse assigned attributes with which compiled code would read outside the model."""
        check_assigned(self, self._model_now, self._reader.width(self))

    def _known_rows(self, X: Any) -> Dense | Sparse:
        """Rows to predict, checked against the model."""
        if "_state" not in vars(self):
            check_is_fitted(self, "_kept")
        self._check_assigned()
        return self._reader.rows(self, X)[0]

    def _scores(self, X: Any) -> Array:
        """Scores by the model with the current `coef_` and `intercept_`, which users may have assigned."""
        rows, held = self._known_rows(X), vars(self)
        if isinstance(rows, Sparse) and not {"_kept", "coef_", "intercept_"} & held.keys():
            state, few = self._state, rows.columns.size < self._state.width // SPARE
            if few and state.selects:
                features, places = np.unique(rows.columns, return_inverse=True)
                places = read_only(places.reshape(-1).astype(rows.columns.dtype))
                return self._reader.scores(state.at(features).kept(), rows._replace(columns=places))
        kept = self._kept
        return self._reader.scores(planes_now(self, kept) if isinstance(kept, Planes) else kept, rows)

    def __sklearn_tags__(self) -> Any:
        """Sparse input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# -- from parameters and rows to training ------------------------------------------------------------------------------


def plan_of(learner: OnlineLearner) -> Any:
    """The plan of an estimator, whose parameters are checked."""
    learner._validate_params()
    return learner._plan()


def examples_of(
    learner: OnlineLearner, X: Any, y: Any, sample_weight: Any = None, class_weight: Any = None, **how: Any
) -> Examples:
    """X and y as examples, in the form that this learner reads them: see `encode_examples`."""
    return encode_examples(learner, learner._reader, learner._target, X, y, sample_weight, class_weight, **how)


def learnable(learner: OnlineLearner, plan: Plan, X: Any, y: Any, sample_weight: Any, **how: Any) -> Examples:
    """X and y as examples that the plan can learn."""
    found = examples_of(learner, X, y, sample_weight, learner.class_weight, **how)
    n = found.target.shape[0]
    if found.target.ndim == 2 and not learner.several_labels:
        raise ValueError(
            f"Unknown label type: multilabel-indicator. {type(learner).__name__} learns one class per row; y has "
            f"{found.target.shape[1]} columns."
        )
    if not isinstance(plan.order, str) and plan.order.size and plan.order.max() >= n:
        raise ValueError(f"order names row {int(plan.order.max())}, X has {n} rows.")
    return found


@dataclass(frozen=True)
class Prepared:
    """Training that is about to begin.

    Attributes
    ----------
    run : Training
    examples : Examples
        All of them; those that are held out too.
    """

    run: Training
    examples: Examples


def prepare(
    learner: OnlineLearner,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    weights: tuple[Any, Any] = (None, None),
    validation: tuple[Any, Any, Any] = (None, None, None),
    known: Any = None,
) -> Prepared:
    """Check the parameters, encode the rows, hold some out, and choose the solver.

    Parameters
    ----------
    weights : pair
        `coef_init` and `intercept_init`.
    validation : triple
        `X_val`, `y_val` and `sample_weight_val`.
    known : ndarray, optional
        Classes to expect, whether or not they are in y.
    """
    plan = plan_of(learner)
    examples = learnable(learner, plan, X, y, sample_weight, known=known)
    learner._target.check(type(learner).__name__, examples)
    given = (
        given_rows(learner, learner._reader, examples, *validation)
        if any(one is not None for one in validation)
        else None
    )
    whole, seed = InMemory(examples), new_seed(learner.random_state)
    solver = plan.start(whole, seed, _initial(learner, plan, whole.facts, *weights))
    limit = plan.limit(whole.facts)
    if not learner.early_stopping:
        return Prepared(Training(solver, whole, limit), examples)
    training, held_out = (examples, None) if given else split(examples, learner.validation_fraction, seed)
    score: Callable[[Any], float] | None = None
    if held_out is not None and learner.scoring is None:
        score = functools.partial(learner._target.score, examples=examples, rows=held_out)
    elif held_out is not None:
        given = chosen_rows(X, y, sample_weight, held_out)
    if given is not None:
        score = ScoredRows(learner, functools.partial(fitted_attributes, learner, examples=examples), given)
    source = whole if held_out is None else InMemory(training)
    patience = learner.n_iter_no_change or PATIENT_EPOCHS
    return Prepared(Training(solver, source, limit, [], score, patience), examples)


def split(examples: Examples, fraction: float, seed: int) -> tuple[Examples, Array]:
    """Rows to learn from, and rows to score on, stratified by class."""
    n, present = examples.target.shape[0], examples.present
    held, shares = np.zeros(n, dtype=bool), range(1)
    grouped = examples.classes is not None and examples.target.ndim == 1
    if grouped:
        shares = range(examples.classes.size)  # type: ignore[union-attr]
    for k in shares:
        group = np.arange(n) if present is None else present
        if grouped:
            group = np.flatnonzero(examples.target == k) if present is None else present[examples.target[present] == k]
        # At least one row per class is left to learn from. The order is made in parts, so that Ctrl-C is handled.
        count = min(math.ceil(fraction * group.size), group.size - 1)
        order = Shuffled(int(group.size), seed)
        for begin in range(0, count, ROWS_AT_ONCE):
            held[group[order.piece(SPLIT + k, begin, min(begin + ROWS_AT_ONCE, count))]] = True
    held_out = np.flatnonzero(held).astype(np.uint64)
    if held_out.size < (1 if grouped else 2):
        raise ValueError(
            f"validation_fraction={fraction} holds out {held_out.size} of {examples.size} rows: too few to score on, "
            "because every class needs a row to learn from."
        )
    if present is not None:
        held[examples.weights == 0] = True
    return examples.only(np.flatnonzero(~held).astype(np.uint64)), held_out


def _initial(learner: OnlineLearner, plan: Plan, facts: Facts, coef_init: Any, intercept_init: Any) -> Weights | None:
    """The weights to start from, given or those of the last fit; None for the plan's own start."""
    if coef_init is None and intercept_init is None:
        if not (learner.warm_start and "_state" in vars(learner)):
            return None
        warm = state_now(learner, plan).last()
        shape = (plan.scheme_of(facts).planes(class_count(facts)), facts.n_features)
        if warm.coef.shape != shape:
            raise ValueError(
                f"warm_start: the model has coefficients of shape {warm.coef.shape}, these data need {shape}. Fit with "
                "warm_start=False."
            )
        coef_init, intercept_init = warm.coef, warm.intercept
    planes = plan.scheme_of(facts).planes(class_count(facts))
    coef = initial_values("coef_init", coef_init, (planes, facts.n_features))
    return Weights(coef, initial_values("intercept_init", intercept_init, (planes,)))


def initial_values(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """An initial value, checked; zeros when it is not given."""
    if value is None:
        return np.zeros(shape)
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}.") from error
    if array.ndim < len(shape) or (array.ndim == 0 and shape == (1,)):
        array = array.reshape(shape) if array.size == np.prod(shape) else array
    if array.shape != shape:
        hint = ""
        if name == "coef_init" and array.size == np.prod(shape) + shape[0]:
            hint = " The intercept is not part of it: pass it as intercept_init."
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}.{hint}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity at {np.argwhere(~np.isfinite(array))[0].tolist()}.")
    return array


def assigned_planes(learner: OnlineLearner) -> Planes | None:
    """The planes with the `coef_` and `intercept_` that a user assigned; None if they are those that were learned."""
    if not {"_kept", "coef_", "intercept_"} & vars(learner).keys():
        return None
    kept = learner._kept
    now = planes_now(learner, kept) if isinstance(kept, Planes) and isinstance(learner._state, State) else kept
    return None if now is kept else now


def state_now(learner: OnlineLearner, plan: Plan) -> Any:
    """A copy of the state to continue from; it starts at `coef_` and `intercept_` if a user assigned them."""
    now, state = assigned_planes(learner), learner._state
    if now is None:
        return state.copy()
    facts = Facts(now.width, vars(learner).get("classes_"), learner._by_labels, state.dtype, 0, 0.0, 0, 0.0)
    given: Any = SimpleNamespace(facts=facts)
    start = Weights(np.asarray(now.coef, np.float64), np.asarray(now.intercept, np.float64))
    new = plan.new_state(given, new_seed(learner.random_state), start)
    new.seed, new.epoch, new.radius2, new.from_zero = state.seed, state.epoch, state.radius2, False
    return new


def fitted_attributes(learner: OnlineLearner, kept: Model, examples: Examples) -> dict[str, Any]:
    """The attributes with which a copy of this estimator predicts as this model does."""
    found = {name: vars(learner)[name] for name in learner.ENCODED} | {"_kept": kept}
    found |= shown(kept, numbers=examples.classes is None)
    if examples.classes is not None:
        found |= {"classes_": examples.classes, "_by_labels": examples.target.ndim == 2}
    return found


# -- scikit-learn's callbacks ------------------------------------------------------------------------------------------


def watched(learner: OnlineLearner, limit: int, X: Any, y: Any, examples: Examples) -> AbstractContextManager[Any]:
    """scikit-learn's callback protocol, for a fit of at most `limit` epochs; does nothing without callbacks."""
    if not (vars(learner).get("_skl_callbacks") or "_parent_callback_ctx" in vars(learner)):
        return nullcontext()
    return _watched(learner, limit, X, y, examples)


@contextmanager
def _watched(learner: OnlineLearner, limit: int, X: Any, y: Any, examples: Examples) -> Iterator[Callable[[Any], bool]]:
    """One task per fit, one subtask per epoch."""
    context = learner._init_callback_context(max_subtasks=limit)
    context.call_on_fit_task_begin(estimator=learner, X=X, y=y)

    def watch(solver: Any) -> bool:
        def attributes() -> dict[str, Any]:
            return fitted_attributes(learner, solver.snapshot(), examples)

        subtask = context.subcontext(task_name="epoch")
        subtask.call_on_fit_task_begin(estimator=learner, X=X, y=y)
        return bool(subtask.call_on_fit_task_end(estimator=learner, X=X, y=y, reconstruction_attributes=attributes))

    yield watch
    context.call_on_fit_task_end(estimator=learner, X=X, y=y)
