"""What all online learners share: validate, encode, drive the training, attach the report."""

from __future__ import annotations

import functools
import inspect
import math
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from rosenblatt.data.errors import NotFiniteError
from rosenblatt.data.examples import (
    Dense,
    Examples,
    Sparse,
    encode_rows,
    encode_weights,
    radius2,
)
from rosenblatt.data.frames import check_buffers
from rosenblatt.estimators.consistency import check_assigned, check_attributes, check_online, must, planes_now
from rosenblatt.estimators.report import Report, looked_at, unseen
from rosenblatt.estimators.validation import validated
from rosenblatt.learn.finite import check_state, largest
from rosenblatt.learn.kept import Ballot, Kept, Planes
from rosenblatt.learn.machines import Piece, State
from rosenblatt.learn.orders import Shuffled
from rosenblatt.learn.records import Records
from rosenblatt.learn.training import (
    EpochRecord,
    Plan,
    confirmed,
    epochs,
    new_state,
    problems,
    start_from,
)

Array = np.ndarray[Any, Any]
ROWS_AT_ONCE = 1 << 16
SPLIT = 1 << 32  # "epochs" from here on give the orders in which rows are held out
Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(method: Method) -> Method:
    """A call that raises leaves the estimator as it was; one that is interrupted keeps its last whole epoch.

    An overflow is told with the row and the column of the largest value of X.
    """

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(self.__dict__)
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            kept = self.__dict__.get("_kept") is not before.get("_kept")
            if not (isinstance(error, KeyboardInterrupt) and kept):
                self.__dict__.clear()
                self.__dict__.update(before)
            if isinstance(error, NotFiniteError) and error.place is None:
                given = inspect.signature(method).bind(self, *args, **kwargs).arguments
                raise error.at(largest(given["X"], given.get("sample_weight"))) from None
            raise

    return guarded  # type: ignore[return-value]


