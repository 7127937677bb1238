"""The target of a table: how y becomes class codes or numbers, and how a learner's answers go back."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight

from rosenblatt.formats.arrow import check_collected
from rosenblatt.learn.labels import check_labels, check_no_trailing_nul, is_missing, unrounded
from rosenblatt.objective.linear import LinearRegressor
from rosenblatt.online.passive_aggressive import PassiveAggressive
from rosenblatt.tables.settings import DEFAULT, NUMBER_DEFAULT, VISITS, TableSetting, passes

Array = np.ndarray[Any, Any]
FEW_ROWS = 20  # classes with fewer rows than this are not held out of a large table
LARGEST = 1e150  # standard deviation of a target, so that its square is finite


@dataclass(frozen=True)
class ClassTarget:
    """The classes of a table, each with the number of its rows and its weight; a row's target is its class's code."""

    task: ClassVar[str] = "classification"
    measure: ClassVar[str] = "accuracy"
    default: ClassVar[TableSetting] = DEFAULT
    default_name: ClassVar[str] = "averaged passive-aggressive"
    unit: ClassVar[float] = 1.0  # of a learner's loss, in the unit of the target

    names: Array
    counts: Array
    weights: Array

    @classmethod
    def of(cls, y: Array, class_weight: Any) -> tuple[ClassTarget, Array]:
        """The classes of these labels, and the code of each row."""
        try:
            names, codes = np.unique(y, return_inverse=True)
        except TypeError as error:
            raise ValueError(f"Labels y must all be of one kind so that they can be sorted: {error}.") from error
        check_labels(y, names)
        return cls.counted(names, np.bincount(codes, minlength=names.size), class_weight), codes

    @classmethod
    def counted(cls, names: Array, counts: Array, class_weight: Any) -> ClassTarget:
        """Classes with these numbers of rows."""
        if names.size < 2:
            raise ValueError(f"TableClassifier needs two classes or more, and y has one class: {names[0]!s}.")
        if isinstance(class_weight, str):
            return cls(names, counts, counts.sum() / (counts.size * counts))
        return cls(names, counts, compute_class_weight(class_weight, classes=names, y=names))

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.names.size)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    @property
    def weight_by_code(self) -> dict[int, float] | None:
        """The weights of the classes, for a learner of their codes; None if all are 1."""
        return None if (self.weights == 1).all() else dict(enumerate(self.weights.tolist()))

    def listed(self, codes: Array) -> str:
        """Some classes with the numbers of their rows, for a message."""
        shown = [f"{self.names[k]!s} ({self.counts[k]})" for k in codes[:10].tolist()]
        return f"{', '.join(shown)}{', …' if codes.size > 10 else ''}"

    def rare(self) -> tuple[Array, tuple[str, ...]]:
        """The classes with too few rows to hold some of them out, and a note about them."""
        rare = np.flatnonzero(self.counts < FEW_ROWS)
        if not rare.size:
            return rare, ()
        return rare, (f"classes with fewer than {FEW_ROWS} rows are not held out: {self.listed(rare)}",)

    def folds(self, codes: Array, cv: int, rng: Any) -> tuple[Array, tuple[str, ...]]:
        """The fold of each row, −1 for rows of classes with fewer rows than folds; and a note about these."""
        counts = np.bincount(codes)
        count, folds = min(cv, int(np.sort(counts)[-2])), np.full(codes.size, -1)
        if count < 2:
            return folds, ("every class but one has a single row: there are no out-of-fold scores",)
        for k in np.flatnonzero(counts >= count):
            rows = rng.permutation(np.flatnonzero(codes == k))
            folds[rows] = (np.arange(rows.size) + rng.randint(count)) % count
        small = np.flatnonzero(counts < count)
        if not small.size:
            return folds, ()
        return folds, (
            f"classes with fewer rows than the {count} folds are in no fold's test part: {self.listed(small)}",
        )

    def default_learner(self, rows: int, large: bool) -> Any:
        """The learner for so many rows if none is asked for."""
        how: dict[str, Any] = {"max_epochs": passes(rows), "class_weight": self.weight_by_code}
        return PassiveAggressive(C=0.1, keep="average", order="blocks", **how)

    def for_learning(self, codes: Array) -> Array:
        """The target as the learner gets it."""
        return codes

    def from_learning(self, scores: Array) -> Array:
        """The scores of a learner in the unit of the target."""
        return scores

    def scores(self, learner: Any, X: Any) -> Array:
        """The scores of encoded rows: (n,) for two classes, else (n, K)."""
        return class_scores(learner, X, self.classes)


def class_scores(learner: Any, X: Any, classes: int) -> Array:
    """The scores of encoded rows by a learner of class codes; without one all are 0."""
    if learner is None or not X.shape[0]:
        return np.zeros((X.shape[0], classes))
    if hasattr(learner, "decision_function"):  # which another package's may lack
        found: Array = learner.decision_function(X)
        return found
    logs: Array = np.log(np.maximum(learner.predict_proba(X), 1e-12))
    return logs


@dataclass(frozen=True)
class TargetScale:
    """The mean and the standard deviation of a numeric target."""

    mean: float
    deviation: float

    def given(self, standardised: Array) -> Array:
        """Standardised numbers in the unit of the target."""
        return standardised * self.deviation + self.mean

    def predictions(self, learner: Any, X: Any) -> Array:
        """The predictions for encoded rows by a learner of standardised numbers; without one the mean."""
        if learner is None or not X.shape[0]:
            return np.full(X.shape[0], self.mean)
        return self.given(learner.predict(X))


@dataclass(frozen=True)
class NumberTarget:
    """Numbers, which a learner gets standardised."""

    task: ClassVar[str] = "regression"
    measure: ClassVar[str] = "R²"
    default: ClassVar[TableSetting] = NUMBER_DEFAULT
    default_name: ClassVar[str] = "least squares"
    classes: ClassVar[int] = 0
    weights: ClassVar[Array] = np.ones(1)
    weight_by_code: ClassVar[None] = None

    scale: TargetScale
    rows: int

    @classmethod
    def of(cls, y: Array, class_weight: Any = None) -> tuple[NumberTarget, Array]:
        """The scale of these numbers, and the numbers."""
        try:
            if y.dtype.kind == "M":  # NumPy would take the number of their units
                raise TypeError
            values = y.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"TableRegressor needs numbers, but y has {y[:1].tolist()[0]!r}.") from None
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"y contains NaN or infinity, at row {row}: leave out rows without a label.")
        with np.errstate(over="ignore"):
            return cls.measured(float(values.mean()), float(values.std()), values.size), values

    @classmethod
    def measured(cls, mean: float, deviation: float, rows: int) -> NumberTarget:
        """Numbers with this mean and standard deviation."""
        if not np.isfinite(mean * deviation) or deviation > LARGEST:
            raise ValueError("y has values whose squares overflow: scale it.")
        return cls(TargetScale(mean, deviation or 1.0), rows)

    @property
    def counts(self) -> Array:
        """The number of rows."""
        return np.array([self.rows])

    @property
    def unit(self) -> float:
        """A learner's loss of 1 in the unit of the target."""
        return self.scale.deviation**2

    def rare(self) -> tuple[Array, tuple[str, ...]]:
        """Nothing: there are no classes."""
        return np.zeros(0), ()

    def folds(self, target: Array, cv: int, rng: Any) -> tuple[Array, tuple[str, ...]]:
        """The fold of each row; −1 if there are too few rows."""
        count = min(cv, target.size // 2)
        folds = np.full(target.size, -1) if count < 2 else rng.permutation(np.arange(target.size) % count)
        return folds, ()

    def default_learner(self, rows: int, large: bool) -> Any:
        """The learner for so many rows if none is asked for."""
        how: dict[str, Any] = {"solver": "batch"}
        if large:
            how = {"solver": "stochastic", "order": "blocks", "max_epochs": passes(rows, 4 * VISITS)}
        return LinearRegressor(loss="squared", penalty="l2", alpha=1 / rows, **how)

    def for_learning(self, target: Array) -> Array:
        """The target as the learner gets it."""
        return (target - self.scale.mean) / self.scale.deviation

    def from_learning(self, scores: Array) -> Array:
        """The scores of a learner in the unit of the target."""
        return self.scale.given(scores)

    def scores(self, learner: Any, X: Any) -> Array:
        """The predictions for encoded rows."""
        return self.scale.predictions(learner, X)


Target = ClassTarget | NumberTarget


def label_array(y: Any) -> Array:
    """The labels as an array, one per row, none of them missing."""
    check_collected(y, "y")
    if hasattr(y, "to_numpy"):
        y = y.to_numpy(zero_copy_only=False) if isinstance(y, pa.Array) else y.to_numpy()
    y = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)  # NumPy would turn NaN into a string
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError(f"y has {y.shape[1]} columns, several labels per row: fit one model for each column.")
    y = column_or_1d(y, warn=True)
    each = y.tolist() if y.dtype.kind in "Of" else []
    if each and all(type(one) is str for one in each):
        check_no_trailing_nul(each)
        return np.array(each)
    missing = np.isnat(y) if y.dtype.kind in "mM" else np.array([is_missing(one) for one in each])
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise ValueError(f"y contains NaN or None, a missing label, at row {row}: leave out rows without a label.")
    each = each if y.dtype.kind == "O" else []
    alike = any(all(isinstance(one, kind) for one in each) for kind in (str, bool | np.bool_, Real))
    found: Array = unrounded(each, np.array(each)) if each and alike else y
    return found
