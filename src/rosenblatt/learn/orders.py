"""The order in which an epoch visits its rows, computed piece by piece, without an array of all rows.

An order gives positions 0 … n−1 for any piece of any epoch from (seed, epoch) alone, so that any epoch can be rerun,
resumed or split without running the epochs before it.

A large shuffled order is a permutation computed position by position: t = (l, r) with l < a, r < b = 2^k, a·b ≥ n,
goes through three rounds l += F(r) mod a, r ^= F(l) mod b (a Feistel network on Z_a × Z_b, Black and Rogaway 2002),
where F is a keyed integer hash; a result ≥ n is permuted again until it is below n (cycle walking).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.compiled.machine_code import callee, compiled

Array = np.ndarray[Any, Any]
LOW = np.uint64(0xFFFFFFFF)
BLOCK, POOL = 1 << 15, 64
MOST_OF_32_BITS = 1 << 31  # fewer rows are numbered by words of 32 bits
SMALL = 1 << 12  # up to this many rows the shuffle is made in an array, every permutation equally likely


@dataclass(frozen=True)
class Cyclic:
    """Rows in the order given."""

    size: int
    covers = True  # whether an epoch visits every row
    names_rows = False  # whether `piece` gives row numbers; else positions among the rows that take part

    def piece(self, epoch: int, begin: int, end: int) -> Array:
        """The positions visited from `begin` to `end` of this epoch."""
        return np.arange(begin, end, dtype=np.uint64)


@dataclass(frozen=True)
class Shuffled:
    """A fresh permutation each epoch."""

    size: int
    seed: int
    part: int = 0  # distinguishes the shuffles of one epoch, if there are several
    covers = True
    names_rows = False

    def piece(self, epoch: int, begin: int, end: int) -> Array:
        """The positions visited from `begin` to `end` of this epoch."""
        if self.size == 1:  # fast path for a stream of single rows
            return np.arange(begin, end, dtype=np.uint64)
        if self.size <= SMALL:
            every = np.empty(self.size, dtype=np.uint64)
            _shuffle(_keys(self.seed, epoch, self.part), every)
            return every[begin:end]
        word = np.uint32 if self.size < MOST_OF_32_BITS else np.uint64
        keys = _keys(self.seed, epoch, self.part).astype(word, copy=False)
        out = np.empty(end - begin, dtype=np.uint64)
        bits = self.size.bit_length() // 2
        _permute(keys, -(-self.size // (1 << bits)), bits, self.size, begin, out)
        return out


@dataclass(frozen=True)
class Random:
    """Rows drawn with replacement, as many as there are."""

    size: int
    seed: int
    covers = False
    names_rows = False

    def piece(self, epoch: int, begin: int, end: int) -> Array:
        """The positions visited from `begin` to `end` of this epoch."""
        out = np.empty(end - begin, dtype=np.uint64)
        _draw(_keys(self.seed, epoch), self.size, begin, out)
        return out


@dataclass(frozen=True)
class Explicit:
    """The given sequence of rows."""

    rows: Array
    covers = False
    names_rows = True

    @property
    def size(self) -> int:
        """Visits per epoch."""
        return int(self.rows.size)

    def piece(self, epoch: int, begin: int, end: int) -> Array:
        """The positions visited from `begin` to `end` of this epoch."""
        return self.rows[begin:end]


@dataclass(frozen=True)
class ShufflePool:
    """Blocks of rows that are in memory together, and the shuffled order of their rows; the same for every source."""

    blocks: Array  # the numbers of the blocks, in reading order
    sizes: Array  # the number of rows of each
    order: Shuffled  # of the rows of these blocks, numbered consecutively


@dataclass(frozen=True)
class Blocks:
    """An order that is fast for files: blocks of rows are shuffled, and rows are shuffled within a pool of blocks.

    A block has as many rows as fit into `BLOCK` stored values, at most `BLOCK` rows; a pool has `POOL` blocks. So the
    order depends on the rows alone, not on where they are stored.
    """

    bounds: Array  # the first row of each block, and the end
    seed: int
    present: Array | None = None  # the rows that take part; None means all
    covers = True
    names_rows = True

    @property
    def size(self) -> int:
        """All rows, whether they take part or not."""
        return int(self.bounds[-1])

    def pools(self, epoch: int) -> Iterator[ShufflePool]:
        """The pools of an epoch, in order."""
        count = self.bounds.size - 1
        order = Shuffled(count, self.seed, 1).piece(epoch, 0, count).astype(np.int64)
        for number, begin in enumerate(range(0, count, POOL)):
            blocks = order[begin : begin + POOL]
            sizes = np.diff(self.bounds)[blocks]
            yield ShufflePool(blocks, sizes, Shuffled(int(sizes.sum()), self.seed, number + 2))

    def piece(self, epoch: int, begin: int, end: int) -> Array:
        """The rows visited from `begin` to `end` of this epoch, without those that take no part."""
        found, at = [], 0
        for pool in self.pools(epoch):
            low, high = max(begin - at, 0), min(end - at, pool.order.size)
            if low < high:
                ends = np.cumsum(pool.sizes)
                place = pool.order.piece(epoch, low, high).astype(np.int64)
                block = np.searchsorted(ends, place, side="right")
                found.append(self.bounds[pool.blocks[block]] + place - (ends - pool.sizes)[block])
            at += pool.order.size
        rows = np.concatenate(found).astype(np.uint64)
        return rows if self.present is None else rows[np.isin(rows, self.present)]


def block_bounds(starts: Array) -> Array:
    """The first row of each block, and the end; `starts` are the offsets of each row's stored values."""
    rows, bounds = starts.size - 1, [0]
    while bounds[-1] < rows:
        first = bounds[-1]
        fits = int(np.searchsorted(starts, starts[first] + starts.dtype.type(BLOCK), side="right")) - 1
        bounds.append(min(max(fits, first + 1), first + BLOCK, rows))
    return np.array(bounds, dtype=np.int64)


