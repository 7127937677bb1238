"""`MaxMargin`: the hard-margin classifier."""

from __future__ import annotations

import math
import time
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from rosenblatt.compiled.row_arrays import read_only
from rosenblatt.compiled.tie_rule import decide
from rosenblatt.formats.arrow import check_buffers, check_collected
from rosenblatt.formats.declared_fields import is_array, must
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.examples import encode_weights
from rosenblatt.learn.labels import as_labels, check_labels, distinct, encode_labels
from rosenblatt.learn.overflow import all_finite, check_scores
from rosenblatt.learn.report import Report
from rosenblatt.learn.row_checks import encode_rows
from rosenblatt.learn.schemes import REST, TWO
from rosenblatt.objective.squared_hinge_newton import minimise_squared_hinge
from rosenblatt.prove.exact.claims import plain_label, signed_rows
from rosenblatt.prove.exact.labelled_rows import LabelledRows, check_label_types, dense_if_small, unique_column_names
from rosenblatt.prove.exact.max_margin_certificate import WidestPlane
from rosenblatt.prove.exact.separability_certificate import Separability
from rosenblatt.prove.max_margin.search import why_no_plane, widest_plane
from rosenblatt.shell.caller_warnings import warn
from rosenblatt.shell.encoding import validated
from rosenblatt.shell.fitted_attributes import SHARED, assigned, check_attributes, check_planes, protect
from rosenblatt.shell.fitting import all_or_nothing
from rosenblatt.shell.given_weights import given_planes

Array = np.ndarray[Any, Any]


PUBLISHED = ("coef_", "intercept_", "support_", "dual_coef_")


class Plane(NamedTuple):
    """One class against the rest: a plane, y·α of each row, its certificate, its gap and the number of steps."""

    coef: Array
    intercept: float
    shares: Array
    proof: Any
    gap: float
    steps: int


def _shares(found: WidestPlane, X: Any, sides: Array) -> Array:
    """y·α of each row: the weights of the point of least norm v = Σ λ_i y_i x_i, scaled so that Σ α_i y_i x_i is w."""
    shares, rows = np.zeros(sides.size), list(found.support)
    if rows:
        shares[rows] = np.array(found.weights) * sides[rows]
        v = np.asarray(shares[rows] @ X[rows], dtype=np.float64).ravel()
        length = math.hypot(*v)  # neither overflows nor underflows
        with np.errstate(over="ignore", invalid="ignore"):
            shares *= math.hypot(*found.coef) / length if length else 0.0
    return shares


