"""Tables that others hold in memory in Arrow's format: looked through before anything reads them.

PyArrow takes what the buffers of a table say for granted, and a table that was made of a damaged file, or by hand, may
point outside them.
"""

from __future__ import annotations

from typing import Any


def check_buffers(table: Any, what: str) -> None:
    """Refuse a table or a column of PyArrow, or one of pandas that holds such, whose buffers are damaged."""
    for part in _in_arrow(table):
        try:
            part.validate(full=True)
        except (ValueError, IndexError) as error:  # PyArrow's errors are of these kinds
            raise ValueError(f"{what} is a damaged Arrow table: {error}.") from error


def _in_arrow(table: Any) -> list[Any]:
    """What of a table lies in Arrow's format."""
    home = type(table).__module__.partition(".")[0]
    if home == "pyarrow":
        return [table] if hasattr(table, "validate") else []
    if home != "pandas":
        return []
    if hasattr(table, "dtypes") and hasattr(table, "iloc") and table.ndim == 2:
        places = [k for k, kind in enumerate(table.dtypes) if _of_arrow(kind)]
        return [table.iloc[:, k].array.__arrow_array__() for k in places]
    kind = getattr(table, "dtype", None)
    return [getattr(table, "array", table).__arrow_array__()] if _of_arrow(kind) else []


def _of_arrow(kind: Any) -> bool:
    """Whether this is a type of pandas whose values lie in Arrow's format."""
    return hasattr(kind, "pyarrow_dtype") or getattr(kind, "storage", None) == "pyarrow"