class OnlineLearner(CallbackSupportMixin, BaseEstimator):
    """What all online learners share. A subclass has `_plan`, and the parameters that `_drive` reads."""

    _state: State
    _kept: Kept
    _by_labels: bool
    report_: Report
    n_features_in_: int
    n_iter_: int
    coef_: Array
    intercept_: Array
    max_epochs: int | None
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    random_state: Any
    _needs_memory: str | None = "its training has not been taught to go through a file piece by piece"  # None: it has

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        """As scikit-learn has them, read from the signature once: a call of `partial_fit` asks again and again."""
        return list(super()._get_param_names())

    def _take(self, values: dict[str, Any]) -> None:
        """Set each parameter of `__init__` from its local of the same name."""
        for name in self._get_param_names():
            setattr(self, name, values[name])

    # -- for subclasses to say ---------------------------------------------------------------------------------------

    def _why_memory(self) -> str | None:
        """Why `rosenblatt.fit` cannot train it from files; None where it can."""
        return self._needs_memory

    def _plan(self) -> Plan:
        raise NotImplementedError

    def _encode_target(self, y: Any, rows: Any, weights: Array | None, known: Array | None) -> tuple[Any, ...]:
        raise NotImplementedError

    def _scheme(self, classes: int, labels: bool) -> str:
        raise NotImplementedError

    def _held_out_score(self, kept: Kept, examples: Examples, rows: Array) -> float:
        raise NotImplementedError

    def _epochs(
        self, examples: Examples, plan: Plan, state: State, restore: bool = True
    ) -> Generator[EpochRecord, None, None]:
        """The training to drive; of a copy of a state nobody wants to restore anything."""
        return epochs(examples, plan, state, restore)

    # -- encoding ----------------------------------------------------------------------------------------------------

    def _rows(self, X: Any, reset: bool = False, dtype: Any = None) -> tuple[Dense | Sparse, float]:
        """X, checked by scikit-learn's contract and ours."""
        X = validated(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=_types(X) if dtype is None else dtype,
            ensure_all_finite=False,
        )
        return encode_rows(X)

    def _examples(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, dtype: Any = None, known: Array | None = None
    ) -> Examples:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        rows, reach = self._rows(X, reset, dtype)
        check_buffers(y, "y")
        check_consistent_length(X, y)
        n = int(rows.values.shape[0] if isinstance(rows, Dense) else rows.starts.size - 1)
        weights = encode_weights(sample_weight, n)
        target, classes, weights = self._encode_target(y, rows, weights, known)
        present = None
        if weights is not None and not weights.all():
            present = np.flatnonzero(weights).astype(np.uint64)
            reach = radius2(rows, present)
        return Examples(rows, int(self.n_features_in_), target, classes, weights, present, reach)

    def _check_rows(self, plan: Plan, examples: Examples) -> None:
        """An explicit order must name rows that are there."""
        if not isinstance(plan.order, str):
            n = examples.target.shape[0]
            if plan.order.size and plan.order.max() >= n:
                raise ValueError(f"order names row {int(plan.order.max())}, X has {n} rows.")

    def _begins(self, plan: Plan) -> bool:
        """Whether a call of `partial_fit` is the first; if not, some choices have been made for good."""
        if self.early_stopping:
            raise ValueError("early_stopping needs all rows at once: use fit, not partial_fit.")
        if not hasattr(self, "_state"):
            return True
        self._check_assigned()
        if self._state.keep != plan.keep:
            raise ValueError(f"keep was {self._state.keep!r} in the first call and is now {plan.keep!r}.")
        full = self._state.machines[0].spread.ndim == 3
        if plan.rule.order == 2 and plan.rule.full != full:  # type: ignore[union-attr]
            raise ValueError(f"covariance was {'full' if full else 'diagonal'} in the first call and is now another.")
        return False

    # -- training ----------------------------------------------------------------------------------------------------

    def _drive(self, examples: Examples, plan: Plan, state: State, limit: int, X: Any = None, y: Any = None) -> None:
        """Run the training generator, and keep what it leaves."""
        began = time.perf_counter()
        records: list[EpochRecord] = []
        training, held_out = self._split(examples, state.seed)
        best: tuple[float, State, int] | None = None
        outcome, waited = "budget", 0
        with self._callbacks(limit, X, y, examples) as watcher:
            steps = self._epochs(training, plan, state)
            try:
                for record in steps:
                    records.append(record)  # before it is scored: Ctrl-C may come then, and the epoch is whole
                    if held_out is not None:
                        score = self._held_out_score(state.kept(plan.rule), examples, held_out)
                        records[-1] = record = replace(record, score=score)
                        waited += 1
                        if best is None or score > best[0]:
                            best, waited = (score, state.copy(), len(records)), 0
                    asked = watcher(record, state, plan)
                    if record.converged:
                        outcome = "converged"
                        break
                    if asked or (best is not None and waited >= self.n_iter_no_change):
                        outcome = "early"
                        break
                    if len(records) >= limit:
                        break
                if best is not None and best[2] < len(records):
                    outcome, state = "early", best[1]
                if plan.rule.order == 2 or state.keep == "vote":
                    check_state(state)  # of others the scores of the scan below tell
                self._keep(state, plan, examples, records, began, "interrupted")
                if outcome == "budget" and self._clean(training, plan, state):
                    outcome = "converged"
                report = looked_at(outcome, records, training, plan, state, self._kept, time.perf_counter() - began)
            except KeyboardInterrupt:
                if records:
                    with suppress(NotFiniteError):
                        check_state(state)
                        self._keep(state, plan, examples, records, began, "interrupted")
                raise
            finally:
                steps.close()
            self.report_ = report
        self._warn(report)

    def _one_epoch(self, examples: Examples, plan: Plan, state: State) -> None:
        began = time.perf_counter()
        steps = self._epochs(examples, plan, state, restore=False)
        record = next(steps)
        steps.close()
        if record.updates:
            check_state(state)
        before = self.report_.epochs if hasattr(self, "_state") else ()
        outcome = "converged" if record.converged else "budget"
        self._keep(state, plan, examples, Records.of(before).after(record), began, outcome)

    def _clean(self, training: Examples, plan: Plan, state: State) -> bool:
        """Whether the last iterate, though its last epoch made updates, has every row above its margin."""
        tasks = problems(training, state.scheme, state.classes)
        return all(
            confirmed(machine, problem, plan, state)
            for machine, problem in zip(state.machines, tasks, strict=True)
            if problem.size
        )

    def _split(self, examples: Examples, seed: int) -> tuple[Examples, Array | None]:
        """Rows to learn from, and rows to score on, of each class its share."""
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
            # Of every class a row stays to learn from. The order is made piece by piece, so that Ctrl-C is heard.
            count = min(math.ceil(self.validation_fraction * group.size), group.size - 1)
            order = Shuffled(int(group.size), seed)
            for begin in range(0, count, ROWS_AT_ONCE):
                held[group[order.piece(SPLIT + k, begin, min(begin + ROWS_AT_ONCE, count))]] = True
        held_out = np.flatnonzero(held).astype(np.uint64)
        if held_out.size < (1 if grouped else 2):
            raise ValueError(
                f"validation_fraction={self.validation_fraction} holds out {held_out.size} of {examples.size} rows: "
                "too few to score, where every class keeps a row to learn from."
            )
        if present is not None:
            held[examples.weights == 0] = True
        return examples.only(np.flatnonzero(~held).astype(np.uint64)), held_out

    def _keep(
        self, state: State, plan: Plan, examples: Examples, records: Sequence[EpochRecord], began: float, outcome: str
    ) -> None:
        """Put the model into its attributes."""
        self._state, self._kept = state, state.kept(plan.rule)
        self._by_labels = examples.target.ndim == 2
        if examples.classes is not None:
            self.classes_ = examples.classes
        self.n_iter_ = len(records)
        self.report_ = unseen(outcome, records, examples, state, time.perf_counter() - began)
        self._publish(self._kept)

    def _publish(self, kept: Kept) -> None:
        if isinstance(kept, Planes):
            self.coef_, self.intercept_ = kept.coef, kept.intercept

    def _warn(self, report: Report) -> None:
        if report.outcome == "budget":
            warnings.warn(
                f"{type(self).__name__} spent its budget of {len(report.epochs)} epochs with {report.errors:,} of "
                f"{report.rows:,} training rows wrong. More epochs (max_epochs) help only if rows can be separated.",
                ConvergenceWarning,
                stacklevel=6,  # whoever called `fit`: it has two decorators
            )

    @contextmanager
    def _callbacks(self, limit: int, X: Any, y: Any, examples: Examples) -> Iterator[Callable[..., bool]]:
        """scikit-learn's callback protocol: one task a fit, one subtask an epoch; nothing when nobody watches."""
        if not getattr(self, "_skl_callbacks", None) and not hasattr(self, "_parent_callback_ctx"):
            yield lambda record, state, plan: False
            return
        context = self._init_callback_context(max_subtasks=limit)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)

        def watcher(record: EpochRecord, state: State, plan: Plan) -> bool:
            attributes = functools.partial(self._attributes, state, plan, examples)
            subtask = context.subcontext(task_name="epoch")
            subtask.call_on_fit_task_begin(estimator=self, X=X, y=y)
            return bool(subtask.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes=attributes))

        yield watcher
        context.call_on_fit_task_end(estimator=self, X=X, y=y)

    def _attributes(self, state: State, plan: Plan, examples: Examples) -> dict[str, Any]:
        """What makes a copy of this estimator predict as the model stands now."""
        kept = state.kept(plan.rule)
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
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _start(
        self, examples: Examples, plan: Plan, classes: int, labels: bool, coef_init: Any, intercept_init: Any
    ) -> State:
        state = new_state(examples, plan, self._scheme(classes, labels), classes, self._new_seed())
        planes = sum(machine.intercept.size for machine in state.machines)
        if coef_init is None and intercept_init is None:
            if not (getattr(self, "warm_start", False) and hasattr(self, "_state")):
                return state
            warm = self._state.last(plan.rule)
            if warm.coef.shape != (planes, examples.n_features):
                raise ValueError(
                    f"warm_start: the model has coefficients of shape {warm.coef.shape}, these data need "
                    f"{(planes, examples.n_features)}. Fit with warm_start=False."
                )
            coef_init, intercept_init = warm.coef, warm.intercept
        if plan.rule.order == 2:
            raise ValueError(
                f"{type(self).__name__} starts from zero: coef_init, intercept_init and warm_start are for "
                "first-order learners."
            )
        start_from(
            state,
            _given("coef_init", coef_init, (planes, examples.n_features)),
            _given("intercept_init", intercept_init, (planes,)),
        )
        return state

    # -- model files -------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Votes as they were written at first: one bias step for all updates, that of the state."""
        state, kept = vars(self).get("_state"), vars(self).get("_kept")
        if isinstance(state, State):
            for machine in state.machines:
                machine.log = tuple(
                    one if isinstance(one, Piece) else Piece(*one, bias=float(state.bias)) for one in machine.log
                )
        if isinstance(kept, Ballot):
            histories = [
                one if isinstance(one.bias, np.ndarray) else replace(one, bias=np.full(one.which.size, float(one.bias)))
                for one in kept.histories
            ]
            self._kept = replace(kept, histories=tuple(histories))

    def _check_whole(self) -> None:
        """Refuse a model whose parts do not fit together: compiled code would read outside them."""
        check_attributes(self)
        if "_kept" in vars(self) or "_state" in vars(self):
            self._check_learned()

    def _check_learned(self) -> None:
        must("_state" in vars(self) or isinstance(self._kept, Planes | Ballot), "planes or votes without a state")
        check_online(self, self._width(), self._plan().rule.order == 2)

    def _width(self) -> int:
        """The features that planes have."""
        return self.n_features_in_

    # -- use ---------------------------------------------------------------------------------------------------------

    def _check_assigned(self) -> None:
        """Refuse attributes that were set so that compiled code would read outside the model."""
        check_assigned(self, self._kept, self._width())

    def _known_rows(self, X: Any) -> Dense | Sparse:
        """Rows to answer, once it is certain that the model is for such rows."""
        check_is_fitted(self, "_kept")
        self._check_assigned()
        return self._rows(X)[0]

    def _scores(self, X: Any) -> Array:
        rows = self._known_rows(X)
        n = rows.values.shape[0] if isinstance(rows, Dense) else rows.starts.size - 1
        return self._kept_now(rows).scores(rows, np.arange(n, dtype=np.uint64))

    def _kept_now(self, rows: Any) -> Kept:
        """The kept model with `coef_` and `intercept_` as they are now: users may have set them."""
        kept = self._kept
        return kept if isinstance(kept, Ballot) else planes_now(self, kept)

    def __sklearn_tags__(self) -> Any:
        """Sparse input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _types(X: Any) -> Any:
    """The types to choose from; scikit-learn sees that of an array, not that of every frame."""
    kinds = getattr(X, "dtypes", None)
    narrow = kinds is not None and len(kinds) and all(str(kind).lower() == "float32" for kind in kinds)
    return np.float32 if narrow else [np.float64, np.float32]


def _given(name: str, value: Any, shape: tuple[int, ...]) -> Array:
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
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity at {np.argwhere(~np.isfinite(array))[0].tolist()}.")
    return array
