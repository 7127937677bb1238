"""Sparse rows with very many columns: separability where the simplex would be too expensive.

These methods are tried in turn:

1. Dual coordinate descent for the hard margin, minimise ½‖w‖² subject to y_i f_i ≥ 1: each step sets α_i ≥ 0 so that
   y_i f_i = 1, w = Σ α_i z_i (Hsieh et al. 2008). After an epoch without mistakes w may separate the rows, which is
   checked exactly. Small data get thousands of epochs, large data a few dozen.
2. Two rows that differ only in their labels are a witness, λ = (½, ½).
3. A pure column has y_i x_ij ≥ 0 on every remaining row, so its weight alone can put the rows that use it on their
   side. These rows are peeled off, and the search repeats with the rest; the weights of each layer are chosen large
   enough to outweigh the deeper ones. The rows that remain are the core.
4. A core with few columns is decided like any other rows. A witness for the core holds for all rows, because rows of
   the core are 0 in the peeled columns; and a peeled column is a direction that separates weakly.
5. If there are not very many values, the widest plane is searched for (`max_margin.hulls`), which succeeds even if the
   margin is very small.

Otherwise the verdict is "undecided", with the witness if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import norm
from rosenblatt.compiled.rows import add, dot, fetch_ahead, usual_lines
from rosenblatt.prove.exact.arithmetic import SignedRows

Array = np.ndarray[Any, Any]
MIN_EPOCHS = 24  # run at least this many
VALUE_VISITS = 3e8  # more epochs are run until this many values have been visited: a few seconds
MAX_LAYERS = 30


@dataclass(frozen=True)
class PureColumnLayers:
    """Layers of pure columns with their signs and rows, and the rows and columns of the remaining core."""

    layers: tuple[tuple[Array, Array, Array], ...]  # columns, signs, rows
    rows: Array
    columns: Array


def contradicting_rows(z: SignedRows) -> tuple[int, int] | None:
    """Two rows that differ only in their labels."""
    X = z.table.X
    seen: dict[int, tuple[int, int]] = {}
    for i, side in enumerate(z.sides.tolist()):
        start, end = X.indptr[i], X.indptr[i + 1]
        key = hash((X.indices[start:end].tobytes(), X.data[start:end].tobytes()))
        other = seen.setdefault(key, (i, side))
        if other[1] != side and not (X[other[0]] - X[i]).data.any():
            return int(other[0]), i
    return None


def peel_pure_columns(z: SignedRows) -> PureColumnLayers:
    """Peel off pure columns, layer by layer."""
    X = z.table.X
    owner = np.repeat(np.arange(z.n), np.diff(X.indptr))
    signs = np.sign(X.data).astype(np.int8) * z.sides[owner]
    left, layers = np.ones(z.n, dtype=bool), []
    columns = X.indices
    live = signs != 0
    for _ in range(MAX_LAYERS):
        live &= left[owner]
        plus = np.bincount(columns[live & (signs > 0)], minlength=X.shape[1])
        minus = np.bincount(columns[live & (signs < 0)], minlength=X.shape[1])
        pure = (plus > 0) ^ (minus > 0)
        held = live & pure[columns]
        rows = np.unique(owner[held])
        if not rows.size:
            break
        found = np.flatnonzero(pure)
        layers.append((found, np.where(plus[found] > 0, 1, -1), rows))
        left[rows] = False
    live &= left[owner]
    return PureColumnLayers(tuple(layers), np.flatnonzero(left), np.unique(columns[live]))


@compiled
def dual_descent_epoch(rows: Any, y: Array, order: Array, alpha: Array, w: Array, b: Array, bias: float) -> int:
    """One epoch of α_i ← max(0, α_i − (y_i f_i − 1)/‖z_i‖²); returns the number of mistakes."""
    wrong = 0
    n = np.uint64(order.size)
    lines = usual_lines(rows)
    for t in range(n):
        fetch_ahead(rows, y, order, t, lines)
        i = order[t]
        side = np.float64(y[i])
        f = side * (dot(rows, i, w) + b[0])
        if f <= 0.0:
            wrong += 1
        if f < 1.0 or alpha[i] > 0.0:
            length = norm(rows, i) + bias
            moved = max(alpha[i] - (f - 1.0) / length, 0.0) if length > 0.0 else 0.0
            step = (moved - alpha[i]) * side
            if step != 0.0:
                alpha[i] = moved
                add(rows, i, step, w)
                b[0] += step * bias
    return wrong


def dual_descent_plane(z: SignedRows, index: Array) -> Array | None:
    """W that has these rows strictly on their side, if dual coordinate descent finds one in time."""
    stored = int(np.diff(z.table.X.indptr)[index].sum()) + index.size
    alpha, w, b = np.zeros(z.n), np.zeros(z.table.shape[1]), np.zeros(1)
    rng = np.random.default_rng(0)
    for _ in range(max(MIN_EPOCHS, int(VALUE_VISITS / max(stored, 1)))):
        order = rng.permutation(index).astype(np.uint64)
        if dual_descent_epoch(z.table.rows, z.sides, order, alpha, w, b, float(z.intercept)) == 0:
            plane = np.append(w, b) if z.intercept else w
            if (z.signs(plane)[index] > 0).all():  # w changed after some rows were visited
                return plane
    return None


def add_layer_weights(z: SignedRows, peeled: PureColumnLayers, core: Array) -> Array:
    """Extend the plane of the core by weights for the layers, deepest first, each as large as its rows need."""
    w = core.copy()
    for columns, signs, rows in reversed(peeled.layers):
        part = z.table.X[rows]
        f = part @ w[: z.table.shape[1]] + (w[-1] if z.intercept else 0.0)
        f = f * z.sides[rows]
        unit = np.zeros(z.table.shape[1])
        unit[columns] = signs
        lift = (part @ unit) * z.sides[rows]
        need = float(((np.maximum(-f, 0.0) + np.abs(core).max(initial=1.0)) / lift).max())
        w[columns] += signs * 2.0 ** np.ceil(np.log2(need))
    return w


def pure_direction(z: SignedRows, peeled: PureColumnLayers) -> tuple[Fraction, ...] | None:
    """The direction of the pure columns of the first layer, each with its sign; it separates weakly."""
    if not peeled.layers:
        return None
    w = [Fraction(0)] * z.width
    columns, signs, _ = peeled.layers[0]
    for j, sign in zip(columns, signs, strict=True):
        w[int(j)] = Fraction(int(sign))
    return tuple(w)
