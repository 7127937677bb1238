"""How every estimator is trained: prepare → train → conclude, the same from memory, files and shards.

`train` runs the training loop (`learn.epochs`) and stores its results in the estimator: the model, its report, a
warning if the budget was spent, the last complete epoch after Ctrl-C.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import column_or_1d

from rosenblatt.compiled.row_arrays import read_only
from rosenblatt.formats.errors import FileError, NotFiniteError
from rosenblatt.learn.epochs import EpochRecord, EpochRecords, PartOfEpoch, Source, Training
from rosenblatt.learn.examples import Facts
from rosenblatt.learn.labels import as_labels, check_labels, distinct
from rosenblatt.learn.models import Planes
from rosenblatt.learn.overflow import check_state, largest_entry, largest_in
from rosenblatt.learn.plan import Plan
from rosenblatt.learn.report import Report, unseen
from rosenblatt.learn.sharding import Sharding
from rosenblatt.planes.mixing import MixedSolver
from rosenblatt.planes.state import State
from rosenblatt.registry import family
from rosenblatt.shell.caller_warnings import warn
from rosenblatt.shell.parameters import Parameters, new_seed

Array = np.ndarray[Any, Any]
Method = TypeVar("Method", bound=Callable[..., Any])


# -- the estimator after an error or Ctrl-C
# -----------------------------------------------------------------------------


def all_or_nothing(method: Method) -> Method:
    """Make a call that raises leave the estimator unchanged, and an interrupted one store its last complete epoch.

    The message of an overflow names the row and the column of the largest value of X.
    """

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            _restore(self, before, error)
            if not isinstance(error, NotFiniteError) or error.place is not None:
                raise
            given = inspect.signature(method).bind(self, *args, **kwargs).arguments
            raise error.at(largest_entry(given["X"], given.get("sample_weight"))) from None

    return guarded  # type: ignore[return-value]


@contextmanager
def as_it_was(model: Any) -> Iterator[None]:
    """Restore the model if training fails; after Ctrl-C it has its last complete epoch."""
    before = dict(vars(model))
    try:
        yield
    except BaseException as error:
        _restore(model, before, error)
        raise


def _restore(model: Any, before: dict[str, Any], error: BaseException) -> None:
    learned = vars(model).get("report_") is not before.get("report_")
    if not (learned and isinstance(error, KeyboardInterrupt | GeneratorExit)):
        model.__dict__ = before


# -- models formed when they are read ----------------------------------------------------------------------------------

LEARNED = ("_state", "_kept", "coef_", "intercept_")


class FromState:
    """An attribute of the model that is formed from the state when it is first read, and then stored.

    So a call of `partial_fit` on a few rows copies no weights. What was read stays as it was: it is a copy.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:  # of the class, as for a property
            return self
        held = vars(model)
        state = held.get("_state")
        if "_kept" not in held and isinstance(state, State):
            held["_kept"] = state.kept()
        if self.name not in held and isinstance(held.get("_kept"), Planes):
            held.update(shown(held["_kept"], numbers="classes_" not in held) | held)
        if self.name not in held:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}", name=self.name, obj=model)
        return held[self.name]


# -- train and conclude ----------------------------------------------------------------------------------------------


def train(
    estimator: Any,
    run: Training,
    watch: Callable[[Any], bool] | None = None,
    save: Callable[[Any], None] | None = None,
) -> Iterator[PartOfEpoch | EpochRecord]:
    """Run training to its end, then store in the estimator the model and the report from a scan of all rows.

    `watch` is called after each epoch and returns whether to stop; `save` gets the estimator after each epoch.
    """
    began = time.perf_counter()
    try:
        for step in run:
            if isinstance(step, EpochRecord):
                run.asked = watch is not None and watch(run.solver)
                if save is not None:
                    check_state(run.solver.state)
                    publish(estimator, run, began)
                    save(estimator)
            yield step
        check_state(run.solver.state)
        report = publish(estimator, run, began, run.outcome)
        if run.source.lasting:
            report = run.solver.conclude(run.source, report, estimator._kept)
        estimator.report_ = report
    except (KeyboardInterrupt, GeneratorExit):
        run.undo()
        if run.records:
            with suppress(NotFiniteError):
                check_state(run.solver.state)
                publish(estimator, run, began)
        raise
    except NotFiniteError as error:
        raise located(error, run.source) from None
    if report.outcome in run.solver.complains and run.source.lasting:
        warn(run.solver.complaint(type(estimator).__name__, report))


