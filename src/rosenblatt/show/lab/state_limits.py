"""What a state of the lab may hold: readers for values that came in a link or a file, each within its bounds.

Whoever made the link is unknown, so every value is read here before any work is done with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

MOST_POINTS = 1_000
MOST_CLASSES = 6
MOST_COLUMNS = 1_000
MOST_VALUES = 500_000  # in all columns of all rows
LONGEST_TEXT = 10_000  # characters of a name or note
LARGEST = 1e100  # of a coordinate or weight: its square, and sums of them, are finite
LARGEST_RATE, SMALLEST_RATE = 1e9, 1e-9
LARGEST_SEED = 2**32 - 1
VISITS, EPOCHS = 6_000, 500  # where a run that has not converged stops


def number(value: Any, name: str, low: float = -LARGEST, high: float = LARGEST) -> float:
    """A finite number within bounds."""
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not (known and low <= value <= high):  # which NaN is not
        raise ValueError(f"{name}: expected a number from {low:g} to {high:g}, found {shown(value)}")
    return float(value)


def whole(value: Any, name: str, low: int, high: int) -> int:
    """An integer within bounds."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name}: expected an integer from {low} to {high:,}, found {shown(value)}")
    return value


def text(value: Any, name: str, longest: int = LONGEST_TEXT) -> str:
    """Text that is not too long."""
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError(f"{name}: expected text of at most {longest:,} characters, found {shown(value)}")
    if any("\ud800" <= character <= "\udfff" for character in value):  # lone surrogates cannot be encoded
        raise ValueError(f"{name}: {shown(value)} is no valid text")
    return value


def values(given: Any, name: str, least: int, most: int) -> Sequence[Any]:
    """A list of some length; what it holds is not looked at."""
    if not isinstance(given, list | tuple) or not least <= len(given) <= most:
        length = f"{most:,}" if least == most else f"{least} to {most:,}"
        raise ValueError(f"{name}: expected a list of {length} values, found {shown(given)}")
    return given


def numbers(given: Any, name: str, least: int = 0, most: int = MOST_POINTS) -> tuple[float, ...]:
    """A list of numbers."""
    return tuple(number(value, name) for value in values(given, name, least, most))


def labels(given: Any, name: str, points: int, classes: int) -> tuple[int, ...]:
    """One label per point."""
    return tuple(whole(value, name, 0, classes - 1) for value in values(given, name, points, points))


def fields(given: Any, name: str, known: Iterable[str]) -> dict[str, Any]:
    """A table of exactly these names."""
    wanted = set(known)
    if not isinstance(given, dict):
        raise ValueError(f"{name}: expected names with values, found {shown(given)}")
    if given.keys() != wanted:
        raise ValueError(f"{name}: {shown(min(given.keys() ^ wanted))} is missing, or unknown here")
    return given


def chosen(given: Any, name: str, options: Iterable[Any]) -> list[Any]:
    """Values that are all among the options, each once."""
    known = list(options)
    for value in values(given, name, 0, len(known)):
        if value not in known:
            raise ValueError(f"{name}: {shown(value)} is not among {', '.join(map(str, known))}")
    return list(dict.fromkeys(given))


def shown(value: Any) -> str:
    """A value as a message shows it: the start of it."""
    if isinstance(value, int) and abs(value) > 10**20:
        return f"an integer of about {math.log10(2) * value.bit_length():.0f} digits"
    if isinstance(value, list | tuple | dict):
        return f"{len(value):,} values"
    start = repr(value[:40] if isinstance(value, str) else value)
    return f"{start} and more" if isinstance(value, str) and len(value) > 40 else start