Order = Cyclic | Shuffled | Random | Explicit | Blocks


def visited(order: Order, present: Array | None, epoch: int, begin: int, end: int) -> Array:
    """The rows visited from `begin` to `end` of this epoch; `present` are those that take part (None: all)."""
    piece = order.piece(epoch, begin, end)
    return piece if present is None or order.names_rows else present[piece]


@functools.lru_cache(maxsize=4)  # an epoch asks for each of its pieces
def _keys(seed: int, epoch: int, part: int = 0) -> Array:
    entropy = (seed, epoch, part) if part else (seed, epoch)
    keys = np.random.SeedSequence(entropy).generate_state(6, np.uint32)
    keys.flags.writeable = False
    return keys


@callee
def _hash(keys: Array, x: Any, key: Any) -> Any:
    """A 32-bit integer hash of xor-shifts and odd multipliers: every bit of x and key affects every bit.

    The result has the type of the keys: LLVM puts twice as many 32-bit words into a vector if no other is wider.
    """
    word = keys.dtype.type
    h = word((x ^ key) & LOW)
    h = word(((np.uint64(h) ^ (np.uint64(h) >> np.uint64(16))) * np.uint64(0x7FEB352D)) & LOW)
    h = word(((np.uint64(h) ^ (np.uint64(h) >> np.uint64(15))) * np.uint64(0x846CA68B)) & LOW)
    return word(h ^ (h >> word(16)))


@callee
def _round(keys: Array, left: Any, right: Any, a: Any, mask: Any, even: Any, odd: Any) -> Any:
    word = keys.dtype.type
    left = word(left + word((np.uint64(_hash(keys, right, even)) * np.uint64(a)) >> np.uint64(32)))
    left = word(left - a) if left >= a else left
    return left, word(right ^ (_hash(keys, left, odd) & mask))


@compiled
def _permute(keys: Array, a: int, bits: int, n: int, begin: int, out: Array) -> None:
    """The positions from `begin` on; `keys` have 32 bits if a·b fits into them, else 64."""
    word = keys.dtype.type
    # Keys and sizes in locals: reading them from memory in the loop would prevent vectorisation.
    k0, k1, k2, k3, k4, k5 = keys[0], keys[1], keys[2], keys[3], keys[4], keys[5]
    wide, shift, limit, first = word(a), word(bits), word(n), word(begin)
    mask = word((np.uint64(1) << np.uint64(bits)) - np.uint64(1))
    for t in range(out.size):
        place = word(first + word(t))
        left, right = _round(keys, word(place >> shift), word(place & mask), wide, mask, k0, k1)
        left, right = _round(keys, left, right, wide, mask, k2, k3)
        left, right = _round(keys, left, right, wide, mask, k4, k5)
        out[t] = word((left << shift) | right)
    for t in range(out.size):
        place = word(out[t])
        while place >= limit:
            left, right = _round(keys, word(place >> shift), word(place & mask), wide, mask, k0, k1)
            left, right = _round(keys, left, right, wide, mask, k2, k3)
            left, right = _round(keys, left, right, wide, mask, k4, k5)
            place = word((left << shift) | right)
            out[t] = place


@compiled
def _shuffle(keys: Array, out: Array) -> None:
    """Fisher and Yates: every permutation equally likely."""
    for t in range(out.size):
        other = _number(keys, np.uint64(t)) % np.uint64(t + 1)
        out[t] = out[other]
        out[other] = t


@callee
def _number(keys: Array, place: Any) -> Any:
    """The random 64-bit number at a place in the sequence."""
    low = np.uint64(_hash(keys, place & LOW, keys[0]))
    high = np.uint64(_hash(keys, low ^ (place >> np.uint64(32)), keys[1]))
    return (low << np.uint64(32)) | high


@compiled
def _draw(keys: Array, n: int, begin: int, out: Array) -> None:
    for t in range(out.size):
        out[t] = _number(keys, np.uint64(begin) + np.uint64(t)) % np.uint64(n)
