"""Tables in Arrow format: damaged buffers are refused, layouts that PyArrow cannot take rows from made plain.

PyArrow trusts the buffers of a table, but those of a table from a damaged file, or one built by hand, may contain
offsets that point outside of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np


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


def plain_layout(column: Any) -> Any:
    """The column with its views of text and bytes copied and its runs of equal values repeated, in dictionaries too.

    Parameters
    ----------
    column : pyarrow Array or ChunkedArray
    """
    import pyarrow as pa  # here, because only tables need it

    kind = _plain_type(pa, column.type)
    if kind == column.type:
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([plain_layout(chunk) for chunk in column.chunks], kind)
    if isinstance(column.type, pa.BaseExtensionType):
        return plain_layout(column.storage)
    if pa.types.is_run_end_encoded(column.type):
        rows = column.offset + np.arange(len(column))
        runs = np.searchsorted(column.run_ends.to_numpy(), rows, side="right")
        return plain_layout(column.values).take(pa.array(runs))
    if pa.types.is_dictionary(column.type):
        words = plain_layout(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, words, ordered=column.type.ordered)
    return column.cast(kind)


def _plain_type(pa: Any, kind: Any) -> Any:
    """The type of a column once its layout is plain."""
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_run_end_encoded(kind):
        return _plain_type(pa, kind.value_type)
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _plain_type(pa, kind.value_type), kind.ordered)
    if isinstance(kind, pa.BaseExtensionType):
        storage = _plain_type(pa, kind.storage_type)
        return kind if storage == kind.storage_type else storage
    return kind
