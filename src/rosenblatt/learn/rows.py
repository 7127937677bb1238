"""The verbs on a row, in which every learning loop is written.

A row is row i of `Dense` or `Sparse`. Each verb has a dense and a sparse body; numba picks one by type when it
compiles the loop (`overload`), and plain Python picks the same one when compilation is off. What was measured:

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

from rosenblatt.data.compiling import FAST
from rosenblatt.data.examples import Dense

Array = np.ndarray[Any, Any]
Rows = Any
ONE = np.uint64(1)
LINE = np.uint64(16)  # values between two prefetches: a cache line of float32


def is_tuple(kind: Any, name: str) -> bool:
    """Whether the numba type `kind` is the named tuple called `name`."""
    return isinstance(kind, types.BaseNamedTuple) and kind.instance_class.__name__ == name


@intrinsic
def prefetch(_: Any, array: Any, index: Any) -> Any:  # pragma: no cover
    """Ask the processor to bring array.flat[index] nearer, without waiting for it."""
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


# -- w·x -------------------------------------------------------------------------------------------------------------


def _dot_dense(rows: Rows, i: Any, w: Array) -> Any:
    x = rows.values[i]
    total = w.dtype.type(0)
    for j in range(x.size):
        total += x[j] * w[j]
    return total


def _dot_sparse(rows: Rows, i: Any, w: Array) -> Any:
    start, end = rows.starts[i], rows.starts[i + ONE]
    x, column = rows.values[start:end], rows.columns[start:end]
    total = w.dtype.type(0)
    for j in range(x.size):
        total += x[j] * w[column[j]]
    return total


def dot(rows: Rows, i: Any, w: Array) -> Any:
    """w·x_i."""
    return _dot_dense(rows, i, w) if isinstance(rows, Dense) else _dot_sparse(rows, i, w)


@overload(dot, strict=False, jit_options={"fastmath": FAST, "_nrt": False})
def _dot(rows: Any, i: Any, w: Any) -> Any:  # pragma: no cover
    return _dot_dense if is_tuple(rows, "Dense") else _dot_sparse


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
    start, end = rows.starts[i], rows.starts[i + ONE]
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


def dots(rows: Rows, i: Any, W: Array, scores: Array) -> None:
    """scores_k = w_k·x_i for every class k."""
    return _dots_dense(rows, i, W, scores) if isinstance(rows, Dense) else _dots_sparse(rows, i, W, scores)


@overload(dots, strict=False, jit_options={"fastmath": FAST, "_nrt": False})
def _dots(rows: Any, i: Any, W: Any, scores: Any) -> Any:  # pragma: no cover
    return _dots_dense if is_tuple(rows, "Dense") else _dots_sparse


# -- w += step x -----------------------------------------------------------------------------------------------------


def _add_dense(rows: Rows, i: Any, step: Any, w: Array) -> None:
    x = rows.values[i]
    size = w.dtype.type(step)
    for j in range(x.size):
        w[j] += size * x[j]


def _add_sparse(rows: Rows, i: Any, step: Any, w: Array) -> None:
    start, end = rows.starts[i], rows.starts[i + ONE]
    x, column = rows.values[start:end], rows.columns[start:end]
    size = w.dtype.type(step)
    for j in range(x.size):
        w[column[j]] += size * x[j]


def add(rows: Rows, i: Any, step: Any, w: Array) -> None:
    """w += step·x_i."""
    return _add_dense(rows, i, step, w) if isinstance(rows, Dense) else _add_sparse(rows, i, step, w)


@overload(add, strict=False, jit_options={"fastmath": FAST, "_nrt": False})
def _add(rows: Any, i: Any, step: Any, w: Any) -> Any:  # pragma: no cover
    return _add_dense if is_tuple(rows, "Dense") else _add_sparse


def _add_class_dense(rows: Rows, i: Any, step: Any, W: Array, k: Any) -> None:
    x, w = rows.values[i], W[k]
    size = W.dtype.type(step)
    for j in range(x.size):
        w[j] += size * x[j]


def _add_class_sparse(rows: Rows, i: Any, step: Any, W: Array, k: Any) -> None:
    start, end = rows.starts[i], rows.starts[i + ONE]
    x, column = rows.values[start:end], rows.columns[start:end]
    size = W.dtype.type(step)
    for j in range(x.size):
        W[column[j], k] += size * x[j]


def add_class(rows: Rows, i: Any, step: Any, W: Array, k: Any) -> None:
    """w_k += step·x_i."""
    body = _add_class_dense if isinstance(rows, Dense) else _add_class_sparse
    return body(rows, i, step, W, k)


@overload(add_class, strict=False, jit_options={"fastmath": FAST, "_nrt": False})
def _add_class(rows: Any, i: Any, step: Any, W: Any, k: Any) -> Any:  # pragma: no cover
    return _add_class_dense if is_tuple(rows, "Dense") else _add_class_sparse


# -- ‖x‖² ------------------------------------------------------------------------------------------------------------


def _norm_dense(rows: Rows, i: Any) -> Any:
    total = 0.0
    for value in rows.values[i]:
        total += np.float64(value) * np.float64(value)
    return total


def _norm_sparse(rows: Rows, i: Any) -> Any:
    total = 0.0
    for value in rows.values[rows.starts[i] : rows.starts[i + ONE]]:
        total += np.float64(value) * np.float64(value)
    return total


def norm(rows: Rows, i: Any) -> Any:
    """‖x_i‖², in double precision."""
    return _norm_dense(rows, i) if isinstance(rows, Dense) else _norm_sparse(rows, i)


@overload(norm, strict=False, jit_options={"fastmath": FAST, "_nrt": False})
def _norm(rows: Any, i: Any) -> Any:  # pragma: no cover
    return _norm_dense if is_tuple(rows, "Dense") else _norm_sparse


# -- prefetching: nothing to do when compilation is off --------------------------------------------------------------


def fetch(rows: Rows, i: Any) -> None:
    """Bring the values of row i nearer."""


@overload(fetch, strict=False)
def _fetch(rows: Any, i: Any) -> Any:  # pragma: no cover
    if is_tuple(rows, "Dense"):

        def body(rows: Any, i: Any) -> None:
            d = np.uint64(rows.values.shape[1])
            for j in range(i * d, (i + ONE) * d, LINE):
                prefetch(rows.values, j)

    else:

        def body(rows: Any, i: Any) -> None:
            for j in range(rows.starts[i], rows.starts[i + ONE], LINE):
                prefetch(rows.values, j)
                prefetch(rows.columns, j)

    return body


def fetch_start(rows: Rows, i: Any) -> None:
    """Bring the place where row i starts nearer."""


@overload(fetch_start, strict=False)
def _fetch_start(rows: Any, i: Any) -> Any:  # pragma: no cover
    if is_tuple(rows, "Dense"):
        return lambda rows, i: None

    def body(rows: Any, i: Any) -> None:
        prefetch(rows.starts, i)

    return body


def fetch_label(y: Array, i: Any) -> None:
    """Bring the label of row i nearer."""


@overload(fetch_label, strict=False)
def _fetch_label(y: Any, i: Any) -> Any:  # pragma: no cover
    if y.ndim == 1:

        def body(y: Any, i: Any) -> None:
            prefetch(y, i)

    else:

        def body(y: Any, i: Any) -> None:
            prefetch(y, i * np.uint64(y.shape[1]))

    return body
