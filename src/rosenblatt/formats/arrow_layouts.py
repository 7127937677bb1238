"""Columns of Arrow in layouts that PyArrow can write, but cannot take rows from."""

from __future__ import annotations

from typing import Any

import numpy as np


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
