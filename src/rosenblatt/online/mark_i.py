"""The Mark I Perceptron: association units wired at random, and a response layer that learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rosenblatt.compiled.row_arrays import Dense, Sparse
from rosenblatt.formats.declared_fields import is_array, must
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.examples import encode_weights
from rosenblatt.learn.models import copy_rows
from rosenblatt.learn.overflow import all_finite, largest_entry
from rosenblatt.learn.plan import Needs
from rosenblatt.learn.row_checks import encode_rows
from rosenblatt.online.perceptron import Perceptron
from rosenblatt.online.solver import OnlinePlan
from rosenblatt.shell.encoding import Reader, validated
from rosenblatt.shell.fitted_attributes import SHARED, check_attributes
from rosenblatt.shell.fitting import all_or_nothing

Array = np.ndarray[Any, Any]
UNITS_AT_ONCE = 32

FIXED = ("margin", "update", "bias_step", "warm_start")  # parameters of Perceptron that the Mark I did not have
WIRING: dict[str, Any] = {
    "n_units": [Interval(Integral, 1, None, closed="left")],
    "n_connections": [Interval(Integral, 1, None, closed="left")],
    "inhibitory": [Interval(Real, 0, 1, closed="both")],
    "threshold": [StrOptions({"drawn", "median"}), Interval(Real, None, None, closed="neither")],
    "random_state": ["random_state"],
}


MARK_I = {**{name: rule for name, rule in Perceptron._parameter_constraints.items() if name not in FIXED}, **WIRING}


class RandomWiring(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Association units wired at random: a_j = 1 where Σ ±x_i over a few inputs is above a threshold, else 0.

    Each unit has `n_connections` inputs, drawn without replacement; a connection has weight −1 with probability
    `inhibitory`, else +1. Nothing is learned: the rows of `fit` only set the range of the thresholds.

    Parameters
    ----------
    n_units : int, default=512
        As many as the Mark I had.
    n_connections : int, default=20
        Inputs per unit; all inputs if there are fewer.
    inhibitory : float, default=0.5
        The probability that a connection has weight −1.
    threshold : float, "drawn" or "median", default="drawn"
        "drawn": each unit's sum at a row of `fit` drawn at random, so that units with the same wiring differ.
        "median": the (lower) median of the unit's sum over the rows of `fit`, so that it is active on half of them.
    random_state : int, RandomState or None, default=None
        Seeds the wiring and the drawn thresholds.

    Attributes
    ----------
    wiring_ : CSC matrix of shape (d, n_units)
        −1, 0 and +1.
    thresholds_ : ndarray of shape (n_units,)
        The threshold of each unit.

    References
    ----------
    F. Rosenblatt, "Principles of Neurodynamics", 1962. G.-B. Huang, "What are extreme learning machines?", Cognitive
    Computation 7, 2015.

    Examples
    --------
    >>> from rosenblatt import RandomWiring
    >>> RandomWiring(4, n_connections=2, threshold=0.5, random_state=0).fit_transform(
    ...     [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    ... )
    array([[0., 1., 1., 1.],
           [1., 0., 1., 1.]])
    """

    n_features_in_: int
    STORED = SHARED | {"wiring_", "thresholds_", "_n_features_out"}
    _parameter_constraints = WIRING

    def __init__(
        self,
        n_units: int = 512,
        *,
        n_connections: int = 20,
        inhibitory: float = 0.5,
        threshold: float | str = "drawn",
        random_state: Any = None,
    ) -> None:
        self.n_units = n_units
        self.n_connections = n_connections
        self.inhibitory = inhibitory
        self.threshold = threshold
        self.random_state = random_state

    def _checked(self, X: Any, reset: bool) -> Any:
        kinds = [np.float64, np.float32]
        X = validated(self, X, reset=reset, accept_sparse="csr", dtype=kinds, order="C", ensure_all_finite=False)
        encode_rows(X)  # refuses NaN and infinity, naming the row and the column
        return X

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Wire the units.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The training rows.
        y : ignored
            Not used; present as scikit-learn's transformers have it.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows when thresholds are drawn or medians are taken.

        Returns
        -------
        self
        """
        self._validate_params()
        X = self._checked(X, reset=True)
        d, rng = int(self.n_features_in_), check_random_state(self.random_state)
        count = min(int(self.n_connections), d)
        inputs = np.concatenate([rng.choice(d, count, replace=False) for _ in range(self.n_units)])
        signs = np.where(rng.random_sample(inputs.size) < self.inhibitory, -1, 1).astype(X.dtype)
        starts = np.arange(self.n_units + 1) * count
        self.wiring_ = sp.csc_matrix((signs, inputs, starts), shape=(d, self.n_units))
        self.wiring_.sort_indices()
        self._n_features_out = int(self.n_units)
        weights = encode_weights(sample_weight, X.shape[0])
        weights = np.ones(X.shape[0]) if weights is None else weights
        if isinstance(self.threshold, str):
            shares = rng.random_sample(self.n_units) if self.threshold == "drawn" else np.full(self.n_units, 0.5)
            self.thresholds_ = _quantiles(X, self.wiring_, weights, shares)
        else:
            self.thresholds_ = np.full(self.n_units, self.threshold, X.dtype)
        return self

    def transform(self, X: Any) -> Array:
        """The output of the units.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The rows to encode.

        Returns
        -------
        ndarray of shape (n, n_units)
            0 and 1, in the dtype of X.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        self._check_wiring()
        return (_sums(X, self.wiring_) > self.thresholds_).astype(X.dtype)

    def _renew(self) -> None:
        """Nothing to restore: no array is a view."""

    def _check_whole(self) -> None:
        """Refuse wiring and thresholds that do not fit together."""
        check_attributes(self)
        if not {"wiring_", "thresholds_", "_n_features_out"} & vars(self).keys():
            return
        self._check_wiring()

    def _check_wiring(self) -> None:
        wiring, units = self.wiring_, self._n_features_out
        must(sp.issparse(wiring) and wiring.format == "csc" and wiring.dtype.kind == "f", "wiring_ to be CSC of floats")
        well_formed(wiring, "wiring_")
        must(wiring.shape == (self.n_features_in_, units), f"wiring_ of shape {(self.n_features_in_, units)}")
        must(is_array(self.thresholds_, (units,)), f"thresholds_ of shape {(units,)}, of floats")

    def __sklearn_tags__(self) -> Any:
        """Sparse input is accepted; float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _sums(X: Any, wiring: Any) -> Array:
    """The input sum of each unit; refuses a sum that overflows."""
    sums = X @ wiring
    sums = np.asarray(sums.toarray() if sp.issparse(sums) else sums)
    if not all_finite(sums):
        raise NotFiniteError("The sum of a unit's inputs overflows", largest_entry(X))
    return sums


def _quantiles(X: Any, wiring: Any, weights: Array, shares: Array) -> Array:
    """For each unit the weighted quantile of its sums at its share; computed for a few units at a time."""
    found = np.empty(shares.size, X.dtype)
    for begin in range(0, shares.size, UNITS_AT_ONCE):
        sums = _sums(X, wiring[:, begin : begin + UNITS_AT_ONCE])
        columns = np.arange(sums.shape[1])
        order = np.argsort(sums, axis=0)
        below = np.cumsum(weights[order], axis=0)
        at = np.argmax(below >= shares[begin : begin + UNITS_AT_ONCE] * below[-1], axis=0)
        found[begin : begin + UNITS_AT_ONCE] = sums[order[at, columns], columns]
    return found


class WiredReader(Reader):
    """The outputs of association units: the wiring of a `MarkI` is drawn in the first call, and turns X into them."""

    def begin(self, estimator: Any, X: Any, dtype: Any, sample_weight: Any) -> None:
        """Wire the units."""
        names = RandomWiring._get_param_names()
        wiring = RandomWiring(**{name: getattr(estimator, name) for name in names})
        retina, _ = super().rows(estimator, X, True, dtype)
        estimator.wiring_ = wiring.fit(_whole(retina, estimator.n_features_in_), sample_weight=sample_weight)

    def rows(self, estimator: Any, X: Any, reset: bool = False, dtype: Any = None) -> tuple[Dense | Sparse, float]:
        """The outputs of the association units."""
        retina, _ = super().rows(estimator, X, reset, dtype)
        return encode_rows(estimator.wiring_.transform(_whole(retina, estimator.n_features_in_)))

    def width(self, estimator: Any) -> int:
        """The number of units."""
        fitted = isinstance(estimator.wiring_, RandomWiring) and "_n_features_out" in vars(estimator.wiring_)
        must(fitted, "wiring_ to be a fitted RandomWiring")
        return int(estimator.wiring_._n_features_out)


class WiredPlan(OnlinePlan):
    """The plan of the response units."""

    @property
    def needs(self) -> Needs:
        """All rows, because the wiring does."""
        why = "the thresholds of its units depend on all rows"
        return replace(
            super().needs, memory=f"{{name}} cannot learn from files because {why}: use fit, in memory.", mixing=why
        )


class MarkI(Perceptron):
    """Rosenblatt's Mark I Perceptron: a retina, association units wired at random, a response layer that learns.

    The rows are pictures, of 20 × 20 photocells in the machine of 1960, or any other input. `RandomWiring` turns them
    into the outputs a of association units; the response units learn from them by the perceptron rule,

        w += η·y·a,   b += η·y          where y·(w·a + b) ≤ 0.

    What no plane separates in the retina may be separated by enough association units.

    Parameters
    ----------
    n_units, n_connections, inhibitory, threshold
        As in `RandomWiring`.
    learning_rate, fit_intercept, order, keep, multiclass, max_epochs, early_stopping, validation_fraction, \
