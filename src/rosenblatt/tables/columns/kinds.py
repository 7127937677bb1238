"""The kind of a column, decided from its statistics over all rows."""

from __future__ import annotations

from dataclasses import dataclass

from rosenblatt.tables.columns.statistics import ColumnStatistics
from rosenblatt.tables.columns.values import ColumnValues

KINDS = ("numbers", "splines", "names", "booleans", "dates", "text")
NUMERIC_SHARE = 0.9  # above this share of numbers, other values count as missing
TEXT_WORDS = 3.0  # the least median number of words of a text column
TEXT_SHARE = 0.5  # the least share of different values in a text column
LEAST_ROWS_OF_IDS = 10  # in fewer rows, integers may all be different by chance


@dataclass(frozen=True)
class Kind:
    """The kind of a column, or None with the reason why it is left out; `note` is what the user should know."""

    kind: str | None
    reason: str = ""
    note: str = ""


def kind_of(column: ColumnValues, found: ColumnStatistics) -> Kind:
    """The kind of a column.

    Parameters
    ----------
    column : ColumnValues
    found : ColumnStatistics
    """
    if not found.present:
        return Kind(None, "empty")
    if found.distinct == 1 and not found.missing:
        return Kind(None, "constant")
    if column.categorical:
        return Kind("names")
    if found.boolean:
        return Kind("booleans")
    if found.date_format is not None:
        return Kind("dates")
    all_different = found.distinct == found.present == found.rows >= LEAST_ROWS_OF_IDS
    if found.numbers >= NUMERIC_SHARE * found.present:
        if found.whole and all_different and not found.strays:
            return Kind(None, "all values are different whole numbers, like an id")
        return Kind("numbers", note=_about_strays(found))
    if found.median_words >= TEXT_WORDS and found.distinct > TEXT_SHARE * found.present:
        return Kind("text")
    if all_different:
        return Kind(None, "all values are different, like an id")
    return Kind("names")


def _about_strays(found: ColumnStatistics) -> str:
    if found.numbers == found.present:
        return ""
    shown = ", ".join(repr(one) for one in found.strays)
    return f"{found.present - found.numbers:,} values are not numbers and count as missing, such as {shown}"
