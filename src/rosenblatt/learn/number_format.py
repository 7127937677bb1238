"""Numbers read as exact fractions, printed with few digits, and counted with their noun."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

MOST_BITS = 10_000  # of a denominator: some rules double the length with every update
LONGEST = 12  # characters of a fraction that is printed in full
DIGITS = 4  # fractions with at most this many decimals are printed as decimals


def printed_fraction(value: Any) -> Fraction:
    """The fraction that a number prints as: 0.2 is 1/5, not the nearest double.

    >>> printed_fraction(0.2), printed_fraction("2/3"), printed_fraction(np.float32(1.5))
    (Fraction(1, 5), Fraction(2, 3), Fraction(3, 2))
    """
    if isinstance(value, Fraction | Decimal | str):
        return Fraction(value)
    if isinstance(value, int | np.integer):  # bool too
        return Fraction(int(value))
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a fraction: exact=True needs finite numbers.")
        return Fraction(str(value))
    raise ValueError(f"{value!r} is not a number that can be written as a fraction.")


def printed_fractions(values: Any) -> Any:
    """An array of fractions of the same shape."""
    array = np.asarray(values, dtype=object)
    out = np.empty(array.shape, dtype=object)
    for place in np.ndindex(array.shape):
        out[place] = printed_fraction(array[place])
    return out


def too_long(values: Iterable[Fraction]) -> bool:
    """Whether a fraction has more digits than are worth computing with."""
    return any(value.denominator.bit_length() > MOST_BITS for value in values)


def format_number(value: Any) -> str:
    """A number as shown in a table: 3/5 as 0.6, 2/3 as 2/3, a long fraction or a float with four digits.

    >>> [format_number(v) for v in (Fraction(3, 5), Fraction(2, 3), 1.0, 0.123456, -2, 67240.3)]
    ['0.6', '2/3', '1', '0.1235', '−2', '67,240']
    >>> format_number(Fraction(11597, 4000000))
    '≈0.002899'
    """
    if isinstance(value, Fraction):
        scaled = value * 10**DIGITS
        short = f"{scaled.numerator / 10**DIGITS:.{DIGITS}f}" if scaled.denominator == 1 else None
        text = short.rstrip("0").rstrip(".") if short else str(value)
        if len(text) > LONGEST:
            text = f"≈{float(value):.{DIGITS}g}"
    else:
        text = f"{value:,.0f}" if 10**DIGITS <= abs(value) < 1e15 else f"{value:.{DIGITS}g}"
    return ("0" if text in ("-0", "") else text).replace("-", "−")


def format_vector(values: Iterable[Any]) -> str:
    """A vector as shown in a table: (1, 0.5)."""
    return "(" + ", ".join(format_number(value) for value in values) + ")"


def counted(count: int, noun: str) -> str:
    """The count and its noun, which gets an s unless there is exactly one.

    >>> counted(1, "update"), counted(2, "update"), counted(12345, "row")
    ('1 update', '2 updates', '12,345 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