scoring, n_iter_no_change, record_errors, class_weight, random_state
        As in `Perceptron`; here each response unit learns its class against the rest.

    Attributes
    ----------
    wiring_ : RandomWiring
        From the retina to the association units.
    coef_, intercept_ : ndarray
        From the association units to the responses.
    classes_, n_iter_, report_
        As in `Perceptron`.

    References
    ----------
    F. Rosenblatt, "Principles of Neurodynamics", 1962. J. Hay, B. Lynch, D. Smith, "Mark I Perceptron operators'
    manual", 1960.

    Examples
    --------
    >>> import numpy as np
    >>> from rosenblatt import MarkI
    >>> bars = np.zeros((40, 20, 20))
    >>> for k in range(20):
    ...     bars[k, k, :] = bars[20 + k, :, k] = 1.0  # both classes light every photocell equally often
    >>> y = ["lying"] * 20 + ["standing"] * 20
    >>> model = MarkI(threshold=1.5, random_state=0).fit(bars.reshape(40, 400), y)
    >>> model.report_.outcome, model.report_.errors
    ('separated', 0)
    """

    wiring_: RandomWiring
    ENCODED = ("n_features_in_", "wiring_")
    STORED = Perceptron.STORED | {"wiring_"}
    _parameter_constraints = MARK_I
    margin, update, bias_step = 0.0, "online", "unit"
    _reader = WiredReader()

    def __init__(
        self,
        n_units: int = 512,
        *,
        n_connections: int = 20,
        inhibitory: float = 0.5,
        threshold: float | str = "drawn",
        learning_rate: float | str | Callable[[int], float] = 1.0,
        fit_intercept: bool = True,
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
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    @classmethod
    def from_weights(cls, coef: Any, intercept: Any = 0.0, classes: Any = (-1, 1), **params: Any) -> Any:
        """Not available: the weights of the response units mean nothing without the wiring."""
        raise TypeError("MarkI is wired before it has weights: use Perceptron.from_weights on its units.")

    def _plan(self) -> OnlinePlan:
        return WiredPlan(**vars(super()._plan()))

    def _check_learned(self) -> None:
        self._reader.width(self)
        self.wiring_._check_whole()
        must(self.wiring_.n_features_in_ == self.n_features_in_, "wiring from the retina")
        super()._check_learned()


def _whole(rows: Dense | Sparse, n_features: int) -> Any:
    """All rows, as an array or a CSR matrix."""
    if isinstance(rows, Dense):
        return rows.values
    return copy_rows(rows, np.arange(rows.starts.size - 1), n_features)
