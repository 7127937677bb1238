"""The limits of a lab state, and checks of the values that come in a link or a file.

Links and files are untrusted, so every value is checked here before any work is done with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

MOST_POINTS = 1_000
MOST_CLASSES = 6
MOST_COLUMNS = 1_000
MOST_VALUES = 500_000  # rows times columns
LONGEST_TEXT = 10_000  # characters of a name or note
LARGEST = 1e100  # of a coordinate or weight, so that sums of squares are finite
LARGEST_RATE, SMALLEST_RATE = 1e9, 1e-9
LARGEST_SEED = 2**32 - 1
MOST_RUN_VISITS, MOST_RUN_EPOCHS = 6_000, 500  # where a run stops if it has not converged


def number(value: Any, name: str, low: float = -LARGEST, high: float = LARGEST) -> float:
    """Check that a value is a finite number within bounds."""
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not (known and low <= value <= high):  # false for NaN
        raise ValueError(f"{name}: expected a number from {low:g} to {high:g}, found {shown(value)}")
    return float(value)


def integer(value: Any, name: str, low: int, high: int) -> int:
    """Check that a value is an integer within bounds."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name}: expected an integer from {low} to {high:,}, found {shown(value)}")
    return value


def text(value: Any, name: str, longest: int = LONGEST_TEXT) -> str:
    """Check that a value is text, and not too long."""
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError(f"{name}: expected text of at most {longest:,} characters, found {shown(value)}")
    if any("\ud800" <= character <= "\udfff" for character in value):  # lone surrogates cannot be encoded
        raise ValueError(f"{name}: {shown(value)} is not valid text")
    return value


def sequence(given: Any, name: str, least: int, most: int) -> Sequence[Any]:
    """Check that a value is a list of allowed length; its items are not checked."""
    if not isinstance(given, list | tuple) or not least <= len(given) <= most:
        length = f"{most:,}" if least == most else f"{least} to {most:,}"
        raise ValueError(f"{name}: expected a list of {length} values, found {shown(given)}")
    return given


def numbers(given: Any, name: str, least: int = 0, most: int = MOST_POINTS) -> tuple[float, ...]:
    """Check that a value is a list of finite numbers."""
    return tuple(number(value, name) for value in sequence(given, name, least, most))


def labels(given: Any, name: str, points: int, classes: int) -> tuple[int, ...]:
    """Check that a value is a list of class codes, one per point."""
    return tuple(integer(value, name, 0, classes - 1) for value in sequence(given, name, points, points))


def fields(given: Any, name: str, known: Iterable[str]) -> dict[str, Any]:
    """Check that a value is a dict with exactly these keys."""
    wanted = set(known)
    if not isinstance(given, dict):
        raise ValueError(f"{name}: expected an object, found {shown(given)}")
    if given.keys() != wanted:
        raise ValueError(f"{name}: {shown(min(given.keys() ^ wanted))} is missing or unknown")
    return given


def chosen(given: Any, name: str, options: Iterable[Any]) -> list[Any]:
    """Check that a value is a list of some of the options; return them without duplicates."""
    known = list(options)
    for value in sequence(given, name, 0, len(known)):
        if value not in known:
            raise ValueError(f"{name}: {shown(value)} is not among {', '.join(map(str, known))}")
    return list(dict.fromkeys(given))


def shown(value: Any) -> str:
    """A value as shown in a message, shortened if it is long."""
    if isinstance(value, int) and abs(value) > 10**20:
        return f"an integer of about {math.log10(2) * value.bit_length():.0f} digits"
    if isinstance(value, list | tuple | dict):
        return f"{len(value):,} values"
    start = repr(value[:40] if isinstance(value, str) else value)
    return f"{start} …" if isinstance(value, str) and len(value) > 40 else start
