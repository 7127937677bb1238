"""The operations on a row, from which every learning loop is built.

A row is row i of `Dense` or `Sparse`; each operation has a dense and a sparse body (`machine_code.verb`). Measurements
led to these choices:

- the columns of a sparse row are unsigned, because numba checks a signed index for wrap-around at every value;
- visiting rows in random order is bound by cache misses, so a loop that knows its order prefetches rows
  (`fetch_ahead`), in two steps: into the L2 cache long before the visit, into L1 shortly before it. With a single
  step, outstanding misses to memory delay the reads of w from L2, and an epoch takes a third longer. Rows that
  stay in the shared cache are prefetched in one step, since a second costs a tenth of the epoch or more. A
  loop over the cache lines of a sparse row would mispredict its exit at nearly every row, so that an epoch takes a
  tenth longer, a fifth if lengths vary as they do in text. Therefore as many lines are prefetched for each row as a
  row of mean length has (`usual_lines`), the last one several times if the row is shorter; only the remaining lines
  of longer rows are prefetched in a loop;
- loops over a row are indexed: numba's iterators over arrays do not become vector code;
- the weights of many classes are stored by feature, (d, K), for sparse rows, so that a stored value touches one
  contiguous run of memory, and by class, (K, d), for dense rows, so that a dot product reads sequentially;
- the scores of many classes stay in registers while a sparse row is read (`simd_lanes`). Where W is larger than the
  caches, the weights of a row are prefetched all at once before they are used: fetching those of the next row instead
  is no faster, and where W is smaller the hints cost more than they save.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.compiled.machine_code import verb
from rosenblatt.compiled.prefetching import prefetch as prefetch
from rosenblatt.compiled.row_arrays import Dense, Sparse
from rosenblatt.compiled.row_arrays import norm as norm
from rosenblatt.compiled.simd_lanes import WIDTH, add_products, add_scaled, lane, load, store, zero_products, zeros

Array = np.ndarray[Any, Any]
Rows = Any
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
FOURS = ~THREE  # n & FOURS: n rounded down to a multiple of 4
LINE = np.uint64(16)  # values between two prefetches: a cache line of float32
MOST = np.uint64(1024)  # values prefetched per row: the hardware prefetches the rest, which is sequential
STARTS = np.uint64(32)  # how many visits ahead row offsets and labels are prefetched
# Rows into L1, and into L2: dense rows earlier, since reads of w do not wait for them.
NEAR_DENSE, FAR_DENSE, NEAR_SPARSE, FAR_SPARSE = np.uint64(6), np.uint64(16), np.uint64(2), np.uint64(12)
CACHED = 1 << 20  # this many values stay in the shared cache, from where they are prefetched into L1 only
SOON_DENSE, SOON_SPARSE = np.uint64(3), np.uint64(2)
FETCHED = 1 << 21  # of more weights, those of a row are prefetched before they are used; it costs time for fewer
NONE, LANE = np.uint64(0), np.uint64(WIDTH)


# -- w·x -------------------------------------------------------------------------------------------------------------


def _dot_dense(rows: Rows, i: Any, w: Array) -> Any:
    x = rows.values[i]
    total = w.dtype.type(0)
    for j in range(x.size):
        total += x[j] * w[j]
    return total


def _dot_sparse(rows: Rows, i: Any, w: Array) -> Any:
    x, column = rows.values, rows.columns
    j, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    zero = w.dtype.type(0)
    if j == end:
        return zero
    whole, last = j + ((end - j) & FOURS), end - ONE
    four = zero_products(w)
    while j < whole:
        four = add_products(four, x, j, column, w)
        j += FOUR
    a, b, c, e = lane(four, 0), lane(four, 1), lane(four, 2), lane(four, 3)
    # The remainder without a loop, whose exit branch would be mispredicted.
    k, m, n = min(j, last), min(j + ONE, last), min(j + TWO, last)
    p, q, r = x[k] * w[column[k]], x[m] * w[column[m]], x[n] * w[column[n]]
    a += p if j <= last else zero
    b += q if j + ONE <= last else zero
    c += r if j + TWO <= last else zero
    return (a + b) + (c + e)


dot = verb({Dense: _dot_dense, Sparse: _dot_sparse})  # w·x_i


# -- W x: the scores of all classes ----------------------------------------------------------------------------------


def _dots_dense(rows: Rows, i: Any, W: Array, scores: Array) -> None:
    x = rows.values[i]
    K = W.shape[0]
    even = K - K % 2
    for k in range(0, even, 2):  # two classes at a time: x is read half as often
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


def dots_sparse(rows: Rows, i: Any, W: Array, scores: Array) -> None:
    """W x_i with W stored by feature; two to four lanes of scores stay in registers over the whole row.

    The last lanes are the last eight columns, of which some are then computed twice, to the same bits. One function
    without calls, because LLVM would optimise what it calls once more in each caller.
    """
    x, column = rows.values, rows.columns
    begin: Any = np.uint64(rows.starts[i])
    end: Any = np.uint64(rows.starts[i + ONE])
    K: Any = np.uint64(W.shape[1])
    if K < LANE:
        for k in range(K):
            scores[k] = 0
        j, whole = begin, begin + ((end - begin) & FOURS)
        while j < whole:  # four values at a time: the scores are read and written a quarter as often
            a, b, e, f = x[j], x[j + ONE], x[j + TWO], x[j + THREE]
            u, v, w, z = W[column[j]], W[column[j + ONE]], W[column[j + TWO]], W[column[j + THREE]]
            for k in range(K):
                scores[k] += (a * u[k] + b * v[k]) + (e * w[k] + f * z[k])
            j += FOUR
        while j < end:
            a, u = x[j], W[column[j]]
            for k in range(K):
                scores[k] += a * u[k]
            j += ONE
        return
    if W.size > FETCHED:
        for j in range(begin, end):
            at = np.uint64(column[j]) * K
            for k in range(at, at + K, LINE):
                prefetch(W, k, False)
    last = K - LANE
    for c in range(NONE, K, FOUR * LANE):
        c0, c1, c2, c3 = min(c, last), min(c + LANE, last), min(c + TWO * LANE, last), min(c + THREE * LANE, last)
        p = q = r = s = zeros(W)
        if c1 == c2:
            for j in range(begin, end):
                a, at = x[j], np.uint64(column[j]) * K
                p, q = add_scaled(p, a, load(W, at + c0)), add_scaled(q, a, load(W, at + c1))
        elif c2 == c3:
            for j in range(begin, end):
                a, at = x[j], np.uint64(column[j]) * K
                p, q = add_scaled(p, a, load(W, at + c0)), add_scaled(q, a, load(W, at + c1))
                r = add_scaled(r, a, load(W, at + c2))
        else:
            for j in range(begin, end):
                a, at = x[j], np.uint64(column[j]) * K
                p, q = add_scaled(p, a, load(W, at + c0)), add_scaled(q, a, load(W, at + c1))
                r, s = add_scaled(r, a, load(W, at + c2)), add_scaled(s, a, load(W, at + c3))
            store(scores, c3, s)
        if c1 != c2:
            store(scores, c2, r)
        store(scores, c1, q)
        store(scores, c0, p)


dots = verb({Dense: _dots_dense, Sparse: dots_sparse})  # scores_k = w_k·x_i for every class k


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


add = verb({Dense: _add_dense, Sparse: _add_sparse})  # w += step·x_i


def _add_both_dense(rows: Rows, i: Any, step: Any, w: Array, other: Any, u: Array) -> None:
    x = rows.values[i]
    a, b = w.dtype.type(step), u.dtype.type(other)
    for j in range(x.size):
        w[j] += a * x[j]
        u[j] += b * x[j]


def _add_both_sparse(rows: Rows, i: Any, step: Any, w: Array, other: Any, u: Array) -> None:
    x, column = rows.values, rows.columns
    a, b = w.dtype.type(step), u.dtype.type(other)
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        k = column[j]
        w[k] += a * x[j]
        u[k] += b * x[j]


add_both = verb({Dense: _add_both_dense, Sparse: _add_both_sparse})  # w += step·x_i, u += other·x_i, in one pass


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


add_class = verb({Dense: _add_class_dense, Sparse: _add_class_sparse})  # w_k += step·x_i


def _add_pair_dense(rows: Rows, i: Any, step: Any, W: Array, up: Any, down: Any) -> None:
    x, v, w = rows.values[i], W[up], W[down]
    size = W.dtype.type(step)
    for j in range(x.size):
        v[j] += size * x[j]
        w[j] -= size * x[j]


def _add_pair_sparse(rows: Rows, i: Any, step: Any, W: Array, up: Any, down: Any) -> None:
    start, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    x, column = rows.values[start:end], rows.columns[start:end]
    size = W.dtype.type(step)
    for j in range(x.size):
        W[column[j], up] += size * x[j]
        W[column[j], down] -= size * x[j]


add_pair = verb({Dense: _add_pair_dense, Sparse: _add_pair_sparse})  # w_up += step·x_i, w_down −= step·x_i


# -- prefetching rows: does nothing when compilation is off ----------------------------------------------------------


def _usual_lines_dense(rows: Rows) -> Any:
    return NONE


def _usual_lines_sparse(rows: Rows) -> Any:
    count = max(rows.starts.size - 1, 1)
    return min(np.uint64(rows.values.size // count) // LINE + ONE, MOST // LINE)


usual_lines = verb({Dense: _usual_lines_dense, Sparse: _usual_lines_sparse})  # cache lines of a row of mean length


def _fetch_dense(rows: Rows, i: Any, near: bool, lines: Any) -> None:
    d = np.uint64(rows.values.shape[1])
    for j in range(i * d, i * d + min(d, MOST), LINE):
        prefetch(rows.values, j, near)


def _fetch_sparse(rows: Rows, i: Any, near: bool, lines: Any) -> None:
    begin, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    last, rest = max(end, ONE) - ONE, begin + lines * LINE
    stop = min(last, begin + MOST)
    for j in range(begin, rest, LINE):
        prefetch(rows.values, min(j, last), near)
        prefetch(rows.columns, min(j, last), near)
    for j in range(rest, stop, LINE):
        prefetch(rows.values, j, near)
        prefetch(rows.columns, j, near)
    prefetch(rows.values, last, near)
    prefetch(rows.columns, last, near)


# Inlined, because a call would cost more than reading a short row, and would test `near` at every cache line.
fetch_row = verb({Dense: _fetch_dense, Sparse: _fetch_sparse}, inline="always")  # the values of row i


def _fetch_rows_dense(rows: Rows, order: Array, t: Any, lines: Any) -> None:
    if rows.values.size > CACHED:
        fetch_row(rows, order[t + FAR_DENSE], False, lines)
        fetch_row(rows, order[t + NEAR_DENSE], True, lines)
    else:
        fetch_row(rows, order[t + SOON_DENSE], True, lines)


def _fetch_rows_sparse(rows: Rows, order: Array, t: Any, lines: Any) -> None:
    if rows.values.size > CACHED:
        fetch_row(rows, order[t + FAR_SPARSE], False, lines)
        fetch_row(rows, order[t + NEAR_SPARSE], True, lines)
    else:
        fetch_row(rows, order[t + SOON_SPARSE], True, lines)


def _fetch_start_dense(rows: Rows, i: Any) -> None:
    pass


def _fetch_start_sparse(rows: Rows, i: Any) -> None:
    prefetch(rows.starts, i, True)


fetch_rows = verb({Dense: _fetch_rows_dense, Sparse: _fetch_rows_sparse}, inline="always")  # rows after order[t]
fetch_start = verb({Dense: _fetch_start_dense, Sparse: _fetch_start_sparse})  # the offset at which it starts


def _fetch_ahead(rows: Rows, y: Array, order: Array, t: Any, lines: Any) -> None:
    """Prefetch later rows and their labels (the first column of an indicator) before the visit to row order[t].

    `lines` are the `usual_lines` of the rows, computed once.
    """
    # The hardware prefetches sequential rows.
    if t + STARTS < np.uint64(order.size) and order[t + STARTS] != order[t] + STARTS:
        fetch_start(rows, order[t + STARTS])
        prefetch(y, order[t + STARTS] * np.uint64(y.size // y.shape[0]), True)
        fetch_rows(rows, order, t, lines)


fetch_ahead = verb({Dense: _fetch_ahead, Sparse: _fetch_ahead}, inline="always")
