"""The label column of a file: its values, which are missing, and whether they are classes or numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.data.columns.statistics import statistics
from rosenblatt.data.columns.values import ColumnValues, as_names, as_numbers

Array = np.ndarray[Any, Any]
MOST_CLASSES = 20  # of whole numbers; with more distinct values it is a regression


@dataclass(frozen=True)
class Labels:
    """Labels as int64, float64 or text, with the rows that have one, and the task that they imply."""

    values: Array  # of the rows with a label
    present: Array  # whether each row has a label
    task: str  # "classification" or "regression"


def labels_of(column: ColumnValues) -> Labels:
    """The labels in a column: numbers if every value is one, else names.

    Fractions, and more than 20 different whole numbers, mean regression; all other labels are classes.
    """
    found = statistics(column)
    present = column.present
    if found.numbers < found.present or column.categorical or not found.present:
        codes, names = as_names(column)
        cut = next((name for name in names if name.endswith("\0")), None)
        if cut is not None:  # NumPy would drop the NUL, and two labels could become equal
            raise ValueError(f"column {column.name!r}: expected labels that do not end with NUL, found {cut!r}.")
        return Labels(np.array(names, dtype=str)[codes[present]] if names else np.zeros(0), present, "classification")
    numbers = as_numbers(column)[present]
    whole = bool((numbers == np.floor(numbers)).all() and (np.abs(numbers) < 2**53).all())
    few = whole and np.unique(numbers).size <= MOST_CLASSES
    integers = found.whole  # of text or of integers
    values = numbers.astype(np.int64) if whole and integers else numbers
    return Labels(values, present, "classification" if few else "regression")
