"""The perceptron and its named variants."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rosenblatt.learn.models import VotedPlanes
from rosenblatt.online.rules import PerceptronRule
from rosenblatt.online.solver import OnlinePlan
from rosenblatt.shell.encoding import WIDENING
from rosenblatt.shell.online_classifier import OnlineClassifier
from rosenblatt.shell.parameters import BIAS_STEP, COMMON, chosen_bias

Array = np.ndarray[Any, Any]


class Perceptron(OnlineClassifier):
    """Rosenblatt's perceptron, with its variants from the literature.

    A row (x, y) that is not on the right side of the plane, y·f ≤ margin with f = w·x + b, moves it:

        w += η·y·x          b += η·y·c²          c² = 1 (bias step "unit"), R² ("radius") or any number

    On rows that can be separated this ends, after at most (R/γ)² updates through the origin (Novikoff 1962), and `fit`
    runs to that point; on others it stops when its budget is spent and reports how many rows are wrong.

    Parameters
    ----------
    learning_rate : float, "1/t", "1/sqrt(t)", "line-search" or callable, default=1.0
        η; t counts updates. "line-search" is for batch updates. A callable gets the number of the epoch, from 1.
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    bias_step : {"unit", "radius"} or float, default="unit"
        c²: the bias is learned as if it were a feature of value c. With "unit", rows of norm 1 (TF-IDF) get a bias
        feature as large as the row itself; `PassiveAggressive` has the accuracies with smaller steps.
    margin : float or pair of floats, default=0.0
        How far beyond the plane a row must be. A pair, in the order of `classes_`, gives each class its own (for
        one-vs-rest: the rest, the class).
    update : {"online", "batch"}, default="online"
        "batch" moves w once per epoch, by (η/N)·Σ y·x over the rows that lack margin, N the sum of the row weights (for
        one-vs-one those of the pair). With η = N it is the fixed-increment rule, the plain sum. A line search follows
        their mean instead.
    order : {"shuffle", "blocks", "cyclic", "random", "first", "worst"} or sequence of rows, default="shuffle"
        A fresh permutation each epoch; a permutation of blocks and then of rows within a pool of blocks, which can
        be read from a file and is what "shuffle" becomes in `rosenblatt.fit`; as given; with replacement; or, with
        one update per epoch, the first or the most wrong row of all. A sequence of row numbers, from 0, is visited
        as given in each epoch.
    keep : {"last", "average", "vote", "pocket"}, default="last"
        Which weights are the model: the last ones; the average over all visits; all of them, voting; or those with
        the longest run of correct predictions, if they make fewer errors on all rows (Gallant 1990). In `partial_fit`
        "all rows" are the rows of the call, on which the errors of the pocket are counted again.
    multiclass : {"multinomial", "ovr", "ovo"}, default="multinomial"
        For more than two classes: all in one pass, raising the true class and lowering the best wrong one; each class
        against the rest, also in one pass; or each pair of classes.
    max_epochs : int, default=None
        None: 2·10⁹ stored values or 10,000 epochs, whichever comes first, at least 10; for a vote, which stores every
        update, 2·10⁷ values or 1,000 epochs.
    early_stopping : bool, default=False
        Score each epoch on held-out rows, stop when the score does not rise, and return the best epoch's model.
    validation_fraction : float, default=0.1
        The share of rows held out for early stopping.
    scoring : str or callable, optional
        The measure of held-out rows: a scorer of scikit-learn, or a function of (estimator, X, y). None: accuracy.
    n_iter_no_change : int, default=5
        Epochs without a better held-out score before training stops.
    record_errors : bool, default=False
        Count the training errors after each epoch (one more pass).
    class_weight : dict, "balanced" or None, default=None
        The weight of each class's rows; "balanced" gives all classes the same total weight.
    warm_start : bool, default=False
        Start `fit` from the last iterate of the previous fit.
    random_state : int, RandomState or None, default=None
        Seeds whatever is drawn.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (K, d)
        K(K−1)/2 rows for "ovo". Absent with keep="vote".
    intercept_ : ndarray
        The bias of each plane.
    classes_ : ndarray
        The classes, sorted.
    n_iter_ : int
        Epochs that were run.
    report_ : Report
        How the fit ended.

    References
    ----------
    F. Rosenblatt, "The perceptron", Psychological Review 65, 1958. A. Novikoff, "On convergence proofs for
    perceptrons", 1962. Y. Freund, R. Schapire, "Large margin classification using the perceptron algorithm", 1999.

    Examples
    --------
    >>> from rosenblatt import Perceptron
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> model = Perceptron(fit_intercept=False, order="cyclic").fit(X, y)
    >>> model.coef_
    array([[1., 1.]])
    >>> model.report_.outcome, model.report_.updates, round(model.report_.bound, 9)
    ('separated', 2, 2.0)
    """

    learning_rate: float | str | Callable[[int], float]
    fit_intercept: bool
    bias_step: float | str
    margin: float | Sequence[float]
    update: str
    order: str | Sequence[int]
    keep: str
    record_errors: bool

    _reader = WIDENING
    _parameter_constraints: dict[str, Any] = {
        **COMMON,
        "learning_rate": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"1/t", "1/sqrt(t)", "line-search"}),
            callable,
        ],
        **BIAS_STEP,
        "margin": [Interval(Real, 0, None, closed="left"), "array-like"],
        "update": [StrOptions({"online", "batch"})],
        "keep": [StrOptions({"last", "average", "vote", "pocket"})],
    }

    def __init__(
        self,
        *,
        learning_rate: float | str | Callable[[int], float] = 1.0,
        fit_intercept: bool = True,
        bias_step: float | str = "unit",
        margin: float | Sequence[float] = 0.0,
        update: str = "online",
        order: str | Sequence[int] = "shuffle",
        keep: str = "last",
        multiclass: str = "multinomial",
        max_epochs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        scoring: Any = None,
        n_iter_no_change: int = 5,
        record_errors: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> OnlinePlan:
        if self.learning_rate == "line-search" and self.update != "batch":
            raise ValueError(
                'learning_rate="line-search" needs update="batch": a single row has no minimum along its line.'
            )
        if self.update == "batch" and self.keep == "vote":
            raise ValueError('keep="vote" counts how many rows each w survives; with update="batch" use "average".')
        if self.update == "batch" and not (isinstance(self.order, str) and self.order in ("shuffle", "cyclic")):
            raise ValueError(f'update="batch" reads all rows at once; order={self.order!r} has no meaning there.')
        low, high = self._margins()
        return OnlinePlan(
            rule=PerceptronRule(low, high),
            rate=self.learning_rate if isinstance(self.learning_rate, str) else _number(self.learning_rate),
            bias=chosen_bias(self),
            batch=self.update == "batch",
            **self._shared(),
        )

    def _margins(self) -> tuple[float, float]:
        if isinstance(self.margin, Real) and 0 <= (margin := float(self.margin)) < np.inf:
            return margin, margin
        try:
            pair = np.asarray(self.margin, dtype=np.float64)
        except (TypeError, ValueError):
            pair = np.empty(0)
        if pair.shape != (2,) or not np.isfinite(pair).all() or (pair < 0).any():
            raise ValueError(f"margin must be a number or a pair of numbers, finite and not negative: {self.margin!r}.")
        return float(pair[0]), float(pair[1])

    def _written_out(self) -> tuple[Any, Any, Any]:
        kept = vars(self._complete()).get("_kept")
        if not isinstance(kept, VotedPlanes):
            raise AttributeError(f'{type(self).__name__} has vectors_ and votes_ only when fitted with keep="vote".')
        found = [history.vectors(kept.scheme) for history in kept.histories]
        if len(found) == 1:
            return found[0]
        return tuple(list(part) for part in zip(*found, strict=True))  # type: ignore[return-value]

    @property
    def vectors_(self) -> Any:
        """Every w so far, the start first: (k, d), for several classes (k, K, d), or a list, one per plane."""
        return self._written_out()[0]

    @property
    def intercepts_(self) -> Any:
        """The b of each of `vectors_`."""
        return self._written_out()[1]

    @property
    def votes_(self) -> Any:
        """How many visits each of `vectors_` survived: 0 at first, plus 1 for each row classified correctly."""
        return self._written_out()[2]


def _number(rate: Any) -> Any:
    """A finite learning rate, or the callable as it is."""
    if callable(rate):
        return rate
    if not math.isfinite(rate):
        raise ValueError(f"learning_rate must be finite, got {rate}.")
    return float(rate)


class AveragedPerceptron(Perceptron):
    """`Perceptron` with keep="average": the mean of w over all visits, which generalises better than the last w.

    Parameters
    ----------
    learning_rate : float, "1/t", "1/sqrt(t)" or callable, default=1.0
        η; t counts updates. A callable gets the number of the epoch, from 1.
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    bias_step : {"unit", "radius"} or float, default="unit"
        What a step of size η adds to b: η·y or η·y·R².
    margin : float or pair of floats, default=0.0
        How far beyond the plane a row must be; a pair, in the order of `classes_`, sets one margin per class.
    update : {"online", "batch"}, default="online"
        Whether each row moves w at once, or all rows together once per epoch.
    order : {"shuffle", "blocks", "cyclic", "random", "first", "worst"} or sequence of int, default="shuffle"
        The order in which an epoch visits its rows: see `Perceptron`.
    multiclass : {"multinomial", "ovr", "ovo"}, default="multinomial"
        How more than two classes are learned: all planes together, one-vs-rest or one-vs-one.
    max_epochs : int or None, default=None
        The maximum number of epochs. None: 2·10⁹ stored values visited or 10,000 epochs, whichever comes first, but at
        least 10.
    early_stopping : bool, default=False
        Whether rows are held out, and the epoch that scores best on them becomes the model.
    validation_fraction : float, default=0.1
        The share of rows held out for early stopping.
    scoring : str or callable, optional
        The measure of held-out rows: a scorer of scikit-learn, or a function of (estimator, X, y). None: accuracy.
    n_iter_no_change : int, default=5
        Epochs without a better held-out score before training stops.
    record_errors : bool, default=False
        Whether each epoch's record counts the rows that the model gets wrong, at the cost of a scan.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of rows; "balanced" makes all classes weigh the same.
    warm_start : bool, default=False
        Whether `fit` continues from the weights of the last call.
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the choice of held-out rows.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, report_
        As in `Perceptron`.

    References
    ----------
    Y. Freund, R. Schapire, "Large margin classification using the perceptron algorithm", 1999. M. Collins,
    "Discriminative training methods for hidden Markov models", 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rosenblatt import AveragedPerceptron
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AveragedPerceptron(fit_intercept=False, order="cyclic", max_epochs=10)
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     model.fit(X, y).report_.errors
    42
    """

    def __init__(
        self,
        *,
        learning_rate: float | str | Callable[[int], float] = 1.0,
        fit_intercept: bool = True,
        bias_step: float | str = "unit",
        margin: float | Sequence[float] = 0.0,
        update: str = "online",
        order: str | Sequence[int] = "shuffle",
        multiclass: str = "multinomial",
        max_epochs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        scoring: Any = None,
        n_iter_no_change: int = 5,
        record_errors: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    keep = "average"
    _parameter_constraints = {k: v for k, v in Perceptron._parameter_constraints.items() if k != "keep"}


class VotedPerceptron(Perceptron):
    """`Perceptron` with keep="vote": every w votes, with the number of rows that it classified correctly as its weight.

    Prediction is sign Σ c_k sign(w_k·x + b_k). Every update is stored, so that large sets get ten epochs by
    default.

    Parameters
    ----------
    learning_rate : float, "1/t", "1/sqrt(t)" or callable, default=1.0
        η; t counts updates. A callable gets the number of the epoch, from 1.
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    bias_step : {"unit", "radius"} or float, default="unit"
        What a step of size η adds to b: η·y or η·y·R².
    margin : float or pair of floats, default=0.0
        How far beyond the plane a row must be; a pair, in the order of `classes_`, sets one margin per class.
    order : {"shuffle", "blocks", "cyclic", "random", "first", "worst"} or sequence of int, default="shuffle"
        The order in which an epoch visits its rows: see `Perceptron`.
    multiclass : {"multinomial", "ovr", "ovo"}, default="multinomial"
        How more than two classes are learned: all planes together, one-vs-rest or one-vs-one.
    max_epochs : int or None, default=None
        The maximum number of epochs. None: 2·10⁹ stored values visited or 10,000 epochs, whichever comes first, but at
        least 10.
    early_stopping : bool, default=False
        Whether rows are held out, and the epoch that scores best on them becomes the model.
    validation_fraction : float, default=0.1
        The share of rows held out for early stopping.
    scoring : str or callable, optional
        The measure of held-out rows: a scorer of scikit-learn, or a function of (estimator, X, y). None: accuracy.
    n_iter_no_change : int, default=5
        Epochs without a better held-out score before training stops.
    record_errors : bool, default=False
        Whether each epoch's record counts the rows that the model gets wrong, at the cost of a scan.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of rows; "balanced" makes all classes weigh the same.
    warm_start : bool, default=False
        Whether `fit` continues from the weights of the last call.
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the choice of held-out rows.

    Attributes
    ----------
    classes_, n_iter_, report_
        As in `Perceptron`; there is no `coef_`.
    vectors_, intercepts_ : every w and b, the start first
        One plane per run of visits without an update.
    votes_ : ndarray
        How many visits each survived.

    References
    ----------
    Y. Freund, R. Schapire, "Large margin classification using the perceptron algorithm", 1999.

    Examples
    --------
    >>> from rosenblatt import VotedPerceptron
    >>> model = VotedPerceptron(fit_intercept=False, order="cyclic")
    >>> model = model.fit([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1])
    >>> model.vectors_
    array([[0., 0.],
           [1., 0.],
           [1., 1.]])
    >>> model.votes_
    array([0., 0., 6.])
    """

    def __init__(
        self,
        *,
        learning_rate: float | str | Callable[[int], float] = 1.0,
        fit_intercept: bool = True,
        bias_step: float | str = "unit",
        margin: float | Sequence[float] = 0.0,
        order: str | Sequence[int] = "shuffle",
        multiclass: str = "multinomial",
        max_epochs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        scoring: Any = None,
        n_iter_no_change: int = 5,
        record_errors: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    keep = "vote"
    update = "online"
    _parameter_constraints = {k: v for k, v in Perceptron._parameter_constraints.items() if k not in ("keep", "update")}


class PAUM(Perceptron):
    """The perceptron with uneven margins: `Perceptron` with a margin for each class and bias step "radius".

    A row is learned from while y·f ≤ τ_y. A larger τ for the rarer class gives it more room; for many classes each is
    learned against the rest. The best margins, found by cross-validation, are in units of f, which grow with R².

    Parameters
    ----------
    margin : float or pair of floats, default=(1.0, 1.0)
        (τ of `classes_[0]`, τ of `classes_[1]`); for one-vs-rest (τ of the rest, τ of the class).
    learning_rate : float, "1/t", "1/sqrt(t)" or callable, default=1.0
        η; t counts updates. A callable gets the number of the epoch, from 1.
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    bias_step : {"unit", "radius"} or float, default="radius"
        What a step of size η adds to b: η·y or η·y·R².
    order : {"shuffle", "blocks", "cyclic", "random", "first", "worst"} or sequence of int, default="shuffle"
        The order in which an epoch visits its rows: see `Perceptron`.
    keep : {"last", "average", "vote", "pocket"}, default="last"
        Which weights are the model: see `Perceptron`.
    multiclass : {"multinomial", "ovr", "ovo"}, default="ovr"
        How more than two classes are learned: all planes together, one-vs-rest or one-vs-one.
    max_epochs : int or None, default=None
        The maximum number of epochs. None: 2·10⁹ stored values visited or 10,000 epochs, whichever comes first, but at
        least 10.
    early_stopping : bool, default=False
        Whether rows are held out, and the epoch that scores best on them becomes the model.
    validation_fraction : float, default=0.1
        The share of rows held out for early stopping.
    scoring : str or callable, optional
        The measure of held-out rows: a scorer of scikit-learn, or a function of (estimator, X, y). None: accuracy.
    n_iter_no_change : int, default=5
        Epochs without a better held-out score before training stops.
    record_errors : bool, default=False
        Whether each epoch's record counts the rows that the model gets wrong, at the cost of a scan.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of rows; "balanced" makes all classes weigh the same.
    warm_start : bool, default=False
        Whether `fit` continues from the weights of the last call.
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the choice of held-out rows.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, report_
        As in `Perceptron`.

    References
    ----------
    Y. Li, H. Zaragoza, R. Herbrich, J. Shawe-Taylor, J. Kandola, "The perceptron algorithm with uneven margins", 2002.

    Examples
    --------
    >>> from rosenblatt import PAUM
    >>> model = PAUM(margin=(0.5, 2.0), order="cyclic").fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> model.report_.outcome
    'separated'
    >>> (model.decision_function([[1.0], [3.0]]) * [-1, 1] > [0.5, 2.0]).tolist()
    [True, True]
    """

    def __init__(
        self,
        *,
        margin: float | Sequence[float] = (1.0, 1.0),
        learning_rate: float | str | Callable[[int], float] = 1.0,
        fit_intercept: bool = True,
        bias_step: float | str = "radius",
        order: str | Sequence[int] = "shuffle",
        keep: str = "last",
        multiclass: str = "ovr",
        max_epochs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        scoring: Any = None,
        n_iter_no_change: int = 5,
        record_errors: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    update = "online"
    _parameter_constraints = {k: v for k, v in Perceptron._parameter_constraints.items() if k != "update"}
