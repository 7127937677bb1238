"""Certificates: small frozen records that prove what they say, and their exact checkers.

Nothing of rosenblatt is imported here but `data`: a proof is checked without the code that found it. An error names the
first claim that fails (`CertificateError`).

    CertificateError     a claim of a record is not true of the rows it is held against
    Separability         complete, quasi-complete or overlap, with proof
    SeparabilityByClass  one of them for each class against the rest
    WidestPlane          the plane of the largest margin, with both ends of its proof
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

import numpy as np

from rosenblatt.prove.exact.arithmetic import (
    Signed,
    Vector,
    bareiss,
    eliminated,
    null_vectors,
    row_space,
    squared,
    two_to,
    whole,
)
from rosenblatt.prove.exact.labelled_rows import Table, read_table
from rosenblatt.prove.exact.records import CertificateError as CertificateError
from rosenblatt.prove.exact.records import Record, digest, opened

Array = np.ndarray[Any, Any]


def _some(things: Any) -> str:
    """The first dozen, in words."""
    return ", ".join(map(str, things[:12])) + (", …" if len(things) > 12 else "")


def _refuse(claim: str, why: str, row: int | None = None) -> NoReturn:
    raise CertificateError(claim, why, row)


def _whole(row: Any) -> bool:
    """Whether this can be the number of a row."""
    return isinstance(row, int) and not isinstance(row, bool)


def label(value: Any) -> Any:
    """A label as plain Python."""
    return value.item() if isinstance(value, np.generic) else value


# -- what is exact about a plane -------------------------------------------------------------------------------------


def root_below(square: Fraction) -> float:
    """The largest double m ≥ 0 with m² ≤ square."""
    if square <= 0:
        return 0.0
    shift = max(0, 128 - (square.numerator.bit_length() - square.denominator.bit_length()))
    shift += shift % 2
    root = Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))
    try:
        m = float(root)
    except OverflowError:
        return float(np.finfo(np.float64).max)
    while Fraction(m) ** 2 > square:
        m = math.nextafter(m, 0.0)
    while math.isfinite(up := math.nextafter(m, math.inf)) and Fraction(up) ** 2 <= square:
        m = up
    return m


def root_above(square: Fraction) -> float:
    """The smallest double m with m² ≥ square."""
    m = root_below(square)
    return m if Fraction(m) ** 2 == square else math.nextafter(m, math.inf)


def geometric_margin(z: Signed, w: Vector) -> float:
    """The largest double not above min z·w/‖w‖ (the intercept no part of the norm), for w that separates."""
    norm2 = squared(w[:-1] if z.intercept else w)
    if norm2 == 0:
        return math.inf
    return root_below(z.least(w) ** 2 / norm2)


def _weighted_sum(z: Signed, rows: tuple[int, ...], weights: tuple[Fraction, ...]) -> list[Fraction]:
    numbers, unit = whole(z.block(np.array(rows, dtype=np.int64)))
    common = math.lcm(*(weight.denominator for weight in weights))
    total = np.array([int(weight * common) for weight in weights], dtype=object) @ numbers.astype(object)
    return [Fraction(int(value), common) * two_to(int(e)) for value, e in zip(total, unit, strict=True)]


def _check_combination(z: Signed, claim: str, rows: Any, weights: Any, most: int) -> None:
    """At most so many different rows, positive weights that sum to 1, Σ λ_i z_i = 0."""
    if rows is None or weights is None or not rows:
        _refuse(claim, "is missing")
    if len(set(rows)) != len(rows) or len(rows) != len(weights):
        _refuse(claim, "needs different rows, and a weight for each")
    if len(rows) > most:
        _refuse(claim, f"has {len(rows)} rows, more than {most}")
    for row, weight in zip(rows, weights, strict=True):
        if not (_whole(row) and 0 <= row < z.n):
            _refuse(claim, "names a row that is not there", row)
        if not (isinstance(weight, Fraction) and weight > 0):
            _refuse(claim, f"has weight {weight}, which is not a positive fraction", row)
    if sum(weights) != 1:
        _refuse(claim, "has weights that do not sum to 1")
    for column, value in enumerate(_weighted_sum(z, rows, weights)):
        if value:
            _refuse(claim, f"has a sum that is not 0 in column {column}", rows[0])


# -- separability ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Separability(Record):
    """Whether a plane separates one class from the other, with proof; what `separability` returns.

    z_i = y_i (x_i, 1), y_i = +1 for the class `positive`. By Gordan's theorem either some w has z_i·w > 0 on every row,
    or some λ ≥ 0, not 0, has Σ λ_i z_i = 0; by Stiemke's, either some w has z_i·w ≥ 0 on every row and > 0 on one, or
    some λ > 0 on every row has Σ λ_i z_i = 0.

    Attributes
    ----------
    verdict : {"complete", "quasi-complete", "overlap", "undecided"}
    positive : label
        The class on the positive side.
    classes : tuple
        The labels of y, sorted.
    fit_intercept : bool
    shape : tuple of int
        Rows and columns of X.
    names : tuple of str or None
        Columns of X, where they have names, each its own; elsewhere they go by their numbers.
    coef, intercept : ndarray of shape (d,), float; None unless complete
        The plane.
    plane : tuple of Fraction or None
        The plane (intercept last) where it is so thin a chance that no doubles were found: `coef` and `intercept` then
        are only near it, and `margin` is that of `plane`.
    margin : float or None
        The largest double not above min_i z_i·w/‖coef‖.
    rows, weights : tuple of int, tuple of Fraction; None when complete
        The witness: at most d + 2 rows, weights above 0 that sum to 1, with Σ λ_i z_i = 0.
    spanning_rows, spanning_weights : tuple of int, tuple of Fraction; for overlap and quasi-complete
        At most 2·rank rows with such weights. For overlap they span what all rows span: no direction separates even
        weakly. For quasi-complete every direction that separates weakly is 0 on them, and so in every coefficient that
        is not `infinite`.
    rank : int or None
        The rank of all rows z, for overlap.
    direction : tuple of Fraction or None
        For quasi-complete and complete: w with z_i·w ≥ 0 on every row and > 0 on some, the intercept last. It is the
        maximiser of Σ z_i·w with |w_j| ≤ 1, with a little of another such w where the maximiser is 0 in a coefficient
        that can be infinite; or only another, where columns are so many or so unevenly scaled that it is too dear.
    infinite : dict or None
        The coefficients that are infinite in a logistic regression, those that some direction moves, with their sign
        in `direction` (Konis 2007). None where it was not found out whether `direction` moves all of them.
    aliased : tuple or None
        Columns that are combinations of others (0 in `coef` and `direction`); None where there are too many columns
        to look for them.

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
      rows 0, 1, 2, 3 prove it: a mean of those of one class is a mean of those of the other
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

    @property
    def separable(self) -> bool | None:
        """True for complete, False where a witness says no, None when nothing is known."""
        if self.verdict == "complete":
            return True
        return None if self.rows is None else False

    def __str__(self) -> str:
        """The verdict in words."""
        said = f"{self.verdict}: "
        if self.verdict == "complete":
            said += f"a plane separates {self.positive!r} from the rest, with margin {self.margin:.6g}"
        elif self.verdict == "overlap":
            said += f"no plane separates {self.positive!r} from the rest, not even weakly"
        elif self.verdict == "quasi-complete":
            said += f"a plane separates {self.positive!r} from the rest only weakly, with rows of both on it"
        else:
            said += "neither a plane nor a proof that there is none was found"
            if self.rows is not None:
                said = "undecided: no plane separates strictly; whether one does weakly was not found out"
        if self.rows is not None:
            said += (
                f"\n  rows {_some(self.rows)} prove it: a mean of those of one class is a mean of those of the other"
            )
        if self.verdict == "quasi-complete":
            known = self.infinite
            if known is None:
                known = infinite_of(self.direction or (), self.names, self.fit_intercept)
            moved = [f"{name} {'+' if sign > 0 else '−'}∞" for name, sign in known.items()]
            least = "at least " if self.infinite is None else ""
            said += f"\n  infinite in a logistic regression: {least}{_some(moved)}"
        if self.aliased:
            said += f"\n  combinations of other columns: {_some(self.aliased)}"
        return said

    def verify(self, X: Any, y: Any) -> None:
        """Hold every claim against the rows, exactly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)

        Raises
        ------
        CertificateError
            Naming the first claim that is not true, and the row.
        """
        self._check(read_table(X, y))

    def _check(self, table: Table) -> None:
        z = signed(table, self.positive, self.fit_intercept)
        if table.shape != tuple(self.shape):
            _refuse("shape", f"X has {table.shape}, the record says {self.shape}")
        if tuple(label(name) for name in table.classes) != self.classes or self.positive not in self.classes:
            _refuse("classes", f"y has {table.classes.tolist()}, the record says {self.classes}")
        if self.names is not None and not len(set(self.names)) == len(self.names) == table.shape[1]:
            _refuse("names", f"{self.names} do not tell {table.shape[1]} columns apart")
        if table.names is not None and self.names is not None and table.names != self.names:
            _refuse("names", f"X has columns {table.names}, the record says {self.names}")
        if self.verdict not in ("complete", "quasi-complete", "overlap", "undecided"):
            _refuse("verdict", f"{self.verdict!r} is none")
        self._check_nothing_else()
        if self.verdict == "complete":
            self._check_plane(z)
        elif self.rows is not None or self.verdict != "undecided":
            _check_combination(z, "rows", self.rows, self.weights, z.width + 1)
        if self.verdict == "overlap":
            self._check_spanning(z)
        self._check_direction(z)
        self._check_aliased(z)
        self._check_finite(z)

    def _check_nothing_else(self) -> None:
        """A record claims only what its verdict means."""
        plane, spanning = ("coef", "intercept", "plane", "margin"), ("spanning_rows", "spanning_weights", "rank")
        others = {
            "complete": ("rows", "weights", *spanning),
            "quasi-complete": (*plane, "rank", *(spanning if self.infinite is None else ())),
            "overlap": (*plane, "direction"),
            "undecided": (*plane, *spanning, "direction", "infinite"),
        }[self.verdict]
        for name in others:
            if getattr(self, name) is not None:
                _refuse(name, f"has no place in a verdict of {self.verdict!r}")

    def _check_plane(self, z: Signed) -> None:
        if self.coef is None or self.intercept is None or self.margin is None:
            _refuse("coef", "is missing")
        if self.coef.shape != (self.shape[1],) or not (np.isfinite(self.coef).all() and math.isfinite(self.intercept)):
            _refuse("coef", "is not one finite number a column, and an intercept")
        if not self.fit_intercept and self.intercept != 0:
            _refuse("intercept", "must be 0 without one")
        doubles = np.append(self.coef, self.intercept) if self.fit_intercept else self.coef
        if self.plane is not None and not np.array_equal(doubles, [float(value) for value in self.plane]):
            _refuse("plane", "is not what `coef` and `intercept` are near")
        w: Vector = doubles if self.plane is None else self.plane
        wrong = np.flatnonzero(z.signs(w) <= 0)
        if wrong.size:
            _refuse("coef", "does not have this row strictly on its side", int(wrong[0]))
        if self.margin != geometric_margin(z, w):
            _refuse("margin", f"{self.margin!r} is not the largest double not above the margin of the plane")

    def _check_spanning(self, z: Signed) -> None:
        space = row_space(z)
        if self.rank != space.rank:
            _refuse("rank", f"the rows have rank {space.rank}, the record says {self.rank}")
        _check_combination(z, "spanning_rows", self.spanning_rows, self.spanning_weights, max(2 * space.rank, 2))
        assert self.spanning_rows is not None
        if rank_of(z, self.spanning_rows) != space.rank:
            _refuse("spanning_rows", "do not span what all rows span", self.spanning_rows[0])

    def _check_direction(self, z: Signed) -> None:
        if self.direction is None:
            if self.verdict in ("quasi-complete", "complete"):
                _refuse("direction", "is missing")
            if self.infinite or (self.infinite is None and self.verdict == "overlap"):
                _refuse("infinite", "no direction shows these coefficients to be infinite")
            return
        if len(self.direction) != z.width:
            _refuse("direction", f"has {len(self.direction)} entries, not {z.width}")
        signs = z.signs(self.direction)
        if (signs < 0).any():
            _refuse("direction", "has this row on the wrong side", int(np.flatnonzero(signs < 0)[0]))
        if not (signs > 0).any():
            _refuse("direction", "has every row on the plane")
        if self.infinite not in (None, infinite_of(self.direction, self.names, self.fit_intercept)):
            _refuse("infinite", "is not what the direction shows")

    def _check_finite(self, z: Signed) -> None:
        """No direction moves a coefficient that is neither infinite nor aliased.

        From Σ λ_i z_i = 0, λ > 0, and z_i·w ≥ 0 follows z_i·w = 0 on the spanning rows; of such w, 0 in the aliased
        columns, none may be other than 0 where the coefficient is said to be finite.
        """
        if self.infinite is None or self.direction is None:
            return
        if self.aliased is None:
            _refuse("infinite", "is not known where columns may be combinations of others")
        names = column_names(self.names, self.shape[1], self.fit_intercept)
        kept = [j for j, name in enumerate(names) if name not in set(self.aliased)]
        moved = set(kept)
        if self.verdict == "quasi-complete":
            _check_combination(z, "spanning_rows", self.spanning_rows, self.spanning_weights, 2 * z.width)
            assert self.spanning_rows is not None
            if len(self.spanning_rows) > max(2 * rank_of(z, self.spanning_rows), 1):
                _refuse("spanning_rows", "has more rows than twice their rank")
            numbers, _ = whole(z.block(np.array(self.spanning_rows, dtype=np.int64))[:, kept])
            moved = {kept[j] for v in null_vectors(numbers).values() for j, value in enumerate(v) if value}
        for j in sorted(moved):
            if names[j] not in self.infinite:
                _refuse("infinite", f"nothing keeps the coefficient of {names[j]!r} finite")

    def _check_aliased(self, z: Signed) -> None:
        if self.aliased is None:
            return
        names = column_names(self.names, self.shape[1], self.fit_intercept)
        dropped = []
        for name in self.aliased:
            if name not in names:
                _refuse("aliased", f"{name!r} is no column")
            dropped.append(names.index(name))
        space = row_space(z)
        if len(dropped) != z.width - space.rank:
            _refuse("aliased", f"{z.width - space.rank} columns are combinations of others, not {len(dropped)}")
        kept = [j for j in range(z.width) if j not in set(dropped)]
        if rank_of(z, tuple(space.rows.tolist()), kept) != space.rank:
            _refuse("aliased", "the other columns are not independent")


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def signed(table: Table, positive: Any, fit_intercept: bool) -> Signed:
    """The rows z of a table, positive for one class."""
    found = np.flatnonzero(table.classes == positive)
    code = int(found[0]) if found.size else -1
    return Signed(table, np.where(table.codes == code, 1, -1).astype(np.int8), bool(fit_intercept))


