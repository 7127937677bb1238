"""The kind of a column, decided from its statistics over all rows."""

from __future__ import annotations

from dataclasses import dataclass

from rosenblatt.formats.table_layout import LEAST_ROWS_OF_CODES, NEARLY_ALL
from rosenblatt.tables.columns.statistics import ColumnStatistics
from rosenblatt.tables.columns.values import ColumnValues

KINDS = ("numbers", "splines", "names", "booleans", "dates", "text")
NUMERIC_SHARE = 0.9  # above this share of numbers, other values count as missing
TEXT_WORDS = 3.0  # the least median number of words of a text column
TEXT_SHARE = 0.5  # the least share of different values in a text column
LEAST_ROWS_OF_IDS = 10  # in fewer rows, integers may all be different by chance


@dataclass(frozen=True)
class Kind:
    """The kind of a column, or None if it is left out, with the reason; `note` is what the user should know."""

    kind: str | None
    reason: str = ""
    note: str = ""


def kind_of(column: ColumnValues, found: ColumnStatistics, typed: bool = False) -> Kind:
    """The kind of a column.

    Parameters
    ----------
    column : ColumnValues
    found : ColumnStatistics
    typed : bool
        Whether other columns of the table are numbers by their type. A column of whole numbers that are text is then
        one of names; in a file of text it is one of numbers.
    """
    if not found.present:
        return Kind(None, "empty")
    if found.distinct == 1 and not found.missing:
        return Kind(None, "constant")
    if column.categorical:
        return Kind("names", "by type")
    if found.boolean:
        return Kind("booleans", "true or false")
    if found.date_format is not None:
        return Kind("dates", f"written as {found.date_format}" if found.date_format else "by type")
    enough = found.present == found.rows >= LEAST_ROWS_OF_IDS
    all_different = enough and found.distinct == found.present
    if found.numbers >= NUMERIC_SHARE * found.present:
        digits = found.whole and found.numbers == found.present
        if digits and all_different:
            return Kind(None, "all values are different whole numbers, like an id")
        if not digits or not (found.padded or (typed and found.text)):
            how = "by type" if not column.is_text else "written as numbers"
            return Kind("numbers", how, _about_strays(found))
        why = "whole numbers with leading zeros, like a code"
        return _names(found, why if found.padded else "digits that are text, beside columns of numbers")
    if found.median_words >= TEXT_WORDS and found.distinct > TEXT_SHARE * found.present:
        return Kind("text", f"texts of {found.median_words:g} words (median)")
    if all_different:
        return Kind(None, "all values are different, like an id")
    return _names(found, f"{found.distinct:,} different values")


def _names(found: ColumnStatistics, reason: str) -> Kind:
    """Names, unless nearly every value is a name of its own."""
    if found.present >= LEAST_ROWS_OF_CODES and found.distinct >= NEARLY_ALL * found.present:
        return Kind(None, f"{found.distinct:,} of {found.present:,} values are different, like a code or an id")
    return Kind("names", reason)


def _about_strays(found: ColumnStatistics) -> str:
    if found.numbers == found.present:
        return ""
    shown = ", ".join(repr(one) for one in found.strays)
    return f"{found.present - found.numbers:,} values are not numbers and count as missing, such as {shown}"
