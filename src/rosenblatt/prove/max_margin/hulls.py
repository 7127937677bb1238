"""The widest plane in floating point: Wolfe's algorithm on the hulls of the classes, a pool of rows at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.prove.exact.arithmetic import SignedRows
from rosenblatt.prove.max_margin.min_norm_point import MinNormPoint

Array = np.ndarray[Any, Any]
SMALL_PROBLEM = 20_000  # values: with at most this many, the pool is all rows
FIRST_POOL, ROWS_PER_ROUND, MAX_ROUNDS = 150, 60, 100
EXTREME_EXPONENT = 400  # X is rescaled beyond this power of two, so that squares do not overflow or underflow


class ClassHulls:
    """The rows z_i = y_i x_i whose hulls are searched; centred if there is an intercept and X is dense."""

    def __init__(self, z: SignedRows) -> None:
        self.z = z
        self.centre = np.zeros(z.table.shape[1])
        if z.intercept and z.dense:
            some = np.unique(np.linspace(0, z.n - 1, num=min(z.n, 1000)).astype(np.int64))
            self.centre = np.asarray(z.table.X[some], dtype=np.float64).mean(axis=0)
        self.groups = 2 if z.intercept else 1

    def take(self, rows: Array) -> Any:
        """These rows of z."""
        part = self.z.table.X[rows]
        side = self.z.sides[rows].astype(np.float64)
        if not self.z.dense:
            return part.astype(np.float64).multiply(side[:, None]).tocsr()
        return (part - self.centre) * side[:, None]

    def group(self, rows: Array) -> Array:
        """The group of each row: its class with an intercept, else a single group."""
        if self.groups == 1:
            return np.zeros(len(rows), dtype=np.int64)
        return (self.z.sides[rows] < 0).astype(np.int64)

    def values(self, w: Array) -> Array:
        """z·w for every row."""
        f = np.empty(self.z.n)
        for begin, end in self.z.spans():
            f[begin:end] = self.z.table.X[begin:end] @ w
        return (f - float(self.centre @ w)) * self.z.sides


def _lowest_rows(hulls: ClassHulls, f: Array, rows: Array, most: int) -> Array:
    """The rows with the smallest f in each group."""
    found = []
    group = hulls.group(rows)
    for g in range(hulls.groups):
        mine = np.flatnonzero(group == g)
        if mine.size > most:
            mine = mine[np.argpartition(f[mine], most)[:most]]
        found.append(rows[mine])
    return np.concatenate(found)


class MinNormSearch:
    """Wolfe's algorithm on a pool of rows; `point` refers to rows by their index in the pool."""

    def __init__(self, hulls: ClassHulls, pool: Array, start: Array) -> None:
        self.hulls = hulls
        self.pool = np.zeros(0, dtype=np.int64)
        self.Z: Any = None
        self.steps = 0
        self.add_rows(pool)
        self.point = MinNormPoint(hulls.groups, float(np.median(self.squares)) or 1.0)
        f = self.Z @ start
        for mask in self.masks:
            self._add(int(np.argmin(f + mask)), 1.0)
        self.point.minimise()
        self.w = self._combination()

    def add_rows(self, rows: Array) -> bool:
        """Add rows to the pool; returns whether any of them is new."""
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
        self.masks = [np.where(self.group == g, 0.0, np.inf) for g in range(self.hulls.groups)]
        return new.size > 0

    def _add(self, at: int, alpha: float = 0.0) -> bool:
        products = self.Z[self.point.rows] @ self.Z[at].T
        products = products if isinstance(products, np.ndarray) else products.toarray().ravel()
        return self.point.add(at, int(self.group[at]), products, float(self.squares[at]), alpha)

    def _combination(self) -> Array:
        return np.asarray(self.Z[self.point.rows].T @ self.point.alpha)

    def run(self, tol: float, most: int) -> bool:
        """Major cycles: add the lowest row of the pool until no row is lower than `tol` allows; False if it stalls."""
        for _ in range(most):
            self.steps += 1
            f = self.Z @ self.w
            norm2 = float(self.w @ self.w)
            inside = f[self.point.rows] * self.point.alpha
            mine = self.point.group[: self.point.size]
            lows, best, largest = 0.0, -1, 0.0
            for g, mask in enumerate(self.masks):
                at = int(np.argmin(f + mask))
                lows += float(f[at])
                decrease = float(inside[mine == g].sum() - f[at])
                if decrease > largest:
                    best, largest = at, decrease
            if lows >= (1 - tol) * norm2:
                return True
            if best < 0 or best in self.point.rows or not self._add(best) or not self.point.minimise():
                return False
            self.w = self._combination()
        return False