def rank_of(z: Signed, rows: tuple[int, ...], columns: list[int] | None = None) -> int:
    """The rank of some rows, exactly."""
    block = z.block(np.array(rows, dtype=np.int64))
    numbers, _ = whole(block if columns is None else block[:, columns])
    rank = len(eliminated(numbers)[0])
    return rank if rank == min(numbers.shape) else len(bareiss(numbers)[1])


def column_names(names: tuple[str, ...] | None, d: int, intercept: bool) -> list[Any]:
    """The names of the columns of z: those of X, or their numbers, and the intercept's, in brackets if it is taken."""
    found: list[Any] = list(range(d)) if names is None else list(names)
    own = "intercept"
    while own in found:
        own = f"({own})"
    return [*found, own] if intercept else found


def infinite_of(direction: Vector, names: tuple[str, ...] | None, intercept: bool) -> dict[Any, int]:
    """The coefficients that a direction moves, with their signs."""
    named = column_names(names, len(direction) - intercept, intercept)
    return {name: 1 if value > 0 else -1 for name, value in zip(named, direction, strict=True) if value}


@dataclass(frozen=True, eq=False)
class SeparabilityByClass(Record, Mapping[Any, Separability]):
    """A `Separability` for each class against the rest: a mapping from class to verdict.

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

    __eq__, __hash__ = Record.__eq__, Record.__hash__

    @property
    def separable(self) -> bool | None:
        """True when every class is separable from the rest, False when one is known not to be."""
        known = [verdict.separable for verdict in self.verdicts]
        return False if False in known else None if None in known else True

    def __str__(self) -> str:
        """All verdicts in words."""
        return "\n".join(str(verdict) for verdict in self.verdicts)

    def verify(self, X: Any, y: Any) -> None:
        """Hold every claim of every verdict against the rows, exactly: see `Separability.verify`."""
        table = read_table(X, y)
        if tuple(self) != tuple(label(name) for name in table.classes):
            _refuse("verdicts", f"y has classes {table.classes.tolist()}, the record is about {list(self)}")
        for verdict in self.verdicts:
            verdict._check(table)

    def to_json(self) -> str:
        """The record as text, with a SHA-256 over it."""
        document = {"certificate": self.kind, "format": 1, "verdicts": [verdict.to_json() for verdict in self.verdicts]}
        return json.dumps({**document, "sha256": digest(document)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> SeparabilityByClass:
        """The record that `to_json` wrote; an edited text is refused."""
        return cls(tuple(Separability.from_json(verdict) for verdict in opened(text, cls.kind)["verdicts"]))


# -- the widest plane ------------------------------------------------------------------------------------------------


def upper_margin(z: Signed, support: tuple[int, ...], weights: tuple[float, ...]) -> float:
    """The smallest double not below the margin that these weights leave to any plane.

    With an intercept ½‖p − q‖, p and q the weighted means of the two classes; without, ‖Σ α_i z_i‖/Σ α_i.
    """
    block = z.block(np.array(support, dtype=np.int64))
    rows, unit = whole(block[:, :-1] if z.intercept else block)
    alpha = whole(np.array(weights)[:, None])[0][:, 0].astype(object)
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
    return root_above(Fraction(square, mass**2) * two_to(2 * least))


@dataclass(frozen=True, eq=False)
class WidestPlane(Record):
    """The plane of the largest margin, with both ends of its proof; what `max_margin` returns.

    Attributes
    ----------
    positive, classes, fit_intercept, shape
        As in `Separability`.
    coef, intercept : ndarray of shape (d,), float
        The plane, y·f being about 1 on the nearest rows.
    margin : float
        The margin it achieves: the largest double not above it.
    upper : float
        No plane has more: the smallest double not below what `support` and `weights` prove.
    support, weights : tuple of int, tuple of float
        Rows, and α > 0, whose combination is the normal of the plane.

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
        """How far the margin may be from the largest there is, relative to `upper`; 1 where no double is above that."""
        return (self.upper - self.margin) / self.upper if math.isfinite(self.upper) else 1.0

    def __str__(self) -> str:
        """The plane in words."""
        return (
            f"a plane separates {self.positive!r} from the rest with margin {self.margin:.9g}; "
            f"none has more than {self.upper:.9g} (gap {self.gap:.2g}), by {len(self.support)} rows"
        )

    def verify(self, X: Any, y: Any) -> None:
        """Hold every claim against the rows, exactly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)

        Raises
        ------
        CertificateError
            Naming the first claim that is not true, and the row.
        """
        table = read_table(X, y)
        z = signed(table, self.positive, self.fit_intercept)
        if table.shape != tuple(self.shape) or self.coef.shape != (table.shape[1],):
            _refuse("shape", f"X has {table.shape}, the record says {self.shape}")
        if tuple(label(name) for name in table.classes) != self.classes or self.positive not in self.classes:
            _refuse("classes", f"y has {table.classes.tolist()}, the record says {self.classes}")
        if not self.fit_intercept and self.intercept != 0:
            _refuse("intercept", "must be 0 without one")
        w = np.append(self.coef, self.intercept) if self.fit_intercept else self.coef
        if not np.isfinite(w).all():
            _refuse("coef", "is not finite")
        wrong = np.flatnonzero(z.signs(w) <= 0)
        if wrong.size:
            _refuse("coef", "does not have this row strictly on its side", int(wrong[0]))
        if self.margin != geometric_margin(z, w):
            _refuse("margin", f"{self.margin!r} is not the largest double not above the margin of the plane")
        if len(self.support) != len(self.weights) or len(set(self.support)) != len(self.support):
            _refuse("support", "needs different rows, and a weight for each")
        for row, weight in zip(self.support, self.weights, strict=True):
            if not (_whole(row) and 0 <= row < z.n):
                _refuse("support", "names a row that is not there", row)
            if not (isinstance(weight, float) and 0 < weight < math.inf):
                _refuse("support", f"has weight {weight}", row)
        if self.upper != upper_margin(z, self.support, self.weights):
            _refuse("upper", f"{self.upper!r} is not the smallest double not below what the support proves")
