"""The verbs on a row, in which every learning loop is written.

A row is row i of `Dense` or `Sparse`. Each verb has a dense and a sparse body (`compiling.verb`). What was measured:

- the columns of a sparse row are unsigned, since numba tests a signed index for wrap-around at every value;
- rows in random order are bound by cache misses, so a loop that knows its order fetches rows ahead (`fetch`), and
  the place where a sparse row starts further ahead still (`fetch_start`);
- the weights of many classes lie feature by feature, (d, K), for sparse rows, where a stored value then touches one
  run of memory, and class by class, (K, d), for dense rows, where a dot product runs along memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from rosenblatt.data.compiling import compiled, verb

Array = np.ndarray[Any, Any]
Rows = Any
ONE = np.uint64(1)
LINE = np.uint64(16)  # values between two prefetches: a cache line of float32


@intrinsic
def _prefetch(_: Any, array: Any, index: Any) -> Any:  # pragma: no cover
    from llvmlite import ir

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(array)(context, builder, args[0]).data
        byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [args[1]]), byte)
        shape = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [byte], shape)
        builder.call(hint, [address, i32(0), i32(3), i32(1)])  # read, keep in every cache, data
        return context.get_dummy_value()

    return types.void(array, index), emit


def prefetch(array: Array, index: Any) -> None:
    """Ask the processor to bring array.flat[index] nearer, without waiting for it."""


@overload(prefetch, strict=False)
def _prefetch_compiled(array: Any, index: Any) -> Any:  # pragma: no cover
    return lambda array, index: _prefetch(array, index)  # type: ignore[call-arg]


# -- w·x -------------------------------------------------------------------------------------------------------------


def _dot_dense(rows: Rows, i: Any, w: Array) -> Any:
    x = rows.values[i]
    total = w.dtype.type(0)
    for j in range(x.size):
        total += x[j] * w[j]
    return total


def _dot_sparse(rows: Rows, i: Any, w: Array) -> Any:
    start, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    x, column = rows.values[start:end], rows.columns[start:end]
    total = w.dtype.type(0)
    for j in range(x.size):
        total += x[j] * w[column[j]]
    return total


dot = verb({"Dense": _dot_dense, "Sparse": _dot_sparse})  # w·x_i


# -- W x: the scores of all classes ----------------------------------------------------------------------------------


def _dots_dense(rows: Rows, i: Any, W: Array, scores: Array) -> None:
    x = rows.values[i]
    K = W.shape[0]
    even = K - K % 2
    for k in range(0, even, 2):  # two classes at once: x is read half as often
        v, w = W[k], W[k + 1]
        a = b = W.dtype.type(0)
        for j in range(x.size):
            a += x[j] * v[j]
            b += x[j] * w[j]
        scores[k], scores[k + 1] = a, b
    for k in range(even, K):
        w = W[k]
        a = W.dtype.type(0)
        for j in range(x.size):
            a += x[j] * w[j]
        scores[k] = a


def _dots_sparse(rows: Rows, i: Any, W: Array, scores: Array) -> None:
    start, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    x, column = rows.values[start:end], rows.columns[start:end]
    K = W.shape[1]
    for k in range(K):
        scores[k] = 0
    whole = x.size - x.size % 4
    for j in range(0, whole, 4):  # four values at once: the scores are read and written a quarter as often
        a, b, c, e = x[j], x[j + 1], x[j + 2], x[j + 3]
        p, q, r, s = W[column[j]], W[column[j + 1]], W[column[j + 2]], W[column[j + 3]]
        for k in range(K):
            scores[k] += (a * p[k] + b * q[k]) + (c * r[k] + e * s[k])
    for j in range(whole, x.size):
        a, p = x[j], W[column[j]]
        for k in range(K):
            scores[k] += a * p[k]


dots = verb({"Dense": _dots_dense, "Sparse": _dots_sparse})  # scores_k = w_k·x_i for every class k


# -- w += step x -----------------------------------------------------------------------------------------------------


def _add_dense(rows: Rows, i: Any, step: Any, w: Array) -> None:
    x = rows.values[i]
    size = w.dtype.type(step)
    for j in range(x.size):
        w[j] += size * x[j]


def _add_sparse(rows: Rows, i: Any, step: Any, w: Array) -> None:
    start, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    x, column = rows.values[start:end], rows.columns[start:end]
    size = w.dtype.type(step)
    for j in range(x.size):
        w[column[j]] += size * x[j]


add = verb({"Dense": _add_dense, "Sparse": _add_sparse})  # w += step·x_i


def _add_class_dense(rows: Rows, i: Any, step: Any, W: Array, k: Any) -> None:
    x, w = rows.values[i], W[k]
    size = W.dtype.type(step)
    for j in range(x.size):
        w[j] += size * x[j]


def _add_class_sparse(rows: Rows, i: Any, step: Any, W: Array, k: Any) -> None:
    start, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    x, column = rows.values[start:end], rows.columns[start:end]
    size = W.dtype.type(step)
    for j in range(x.size):
        W[column[j], k] += size * x[j]


add_class = verb({"Dense": _add_class_dense, "Sparse": _add_class_sparse})  # w_k += step·x_i


# -- ‖x‖² ------------------------------------------------------------------------------------------------------------


def _norm_dense(rows: Rows, i: Any) -> Any:
    total = 0.0
    for value in rows.values[i]:
        total += np.float64(value) * np.float64(value)
    return total


def _norm_sparse(rows: Rows, i: Any) -> Any:
    total = 0.0
    for value in rows.values[np.uint64(rows.starts[i]) : np.uint64(rows.starts[i + ONE])]:
        total += np.float64(value) * np.float64(value)
    return total


norm = verb({"Dense": _norm_dense, "Sparse": _norm_sparse})  # ‖x_i‖², in double precision


# -- prefetching: nothing to do when compilation is off --------------------------------------------------------------


def _fetch_dense(rows: Rows, i: Any) -> None:
    d = np.uint64(rows.values.shape[1])
    for j in range(i * d, (i + ONE) * d, LINE):
        prefetch(rows.values, j)


def _fetch_sparse(rows: Rows, i: Any) -> None:
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE]), LINE):
        prefetch(rows.values, j)
        prefetch(rows.columns, j)


def _fetch_start_dense(rows: Rows, i: Any) -> None:
    pass


def _fetch_start_sparse(rows: Rows, i: Any) -> None:
    prefetch(rows.starts, i)


fetch = verb({"Dense": _fetch_dense, "Sparse": _fetch_sparse})  # bring the values of row i nearer
fetch_start = verb({"Dense": _fetch_start_dense, "Sparse": _fetch_start_sparse})  # and the place where it starts


@compiled
def fetch_label(y: Array, i: Any) -> None:
    """Bring the label of row i nearer; of an indicator, its first column."""
    prefetch(y, i * np.uint64(y.size // y.shape[0]))
