"""Very many columns: what can be said about rows that no simplex could hold.

1. Epochs of dual coordinate descent for the hard margin, minimise ½‖w‖² with y_i f_i ≥ 1: α_i ≥ 0 moves to make
   y_i f_i = 1, w = Σ α_i z_i (Hsieh et al. 2008). After an epoch without an error w may be a plane; that is checked
   exactly. Few values are gone through thousands of times, very many a few dozen times.
2. Two rows that are the same but for their labels: λ = (½, ½).
3. A pure column, y_i x_ij ≥ 0 on every row left: its rows can be satisfied by its weight alone. They are peeled off,
   and so on with the rest, each layer's weights large enough for what lies deeper. What is left is the core.
4. A core of few columns is decided as any other rows are. Its witness holds for all rows, since rows of the core are 0
   in the peeled columns; and a peeled column is a direction that separates weakly.

5. Rows that are not very many: the widest plane, which the corral of `hulls` finds however narrow it is.

Otherwise the verdict is "undecided", with the witness if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.compiling import compiled
from rosenblatt.learn.rows import add, dot, fetch_ahead, norm
from rosenblatt.prove.exact.arithmetic import Signed

Array = np.ndarray[Any, Any]
EPOCHS = 24  # at least so many
VISITS = 3e8  # values gone through, where so many epochs are fewer: a few seconds
LAYERS = 30


@dataclass(frozen=True)
class Peeled:
    """Layers of pure columns with their signs and rows; the rows and columns of the core."""

    layers: tuple[tuple[Array, Array, Array], ...]  # columns, signs, rows
    rows: Array
    columns: Array


def twins(z: Signed) -> tuple[int, int] | None:
    """Two rows that are the same but for their labels."""
    X = z.table.X
    seen: dict[int, tuple[int, int]] = {}
    for i, side in enumerate(z.sides.tolist()):
        start, end = X.indptr[i], X.indptr[i + 1]
        key = hash((X.indices[start:end].tobytes(), X.data[start:end].tobytes()))
        other = seen.setdefault(key, (i, side))
        if other[1] != side and not (X[other[0]] - X[i]).data.any():
            return int(other[0]), i
    return None


def peel(z: Signed) -> Peeled:
    """Take pure columns off, layer by layer."""
    X = z.table.X
    owner = np.repeat(np.arange(z.n), np.diff(X.indptr))
    signs = np.sign(X.data).astype(np.int8) * z.sides[owner]
    left, layers = np.ones(z.n, dtype=bool), []
    columns = X.indices
    live = signs != 0
    for _ in range(LAYERS):
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
    return Peeled(tuple(layers), np.flatnonzero(left), np.unique(columns[live]))


@compiled
def descend(rows: Any, y: Array, order: Array, alpha: Array, w: Array, b: Array, bias: float) -> int:
    """One epoch: α_i ← max(0, α_i − (y_i f_i − 1)/‖z_i‖²); how many rows were met on the wrong side."""
    wrong = 0
    n = np.uint64(order.size)
    for t in range(n):
        fetch_ahead(rows, y, order, t)
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


def descended(z: Signed, index: Array) -> Array | None:
    """W that has these rows strictly on its side, if the epochs that they are worth find one."""
    stored = int(np.diff(z.table.X.indptr)[index].sum()) + index.size
    alpha, w, b = np.zeros(z.n), np.zeros(z.table.shape[1]), np.zeros(1)
    rng = np.random.default_rng(0)
    for _ in range(max(EPOCHS, int(VISITS / max(stored, 1)))):
        order = rng.permutation(index).astype(np.uint64)
        if descend(z.table.rows, z.sides, order, alpha, w, b, float(z.intercept)) == 0:
            plane = np.append(w, b) if z.intercept else w
            if (z.signs(plane)[index] > 0).all():  # w moved on after it met a row
                return plane
    return None


def crowned(z: Signed, peeled: Peeled, core: Array) -> Array:
    """The plane of the core with weights for the layers, the deepest first, each as large as its rows need."""
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


def pure_direction(z: Signed, peeled: Peeled) -> tuple[Fraction, ...] | None:
    """The pure columns of the first layer, each with its sign: a direction that separates weakly."""
    if not peeled.layers:
        return None
    w = [Fraction(0)] * z.width
    columns, signs, _ = peeled.layers[0]
    for j, sign in zip(columns, signs, strict=True):
        w[int(j)] = Fraction(int(sign))
    return tuple(w)
