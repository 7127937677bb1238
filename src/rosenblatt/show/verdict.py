"""Whether a plane separates two classes, as pictures and the lab ask it of the proofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.prove.exact.certificates import Separability, WidestPlane
from rosenblatt.prove.exact.labelled_rows import read_labelled_rows
from rosenblatt.prove.margins import margins
from rosenblatt.prove.max_margin.search import widest_plane

Array = np.ndarray[Any, Any]
GAP = 1e-6  # between the margin of the widest plane and the largest that there could be


@dataclass(frozen=True)
class Verdict:
    """A proof about two classes, in the terms in which it is drawn.

    Attributes
    ----------
    proof : WidestPlane or Separability
        The widest plane, or the witness that there is none.
    support : tuple of int
        Rows on the margin of the plane.
    """

    proof: WidestPlane | Separability
    support: tuple[int, ...] = ()

    @property
    def separable(self) -> bool | None:
        """Whether a plane has every row strictly on its side; None when neither is proven."""
        return True if isinstance(self.proof, WidestPlane) else self.proof.separable

    @property
    def margin(self) -> float | None:
        """Of the plane."""
        return self.proof.margin

    @property
    def coef(self) -> Array | None:
        """W of the plane, of length 1."""
        return None if self.proof.coef is None else self.proof.coef / np.linalg.norm(self.proof.coef)

    @property
    def intercept(self) -> float | None:
        """The intercept that belongs to it."""
        if self.proof.coef is None or self.proof.intercept is None:
            return None
        return float(self.proof.intercept / np.linalg.norm(self.proof.coef))

    @property
    def rows(self) -> tuple[int, ...]:
        """The witness: a few rows whose hulls have a point in common."""
        return () if isinstance(self.proof, WidestPlane) else self.proof.rows or ()

    @property
    def weights(self) -> tuple[float, ...]:
        """How that point is mixed from `rows`; they sum to 1, one half for each class (with a free intercept)."""
        if isinstance(self.proof, WidestPlane):
            return ()
        return tuple(float(weight) for weight in self.proof.weights or ())

    @property
    def touching(self) -> bool:
        """Whether a plane separates weakly, with rows of both classes on it."""
        return isinstance(self.proof, Separability) and self.proof.verdict == "quasi-complete"

    def __str__(self) -> str:
        """The verdict in words."""
        if self.separable is None:
            return "not decided: neither a plane nor a witness was found"
        if self.separable:
            return f"separable, with a margin of {self.margin:.4g}"
        named = ", ".join(str(row) for row in self.rows)
        return f"not separable: the hulls of rows {named} {'touch' if self.touching else 'cross'}"


def look(X: Any, y: Any, fit_intercept: bool = True) -> Verdict:
    """The verdict about two classes; the larger label is positive.

    >>> look([[0.0], [1.0], [3.0]], [0, 0, 1]).margin
    1.0
    >>> print(look([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]))
    not separable: the hulls of rows 0, 1, 2, 3 cross
    """
    table = read_labelled_rows(X, y)
    proof, _ = widest_plane(table, table.classes[-1], fit_intercept, GAP)
    if proof.coef is None:
        return Verdict(proof)
    seen = margins(proof, X, y)
    near = np.flatnonzero(seen.geometric <= seen.margin * (1 + 1e-5) + 1e-12)
    return Verdict(proof, tuple(int(row) for row in near))
