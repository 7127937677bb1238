"""Whether a plane separates two classes: the result of the proofs, in the form that the pictures and the lab draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.prove.exact.labelled_rows import read_labelled_rows
from rosenblatt.prove.exact.max_margin_certificate import WidestPlane
from rosenblatt.prove.exact.separability_certificate import Separability
from rosenblatt.prove.margins import margins
from rosenblatt.prove.max_margin.search import widest_plane

Array = np.ndarray[Any, Any]
GAP = 1e-6  # relative, between the margin of the widest plane and its upper bound


@dataclass(frozen=True)
class Verdict:
    """Whether two classes are separable, with the proof and what is drawn of it.

    Attributes
    ----------
    proof : WidestPlane or Separability
        The widest plane, or the witness that no plane separates the classes.
    support : tuple of int
        Rows on the margin of the plane.
    """

    proof: WidestPlane | Separability
    support: tuple[int, ...] = ()

    @property
    def separable(self) -> bool | None:
        """Whether a plane has every row strictly on its correct side; None if undecided."""
        return True if isinstance(self.proof, WidestPlane) else self.proof.separable

    @property
    def margin(self) -> float | None:
        """The margin of the widest plane."""
        return self.proof.margin

    @property
    def coef(self) -> Array | None:
        """The unit normal of the widest plane."""
        return None if self.proof.coef is None else self.proof.coef / np.linalg.norm(self.proof.coef)

    @property
    def intercept(self) -> float | None:
        """The intercept that goes with `coef`."""
        if self.proof.coef is None or self.proof.intercept is None:
            return None
        return float(self.proof.intercept / np.linalg.norm(self.proof.coef))

    @property
    def rows(self) -> tuple[int, ...]:
        """The witness: a few rows of both classes whose convex hulls intersect."""
        return () if isinstance(self.proof, WidestPlane) else self.proof.rows or ()

    @property
    def weights(self) -> tuple[float, ...]:
        """The weights of `rows` at a common point of the hulls; they sum to 1, to 1/2 per class with an intercept."""
        if isinstance(self.proof, WidestPlane):
            return ()
        return tuple(float(weight) for weight in self.proof.weights or ())

    @property
    def touching(self) -> bool:
        """Whether the separation is quasi-complete: a plane separates weakly, with rows on it."""
        return isinstance(self.proof, Separability) and self.proof.verdict == "quasi-complete"

    def __str__(self) -> str:
        """The verdict in words."""
        if self.separable is None:
            return "not decided: neither a plane nor a witness was found"
        if self.separable:
            return f"separable, with a margin of {self.margin:.4g}"
        if isinstance(self.proof, Separability) and not self.proof.fit_intercept:
            return f"not separable by a plane through the origin: {self.proof.why()}"
        rows = ", ".join(str(row) for row in self.rows)
        return f"not separable: the hulls of rows {rows} {'touch' if self.touching else 'cross'}"


def separability_verdict(X: Any, y: Any, fit_intercept: bool = True) -> Verdict:
    """Decide whether two classes are separable; the larger label is the positive class.

    >>> separability_verdict([[0.0], [1.0], [3.0]], [0, 0, 1]).margin
    1.0
    >>> print(separability_verdict([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]))
    not separable: the hulls of rows 0, 1, 2, 3 cross
    """
    rows = read_labelled_rows(X, y)
    proof, _ = widest_plane(rows, rows.classes[-1], fit_intercept, GAP)
    if proof.coef is None:
        return Verdict(proof)
    found = margins(proof, X, y)
    support = np.flatnonzero(found.geometric <= found.margin * (1 + 1e-5) + 1e-12)
    return Verdict(proof, tuple(int(row) for row in support))
