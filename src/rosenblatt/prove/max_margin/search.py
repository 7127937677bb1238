"""`max_margin`: the plane with the largest margin γ*, with proven lower and upper bounds on γ*.

For α ≥ 0 and w = Σ α_i z_i, planes through the origin have min z_i·w/‖w‖ ≤ γ* ≤ ‖w‖/Σα. With an intercept, p and q in
the hulls of the classes and w = p − q give (min₊ w·x − max₋ w·x)/(2‖w‖) ≤ γ* ≤ ½‖w‖. The search (`hulls`) uses
floating point; the bounds are then computed exactly.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from rosenblatt.prove.exact.claims import geometric_margin, plain_label, signed_rows
from rosenblatt.prove.exact.labelled_rows import LabelledRows, check_flag, read_labelled_rows
from rosenblatt.prove.exact.max_margin_certificate import WidestPlane, upper_margin
from rosenblatt.prove.exact.separability_certificate import Separability
from rosenblatt.prove.max_margin.hulls import find_widest_plane
from rosenblatt.prove.separation.search import decide_separability


class InseparableError(ValueError):
    """No plane separates these rows.

    Attributes
    ----------
    verdict : Separability
        The proof.

    Examples
    --------
    >>> from rosenblatt import InseparableError, max_margin
    >>> try:
    ...     max_margin([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    ... except InseparableError as error:
    ...     print(error)
    No plane separates these rows: overlap: no plane separates 1 from the rest, not even weakly
      rows 0, 1, 2, 3 prove it: a weighted mean of one class equals a weighted mean of the other
    """

    def __init__(self, verdict: Separability) -> None:
        super().__init__(f"No plane separates these rows: {verdict}")
        self.verdict = verdict

    def __reduce__(self) -> tuple[Any, ...]:
        return InseparableError, (self.verdict,)


class UndecidedError(ValueError):
    """No plane in doubles was found, but none is ruled out.

    Attributes
    ----------
    verdict : Separability
        What is known. Its `separable` is None if neither a plane nor a proof that there is none was found; it is True
        if a plane is known only in fractions (`verdict.plane`), because none in doubles was found to separate.

    Examples
    --------
    >>> from rosenblatt import UndecidedError
    >>> issubclass(UndecidedError, ValueError)
    True
    """

    def __init__(self, verdict: Separability) -> None:
        super().__init__(f"{why_no_plane(verdict)}: {verdict}")
        self.verdict = verdict

    def __reduce__(self) -> tuple[Any, ...]:
        return UndecidedError, (self.verdict,)


def why_no_plane(verdict: Separability) -> str:
    """Why there is no plane although the verdict does not rule one out."""
    if verdict.separable:
        return f"A plane separates {verdict.positive!r} from the rest, but no plane in doubles was found"
    return f"Whether a plane separates {verdict.positive!r} from the rest could not be decided"


def max_margin(X: Any, y: Any, *, fit_intercept: bool = True, tol: float = 1e-6) -> WidestPlane:
    """The plane with the largest margin between two classes, with a proof of how large any margin can be.

    Maximises γ = min_i y_i (w·x_i + b)/‖w‖. The record has the margin achieved, an upper bound from the distance
    between two points in the hulls of the classes, and their relative gap.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The rows to separate.
    y : array-like of shape (n,)
        Labels of two classes; the larger label is positive.
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    tol : float, default=1e-6
        The relative gap to reach. If rounding prevents that, the record's `gap` is larger.

    Returns
    -------
    WidestPlane

    Raises
    ------
    InseparableError
        If no plane separates the classes; its `verdict` has the proof.
    UndecidedError
        If no plane in doubles was found, but none is ruled out; its `verdict` has what is known.

    References
    ----------
    P. Wolfe, "Finding the nearest point in a polytope", Math. Programming 11, 1976. C. Cortes, V. Vapnik,
    "Support-vector networks", 1995.

    Examples
    --------
    >>> from rosenblatt import max_margin
    >>> plane = max_margin([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], fit_intercept=False)
    >>> round(plane.margin, 9), plane.gap < 1e-6
    (0.707106781, True)
    >>> plane.verify([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1])
    """
    if not (isinstance(tol, Real) and 0 < tol < 1):
        raise ValueError(f"tol must be between 0 and 1, got {tol!r}.")
    check_flag("fit_intercept", fit_intercept)
    table = read_labelled_rows(X, y)
    if table.classes.size != 2:
        raise ValueError(
            f"max_margin needs two classes, y has {table.classes.size}: {table.classes.tolist()}. "
            "For more classes use MaxMargin, or pass y == c for each class c."
        )
    found, _ = widest_plane(table, table.classes[-1], bool(fit_intercept), tol)
    if isinstance(found, Separability):
        raise (InseparableError if found.separable is False else UndecidedError)(found)
    return found


def widest_plane(
    table: LabelledRows, positive: Any, fit_intercept: bool, tol: float
) -> tuple[WidestPlane | Separability, int]:
    """The widest plane between one class and the rest, or the verdict if there is none; and the number of steps."""
    z = signed_rows(table, positive, fit_intercept)
    plane, rows, alpha, steps = find_widest_plane(z, tol)
    if plane is None:
        verdict = decide_separability(table, positive, fit_intercept)
        if verdict.verdict != "complete" or verdict.coef is None or verdict.plane is not None:
            return verdict, steps
        plane = np.append(verdict.coef, verdict.intercept or 0.0) if fit_intercept else verdict.coef
    if not (np.isfinite(alpha) & (alpha > 0)).all():  # squares overflowed or underflowed: these weights prove nothing
        rows, alpha = rows[:0], alpha[:0]
    order = np.argsort(rows)
    weights = alpha[order].astype(np.float64)
    support = tuple(int(row) for row in rows[order])
    record = WidestPlane(
        positive=plain_label(positive),
        classes=tuple(plain_label(name) for name in table.classes),
        fit_intercept=fit_intercept,
        shape=table.shape,
        coef=plane[:-1] if fit_intercept else plane,
        intercept=float(plane[-1]) if fit_intercept else 0.0,
        margin=geometric_margin(z, plane),
        upper=upper_margin(z, support, tuple(weights.tolist())),
        support=support,
        weights=tuple(weights.tolist()),
    )
    return record, steps
