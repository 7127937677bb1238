"""What all learners share: validate, encode, train, conclude."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from rosenblatt.data.arrow_checks import check_buffers
from rosenblatt.data.declared_fields import must
from rosenblatt.data.examples import NARROW, Dense, Examples, Facts, Sparse, radius2, read_only
from rosenblatt.data.row_checks import encode_rows
from rosenblatt.data.row_weights import encode_weights
from rosenblatt.estimators.base.fitted_attributes import (
    SHARED,
    check_assigned,
    check_attributes,
    check_linear,
    planes_now,
    protect,
)
from rosenblatt.estimators.base.fitting import check_width, train, validated
from rosenblatt.estimators.base.held_out_scoring import ScoredRows, chosen_rows, given_rows
from rosenblatt.estimators.base.report import Report, scanned
from rosenblatt.learn.epochs import InMemory, Source, Training
from rosenblatt.learn.evaluation import Measure
from rosenblatt.learn.models import Model, Planes, VotedPlanes
from rosenblatt.learn.online.rules import squared_bias_feature
from rosenblatt.learn.online.solver import LinearSolver, OnlineSolver, Plan, default_epochs, new_state, start_from
from rosenblatt.learn.orders import Shuffled
from rosenblatt.learn.schemes import Scheme

Array = np.ndarray[Any, Any]
ROWS_AT_ONCE = 1 << 16
SIMPLE, MOST_VALIDATED = frozenset([type(None), bool, int, float, str]), 10_000
_validated: set[tuple[Any, ...]] = set()  # values of parameters that were found valid
LARGEST_SEED = int(np.iinfo(np.int32).max)
SPLIT = 1 << 32  # epoch numbers from here on seed the choice of held-out rows


class OnlineLearner(CallbackSupportMixin, BaseEstimator):
    """What all learners that go through their examples epoch by epoch share.

    A subclass defines `_plan` and, if it is not a linear model, also `_new_state`, `_solver` and `_conclude`.
    """

    _state: Any
    _kept: Any
    _by_labels: bool
    report_: Report
    n_features_in_: int
    n_iter_: int
    coef_: Array
    intercept_: Array
    max_epochs: int | None
    early_stopping: bool
    validation_fraction: float
    scoring: Any
    n_iter_no_change: int
    random_state: Any
    STORED = SHARED | {"_contents", "_kept", "_state", "coef_", "intercept_"}  # in a model file, beside the parameters
    _needs_memory: str | None = None  # why it needs all rows at once, if it does
    _needs_radius = False  # whether max‖x‖ must be known before the first step
    _takes_labels = True  # whether y may be an indicator of labels
    _widens_rows = False  # whether rows of 16 and 8 bits are stored as given, and widened in blocks

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

    # -- defined by subclasses ----------------------------------------------------------------------------------------

    def _why_memory(self) -> str | None:
        """The reason why `rosenblatt.fit` cannot train it from files; None if it can."""
        return self._needs_memory

    def _why_unmixed(self) -> str | None:
        """The reason, apart from its plan, why `rosenblatt.fit` cannot train it in shards; None if it can."""
        return None

    def _plan(self) -> Plan:
        raise NotImplementedError

    def _encode_target(self, y: Any, rows: Any, weights: Array | None, known: Array | None) -> tuple[Any, ...]:
        raise NotImplementedError

    def _scheme(self, classes: int, labels: bool) -> Scheme:
        raise NotImplementedError

    def _held_out_score(self, kept: Any, examples: Examples, rows: Array) -> float:
        raise NotImplementedError

    def _solver(self, plan: Plan, state: Any) -> Any:
        """The solver, starting from this state."""
        return OnlineSolver(plan, state)

    def _solver_for(self, facts: Facts, plan: Plan, state: Any) -> Any:
        """The solver for rows that are all in memory."""
        return self._solver(plan, state)

    def _held_out_patience(self) -> float:
        """Epochs without a better score on held-out rows before training stops."""
        return float(getattr(self, "n_iter_no_change", math.inf))

    def _limit(self, plan: Plan, facts: Facts) -> int:
        """The maximum number of epochs."""
        return self.max_epochs or default_epochs(facts.stored, plan.keep)

    # -- encoding ----------------------------------------------------------------------------------------------------

    def _rows(self, X: Any, reset: bool = False, dtype: Any = None) -> tuple[Dense | Sparse, float]:
        """X, validated by scikit-learn and by `Examples`; narrow types are widened to 32 bits."""
        plain = type(X) in (np.ndarray, np.memmap)
        if dtype is None and plain and X.dtype.itemsize <= 2 and X.dtype.name in NARROW:
            if self._widens_rows and X.ndim == 2 and X.size:
                check_width(self, X, reset)
                return encode_rows(X)
            dtype = np.float32
        X = validated(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=_types(X, plain) if dtype is None else dtype,
            ensure_all_finite=False,
        )
        return encode_rows(X)

    def _examples(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, dtype: Any = None, known: Array | None = None
    ) -> Examples:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        rows, reach = self._rows(X, reset, dtype)
        n = int(rows.values.shape[0] if isinstance(rows, Dense) else rows.starts.size - 1)
        if not (type(y) is np.ndarray and y.shape[:1] == (n,)):
            check_buffers(y, "y")
            check_consistent_length(X, y)
        weights = None if sample_weight is None else encode_weights(sample_weight, n)
        target, classes, weights = self._encode_target(y, rows, weights, known)
        present = None
        if weights is not None and not weights.all():
            present = np.flatnonzero(weights).astype(np.uint64)
            if isinstance(rows.values, np.ndarray):
                reach = radius2(rows, present)  # computed over all rows if they are used unconverted
        return Examples(rows, int(self.n_features_in_), target, classes, weights, present, reach)

    def _check_rows(self, plan: Plan, examples: Examples) -> None:
        """Refuse labels that it cannot learn, and an explicit order that names rows that do not exist."""
        n = examples.target.shape[0]
        if examples.target.ndim == 2 and not self._takes_labels:
            raise ValueError(
                f"Unknown label type: multilabel-indicator. {type(self).__name__} learns one class per row; y has "
                f"{examples.target.shape[1]} columns."
            )
        if not isinstance(plan.order, str) and plan.order.size and plan.order.max() >= n:
            raise ValueError(f"order names row {int(plan.order.max())}, X has {n} rows.")

    def _begins(self, plan: Plan) -> bool:
        """Whether a call of `partial_fit` is the first; if not, refuses parameters that must not change."""
        if self.early_stopping:
            raise ValueError("early_stopping needs all rows at once: use fit, not partial_fit.")
        if not hasattr(self, "_state"):
            return True
        self._check_assigned()
        if self._state.keep != plan.keep:
            raise ValueError(f"keep was {self._state.keep!r} in the first call and is now {plan.keep!r}.")
        full = self._state.machines[0].full
        if plan.rule.order == 2 and plan.rule.full != full:  # type: ignore[union-attr]
            raise ValueError(f"covariance was {'full' if full else 'diagonal'} in the first call and must not change.")
        bias = self._state.bias  # the initial variance, for a second-order rule
        if plan.rule.order == 2 and self._state.epoch and bias != squared_bias_feature(plan.bias, 0.0):
            was = f"bias_step was {bias:g}" if bias else "there was no bias"
            raise ValueError(f"{was} in the first call: fit_intercept and bias_step must not change.")
        return False

    # -- training ----------------------------------------------------------------------------------------------------

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        validation: Any = (None, None, None),
    ) -> Any:
        """Prepare, train, conclude; `validation` is X_val, y_val and sample_weight_val."""
        self._validate_params()
        plan = self._plan()
        examples = self._examples(X, y, sample_weight, reset=True)
        self._check_rows(plan, examples)
        self._check_classes(examples)
        given = given_rows(self, examples, *validation) if any(one is not None for one in validation) else None
        whole = InMemory(examples)
        state = self._new_state(whole, plan, coef_init, intercept_init)
        training, held_out = (examples, None) if given else self._split(examples, state.seed)
        score: Callable[[Any], float] | None = None
        if held_out is not None and self.scoring is None:
            score = functools.partial(self._held_out_score, examples=examples, rows=held_out)
        elif held_out is not None:
            given = chosen_rows(X, y, sample_weight, held_out)
        if given is not None:
            score = ScoredRows(self, examples, given)
        limit = self._limit(plan, whole.facts)
        solver = self._solver_for(whole.facts, plan, state)
        source = whole if held_out is None else InMemory(training)
        run = Training(solver, source, limit, [], score, self._held_out_patience())
        with self._callbacks(limit, X, y, examples) as watch:
            for _ in train(self, run, watch):
                pass
        return self

    def _check_classes(self, examples: Examples) -> None:
        """Refuse targets that cannot be learned."""

    def _measure(self, run: Training) -> Measure | None:
        """The loss to measure in the final scan; its mean is the report's `objective`."""
        return None

    def _conclude(self, run: Training, report: Report) -> Report:
        """The report after a scan of all rows."""
        return scanned(report, self._plan_of(run), run.solver, run.source, self._kept, self._measure(run))

    def _plan_of(self, run: Training) -> Plan:
        """The plan that a run follows."""
        return run.solver.plan if isinstance(run.solver, LinearSolver) else self._plan()

    def _complaint(self, report: Report) -> str:
        """The warning to issue when the budget is spent."""
        return (
            f"{type(self).__name__} spent its budget of {report.n_epochs} epochs with {report.errors:,} of "
            f"{report.rows:,} training rows wrong. More epochs (max_epochs) help only if rows can be separated."
        )

    def _split(self, examples: Examples, seed: int) -> tuple[Examples, Array | None]:
        """Rows to learn from, and rows to score on, stratified by class."""
        if not getattr(self, "early_stopping", False):
            return examples, None
        n, present = examples.target.shape[0], examples.present
        held, shares = np.zeros(n, dtype=bool), range(1)
        grouped = examples.classes is not None and examples.target.ndim == 1
        if grouped:
            shares = range(examples.classes.size)  # type: ignore[union-attr]
        for k in shares:
            group = np.arange(n) if present is None else present
            if grouped:
                group = (
                    np.flatnonzero(examples.target == k) if present is None else present[examples.target[present] == k]
                )
            # At least one row per class is left to learn from. The order is made in parts, so that Ctrl-C is handled.
            count = min(math.ceil(self.validation_fraction * group.size), group.size - 1)
            order = Shuffled(int(group.size), seed)
            for begin in range(0, count, ROWS_AT_ONCE):
                held[group[order.piece(SPLIT + k, begin, min(begin + ROWS_AT_ONCE, count))]] = True
        held_out = np.flatnonzero(held).astype(np.uint64)
        if held_out.size < (1 if grouped else 2):
            raise ValueError(
                f"validation_fraction={self.validation_fraction} holds out {held_out.size} of {examples.size} rows: "
                "too few to score on, because every class needs a row to learn from."
            )
        if present is not None:
            held[examples.weights == 0] = True
        return examples.only(np.flatnonzero(~held).astype(np.uint64)), held_out

    def _publish(self, kept: Any) -> None:
        if isinstance(kept, Planes):
            self.coef_, self.intercept_ = read_only(kept.coef), read_only(kept.intercept)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, whose `coef_` is a read-only view of its own planes."""
        super().__setstate__(state)
        self._show_planes()

    def _show_planes(self) -> None:
        """Make `coef_` and `intercept_` views of the planes again; values that a user assigned are left alone."""
        held = vars(self)
        kept = held.get("_kept")
        if isinstance(kept, Planes) and {"coef_", "intercept_"} <= held.keys():
            for name, plane in (("coef_", kept.coef), ("intercept_", kept.intercept)):
                shown = held[name]
                if isinstance(shown, np.ndarray) and np.array_equal(shown.reshape(np.shape(plane)), plane):
                    setattr(self, name, read_only(plane).reshape(shown.shape))
        protect(self, "support_", "dual_coef_")

    def _state_now(self, plan: Plan) -> Any:
        """A copy of the state to continue from; it starts at `coef_` and `intercept_` if a user assigned them."""
        kept = self._kept
        now = planes_now(self, kept) if isinstance(kept, Planes) else kept
        if now is kept:
            return self._state.copy()
        facts = Facts(kept.width, vars(self).get("classes_"), self._by_labels, self._state.dtype, 0, 0.0, 0, 0.0)
        given: Any = SimpleNamespace(facts=facts)
        state = self._new_state(given, plan, now.coef, now.intercept)
        state.seed, state.epoch, state.radius2 = self._state.seed, self._state.epoch, self._state.radius2
        state.from_zero = False
        return state

    def _callbacks(self, limit: int, X: Any, y: Any, examples: Examples) -> AbstractContextManager[Any]:
        """scikit-learn's callback protocol, for a fit of at most `limit` epochs; does nothing without callbacks."""
        if not getattr(self, "_skl_callbacks", None) and not hasattr(self, "_parent_callback_ctx"):
            return nullcontext()
        return self._watched(limit, X, y, examples)

    @contextmanager
    def _watched(self, limit: int, X: Any, y: Any, examples: Examples) -> Iterator[Callable[[Any], bool]]:
        """One task per fit, one subtask per epoch."""
        context = self._init_callback_context(max_subtasks=limit)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)

        def watch(solver: Any) -> bool:
            def attributes() -> dict[str, Any]:
                return self._attributes(solver.model(), examples)

            subtask = context.subcontext(task_name="epoch")
            subtask.call_on_fit_task_begin(estimator=self, X=X, y=y)
            return bool(subtask.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes=attributes))

        yield watch
        context.call_on_fit_task_end(estimator=self, X=X, y=y)

    def _attributes(self, kept: Any, examples: Examples) -> dict[str, Any]:
        """The attributes with which a copy of this estimator predicts as this model does."""
        found: dict[str, Any] = {"_kept": kept, "n_features_in_": self.n_features_in_}
        if isinstance(kept, Planes):
            found |= {"coef_": kept.coef, "intercept_": kept.intercept}
        if examples.classes is not None:
            found |= {"classes_": examples.classes, "_by_labels": examples.target.ndim == 2}
        return found

    def _new_seed(self) -> int:
        """One whole number from `random_state`."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(LARGEST_SEED))

    def _new_state(self, source: Source, plan: Plan, coef_init: Any = None, intercept_init: Any = None) -> Any:
        """The state at the start."""
        facts = source.facts
        classes = 1 if facts.classes is None else int(facts.classes.size)
        state = new_state(facts, plan, self._scheme(classes, facts.by_labels), classes, self._new_seed())
        warmed = getattr(self, "warm_start", False) and hasattr(self, "_state")
        if coef_init is None and intercept_init is None and not warmed:
            return state
        planes = sum(machine.intercept.size for machine in state.machines)
        if coef_init is None and intercept_init is None:
            warm = self._state_now(plan).last()
            if warm.coef.shape != (planes, facts.n_features):
                raise ValueError(
                    f"warm_start: the model has coefficients of shape {warm.coef.shape}, these data need "
                    f"{(planes, facts.n_features)}. Fit with warm_start=False."
                )
            coef_init, intercept_init = warm.coef, warm.intercept
        coef = given("coef_init", coef_init, (planes, facts.n_features))
        intercept = given("intercept_init", intercept_init, (planes,))
        if plan.rule.order == 2 and plan.bias == "none" and intercept.any():
            raise ValueError(
                f"{type(self).__name__}(fit_intercept=False) learns planes through the origin: intercept {intercept} "
                "must be 0."
            )
        start_from(state, coef, intercept)
        return state

    # -- model files -------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Make the planes read-only views again."""
        self._show_planes()

    def _check_whole(self) -> None:
        """Refuse a model whose parts do not fit together: compiled code would read outside them."""
        check_attributes(self)
        if "_kept" in vars(self) or "_state" in vars(self):
            self._check_learned()

    def _check_learned(self) -> None:
        must("_state" in vars(self) or isinstance(self._kept, Planes | VotedPlanes), "planes or votes without a state")
        check_linear(self, self._width(), self._plan().rule.order == 2)

    def _width(self) -> int:
        """The number of features of the planes."""
        return self.n_features_in_

    # -- use ---------------------------------------------------------------------------------------------------------

    def _check_assigned(self) -> None:
        """Refuse assigned attributes with which compiled code would read outside the model."""
        check_assigned(self, self._kept, self._width())

    def _known_rows(self, X: Any) -> Dense | Sparse:
        """Rows to predict, checked against the model."""
        check_is_fitted(self, "_kept")
        self._check_assigned()
        return self._rows(X)[0]

    def _scores(self, X: Any) -> Array:
        rows = self._known_rows(X)
        n = rows.values.shape[0] if isinstance(rows, Dense) else rows.starts.size - 1
        return self._kept_now(rows).scores(rows, np.arange(n, dtype=np.uint64))

    def _answer(self, found: Array, X: Any) -> Array:
        """The return value for X; a learner may move it to X's device."""
        return found

    def _kept_now(self, rows: Any) -> Model:
        """The model with the current `coef_` and `intercept_`, which users may have assigned."""
        kept = self._kept
        return kept if isinstance(kept, VotedPlanes) else planes_now(self, kept)

    def __sklearn_tags__(self) -> Any:
        """Sparse input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# Parameter names of textbooks and other libraries, and the corresponding names here.
ALIASES = {
    **dict.fromkeys(("eta", "eta0"), ("learning_rate", "learning_rate_init")),
    **dict.fromkeys(("n_iter", "max_iter"), ("max_epochs",)),
}


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


def _types(X: Any, plain: bool) -> Any:
    """The dtypes to convert to; scikit-learn recognises the dtype of an array, but not of every frame."""
    kinds = None if plain else getattr(X, "dtypes", None)
    narrow = kinds is not None and len(kinds) and all(str(kind).lower() == "float32" for kind in kinds)
    return np.float32 if narrow else [np.float64, np.float32]


def given(name: str, value: Any, shape: tuple[int, ...]) -> Array:
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
