"""Mistake bounds: the most updates a perceptron can make before it converges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.prove.exact.labelled_rows import read_labelled_rows
from rosenblatt.prove.margins import linear_model_of, margins
from rosenblatt.prove.max_margin.search import max_margin
from rosenblatt.prove.mistake_formula import Separator, mistake_bound

# -- the forms of Novikoff's bound -----------------------------------------------------------------------------


@dataclass(frozen=True)
class MistakeBound:
    """The most updates that a perceptron starting at zero can make, by one form of Novikoff's theorem.

    Attributes
    ----------
    form : {"origin", "unit", "radius"} or float
        "origin", without bias: (R/γ)². "unit", bias step 1: (1 + R²)(1 + b²)/γ². "radius", bias step R²: (2R/γ)². A
        number is the bias step c² of the model: (c² + R²)(1 + b²/c²)/γ².
    value : float
        The most updates that can be made.
    radius : float
        R = max‖x‖.
    margin : float
        γ, for a plane with unit normal.
    source : {"achieved", "widest"}
        Whether γ is the margin of the model's own plane or the largest possible one.
    share : float or None
        updates/value, for the form that applies to the model's training.

    Examples
    --------
    >>> from rosenblatt import Perceptron, mistake_bounds
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> print(mistake_bounds(Perceptron(fit_intercept=False, order="cyclic").fit(X, y), X, y)[0])
    no bias: at most 2 updates (R = 1, achieved γ = 0.707107), 100 % of it used
    """

    form: str | float
    value: float
    radius: float
    margin: float
    source: str
    share: float | None

    def __str__(self) -> str:
        """The bound as text."""
        used = "" if self.share is None else f", {100 * self.share:.3g} % of it used"
        names = {"origin": "no bias", "unit": "bias step 1", "radius": "bias step R²"}
        where = names[self.form] if isinstance(self.form, str) else f"bias step {self.form:g}"
        source = f"R = {self.radius:.6g}, {self.source} γ = {self.margin:.6g}"
        return f"{where}: at most {self.value:,.6g} updates ({source}){used}"


def novikoff(form: str | float, radius: float, margin: float, bias: float = 0.0, *, tau: float = 0.0) -> float:
    """The bound in one of its forms, from R, γ and b of a plane with unit normal; tau is τ/η, the required margin.

    Examples
    --------
    >>> from rosenblatt.prove.mistake_bounds import novikoff
    >>> novikoff("origin", 1.0, 0.5), novikoff("unit", 1.0, 0.5, bias=1.0), novikoff("radius", 1.0, 0.5)
    (4.0, 16.0, 16.0)
    """
    plane = Separator(margin, 1.0, bias * bias)
    kind = "none" if form == "origin" else form
    return mistake_bound(plane, radius * radius, bias=kind, margin=tau) or math.inf


def mistake_bounds(model: Any, X: Any, y: Any) -> tuple[MistakeBound, ...]:
    """Novikoff's bound in its forms, from the margin achieved and from the largest margin.

    Parameters
    ----------
    model : fitted two-class linear model
        For a `Perceptron`, `share` is set: the fraction of the bound that its updates used.
    X, y : the training rows
        Bounds from the largest margin need separable rows; the others need rows that the model separates.

    Returns
    -------
    tuple of MistakeBound
        The bounds that hold; empty if no plane separates the rows.

    References
    ----------
    A. Novikoff, "On convergence proofs for perceptrons", 1962. N. Cristianini, J. Shawe-Taylor, "An introduction to
    support vector machines", 2000, theorem 2.3 (bias step R²).

    Examples
    --------
    >>> from rosenblatt import Perceptron, mistake_bounds
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> model = Perceptron(fit_intercept=False, order="cyclic").fit(X, y)
    >>> print(mistake_bounds(model, X, y)[0])
    no bias: at most 2 updates (R = 1, achieved γ = 0.707107), 100 % of it used
    """
    linear = linear_model_of(model)
    if linear.coef.shape[0] != 1:
        raise ValueError(
            "mistake_bounds needs a model of two classes; for more, pass a model of one class against the rest."
        )
    radius = math.sqrt(read_labelled_rows(X, y).radius2)
    trained, updates, tau = _training_form(model)
    found: list[MistakeBound] = []
    forms: list[str | float] = ["origin", "unit", "radius"]
    if isinstance(trained, float):
        forms.append(trained)

    def add_bounds(source: str, plane: Any) -> None:
        seen, line = margins(plane, X, y), linear_model_of(plane)
        length, b = math.sqrt(float(line.coef[0] @ line.coef[0])), float(line.intercept[0])
        if not (seen.margin > 0 and length > 0):
            return
        for form in forms:
            if (form == "origin") == (b == 0 and not _has_bias(plane)):
                value = novikoff(form, radius, seen.margin, b / length, tau=tau)
                share = updates / value if form == trained and updates is not None else None
                found.append(MistakeBound(form, value, radius, seen.margin, source, share))

    add_bounds("achieved", model)
    for fit_intercept in (False, True):
        try:
            add_bounds("widest", max_margin(X, y, fit_intercept=fit_intercept))
        except ValueError:
            continue
    return tuple(found)


def _has_bias(model: Any) -> bool:
    return bool(getattr(model, "fit_intercept", False))


def _training_form(model: Any) -> tuple[str | float | None, int | None, float]:
    """The form that applies to a perceptron's training, its number of updates, and its required margin τ/η."""
    report: Any = getattr(model, "report_", None)
    if getattr(report, "bound", None) is None or report.moved is not None:  # a batch has a bound of its own
        return None, None, 0.0
    form = "origin" if not model.fit_intercept else model.bias_step
    if not isinstance(form, str):
        form = "unit" if form == 1 else float(form)
    return form, int(report.updates), float(np.max(model.margin)) / float(model.learning_rate)


