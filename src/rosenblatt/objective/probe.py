"""`LinearProbe`: from embeddings to a chosen, calibrated and checked linear classifier."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from rosenblatt.compiled.tie_rule import decide
from rosenblatt.formats.arrow import check_collected
from rosenblatt.formats.declared_fields import is_number, must
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.learn.calibration import Calibration, temperature
from rosenblatt.learn.embeddings import stored_rows
from rosenblatt.learn.examples import encode_weights
from rosenblatt.learn.report import ProbeReport
from rosenblatt.objective.dense_rows import on_host, placed_like, refuse_sparse, used_as_is
from rosenblatt.objective.minibatch import MiniBatchDescent
from rosenblatt.objective.minibatch_settings import Settings
from rosenblatt.objective.minibatch_solver import default_passes
from rosenblatt.objective.row_reader import RowReader, find_bad_row, largest, score_blocks, to_host
from rosenblatt.prove.generalisation_bounds import clopper_pearson
from rosenblatt.shell.encoding import CLASSES, validated
from rosenblatt.shell.fitted_attributes import SHARED, check_attributes, check_planes
from rosenblatt.shell.fitting import all_or_nothing

Array = np.ndarray[Any, Any]
ALPHAS = tuple(float(f"{alpha:.3g}") for alpha in np.logspace(-6, 0, 10))
TOL = 1e-4  # share of the objective by which it may be above its minimum where it is "solved"
MOST_CALIBRATED = 500_000  # scores by which probabilities are calibrated


@dataclass(frozen=True)
class Problem:
    """The rows of a fit: features, targets, weights, and which rows are used."""

    rows: Any
    reader: RowReader
    target: Array  # codes, or an indicator of labels
    weights: Array | None
    columns: int

    @property
    def placed(self) -> Any:
        """The target as the columns learn it, on the device of the rows."""
        return self.reader.place(self.target if self.columns > 1 else 2.0 * self.target - 1.0)

    @property
    def shares(self) -> Any:
        """The weights, on the device of the rows."""
        weights = self.weights
        return None if weights is None else self.reader.place(weights / weights.mean(), self.reader.dtype)

    @property
    def present(self) -> Array:
        """The rows of weight above 0."""
        return np.arange(self.reader.n) if self.weights is None else np.flatnonzero(self.weights)

    def descended(self, settings: Settings, present: Array) -> MiniBatchDescent:
        """The penalties of the settings after all epochs, over these rows."""
        whole = present.size == self.reader.n
        descent = MiniBatchDescent(self.rows, self.placed, settings, self.shares, None if whole else present)
        for _ in range(settings.epochs):
            descent.epoch()
        if not bool(descent.xp.all(descent.xp.isfinite(descent.V))):
            find_bad_row(descent.rows)
            raise NotFiniteError("The weights overflowed", largest(descent.rows))
        return descent


@dataclass(frozen=True)
class Choice:
    """The penalties, the chosen one, the measures of all on held-out rows, and the scale of the scores."""

    alphas: tuple[float, ...]
    best: int
    accuracies: Array
    losses: Array
    accuracy: float | None  # of rows by penalties that were chosen without them
    held_out: int
    scale: float


class LinearProbe(ClassifierMixin, BaseEstimator):
    """A linear classifier of embeddings: one line from vectors to a checked accuracy.

    Embeddings are what a neural network makes of an image or a text; a linear classifier on top of them shows what they
    hold, and is often all that a task needs. `fit` standardises the features, learns softmax (logistic regression) for
    ten penalties at once, chooses the one with the highest accuracy on held-out rows, fits it again to all rows and
    scales its scores so that `predict_proba` can be trusted. `report_` has its accuracy on held-out rows.

    All penalties are columns of one matrix product, so that ten of them take a few times as long as one; rows are read
    in mini-batches, wherever they are. With the standardised features z and f = V·z + c it minimises for each `alpha`

        Σ s_i ln(Σ_k e^f_k(z_i) / e^f_y(z_i)) / Σ s_i + ½·alpha·‖V‖²

    so that scikit-learn's `LogisticRegression(C)` on n standardised rows has alpha = 1/(C·n).

    Parameters
    ----------
    alphas : sequence of float, default=10 values from 1e-6 to 1
        The penalties to try; with a single one nothing is chosen.
    validation_fraction : float, default=0.1
        The share of rows, of each class, that is held out to choose the penalty and to calibrate.
    refit : bool, default=True
        Whether the chosen penalty is fitted again to all rows; otherwise the model is the one fitted without the
        held-out rows.
    max_epochs : int, optional
        Passes over the rows for each fit; by default three, and more where rows are few. The step size falls to 0 over
        them.
    class_weight : mapping, "balanced" or None, default=None
        The weight of each class's rows; "balanced" gives all classes the same total weight.
    random_state : int, RandomState or None, default=None
        Seeds the choice of held-out rows and the order of the others.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) for two classes, or (K, d)
        Weights of the features as given, so that scores are `X @ coef_.T + intercept_`.
    intercept_ : ndarray of shape (1,) or (K,)
        The bias of each plane.
    classes_ : ndarray of shape (K,)
        The classes, sorted.
    alpha_ : float
        The penalty that was chosen.
    calibration_ : Calibration
        The scale of the scores, a temperature, fitted by the log loss on held-out rows.
    report_ : ProbeReport
        The accuracy on held-out rows, that of every penalty, and more; `print` it.
    n_features_in_ : int
        The number of features of the training rows.

    References
    ----------
    G. Alain, Y. Bengio, "Understanding intermediate layers using linear classifier probes", 2016. C. Guo, G. Pleiss,
    Y. Sun, K. Weinberger, "On calibration of modern neural networks", ICML 2017. The solver: S. Ma, M. Belkin, "Diving
    into the shallows: a computational perspective on large-scale shallow learning", NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from rosenblatt import LinearProbe
    >>> rng = np.random.default_rng(0)
    >>> animals = np.array(["ant", "bee", "cat"])[np.arange(300) % 3]
    >>> vectors = rng.normal(size=(300, 16)) + 3 * rng.normal(size=(3, 16))[np.arange(300) % 3]
    >>> probe = LinearProbe(random_state=0).fit(vectors.astype(np.float16), animals)
    >>> print(f"{probe.report_.accuracy:.2f} on {probe.report_.held_out} held-out rows")
    1.00 on 30 held-out rows
    >>> probe.predict(vectors[:3].astype(np.float16))
    array(['ant', 'bee', 'cat'], dtype='<U3')
    """

    STORED = SHARED | {"coef_", "intercept_", "alpha_", "calibration_"}
    _parameter_constraints: dict[str, Any] = {
        "alphas": ["array-like"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "refit": ["boolean"],
        "max_epochs": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [Mapping, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }
    coef_: Array
    intercept_: Array
    classes_: Array
    calibration_: Calibration
    report_: ProbeReport

    def __init__(
        self,
        *,
        alphas: Sequence[float] = ALPHAS,
        validation_fraction: float = 0.1,
        refit: bool = True,
        max_epochs: int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.alphas, self.validation_fraction, self.refit = alphas, validation_fraction, refit
        self.max_epochs, self.class_weight, self.random_state = max_epochs, class_weight, random_state

    # -- fit ---------------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearProbe:
        """Choose a penalty, fit and calibrate.

        Parameters
        ----------
        X : array-like of shape (n, d), path or Arrow data
            float16, int8 and memory-mapped arrays are used as they are, widened a batch at a time. A path to a `.npy`,
            `.arrow` or `.feather` file is mapped into memory: it may be larger than memory. Arrow tables have one
            column of lists of fixed size. Torch and CuPy arrays stay on their device if scikit-learn's
            `array_api_dispatch` is on.
        y : array-like of shape (n,), or an indicator of labels of shape (n, K)
            The labels of the rows.
        sample_weight : array-like of shape (n,), optional
            The weights of the rows; by default 1.

        Returns
        -------
        self
        """
        began = time.perf_counter()
        self._validate_params()
        alphas = self._penalties()
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        problem = self._problem(X, y, sample_weight)
        codes = problem.target if problem.target.ndim == 1 else np.zeros(problem.reader.n, np.int64)
        learned, held = split(codes, problem.present, self.validation_fraction, seed)
        softmax = problem.columns > 1 and not self._by_labels
        settings = Settings(
            "softmax" if softmax else "log",
            problem.columns,
            alphas,
            standardised=True,
            epochs=self.max_epochs or default_passes(problem.present.size),
            seed=seed,
        )
        accuracies: Array = np.zeros(0)
        losses, best, scale, accuracy = accuracies, len(alphas) // 2, 1.0, None
        if held.size:
            descent = problem.descended(settings, learned)
            point = descent.point()
            losses, accuracies = descent.held_out(*point, problem.placed, problem.shares, held)
            best = self._best(losses, accuracies)
            accuracy = float(accuracies[best])
            if len(alphas) > 1 and held.size > 1:
                halves = held[::2], held[1::2]  # in random order
                parts = [descent.held_out(*point, problem.placed, problem.shares, half) for half in halves]
                mass = [half.size if problem.weights is None else problem.weights[half].sum() for half in halves]
                scored = [parts[k][1][self._best(*parts[1 - k])] for k in (0, 1)]
                accuracy = float(np.average(scored, weights=mass))
            planes = [to_host(each)[best] for each in descent.planes(*point)]
            scale = self._scale(problem, planes, held)
        if self.refit or not held.size or len(alphas) > 1:
            learned = problem.present if self.refit or not held.size else learned
            descent = problem.descended(_only(settings, alphas[best]), learned)
        self._conclude(problem, descent, Choice(alphas, best, accuracies, losses, accuracy, held.size, scale), began)
        return self

    def _best(self, losses: Array, accuracies: Array) -> int:
        """The penalty with the highest accuracy, of equal ones that with the lowest loss; for labels by the loss."""
        return int(losses.argmin()) if self._by_labels else int(np.lexsort((losses, -accuracies))[0])

    def _penalties(self) -> tuple[float, ...]:
        alphas = tuple(float(alpha) for alpha in np.ravel(np.asarray(self.alphas, dtype=np.float64)))
        if not alphas or not all(np.isfinite(alpha) and alpha >= 0 for alpha in alphas):
            raise ValueError(f"alphas must be one or more finite numbers, not negative: got {self.alphas!r}.")
        return alphas

    def _rows(self, X: Any, reset: bool) -> Any:
        """X, checked, and unconverted if possible."""
        X = stored_rows(X)
        refuse_sparse(X, "LinearProbe", "LinearClassifier")
        if used_as_is(self, X, reset):
            return X
        return validated(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False)

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        if y is None:
            raise ValueError("LinearProbe requires y to be passed, but the target y is None.")
        rows = self._rows(X, reset=True)
        check_collected(y, "y")
        check_consistent_length(rows, y)
        reader = RowReader(rows)
        weights = encode_weights(on_host(sample_weight), reader.n)
        target, self.classes_, weights = CLASSES.encode(on_host(y), None, weights, None, self.class_weight)
        self._by_labels = target.ndim == 2
        K = int(self.classes_.size)
        if K < 2 and not self._by_labels:
            raise ValueError(f"LinearProbe needs two classes or more, and y has 1 class: {self.classes_[0]!s}.")
        return Problem(rows, reader, target, weights, 1 if K == 2 and not self._by_labels else K)

    def _scale(self, problem: Problem, planes: list[Array], held: Array) -> float:
        """The temperature, from as many held-out rows as needed."""
        some = np.sort(held[: max(500, MOST_CALIBRATED // problem.columns)])
        reader = RowReader(problem.rows, some)
        scores = np.concatenate([to_host(block) for _, block in score_blocks(reader, *planes)])
        weights = None if problem.weights is None else problem.weights[some]
        return temperature(scores[:, 0] if problem.columns == 1 else scores, problem.target[some], weights)

    def _conclude(self, problem: Problem, descent: MiniBatchDescent, choice: Choice, began: float) -> None:
        point = descent.point()
        self.coef_, self.intercept_ = (np.ascontiguousarray(to_host(each)[0]) for each in descent.planes(*point))
        self.alpha_ = choice.alphas[choice.best]
        K = max(int(self.classes_.size), 1)
        self.calibration_ = Calibration(choice.scale, np.zeros(K))
        minimum = descent.report(*point)
        loss, penalty = float(minimum.loss[0]), float(minimum.penalty[0])
        solved = minimum.gap <= TOL * max(loss + penalty, TOL)
        accuracy, interval = choice.accuracy, None
        if accuracy is not None and problem.weights is None and not self._by_labels:
            low, high = clopper_pearson(round((1.0 - accuracy) * choice.held_out), choice.held_out)
            interval = (1.0 - high, 1.0 - low)
        self.report_ = ProbeReport(
            outcome="solved" if solved else "budget",
            rows=descent.rows.n,
            held_out=choice.held_out,
            alphas=choice.alphas,
            accuracies=tuple(choice.accuracies.tolist()),
            losses=tuple(choice.losses.tolist()),
            alpha=self.alpha_,
            accuracy=accuracy,
            interval=interval,
            scale=choice.scale,
            errors=minimum.errors,
            data_loss=loss,
            penalty=penalty,
            gradient_norm=float(minimum.gradient[0]),
            n_epochs=descent.settings.epochs,
            seconds=time.perf_counter() - began,
        )

    # -- use ---------------------------------------------------------------------------------------------------------

    def _blocks(self, X: Any) -> Iterator[Array]:
        """Scores, block by block: (B,) for two classes, (B, K) for more."""
        check_is_fitted(self, "coef_")
        rows = self._rows(X, reset=False)
        single = self.coef_.shape[0] == 1 and not self._by_labels
        for _, block in score_blocks(RowReader(rows), self.coef_, self.intercept_):
            scores = to_host(block)
            yield scores[:, 0] if single else scores

    def decision_function(self, X: Any) -> Array:
        """Scores of rows: (n,) for two classes, positive for `classes_[1]`; (n, K) for more, or for labels.

        Parameters
        ----------
        X : as in `fit`
            The rows to score.

        Returns
        -------
        array, on X's device
        """
        return self._placed(np.concatenate(list(self._blocks(X))), X)

    def predict(self, X: Any) -> Array:
        """Classes of rows, or an indicator of labels if that is what was learned.

        Parameters
        ----------
        X : as in `fit`
            The rows to predict.

        Returns
        -------
        array, on X's device if classes are numbers
        """
        found = np.concatenate([decide(scores, self._by_labels) for scores in self._blocks(X)])
        return self._placed(found.astype(np.int64) if self._by_labels else self.classes_[found], X)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of classes, or of labels: softmax (for labels the logistic function) of the scaled scores.

        Parameters
        ----------
        X : as in `fit`
            The rows whose probabilities are wanted.

        Returns
        -------
        array of shape (n, K), on X's device
        """
        return self._placed(np.concatenate([self._chances(scores) for scores in self._blocks(X)]), X)

    def _chances(self, scores: Array) -> Array:
        scores = scores.astype(np.float64)
        if self._by_labels:
            return np.asarray(expit(self.calibration_.scale * scores))
        return self.calibration_.probabilities(scores)

    def _placed(self, found: Array, X: Any) -> Array:
        answer: Array = placed_like(found, X)
        return answer

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that are right; with labels, of rows with all labels right.

        Parameters
        ----------
        X : as in `fit`
            The rows to score.
        y : array-like of shape (n,), or an indicator of labels
            The labels to compare with.
        sample_weight : array-like of shape (n,), optional
            The weights of the rows; by default 1.

        Returns
        -------
        float
        """
        said, truth = to_host(self.predict(X)), y.toarray() if sp.issparse(y) else np.asarray(on_host(y))
        check_consistent_length(said, truth)
        truth = column_or_1d(truth) if said.ndim == 1 else truth
        if said.shape != truth.shape:
            raise ValueError(f"y has shape {truth.shape}, but the predictions have shape {said.shape}.")
        right = said == truth
        return float(np.average(right.all(axis=1) if right.ndim == 2 else right, weights=on_host(sample_weight)))

    # -- model files -------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Nothing to restore: no array is a view."""

    def _check_whole(self) -> None:
        """Refuse a model whose parts do not fit together."""
        check_attributes(self)
        held = vars(self)
        if "coef_" not in held:
            return
        must({"classes_", "_by_labels", "calibration_", "intercept_", "n_features_in_"} <= held.keys(), "all parts")
        K = int(self.classes_.size)
        must(K >= 2 or self._by_labels, "two classes or more")
        check_planes(self.coef_, self.intercept_, 1 if K == 2 and not self._by_labels else K, held["n_features_in_"])
        must(isinstance(self.calibration_, Calibration) and is_number(self.calibration_.scale), "a scale of scores")
        shifts = self.calibration_.shifts
        must(isinstance(shifts, np.ndarray) and shifts.shape == (K,) and shifts.dtype.kind == "f", "a shift per class")
        must(isinstance(held.get("report_"), ProbeReport), "a report")

    def __sklearn_tags__(self) -> Any:
        """X must be dense; y may be an indicator of labels."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _only(settings: Settings, alpha: float) -> Settings:
    """The same settings for one penalty."""
    return replace(settings, alphas=(alpha,))


def split(codes: Array, present: Array, fraction: float, seed: int) -> tuple[Array, Array]:
    """Rows to learn from, sorted, and rows to hold out, in random order; of each class at least one row is learned.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The class of each row.
    present : ndarray
        The rows that are used.
    fraction : float
    seed : int
    """
    rng = np.random.default_rng((seed, 3))
    mixed = rng.permutation(present)
    grouped = mixed[np.argsort(codes[mixed], kind="stable")]
    _, first, counts = np.unique(codes[grouped], return_index=True, return_counts=True)
    rank = np.arange(grouped.size) - np.repeat(first, counts)
    most = np.minimum(np.ceil(fraction * counts), counts - 1)
    held = rank < np.repeat(most, counts)
    return np.sort(grouped[~held]), rng.permutation(grouped[held])
