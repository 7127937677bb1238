"""Text to rows: words and their n-grams are hashed to columns in one pass over the bytes.

Tokens, hashes and signs are those of scikit-learn's HashingVectorizer: lower case; words of two or more letters, digits
or underscores; MurmurHash3 of the n-gram with a space between words; the sign of the hash as the sign of the value;
rows scaled to length 1. The rows are therefore the same, up to rounding.

Lines are `label<TAB>text`, in UTF-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types

from rosenblatt.compiled.machine_code import exactly, intrinsic_of
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.tokens import characters_of, split_words

Array = np.ndarray[Any, Any]
LOW_HALF = np.uint64(0xFFFFFFFF)
C1, C2 = np.uint64(0xCC9E2D51), np.uint64(0x1B873593)
U0, U1, U32, BYTE = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(255)
ZERO_SUM = 1 << 31
INSERTION_SORT_MAX = 24
TAB, LINE_FEED = 9, 10
ROWS, STORED, WHERE, OUTCOME, TALLY_SIZE = range(5)
FINE, NO_TAB, FULL = range(3)


def four_bytes(data: Array, at: int) -> Any:
    """Four bytes as a little-endian integer."""
    return np.uint64(int.from_bytes(data[at : at + 4].tobytes(), "little"))


@intrinsic_of(four_bytes)
def _four_bytes(_: Any, data: Any, at: Any) -> Any:  # pragma: no cover
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(data)(context, builder, args[0])
        place = builder.gep(builder.bitcast(array.data, ir.IntType(8).as_pointer()), [args[1]])
        word = builder.load(builder.bitcast(place, ir.IntType(32).as_pointer()), align=1)
        return builder.zext(word, ir.IntType(64))

    return types.uint64(data, types.int64), emit


@exactly
def _rotated(x: Any, r: Any) -> Any:
    return ((x << r) | (x >> (np.uint64(32) - r))) & LOW_HALF


@exactly
def murmur(data: Array, begin: int, end: int) -> Any:
    """MurmurHash3 (32 bits, seed 0) of data[begin:end], in the low half of a 64-bit integer; 4 bytes must follow."""
    h, at = U0, begin
    while at + 4 <= end:
        k = _rotated((four_bytes(data, at) * C1) & LOW_HALF, np.uint64(15))
        h ^= (k * C2) & LOW_HALF
        h = (_rotated(h, np.uint64(13)) * np.uint64(5) + np.uint64(0xE6546B64)) & LOW_HALF
        at += 4
    k = four_bytes(data, at) & ((U1 << np.uint64(8 * (end - at))) - U1)  # the remaining bytes, if any
    h ^= (_rotated((k * C1) & LOW_HALF, np.uint64(15)) * C2) & LOW_HALF
    h ^= np.uint64(end - begin)
    h = ((h ^ (h >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & LOW_HALF
    h = ((h ^ (h >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & LOW_HALF
    return h ^ (h >> np.uint64(16))


@exactly
def sort_keys(keys: Array, other: Array, counts: Array, n: int, passes: int) -> Any:
    """Sort the first n keys by their upper half: by insertion if they are few, else by radix.

    Returns whether the result is in `other`.
    """
    if n <= INSERTION_SORT_MAX:
        for i in range(1, n):
            key, j = keys[i], i
            while j > 0 and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
        return False
    turned = False
    for digit in range(passes):
        source, target = (other, keys) if turned else (keys, other)
        shift = np.uint64(32 + 8 * digit)
        counts[:] = 0
        for i in range(n):
            counts[(source[i] >> shift) & BYTE] += 1
        total = 0
        for k in range(256):
            total, counts[k] = total + counts[k], total
        for i in range(n):
            place = (source[i] >> shift) & BYTE
            target[counts[place]] = source[i]
            counts[place] += 1
        turned = not turned
    return turned


@exactly
def _write_row(keys: Array, n: int, columns: Array, values: Array, used: int) -> Any:
    """Write a sorted row with equal columns summed, scaled to length 1; returns where it ends."""
    first, total, i = used, 0.0, 0
    while i < n:
        column, value = keys[i] >> U32, np.int64(0)
        while i < n and keys[i] >> U32 == column:
            value += np.int64(keys[i] & LOW_HALF) - ZERO_SUM
            i += 1
        columns[used], values[used] = column, value
        total += np.float64(value) * np.float64(value)
        used += 1
    if total > 0.0:
        scale = np.sqrt(total)
        for k in range(first, used):
            values[k] /= scale
    return used


class Hashing(NamedTuple):
    """How lines become rows: n-grams of `low` to `high` words, the number of columns, and what a line begins with."""

    low: int
    high: int
    features: int
    labelled: bool


class Workspace(NamedTuple):
    """Memory of the loop: the words of a line and where they end, and what finds, sorts and sums its columns."""

    words: Array
    ends: Array
    seen: Array
    keys: Array
    other: Array
    counts: Array


class CSRArrays(NamedTuple):
    """Where the rows go."""

    values: Array
    columns: Array
    starts: Array


@exactly
def _hash_lines(
    data: Array,
    size: int,
    characters: tuple[Array, Array],
    how: Hashing,
    space: Workspace,
    out: CSRArrays,
    tally: Array,
) -> None:
    """Hash all lines to rows; `characters` are the kinds of bytes and of wide characters.

    `seen` is a hash table from columns to keys of this row, so that equal columns are summed before sorting, except in
    very long rows; an entry below `base` belongs to an earlier row. A key has the column in its upper half and the sum
    of signs, plus ZERO_SUM, in its lower half.
    """
    low, high, features, labelled = how
    (words, ends, seen, keys, other, counts), (values, columns, starts) = space, out
    at, row, used, state, mask, base, round_number = 0, 0, 0, FINE, 15, 0, features & (features - 1) == 0
    passes = 1
    while features > 1 << (8 * passes):
        passes += 1
    while at < size:
        if data[at] == LINE_FEED or (data[at] == 13 and data[at + 1] == LINE_FEED):
            at += 1
            continue
        begin = at
        if labelled:
            while data[at] != TAB and data[at] != LINE_FEED:
                at += 1
            if data[at] == LINE_FEED or at == begin:
                at, state = begin, NO_TAB
                break
            at += 1
        count, at = split_words(data, at, LINE_FEED, characters, words, ends, 0)
        if used + count * (high - low + 1) > values.size:
            at, state = begin, FULL
            break
        n = 0
        while mask < 2 * (high - low + 1) * count and mask < seen.size - 1:
            mask = 2 * mask + 1
        joins = mask >= (high - low + 1) * count
        for size_of_gram in range(low, high + 1):
            for i in range(count - size_of_gram + 1):
                h = murmur(words, ends[i - 1] + 1 if i > 0 else 0, ends[i + size_of_gram - 1])
                signed = np.int64(h) if h < np.uint64(1 << 31) else np.int64(h) - (1 << 32)
                column = abs(signed) & (features - 1) if round_number else abs(signed) % features
                step = 1 if signed >= 0 else -1
                if joins:
                    slot = column & mask
                    while seen[slot] >= base and np.int64(keys[seen[slot] - base] >> U32) != column:
                        slot = (slot + 1) & mask
                    if seen[slot] >= base:
                        at_key = seen[slot] - base
                        keys[at_key] = np.uint64(np.int64(keys[at_key]) + step)
                        continue
                    seen[slot] = base + n
                keys[n] = (np.uint64(column) << U32) | np.uint64(ZERO_SUM + step)
                n += 1
        base += n
        turned = sort_keys(keys, other, counts, n, passes)
        used = _write_row(other if turned else keys, n, columns, values, used)
        row += 1
        starts[row] = used
        at += 1
    tally[ROWS], tally[STORED], tally[WHERE], tally[OUTCOME] = row, used, at, state


@dataclass(frozen=True)
class HashedLines:
    """The hashed rows of lines of text, in CSR form, and their labels."""

    values: Array
    columns: Array
    starts: Array
    labels: list[str]


def hash_lines(
    data: Array, size: int, path: Any, line: int, *, features: int, ngrams: tuple[int, int], labelled: bool = True
) -> HashedLines:
    """Hash the lines in data[:size] to rows; the first is line `line` of the file."""
    shape, given = data, bytes(data[:size])
    plain = given
    if not plain.isascii():
        try:
            text = plain.decode("utf-8")
        except UnicodeDecodeError as error:
            before = plain[: error.start]
            column = error.start - before.rfind(b"\n")
            found = f"found the byte 0x{plain[error.start]:02x}"
            raise FileError(f"expected UTF-8, {found}", path, line + before.count(b"\n"), column) from error
        plain = text.lower().encode() + bytes(8)
        shape, size = np.frombuffer(plain, np.uint8), len(plain) - 8
    characters = characters_of("sklearn", ascii_only=shape is data)
    lines, spread = plain.count(b"\n", 0, size), ngrams[1] - ngrams[0] + 1
    room = size // 3 * spread + (1 << 10)  # a word takes at least three bytes
    out = CSRArrays(np.empty(room), np.empty(room, np.uint32), np.zeros(lines + 1, np.int64))
    space = Workspace(
        words=np.empty(size + 8, np.uint8),
        ends=np.empty(size + 8, np.int64),
        seen=np.full(1 << 13, -1, np.int64),
        keys=np.empty(room, np.uint64),
        other=np.empty(room, np.uint64),
        counts=np.empty(256, np.int64),
    )
    tally = np.zeros(TALLY_SIZE, np.int64)
    _hash_lines(shape, size, characters, Hashing(*ngrams, features, labelled), space, out, tally)
    assert tally[OUTCOME] != FULL
    if tally[OUTCOME] == NO_TAB:
        at = int(tally[WHERE])
        word = plain[at:size].split(b"\n")[0].decode("utf-8", "replace")[:40]
        raise FileError(f"expected label<TAB>text, found {word!r}", path, line + plain.count(b"\n", 0, at), 1)
    if labelled and b"\0\t" in given:
        _check_label_ends(given, path, line)
    rows, stored = int(tally[ROWS]), int(tally[STORED])
    # From the original bytes: the lowered text has lost the case of the labels.
    names = [line[: line.find(b"\t")].decode() for line in given.split(b"\n") if b"\t" in line] if labelled else []
    return HashedLines(out.values[:stored].copy(), out.columns[:stored].copy(), out.starts[: rows + 1], names)


def _check_label_ends(given: bytes, path: Any, line: int) -> None:
    """Refuse labels that end with NUL, which NumPy drops, so that two labels could become equal."""
    for k, label in enumerate(one.split(b"\t", 1)[0] for one in given.split(b"\n")):
        if label.endswith(b"\0"):
            what = f"expected a label that does not end with NUL, found {label.decode()!r}"
            raise FileError(what, path, line + k, 1)
