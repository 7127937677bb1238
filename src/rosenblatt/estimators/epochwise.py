"""The scikit-learn face of the classifiers that are more than one plane a class: kernels, trees, networks.

Like the online learners they are trained by a generator of epoch records. What differs, a subclass says: how the
state begins (`_begin`), how it learns (`_train`), and what can be said of it afterwards (`_conclude`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import column_or_1d

from rosenblatt.data.errors import NotFiniteError
from rosenblatt.data.examples import Examples, distinct
from rosenblatt.estimators.classifier import OnlineClassifier
from rosenblatt.estimators.online import all_or_nothing
from rosenblatt.estimators.report import Report
from rosenblatt.learn.finite import check_state
from rosenblatt.learn.records import Records, frozen
from rosenblatt.learn.training import EpochRecord, default_epochs

Array = np.ndarray[Any, Any]


class Learned(Protocol):
    """The state of a training: everything that a later epoch needs."""

    seed: int
    epoch: int

    @property
    def updates(self) -> int:
        """Updates so far."""

    def copy(self) -> Any:
        """A state that shares nothing that changes."""

    def kept(self) -> Any:
        """The model that the state stands for, with `scores(rows, index)`."""


class EpochwiseClassifier(OnlineClassifier):
    """A classifier that learns epoch by epoch."""

    _state: Any
    _kept: Any
    _takes_labels = False  # whether y may be an indicator of labels

    # -- for subclasses to say ---------------------------------------------------------------------------------------

    def _check(self) -> None:
        """Refuse parameters that do not go together."""

    def _begin(self, examples: Examples) -> Any:
        raise NotImplementedError

    def _train(self, examples: Examples, state: Any) -> Generator[EpochRecord, None, None]:
        raise NotImplementedError

    def _conclude(
        self, outcome: str, records: list[EpochRecord], examples: Examples, state: Any, seconds: float
    ) -> Report:
        return self._conclude_parts(outcome, records, lambda: [examples], examples, state, seconds)

    def _conclude_parts(
        self,
        outcome: str,
        records: list[EpochRecord],
        parts: Callable[[], Iterable[Examples]],
        examples: Examples,
        state: Any,
        seconds: float,
    ) -> Report:
        """The report after a scan of all parts; of `examples` only what is true of all rows is asked."""
        raise NotImplementedError

    def _reach(self, examples: Examples, state: Any) -> float:
        """R, for the report."""
        return float(np.sqrt(examples.radius2))

    def _most_epochs(self, examples: Examples) -> int:
        return self.max_epochs or default_epochs(examples.stored, getattr(self, "keep", "last"))

    def _fits(self, examples: Examples) -> None:
        """Refuse, in a later call, what the model has no room for."""
        assert examples.classes is not None
        if examples.classes.size != self.classes_.size:
            new = [label for label in examples.classes.tolist() if label not in self.classes_.tolist()]
            raise ValueError(
                f"{type(self).__name__} met the new classes {new}: name all classes in the first call of partial_fit."
            )

    # -- training ----------------------------------------------------------------------------------------------------

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn until there is nothing left to learn or the budget is spent.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            float32 and float64 are used as they are.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weight 0 is as if the row were not there.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check()
        examples = self._examples(X, y, sample_weight, reset=True)
        self._welcome(examples)
        assert examples.classes is not None
        if examples.classes.size < 2 and examples.target.ndim == 1:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes to learn from; y has 1 class: {examples.classes[0]!r}."
            )
        self._run(examples, self._begin(examples), self._most_epochs(examples), X, y)
        return self

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Make one epoch over these rows; E calls on all rows are one fit of E epochs.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, optional
            In the first call: all classes to expect.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check()
        if isinstance(self.class_weight, str):
            raise ValueError('class_weight="balanced" needs all rows at once; pass a mapping to partial_fit.')
        if getattr(self, "early_stopping", False):
            raise ValueError("early_stopping needs all rows: use fit, or partial_fit with early_stopping=False.")
        first = not hasattr(self, "_state")
        if not first:
            self._check_assigned()
        known = None if first else self.classes_
        if classes is not None:
            named = distinct(column_or_1d(classes))
            known = named if known is None else distinct(np.concatenate([known, named]))
        examples = self._examples(X, y, sample_weight, reset=first, dtype=None if first else self._type(), known=known)
        self._welcome(examples)
        if first:
            state = self._begin(examples)
        else:
            self._fits(examples)
            state = self._state.copy()
        began = time.perf_counter()
        steps = self._train(examples, state)
        record = next(steps)
        steps.close()
        records = Records.of(() if first else self.report_.epochs).after(record)
        self._store(state, examples, records, began, "converged" if record.converged else "budget")
        return self

    def _type(self) -> Any:
        """The type that the model computes in."""
        return self._state.dtype

    def _welcome(self, examples: Examples) -> None:
        if examples.target.ndim == 2 and not self._takes_labels:
            raise ValueError(
                f"Unknown label type: multilabel-indicator. {type(self).__name__} learns one class a row; y has "
                f"{examples.target.shape[1]} columns."
            )
        order = getattr(self, "order", "shuffle")
        if not isinstance(order, str) and np.max(order) >= examples.target.shape[0]:
            raise ValueError(f"order names row {int(np.max(order))}, X has {examples.target.shape[0]} rows.")

    def _run(self, examples: Examples, state: Any, limit: int, X: Any, y: Any) -> None:
        """Run the training generator, and keep what it leaves."""
        began = time.perf_counter()
        records: list[EpochRecord] = []
        training, held_out = self._split(examples, state.seed)
        best: tuple[float, Any, int] | None = None
        outcome, waited = "budget", 0
        with self._callbacks(limit, X, y, examples) as watcher:
            whole = None
            steps = self._train(training, state)
            try:
                for record in steps:
                    whole = state.copy()
                    if held_out is not None:
                        score = self._held_out_score(whole.kept(), examples, held_out)
                        record = replace(record, score=score)
                        waited += 1
                        if best is None or score > best[0]:
                            best, waited = (score, whole, len(records) + 1), 0
                    records.append(record)
                    asked = watcher(record, state, None)
                    if record.converged:
                        outcome = "converged"
                        break
                    if asked or (best is not None and waited >= self.n_iter_no_change):
                        outcome = "early"
                        break
                    if len(records) >= limit:
                        break
                if best is not None and best[2] < len(records):
                    outcome, whole = "early", best[1]
                self._store(whole, examples, records, began, "interrupted")
                report = self._conclude(outcome, records, training, whole, time.perf_counter() - began)
            except KeyboardInterrupt:
                if whole is not None:
                    with suppress(NotFiniteError):
                        self._store(whole, examples, records, began, "interrupted")
                raise
            finally:
                steps.close()
            self.report_ = report
        self._warn(report)

    def _store(
        self, state: Any, examples: Examples, records: Sequence[EpochRecord], began: float, outcome: str
    ) -> None:
        """Put the model into its attributes."""
        check_state(state)
        self._state, self._kept = state, state.kept()
        self._by_labels = examples.target.ndim == 2
        assert examples.classes is not None
        self.classes_, self.n_iter_ = examples.classes, len(records)
        seconds, radius = time.perf_counter() - began, self._reach(examples, state)
        self.report_ = Report(
            outcome, frozen(records), state.updates, None, None, radius, None, None, seconds, examples.size
        )
        self._publish(self._kept)

    def _attributes(self, state: Any, plan: Any, examples: Examples) -> dict[str, Any]:
        """What makes a copy of this estimator predict as the model stands now."""
        return {
            "_kept": state.copy().kept(),
            "n_features_in_": self.n_features_in_,
            "classes_": examples.classes,
            "_by_labels": examples.target.ndim == 2,
        }

    def _kept_now(self, rows: Any) -> Any:
        return self._kept

    def __sklearn_tags__(self) -> Any:
        """Labels by indicator are welcome where the learner can do them."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._takes_labels
        return tags
