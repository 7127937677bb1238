"""Feature templates in CRF++'s notation, expanded to integers by compiled code.

    U01:%x[-1,0]/%x[0,0]     a feature: column 0 of the token before, "/", column 0 of this token
    B                        pairs of neighbouring tags have weights

Beyond the sentence a cell is _B-1, _B-2, … before it and _B+1, _B+2, … after it. Lines that are blank or start with #
are ignored. A feature is known by the text of its line without the %x, and by its cells: two lines with the same
text, such as U:%x[-1,0] and U:%x[1,0], share their features.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import exactly
from rosenblatt.formats.conll import ColumnSentences
from rosenblatt.formats.declared_fields import integers, must
from rosenblatt.formats.vocabulary import Vocabulary
from rosenblatt.sequence.sentences import TokenRows, frequent_features, token_rows
from rosenblatt.sequence.token_features import ONES, as_sentences

Array = np.ndarray[Any, Any]
MACRO = re.compile(r"%x\[(-?\d+),(\d+)\]")
MOST_OFFSET = 1000
FREE, UNKNOWN = -1, -1
LOW, ODD, SHIFT = np.uint64(0xFFFFFFFF), np.uint64(0x9E3779B1), np.uint64(15)
TOKENS_AT_ONCE = 1 << 14


class Line(NamedTuple):
    """One feature line: its text around the cells, and their (offset, column)."""

    pieces: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Template:
    """A template, parsed: feature lines, and whether pairs of tags have weights."""

    lines: tuple[Line, ...]
    pairs: bool

    @classmethod
    @functools.lru_cache(maxsize=16)
    def parse(cls, text: str) -> Template:
        """The template in this text; ValueError names the line that cannot be read."""
        lines, pairs = [], False
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            if line.startswith("U"):
                lines.append(_parse_line(line, number))
            elif line == "B":
                pairs = True
            elif line.startswith("B") and "%x" in line:
                raise ValueError(f"Template, line {number}: pairs of tags with cells are not supported; use B alone.")
            else:
                raise ValueError(f"Template, line {number}: expected U… or B, found {line!r}.")
        if not lines:
            raise ValueError("The template has no feature, such as U00:%x[0,0].")
        return cls(tuple(lines), pairs)

    @property
    def kinds(self) -> list[tuple[str, ...]]:
        """The distinct texts around cells."""
        return list(dict.fromkeys(line.pieces for line in self.lines))

    @property
    def columns(self) -> int:
        """The number of columns that tokens must have."""
        return 1 + max((column for line in self.lines for _, column in line.cells), default=0)

    def boundary(self) -> list[str]:
        """The cells beyond the sentence, before it and after it."""
        reach = [offset for line in self.lines for offset, _ in line.cells]
        before = [f"_B-{place}" for place in range(1, -min(reach, default=0) + 1)]
        return before + [f"_B+{place}" for place in range(1, max(reach, default=0) + 1)]

    def program(self, first: list[int]) -> Program:
        """The template for compiled code; `first` are the numbers of the boundary cells."""
        most = max(len(line.cells) for line in self.lines)
        cells = np.zeros((len(self.lines), most, 2), dtype=np.int64)
        kinds = {pieces: number for number, pieces in enumerate(self.kinds)}
        for row, line in zip(cells, self.lines, strict=True):
            row[: len(line.cells)] = np.array(line.cells, dtype=np.int64).reshape(-1, 2)
        before = sum(name.startswith("_B-") for name in self.boundary())
        return Program(
            np.array([kinds[line.pieces] for line in self.lines], dtype=np.int32),
            np.array([len(line.cells) for line in self.lines], dtype=np.int64),
            cells,
            np.array(first[:before], dtype=np.int32),
            np.array(first[before:], dtype=np.int32),
        )


class Program(NamedTuple):
    """A template as arrays: the kind of each line, its number of cells, their places, and the boundary cells."""

    kinds: Array
    counts: Array
    cells: Array
    before: Array
    after: Array


def _parse_line(line: str, number: int) -> Line:
    pieces, cells, at = [], [], 0
    for found in MACRO.finditer(line):
        pieces.append(line[at : found.start()])
        cells.append((int(found.group(1)), int(found.group(2))))
        at = found.end()
        if max(abs(cells[-1][0]), cells[-1][1]) > MOST_OFFSET:
            raise ValueError(f"Template, line {number}: {found.group(0)} is too far away.")
    pieces.append(line[at:])
    if any("%x" in piece for piece in pieces):
        raise ValueError(f"Template, line {number}: expected %x[row,column], such as %x[-1,0], in {line!r}.")
    return Line(tuple(pieces), tuple(cells))


# -- expansion -------------------------------------------------------------------------------------------------------


class FeatureTable(NamedTuple):
    """An open-addressing table of features; a feature is a row of `keys`: its kind and its cells."""

    places: Array
    keys: Array
    used: Array  # the number of features, and 1 if new ones are added


@exactly
def _hashed(key: Array) -> Any:
    h = np.uint64(0)
    for part in key:
        h = ((h ^ (np.uint64(part) & LOW)) * ODD) & LOW
        h ^= h >> SHIFT
    return h


@exactly
def _find(table: FeatureTable, key: Array, adds: bool) -> Any:
    """The number of a feature; a new one is added, or is −1."""
    places, keys, used = table
    mask = np.uint64(places.size - 1)
    place = _hashed(key) & mask
    while places[place] != FREE:
        known = keys[places[place]]
        same = True
        for j in range(key.size):
            same = same and known[j] == key[j]
        if same:
            return np.int64(places[place])
        place = (place + np.uint64(1)) & mask
    if not adds:
        return np.int64(UNKNOWN)
    number = used[0]
    for j in range(key.size):
        keys[number, j] = key[j]
    places[place] = number
    used[0] += 1
    return np.int64(number)


@exactly
def _expand(
    cells: Array, bounds: Array, begin: Any, end: Any, program: Program, table: FeatureTable, key: Array, out: Array
) -> None:
    """The features of the sentences begin … end; unknown ones become the number that `out` holds before."""
    kinds, counts, places, before, after = program
    adds = table.used[1] == 1
    # Line by line: the features of one line stay in the cache.
    for line in range(kinds.size):
        row, key[0] = 0, kinds[line]
        for j in range(1, key.size):
            key[j] = -1
        for i in range(begin, end):
            first, last = np.int64(bounds[i]), np.int64(bounds[i + 1])
            for t in range(first, last):
                known = True
                for j in range(counts[line]):
                    at = t + places[line, j, 0]
                    if at < first:
                        word = before[first - at - 1]
                    elif at >= last:
                        word = after[at - last]
                    else:
                        word = cells[at, places[line, j, 1]]
                    known = known and word >= 0
                    key[j + 1] = word
                if known:
                    number = _find(table, key, adds)
                    if number >= 0:
                        out[row, line] = number
                row += 1


@exactly
def _fill(places: Array, keys: Array, count: Any) -> None:
    mask = np.uint64(places.size - 1)
    for number in range(count):
        place = _hashed(keys[number]) & mask
        while places[place] != FREE:
            place = (place + np.uint64(1)) & mask
        places[place] = number


def _roomy(table: FeatureTable, more: int) -> FeatureTable:
    """The table with room for this many more features."""
    places, keys, used = table
    need = int(used[0]) + more
    if keys.shape[0] < need:
        room = np.empty((max(need, 2 * keys.shape[0]), keys.shape[1]), dtype=np.int32)
        room[: int(used[0])] = keys[: int(used[0])]
        keys = room
    if places.size < 2 * need:
        places = np.full(1 << (2 * need - 1).bit_length(), FREE, dtype=np.int32)
        _fill(places, keys, int(used[0]))
    return FeatureTable(places, keys, used)


# -- features --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TemplateFeatures:
    """The features that a template made in training: each is a kind of line with its cells."""

    template: str
    words: Vocabulary
    keys: Annotated[Array, integers("d", "cells+1", dtype=np.int32)]

    def check(self, cells: int) -> None:
        """Kinds of the template, each with its cells."""
        known, keys = np.array([len(pieces) - 1 for pieces in self.parsed.kinds]), self.keys
        must(cells == known.max(), f"features of {known.max()} cells")
        must(keys[:, 0].min() >= 0 and keys[:, 0].max() < known.size, "features of the template")
        held = np.arange(cells) < known[keys[:, 0]][:, None]
        must(((keys[:, 1:] >= 0) == held).all(), "cells of features")
        must(keys[:, 1:].max(initial=-1) < len(self.words), "cells of its vocabulary")

    @property
    def size(self) -> int:
        """The number of features."""
        return int(self.keys.shape[0])

    @property
    def parsed(self) -> Template:
        """The template."""
        return Template.parse(self.template)

    @property
    def names(self) -> list[str]:
        """The name of each feature, as CRF++ has it."""
        kinds, words = self.parsed.kinds, self.words.names
        found = []
        for kind, *cells in self.keys.tolist():
            pieces = kinds[kind]
            shown = [words[cell] for cell in cells[: len(pieces) - 1]]
            found.append("".join(part for pair in zip(pieces, [*shown, ""], strict=True) for part in pair))
        return found

    def number(self, name: str) -> int | None:
        """The number of a feature; None if it is not known."""
        if "_numbers" not in vars(self):
            numbers = {known: number for number, known in reversed(list(enumerate(self.names)))}
            object.__setattr__(self, "_numbers", numbers)
        found: int | None = vars(self)["_numbers"].get(name)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def rows(self, X: Any) -> TokenRows:
        """The known features of tokens; unknown ones become the column `size`, which has no weights."""
        if "_table" not in vars(self):
            used = np.array([self.size, 0], dtype=np.int64)
            table = _roomy(FeatureTable(np.full(1, FREE, dtype=np.int32), self.keys, used), 0)
            object.__setattr__(self, "_table", table)
        names = self.words.index
        columns, bounds, _ = _expanded(X, self.parsed, names, False, vars(self)["_table"])
        return _as_rows(columns, bounds)

    @classmethod
    def collected(
        cls, X: Any, template: str, known: TemplateFeatures | None = None, min_count: int = 1
    ) -> tuple[TemplateFeatures, TokenRows]:
        """The known features, then those that occur in at least `min_count` tokens, and the tokens as rows of them."""
        parsed = Template.parse(template)
        most = max(len(line.cells) for line in parsed.lines)
        keys = np.empty((0, 1 + most), dtype=np.int32) if known is None else known.keys
        used = np.array([keys.shape[0], 1], dtype=np.int64)
        table = _roomy(FeatureTable(np.full(1, FREE, dtype=np.int32), keys, used), 0)
        names = {} if known is None else dict(known.words.index)
        columns, bounds, table = _expanded(X, parsed, names, True, table)
        found = table.keys[: int(used[0])].copy()
        rows = _as_rows(columns, bounds)
        if min_count > 1:
            often, rows = frequent_features(rows, found.shape[0], min_count)
            found = found[often]
        return cls(template, Vocabulary.of(names), found), rows


def _as_rows(columns: Array, bounds: Array) -> TokenRows:
    per_token = np.full(columns.shape[0], columns.shape[1], dtype=np.int64)
    return token_rows(columns.reshape(-1), ONES, per_token, np.diff(bounds.astype(np.int64)))


def _expanded(
    X: Any, template: Template, names: dict[str, int], adds: bool, table: FeatureTable
) -> tuple[Array, Array, FeatureTable]:
    """The features of all tokens, the bounds of sentences, and the table with the features that were added."""
    first = [_number(name, names, adds) for name in template.boundary()]
    cells, bounds = _cells(X, template, names, adds)
    program, key = template.program(first), np.zeros(table.keys.shape[1], dtype=np.int32)
    out = np.full((cells.shape[0], len(template.lines)), int(table.used[0]), dtype=np.uint32)
    begin, last = 0, bounds.size - 1
    while begin < last:  # in pieces, so that Ctrl-C is handled, and the table grows as it is needed
        reach = int(bounds[begin]) + TOKENS_AT_ONCE
        end = max(begin + 1, int(np.searchsorted(bounds, np.uint64(reach), side="right")) - 1)
        rows = slice(int(bounds[begin]), int(bounds[end]))
        if adds:
            table = _roomy(table, out[rows].size)
        _expand(cells, bounds, begin, end, program, table, key, out[rows])
        begin = end
    return out, bounds, table


def _number(name: str, names: dict[str, int], adds: bool) -> int:
    return names.setdefault(name, len(names)) if adds else names.get(name, UNKNOWN)


def _cells(X: Any, template: Template, names: dict[str, int], adds: bool) -> tuple[Array, Array]:
    """The numbers of cells in `names`, (tokens, columns), and the bounds of sentences."""
    if isinstance(X, ColumnSentences):
        _check_columns(X.cells.shape[1], template)
        numbers = np.array([_number(name, names, adds) for name in X.words.names], dtype=np.int32)
        return numbers[X.cells], X.bounds
    sentences = as_sentences(X)
    rows = []
    for place, sentence in enumerate(sentences):
        for position, token in enumerate(sentence):
            columns = (token,) if isinstance(token, str) else token
            if not isinstance(columns, list | tuple) or not all(isinstance(cell, str) for cell in columns):
                raise ValueError(
                    f"Sentence {place}, token {position}: with a template a token is a sequence of columns, each a "
                    f"string; found {token!r}."
                )
            if len(columns) < template.columns:
                _check_columns(len(columns), template, f"sentence {place}, token {position} has")
            rows.append([_number(cell, names, adds) for cell in columns[: template.columns]])
    bounds = np.zeros(len(sentences) + 1, dtype=np.uint64)
    np.cumsum([len(sentence) for sentence in sentences], out=bounds[1:])
    return np.array(rows, dtype=np.int32).reshape(-1, template.columns), bounds


def _check_columns(found: int, template: Template, who: str = "tokens have") -> None:
    if found < template.columns:
        raise ValueError(f"The template needs column {template.columns - 1}, counted from 0; {who} {found} columns.")
