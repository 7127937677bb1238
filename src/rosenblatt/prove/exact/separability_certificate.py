"""Certificates of separability: small frozen records that prove their verdict, and their exact checkers.

A proof is checked without the code that found it: of rosenblatt, only `prove.exact` and checks of rows and labels are
imported here. An error names the first claim that fails (`CertificateError`).

    Separability         complete, quasi-complete or overlap, with proof
    SeparabilityByClass  one of them for each class against the rest
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from rosenblatt.prove.exact.arithmetic import (
    SignedRows,
    Vector,
    bareiss_reduce,
    integers_and_exponents,
    null_vectors,
    power_of_two,
    reduce_modulo,
    row_space,
)
from rosenblatt.prove.exact.claims import (
    check_described,
    check_separation,
    is_row_number,
    plain_label,
    refuse,
    signed_rows,
)
from rosenblatt.prove.exact.labelled_rows import LabelledRows, read_labelled_rows
from rosenblatt.prove.exact.records import CertificateRecord, document_digest, parse_certificate

Array = np.ndarray[Any, Any]


def _first_dozen(things: Any) -> str:
    """The first twelve items as text."""
    return ", ".join(map(str, things[:12])) + (", …" if len(things) > 12 else "")


def _weighted_sum(z: SignedRows, rows: tuple[int, ...], weights: tuple[Fraction, ...]) -> list[Fraction]:
    numbers, unit = integers_and_exponents(z.block(np.array(rows, dtype=np.int64)))
    common = math.lcm(*(weight.denominator for weight in weights))
    total = np.array([int(weight * common) for weight in weights], dtype=object) @ numbers.astype(object)
    return [Fraction(int(value), common) * power_of_two(int(e)) for value, e in zip(total, unit, strict=True)]


def _check_combination(z: SignedRows, claim: str, rows: Any, weights: Any, most: int) -> None:
    """Check for at most `most` distinct rows, positive weights that sum to 1, and Σ λ_i z_i = 0."""
    if rows is None or weights is None or not rows:
        refuse(claim, "is missing")
    if len(set(rows)) != len(rows) or len(rows) != len(weights):
        refuse(claim, "must have distinct rows and one weight per row")
    if len(rows) > most:
        refuse(claim, f"has {len(rows)} rows, but at most {most} are allowed")
    for row, weight in zip(rows, weights, strict=True):
        if not (is_row_number(row) and 0 <= row < z.n):
            refuse(claim, "names a row that does not exist", row)
        if not (isinstance(weight, Fraction) and weight > 0):
            refuse(claim, f"has weight {weight}, expected a positive fraction", row)
    if sum(weights) != 1:
        refuse(claim, "has weights that do not sum to 1")
    for column, value in enumerate(_weighted_sum(z, rows, weights)):
        if value:
            refuse(claim, f"has a weighted sum that is not 0 in column {column}", rows[0])


@dataclass(frozen=True, eq=False)
class Separability(CertificateRecord):
    """Whether a plane separates one class from the others, with proof; returned by `separability`.

    z_i = y_i (x_i, 1), y_i = +1 for the class `positive`. By Gordan's theorem either some w has z_i·w > 0 on every row,
    or some λ ≥ 0, λ ≠ 0, has Σ λ_i z_i = 0. By Stiemke's theorem either some w has z_i·w ≥ 0 on every row and > 0 on at
    least one, or some λ > 0 on every row has Σ λ_i z_i = 0.

    Attributes
    ----------
    verdict : {"complete", "quasi-complete", "overlap", "undecided"}
        What is proven; "undecided" if neither a plane nor a witness was found.
    positive : label
        The class on the positive side.
    classes : tuple
        The distinct labels of y, sorted.
    fit_intercept : bool
        Whether planes may have an intercept; otherwise they go through the origin.
    shape : tuple of int
        The number of rows and columns of X.
    names : tuple of str or None
        The column names of X, if there are any and all are different; otherwise columns go by their numbers.
    coef, intercept : ndarray of shape (d,), float; None unless complete
        The plane.
    plane : tuple of Fraction or None
        The exact plane (intercept last) if no plane in doubles was found to separate the rows: `coef` and `intercept`
        are then only approximations of it, and `margin` is the margin of `plane`.
    margin : float or None
        The largest double not above min_i z_i·w/‖coef‖.
    rows, weights : tuple of int, tuple of Fraction; None when complete
        The witness: at most d + 2 rows and positive weights that sum to 1, with Σ λ_i z_i = 0.
    sides : tuple of int or None
        y_i = ±1 of each of `rows`; None in records of version 0.1.
    spanning_rows, spanning_weights : tuple of int, tuple of Fraction; for overlap and quasi-complete
        At most 2·rank rows with such weights. For overlap they span the row space of all rows, so no direction
        separates even weakly. For quasi-complete every direction that separates weakly is 0 on them, and therefore 0
        in every coefficient that is not `infinite`.
    rank : int or None
        The rank of all rows z, for overlap.
    direction : tuple of Fraction or None
        For quasi-complete and complete: w with z_i·w ≥ 0 on every row and > 0 on some, the intercept last. It
        maximises Σ z_i·w subject to |w_j| ≤ 1. If that maximiser is 0 in a coefficient that can be infinite, a small
        multiple of another such w is added; if it is too expensive to compute (very many columns, or very unevenly
        scaled ones), another such w is used alone.
    infinite : dict or None
        The coefficients that are infinite in a logistic regression (those that are not 0 in some direction), with
        their sign in `direction` (Konis 2007). None if it is not known whether `direction` includes all of them.
    aliased : tuple or None
        Columns that are linear combinations of others (0 in `coef` and `direction`); None if there are too many
        columns to look for them.

    References
    ----------
    A. Albert, J. Anderson, "On the existence of maximum likelihood estimates in logistic regression models",
    Biometrika 71, 1984. K. Konis, "Linear programming algorithms for detecting separated data in binary logistic
    regression models", 2007. P. Kirchberger, "Über Tschebyschefsche Annäherungsmethoden", 1903 (d + 2 rows).
    E. Steinitz, "Bedingt konvergente Reihen und konvexe Systeme", 1913 (2·rank rows).

    Examples
    --------
    >>> from rosenblatt import separability
    >>> verdict = separability([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> print(verdict)
    overlap: no plane separates 1 from the rest, not even weakly
      rows 0, 1, 2, 3 prove it: a weighted mean of one class equals a weighted mean of the other
    >>> [str(weight) for weight in verdict.weights]
    ['1/4', '1/4', '1/4', '1/4']
    >>> verdict.verify([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> Separability.from_json(verdict.to_json()) == verdict
    True
    """

    kind: ClassVar[str] = "separability"

    verdict: str
    positive: Any
    classes: tuple[Any, ...]
    fit_intercept: bool
    shape: tuple[int, int]
    names: tuple[str, ...] | None
    coef: Array | None
    intercept: float | None
    plane: tuple[Fraction, ...] | None
    margin: float | None
    rows: tuple[int, ...] | None
    weights: tuple[Fraction, ...] | None
    spanning_rows: tuple[int, ...] | None
    spanning_weights: tuple[Fraction, ...] | None
    rank: int | None
    direction: tuple[Fraction, ...] | None
    infinite: dict[Any, int] | None
    aliased: tuple[Any, ...] | None
    sides: tuple[int, ...] | None = None

    @property
    def separable(self) -> bool | None:
        """True for complete, False if there is a witness against it, None if undecided."""
        if self.verdict == "complete":
            return True
        return None if self.rows is None else False

    def __str__(self) -> str:
        """The verdict as text."""
        said = f"{self.verdict}: "
        plane = "plane" if self.fit_intercept else "plane through the origin"
        if self.verdict == "complete":
            said += f"a {plane} separates {self.positive!r} from the rest, with margin {self.margin:.6g}"
        elif self.verdict == "overlap":
            said += f"no {plane} separates {self.positive!r} from the rest, not even weakly"
        elif self.verdict == "quasi-complete":
            on = "rows of both on the plane" if self.fit_intercept else "rows on it"
            said += f"a {plane} separates {self.positive!r} from the rest only weakly, with {on}"
        else:
            said += "neither a plane nor a proof that there is none was found"
            if self.rows is not None:
                said = "undecided: no plane separates strictly; whether one separates weakly is not known"
        if self.rows is not None:
            said += f"\n  {self.why()}"
        if self.verdict == "quasi-complete":
            known = self.infinite
            if known is None:
                known = infinite_coefficients(self.direction or (), self.names, self.fit_intercept)
            moved = [f"{name} {'+' if sign > 0 else '−'}∞" for name, sign in known.items()]
            least = "at least " if self.infinite is None else ""
            said += f"\n  infinite in a logistic regression: {least}{_first_dozen(moved)}"
        if self.aliased:
            said += f"\n  linear combinations of other columns: {_first_dozen(self.aliased)}"
        return said

    def why(self) -> str:
        """Why the witness rules out a plane, in a sentence; empty without a witness.

        Examples
        --------
        >>> from rosenblatt import separability
        >>> separability([[-2, 3], [-1, -1], [2, -3]], [1, -1, 1], fit_intercept=False).why()
        'rows 0 and 2, both positive, point in opposite directions'
        """
        rows, sides = self.rows or (), self.sides
        if not rows:
            return ""
        if self.fit_intercept:
            return (
                f"rows {_first_dozen(rows)} prove it: a weighted mean of one class equals a weighted mean of the other"
            )
        if len(rows) == 1:
            return f"row {rows[0]} proves it: it is zero, so that every plane through the origin contains it"
        if len(rows) == 2 and sides is not None:
            who = "one positive and one negative"
            if sides[0] == sides[1]:
                who = "both positive" if sides[0] > 0 else "both negative"
            where = "opposite directions" if sides[0] == sides[1] else "the same direction"
            return f"rows {rows[0]} and {rows[1]}, {who}, point in {where}"
        return f"rows {_first_dozen(rows)} prove it: a sum of y·x over them, with positive weights, is 0"

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
        self._check(read_labelled_rows(X, y))

    def _check(self, table: LabelledRows) -> None:
        z = signed_rows(table, self.positive, self.fit_intercept)
        check_described(self, table)
        if self.names is not None and not len(set(self.names)) == len(self.names) == table.shape[1]:
            refuse("names", f"{self.names} are not {table.shape[1]} distinct names, one per column")
        if table.names is not None and self.names is not None and table.names != self.names:
            refuse("names", f"X has columns {table.names}, the record has {self.names}")
        if self.verdict not in ("complete", "quasi-complete", "overlap", "undecided"):
            refuse("verdict", f"{self.verdict!r} is not a known verdict")
        self._check_nothing_else()
        if self.verdict == "complete":
            self._check_plane(z)
        elif self.rows is not None or self.verdict != "undecided":
            _check_combination(z, "rows", self.rows, self.weights, z.width + 1)
        if self.verdict == "overlap":
            self._check_spanning(z)
        sides = None if self.rows is None else tuple(z.sides[list(self.rows)].tolist())
        if self.sides is not None and self.sides != sides:
            refuse("sides", f"the rows of the witness have sides {sides}, the record has {self.sides}")
        self._check_direction(z)
        self._check_aliased(z)
        self._check_finite(z)

    def _check_nothing_else(self) -> None:
        """Check that the record makes no claims beyond its verdict."""
        plane, spanning = ("coef", "intercept", "plane", "margin"), ("spanning_rows", "spanning_weights", "rank")
        others = {
            "complete": ("rows", "weights", *spanning),
            "quasi-complete": (*plane, "rank", *(spanning if self.infinite is None else ())),
            "overlap": (*plane, "direction"),
            "undecided": (*plane, *spanning, "direction", "infinite"),
        }[self.verdict]
        for name in others:
            if getattr(self, name) is not None:
                refuse(name, f"must be None for the verdict {self.verdict!r}")

    def _check_plane(self, z: SignedRows) -> None:
        if self.coef is None or self.intercept is None or self.margin is None:
            refuse("coef", "is missing")
        if self.coef.shape != (self.shape[1],) or not (np.isfinite(self.coef).all() and math.isfinite(self.intercept)):
            refuse("coef", "must be one finite number per column, with a finite intercept")
        if not self.fit_intercept and self.intercept != 0:
            refuse("intercept", "must be 0 if fit_intercept is False")
        doubles = np.append(self.coef, self.intercept) if self.fit_intercept else self.coef
        if self.plane is not None and not np.array_equal(doubles, [float(value) for value in self.plane]):
            refuse("plane", "does not round to `coef` and `intercept`")
        w: Vector = doubles if self.plane is None else self.plane
        check_separation(z, w, self.margin)

    def _check_spanning(self, z: SignedRows) -> None:
        space = row_space(z)
        if self.rank != space.rank:
            refuse("rank", f"the rows have rank {space.rank}, the record has {self.rank}")
        _check_combination(z, "spanning_rows", self.spanning_rows, self.spanning_weights, max(2 * space.rank, 2))
        assert self.spanning_rows is not None
        if rank_of(z, self.spanning_rows) != space.rank:
            refuse("spanning_rows", "do not span the row space of all rows", self.spanning_rows[0])

    def _check_direction(self, z: SignedRows) -> None:
        if self.direction is None:
            if self.verdict in ("quasi-complete", "complete"):
                refuse("direction", "is missing")
            if self.infinite or (self.infinite is None and self.verdict == "overlap"):
                refuse("infinite", "there is no direction to show that these coefficients are infinite")
            return
        if len(self.direction) != z.width:
            refuse("direction", f"has {len(self.direction)} entries, expected {z.width}")
        signs = z.signs(self.direction)
        if (signs < 0).any():
            refuse("direction", "puts this row on the wrong side", int(np.flatnonzero(signs < 0)[0]))
        if not (signs > 0).any():
            refuse("direction", "puts every row on the plane")
        if self.infinite not in (None, infinite_coefficients(self.direction, self.names, self.fit_intercept)):
            refuse("infinite", "does not match the signs in `direction`")

    def _check_finite(self, z: SignedRows) -> None:
        """Check that every direction is 0 in all coefficients that are neither infinite nor aliased.

        Σ λ_i z_i = 0 with λ > 0 and z_i·w ≥ 0 imply z_i·w = 0 on the spanning rows. Every such w that is 0 in the
        aliased columns must also be 0 wherever the record claims that the coefficient is finite.
        """
        if self.infinite is None or self.direction is None:
            return
        if self.aliased is None:
            refuse("infinite", "cannot be known if `aliased` is not")
        names = coefficient_names(self.names, self.shape[1], self.fit_intercept)
        kept = [j for j, name in enumerate(names) if name not in set(self.aliased)]
        moved = set(kept)
        if self.verdict == "quasi-complete":
            _check_combination(z, "spanning_rows", self.spanning_rows, self.spanning_weights, 2 * z.width)
            assert self.spanning_rows is not None
            if len(self.spanning_rows) > max(2 * rank_of(z, self.spanning_rows), 1):
                refuse("spanning_rows", "has more than 2·rank rows")
            numbers, _ = integers_and_exponents(z.block(np.array(self.spanning_rows, dtype=np.int64))[:, kept])
            moved = {kept[j] for v in null_vectors(numbers).values() for j, value in enumerate(v) if value}
        for j in sorted(moved):
            if names[j] not in self.infinite:
                refuse("infinite", f"no proof that the coefficient of {names[j]!r} is finite")

    def _check_aliased(self, z: SignedRows) -> None:
        if self.aliased is None:
            return
        names = coefficient_names(self.names, self.shape[1], self.fit_intercept)
        dropped = []
        for name in self.aliased:
            if name not in names:
                refuse("aliased", f"{name!r} is not a column")
            dropped.append(names.index(name))
        space = row_space(z)
        if len(dropped) != z.width - space.rank:
            refuse("aliased", f"{z.width - space.rank} columns are linear combinations of others, not {len(dropped)}")
        kept = [j for j in range(z.width) if j not in set(dropped)]
        if rank_of(z, tuple(space.rows.tolist()), kept) != space.rank:
            refuse("aliased", "the remaining columns are not independent")


def rank_of(z: SignedRows, rows: tuple[int, ...], columns: list[int] | None = None) -> int:
    """The exact rank of these rows."""
    block = z.block(np.array(rows, dtype=np.int64))
    numbers, _ = integers_and_exponents(block if columns is None else block[:, columns])
    rank = len(reduce_modulo(numbers)[0])
    return rank if rank == min(numbers.shape) else len(bareiss_reduce(numbers)[1])


def coefficient_names(names: tuple[str, ...] | None, d: int, intercept: bool) -> list[Any]:
    """A name for each column of z: its name or number in X, and "intercept", in brackets if that name is taken."""
    found: list[Any] = list(range(d)) if names is None else list(names)
    own = "intercept"
    while own in found:
        own = f"({own})"
    return [*found, own] if intercept else found


def infinite_coefficients(direction: Vector, names: tuple[str, ...] | None, intercept: bool) -> dict[Any, int]:
    """The coefficients that are not 0 in a direction, with their signs."""
    named = coefficient_names(names, len(direction) - intercept, intercept)
    return {name: 1 if value > 0 else -1 for name, value in zip(named, direction, strict=True) if value}


@dataclass(frozen=True, eq=False)
class SeparabilityByClass(CertificateRecord, Mapping[Any, Separability]):
    """A `Separability` for each class against the rest: a mapping from class to verdict.

    Attributes
    ----------
    verdicts : tuple of Separability
        One per class, in the order of the classes.

    Examples
    --------
    >>> from rosenblatt import separability
    >>> verdicts = separability([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> {name: verdict.verdict for name, verdict in verdicts.items()}
    {'a': 'complete', 'b': 'overlap', 'c': 'complete'}
    """

    kind: ClassVar[str] = "separability by class"

    verdicts: tuple[Separability, ...]

    def __getitem__(self, name: Any) -> Separability:
        for verdict in self.verdicts:
            if verdict.positive == name:
                return verdict
        raise KeyError(name)

    def __iter__(self) -> Iterator[Any]:
        return iter([verdict.positive for verdict in self.verdicts])

    def __len__(self) -> int:
        return len(self.verdicts)

    __eq__, __hash__ = CertificateRecord.__eq__, CertificateRecord.__hash__

    @property
    def separable(self) -> bool | None:
        """True if every class is separable from the rest, False if one is known not to be, None otherwise."""
        known = [verdict.separable for verdict in self.verdicts]
        return False if False in known else None if None in known else True

    def __str__(self) -> str:
        """All verdicts as text."""
        return "\n".join(str(verdict) for verdict in self.verdicts)

    def verify(self, X: Any, y: Any) -> None:
        """Check every claim of every verdict exactly against the rows: see `Separability.verify`."""
        table = read_labelled_rows(X, y)
        if tuple(self) != tuple(plain_label(name) for name in table.classes):
            refuse("verdicts", f"y has classes {table.classes.tolist()}, the record has {list(self)}")
        for verdict in self.verdicts:
            verdict._check(table)

    def to_json(self) -> str:
        """The record as text, with a SHA-256 over it."""
        document = {"certificate": self.kind, "format": 1, "verdicts": [verdict.to_json() for verdict in self.verdicts]}
        return json.dumps({**document, "sha256": document_digest(document)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> SeparabilityByClass:
        """Read the record that `to_json` wrote; refuse text that was edited."""
        return cls(tuple(Separability.from_json(verdict) for verdict in parse_certificate(text, cls.kind)["verdicts"]))