def located(error: NotFiniteError, source: Source) -> NotFiniteError:
    """The error with the position of the largest value, if it has none yet."""
    return error if error.place is not None else error.at(largest_in(source))


def one_epoch(estimator: Any, solver: Any, source: Source, undo: Any = None) -> None:
    """Run one more epoch after those of earlier calls, with the `UndoLog` of the state if it is the estimator's own."""
    began, run = time.perf_counter(), Training(solver, source, 1, rollback=False)
    told, state = vars(estimator).get("report_"), vars(estimator).get("_state")
    before = told.epochs if told is not None and state is not None and state.epoch else ()
    try:
        for _ in run:
            pass
        (record,) = run.records
        records = EpochRecords.of(before).after(record)
        if record.updates:  # otherwise the weights are unchanged
            check_state(solver.state) if undo is None else undo.check()
        publish(estimator, run, began, solver.finished if record.converged else "budget", records, solver.defers)
    except BaseException as error:
        if undo is not None and vars(estimator).get("report_") is told:
            _restored(undo)
        if isinstance(error, NotFiniteError):
            raise located(error, source) from None
        raise


def _restored(undo: Any) -> None:
    """Restore the state to the end, whatever Ctrl-C is pressed meanwhile."""
    while True:
        with suppress(KeyboardInterrupt):
            undo.restore()
            return


def publish(
    estimator: Any,
    run: Training,
    began: float,
    outcome: str = "interrupted",
    records: Sequence[EpochRecord] | None = None,
    deferred: bool = False,
) -> Report:
    """Store the current model in the estimator's attributes, all at once; returns its report, without a scan.

    A deferred model is formed from the state when it is first read: see `FromState`.
    """
    solver, facts = run.solver, run.source.facts
    records = run.records if records is None else records
    report = unseen(outcome, run, records, time.perf_counter() - began)
    new = {name: value for name, value in vars(estimator).items() if name not in LEARNED}
    new |= {"_by_labels": facts.by_labels, "n_iter_": len(records), "report_": report}
    if solver.continues:
        new["_state"] = solver.state
    if facts.classes is not None:
        new["classes_"] = facts.classes
    if not deferred:
        kept = solver.model()
        new |= {"_kept": kept} | shown(kept, numbers=facts.classes is None)
    new |= run.source.described | solver.described
    estimator.__dict__ = new  # Ctrl-C must not find attributes of two models in one estimator
    return report


def shown(kept: Any, numbers: bool) -> dict[str, Any]:
    """`coef_` and `intercept_`, for models that are planes; numbers have one."""
    if not isinstance(kept, Planes):
        return {}
    coef = read_only(kept.coef)
    return {"coef_": coef[0] if numbers else coef, "intercept_": read_only(kept.intercept)}


# -- from files and in shards ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowsWanted:
    """What an estimator requires of the rows of a source.

    Attributes
    ----------
    name : str
        The name of the estimator, for messages.
    classes : bool
        Whether it learns classes; otherwise numbers.
    several : bool
        Whether rows may have several labels.
    class_weight : dict, "balanced" or None
    in_turn : bool
        Whether rows are visited in the order given.
    once : bool
        Whether a single pass in the order given is enough.
    radius : bool
        Whether max‖x‖ must be known before the first step.
    """

    name: str
    classes: bool
    several: bool
    class_weight: Any
    in_turn: bool
    once: bool
    radius: bool


