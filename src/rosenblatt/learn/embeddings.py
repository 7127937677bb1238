"""Embeddings without a copy: memory-mapped `.npy` files, and Arrow's lists of fixed size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.formats.arrow import check_buffers
from rosenblatt.formats.errors import FileError

Array = np.ndarray[Any, Any]


class StackedRows:
    """Several arrays of rows as one array; rows are copied when they are requested."""

    def __init__(self, parts: list[Array]) -> None:
        self.parts = parts
        self.starts = np.cumsum([0, *(part.shape[0] for part in parts)])
        self.shape = (int(self.starts[-1]), parts[0].shape[1])
        self.dtype, self.ndim = parts[0].dtype, 2

    def __len__(self) -> int:
        return self.shape[0]

    def gather_rows(self, index: Array) -> Array:
        """These rows, in one array."""
        found = np.empty((index.size, self.shape[1]), self.dtype)
        places = np.searchsorted(self.starts, index, side="right") - 1
        for place in np.unique(places):
            chosen = places == place
            found[chosen] = self.parts[place][index[chosen] - self.starts[place]]
        return found


def stored_rows(X: Any, name: str | None = None) -> Any:
    """Rows of a path or of Arrow data as an array, without reading them; anything else unchanged.

    Parameters
    ----------
    X : path to a .npy, .arrow or .feather file, Arrow table, record batch or array of lists of fixed size, or other
    name : str, optional
        The column of a table; by default the only one of lists of fixed size.
    """
    if isinstance(X, str | os.PathLike):
        X = _opened(Path(X))
    if not type(X).__module__.startswith("pyarrow"):
        return X
    import pyarrow as pa

    check_buffers(X, "X")
    if isinstance(X, pa.Table | pa.RecordBatch):
        X = X.column(name if name is not None else _only_list(X.schema))
    chunks = X.chunks if isinstance(X, pa.ChunkedArray) else [X]
    if not pa.types.is_fixed_size_list(X.type):
        raise ValueError(f"Arrow rows must be lists of fixed size, one per row, found {X.type}.")
    kind = X.type.value_type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise ValueError(f"Arrow lists of embeddings must hold numbers, found {kind}.")
    parts, first = [], 0
    for chunk in chunks:
        if len(chunk):
            parts.append(_as_array(chunk, first))
            first += len(chunk)
    if not parts:
        raise ValueError("Found array with 0 sample(s): the Arrow column of lists is empty.")
    return parts[0] if len(parts) == 1 else StackedRows(parts)


def _opened(path: Path) -> Any:
    """The file, memory-mapped."""
    if path.suffix == ".npy":
        try:
            found = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # a damaged header may be wrong in any way
            raise FileError(f"cannot be read as a .npy file: {error}", path) from error
        if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiub":
            kind = getattr(found, "dtype", type(found).__name__)
            raise FileError(f"expected an array of numbers, found {kind}", path)
        return found
    if path.suffix in (".arrow", ".feather"):
        import pyarrow as pa

        try:
            return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        except (OSError, pa.ArrowException) as error:
            raise FileError(f"cannot be read as an Arrow file: {error}", path) from error
    raise FileError("embeddings are read from .npy, .arrow and .feather files, uncompressed", path)


def _only_list(schema: Any) -> str:
    import pyarrow as pa

    names = [field.name for field in schema if pa.types.is_fixed_size_list(field.type)]
    if len(names) != 1:
        raise ValueError(f"A table of embeddings has one column of lists of fixed size; this one has {names}.")
    return str(names[0])


def _as_array(chunk: Any, first: int) -> Array:
    """The lists of a chunk as rows, in the same memory."""
    import pyarrow.compute as pc

    if chunk.null_count:
        raise ValueError(f"Input X is missing at row {first + pc.index(chunk.is_null(), True).as_py()}.")
    values, width = chunk.flatten(), chunk.type.list_size
    if values.null_count:
        raise ValueError(
            f"Input X has a missing value at row {first + pc.index(values.is_null(), True).as_py() // width}."
        )
    array: Array = values.to_numpy(zero_copy_only=True)
    return array.reshape(len(chunk), width)
