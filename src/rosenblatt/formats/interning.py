"""Distinct byte strings, numbered in order of first occurrence by compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import exactly
from rosenblatt.compiled.prefetching import prefetch
from rosenblatt.formats.decimal_numbers import PADDING
from rosenblatt.formats.hashed_text import four_bytes, murmur
from rosenblatt.formats.vocabulary import Vocabulary

Array = np.ndarray[Any, Any]
FREE = -1
NOWHERE = np.int64(0xFFFFFFFF)  # FREE as an unsigned number
LINE_FEED = 10
AHEAD = 16  # words between the one that is looked up and the one that is prefetched


class WordTable(NamedTuple):
    """An open-addressing table of words; `counts` holds their number and the bytes in use."""

    places: Array  # the number of the word at each place, or FREE
    hashes: Array  # of each word
    ends: Array  # where each word ends in `text`
    text: Array
    counts: Array


@exactly
def _same(text: Array, at: Any, data: Array, begin: Any, size: Any) -> bool:
    """Whether two words are equal, four bytes at a time; 4 bytes must follow each."""
    j = 0
    while j + 4 <= size:
        if four_bytes(text, at + j) != four_bytes(data, begin + j):
            return False
        j += 4
    rest = (np.uint64(1) << np.uint64(8 * (size - j))) - np.uint64(1)
    return bool((four_bytes(text, at + j) ^ four_bytes(data, begin + j)) & rest == 0)


@exactly
def intern(table: WordTable, data: Array, begin: Any, end: Any) -> Any:
    """The number of the word data[begin:end], which is added if it is new; 4 bytes must follow it."""
    return _find(table, data, begin, end, np.int64(murmur(data, begin, end)), -1)


@exactly
def _find(table: WordTable, data: Array, begin: Any, end: Any, hashed: Any, unknown: Any) -> Any:
    """The number of a word with this hash; a new word is added, or gets `unknown` if that is not negative."""
    places, hashes, ends, text, counts = table
    size, mask = end - begin, places.size - 1
    place = hashed & mask
    while places[place] != FREE:
        number = places[place]
        at = ends[number - 1] if number > 0 else 0
        if hashes[number] == hashed and ends[number] - at == size and _same(text, at, data, begin, size):
            return np.int64(number)
        place = (place + 1) & mask
    if unknown >= 0:
        return np.int64(unknown)
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


@exactly
def _cut(data: Array, size: Any, ends: Array) -> Any:
    """The ends of words that are separated by line feeds; returns their number, which may be larger than expected."""
    count = 0
    for at in range(size):
        if data[at] == LINE_FEED:
            if count < ends.size:
                ends[count] = at
            count += 1
    if count < ends.size:
        ends[count] = size
    return count + 1


@exactly
def _hash_all(data: Array, ends: Array, gap: Any, hashes: Array) -> None:
    begin: Any = np.int64(0)
    for number in range(ends.size):
        hashes[number] = np.int64(murmur(data, begin, ends[number]))
        begin = ends[number] + gap


@exactly
def _find_all(table: WordTable, data: Array, ends: Array, gap: Any, hashes: Array, unknown: Any, out: Array) -> None:
    """The number of each word; a new word is added, or gets `unknown` if that is not negative.

    Three sweeps, each of which prefetches what it reads: word by word, each would wait for memory three times.
    """
    places, known, stored, text, _ = table
    mask, n = places.size - 1, ends.size
    for j in range(n):
        if j + AHEAD < n:
            prefetch(places, np.uint64(hashes[j + AHEAD] & mask), True)
        out[j] = np.uint32(places[hashes[j] & mask])  # FREE is the largest number
    for j in range(n):
        if j + AHEAD < n and out[j + AHEAD] < NOWHERE:
            prefetch(known, np.uint64(out[j + AHEAD]), True)
            prefetch(stored, np.uint64(out[j + AHEAD]), True)
    begin = np.int64(0)
    for j in range(n):
        if j + AHEAD < n and out[j + AHEAD] < NOWHERE:
            prefetch(text, np.uint64(stored[out[j + AHEAD]]), True)
        end, number = ends[j], np.int64(out[j])
        same = False
        if number < NOWHERE and known[number] == hashes[j]:
            at = stored[number - 1] if number > 0 else np.int64(0)
            same = stored[number] - at == end - begin and _same(text, at, data, begin, end - begin)
        if not same:
            number = _find(table, data, begin, end, hashes[j], unknown)
        out[j] = np.uint32(number)
        begin = end + gap


class Words:
    """Words, numbered in order of first occurrence."""

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
        """Make room for this many more words, with this many bytes in total."""
        places, hashes, ends, text, counts = self.table
        count, used = counts.tolist()
        if hashes.size < count + words:
            more = max(count + words, 2 * hashes.size)
            hashes, ends = _longer(hashes, count, more), _longer(ends, count, more)
        if text.size < used + size + PADDING:
            text = _longer(text, used, max(used + size, 2 * text.size) + PADDING)
        if places.size < 2 * (count + words):
            places = np.full(1 << (2 * (count + words) - 1).bit_length(), FREE, dtype=np.int32)
            _replace(places, hashes, count)
        self.table = WordTable(places, hashes, ends, text, counts)

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Words:
        """The words of a vocabulary, by its numbers."""
        words, ends = cls(), vocabulary.ends
        text = np.concatenate([vocabulary.text, np.zeros(PADDING, dtype=np.uint8)])
        hashes = np.empty(ends.size, dtype=np.int64)
        _hash_all(text, ends, 0, hashes)
        counts = np.array([ends.size, vocabulary.text.size], dtype=np.int64)
        words.table = WordTable(words.table.places[:1], hashes, ends.copy(), text, counts)
        words.reserve(0, 0)
        return words

    def numbers(self, names: list[str], unknown: int = -1) -> Array:
        """The number of each name; a new name is added, or gets `unknown` if that is given."""
        joined = "\n".join(names).encode("utf-8", "surrogatepass")
        data, gap = np.frombuffer(joined + bytes(PADDING), dtype=np.uint8), 1
        ends = np.empty(len(names), dtype=np.int64)
        if names and _cut(data, len(joined), ends) != len(names):  # a name contains a line feed
            parts = [name.encode("utf-8", "surrogatepass") for name in names]
            data, gap = np.frombuffer(b"".join(parts) + bytes(PADDING), dtype=np.uint8), 0
            np.cumsum([len(part) for part in parts], out=ends)
        return self.numbers_in(data, ends, gap, unknown)

    def numbers_in(self, data: Array, ends: Array, gap: int, unknown: int = -1) -> Array:
        """As `numbers`, for names that stand in `data`, of which `ends` has the ends, with `gap` bytes between them."""
        if unknown < 0 and ends.size:
            self.reserve(ends.size, int(ends[-1]))
        hashes, out = np.empty(ends.size, dtype=np.int64), np.empty(ends.size, dtype=np.uint32)
        _hash_all(data, ends, gap, hashes)
        _find_all(self.table, data, ends, gap, hashes, unknown, out)
        return out

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
