"""Bounds on the error of a model on new rows, each of which says when it is vacuous.

All hold with probability 1 − δ over n rows drawn independently from the distribution of the new rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv, gammaln

from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.number_format import counted
from rosenblatt.prove.exact.max_margin_certificate import WidestPlane
from rosenblatt.prove.margins import linear_model_of, margins

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class GeneralisationBound:
    """An upper bound on the error, and the counts it is based on.

    Attributes
    ----------
    name : str
        The name of the bound.
    value : float
        The bound; it is vacuous if it is 1 or more.
    basis : str
        What the bound was computed from.

    Examples
    --------
    >>> from rosenblatt.records import GeneralisationBound
    >>> bound = GeneralisationBound(name="held out", value=0.05, basis="3 errors on 100 rows")
    >>> bound.vacuous
    False
    """

    name: str
    value: float
    basis: str

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing, because an error rate is at most 1."""
        return not self.value < 1.0

    def __str__(self) -> str:
        """The bound as text."""
        return f"{self.name}: error at most {self.value:.4g}{' (vacuous)' if self.vacuous else ''}, from {self.basis}"


def clopper_pearson(errors: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact two-sided confidence interval for the error rate, from `errors` mistakes on n held-out rows.

    The ends solve P(≥ errors) = δ/2 and P(≤ errors) = δ/2 for a binomial count (C. Clopper, E. Pearson, 1934).

    Examples
    --------
    >>> from rosenblatt import clopper_pearson
    >>> low, high = clopper_pearson(3, 100)
    >>> round(low, 5), round(high, 5)
    (0.00623, 0.08518)
    """
    _check_counts(errors, n, confidence)
    half = (1 - confidence) / 2
    low = 0.0 if errors == 0 else float(betaincinv(errors, n - errors + 1, half))
    return low, held_out_bound(errors, n, 1 - half)


def held_out_bound(errors: int, n: int, confidence: float = 0.95) -> float:
    """The one-sided Clopper–Pearson upper bound on the error rate, from `errors` mistakes on n held-out rows."""
    _check_counts(errors, n, confidence)
    return 1.0 if errors == n else float(betaincinv(errors + 1, n - errors, confidence))


def _check_counts(errors: int, n: int, confidence: float) -> None:
    if not (0 <= errors <= n and n > 0 and errors == int(errors) and n == int(n)):
        raise ValueError(f"errors={errors} is not a count of errors on n={n} rows: it must be an integer from 0 to n.")
    _check_confidence(confidence)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}.")


def compression_bound(k: int, n: int, confidence: float = 0.95) -> float:
    """(ln C(n,k) + ln n + ln 1/δ)/(n − k): a consistent model that k of its n rows determine (Floyd, Warmuth 1995).

    Examples
    --------
    >>> from rosenblatt.prove.generalisation_bounds import compression_bound
    >>> round(compression_bound(10, 1000), 4)
    0.0645
    """
    if not (0 <= k <= n and n > 0):
        raise ValueError(f"k={k} must be from 0 to n={n}, the number of rows.")
    if k == n:
        return math.inf
    ways = float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
    return (ways + math.log(n) - math.log(1 - confidence)) / (n - k)


def online_bound(mistakes: int, n: int, confidence: float = 0.95) -> float:
    """M/n + √((2/n) ln 1/δ): the mean error of the hypotheses of one pass (Cesa-Bianchi, Conconi, Gentile 2004)."""
    return mistakes / n + math.sqrt(2 / n * math.log(1 / (1 - confidence)))


def margin_bound(geometric: Array, radius: float, confidence: float = 0.95) -> tuple[float, float]:
    """The smallest err_ρ + 2R/(ρ√n) + √(ln(1/δ_k)/(2n)) over ρ = R/2^k, δ_k = δ/(k(k + 1)); and its ρ.

    err_ρ is the share of rows with geometric margin below ρ (‖w‖ = 1; Bartlett, Mendelson 2002). The δ_k sum to δ, so
    ρ may be chosen after seeing the rows.
    """
    n, best = geometric.size, (math.inf, radius)
    for k in range(1, 60):
        rho = radius / 2**k
        slack = math.sqrt(math.log(k * (k + 1) / (1 - confidence)) / (2 * n))
        value = float(np.mean(geometric < rho)) + 2 * radius / (rho * math.sqrt(n)) + slack
        best = min(best, (value, rho))
    return best


def generalisation_bounds(
    model: Any, X: Any, y: Any, *, held_out: tuple[Any, Any] | None = None, confidence: float = 0.95
) -> tuple[GeneralisationBound, ...]:
    """Bounds on a model's error on new rows: from held-out rows first, then from the training rows.

    Parameters
    ----------
    model : fitted linear classifier or WidestPlane
        The plane that the bounds are about.
    X, y : the training rows
        The rows that the model was fitted to, with their labels.
    held_out : pair (X, y), optional
        Rows that were not used in training. Their bound (Clopper and Pearson) is usually the tightest; the others are
        often vacuous, and say so.
    confidence : float, default=0.95
        1 − δ, for each bound separately.

    Returns
    -------
    tuple of GeneralisationBound

    References
    ----------
    C. Clopper, E. Pearson, Biometrika 26, 1934. S. Floyd, M. Warmuth, Machine Learning 21, 1995. N. Cesa-Bianchi,
    A. Conconi, C. Gentile, IEEE Trans. Inf. Theory 50, 2004. P. Bartlett, S. Mendelson, JMLR 3, 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rosenblatt import Perceptron, generalisation_bounds
    >>> X, y = load_digits(return_X_y=True)
    >>> model = Perceptron(random_state=0).fit(X[:1000], y[:1000] == 0)
    >>> for bound in generalisation_bounds(model, X[:1000], y[:1000] == 0, held_out=(X[1000:], y[1000:] == 0)):
    ...     print(bound.name, bound.vacuous)
    held out False
    compression False
    online to batch False
    margin False
    """
    _check_confidence(confidence)
    seen = margins(model, X, y)
    n, found = seen.functional.size, []
    if held_out is not None:
        wrong, rows = _count_errors(model, *held_out)
        value = held_out_bound(wrong, rows, confidence)
        found.append(GeneralisationBound("held out", value, f"{counted(wrong, 'error')} on {counted(rows, 'row')}"))
    k, what = _compression_size(model)
    if k is not None and seen.errors == 0:
        found.append(GeneralisationBound("compression", compression_bound(min(k, n), n, confidence), what))
    epochs = getattr(getattr(model, "report_", None), "epochs", ())
    if epochs and epochs[0].epoch == 1 and _updates_by_single_rows(model, "shuffle", "cyclic"):
        made = min(epochs[0].updates, n)
        value = online_bound(made, n, confidence)
        what = f"{counted(made, 'update')} in the first epoch (for the average of its models)"
        found.append(GeneralisationBound("online to batch", value, what))
    if linear_model_of(model).coef.shape[0] == 1:
        found.append(_margin_bound_of(model, X, y, confidence))
    return tuple(found)


def _compression_size(model: Any) -> tuple[int | None, str]:
    """An upper bound on the number of rows that determine the model, or None if none is known; and its basis."""
    if isinstance(model, WidestPlane):
        return len(model.support), f"{len(model.support)} support rows"
    planes = [one for one in getattr(model, "certificates_", ()) if isinstance(one, WidestPlane)]
    if planes and len(planes) == len(model.certificates_):
        rows = len({row for one in planes for row in one.support})
        return rows, f"{rows} support rows"
    report = getattr(model, "report_", None)
    orders = ("shuffle", "cyclic", "blocks", "first", "worst")
    if (
        getattr(report, "outcome", None) == "separated"
        and report is not None
        and _updates_by_single_rows(model, *orders)
    ):
        return report.updates, f"at most {counted(report.updates, 'row')} that caused an update"
    return None, ""


def _updates_by_single_rows(model: Any, *orders: str) -> bool:
    """Whether each update was caused by a single row, with rows visited in one of these orders."""
    settings = model.get_params(deep=False)
    if not {"order", "max_epochs"} <= set(settings) or {"solver", "batch_size"} & set(settings):
        return False  # a gradient step needs no mistake
    order = settings["order"]
    return isinstance(order, str) and order in orders and settings.get("update", "online") == "online"


def _count_errors(model: Any, X: Any, y: Any) -> tuple[int, int]:
    """The number of errors, by the model's own `predict` if it has one, and the number of rows."""
    if hasattr(model, "predict"):
        said = np.asarray(model.predict(well_formed(X)))
        return int(np.count_nonzero(said != np.asarray(y))), said.shape[0]
    seen = margins(model, X, y)
    return seen.errors, seen.functional.size


def _margin_bound_of(model: Any, X: Any, y: Any, confidence: float) -> GeneralisationBound:
    """The margin bound in the space of (x, 1), where the plane passes through the origin."""
    linear = linear_model_of(model)
    seen = margins(model, X, y)
    norm = math.hypot(float(np.linalg.norm(linear.coef)), float(linear.intercept[0]))
    squares = (
        np.asarray(X.multiply(X).sum(axis=1)) if hasattr(X, "multiply") else np.square(np.asarray(X, float)).sum(axis=1)
    )
    radius = math.sqrt(float(squares.max()) + float(bool(linear.intercept[0])))
    if norm == 0:
        return GeneralisationBound("margin", math.inf, "w = 0")
    value, rho = margin_bound(seen.functional / norm, radius, confidence)
    return GeneralisationBound("margin", value, f"the rows with margin below {rho:.4g}")
