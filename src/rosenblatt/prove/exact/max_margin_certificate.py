"""The certificate of the plane with the largest margin, and its exact checker.

Of rosenblatt, only `prove.exact` and checks of rows and labels are imported here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from rosenblatt.prove.exact.arithmetic import SignedRows, integers_and_exponents, power_of_two
from rosenblatt.prove.exact.claims import (
    check_described,
    check_separation,
    is_row_number,
    refuse,
    root_above,
    signed_rows,
)
from rosenblatt.prove.exact.labelled_rows import read_labelled_rows
from rosenblatt.prove.exact.records import CertificateRecord

Array = np.ndarray[Any, Any]


def upper_margin(z: SignedRows, support: tuple[int, ...], weights: tuple[float, ...]) -> float:
    """The upper bound on the margin of any plane that these weights prove, rounded up to a double.

    With an intercept it is ½‖p − q‖, where p and q are the weighted means of the two classes; without one it is
    ‖Σ α_i z_i‖/Σ α_i.
    """
    block = z.block(np.array(support, dtype=np.int64))
    rows, unit = integers_and_exponents(block[:, :-1] if z.intercept else block)
    alpha = integers_and_exponents(np.array(weights)[:, None])[0][:, 0].astype(object)
    rows, sides = rows.astype(object), z.sides[list(support)]
    if z.intercept:
        plus, minus = int(alpha[sides > 0].sum()), int(alpha[sides < 0].sum())
        total, mass = (
            minus * (alpha[sides > 0] @ rows[sides > 0]) + plus * (alpha[sides < 0] @ rows[sides < 0]),
            plus * minus,
        )
        mass *= 2
    else:
        total, mass = alpha @ rows, int(alpha.sum())
    if mass == 0:
        return math.inf
    least = int(unit.min())
    square = sum((int(v) << int(e) - least) ** 2 for v, e in zip(total, unit, strict=True))
    return root_above(Fraction(square, mass**2) * power_of_two(2 * least))


@dataclass(frozen=True, eq=False)
class WidestPlane(CertificateRecord):
    """The plane with the largest margin, with bounds that prove it; returned by `max_margin`.

    Attributes
    ----------
    positive, classes, fit_intercept, shape
        As in `Separability`.
    coef, intercept : ndarray of shape (d,), float
        The plane, scaled so that y·f is about 1 on the nearest rows.
    margin : float
        The margin that it achieves, rounded down to a double.
    upper : float
        No plane has a larger margin: the bound that `support` and `weights` prove, rounded up to a double.
    support, weights : tuple of int, tuple of float
        Rows and their α > 0; Σ α_i z_i is the normal of the plane.

    Examples
    --------
    >>> from rosenblatt import max_margin
    >>> plane = max_margin([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> plane.coef, plane.intercept, plane.margin, plane.upper, plane.support
    (array([1.]), -2.0..., 1.0, 1.0, (1, 2))
    >>> WidestPlane.from_json(plane.to_json()) == plane
    True
    """

    kind: ClassVar[str] = "widest plane"

    positive: Any
    classes: tuple[Any, ...]
    fit_intercept: bool
    shape: tuple[int, int]
    coef: Array
    intercept: float
    margin: float
    upper: float
    support: tuple[int, ...]
    weights: tuple[float, ...]

    @property
    def gap(self) -> float:
        """The relative gap (upper − margin)/upper; 1 if `upper` is infinite."""
        return (self.upper - self.margin) / self.upper if math.isfinite(self.upper) else 1.0

    def __str__(self) -> str:
        """The plane as text."""
        return (
            f"a plane separates {self.positive!r} from the rest with margin {self.margin:.9g}; "
            f"no plane has more than {self.upper:.9g} (gap {self.gap:.2g}), proven by {len(self.support)} rows"
        )

    def verify(self, X: Any, y: Any) -> None:
        """Check every claim exactly against the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The rows that the record is about.
        y : array-like of shape (n,)
            Their labels.

        Raises
        ------
        CertificateError
            Names the first claim that is false, and the row.
        """
        table = read_labelled_rows(X, y)
        z = signed_rows(table, self.positive, self.fit_intercept)
        check_described(self, table)
        if self.coef.shape != (table.shape[1],):
            refuse("shape", f"X has shape {table.shape}, the record has {self.shape}")
        if not self.fit_intercept and self.intercept != 0:
            refuse("intercept", "must be 0 if fit_intercept is False")
        w = np.append(self.coef, self.intercept) if self.fit_intercept else self.coef
        if not np.isfinite(w).all():
            refuse("coef", "must be finite")
        check_separation(z, w, self.margin)
        if len(self.support) != len(self.weights) or len(set(self.support)) != len(self.support):
            refuse("support", "must have distinct rows and one weight per row")
        for row, weight in zip(self.support, self.weights, strict=True):
            if not (is_row_number(row) and 0 <= row < z.n):
                refuse("support", "names a row that does not exist", row)
            if not (isinstance(weight, float) and 0 < weight < math.inf):
                refuse("support", f"has weight {weight}, expected a positive finite number", row)
        if self.upper != upper_margin(z, self.support, self.weights):
            refuse("upper", f"{self.upper!r} is not the bound that the support proves, rounded up to a double")
