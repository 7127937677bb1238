"""`OneByOne`: an online learner that takes a stream row by row, names of features and all."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from numbers import Real
from os import PathLike
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rosenblatt.formats.errors import FileError
from rosenblatt.learn.examples import Facts, check_class_weight
from rosenblatt.learn.labels import as_labels, check_labels, distinct, merge_labels
from rosenblatt.online.row_entry import BROKEN, NO_COLUMN, NOT_FINITE, TOO_LARGE, UNSORTED, WIDTH, RowEntry, StoredRow
from rosenblatt.online.solver import OnlinePlan
from rosenblatt.planes.new_features import widened
from rosenblatt.planes.state import State
from rosenblatt.scale.journal import COUNTS, Journal
from rosenblatt.scale.named_features import NamedFeatures
from rosenblatt.shell.fitted import fitted, with_state
from rosenblatt.shell.online_learner import OnlineLearner, plan_of, state_now
from rosenblatt.shell.online_regressor import OnlineRegressor
from rosenblatt.shell.parameters import new_seed

Array = np.ndarray[Any, Any]
HEAVIEST = 1_000_000  # visits that the weight of one row may ask for
FIRST_FEATURES = 64  # features for which there is room at first
LARGEST_NUMBER = 1e30
CSR, INDEX = (sp.csr_matrix, sp.csr_array), np.dtype(np.int32)
REFUSED = {
    NO_COLUMN: "it has a column beyond the {width} features of the stream",
    WIDTH: "it does not have the {width} features of the stream",
    TOO_LARGE: "its values, or the weights of its features, are so large that an update could overflow: scale them",
    BROKEN: "it is not one CSR row whose arrays fit together",
}


class OneByOne:
    """Learn from a stream one row at a time: predict, learn, go on.

    The update is the estimator's own, and its cost depends on the values of the row alone. Features may be new in any
    row, and so may classes.

    Parameters
    ----------
    estimator : estimator
        An online learner that keeps its last weights or their average, fitted or not: `Perceptron`,
        `AveragedPerceptron`, `PAUM`, `PassiveAggressive`, `PassiveAggressiveRegressor`, `AROW` or
        `SecondOrderPerceptron`. It is not changed. With class_weight="balanced" the rows of a class weigh as in
        scikit-learn, by the counts so far.
    features : int, optional
        Hash the names of features to this many columns, such as 2**20. By default each name gets a column of its own
        when it appears, and the weights grow.
    on_error : {"raise", "skip"}, default="raise"
        What to do with a row that cannot be learned from, with NaN or a value of another type. It changes nothing.
    journal : path, optional
        A folder for checkpoints. If it holds some, the stream goes on from the last one, and `replay` says how many
        rows of the stream to give again.
    every : int, default=10_000
        Rows between two checkpoints.

    Attributes
    ----------
    rows : int
        Rows of the stream so far, with those that were refused or skipped: the next row is number rows + 1.
    learned : int
        Rows that were learned from.
    mistakes : int
        Rows whose class was predicted wrongly, each before it was learned from.
    skipped : int
        Rows skipped by on_error="skip".
    replay : int
        Rows that were read after the last checkpoint, before an earlier process ended: give them again, from row
        rows + 1.

    Examples
    --------
    >>> from rosenblatt import OneByOne, Perceptron
    >>> stream = OneByOne(Perceptron())
    >>> stream.learn_one({"words": 3, "sender": "bank"}, "spam")
    >>> stream.learn_one({"words": 40, "sender": "friend"}, "mail")
    'spam'
    >>> stream.predict_one({"words": 5, "sender": "friend"})
    'mail'
    >>> stream.estimator().feature_names_in_.tolist()
    ['words', 'sender=bank', 'sender=friend']
    """

    def __init__(
        self,
        estimator: Any,
        *,
        features: int | None = None,
        on_error: str = "raise",
        journal: str | PathLike[str] | None = None,
        every: int = 10_000,
    ) -> None:
        self._plan = _checked_plan(estimator)
        if on_error not in ("raise", "skip"):
            raise ValueError(f'on_error must be "raise" or "skip", got {on_error!r}.')
        for name, value in (("features", features), ("every", every)):
            if value is not None and not (isinstance(value, int | np.integer) and 1 <= value < 1 << 31):
                raise ValueError(f"{name} must be a whole number from 1 to 2**31 - 1, got {value!r}.")
        self._skips, self._every = on_error == "skip", int(every)
        self._hashed = None if features is None else int(features)
        self.rows = self.learned = self.mistakes = self.skipped = self.replay = 0
        self._numbers = isinstance(estimator, OnlineRegressor)
        self._class_weight = None if self._numbers else estimator.class_weight
        if isinstance(self._class_weight, Mapping):
            check_class_weight(self._class_weight)
        self._began, self._loss = time.perf_counter(), 0.0
        self._state: State | None = None
        self._entry: RowEntry | None = None
        self._names: NamedFeatures | None = None
        self._classes: Array | None = None
        self._labels: list[Any] = []
        self._codes: dict[Any, int] = {}
        self._counts: list[float] = []  # the weight of the rows of each class, for class_weight="balanced"
        self._base = clone(estimator)
        self._journal = None if journal is None else Journal(journal)
        found = None if self._journal is None else self._journal.latest(estimator)
        if found is not None:
            estimator = found[0]
            self._take_position(found[1])
        if fitted(estimator).state is not None:
            self._go_on_from(estimator)
        if self._journal is not None:
            self.replay = max(self._journal.rows_read - self.rows, 0)

    def _go_on_from(self, estimator: Any) -> None:
        """Start from what a fitted estimator has learned."""
        state, width = state_now(estimator, self._plan), estimator.n_features_in_
        if fitted(estimator).by_labels:
            raise ValueError("the estimator learned labels by an indicator: OneByOne learns one class per row.")
        self._plan.refuse_change(state)
        if self._hashed is not None:
            if self._hashed != width:
                raise ValueError(f"features={self._hashed}, and the estimator learned {width} features.")
            self._names = NamedFeatures(self._hashed)
        elif "feature_names_in_" in vars(estimator):
            self._names = NamedFeatures(names=estimator.feature_names_in_.tolist())
        if not self._numbers:
            self._know(estimator.classes_)
        self._state = state

    def _take_position(self, position: dict[str, Any]) -> None:
        assert self._journal is not None
        if position["features"] != self._hashed:
            was = "names as they appear" if position["features"] is None else f"features={position['features']}"
            raise FileError(f"a journal of a stream with {was}", self._journal.folder)
        self._counts = position["counts"]
        for name in COUNTS:
            setattr(self, name, position[name])

    # -- one row -------------------------------------------------------------------------------------------------------

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> Any:
        """Predict a row, then learn from it.

        Parameters
        ----------
        x : mapping, sequence or CSR row
            The features of the row: names with numbers, booleans or texts; numbers; or a CSR matrix of one row.
        y : label or number
            Its class, or its number for regression.
        weight : float, default=1.0
            The weight of the row, as in `partial_fit`.

        Returns
        -------
        label or number
            What `predict_one` would have returned before this call; None for the first row, and for a skipped one.
        """
        self.rows += 1
        names = self._names
        known = 0 if names is None else names.size
        try:
            said = self._learn(x, y, weight)
        except (ValueError, TypeError, OverflowError) as error:
            if names is not None:
                names.forget(known)
            if not self._skips:
                raise ValueError(f"row {self.rows}: {error}") from error
            self.skipped += 1
            said = None
        else:
            self.learned += 1
        if self._journal is not None:
            self._journal.note(self.rows)
            if self.rows % self._every == 0:
                self.checkpoint()
        return said

    def predict_one(self, x: Any) -> Any:
        """The class, or number, of a row by the model so far.

        Parameters
        ----------
        x : mapping, sequence or CSR row
            The features of the row. Names that were never learned from count for nothing.

        Returns
        -------
        label or number
            None before the first row.
        """
        if self._state is None:
            return None
        return self._answer(self._predict(x))

    def score_one(self, x: Any) -> Any:
        """The decision value of a row by the model so far.

        Parameters
        ----------
        x : mapping, sequence or CSR row
            The features of the row.

        Returns
        -------
        float or dict
            For two classes, positive for the second of the sorted classes, and for regression; a mapping from classes
            to scores for more. None before the first row.
        """
        if self._state is None:
            return None
        self._predict(x)
        assert self._entry is not None
        scores = self._entry.scores.tolist()
        return scores[0] if len(scores) == 1 else dict(zip(self._labels, scores, strict=True))

    @property
    def classes(self) -> list[Any]:
        """The classes so far, sorted; empty for regression."""
        return list(self._labels)

    # -- the estimator -------------------------------------------------------------------------------------------------

    def estimator(self) -> Any:
        """A fitted estimator, as it is now: to predict many rows, to save, to trace, or to go on from.

        Returns
        -------
        estimator
            For rows of a fixed width it equals `partial_fit` row by row, to the bit. Its `report_` sums up the stream.
        """
        if self._state is None:
            raise NotFittedError("No row was learned from yet: call learn_one first.")
        state, names = self._synced(), None
        width = state.width if self._names is None else self._names.size
        if self._names is not None and self._hashed is None:
            names = np.array(list(self._names.columns), dtype=object)
        found = state.at(slice(0, width)) if width < state.width else state.copy()
        mean, seconds = self._loss / max(self.learned, 1), time.perf_counter() - self._began
        return with_state(clone(self._base), found, self._classes, names, self.learned, mean, seconds)

    def checkpoint(self) -> None:
        """Write a checkpoint to the journal now, for instance at the end of the stream."""
        if self._journal is None:
            raise ValueError("There is no journal: give OneByOne(…, journal=path).")
        if self._state is not None:
            position = {name: vars(self)[name] for name in COUNTS}
            self._journal.write(self.estimator(), position | {"features": self._hashed, "counts": self._counts})

    def __repr__(self) -> str:
        return f"<OneByOne {type(self._base).__name__}: {self.learned:,} rows learned, {self.mistakes:,} mistakes>"

    # -- a row, on its way to the model --------------------------------------------------------------------------------

    def _learn(self, x: Any, y: Any, weight: float) -> Any:
        if weight != 1.0:
            weight = self._checked_weight(weight)
        if self._numbers:
            code, y = 0, _finite(y)
        else:
            code = self._codes.get(y, -1)  # a label without a hash raises TypeError
        if code < 0 or self._state is None:
            return self._meet(x, y, weight)
        row, entry = self._row(x), self._entry
        if entry is None or not entry.fits(row):
            entry = self._entry_for(row)
        target, given = entry.targets[code], weight
        if self._numbers:
            target[0] = y
        elif self._class_weight is not None:
            weight = self._weighted(code, y, weight)
        said = self._take(entry, row, target, weight)
        if said != code and len(self._labels) > 1:
            self.mistakes += 1
        if weight % 1:
            self._state.whole = False
        if self._class_weight is not None:
            self._counts[code] += given
        return self._answer(said)

    def _meet(self, x: Any, y: Any, weight: float) -> Any:
        """Learn from the first row, or from the first one of a class; all checks come before any change."""
        classes = None
        if not self._numbers:
            labels = as_labels([y])
            classes = distinct(labels)
            check_labels(labels, classes)
            (y,) = classes.tolist()
            if y in self._codes:  # a date of NumPy, for instance, is known as one of Python
                return self._learn(x, y, weight)
            if self._classes is not None:
                classes = merge_labels(self._classes, classes)
        said = None
        if self._state is None:
            self._begin(x, classes)
            try:
                self._predict(x, keep=True)
            except BaseException:
                self._state = self._entry = self._names = None
                raise
        else:
            said = self._answer(self._predict(x, keep=True))
        mistakes = self.mistakes + (classes is not None and said is not None)
        if classes is not None:
            if self._classes is not None:
                places = np.searchsorted(classes, self._classes)
                scheme = self._plan.scheme(classes.size, False)
                self._state = self._plan.grown(self._synced(), places, classes.size, scheme)
                self._entry = None
                old = dict(zip(places.tolist(), self._counts, strict=True))
                self._counts = [old.get(k, 0.0) for k in range(classes.size)]
            self._know(classes)
        self._learn(x, y, weight)
        self.mistakes = mistakes
        return said

    def _begin(self, x: Any, classes: Array | None) -> None:
        """Zero weights for rows like the first one."""
        names = None
        dtype: np.dtype[Any] = np.dtype(np.float64)
        if isinstance(x, Mapping):
            names = NamedFeatures(self._hashed)
            names.row(x)
            width = self._hashed or (max(names.size, FIRST_FEATURES) if names.size else 0)
        else:
            if self._hashed is not None:
                raise TypeError(f"features={self._hashed} hashes names: give mappings, got a {type(x).__name__}")
            array = isinstance(x, np.ndarray) or sp.issparse(x)
            if array and x.dtype == np.float32:
                dtype = x.dtype
            width = int(x.shape[-1]) if array and x.ndim else len(x)
        if width < 1:
            raise ValueError("a row without features")
        self._names = names
        facts: Any = Facts(width, classes, False, dtype, 0, 0.0, 0, 0.0)
        self._state = self._plan.new_state(SimpleNamespace(facts=facts), new_seed(self._base.random_state))

    def _know(self, classes: Array) -> None:
        self._classes, self._labels = classes, classes.tolist()
        self._codes = {label: code for code, label in enumerate(self._labels)}
        self._counts = self._counts or [0.0] * len(self._labels)
        self._counts += [0.0] * (len(self._labels) - len(self._counts))

    def _synced(self) -> State:
        """The state, with its counters up to date."""
        assert self._state is not None
        if self._entry is not None:
            self._loss += self._entry.update()
        return self._state

    def _predict(self, x: Any, keep: bool = False) -> int:
        """The code of the class of a row; names that it has for the first time are forgotten again, unless kept."""
        names = self._names
        known = 0 if names is None else names.size
        row = self._row(x)
        entry = self._entry_for(row)
        try:
            return self._take(entry, row, entry.targets[0], 0.0)
        finally:
            if names is not None and not keep:
                names.forget(known)

    def _row(self, x: Any) -> Any:
        """The row in the form of compiled code, in a state that has room for its features."""
        if type(x) is dict or isinstance(x, Mapping):
            names, state = self._names, self._state
            assert state is not None
            if names is None:
                raise TypeError(f"a mapping in a stream of rows of {state.width} numbers")
            row = names.row(x)
            if names.size > state.width:
                self._state = widened(self._synced(), max(names.size, 2 * state.width), self._plan.rule)
                self._entry = None
            return row
        if self._names is not None:
            raise TypeError(f"a {type(x).__name__} in a stream of mappings")
        return self._stored(x) if sp.issparse(x) else self._dense(x)

    def _stored(self, x: Any) -> StoredRow:
        """The arrays of a CSR row."""
        state = self._state
        assert state is not None
        if x.shape[-1] != state.width:
            raise ValueError(f"the row has shape {x.shape}, the stream has {state.width} features")
        if type(x) not in CSR:
            x = x.tocsr()
        values, columns, starts, dtype = x.data, x.indices, x.indptr, state.dtype
        if not (values.dtype is dtype and columns.dtype is INDEX and starts.dtype is INDEX):
            if values.dtype.kind not in "buif":
                raise TypeError(f"a row holds numbers, got an array of {values.dtype}")
            values, columns, starts = values.astype(dtype), columns.astype(INDEX), starts.astype(INDEX)
        return values, columns, starts, False

    def _dense(self, x: Any) -> Array:
        """A row (d,) of numbers."""
        assert self._state is not None
        dtype = self._state.dtype
        if type(x) is np.ndarray and x.ndim == 1 and x.dtype is dtype and x.flags.c_contiguous:
            return x
        if not isinstance(x, list | tuple | np.ndarray):
            raise TypeError(f"a row is a mapping, a sequence of numbers or a CSR row, got a {type(x).__name__}")
        found = np.asarray(x)
        if found.dtype.kind not in "buifO":
            raise TypeError(f"a row holds numbers, got an array of {found.dtype}")
        found = np.ascontiguousarray(found, dtype=dtype)
        if found.shape[:-1] not in ((), (1,)):
            raise ValueError(f"a row has one dimension, got an array of shape {found.shape}")
        return found.reshape(-1)

    def _entry_for(self, row: Any) -> RowEntry:
        entry = self._entry
        if entry is None or not entry.fits(row):
            entry = self._entry = RowEntry(self._synced(), self._plan, row)
        return entry

    def _take(self, entry: RowEntry, row: Any, target: Array, weight: float) -> int:
        said = entry.take(row, target, weight)
        if said == UNSORTED:
            row = _without_repeats(row)
            said = entry.take(row, target, weight)
        if said < 0:
            raise ValueError(self._why(said, row))
        return said

    def _why(self, refused: int, row: Any) -> str:
        """Why compiled code refused a row."""
        assert self._state is not None
        if refused != NOT_FINITE:
            return REFUSED[refused].format(width=self._state.width)
        values = row[0] if isinstance(row, tuple) else row
        at = int(np.argmin(np.isfinite(values)))
        column = int(row[1][at]) if isinstance(row, tuple) else at
        where = f"column {column}"
        if self._names is not None and self._hashed is None:
            where = repr(list(self._names.columns)[column])
        return (
            f"{where} is {values[at]:g}, which is not a finite number"
            if not np.isfinite(values[at])
            else (f"{where} is {values[at]:g}: its square overflows")
        )

    def _answer(self, said: int) -> Any:
        if self._numbers:
            assert self._entry is not None
            return self._entry.scores.item(0)
        return self._labels[said if len(self._labels) > 1 else 0]

    def _checked_weight(self, weight: Any) -> float:
        if not (isinstance(weight, Real) and 0 < float(weight) <= HEAVIEST):
            raise ValueError(f"weight must be above 0 and at most {HEAVIEST:,}, got {weight!r}")
        return float(weight)

    def _weighted(self, code: int, label: Any, weight: float) -> float:
        """The weight of a row times that of its class."""
        if isinstance(self._class_weight, Mapping):
            share = float(self._class_weight.get(label, 1.0))
        else:
            count = self._counts[code] + weight
            seen = [count if k == code else one for k, one in enumerate(self._counts) if one > 0 or k == code]
            share = sum(seen) / (len(seen) * count)
        if weight * share > HEAVIEST:
            raise ValueError(f"its weight times that of its class must be at most {HEAVIEST:,}, got {weight * share:g}")
        return weight * share


def _checked_plan(estimator: Any) -> OnlinePlan:
    """The plan of an estimator that can learn one row at a time."""
    name = type(estimator).__name__
    plan = plan_of(estimator) if isinstance(estimator, OnlineLearner) else None
    if type(plan) is not OnlinePlan:
        raise TypeError(f"OneByOne learns with online learners of planes, such as Perceptron or AROW, not with {name}.")
    why = None
    if plan.keep not in ("last", "average"):
        why = f'keep={plan.keep!r} needs rows again: use "last" or "average"'
    elif plan.batch:
        why = 'update="batch" sums the steps of many rows'
    elif plan.multiclass == "ovo":
        why = 'multiclass="ovo" learns each pair of classes by itself: use "multinomial" or "ovr"'
    elif not (isinstance(plan.order, str) and plan.order not in ("first", "worst")):
        why = f"order={plan.order!r} chooses among many rows"
    elif plan.rule.full:
        why = 'covariance="full" stores all pairs of features: use "diagonal"'
    elif estimator.early_stopping:
        why = "early_stopping needs all rows at once"
    if why is not None:
        raise ValueError(f"{name} cannot learn one row at a time: {why}.")
    return plan


def _without_repeats(row: StoredRow) -> StoredRow:
    """The row with the values of a column that comes twice summed; as it is if none does."""
    values, columns, starts, _ = row
    once, places = np.unique(columns, return_inverse=True)
    if once.size == columns.size:
        return values, columns, starts, True
    sums = np.zeros(once.size, values.dtype)
    np.add.at(sums, places.reshape(-1), values)
    return sums, once, np.array([0, once.size], INDEX), True


def _finite(y: Any) -> float:
    number = float(y) if isinstance(y, Real) else math.nan
    if not abs(number) <= LARGEST_NUMBER:
        raise ValueError(f"y is {y!r}: it must be a finite number")
    return number
