"""The geometry of a linear model: distances, margins, projections, and the line in two dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from rosenblatt.compiled.tie_rule import decide
from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.labels import encode_labels
from rosenblatt.prove.exact.labelled_rows import LabelledRows, read_labelled_rows
from rosenblatt.prove.exact.max_margin_certificate import WidestPlane
from rosenblatt.prove.exact.separability_certificate import Separability

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class LinearModel:
    """A linear model: its planes (K, d), a single one for two classes, and its class labels."""

    coef: Array
    intercept: Array
    classes: Array

    def scores(self, X: Any) -> Array:
        """w_k·x + b_k, (n, K), in double precision."""
        return np.asarray(X @ self.coef.T, dtype=np.float64) + self.intercept


def linear_model_of(model: Any) -> LinearModel:
    """The planes of a fitted model, or of a certificate."""
    if isinstance(model, Separability | WidestPlane):
        if model.coef is None:
            raise ValueError(f"A certificate with the verdict {model.verdict!r} has no plane.")
        known = model.classes if len(model.classes) == 2 else (False, True)  # not in this class, in this class
        return LinearModel(np.atleast_2d(model.coef), np.array([model.intercept]), np.array(known))
    if not hasattr(model, "coef_") or not hasattr(model, "classes_"):
        raise ValueError(
            f"{type(model).__name__} is not fitted or not a linear classifier: it has no coef_ and classes_."
        )
    if np.size(model.classes_) > 2 and (
        getattr(model, "multiclass", None) == "ovo" or hasattr(model, "decision_function_shape")
    ):
        raise ValueError(
            f"{type(model).__name__} decides by votes between pairs of classes (one-vs-one), for which margins are not "
            'defined. For margins, fit one plane per class: multiclass="multinomial" or "ovr".'
        )
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (coef.shape[0],))
    classes = np.asarray(model.classes_)
    if coef.shape[0] != (1 if classes.size <= 2 else classes.size):
        raise ValueError(f"{coef.shape[0]} planes for {classes.size} classes: margins need one plane per class.")
    return LinearModel(coef, intercept, classes)


@dataclass(frozen=True)
class Margins:
    """Margins of rows; what `margins` returns.

    Two classes: f = w·x + b, y = ±1. Many: the score of the true class less that of another.

    Attributes
    ----------
    functional : ndarray of shape (n,)
        y·f; for more than two classes s_y − max s_r.
    geometric : ndarray of shape (n,)
        Signed distance to the nearest decision boundary, negative if the row is misclassified: y·f/‖w‖; for more than
        two classes min_r (s_y − s_r)/‖w_y − w_r‖.
    distances : ndarray of shape (n,) or (n, K)
        f/‖w‖, the signed distance to each plane, positive on the side w points to.
    margin : float
        The margin of the set: the smallest geometric margin.
    coef, intercept : ndarray
        The planes.

    Examples
    --------
    >>> from rosenblatt import Perceptron, margins
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> seen = margins(Perceptron(fit_intercept=False, order="cyclic").fit(X, y), X, y)
    >>> seen.functional, round(seen.margin, 4)
    (array([1., 1., 1., 1.]), 0.7071)
    """

    functional: Array
    geometric: Array
    distances: Array
    margin: float
    coef: Array
    intercept: Array

    @property
    def errors(self) -> int:
        """The number of rows whose margin is not positive; ties and NaN count as errors."""
        return int(np.count_nonzero(~(self.functional > 0)))

    def distribution(self, shares: Any = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)) -> dict[float, float]:
        """Quantiles of the geometric margin, by the share of rows that do not exceed them."""
        return {float(share): float(np.quantile(self.geometric, share)) for share in shares}

    def below(self, rho: float) -> float:
        """The share of rows with a geometric margin below rho."""
        return float(np.mean(self.geometric < rho))

    def project(self, X: Any, plane: int = 0) -> Array:
        """The nearest point of a plane to each row: x − f(x)·w/‖w‖²."""
        w = self.coef[plane]
        X = np.asarray(well_formed(X).toarray() if sp.issparse(X) else X, dtype=np.float64)
        norm2 = float(w @ w)
        if norm2 == 0:
            raise ValueError("w is 0: there is no plane to project onto.")
        return np.asarray(X - ((X @ w + self.intercept[plane]) / norm2)[:, None] * w)

    @property
    def line(self) -> tuple[float, float]:
        """In two dimensions (slope, intercept): x₂ = slope·x₁ + intercept; (∞, c) for the vertical line x₁ = c."""
        if self.coef.shape != (1, 2):
            raise ValueError(
                f"A line needs one plane in two dimensions, got {self.coef.shape[0]} in {self.coef.shape[1]}."
            )
        (w1, w2), b = self.coef[0], float(self.intercept[0])
        if w2 == 0:
            return (math.inf, -b / w1) if w1 else (math.nan, math.nan)
        return float(-w1 / w2), float(-b / w2)

    def __str__(self) -> str:
        """The margins as text."""
        spread = ", ".join(f"{value:.4g}" for value in self.distribution((0.25, 0.5, 0.75)).values())
        return (
            f"margin {self.margin:.6g} over {self.functional.size:,} rows, {self.errors:,} of them wrong; "
            f"quartiles {spread}"
        )


def margins(model: Any, X: Any, y: Any = None) -> Margins:
    """Functional and geometric margins of every row, and the margin of the set.

    The functional margin of (x, y) is y·(w·x + b); the geometric margin is its signed distance y·(w·x + b)/‖w‖ to the
    plane; the margin of a set is the smallest (Novikoff 1962; Cristianini and Shawe-Taylor 2000).

    Parameters
    ----------
    model : fitted linear classifier, WidestPlane or Separability
        Anything with `coef_`, `intercept_` and `classes_`, and one plane per class. For a certificate about one class
        of several, pass y == that class. Of a pipeline that ends in such a model the margins are those of the last
        step, on the rows that reach it.
    X : array-like or sparse matrix of shape (n, d)
        The rows whose margins are wanted.
    y : array-like of shape (n,), optional
        Without labels, those that the model predicts: margins are then distances, and `distances` has their signs.

    Returns
    -------
    Margins

    Examples
    --------
    >>> from rosenblatt import margins, max_margin
    >>> X, y = [[0.0, 4.0], [0.0, 0.0]], [1, -1]
    >>> seen = margins(max_margin(X, y), X, y)
    >>> seen.geometric, seen.line
    (array([2., 2.]), (-0.0, 2.0))
    >>> margins(max_margin(X, y), [[0.0, 5.0]]).distances
    array([3.])
    """
    if isinstance(model, Pipeline):
        model, X = model[-1], model[:-1].transform(X) if len(model) > 1 else X
    linear = linear_model_of(model)
    table = read_labelled_rows(X, np.zeros(np.shape(X)[:1]) if y is None else y)
    if y is not None and len(getattr(model, "classes", (0, 1))) != 2 and table.classes.dtype != bool:
        raise ValueError(
            f"This plane separates one class from several others: pass y == {model.positive!r} in place of y."
        )
    if table.shape[1] != linear.coef.shape[1]:
        raise ValueError(f"X has {table.shape[1]} features, but the model expects {linear.coef.shape[1]}.")
    scores = linear.scores(table.X)
    predicted = decide(scores if scores.shape[1] > 1 else scores[:, 0])
    codes = predicted if y is None else _label_codes(linear, table)
    norms = np.linalg.norm(linear.coef, axis=1)
    distances = _divide_by_norm(scores, norms[None, :])
    if scores.shape[1] == 1:
        side = np.where(codes == 1, 1.0, -1.0)
        functional, geometric, distances = side * scores[:, 0], side * distances[:, 0], distances[:, 0]
    else:
        at = np.arange(codes.size)
        lead = scores[at, codes][:, None] - scores
        apart = np.linalg.norm(linear.coef[codes][:, None, :] - linear.coef[None, :, :], axis=2)
        far = _divide_by_norm(lead, apart)
        lead[at, codes] = far[at, codes] = np.inf
        functional, geometric = lead.min(axis=1), far.min(axis=1)
    return Margins(functional, geometric, distances, float(geometric.min()), linear.coef, linear.intercept)


def _divide_by_norm(f: Array, norm: Array) -> Array:
    """f/‖w‖; with w = 0 the prediction never changes, so the distance is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(norm > 0, f / norm, np.where(f == 0, 0.0, np.copysign(np.inf, f)))


def _label_codes(linear: LinearModel, table: LabelledRows) -> Array:
    """The labels of the rows as indices into the model's classes."""
    unknown = [name for name in table.classes if name not in linear.classes]
    if unknown:
        raise ValueError(
            f"y has the label {unknown[0]!r}, which is not a class of the model: {linear.classes.tolist()}."
        )
    return encode_labels(table.classes, linear.classes)[table.codes]
