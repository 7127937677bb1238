"""The svmlight (LIBSVM) format, parsed by compiled code and checked in full.

    line   = [ labels ] [ "qid:" integer ] { index ":" number } [ "#" comment ]
    labels = number { "," number }

Fields are separated by spaces, tabs or carriage returns. Indices increase within a line; numbers are finite decimals. A
line that starts with a space may have no label, for data with several labels per row. Empty lines and comments are
skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import exactly
from rosenblatt.formats.decimal_numbers import (
    MALFORMED,
    NEEDS_PYTHON,
    PADDING,
    PARSED,
    double_from_bits,
    eight_digits,
    parse_number,
)
from rosenblatt.formats.errors import FileError

Array = np.ndarray[Any, Any]

# The counters of a parse:
ROWS, STORED, LABELS, UNREAD_NUMBERS, WHERE, WHAT, LEAST, MOST, SEVERAL = range(9)
TALLY_SIZE = 9
POWERS_OF_TEN = tuple(10**k for k in range(9))
MAX_INDEX = (1 << 31) - 1
# Marks a number that Python has to parse: a NaN, which no number in a file is, with its offset in the low bits.
UNREAD_NAN = np.uint64(0x7FF8 << 48)
UNREAD_AT = np.uint64((1 << 51) - 1)
NUMBER = re.compile(rb"[-+.\deE]+")

WHOLE_LABELS = re.compile(rb"[ \t\r\v\f]*((?:[-+.\deE]+,)*[-+.\deE]+)(?![-+.\deE:])")
EXACT = float(1 << 53)  # whole numbers from here on may be changed by a double

(FINE, NO_LABEL, NO_INDEX, NO_COLON, NO_VALUE, NOT_INCREASING, TOO_HIGH, NO_QID, ROUNDED) = range(9)
EXPECTED = {
    NO_LABEL: "expected a label, which is a number",
    NO_INDEX: "expected index:value with an integer index",
    NO_COLON: "expected ':' after the index",
    NO_VALUE: "expected a finite number",
    NOT_INCREASING: "expected increasing indices within a line",
    TOO_HIGH: "expected an index of at most {limit:,}",
    NO_QID: "expected an integer after 'qid:'",
    ROUNDED: "expected a label that double precision holds exactly (longer ones: in a CSV file, where labels are text)",
}


@exactly
def _count_separators(data: Array) -> Any:
    """The number of lines, colons and commas: upper bounds for the arrays of a parse."""
    lines, colons, commas = 0, 0, 0
    for c in data:
        lines += c == 10
        colons += c == 58
        commas += c == 44
    return lines, colons, commas


@exactly
def _is_blank(c: Any) -> Any:
    return c == 32 or c == 9 or c == 13 or c == 11 or c == 12


@exactly
def _ends_token(c: Any) -> Any:
    return c <= 32 or c == 35


@exactly
def _skip_blanks(data: Array, at: int) -> Any:
    """The position after any blanks."""
    while _is_blank(data[at]):
        at += 1
    return at


@exactly
def _parse_integer(data: Array, at: int) -> Any:
    """An integer and where it ends; reads at most 16 digits."""
    count, value = eight_digits(data, at)
    at += count
    if count == 8:
        count, more = eight_digits(data, at)
        value = value * POWERS_OF_TEN[count] + more
        at += count
    return value, at


@exactly
def _parse_labels(data: Array, at: int, labels: Array, tally: Array) -> Any:
    """Parse the labels of a line; returns where they end, and FINE or an error code."""
    while True:
        slot = tally[LABELS]
        labels[slot], end, state = parse_number(data, at)
        if state == MALFORMED:
            return at, NO_LABEL
        more = data[end] == 44
        if not (more or _ends_token(data[end])):
            return end, NO_LABEL
        if state == NEEDS_PYTHON:
            labels[slot] = double_from_bits(UNREAD_NAN | np.uint64(at))
            tally[UNREAD_NUMBERS] += 1
        tally[LABELS] += 1
        if not more:
            return end, FINE
        tally[SEVERAL] = 1
        at = end + 1


@exactly
def _parse_pairs(data: Array, at: int, limit: int, base: int, values: Array, columns: Array, tally: Array) -> Any:
    """Parse the index:value pairs of a line; returns where they end, the total stored, and FINE or an error code."""
    k, last = tally[STORED], np.int64(-1)
    while True:
        at = _skip_blanks(data, at)
        if data[at] == 10 or data[at] == 35:
            tally[MOST] = max(tally[MOST], last)
            return at, k, FINE
        index, end = _parse_integer(data, at)
        if end == at:
            return at, k, NO_INDEX
        if data[end] != 58:
            return (end, k, NO_COLON) if end - at < 16 else (at, k, TOO_HIGH)
        if index <= last:
            return at, k, NOT_INCREASING
        if index - base > limit or index < base:
            return at, k, TOO_HIGH if index >= base else NO_INDEX
        if last < 0 and index < tally[LEAST]:
            tally[LEAST] = index
        last = index
        columns[k] = index - base
        at = end + 1
        values[k], end, state = parse_number(data, at)
        if state == MALFORMED or not _ends_token(data[end]):
            return at, k, NO_VALUE
        if state == NEEDS_PYTHON:
            values[k] = double_from_bits(UNREAD_NAN | np.uint64(at))
            tally[UNREAD_NUMBERS] += 1
        at = end
        k += 1


class LineArrays(NamedTuple):
    """Where the content of lines goes; see `ParsedLines`."""

    values: Array
    columns: Array
    starts: Array
    labels: Array
    label_starts: Array
    queries: Array


@exactly
def _parse_lines(data: Array, size: int, limit: int, base: int, out: LineArrays, tally: Array) -> None:
    """Parse lines until all are read or an error is found.

    Every loop over bytes stops at a line feed at the latest, and the data end with one.
    """
    values, columns, starts, labels, label_starts, queries = out
    at, state = 0, FINE
    while at < size:
        begin, row = at, tally[ROWS]
        at = _skip_blanks(data, at)
        if data[at] != 10 and data[at] != 35:
            _, colon = _parse_integer(data, at)
            if not (at > begin and colon > at and data[colon] == 58):  # otherwise the line has no labels
                at, state = _parse_labels(data, at, labels, tally)
            else:
                tally[SEVERAL] = 1
                at -= 1
            if state == FINE:
                queries[row] = -1
                word = _skip_blanks(data, at)
                if word > at and data[word] == 113 and data[word + 1] == 105 and data[word + 2] == 100:
                    query, end = _parse_integer(data, word + 4)
                    if data[word + 3] != 58 or end == word + 4 or not _ends_token(data[end]):
                        at, state = word, NO_QID
                    else:
                        queries[row] = query
                        at = end
            if state == FINE:
                at, tally[STORED], state = _parse_pairs(data, at, limit, base, values, columns, tally)
            if state != FINE:
                break
            tally[ROWS] = row + 1
            starts[row + 1] = tally[STORED]
            label_starts[row + 1] = tally[LABELS]
        while data[at] != 10:  # skip a comment
            at += 1
        at += 1
    tally[WHERE], tally[WHAT] = at, state


@exactly
def _count_unusual(data: Array) -> Any:
    """The number of bytes that may start a comment or a qid."""
    count = 0
    for c in data:
        count += (c == 35) | (c == 113)
    return count


@exactly
def _preview_lines(data: Array, ends: Array, labels: Array, tally: Array) -> bool:
    """Read the label, the first and the last index of each line; False if a line has a less common form."""
    at = 0
    for row in range(ends.size):
        labels[row], end, state = parse_number(data, at)
        if state != PARSED or (data[end] != 32 and data[end] != 10):
            return False
        at = end + (data[end] == 32)
        if at < ends[row]:
            first, end = _parse_integer(data, at)
            if end == at or data[end] != 58 or first > MAX_INDEX:
                return False
            tally[LEAST] = min(tally[LEAST], first)
            colon = ends[row]
            while data[colon] != 58:
                colon -= 1
            begin = colon
            while 48 <= data[begin - 1] <= 57:
                begin -= 1
            last, end = _parse_integer(data, begin)
            if begin == colon or end != colon or last > MAX_INDEX:
                return False
            tally[MOST] = max(tally[MOST], last)
        at = ends[row] + 1
    return True


@dataclass(frozen=True)
class LinePreview:
    """Labels, counts and index range of lines that have not been parsed in full."""

    labels: Array
    stored: int
    least: int
    most: int


def preview_lines(data: Array, size: int) -> LinePreview | None:
    """Preview data[:size] on the assumption that it is well-formed, several times faster than `parse_lines`.

    None if it must be parsed.
    """
    lines, colons, commas = _count_separators(data[:size])
    if commas or _count_unusual(data[:size]):
        return None
    ends = np.flatnonzero(data[:size] == 10)
    labels, tally = np.empty(lines), np.zeros(TALLY_SIZE, np.int64)
    tally[LEAST], tally[MOST] = MAX_INDEX + 1, -1
    if not _preview_lines(data, ends, labels, tally) or (np.abs(labels) >= EXACT).any():
        return None
    return LinePreview(labels, colons, int(tally[LEAST]), int(tally[MOST]))


@dataclass(frozen=True)
class ParsedLines:
    """The parsed content of svmlight lines."""

    values: Array  # float64
    columns: Array  # uint32
    starts: Array  # int64, one more entry than rows
    labels: Array  # float64; the labels of row i start at label_starts[i]
    label_starts: Array
    queries: Array  # −1 if there is none
    several: bool  # whether any row does not have exactly one label
    least: int  # the lowest index as written, or MAX_INDEX + 1
    most: int  # the highest index as written, or −1


def parse_lines(data: Array, size: int, path: Any, line: int, *, base: int = 0, limit: int = MAX_INDEX) -> ParsedLines:
    """Parse the lines in data[:size], the first of which is line `line` of the file; indices count from `base`.

    `PADDING` bytes must follow; they may be read, but are ignored.
    """
    assert data.size >= size + PADDING
    count, colons, commas = _count_separators(data[:size])
    tally = np.zeros(TALLY_SIZE, np.int64)
    tally[LEAST], tally[MOST] = MAX_INDEX + 1, -1
    values, columns = np.empty(colons + 1), np.empty(colons + 1, np.uint32)
    labels, queries = np.empty(count + commas + 1), np.empty(count + 1, np.int64)
    starts, label_starts = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    out = LineArrays(values, columns, starts, labels, label_starts, queries)
    _parse_lines(data, size, limit, base, out, tally)
    rows, stored, listed = int(tally[ROWS]), int(tally[STORED]), int(tally[LABELS])
    if tally[UNREAD_NUMBERS]:
        wrong = [(at, NO_LABEL) for at in _parse_unread(labels[:listed], data)]
        wrong += [(at, NO_VALUE) for at in _parse_unread(values[:stored], data)]
        if wrong:
            raise _error_at(data, *min(wrong), path, line, limit)
    if tally[WHAT] != FINE:
        raise _error_at(data, int(tally[WHERE]), int(tally[WHAT]), path, line, limit + base)
    return ParsedLines(
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


def _parse_unread(values: Array, data: Array) -> list[int]:
    """Parse the unread numbers with Python; returns the positions of those that are not finite."""
    unread = np.flatnonzero(np.isnan(values))
    places = (values.view(np.uint64)[unread] & UNREAD_AT).tolist()
    values[unread] = [float(NUMBER.match(data.data, at)[0]) for at in places]  # type: ignore[index]
    return [at for at, finite in zip(places, np.isfinite(values[unread]), strict=True) if not finite]


def check_labels(labels: Array, data: Array, size: int, path: Any, line: int) -> None:
    """Refuse labels of data[:size] that are whole numbers which a double changes: two such might be one class."""
    if (np.abs(labels) >= EXACT).any():
        at = _first_rounded(bytes(data[:size]))
        if at is not None:
            raise _error_at(data, at, ROUNDED, path, line, MAX_INDEX)


def _first_rounded(data: bytes) -> int | None:
    """The position of the first label that is a whole number and that a double changes."""
    at = 0
    for text in data.split(b"\n"):
        found = WHOLE_LABELS.match(text)
        begin = at + found.start(1) if found else at
        for word in found[1].split(b",") if found else ():
            if word.lstrip(b"+-").isdigit() and int(float(word)) != int(word):
                return begin
            begin += len(word) + 1
        at += len(text) + 1
    return None


def _error_at(data: Array, at: int, what: int, path: Any, line: int, limit: int) -> FileError:
    """The error at a byte of these lines, the first of which is line `line` of the file."""
    before = bytes(data[:at])
    row, column = line + before.count(b"\n"), at - before.rfind(b"\n")
    text = bytes(data[at : at + 200]).split(b"\n")[0].decode("utf-8", "replace")
    word = text.split(maxsplit=1)[0] if text[:1].strip() else ""
    found = f"'{word[:40]}'" if word and word.isprintable() else repr(word[:40]) if word else "nothing"
    return FileError(f"{EXPECTED[what].format(limit=limit)}, found {found}", path, row, column)