class MaxMargin(ClassifierMixin, BaseEstimator):
    """The plane of the largest margin, each class against the rest, with a certificate for each.

    Maximises min_i y_i (w·x_i + b)/‖w‖ until margin and upper bound agree to `tol`. Where no plane separates, or none
    is found, it warns, stores the verdict in `report_`, and minimises ½‖w‖² + Σ max(0, 1 − y_i f(x_i))² instead (the
    squared hinge with C = 1).

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    tol : float, default=1e-6
        The gap between margin and upper bound, relative to the bound.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (K, d)
        In double precision. y·f is about 1 on the nearest rows.
    intercept_ : ndarray
        The bias of each plane.
    classes_ : ndarray
        The classes, sorted.
    support_ : ndarray of shape (S,)
        The rows that w is made of, ascending: the nearest ones, or for the squared hinge those with y·f < 1.
    dual_coef_ : ndarray of shape (1, S) or (K, S)
        Their coefficients: `coef_` = `dual_coef_` @ X[`support_`], up to `tol`. y·α, (1, S) for two classes as in
        scikit-learn's SVC; for K classes one row per plane, with 0 where a row does not support it. Absent, with
        `support_`, where α is not representable in doubles, as for rows of length 1e-155.
    n_iter_ : int
        Steps of Wolfe's algorithm (Newton steps, for the squared hinge), over all classes.
    certificates_ : tuple
        For each plane a `WidestPlane`, or a `Separability` if there is none. Rows of weight 0 are not counted.
    report_ : Report
        outcome "solved"; "inseparable" with `witness`, the `Separability` of the first class that is not separable; or
        "undecided" where no plane in doubles was found for a class, though one may exist.

    See Also
    --------
    max_margin : the same for two classes, as a function that raises.

    References
    ----------
    C. Cortes, V. Vapnik, "Support-vector networks", 1995. P. Wolfe, "Finding the nearest point in a polytope", 1976.

    Examples
    --------
    >>> from rosenblatt import MaxMargin
    >>> model = MaxMargin().fit([[0.0], [1.0], [3.0]], ["a", "a", "b"])
    >>> model.coef_, model.intercept_, model.report_.margin, model.report_.outcome
    (array([[1.]]), array([-2.]), 1.0, 'solved')
    >>> model.predict([[1.9], [2.1]])
    array(['a', 'b'], dtype='<U1')
    """

    STORED = SHARED | {"coef_", "intercept_", "support_", "dual_coef_", "certificates_"}
    _parameter_constraints: dict[str, Any] = {
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, *, fit_intercept: bool = True, tol: float = 1e-6) -> None:
        self.fit_intercept = fit_intercept
        self.tol = tol

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MaxMargin:
        """Find the widest planes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The training rows.
        y : array-like of shape (n,)
            The labels of the rows.
        sample_weight : array-like of shape (n,), optional
            A row of weight 0 is absent. Other weights matter only where rows cannot be separated.

        Returns
        -------
        self
        """
        self._validate_params()
        began = time.perf_counter()
        table, weights = self._table(X, y, sample_weight)
        names = table.classes[-1:] if table.classes.size == 2 else table.classes
        found = [self._plane(table, name, weights[weights > 0]) for name in names]
        self.coef_ = np.array([plane.coef for plane in found])
        self.intercept_ = np.array([plane.intercept for plane in found])
        shares = np.array([plane.shares for plane in found])
        for name in ("support_", "dual_coef_"):
            self.__dict__.pop(name, None)
        if np.isfinite(shares).all():
            support = np.flatnonzero(shares.any(axis=0))
            self.support_, self.dual_coef_ = np.flatnonzero(weights > 0)[support], shares[:, support]
        protect(self, *PUBLISHED)
        self.certificates_ = tuple(plane.proof for plane in found)
        self.n_iter_ = sum(plane.steps for plane in found)
        self.classes_ = table.classes
        self.report_ = self._report(table, max(plane.gap for plane in found), time.perf_counter() - began)
        self._warn()
        return self

    @classmethod
    def from_weights(cls, coef: Any, intercept: Any = 0.0, classes: Any = (-1, 1), **params: Any) -> MaxMargin:
        """A model with these weights and no certificates (`report_` is None): see `Perceptron.from_weights`."""
        model = cls(**params)
        model._validate_params()
        W, b, model.classes_ = given_planes(coef, intercept, classes, TWO if len(classes) == 2 else REST)
        model.coef_, model.intercept_ = read_only(W), read_only(b)
        model.n_features_in_, model.n_iter_, model.certificates_ = W.shape[1], 0, ()
        model.report_ = None  # type: ignore[assignment]
        return model

    def _table(self, X: Any, y: Any, sample_weight: Any) -> tuple[LabelledRows, Array]:
        """The rows of positive weight, and the weights of all rows."""
        if y is None:
            raise ValueError("MaxMargin requires y to be passed, but the target y is None.")
        X = self._checked(X, reset=True)
        check_buffers(y, "y")
        check_collected(y, "y")
        check_consistent_length(X, y)
        y = column_or_1d(as_labels(y), warn=True)
        weights = encode_weights(sample_weight, X.shape[0])
        weights = np.ones(X.shape[0]) if weights is None else weights
        if not weights.all():
            X, y = well_formed(X)[weights > 0], y[weights > 0]
        rows, radius2 = encode_rows(X)
        classes = distinct(y)
        check_labels(y, classes)
        check_label_types(classes)
        if classes.size < 2:
            raise ValueError(f"MaxMargin needs at least 2 classes to learn from; y has 1 class: {classes.item(0)!r}.")
        X, rows = dense_if_small(rows, X.shape[1])
        names = unique_column_names(getattr(self, "feature_names_in_", None))
        table = LabelledRows(X, rows, radius2, names, classes, encode_labels(y, classes))
        return table, weights

    def _checked(self, X: Any, reset: bool) -> Any:
        return validated(self, X, reset=reset, accept_sparse="csr", accept_large_sparse=True, order="C",
                             dtype=[np.float64, np.float32], ensure_all_finite=False)  # fmt: skip

    def _plane(self, table: LabelledRows, name: Any, weights: Array) -> Plane:
        """One class against the rest."""
        found, steps = widest_plane(table, name, self.fit_intercept, self.tol)
        sides = signed_rows(table, name, self.fit_intercept).sides.astype(np.float64)
        if isinstance(found, WidestPlane):
            return Plane(found.coef, found.intercept, _shares(found, table.X, sides), found, found.gap, steps)
        soft = minimise_squared_hinge(table.X, sides, weights, self.fit_intercept)
        if not all_finite(np.append(soft.w, (soft.b, soft.gap))):
            raise NotFiniteError("The squared hinge overflows on these rows")
        return Plane(soft.w, soft.b, sides * soft.alpha, found, soft.gap, soft.steps)

    def _report(self, table: LabelledRows, gap: float, seconds: float) -> Report:
        without = [one for one in self.certificates_ if isinstance(one, Separability)]
        refused = [one for one in without if one.separable is False]
        outcome = "inseparable" if refused else "undecided" if without else "solved" if gap <= self.tol else "budget"
        scores = check_scores(self._scores(table.X))
        codes = table.codes
        if scores.ndim == 1:
            low = float(np.where(codes == 1, scores, -scores).min())
        else:
            on = codes[:, None] == np.arange(scores.shape[1])
            norms = np.linalg.norm(self.coef_, axis=1)
            norms[norms == 0] = math.inf  # w = 0 defines no distance
            low = float((np.where(on, scores, -scores).min(axis=0) / norms).min())
        if without:
            margin = low if scores.ndim > 1 else low / (float(np.linalg.norm(self.coef_)) or math.inf)
        else:
            margin = min(one.margin for one in self.certificates_)
        return Report(
            outcome=outcome,
            epochs=(),
            updates=0,
            errors=int(np.count_nonzero(decide(scores) != codes)),
            margin=margin,
            radius=math.sqrt(table.radius2),
            gap=gap,
            seconds=seconds,
            rows=table.shape[0],
            witness=refused[0] if refused else None,
        )

    def _warn(self) -> None:
        without = [one for one in self.certificates_ if isinstance(one, Separability)]
        if without:
            which = ", ".join(repr(plain_label(one.positive)) for one in without if one.separable is False)
            why = [f"No plane separates {which} from the rest (report_.witness has the proof)"] if which else []
            why += [why_no_plane(one) for one in without if one.separable is not False]
            warn(f"{'. '.join(why)}: the squared hinge with C = 1 was minimised instead.")
        elif self.report_.outcome == "budget":
            warn(
                f"The margin is proven only to a gap of {self.report_.gap:.2g}, above tol={self.tol:g}: this is the "
                "limit of double precision on these rows."
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, whose arrays are read-only too."""
        super().__setstate__(state)
        protect(self, *PUBLISHED)

    def _renew(self) -> None:
        """Make the arrays read-only."""
        protect(self, *PUBLISHED)

    def _check_whole(self) -> None:
        """Refuse planes and classes that do not fit together."""
        check_attributes(self)
        if not {"coef_", "intercept_", "classes_", "certificates_"} & vars(self).keys():
            return
        planes = 1 if self.classes_.size == 2 else int(self.classes_.size)
        check_planes(self.coef_, self.intercept_, planes, self.n_features_in_, "fiu")
        if "support_" in vars(self):  # absent after from_weights
            must(is_array(self.support_, (self.support_.size,), "i"), "the numbers of support rows")
            must(is_array(self.dual_coef_, (planes, self.support_.size)), "dual coefficients")
        proofs = 0 if self.report_ is None else planes  # from_weights gives no certificates
        must(isinstance(self.certificates_, tuple) and len(self.certificates_) == proofs, f"{proofs} certificates")
        must(all(isinstance(one, WidestPlane | Separability) for one in self.certificates_), "certificates")

    def _scores(self, X: Any) -> Array:
        classes = self.classes_
        must(isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size > 1, "classes_ to be an array")
        planes = 1 if classes.size == 2 else int(classes.size)
        coef = assigned(self, "coef_", (planes, self.n_features_in_))
        scores = np.asarray(X @ coef.T) + assigned(self, "intercept_", (planes,))
        return np.asarray(scores[:, 0] if scores.shape[1] == 1 else scores)

    def decision_function(self, X: Any) -> Array:
        """Scores of rows: (n,) for two classes, positive for `classes_[1]`; (n, K) for more.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The rows to score.

        Returns
        -------
        ndarray
        """
        check_is_fitted(self, "coef_")
        X = self._checked(X, reset=False)
        encode_rows(X)  # refuses NaN and infinity
        return self._scores(X)

    def predict(self, X: Any) -> Array:
        """Classes of rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The rows to predict.

        Returns
        -------
        ndarray
        """
        scores = self.decision_function(X)
        return np.asarray(self.classes_[decide(scores)])

    def __sklearn_tags__(self) -> Any:
        """Sparse input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
