"""The label column of a file: its values, which are missing, and whether they are classes or numbers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from rosenblatt.tables.columns.statistics import statistics
from rosenblatt.tables.columns.values import ColumnValues, as_codes, as_integers, as_names, as_numbers

Array = np.ndarray[Any, Any]
MOST_CLASSES = 20  # of whole numbers; with more distinct values it is a regression


@dataclass(frozen=True)
class Labels:
    """Labels as int64, uint64, float64 or text, with the rows that have one, and the task that they imply."""

    values: Array  # of the rows with a label
    present: Array  # whether each row has a label
    task: str  # "classification" or "regression"
    column: ColumnValues

    @property
    def classes(self) -> Array:
        """The class of each row with a label; fractions, and numbers that a float would change, are names."""
        if self.values.dtype.kind != "f":
            return self.values
        if self.column.is_text:
            codes, words = as_codes(self.column)
            names = names_if_rounded(words)
            if names is not None:
                return names[codes[self.present]]
        return self.values.astype(str) if (self.values != np.floor(self.values)).any() else self.values


def names_if_rounded(words: Any) -> Array | None:
    """Numbers as they are first written, if a float rounds a large one or makes two of them equal; None if not."""
    texts, floats = words.to_pylist(), as_numbers(ColumnValues("", words)).tolist()
    exact = [_exact(text) for text in texts]
    large = any(one != number for one, number in zip(exact, floats, strict=True) if not abs(number) < 2**53)
    if not large and len(set(exact)) == len(set(floats)):
        return None
    first = dict(zip(reversed(exact), reversed(texts), strict=True))
    return np.array([first[one] for one in exact])


def _exact(text: str) -> Any:
    """The number in a text with all of its digits; the text itself if its exponent has too many."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return text


def labels_of(column: ColumnValues) -> Labels:
    """The labels in a column: numbers if every value is one, else names.

    Fractions, and more than 20 different whole numbers, mean regression; all other labels are classes. Integers are
    never rounded to floats, unless neither int64 nor uint64 holds all of them.
    """
    found = statistics(column)
    present = column.present
    if found.numbers < found.present or column.categorical or not found.present:
        codes, names = as_names(column)
        cut = next((name for name in names if name.endswith("\0")), None)
        if cut is not None:  # NumPy would drop the NUL, and two labels could become equal
            raise ValueError(f"column {column.name!r}: expected labels that do not end with NUL, found {cut!r}.")
        texts = np.array(names, dtype=str)[codes[present]] if names else np.zeros(0)
        return Labels(texts, present, "classification", column)
    integers = _integers(column) if found.whole else None
    values = (as_numbers(column) if integers is None else integers)[present]
    whole = found.whole or bool((values == np.floor(values)).all() and (np.abs(values) < 2**53).all())
    few = whole and (np.unique(values).size if values.dtype.kind != "f" else found.distinct) <= MOST_CLASSES
    return Labels(values, present, "classification" if few else "regression", column)


def _integers(column: ColumnValues) -> Array | None:
    """A column of integers, or of text that is written as some, as they are; 0 where they are missing."""
    if not column.is_text:
        return np.asarray(column.values.fill_null(0).to_numpy(zero_copy_only=False))
    codes, words = as_codes(column)
    found = as_integers(words)
    if found is None:
        return None
    numbers = found.to_numpy(zero_copy_only=False)
    return np.append(numbers, numbers.dtype.type(0))[codes]
