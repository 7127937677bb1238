"""Which rows of a large table are held out, decided by their numbers alone, part by part.

A row is held out at level L if the last L bits of a hash of its number are 0, which holds for a share 2^−L of the
rows. The level rises until few enough rows are held out. However a table is divided into parts, the rows are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
LEAST_LEVEL = 3  # holds out at most an eighth of the rows


def row_hashes(first: int, count: int, seed: int) -> Array:
    """A hash of each of these row numbers (the mixing function of SplitMix64)."""
    with np.errstate(over="ignore"):
        z = np.arange(first, first + count, dtype=np.uint64) + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found: Array = z ^ (z >> np.uint64(31))
    return found


def at_level(hashes: Array, level: int) -> Array:
    """Whether each row is held out at this level."""
    found: Array = (hashes & np.uint64((1 << level) - 1)) == 0
    return found


def level_for(hashes: Array, most: int, level: int = LEAST_LEVEL) -> int:
    """The lowest level, from this one on, at which at most `most` of these rows are held out."""
    while np.count_nonzero(at_level(hashes, level)) > most:
        level += 1
    return level
