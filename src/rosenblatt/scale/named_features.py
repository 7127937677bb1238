"""Columns for the names of features, as they appear in a stream of mappings, or hashed to a fixed number."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.online.row_entry import StoredRow

Array = np.ndarray[Any, Any]
MOST_SHAPES = 256  # sets of names that are remembered
MOST_HASHED = 1 << 20  # names whose hash is remembered
NUMBERS = frozenset([float, int, bool])


class _Shape(NamedTuple):
    """Rows with the same names, all of numbers: `pack` writes their values."""

    row: StoredRow
    pack: Any


class NamedFeatures:
    """The columns of names: interned in order of appearance, or hashed to `hashed` columns.

    The number under a name is its value; True is 1, False 0. A text is the value 1 of the feature name=text.
    """

    def __init__(self, hashed: int | None = None, names: Iterable[str] = ()) -> None:
        self.hashed = hashed
        self.columns = {name: k for k, name in enumerate(names)}
        self._texts: dict[tuple[str, str], int] = {}
        self._shapes: dict[tuple[str, ...], _Shape] = {}
        self._rooms: dict[int, tuple[StoredRow, Any, Any]] = {}
        self._once = hashed is None and not any("=" in name for name in self.columns)

    @property
    def size(self) -> int:
        """The number of columns so far."""
        return self.hashed or len(self.columns)

    def forget(self, size: int) -> None:
        """Forget the names that came after the first `size`."""
        if self.hashed is None and len(self.columns) > size:
            while len(self.columns) > size:
                self.columns.popitem()
            self._texts.clear()
            self._shapes.clear()

    def row(self, x: Mapping[str, Any]) -> StoredRow:
        """The row of a mapping from names to numbers, booleans and texts."""
        names = tuple(x)
        shape = self._shapes.get(names)
        if shape is not None:
            try:
                shape.pack(shape.row[0], 0, *x.values())
            except (struct.error, OverflowError):
                pass  # a text among the numbers, or what is refused below
            else:
                return shape.row
        columns, values, plain = [], [], True
        known, texts = self.columns, self._texts
        for name, value in x.items():
            if type(value) is str:
                plain = False
                at = texts.get((name, value))
                columns.append(self._text(name, value) if at is None else at)
                values.append(1.0)
            else:
                if type(value) not in NUMBERS:
                    value = _number(name, value)
                at = known.get(name)
                columns.append(self._number(name) if at is None else at)
                values.append(value)
        if not self._once and len(set(columns)) < len(columns):
            columns, values, plain = *_merged(columns, values), False
        room, pack_values, pack_columns = self._rooms.get(len(columns)) or self._room(len(columns))
        try:
            pack_values(room[0], 0, *values)
        except (struct.error, OverflowError) as error:
            raise ValueError(f"a number is too large for double precision: {error}") from None
        if plain and len(self._shapes) < MOST_SHAPES:
            row = room[0].copy(), np.array(columns, np.int32), room[2], True
            self._shapes[names] = _Shape(row, pack_values)
            return row
        pack_columns(room[1], 0, *columns)
        return room

    def _room(self, n: int) -> tuple[StoredRow, Any, Any]:
        """Arrays for rows of n values, and what writes to them."""
        row = np.zeros(n), np.zeros(n, np.int32), np.array([0, n], np.int32), True
        found = row, struct.Struct(f"{n}d").pack_into, struct.Struct(f"{n}i").pack_into
        if len(self._rooms) < MOST_SHAPES:
            self._rooms[n] = found
        return found

    def _text(self, name: str, text: str) -> int:
        """The column of a text."""
        self._check(name)
        column = self._of(f"{name}={text}")
        if len(self._texts) >= MOST_HASHED:
            self._texts.clear()
        self._texts[name, text] = column
        return column

    def _number(self, name: str) -> int:
        """The column of a name that is new."""
        self._check(name)
        if "=" in name:
            self._once = False  # a text may have the same feature
        return self._of(name)

    def _of(self, feature: str) -> int:
        known = self.columns
        if feature in known:
            return known[feature]
        if self.hashed is None:
            known[feature] = len(known)
        else:
            if len(known) >= MOST_HASHED:
                known.clear()
            known[feature] = zlib.crc32(feature.encode("utf-8", "surrogatepass")) % self.hashed
        return known[feature]

    @staticmethod
    def _check(name: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(f"names of features are text, got {name!r}")


def _number(name: Any, value: Any) -> Any:
    """A number of another type than Python's own."""
    if isinstance(value, str):
        raise TypeError(f"{name!r} is a {type(value).__name__}: give plain text (str)")
    with suppress(struct.error):  # what `row` takes among rows of the same names
        struct.pack("d", value)
        return value
    raise TypeError(f"{name!r} is {value!r}, a {type(value).__name__}: a value is a number, a boolean or text")


def _merged(columns: list[int], values: list[Any]) -> tuple[list[int], list[Any]]:
    """Values of the same column summed."""
    found: dict[int, Any] = {}
    for column, value in zip(columns, values, strict=True):
        found[column] = found.get(column, 0.0) + value
    return list(found), list(found.values())
