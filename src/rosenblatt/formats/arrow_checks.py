"""Validation of tables in Arrow format that the caller passes in memory.

PyArrow trusts the buffers of a table, but those of a table from a damaged file, or one built by hand, may contain
offsets that point outside of them.
"""

from __future__ import annotations

from typing import Any


def check_collected(frame: Any, what: str) -> None:
    """Refuse a frame that is only a plan of a computation."""
    if type(frame).__name__ == "LazyFrame":
        raise ValueError(f"{what} is a LazyFrame, which has no rows yet: collect() it first.")


def check_buffers(table: Any, what: str) -> None:
    """Refuse a PyArrow table or column with damaged buffers, or a pandas one that is backed by them."""
    for part in _arrow_parts(table):
        try:
            part.validate(full=True)
        except (ValueError, IndexError) as error:  # PyArrow's errors derive from these
            raise ValueError(f"{what} is a damaged Arrow table: {error}.") from error


def _arrow_parts(table: Any) -> list[Any]:
    """The parts of a table that are in Arrow format."""
    home = type(table).__module__.partition(".")[0]
    if home == "pyarrow":
        return [table] if hasattr(table, "validate") else []
    if home != "pandas":
        return []
    if hasattr(table, "dtypes") and hasattr(table, "iloc") and table.ndim == 2:
        places = [k for k, kind in enumerate(table.dtypes) if _is_arrow_backed(kind)]
        return [table.iloc[:, k].array.__arrow_array__() for k in places]
    kind = getattr(table, "dtype", None)
    return [getattr(table, "array", table).__arrow_array__()] if _is_arrow_backed(kind) else []


def _is_arrow_backed(kind: Any) -> bool:
    """Whether this is a pandas dtype whose values are in Arrow format."""
    return hasattr(kind, "pyarrow_dtype") or getattr(kind, "storage", None) == "pyarrow"
