"""Frames of any library, arrays and sparse matrices, as named columns of Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from rosenblatt.formats.arrow import check_buffers, check_collected, plain_layout
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.labels import is_missing
from rosenblatt.tables.columns.values import MISSING, ColumnValues, column_values


@dataclass(frozen=True)
class Table:
    """Named columns of Arrow with the same number of rows; `named` is False if the caller gave no names."""

    columns: dict[str, Any]
    rows: int
    named: bool = True
    batch: Any = None  # the part of a file that it was read from
    path: str = ""  # of the file

    @property
    def typed(self) -> bool:
        """Whether some columns are numbers by their type."""
        kinds = [column.type for column in self.columns.values()]
        return any(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds)

    def error(self, what: str, row: int, column: str) -> Exception:
        """An error about a value, with its place."""
        if self.batch is None:
            return ValueError(f"column {column!r}, row {row}: {what}.")
        return FileError(what, self.batch.path, self.batch.line(row), column)

    def values(self, name: str, more_missing: Sequence[str] = ()) -> ColumnValues:
        """The values of a column; text in `more_missing` also counts as missing."""
        try:
            return column_values(name, self.columns[name], (*MISSING, *more_missing))
        except (ValueError, pa.ArrowException) as error:
            what = " ".join(str(error).split())[:200]
            if self.path:
                raise FileError(what, self.path, None, name) from error
            raise ValueError(f"column {name!r}: {what}") from error

    def take(self, rows: Any) -> Table:
        """Some of the rows."""
        kept = pa.array(rows)
        columns = {name: column.take(kept) for name, column in self.columns.items()}
        return replace(self, columns=columns, rows=len(kept), batch=None)

    def labelled(self, name: str) -> tuple[Table, ColumnValues, int]:
        """The other columns of the rows that have a label, these labels, and how many rows have none.

        Labels that are decimals are text, which keeps all of their digits. Times are in microseconds: labels that
        differ by less are refused, because they would become one class.
        """
        column = self.columns[name]
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            times = column.cast(pa.timestamp("ns", kind.tz))
            fine = pc.equal(pc.floor_temporal(times, unit="microsecond"), times).fill_null(True)
            row = pc.index(fine, False).as_py()
            if row >= 0:
                what = f"expected labels in whole microseconds, found {times[row].cast(pa.large_string()).as_py()}"
                raise self.error(f"{what} (round them, or write them as text)", row, name)
        if pa.types.is_decimal(kind):
            column = column.cast(kind).cast(pa.large_string())
        labels = replace(self, columns={name: column}).values(name)
        others = {key: value for key, value in self.columns.items() if key != name}
        rest, absent = replace(self, columns=others, batch=None), labels.missing
        if not absent:
            return rest, labels, 0
        present = np.flatnonzero(labels.present)
        return rest.take(present), labels.take(present), absent


def is_frame(X: Any) -> bool:
    """Whether this is a frame with named columns."""
    return isinstance(X, Table | pa.Table | pa.RecordBatch) or (hasattr(X, "columns") and not sp.issparse(X))


def as_table(X: Any) -> Table:
    """A frame (pandas, polars, Arrow, or any that narwhals knows), an array or a sparse matrix, as columns.

    Parameters
    ----------
    X : frame, array-like or sparse matrix of shape (n, d), or texts
        The columns of an array and of a sparse matrix are called x0, x1 and so on. A list of texts is one column. A
        mapping from names to values is one row, a list of mappings is several.
    """
    if isinstance(X, Table):
        return X
    if isinstance(X, Mapping) and not sp.issparse(X):  # a matrix by keys is a mapping too
        X = [X]
    if isinstance(X, list) and X and all(isinstance(row, Mapping) for row in X):
        names = dict.fromkeys(str(name) for row in X for name in row)
        _refuse_empty(len(X), len(names))
        return Table({name: _from_objects([row.get(name) for row in X]) for name in names}, len(X))
    check_collected(X, "X")
    check_buffers(X, "X")
    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    if is_frame(X):
        return _from_frame(X)
    if sp.issparse(X):
        well_formed(X)
        return _from_array(X.tocsc())
    from sklearn.utils import check_array

    if not isinstance(X, np.ndarray):
        X = _array_of_lists(X)
    if X.ndim == 1 and any(isinstance(one, str) for one in X):
        X = X[:, None]
    return _from_array(check_array(X, dtype=None, ensure_all_finite=False))


def _array_of_lists(X: Any) -> Any:
    """Lists of rows as an array; of objects if they mix text and numbers, which NumPy would turn into text."""
    array = np.asarray(X)
    return np.array(X, dtype=object) if array.dtype.kind in "US" else array


def _from_frame(X: Any) -> Table:
    names = [str(name) for name in getattr(X, "column_names", X.columns)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"Two columns of X are named {twice[0]!r}: rename one of them.")
    frame = nw.from_native(X, eager_only=True)
    _refuse_empty(len(frame), len(names))
    return Table(dict(zip(names, map(_from_series, frame.iter_columns()), strict=True)), len(frame))


def _from_series(series: Any) -> Any:
    try:
        return plain_layout(series.to_arrow())
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # objects of several types
        return _from_objects(series.to_list())


def _from_objects(values: list[Any]) -> Any:
    """Objects as one type of Arrow if they have one, as text if not."""
    plain = [None if is_missing(one) else one for one in values]
    try:
        return pa.array(plain)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([None if one is None else str(one) for one in plain], pa.large_string())


def _from_array(X: Any) -> Table:
    rows, width = X.shape
    _refuse_empty(rows, width)
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers.")
    if sp.issparse(X):
        arrays = [pa.array(X[:, [k]].toarray().ravel()) for k in range(width)]
    elif X.dtype.kind in "OUS":
        arrays = [_from_objects(X[:, k].tolist()) for k in range(width)]
    else:
        arrays = [pa.array(np.ascontiguousarray(X[:, k])) for k in range(width)]
    return Table({f"x{k}": array for k, array in enumerate(arrays)}, rows, named=False)


def _refuse_empty(rows: int, width: int) -> None:
    if not rows:
        raise ValueError(f"Found array with 0 sample(s) (shape=({rows}, {width})) while a minimum of 1 is required.")
    if not width:
        raise ValueError(f"Found array with 0 feature(s) (shape=({rows}, {width})) while a minimum of 1 is required.")
