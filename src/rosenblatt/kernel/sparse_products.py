"""Dot products of sparse rows with sparse rows, as a dense matrix.

SciPy's product of two sparse matrices first counts the entries that are not 0, then stores them sparsely. Most
products of two rows are not 0, so here they are summed in place: a stored value x_ic adds x_ic·x′_jc to the product of
row i with each row j that stores column c.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.compiled.machine_code import compiled

Array = np.ndarray[Any, Any]
ONE = np.uint64(1)


@compiled
def _add_products(
    values: Array, columns: Array, starts: Array, others: Array, rows: Array, column_starts: Array, out: Array
) -> None:
    """Add the products of rows stored by row with rows stored by column; indices are unsigned."""
    for i in range(out.shape[0]):
        products = out[i]
        for k in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):
            x, c = values[k], np.uint64(columns[k])
            for j in range(np.uint64(column_starts[c]), np.uint64(column_starts[c + ONE])):
                products[rows[j]] += x * others[j]


def sparse_products(A: Any, B: Any) -> Array:
    """x·x′ of every row of A with every row of B, (a, b), both CSR."""
    B, out = B.tocsc(), np.zeros((A.shape[0], B.shape[0]), np.result_type(A.dtype, B.dtype))
    indices = [part.view(f"u{part.itemsize}") for part in (A.indices, A.indptr, B.indices, B.indptr)]
    _add_products(A.data, indices[0], indices[1], B.data, indices[2], indices[3], out)
    return out
