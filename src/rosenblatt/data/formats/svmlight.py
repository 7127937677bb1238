"""The svmlight (LIBSVM) format, parsed by compiled code and checked in full.

    line   = [ labels ] [ "qid:" whole ] { index ":" number } [ "#" comment ]
    labels = number { "," number }

Spaces, tabs and carriage returns separate. Indices rise within a line; numbers are finite decimals. A line that
starts with a space may have no label, which makes sense where rows have several. Empty lines and comments are skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.compiling import exactly
from rosenblatt.data.errors import FileError
from rosenblatt.data.formats.decimal_numbers import BAD, GOOD, HARD, PADDING, double, eight, number

Array = np.ndarray[Any, Any]

# What a parse leaves in its tally:
ROWS, STORED, LABELS, HARDS, WHERE, WHAT, LEAST, MOST, SEVERAL = range(9)
TALLY = 9
POWERS_OF_TEN = tuple(10**k for k in range(9))
HIGHEST = (1 << 31) - 1
# A number that Python has to read: a NaN, which no number in a file is, with the place where it begins in its low bits.
UNREAD = np.uint64(0x7FF8 << 48)
UNREAD_AT = np.uint64((1 << 51) - 1)
NUMBER = re.compile(rb"[-+.\deE]+")

(FINE, NO_LABEL, NO_SPACE, NO_INDEX, NO_COLON, NO_VALUE, FALLING, TOO_HIGH, NO_QID) = range(9)
EXPECTED = {
    NO_LABEL: "expected a label, which is a number",
    NO_SPACE: "expected a space here",
    NO_INDEX: "expected index:value, the index a whole number",
    NO_COLON: "expected ':' after the index",
    NO_VALUE: "expected a finite number",
    FALLING: "expected indices that rise within a line",
    TOO_HIGH: "expected an index of at most {limit:,}",
    NO_QID: "expected a whole number after 'qid:'",
}


@exactly
def _census(data: Array) -> Any:
    """How many lines, colons and commas there are: room enough for any parse."""
    lines, colons, commas = 0, 0, 0
    for c in data:
        lines += c == 10
        colons += c == 58
        commas += c == 44
    return lines, colons, commas


@exactly
def _blank(c: Any) -> Any:
    return c == 32 or c == 9 or c == 13 or c == 11 or c == 12


@exactly
def _ends(c: Any) -> Any:
    return c <= 32 or c == 35


@exactly
def _skip(data: Array, at: int) -> Any:
    """Past the blanks."""
    while _blank(data[at]):
        at += 1
    return at


@exactly
def _whole(data: Array, at: int) -> Any:
    """A whole number and where it ends; no further than 16 digits."""
    count, value = eight(data, at)
    at += count
    if count == 8:
        count, more = eight(data, at)
        value = value * POWERS_OF_TEN[count] + more
        at += count
    return value, at


@exactly
def _labels(data: Array, at: int, labels: Array, tally: Array) -> Any:
    """The labels of a line; where they end, and FINE or what is wrong."""
    while True:
        slot = tally[LABELS]
        labels[slot], end, state = number(data, at)
        if state == BAD:
            return at, NO_LABEL
        more = data[end] == 44
        if not (more or _ends(data[end])):
            return end, NO_LABEL
        if state == HARD:
            labels[slot] = double(UNREAD | np.uint64(at))
            tally[HARDS] += 1
        tally[LABELS] += 1
        if not more:
            return end, FINE
        tally[SEVERAL] = 1
        at = end + 1


@exactly
def _line(data: Array, at: int, limit: int, base: int, values: Array, columns: Array, tally: Array) -> Any:
    """The index:value pairs of a line; where they end, how many are stored now, and FINE or what is wrong."""
    k, last = tally[STORED], np.int64(-1)
    while True:
        at = _skip(data, at)
        if data[at] == 10 or data[at] == 35:
            tally[MOST] = max(tally[MOST], last)
            return at, k, FINE
        index, end = _whole(data, at)
        if end == at:
            return at, k, NO_INDEX
        if data[end] != 58:
            return (end, k, NO_COLON) if end - at < 16 else (at, k, TOO_HIGH)
        if index <= last:
            return at, k, FALLING
        if index - base > limit or index < base:
            return at, k, TOO_HIGH if index >= base else NO_INDEX
        if last < 0 and index < tally[LEAST]:
            tally[LEAST] = index
        last = index
        columns[k] = index - base
        at = end + 1
        values[k], end, state = number(data, at)
        if state == BAD or not _ends(data[end]):
            return at, k, NO_VALUE
        if state == HARD:
            values[k] = double(UNREAD | np.uint64(at))
            tally[HARDS] += 1
        at = end
        k += 1


@exactly
def _parse(
    data: Array, size: int, limit: int, base: int, values: Array, columns: Array, starts: Array,
    labels: Array, label_starts: Array, queries: Array, tally: Array,
) -> None:  # fmt: skip
    """Parse whole lines, until all are read or something is wrong.

    Every byte loop stops at a line feed at the latest, and the data end with one.
    """
    at, state = 0, FINE
    while at < size:
        begin, row = at, tally[ROWS]
        at = _skip(data, at)
        if data[at] != 10 and data[at] != 35:
            _, colon = _whole(data, at)
            if not (at > begin and colon > at and data[colon] == 58):  # else a line without labels
                at, state = _labels(data, at, labels, tally)
            else:
                tally[SEVERAL] = 1
                at -= 1
            if state == FINE:
                queries[row] = -1
                word = _skip(data, at)
                if word > at and data[word] == 113 and data[word + 1] == 105 and data[word + 2] == 100:
                    query, end = _whole(data, word + 4)
                    if data[word + 3] != 58 or end == word + 4 or not _ends(data[end]):
                        at, state = word, NO_QID
                    else:
                        queries[row] = query
                        at = end
            if state == FINE:
                at, tally[STORED], state = _line(data, at, limit, base, values, columns, tally)
            if state != FINE:
                break
            tally[ROWS] = row + 1
            starts[row + 1] = tally[STORED]
            label_starts[row + 1] = tally[LABELS]
        while data[at] != 10:  # a comment
            at += 1
        at += 1
    tally[WHERE], tally[WHAT] = at, state


@exactly
def _odd(data: Array) -> Any:
    """How many bytes there are that may begin a comment or a query."""
    count = 0
    for c in data:
        count += (c == 35) | (c == 113)
    return count


@exactly
def _glance(data: Array, ends: Array, labels: Array, tally: Array) -> bool:
    """The label, the first and the last index of each line; False where a line is not of the plainest kind."""
    at = 0
    for row in range(ends.size):
        labels[row], end, state = number(data, at)
        if state != GOOD or (data[end] != 32 and data[end] != 10):
            return False
        at = end + (data[end] == 32)
        if at < ends[row]:
            first, end = _whole(data, at)
            if end == at or data[end] != 58 or first > HIGHEST:
                return False
            tally[LEAST] = min(tally[LEAST], first)
            colon = ends[row]
            while data[colon] != 58:
                colon -= 1
            begin = colon
            while 48 <= data[begin - 1] <= 57:
                begin -= 1
            last, end = _whole(data, begin)
            if begin == colon or end != colon or last > HIGHEST:
                return False
            tally[MOST] = max(tally[MOST], last)
        at = ends[row] + 1
    return True


@dataclass(frozen=True)
class Glance:
    """What lines seem to say, before they are parsed."""

    labels: Array
    stored: int
    least: int
    most: int


def glance(data: Array, size: int) -> Glance | None:
    """What data[:size] says if it is well-formed, several times faster than `parse`; None where it needs a parse."""
    lines, colons, commas = _census(data[:size])
    if commas or _odd(data[:size]):
        return None
    ends = np.flatnonzero(data[:size] == 10)
    labels, tally = np.empty(lines), np.zeros(TALLY, np.int64)
    tally[LEAST], tally[MOST] = HIGHEST + 1, -1
    if not _glance(data, ends, labels, tally):
        return None
    return Glance(labels, colons, int(tally[LEAST]), int(tally[MOST]))


@dataclass(frozen=True)
class Lines:
    """What lines of svmlight say."""

    values: Array  # float64
    columns: Array  # uint32
    starts: Array  # int64, one more than rows
    labels: Array  # float64, those of row i from label_starts[i] on
    label_starts: Array
    queries: Array  # −1 where there is none
    several: bool  # whether a row has other than one label
    least: int  # the lowest index as written, or HIGHEST + 1
    most: int  # the highest index as written, or −1


def parse(data: Array, size: int, path: Any, line: int, *, base: int = 0, limit: int = HIGHEST) -> Lines:
    """Parse data[:size], whole lines of which the first is number `line` of the file; indices count from `base`.

    `PADDING` bytes must follow, which may be looked at but say nothing.
    """
    assert data.size >= size + PADDING
    count, colons, commas = _census(data[:size])
    tally = np.zeros(TALLY, np.int64)
    tally[LEAST], tally[MOST] = HIGHEST + 1, -1
    values, columns = np.empty(colons + 1), np.empty(colons + 1, np.uint32)
    labels, queries = np.empty(count + commas + 1), np.empty(count + 1, np.int64)
    starts, label_starts = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    _parse(data, size, limit, base, values, columns, starts, labels, label_starts, queries, tally)
    rows, stored, listed = int(tally[ROWS]), int(tally[STORED]), int(tally[LABELS])
    if tally[HARDS]:
        wrong = [(at, NO_LABEL) for at in _settle(labels[:listed], data)]
        wrong += [(at, NO_VALUE) for at in _settle(values[:stored], data)]
        if wrong:
            raise error_at(data, *min(wrong), path, line, limit)
    if tally[WHAT] != FINE:
        raise error_at(data, int(tally[WHERE]), int(tally[WHAT]), path, line, limit + base)
    return Lines(
        values[:stored],
        columns[:stored],
        starts[: rows + 1],
        labels[:listed],
        label_starts[: rows + 1],
        queries[:rows],
        bool(tally[SEVERAL]),
        int(tally[LEAST]),
        int(tally[MOST]),
    )


def _settle(values: Array, data: Array) -> list[int]:
    """Let Python read the numbers that are still unread; where those that are not finite begin."""
    unread = np.flatnonzero(np.isnan(values))
    places = (values.view(np.uint64)[unread] & UNREAD_AT).tolist()
    values[unread] = [float(NUMBER.match(data.data, at)[0]) for at in places]  # type: ignore[index]
    return [at for at, finite in zip(places, np.isfinite(values[unread]), strict=True) if not finite]


def error_at(data: Array, at: int, what: int, path: Any, line: int, limit: int) -> FileError:
    """The error at this byte of lines of which the first has number `line`."""
    before = bytes(data[:at])
    row, column = line + before.count(b"\n"), at - before.rfind(b"\n")
    text = bytes(data[at : at + 200]).split(b"\n")[0].decode("utf-8", "replace")
    word = text.split(maxsplit=1)[0] if text[:1].strip() else ""
    found = f"'{word[:40]}'" if word and word.isprintable() else repr(word[:40]) if word else "nothing"
    return FileError(f"{EXPECTED[what].format(limit=limit)}, found {found}", path, row, column)
