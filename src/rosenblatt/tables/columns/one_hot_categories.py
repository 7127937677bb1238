"""Columns of categories, one-hot: a feature per frequent name, one for all others, one for missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.formats.declared_fields import must
from rosenblatt.tables.columns.numbers import Entries

Array = np.ndarray[Any, Any]
MAX_NAMES = 1000


@dataclass(frozen=True)
class CodedNames:
    """Names as codes, −1 where they are missing."""

    codes: Array
    names: list[str]

    def take(self, rows: Array) -> CodedNames:
        """Some of the rows."""
        return CodedNames(self.codes[rows], self.names)


@dataclass(frozen=True)
class NameEncoding:
    """One-hot: the frequent names, then "(other)" for rare and unknown names, then "(missing)" if any are missing.

    A missing value in a column that had none in training counts as "(other)".
    """

    names: tuple[str, ...]
    missing: bool

    def check(self) -> None:
        """No name twice."""
        must(len(set(self.names)) == len(self.names), "different names")

    @classmethod
    def fit(cls, coded: CodedNames, most: int = MAX_NAMES) -> NameEncoding:
        """Learn the most frequent names."""
        counts = np.bincount(coded.codes + 1, minlength=len(coded.names) + 1).tolist()  # entry 0 counts missing values
        return cls.of(dict(zip(coded.names, counts[1:], strict=True)), counts[0] > 0, most)

    @classmethod
    def of(cls, counts: dict[str, int], missing: bool, most: int = MAX_NAMES) -> NameEncoding:
        """The encoding of names with these counts."""
        found = [(-count, name) for name, count in counts.items() if count]
        return cls(tuple(sorted(name for _, name in sorted(found)[:most])), missing)

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.names) + 1 + self.missing

    def feature_names(self, column: str) -> list[str]:
        """The name of each feature."""
        return [f"{column}={name}" for name in (*self.names, "(other)", "(missing)")[: self.width]]

    def entries(self, coded: CodedNames) -> list[Entries]:
        """The stored entries of the features of these names."""
        places = {name: k for k, name in enumerate(self.names)}
        other = len(self.names)
        learned = np.array([*(places.get(name, other) for name in coded.names), other + self.missing], np.int32)
        return [(learned[coded.codes], 1.0, None)]  # code −1, the last entry, is a missing value
