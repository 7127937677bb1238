"""How often each word and each pair of neighbouring words occurs in each text, counted in compiled passes.

A term is a word or a pair. Words are found and numbered block by block; pairs of their numbers have a table of their
own, in which each lookup is announced to the processor ahead, because a random place of a large table is in no cache.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.compiled.machine_code import exactly
from rosenblatt.compiled.prefetching import prefetch
from rosenblatt.formats.decimal_numbers import PADDING
from rosenblatt.formats.hashed_text import sort_keys
from rosenblatt.formats.interning import Words
from rosenblatt.formats.row_blocks import csr_from_arrays
from rosenblatt.formats.tokens import characters_of, split_words
from rosenblatt.formats.vocabulary import Vocabulary

Array = np.ndarray[Any, Any]
NONE = -1  # no second word, no number
STOP = 0xFF  # a byte that UTF-8 never has
BLOCK_BYTES = 1 << 20
AHEAD = 16  # pairs between the one that is looked up and the one that is prefetched
LOW_HALF, U32 = np.uint64(0xFFFFFFFF), np.uint64(32)
C1, C2 = np.uint64(0xCC9E2D51), np.uint64(0x9E3779B1)
FIRST, SECOND, NUMBER, LAST, ENTRY_SIZE = range(5)  # of an entry; LAST: where the pair was last counted
POSITIONS = 2**31 - 1


# -- compiled ----------------------------------------------------------------------------------------------------------


@exactly
def _split_texts(data: Array, characters: tuple[Array, Array], words: Array, ends: Array, stops: Array) -> None:
    """The words of all texts, and how many there are up to the end of each text."""
    at: Any = np.int64(0)
    count: Any = np.int64(0)
    for row in range(stops.size):
        count, at = split_words(data, at, STOP, characters, words, ends, count)
        stops[row] = count
        at += 1


@exactly
def _place(entries: Array, first: Any, second: Any) -> Any:
    """Where the search for a pair begins."""
    h = ((np.uint64(first) * C1) & LOW_HALF) ^ (np.uint64(np.int64(second)) & LOW_HALF)
    h = (h * C2) & LOW_HALF
    return np.int64(h ^ (h >> np.uint64(15))) & (entries.shape[0] - 1)


@exactly
def _find_pair(entries: Array, first: Any, second: Any) -> Any:
    """The place of a pair, or the free place where it belongs."""
    place = _place(entries, first, second)
    while entries[place, NUMBER] != NONE and (entries[place, FIRST] != first or entries[place, SECOND] != second):
        place = (place + 1) & (entries.shape[0] - 1)
    return place


@exactly
def _find_pairs(entries: Array, pairs: Array, add: bool, out: Array) -> None:
    """The number of each pair, NONE if it is unknown; if `add`, each is new and gets the next number."""
    for j in range(pairs.shape[0]):
        if j + AHEAD < pairs.shape[0]:
            prefetch(entries, ENTRY_SIZE * _place(entries, pairs[j + AHEAD, 0], pairs[j + AHEAD, 1]), True)
        place = _find_pair(entries, pairs[j, 0], pairs[j, 1])
        if add:
            entries[place, FIRST], entries[place, SECOND] = pairs[j, 0], pairs[j, 1]
            entries[place, NUMBER], entries[place, LAST] = j, NONE
        out[j] = entries[place, NUMBER]


@exactly
def _move_pairs(entries: Array, larger: Array) -> None:
    for k in range(entries.shape[0]):
        if entries[k, NUMBER] != NONE:
            place = _find_pair(larger, entries[k, FIRST], entries[k, SECOND])
            for j in range(ENTRY_SIZE):
                larger[place, j] = entries[k, j]


@exactly
def _count_terms(
    numbers: Array, stops: Array, last: Array, entries: Array, known: Any, base: Any, columns: Array, counts: Array
) -> Any:
    """Count the words and pairs of texts, one row after the other; returns the number of pairs.

    Of these, `known` were known before. `stops` has the ends of the texts in `numbers`, and then those of the rows in
    `columns`. A word has its number as column, pair p has −1 − p. `base` is the position of columns[0] in all of the
    columns, in which `last` has the last position of each word. Without room for entries, only words are counted.
    """
    used, begin = np.int64(0), np.int64(0)
    for row in range(stops.size):
        end, start = stops[row], base + used
        for j in range(begin, end):
            word = np.int64(numbers[j])
            if last[word] >= start:
                counts[last[word] - base] += 1
            else:
                last[word] = base + used
                columns[used], counts[used] = word, 1
                used += 1
        for j in range(begin, end - 1 if entries.shape[0] > 0 else begin):
            if j + AHEAD + 1 < numbers.size:
                a, b = np.int64(numbers[j + AHEAD]), np.int64(numbers[j + AHEAD + 1])
                prefetch(entries, ENTRY_SIZE * _place(entries, a, b), True)
            first, second = np.int64(numbers[j]), np.int64(numbers[j + 1])
            place = _find_pair(entries, first, second)
            if entries[place, NUMBER] == NONE:
                entries[place, FIRST], entries[place, SECOND], entries[place, NUMBER] = first, second, known
                entries[place, LAST] = NONE
                known += 1
            if entries[place, LAST] >= start:
                counts[entries[place, LAST] - base] += 1
            else:
                entries[place, LAST] = base + used
                columns[used], counts[used] = -1 - entries[place, NUMBER], 1
                used += 1
        stops[row], begin = used, end
    return known


@exactly
def _weigh(
    found: tuple[Array, Array, Array],
    places: Array,
    weights: tuple[Array, Array],
    space: tuple[Array, Array, Array],
    out: tuple[Array, Array, Array],
) -> Any:
    """Rows of tf·idf, scaled to length 1, from rows of counts, in CSR; returns how many values there are.

    places[k] is the new column of column k, or NONE. `weights` are the tf of each count and the idf of each new column.
    """
    (starts, columns, counts), (tf, idf), (keys, other, digits), (values, places_out, ends) = found, weights, space, out
    passes, used = 1, 0
    while idf.size > 1 << (8 * passes):
        passes += 1
    for row in range(starts.size - 1):
        n, in_order, first = 0, True, used
        for k in range(starts[row], starts[row + 1]):
            place = places[columns[k]]
            if place != NONE:
                keys[n] = (np.uint64(place) << U32) | np.uint64(counts[k])
                in_order = in_order and (n == 0 or keys[n] > keys[n - 1])
                n += 1
        turned = False if in_order else sort_keys(keys, other, digits, n, passes)
        total = 0.0
        for k in range(n):
            key = other[k] if turned else keys[k]
            column = np.int64(key >> U32)
            value = tf[np.int64(key & LOW_HALF)] * idf[column]
            places_out[used], values[used] = column, value
            total += value * value
            used += 1
        if total > 0.0:
            scale = np.sqrt(total)
            for k in range(first, used):
                values[k] /= scale
        ends[row] = used
    return used


# -- tables of pairs ---------------------------------------------------------------------------------------------------


class Pairs:
    """Distinct pairs of numbers, numbered in order of first occurrence. The second one may be NONE."""

    def __init__(self) -> None:
        self.entries, self.count = _no_entries(1 << 4), 0

    @classmethod
    def of(cls, pairs: Array) -> Pairs:
        """These pairs, which are distinct, by their order."""
        made = cls()
        made.reserve(pairs.shape[0])
        _find_pairs(made.entries, pairs, True, np.empty(pairs.shape[0], np.int32))
        made.count = pairs.shape[0]
        return made

    def reserve(self, more: int) -> None:
        """Make room for this many more pairs."""
        if self.entries.shape[0] < 2 * (self.count + more):
            larger = _no_entries(1 << (2 * (self.count + more) - 1).bit_length())
            _move_pairs(self.entries, larger)
            self.entries = larger

    def numbers(self, pairs: Array) -> Array:
        """The number of each pair, NONE if it is not one of them."""
        out = np.empty(pairs.shape[0], np.int32)
        _find_pairs(self.entries, pairs, False, out)
        return out

    def pairs(self) -> Array:
        """All pairs, by number."""
        found = self.entries[self.entries[:, NUMBER] != NONE]
        made = np.empty((self.count, 2), np.int32)
        made[found[:, NUMBER]] = found[:, : SECOND + 1]
        return made


def _no_entries(size: int) -> Array:
    return np.full((size, ENTRY_SIZE), NONE, np.int32)


# -- counts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Terms:
    """Words, and pairs of them: each row of `places` has the places of two words in `words`, or of one and NONE."""

    words: Vocabulary
    places: Array  # (m, 2)

    @functools.cached_property
    def tables(self) -> tuple[Words, Pairs]:
        """The words and the terms as tables in which they are found."""
        return Words.of(self.words), Pairs.of(self.places)

    def find(self, other: Terms) -> Array:
        """The number here of each of the other terms, NONE if it is not one of these."""
        words, pairs = self.tables
        text = np.concatenate([other.words.text, np.zeros(PADDING, np.uint8)])
        known = words.numbers_in(text, other.words.ends, 0, unknown=len(self.words)).astype(np.int32)
        known = np.append(known, np.int32(NONE))  # of NONE
        return pairs.numbers(known[other.places])

    def names(self) -> list[str]:
        """Each word, and the words of each pair with a space between them."""
        words = self.words.names
        return [words[a] if b == NONE else f"{words[a]} {words[b]}" for a, b in self.places.tolist()]

    def take(self, kept: Array, by_name: bool) -> tuple[Terms, Array]:
        """Some of the terms, and which they are here: by their names, or as found, first words and then pairs."""
        places = self.places[kept]
        used = np.zeros(len(self.words) + 1, bool)
        used[places] = True
        names, order = self.words.names, np.flatnonzero(used[:NONE]).tolist()
        if by_name:
            order.sort(key=names.__getitem__)
        rank = np.full(used.size, NONE, np.int64)
        rank[order] = np.arange(len(order))
        first, second = rank[places].T
        # A space comes before all characters of words, so that pairs by name are in the order of their words.
        keys = first * (len(order) + 1) + second + 1
        at = np.argsort(keys) if by_name else np.lexsort((keys, second != NONE))
        ranked = np.column_stack([first[at], second[at]]).astype(np.int32)
        return Terms(Vocabulary.of([names[k] for k in order]), ranked), kept[at]


@dataclass(frozen=True)
class TermCounts:
    """How often each term occurs in each text."""

    counts: Any  # CSR of texts × terms
    terms: Terms

    def take(self, rows: Array) -> TermCounts:
        """Some of the texts."""
        return TermCounts(self.counts[rows], self.terms)

    def weighted(self, terms: Terms, idf: Array, sublinear: bool) -> Any:
        """Rows of tf·idf of these terms, each of length 1; tf is the count, or 1 + ln count if `sublinear`."""
        found, room = self.counts, int(np.diff(self.counts.indptr).max(initial=0))
        tf = np.arange(found.data.max(initial=0) + 1, dtype=float)
        if sublinear:
            tf[1:] = 1 + np.log(tf[1:])
        values, columns = np.empty(found.nnz), np.empty(found.nnz, np.int32)
        starts = np.zeros_like(found.indptr)
        space = (np.empty(room, np.uint64), np.empty(room, np.uint64), np.empty(256, np.int64))
        places, out = terms.find(self.terms), (values, columns, starts[1:])
        used = _weigh((found.indptr, found.indices, found.data), places, (tf, idf), space, out)
        return csr_from_arrays(values[:used].copy(), columns[:used].copy(), starts, idf.size)


def count_terms(texts: Sequence[str], *, tokens: str = "unicode", pairs: bool = True) -> TermCounts:
    """Count the words, and the pairs of neighbouring words, of texts.

    Case is lowered by `str.lower`, the characters of words are those of `characters_of(tokens)`.
    """
    counter = _Counter(tokens, pairs)
    block, size = [], 0
    for text in texts:
        # Compiled code lowers the case of ASCII. A lone surrogate is no letter, but must not end the run.
        block.append(text.encode() if text.isascii() else text.lower().encode("utf-8", "surrogatepass"))
        size += len(block[-1])
        if size > BLOCK_BYTES:
            counter.add(block)
            block, size = [], 0
    counter.add(block)
    return counter.counted()


class _Counter:
    """Counts terms block by block."""

    def __init__(self, tokens: str, pairs: bool) -> None:
        self.tokens, self.words, self.pairs = tokens, Words(), Pairs() if pairs else None
        self.last = np.zeros(0, np.int32)
        self.base = 0
        self.columns: list[Array] = []
        self.counts: list[Array] = []
        self.ends = [np.zeros(1, np.int64)]

    def add(self, block: list[bytes]) -> None:
        """Count the terms of these texts."""
        if not block:
            return
        numbers, stops = self._numbers(block)
        room = 2 * numbers.size
        if self.base + room > POSITIONS:
            self._forget_positions()
        if self.pairs is not None:
            self.pairs.reserve(numbers.size)
        entries = _no_entries(0) if self.pairs is None else self.pairs.entries
        if self.last.size < len(self.words):
            longer = np.full(2 * len(self.words), NONE, np.int32)
            longer[: self.last.size] = self.last
            self.last = longer
        columns, counts = np.empty(room, np.int32), np.empty(room, np.int32)
        known = 0 if self.pairs is None else self.pairs.count
        known = _count_terms(numbers, stops, self.last, entries, known, self.base, columns, counts)
        if self.pairs is not None:
            self.pairs.count = int(known)
        used = int(stops[-1])
        self.columns.append(columns[:used].copy())
        self.counts.append(counts[:used].copy())
        self.ends.append(stops + self.ends[-1][-1])
        self.base += used

    def _numbers(self, block: list[bytes]) -> tuple[Array, Array]:
        """The number of each word of these texts, one text after the other, and where each text ends."""
        joined = bytes([STOP]).join([*block, bytes(PADDING)])
        size = len(joined)
        data = np.frombuffer(joined, np.uint8)
        words, ends = np.empty(2 * size, np.uint8), np.empty(size // 3 + 2, np.int64)
        stops = np.empty(len(block), np.int64)
        characters = characters_of(self.tokens, ascii_only=all(one.isascii() for one in block))
        _split_texts(data, characters, words, ends, stops)
        return self.words.numbers_in(words, ends[: stops[-1]], 1), stops

    def _forget_positions(self) -> None:
        self.base = 0
        self.last[:] = NONE
        if self.pairs is not None:
            self.pairs.entries[:, LAST] = NONE

    def counted(self) -> TermCounts:
        """The counts of all texts."""
        pairs = np.zeros((0, 2), np.int32) if self.pairs is None else self.pairs.pairs()
        n = len(self.words)
        single = np.column_stack([np.arange(n, dtype=np.int32), np.full(n, NONE, np.int32)])
        starts = np.concatenate(self.ends)
        columns = np.concatenate([*self.columns, np.zeros(0, np.int32)])
        counts = np.concatenate([*self.counts, np.zeros(0, np.int32)])
        np.subtract(n - 1, columns, out=columns, where=columns < 0)
        terms = Terms(self.words.vocabulary(), np.concatenate([single, pairs]))
        return TermCounts(csr_from_arrays(counts, columns, starts, n + len(pairs)), terms)
