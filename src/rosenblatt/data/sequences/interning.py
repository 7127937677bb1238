"""Distinct byte strings, numbered in the order in which compiled code meets them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiling import exactly
from rosenblatt.data.formats.decimal_numbers import PADDING
from rosenblatt.data.formats.text import murmur
from rosenblatt.data.sequences.vocabulary import Vocabulary

Array = np.ndarray[Any, Any]
FREE = -1


class WordTable(NamedTuple):
    """An open-addressing table of words; `counts` holds their number and the bytes in use."""

    places: Array  # the number of the word at each place, or FREE
    hashes: Array  # of each word
    ends: Array  # where each word ends in `text`
    text: Array
    counts: Array


@exactly
def _same(text: Array, at: Any, data: Array, begin: Any, size: Any) -> bool:
    j = 0
    while j < size and text[at + j] == data[begin + j]:
        j += 1
    return bool(j == size)


@exactly
def intern(table: WordTable, data: Array, begin: Any, end: Any) -> Any:
    """The number of the word data[begin:end], which is added if it is new; 4 bytes must follow it."""
    places, hashes, ends, text, counts = table
    size, mask = end - begin, places.size - 1
    hashed = np.int64(murmur(data, begin, end))
    place = hashed & mask
    while places[place] != FREE:
        number = places[place]
        at = ends[number - 1] if number > 0 else 0
        if hashes[number] == hashed and ends[number] - at == size and _same(text, at, data, begin, size):
            return np.int64(number)
        place = (place + 1) & mask
    number, at = counts[0], counts[1]
    for j in range(size):
        text[at + j] = data[begin + j]
    places[place], hashes[number], ends[number] = number, hashed, at + size
    counts[0] += 1
    counts[1] += size
    return np.int64(number)


@exactly
def _replace(places: Array, hashes: Array, count: Any) -> None:
    mask = places.size - 1
    for number in range(count):
        place = hashes[number] & mask
        while places[place] != FREE:
            place = (place + 1) & mask
        places[place] = number


class Words:
    """Words that are numbered as they are met."""

    def __init__(self, first: tuple[bytes, ...] = ()) -> None:
        self.table = WordTable(
            np.full(2, FREE, dtype=np.int32),
            np.zeros(0, dtype=np.int64),
            np.zeros(0, dtype=np.int64),
            np.zeros(0, dtype=np.uint8),
            np.zeros(2, dtype=np.int64),
        )
        for word in first:
            self.reserve(1, len(word))
            intern(self.table, np.frombuffer(word + b"\0" * PADDING, dtype=np.uint8), 0, len(word))

    def reserve(self, words: int, size: int) -> None:
        """Make room for so many more words, of so many bytes in all."""
        places, hashes, ends, text, counts = self.table
        count, used = counts.tolist()
        if hashes.size < count + words:
            more = max(count + words, 2 * hashes.size)
            hashes, ends = _longer(hashes, count, more), _longer(ends, count, more)
        if text.size < used + size:
            text = _longer(text, used, max(used + size, 2 * text.size))
        if places.size < 2 * (count + words):
            places = np.full(1 << (2 * (count + words) - 1).bit_length(), FREE, dtype=np.int32)
            _replace(places, hashes, count)
        self.table = WordTable(places, hashes, ends, text, counts)

    def __len__(self) -> int:
        return int(self.table.counts[0])

    def vocabulary(self) -> Vocabulary:
        """The words so far."""
        count, used = self.table.counts.tolist()
        return Vocabulary(self.table.text[:used].copy(), self.table.ends[:count].copy())


def _longer(array: Array, used: int, size: int) -> Array:
    room = np.empty(size, dtype=array.dtype)
    room[:used] = array[:used]
    return room