def train_from(
    estimator: Any,
    open_source: Callable[[RowsWanted], Any],
    *,
    mixing: str | None = None,
    save: Callable[[Any], None] | None = None,
    resume: Callable[[Any], Any] | None = None,
) -> Iterator[PartOfEpoch | EpochRecord]:
    """Train an estimator from a source, which is opened once the estimator's requirements are known.

    Parameters
    ----------
    estimator : estimator
    open_source : function of a `RowsWanted`
        Returns a `Source` that also has `described`, attributes to store in the estimator.
    mixing : str, optional
        How the weights of shards are mixed; None if the source has no shards.
    save : function of an estimator, optional
        Called after each epoch.
    resume : function of an estimator, optional
        Returns the estimator as an interrupted run left it, to continue from; refuses one with other settings or
        rows. None to start from the beginning.
    """
    if not isinstance(estimator, Parameters) or family(estimator) != "rows":
        name = type(estimator).__name__
        if mixing is not None:
            raise ValueError(f"{name} cannot learn in shards: only weights of linear learners can be mixed.")
        raise TypeError(f"fit trains online learners from files; {name} is not one of them.")
    learner: Any = estimator
    learner._validate_params()
    plan = learner._plan()
    why = why_not_in_shards(estimator, plan) if mixing is not None else why_not_from_files(estimator, plan)
    if why is not None:
        raise ValueError(why)
    with as_it_was(estimator):
        source = open_source(_wanted(estimator, plan))
        vars(learner).pop("feature_names_in_", None)
        learner.n_features_in_ = source.facts.n_features
        vars(learner).update(source.described)
        state, records = plan.new_state(source, new_seed(learner.random_state)), list[EpochRecord]()
        earlier = None if resume is None else resume(estimator)
        if earlier is not None:
            state, records = state_to_continue(earlier, source.facts)
        solver: Any = plan.follow(state)
        if mixing is not None:
            solver = _mixed(solver, Sharding(mixing, source.sizes), earlier)
        source.seed = state.seed
        run = Training(solver, source, plan.limit(source.facts), records)
        yield from train(estimator, run, save=save)


def state_to_continue(earlier: Any, facts: Facts) -> tuple[Any, list[EpochRecord]]:
    """The state and the records of a checkpoint, which must have learned these features and classes.

    A forged checkpoint may say that it is of the same rows: compiled code would read outside its weights.
    """
    same = earlier.n_features_in_ == facts.n_features and vars(earlier).get("_by_labels", False) == facts.by_labels
    if not (same and np.array_equal(vars(earlier).get("classes_", ()), () if facts.classes is None else facts.classes)):
        raise FileError("a checkpoint of other features or classes: train without resume")
    return earlier._state, list(earlier.report_.epochs)


def _wanted(estimator: Any, plan: Plan) -> RowsWanted:
    in_turn = isinstance(plan.order, str) and plan.order == "cyclic"
    radius = plan.needs.radius
    return RowsWanted(
        type(estimator).__name__,
        is_classifier(estimator),
        estimator.several_labels,
        estimator.class_weight,
        in_turn,
        in_turn and plan.max_epochs == 1 and not radius and not plan.record_errors,
        radius,
    )


def _mixed(solver: Any, sharding: Sharding, earlier: Any) -> MixedSolver:
    if earlier is not None:
        told = earlier.report_.sharding
        if told is None or (told.mixing, told.rows) != (sharding.mixing, sharding.rows):
            raise FileError("a checkpoint of training in other shards: train without resume")
        sharding = told
    return MixedSolver(solver, sharding)


def why_not_from_files(estimator: Any, plan: Plan) -> str | None:
    """The reason why an estimator cannot learn from files; None if it can."""
    if plan.needs.memory is not None:
        return plan.needs.memory.replace("{name}", type(estimator).__name__)
    if estimator.early_stopping:
        return "early_stopping holds out rows of its own: use fit, in memory, or score on another file."
    return None


def why_not_in_shards(estimator: Any, plan: Plan) -> str | None:
    """The reason why an estimator cannot learn in shards; None if it can."""
    if plan.needs.mixing is not None:
        return f"{type(estimator).__name__} cannot learn in shards: {plan.needs.mixing}."
    if estimator.early_stopping:
        return "early_stopping holds out rows of its own: use fit, in memory, or score on other shards."
    return None


def named_classes(classes: Any) -> Array:
    """The classes that a caller expects, sorted."""
    try:
        given = column_or_1d(as_labels(classes))
        found = distinct(given)
        check_labels(given, found)
    except ValueError as error:
        raise ValueError(f"classes: {error}") from error
    return found
