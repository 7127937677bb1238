"""Statistics of the rows for the change of variables of `scaled_objective`: means, variances, correlated directions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device

from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.objective.row_reader import Array, Host, RowReader, find_bad_row, largest, to_host

MOST_SHIFT_SUMMED = 2.0  # deviations of a mean from 0 where rows are summed as they are: the variance loses two bits
MOST_EXPONENT = 16  # of the values of such rows
ALIKE = 2.5  # a quotient of eigenvalues in a first basis below which it does not become 3 in better ones
RIDGE = 1.0  # ρ, as a share of the mean of all λ: directions that vary less than that are not lengthened further


def shift_and_unit(sample: Host, plain: bool = True) -> tuple[Host, Host]:
    """For each feature a number near its mean, and a power of 2 near its largest difference from that.

    If `plain`, all are 0 and 1 where that costs no precision, so that rows can be summed as they are.
    """
    shift = sample.mean(axis=0, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused by its row, later
        centred = sample - shift.astype(sample.dtype)
        _, exponent = np.frexp(np.maximum(centred.max(axis=0), -centred.min(axis=0)))
        deviation = np.sqrt(np.einsum("ij,ij->j", centred, centred) / sample.shape[0])
    near = (np.abs(shift) <= MOST_SHIFT_SUMMED * deviation).all()
    if plain and near and (np.abs(exponent) <= MOST_EXPONENT).all():
        return np.zeros_like(shift), np.ones_like(shift)
    return shift, np.ldexp(1.0, np.clip(exponent, -100, 100))


def moments(
    rows: RowReader,
    weights: Array | None,
    shift: Host,
    unit: Host,
    pulls: Callable[[int, int, Array], list[Array]],
    dtype: Any = None,
) -> tuple[Host, Host, list[Array]]:
    """The mean and the variance of each feature, and the sums of `pulls` of (x − shift)/unit.

    `shift`, near the mean, keeps the variance from cancelling, and `unit`, powers of 2 near the largest values, keeps
    their squares from overflowing. `pulls` is asked for each block: begin, end, rows; the last of more than one sum
    is that of share·xxᵀ. Rows as they are have the type `dtype`.
    """
    xp = rows.xp
    pulled: list[Array] = []
    plain = not shift.any() and bool((unit == 1.0).all())
    near, over = rows.place(shift, rows.dtype), rows.place(1.0 / unit, rows.dtype)
    total = rows.n if weights is None else float(xp.sum(weights))
    sums = xp.zeros((2, rows.d), dtype=xp.float64, device=rows.device)
    for begin, end, block in rows.blocks(dtype=dtype if plain else None):
        if not plain:
            block = block - near
            block *= over
        found = pulls(begin, end, block)
        pulled = [before + each for before, each in zip(pulled, found, strict=True)] if pulled else found
        squares = len(found) == 1
        if weights is None:
            first = xp.sum(block, axis=0, dtype=rows.dtype)
            second = _sum_of_squares(xp, xp.astype(block, rows.dtype, copy=False)) if squares else first
        else:
            share = weights[None, begin:end]
            block = xp.astype(block, rows.dtype, copy=False)
            first = (share @ block)[0, :]
            second = (share @ (block * block))[0, :] if squares else first
        sums += xp.astype(xp.stack([first, second]), xp.float64)
    if len(pulled) > 1:
        shares = total / rows.n
        sums[1, :] = xp.astype(xp.linalg.diagonal(pulled[-1]), xp.float64) * shares
    first, second = to_host(sums) / total
    if not np.isfinite(second).all():
        find_bad_row(rows)
        raise NotFiniteError("The variance of a feature overflowed", largest(rows))
    return shift + unit * first, unit**2 * np.maximum(second - first**2, 0.0), pulled


def _sum_of_squares(xp: Any, block: Array) -> Array:
    """Of each column, without a copy where NumPy can."""
    if isinstance(block, np.ndarray):
        return np.einsum("ij,ij->j", block, block)
    return xp.sum(block * block, axis=0)


@dataclass(frozen=True)
class Directions:
    """The metric M, either I − Q diag(cut) Qᵀ or as a whole, and what the rows look like in it.

    Attributes
    ----------
    Q : array of shape (d, k)
    cut : array of shape (k,)
        1 − λ_k/λ_i from a sample of rows.
    largest : float
        The largest curvature of a batch.
    square : float
        The mean of zᵀMz.
    least : float
        The least factor by which M multiplies a direction.
    M, covariance : array of shape (d, d), optional
        From all rows.
    """

    Q: Array
    cut: Array
    largest: float
    square: float
    least: float = 1.0
    M: Array | None = None
    covariance: Array | None = None


def ridge_metric(xp: Any, covariance: Array, share: float) -> tuple[Array, float]:
    """M = ρ(C + ρI)⁻¹ and ρ, a share of the mean of all λ: an inverse takes a GPU far less time than eigenvectors."""
    d = covariance.shape[0]
    rho = share * float(xp.linalg.trace(covariance)) / d + 1e-30
    one = xp.eye(d, dtype=covariance.dtype, device=device(covariance))
    return xp.linalg.inv(covariance / rho + one), rho


def all_directions(xp: Any, covariance: Array, Z: Array, batch: int, by_row: bool = False) -> Directions:
    """From the covariance of all rows, where they are; Z is a sample of rows."""
    M, rho = ridge_metric(xp, covariance, RIDGE)
    lengths = xp.sum(Z * (Z @ M), axis=1)
    v = xp.ones((Z.shape[1], 1), dtype=Z.dtype, device=device(Z))
    for _ in range(12):
        v = Z.T @ (Z @ (M @ v)) / Z.shape[0]
        size = xp.sqrt(xp.sum(v * (M @ v)))
        v = v / (size + 1e-30)
    largest = float(size)
    if by_row:
        largest = max(largest, float(xp.max(lengths)) / (4.0 * batch))
    least = rho / (_largest_eigenvalue(xp, covariance) + rho)
    none = xp.zeros((Z.shape[1], 0), dtype=Z.dtype, device=device(Z))
    return Directions(none, none[0, :], max(largest, 1e-12), float(xp.mean(lengths)), least, M, covariance)


def _largest_eigenvalue(xp: Any, C: Array) -> float:
    """By squaring C: its power 2¹² has, up to a factor, the projection on the largest direction."""
    power = C / (xp.linalg.trace(C) + 1e-30)
    for _ in range(12):
        power = power @ power
        power = power / (xp.linalg.trace(power) + 1e-30)
    return float(xp.sum(C * power))


def directions(Z: Host, batch: int, most: int, seed: int, by_row: bool = False) -> Directions:
    """From a sample of standardised rows, by subspace iteration; none where the features are nearly uncorrelated.

    If `by_row`, a single row of the sample must not make a step of its batch too large: where slopes have no bound,
    one such step is never made good.
    """
    rng = np.random.default_rng((seed, 1))
    k = min(most, Z.shape[1] // 4, Z.shape[0] // 4)
    Q, cut = np.zeros((Z.shape[1], 0), Z.dtype), np.zeros(0, Z.dtype)
    if k:
        basis = rng.standard_normal((Z.shape[1], k + 8 if k + 8 < Z.shape[1] else k)).astype(Z.dtype)
        for enough in (ALIKE, 0.0, 0.0):
            basis = np.linalg.qr(Z.T @ (Z @ basis))[0]
            projected = Z @ basis
            sizes, vectors = np.linalg.eigh(projected.T @ projected / Z.shape[0])
            sizes, vectors = sizes[::-1][:k], vectors[:, ::-1][:, :k]
            if sizes[0] <= enough * sizes[-1]:
                break
        if sizes[0] > 3.0 * sizes[-1] > 0.0:
            Q, cut = np.ascontiguousarray(basis @ vectors), 1.0 - sizes[-1] / sizes
    if cut.size:
        Z = Z - (Z @ Q) * (1.0 - np.sqrt(1.0 - cut)) @ Q.T
    some = Z[rng.permutation(Z.shape[0])[:batch]]  # rows may come in any order, small ones first
    v: Host = np.asarray(rng.standard_normal(Z.shape[1]), Z.dtype)
    largest = 0.0
    for _ in range(12):
        v = some.T @ (some @ (v / max(float(np.linalg.norm(v)), 1e-30))) / some.shape[0]
        largest = float(np.linalg.norm(v))
    lengths = np.einsum("ij,ij->i", Z, Z)
    if by_row:
        largest = max(largest, float(lengths.max()) / (4.0 * batch))
    return Directions(Q, cut, max(largest, 1e-12), float(lengths.mean()), 1.0 - float(cut.max(initial=0.0)))