@dataclass(frozen=True)
class PAUMBounds:
    """For a perceptron with uneven margins: the most updates, and the smallest margin that each class ends with.

    Attributes
    ----------
    updates : float
        The most updates that can be made.
    margins : tuple of float
        One per class, in the order of `tau`.

    Examples
    --------
    >>> from rosenblatt import paum_bounds
    >>> bounds = paum_bounds(1.0, 0.5, (1.0, 2.0))
    >>> round(bounds.updates, 2), [round(one, 4) for one in bounds.margins]
    (48.0, [0.0589, 0.1179])
    """

    updates: float
    margins: tuple[float, float]


def paum_bounds(
    radius: float, margin: float, tau: tuple[float, float], *, learning_rate: float = 1.0, fit_intercept: bool = True
) -> PAUMBounds:
    """Guarantees for the perceptron with uneven margins on rows with R = radius and γ = margin.

    With τ = max(τ₋, τ₊), bias step R²: updates ≤ (2R/γ)²(1 + τ/(ηR²)), margin of a class ≥ γτ_y/(√8(τ + ηR²)). Without
    bias: updates ≤ (R² + 2τ/η)/γ², margin ≥ γτ_y/(2τ + ηR²) (Li et al. 2002).

    Examples
    --------
    >>> from rosenblatt import paum_bounds
    >>> paum_bounds(1.0, 0.5, (1.0, 1.0), fit_intercept=False)
    PAUMBounds(updates=12.0, margins=(0.16666666666666666, 0.16666666666666666))
    """
    if np.shape(tau) != (2,) or np.asarray(tau).dtype.kind not in "iuf":
        raise ValueError(f"tau must be two numbers, for the negative and the positive class, got {tau!r}.")
    if not (radius > 0 and margin > 0 and learning_rate > 0 and min(tau) >= 0):
        raise ValueError(
            f"radius={radius}, margin={margin} and learning_rate={learning_rate} must be positive, "
            f"and tau={tau} must not be negative."
        )
    most, step2 = max(tau), learning_rate * radius * radius
    plane = Separator(margin, 1.0, 0.0)
    kind = "radius" if fit_intercept else "none"
    updates = mistake_bound(plane, radius * radius, bias=kind, margin=most, rate=learning_rate)
    over = math.sqrt(8) * (most + step2) if fit_intercept else 2 * most + step2
    return PAUMBounds(updates or math.inf, (margin * tau[0] / over, margin * tau[1] / over))
