"""What the checkers of certificates share: refusing a claim, the rows z = y·(x, 1), margins rounded to doubles."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from rosenblatt.prove.exact.arithmetic import SignedRows, Vector, squared_norm
from rosenblatt.prove.exact.labelled_rows import LabelledRows
from rosenblatt.prove.exact.records import CertificateError


def refuse(claim: str, why: str, row: int | None = None) -> NoReturn:
    """Say that a claim is false, and at which row."""
    raise CertificateError(claim, why, row)


def is_row_number(row: Any) -> bool:
    """Whether this has the type of a row number."""
    return isinstance(row, int) and not isinstance(row, bool)


def plain_label(value: Any) -> Any:
    """A label as a plain Python value."""
    return value.item() if isinstance(value, np.generic) else value


def signed_rows(table: LabelledRows, positive: Any, fit_intercept: bool) -> SignedRows:
    """The rows z, positive for one class and negative for the rest."""
    found = np.flatnonzero(table.classes == positive)
    code = int(found[0]) if found.size else -1
    return SignedRows(table, np.where(table.codes == code, 1, -1).astype(np.int8), bool(fit_intercept))


def check_described(record: Any, table: LabelledRows) -> None:
    """Check that a record is of rows of this shape and these classes."""
    if table.shape != tuple(record.shape):
        refuse("shape", f"X has shape {table.shape}, the record has {record.shape}")
    if tuple(plain_label(name) for name in table.classes) != record.classes or record.positive not in record.classes:
        refuse("classes", f"y has classes {table.classes.tolist()}, the record has {record.classes}")


def check_separation(z: SignedRows, w: Vector, margin: float) -> None:
    """Check that a plane has every row on its side, and what its margin is."""
    wrong = np.flatnonzero(z.signs(w) <= 0)
    if wrong.size:
        refuse("coef", "puts this row on the plane or on the wrong side", int(wrong[0]))
    if margin != geometric_margin(z, w):
        refuse("margin", f"{margin!r} is not the margin of the plane rounded down to a double")


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


def geometric_margin(z: SignedRows, w: Vector) -> float:
    """The largest double not above min z·w/‖w‖, for w that separates; the norm excludes the intercept."""
    norm2 = squared_norm(w[:-1] if z.intercept else w)
    if norm2 == 0:
        return math.inf
    return root_below(z.smallest_product(w) ** 2 / norm2)
