"""The search for the widest plane: Wolfe's corral on the hulls of the classes, a pool of rows at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.prove.exact.arithmetic import Signed
from rosenblatt.prove.max_margin.min_norm_point import Corral

Array = np.ndarray[Any, Any]
ALL_AT_ONCE = 20_000  # values: fewer are searched as a whole in every round
POOL, MORE, ROUNDS = 150, 60, 100
EXTREME = 400  # rows as long as this power of two, or as short, are brought to length 1: their squares stay doubles


class Hulls:
    """The rows z_i = y_i x_i (moved to their middle, with an intercept) in which the corral looks for its own."""

    def __init__(self, z: Signed) -> None:
        self.z = z
        self.centre = np.zeros(z.table.shape[1])
        if z.intercept and z.dense:
            some = np.unique(np.linspace(0, z.n - 1, num=min(z.n, 1000)).astype(np.int64))
            self.centre = np.asarray(z.table.X[some], dtype=np.float64).mean(axis=0)
        self.groups = 2 if z.intercept else 1

    def take(self, rows: Array) -> Any:
        """Rows of z."""
        part = self.z.table.X[rows]
        side = self.z.sides[rows].astype(np.float64)
        if not self.z.dense:
            return part.astype(np.float64).multiply(side[:, None]).tocsr()
        return (part - self.centre) * side[:, None]

    def group(self, rows: Array) -> Array:
        """The group of each row."""
        if self.groups == 1:
            return np.zeros(len(rows), dtype=np.int64)
        return (self.z.sides[rows] < 0).astype(np.int64)

    def values(self, w: Array) -> Array:
        """z·w of every row."""
        f = np.empty(self.z.n)
        for begin, end in self.z.spans():
            f[begin:end] = self.z.table.X[begin:end] @ w
        return (f - float(self.centre @ w)) * self.z.sides


def _lowest(hulls: Hulls, f: Array, rows: Array, most: int) -> Array:
    """Of each group the rows of the smallest f."""
    found = []
    group = hulls.group(rows)
    for g in range(hulls.groups):
        mine = np.flatnonzero(group == g)
        if mine.size > most:
            mine = mine[np.argpartition(f[mine], most)[:most]]
        found.append(rows[mine])
    return np.concatenate(found)


class Search:
    """The corral, on a pool of rows; it knows rows by their places in the pool."""

    def __init__(self, hulls: Hulls, pool: Array, start: Array) -> None:
        self.hulls = hulls
        self.pool = np.zeros(0, dtype=np.int64)
        self.Z: Any = None
        self.steps = 0
        self.join(pool)
        self.corral = Corral(hulls.groups, float(np.median(self.squares)) or 1.0)
        f = self.Z @ start
        for bar in self.bars:
            self._add(int(np.argmin(f + bar)), 1.0)
        self.corral.settle()
        self.w = self._point()

    def join(self, rows: Array) -> bool:
        """Add rows to the pool; whether any is new."""
        new = np.setdiff1d(rows, self.pool)
        self.pool = np.concatenate([self.pool, new])
        part = self.hulls.take(new)
        if isinstance(part, np.ndarray):
            self.Z = part if self.Z is None else np.concatenate([self.Z, part])
            self.squares = np.einsum("ij,ij->i", self.Z, self.Z)
        else:
            self.Z = part if self.Z is None else sp.vstack([self.Z, part], format="csr")
            self.squares = np.asarray(self.Z.multiply(self.Z).sum(axis=1)).ravel()
        self.group = self.hulls.group(self.pool)
        self.bars = [np.where(self.group == g, 0.0, np.inf) for g in range(self.hulls.groups)]
        return new.size > 0

    def _add(self, at: int, alpha: float = 0.0) -> bool:
        products = self.Z[self.corral.rows] @ self.Z[at].T
        products = products if isinstance(products, np.ndarray) else products.toarray().ravel()
        return self.corral.add(at, int(self.group[at]), products, float(self.squares[at]), alpha)

    def _point(self) -> Array:
        return np.asarray(self.Z[self.corral.rows].T @ self.corral.alpha)

    def run(self, tol: float, most: int) -> bool:
        """Let rows of the pool join until none lies lower than the corral by more than tol allows."""
        for _ in range(most):
            self.steps += 1
            f = self.Z @ self.w
            norm2 = float(self.w @ self.w)
            inside = f[self.corral.rows] * self.corral.alpha
            mine = self.corral.group[: self.corral.size]
            lows, best, drop = 0.0, -1, 0.0
            for g, bar in enumerate(self.bars):
                at = int(np.argmin(f + bar))
                lows += float(f[at])
                fall = float(inside[mine == g].sum() - f[at])
                if fall > drop:
                    best, drop = at, fall
            if lows >= (1 - tol) * norm2:
                return True
            if best < 0 or best in self.corral.rows or not self._add(best) or not self.corral.settle():
                return False
            self.w = self._point()
        return False


def search(z: Signed, tol: float) -> tuple[Array, Array, Array, int]:
    """W, the rows and α of the corral, and the steps taken; as near the widest plane as floats get."""
    hulls = Hulls(z)
    every = np.arange(z.n)
    small = z.n * max(z.width, 1) <= ALL_AT_ONCE
    start = _start(hulls)
    f = np.zeros(0) if small else hulls.values(start)
    found = Search(hulls, every if small else _lowest(hulls, f, every, POOL), start)
    best, width = found.w, -np.inf
    bars = [np.where(hulls.group(every) == g, 0.0, np.inf) for g in range(hulls.groups)]
    for _ in range(ROUNDS):
        closed = found.run(0.25 * tol if small else 0.1 * tol, 40 * (z.width + 50))
        if small:
            return found.w, found.pool[found.corral.rows], found.corral.alpha, found.steps
        f = hulls.values(found.w)
        lows = sum(float((f + bar).min()) for bar in bars)
        norm = float(np.linalg.norm(found.w)) or 1.0
        if lows / norm > width:
            best, width = found.w, lows / norm
        if lows >= (1 - 0.5 * tol) * norm**2 or not found.join(_lowest(hulls, f, every, MORE)) or not closed:
            break
    return best, found.pool[found.corral.rows], found.corral.alpha, found.steps


def plane_of(z: Signed, tol: float) -> tuple[Array | None, Array, Array, int]:
    """The plane that the search finds, if it has every row strictly on its side; rows, α and steps as from `search`."""
    values = z.table.X if z.dense else z.table.X.data
    most = max(values.max(initial=0.0), -values.min(initial=0.0))
    power = int(np.frexp(most)[1]) if most > 0 else 0
    power = power if abs(power) > EXTREME else 0
    near = replace(z, table=replace(z.table, X=_over(z.table.X, power))) if power else z
    w, rows, alpha, steps = search(near, tol)
    plane = placed(near, w)
    if plane is not None and power:
        plane = _given_back(plane, power, z.intercept)
    if plane is None or (z.signs(plane) <= 0).any():
        return None, rows, alpha, steps
    return plane, rows, alpha, steps


def _over(X: Any, power: int) -> Any:
    """X over a power of two."""
    if isinstance(X, np.ndarray):
        return np.ldexp(X.astype(np.float64), -power)
    return sp.csr_matrix((np.ldexp(X.data.astype(np.float64), -power), X.indices, X.indptr), shape=X.shape)


def _given_back(plane: Array, power: int, intercept: bool) -> Array:
    """The plane of rows over a power of two as one of the rows themselves; longer or shorter, if it must be."""
    powers = np.full(plane.size, -power)
    if intercept:
        powers[-1] = 0
    some = plane != 0
    high = int((np.frexp(plane)[1] + powers)[some].max())
    low = int((np.frexp(plane)[1] + powers)[some].min())
    shift = -high + (900 if high - low > 900 else 0) if high > 900 or low < -900 else 0
    return np.asarray(np.ldexp(plane, powers + shift))


def _start(hulls: Hulls) -> Array:
    """The way from the mean of one class to that of the other, on a sample."""
    z = hulls.z
    total = np.zeros(hulls.centre.size)
    for g in range(hulls.groups):
        mine = np.flatnonzero(hulls.group(np.arange(z.n)) == g)
        some = mine[np.unique(np.linspace(0, mine.size - 1, num=min(mine.size, 1000)).astype(np.int64))]
        total += np.asarray(hulls.take(some).mean(axis=0)).ravel()
    return total


def placed(z: Signed, w: Array) -> Array | None:
    """The plane of normal w midway between the classes, scaled so that y·f is 1 on the nearest rows."""
    if not np.isfinite(w).all() or not w.any():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        f = z.products(np.append(w, 0.0) if z.intercept else w)[0]
        if not z.intercept:
            return w / f.min() if f.min() > 0 else None
        high, low = float(f[z.sides > 0].min()), float(f[z.sides < 0].min())
        width = (high + low) / 2
        return np.append(w, (low - high) / 2) / width if width > 0 else None