def search_hulls(z: SignedRows, tol: float) -> tuple[Array, Array, Array, int]:
    """W, the rows and α of the point of least norm, and the steps taken; as close to optimal as rounding allows."""
    hulls = ClassHulls(z)
    every = np.arange(z.n)
    small = z.n * max(z.width, 1) <= SMALL_PROBLEM
    start = _initial_direction(hulls)
    f = np.zeros(0) if small else hulls.values(start)
    found = MinNormSearch(hulls, every if small else _lowest_rows(hulls, f, every, FIRST_POOL), start)
    best, width = found.w, -np.inf
    masks = [np.where(hulls.group(every) == g, 0.0, np.inf) for g in range(hulls.groups)]
    for _ in range(MAX_ROUNDS):
        closed = found.run(0.25 * tol if small else 0.1 * tol, 40 * (z.width + 50))
        if small:
            return found.w, found.pool[found.point.rows], found.point.alpha, found.steps
        f = hulls.values(found.w)
        lows = sum(float((f + mask).min()) for mask in masks)
        norm = float(np.linalg.norm(found.w)) or 1.0
        if lows / norm > width:
            best, width = found.w, lows / norm
        if (
            lows >= (1 - 0.5 * tol) * norm**2
            or not found.add_rows(_lowest_rows(hulls, f, every, ROWS_PER_ROUND))
            or not closed
        ):
            break
    return best, found.pool[found.point.rows], found.point.alpha, found.steps


def find_widest_plane(z: SignedRows, tol: float) -> tuple[Array | None, Array, Array, int]:
    """The plane found, or None if it does not separate the rows; and rows, α and steps as from `search_hulls`."""
    values = z.table.X if z.dense else z.table.X.data
    most = max(values.max(initial=0.0), -values.min(initial=0.0))
    power = int(np.frexp(most)[1]) if most > 0 else 0
    power = power if abs(power) > EXTREME_EXPONENT else 0
    near = replace(z, table=replace(z.table, X=_over_power_of_two(z.table.X, power))) if power else z
    w, rows, alpha, steps = search_hulls(near, tol)
    plane = centred_plane(near, w)
    if plane is not None and power:
        plane = _rescale_plane(plane, power, z.intercept)
    if plane is None or (z.signs(plane) <= 0).any():
        return None, rows, alpha, steps
    return plane, rows, alpha, steps


def _over_power_of_two(X: Any, power: int) -> Any:
    """X divided by a power of two."""
    if isinstance(X, np.ndarray):
        return np.ldexp(X.astype(np.float64), -power)
    return sp.csr_matrix((np.ldexp(X.data.astype(np.float64), -power), X.indices, X.indptr), shape=X.shape)


def _rescale_plane(plane: Array, power: int, intercept: bool) -> Array:
    """Convert a plane for rows divided by 2^power to the original rows; scaled if it would overflow or underflow."""
    powers = np.full(plane.size, -power)
    if intercept:
        powers[-1] = 0
    some = plane != 0
    high = int((np.frexp(plane)[1] + powers)[some].max())
    low = int((np.frexp(plane)[1] + powers)[some].min())
    shift = -high + (900 if high - low > 900 else 0) if high > 900 or low < -900 else 0
    return np.asarray(np.ldexp(plane, powers + shift))


def _initial_direction(hulls: ClassHulls) -> Array:
    """The difference of the class means, estimated from a sample."""
    z = hulls.z
    total = np.zeros(hulls.centre.size)
    for g in range(hulls.groups):
        mine = np.flatnonzero(hulls.group(np.arange(z.n)) == g)
        some = mine[np.unique(np.linspace(0, mine.size - 1, num=min(mine.size, 1000)).astype(np.int64))]
        total += np.asarray(hulls.take(some).mean(axis=0)).ravel()
    return total


def centred_plane(z: SignedRows, w: Array) -> Array | None:
    """The plane with normal w halfway between the classes, scaled so that y·f is 1 on the nearest rows."""
    if not np.isfinite(w).all() or not w.any():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        f = z.approximate_products(np.append(w, 0.0) if z.intercept else w)[0]
        if not z.intercept:
            return w / f.min() if f.min() > 0 else None
        high, low = float(f[z.sides > 0].min()), float(f[z.sides < 0].min())
        width = (high + low) / 2
        return np.append(w, (low - high) / 2) / width if width > 0 else None
