"""Which columns of a table are used, in which form: what the user asked for, and what their values say.

A column is examined once, whether its statistics come from all rows in memory or from a survey of a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rosenblatt.tables.columns.encoding import ColumnEncoding, ParsedColumn, parsed
from rosenblatt.tables.columns.frames import Table
from rosenblatt.tables.columns.kinds import KINDS, Kind, kind_of
from rosenblatt.tables.columns.label_copies import is_copy
from rosenblatt.tables.columns.statistics import ColumnStatistics, statistics
from rosenblatt.tables.columns.transformers import transformer_input
from rosenblatt.tables.columns.values import ColumnValues, first_stray

Array = np.ndarray[Any, Any]
DROP = "drop"


@dataclass(frozen=True)
class ColumnOptions:
    """The parameters of `TableEncoder` that say how columns are encoded."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    encoders: Mapping[str, Any] = field(default_factory=dict)
    missing: Sequence[str] = ()

    def check(self, names: list[str]) -> None:
        """Refuse columns that do not exist, and kinds that are not known."""
        for name, kind in self.columns.items():
            if name not in names:
                raise ValueError(f"columns names {name!r}, but there is no such column: {_some(names)}.")
            if kind not in (*KINDS, DROP) if isinstance(kind, str) else not hasattr(kind, "transform"):
                known = ", ".join((*KINDS, DROP))
                raise ValueError(f"columns[{name!r}] must be one of {known}, or a transformer, got {kind!r}.")
        for kind, transformer in self.encoders.items():
            if kind not in KINDS or not hasattr(transformer, "transform"):
                raise ValueError(f"encoders must map some of {', '.join(KINDS)} to transformers, got {kind!r}.")

    def transformer(self, name: str, kind: str) -> Any:
        """The user's transformer for a column; None for the built-in encoding."""
        asked = self.columns.get(name)
        return self.encoders.get(kind) if asked is None or isinstance(asked, str) else asked

    def kind(self, values: ColumnValues, found: ColumnStatistics, typed: bool) -> Kind:
        """The kind of a column: the one asked for, or that of its values."""
        asked, decided = self.columns.get(values.name), kind_of(values, found, typed)
        if asked is None:
            return decided
        if not isinstance(asked, str):  # a transformer, even for a column that would be left out
            return decided if decided.kind else Kind("names")
        return Kind(None if asked == DROP else asked, "as requested")

    def parsed(self, values: ColumnValues, kind: str, date_format: str | None) -> ParsedColumn:
        """A column in the form that its encoder, possibly the user's transformer, takes."""
        column, transformer = parsed(values, kind, date_format), self.transformer(values.name, kind)
        if transformer is None:
            return column
        return replace(column, transformer=transformer, raw=transformer_input(values, kind))


@dataclass(frozen=True)
class UsedColumns:
    """The columns of a table, and what is found out about each as they are examined, one after the other."""

    options: ColumnOptions
    names: tuple[str, ...]
    named: bool = True  # whether the caller gave names
    typed: bool = False  # whether some columns are numbers by their type
    reasons: dict[str, str] = field(default_factory=dict)  # of the kind of each column that is used
    left_out: dict[str, str] = field(default_factory=dict)  # with the reason
    missing: dict[str, int] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.options.check(list(self.names))

    def examine(
        self, values: ColumnValues, found: ColumnStatistics, target: Array | None = None, classes: int = 0
    ) -> ParsedColumn | None:
        """A column in the form that its encoder takes; None, with the reason in `left_out`, if it is not used.

        Parameters
        ----------
        values : ColumnValues
            Of all rows, or of a sample.
        found : ColumnStatistics
            Of all rows.
        target : ndarray, optional
            The label of each row of `values`: columns that are copies of it are not used.
        classes : int
            How many classes there are; 0 if the target is numbers.
        """
        name, kind = values.name, self.options.kind(values, found, self.typed)
        if found.missing:
            self.missing[name] = found.missing
        if kind.note:
            self.notes[name] = kind.note
        if kind.kind is None:
            self.left_out[name] = kind.reason
            return None
        column = self.options.parsed(values, kind.kind, found.date_format or "")
        fractions = classes and found.numbers and not found.whole  # are measurements, not codes
        if target is None or fractions or name in self.options.columns or not is_copy(column, target, classes or None):
            self.reasons[name] = kind.reason
            return column
        self.left_out[name] = "a one-to-one copy of the label"
        return None

    def in_table(self, table: Table, target: Array | None, classes: int) -> list[ParsedColumn]:
        """The columns of a table in memory that are used."""
        every = (table.values(name, self.options.missing) for name in table.columns)
        columns = (self.examine(values, statistics(values), target, classes) for values in every)
        return [column for column in columns if column is not None]

    @property
    def described(self) -> list[str]:
        """What the user should know of columns that are used."""
        return [f"column {name!r}: {note}" for name, note in self.notes.items()]

    def attributes(self, encodings: Sequence[ColumnEncoding]) -> dict[str, Any]:
        """The attributes of a `TableEncoder` that learned these encodings."""
        found: dict[str, Any] = {"n_features_in_": len(self.names), "_names": self.names}
        if self.named:
            found["feature_names_in_"] = np.array(self.names, dtype=object)
        found |= {"left_out_": self.left_out, "missing_counts_": self.missing, "_notes": self.notes}
        found["reasons_"] = self.reasons
        return found | {"columns_": tuple(encodings)}


def columns_again(
    table: Table, encodings: Sequence[ColumnEncoding], options: ColumnOptions, mixed: Mapping[str, str]
) -> list[ParsedColumn]:
    """The columns of a new table for these encodings; text is an error in columns of numbers that are not `mixed`."""
    columns = []
    for one in encodings:
        values = table.values(one.name, options.missing)
        if one.kind in ("numbers", "splines") and one.name not in mixed and values.is_text:
            row = first_stray(values)
            if row is not None:
                raise table.error(f"expected a finite number, found {values.values[row].as_py()!r}", row, one.name)
        columns.append(options.parsed(values, one.kind, one.date_format))
    return columns


def _some(names: Any) -> str:
    shown = [repr(name) for name in list(names)[:10]]
    return f"the columns are {', '.join(shown)}{', …' if len(names) > 10 else ''}"
