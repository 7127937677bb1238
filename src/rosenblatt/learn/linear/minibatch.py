"""Linear models by matrix products: descent in mini-batches, for several penalties at once, on any array library.

The objective is that of `stochastic`, F(W, b) = D(W, b) + α·P(W), D the mean loss. Its variables are changed so that
neither the units of the features nor their correlations matter:

    z = (x − μ)/t          f = s·(z·V + c)          F = κ·(D' + P')

μ and t are the means and deviations of the features, s and κ the units of y and of the loss (1 for classes). A batch of
B rows Z makes the step

    G = Zᵀ S/B + α'V          U ← βU + MG          V ← V − η(1 − step/steps)·U          M = I − Q diag(1 − λ_k/λ_i) Qᵀ

with the slopes S = ∂ℓ/∂f (for softmax p − y). M divides the k largest directions of the features' correlations, taken
from a sample of rows, by their excess over the k-th (Ma and Belkin 2017), so that they do not limit the step size.
η = (1 − β)/(L + α'), with L the largest curvature of a batch, by power iteration. The first step is over all rows: at
V = 0 the gradient needs only the sums of the rows of each class, which the pass that finds μ and t adds up; a sample of
rows decides on its length. The model is the mean of the last iterates.

P penalties are P blocks of columns of V: one product serves all of them. Rows of any real type are widened one batch
at a time; on a GPU rows of 16 bits are multiplied as they are, with sums and weights of 32 bits. Nothing waits for the
device within an epoch.

S. Ma, M. Belkin, "Diving into the shallows: a computational perspective on large-scale shallow learning", NIPS 2017.
B. Polyak, "Some methods of speeding up the convergence of iteration methods", 1964. B. Polyak, A. Juditsky,
"Acceleration of stochastic approximation by averaging", 1992.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, device, is_cupy_array

from rosenblatt.data.errors import NotFiniteError
from rosenblatt.learn.linear.array_losses import ARRAY_LOSSES, softmax

Array = Any  # an array of whichever library the rows are in
Host = np.ndarray[Any, Any]
MOMENTUM = 0.9
TAIL = 0.1  # the last part of the steps, whose iterates are averaged
SAMPLE = 2048  # rows from which the directions and the step size are computed
MOST_TRIED = 1024  # rows of the sample by which the length of the first step is chosen
ENOUGH = 0.01  # of the loss at 0: the least by which a step twice as long must lower it
DIRECTIONS = 64  # of the features' correlations that M divides at most
MOST_RUNS = 1 << 18  # longer data are shuffled in runs of consecutive rows
RUN_BYTES = 1 << 14  # of a run of rows read from a file
SMALLEST_BATCH, BATCH, DEVICE_BATCH = 16, 512, 16384  # on a device a step costs its host as much as 10,000 rows
UNBOUNDED_SLOPES = ("squared", "squared_hinge", "exponential")
MOST_SCORES = 1 << 28  # of a batch, on a device: 1 GB
MOST_NARROW = 2.0**14  # of a value in 16 bits that enters a sum
BLOCK_VALUES, DEVICE_BLOCK_VALUES = 1 << 18, 1 << 24  # of the rows that are widened at once, where all are read


@dataclass(frozen=True)
class Settings:
    """What to minimise and how.

    Attributes
    ----------
    loss : str
        A name of `ARRAY_LOSSES`; "softmax" is the log loss of several classes.
    columns : int
        K: one per class, or 1 for two classes and for numbers.
    alphas : tuple of float
        The penalties, each a model of its own.
    l1_ratio : float
        ρ of ρΣ|w| + ½(1 − ρ)Σw².
    standardised : bool
        Whether the penalty applies to the weights of standardised features; else to those of the features as given.
    intercept : bool
    width : float
        Of the losses that have one.
    epochs : int
        The budget, over which the step size falls to 0.
    batch : int or None
        Rows per step; None: by the number of rows and the device.
    seed : int
    """

    loss: str
    columns: int
    alphas: tuple[float, ...] = (1e-4,)
    l1_ratio: float = 0.0
    standardised: bool = False
    intercept: bool = True
    width: float = 0.1
    epochs: int = 3
    batch: int | None = None
    seed: int = 0


class BadRowError(ValueError):
    """A row holds NaN or infinity."""


def type_name(dtype: Any) -> str:
    """The name of a type of numbers, in whichever library and byte order."""
    return str(dtype.name if isinstance(dtype, np.dtype) else dtype).rpartition(".")[2]


def take(xp: Any, array: Array, index: Array) -> Array:
    """Rows of an array by number; in torch without `take`, which looks for numbers below 0 first."""
    return array.index_select(0, index) if hasattr(array, "index_select") else xp.take(array, index, axis=0)


def wide_product(xp: Any, a: Array, b: Array, dtype: Any) -> Array:
    """a·b of 16 bits, summed and returned in `dtype`: the sum over a batch may exceed what 16 bits can hold."""
    try:
        return xp.mm(a, b, out_dtype=dtype)
    except (AttributeError, TypeError, NotImplementedError):  # CuPy, torch before 2.8, devices without it
        return xp.astype(a, dtype) @ xp.astype(b, dtype)


def on_gpu(X: Array) -> bool:
    """Whether the array is in the memory of an accelerator."""
    return is_cupy_array(X) or "cuda" in str(device(X)).lower()


class RowReader:
    """Rows of X, by number, widened; X may be a memory map, or anything with `shape`, `dtype` and `gather_rows`.

    Parameters
    ----------
    X : array of shape (n, d)
    present : ndarray of whole numbers, optional
        The rows that are used; None for all.
    """

    def __init__(self, X: Array, present: Host | None = None) -> None:
        self.X = X = X.detach() if hasattr(X, "detach") else X  # torch would keep every step to differentiate it
        self.own = hasattr(X, "gather_rows")
        self.xp: Any = array_namespace(np.empty(0) if self.own else X)
        self.device = None if self.own else device(X)
        self.gpu = not self.own and on_gpu(X)
        self.in_file = self.own or isinstance(X, np.memmap)
        self.present = None if present is None else self.place(present.astype(np.int64))
        self.n = int(X.shape[0] if present is None else present.size)
        self.d = int(X.shape[1])
        self.half = self.gpu and type_name(X.dtype) in ("float16", "bfloat16")
        # Doubles stay doubles; all narrower numbers become floats of 32 bits.
        self.dtype = self.xp.float64 if type_name(X.dtype) == "float64" else self.xp.float32

    def place(self, values: Any, dtype: Any = None) -> Array:
        """Values from the host, where the rows are."""
        return self.xp.asarray(values, dtype=dtype, device=self.device)

    def used(self, each: Array) -> Array:
        """Of one value per row of X, those of the rows that are used."""
        return each if self.present is None else self.xp.take(each, self.present, axis=0)

    def at(self, index: Array) -> Array:
        """The rows at these positions, widened."""
        if self.present is not None:
            index = self.xp.take(self.present, index)
        rows = self.X.gather_rows(index) if self.own else take(self.xp, self.X, index)
        return self.xp.astype(self.xp.asarray(rows), self.dtype, copy=False)

    def blocks(self, columns: int = 1) -> Iterator[tuple[int, int, Array]]:
        """All rows in order, block by block, widened: begin, end, rows; `columns` are computed from each."""
        size = max(1, (DEVICE_BLOCK_VALUES if self.gpu else BLOCK_VALUES) // max(self.d, columns, 1))
        for begin in range(0, self.n, size):
            end = min(begin + size, self.n)
            if self.present is None and not self.own:
                yield begin, end, self.xp.astype(self.X[begin:end, :], self.dtype, copy=False)
            else:
                yield begin, end, self.at(self.place(np.arange(begin, end)))

    def number(self, position: int) -> int:
        """The row of X at this position."""
        return position if self.present is None else int(self.present[position])


def find_bad_row(rows: RowReader) -> None:
    """Refuse the first value that is NaN or infinite, if there is one, by its row and column."""
    xp = rows.xp
    for begin, _, block in rows.blocks():
        fine = xp.isfinite(block)
        if not bool(xp.all(fine)):
            row = int(xp.argmin(xp.astype(xp.all(fine, axis=1), xp.int32)))
            column = int(xp.argmin(xp.astype(fine[row, :], xp.int32)))
            what = "NaN" if bool(xp.isnan(block[row, column])) else "infinity"
            raise BadRowError(f"Input X contains {what} at row {rows.number(begin + row)}, column {column}.")


def largest(rows: RowReader) -> tuple[int, int, float]:
    """Row, column and value of the entry with the largest absolute value."""
    xp, found = rows.xp, (0, 0, 0.0)
    for begin, _, block in rows.blocks():
        at = int(xp.argmax(xp.abs(xp.reshape(block, (-1,)))))
        row, column = divmod(at, rows.d)
        value = float(block[row, column])
        if abs(value) > abs(found[2]):
            found = (rows.number(begin + row), column, value)
    return found


def longest(rows: RowReader) -> float:
    """max‖x‖²; refuses values that are not finite."""
    xp, largest = rows.xp, 0.0
    for _, _, block in rows.blocks():
        found = float(xp.max(xp.sum(block * block, axis=1)))
        if not math.isfinite(found):
            find_bad_row(rows)
        largest = max(largest, found)
    return largest


def scores_of(X: Array, W: Host, b: Host) -> Array:
    """X·Wᵀ + b, (n, K), where X is; rows are widened a block at a time."""
    return RowReader(X).xp.concat([scores for _, scores in score_blocks(RowReader(X), W, b)])


def score_blocks(rows: RowReader, W: Host, b: Host) -> Iterator[tuple[slice, Array]]:
    """X·Wᵀ + b, block by block, with the positions of its rows; refuses values that are not finite."""
    planes, shift = rows.place(W.T, rows.dtype), rows.place(b, rows.dtype)
    for begin, end, block in rows.blocks(W.shape[0]):
        scores = block @ planes + shift
        if not bool(rows.xp.all(rows.xp.isfinite(scores))):
            find_bad_row(rows)
        yield slice(begin, end), scores


def moments(
    rows: RowReader, weights: Array | None, shift: Host, unit: Host, pulls: Callable[[int, int, Array], Array]
) -> tuple[Host, Host, Array]:
    """The mean and the variance of each feature, and the sum of `pulls` of (x − shift)/unit.

    `shift`, near the mean, keeps the variance from cancelling, and `unit`, powers of 2 near the largest values, keeps
    their squares from overflowing. `pulls` is asked for each block: begin, end, rows.
    """
    xp, pulled = rows.xp, 0.0
    near, over = rows.place(shift, rows.dtype), rows.place(1.0 / unit, rows.dtype)
    sums = xp.zeros((2, rows.d), dtype=xp.float64, device=rows.device)
    for begin, end, block in rows.blocks():
        block = block - near
        block *= over
        pulled += pulls(begin, end, block)
        if weights is None:
            first = xp.sum(block, axis=0)
            block *= block
            second = xp.sum(block, axis=0)
        else:
            share = weights[None, begin:end]
            first, second = (share @ block)[0, :], (share @ (block * block))[0, :]
        sums += xp.astype(xp.stack([first, second]), xp.float64)
    first, second = to_host(sums) / (rows.n if weights is None else float(xp.sum(weights)))
    if not np.isfinite(second).all():
        find_bad_row(rows)
        raise NotFiniteError("The variance of a feature overflowed", largest(rows))
    return shift + unit * first, unit**2 * np.maximum(second - first**2, 0.0), pulled


def to_host(array: Array) -> Host:
    """The array as NumPy's."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
    if is_cupy_array(array):
        array = array.get()
    return np.asarray(array)


@dataclass(frozen=True)
class Directions:
    """The directions that M divides, Q (d, k), by how much, 1 − λ_k/λ_i, and the largest curvature that is left."""

    Q: Host
    cut: Host
    largest: float


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
        for _ in range(3):
            basis = np.linalg.qr(Z.T @ (Z @ basis))[0]
        projected = Z @ basis
        sizes, vectors = np.linalg.eigh(projected.T @ projected / Z.shape[0])
        sizes, vectors = sizes[::-1][:k], vectors[:, ::-1][:, :k]
        if sizes[0] > 3.0 * sizes[-1] > 0.0:
            Q, cut = np.ascontiguousarray(basis @ vectors), 1.0 - sizes[-1] / sizes
    Z = Z - (Z @ Q) * (1.0 - np.sqrt(1.0 - cut)) @ Q.T
    some = Z[rng.permutation(Z.shape[0])[:batch]]  # rows may come in any order, small ones first
    v: Host = np.asarray(rng.standard_normal(Z.shape[1]), Z.dtype)
    largest = 0.0
    for _ in range(12):
        v = some.T @ (some @ (v / max(float(np.linalg.norm(v)), 1e-30))) / some.shape[0]
        largest = float(np.linalg.norm(v))
    if by_row:
        largest = max(largest, float((Z * Z).sum(axis=1).max()) / (4.0 * batch))
    return Directions(Q, cut, max(largest, 1e-12))


@dataclass(frozen=True)
class Minimum:
    """How near a point is to the minimum, one number per penalty.

    Attributes
    ----------
    loss, penalty : ndarray of shape (P,)
        D and α·P, whose sum is F.
    gradient : ndarray of shape (P,)
        ‖∇F‖ in the weights and intercepts of the features as given; of L1, the subgradient nearest to 0.
    decrease : ndarray of shape (P,)
        How much a step along the gradient could lower F, to first order.
    errors : int
        Rows that the model of the first penalty gets wrong.
    """

    loss: Host
    penalty: Host
    gradient: Host
    decrease: Host
    errors: int


class MiniBatchDescent:
    """One problem, for all penalties: its change of variables, its weights, and epochs of steps.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, of any real type and any array library.
    y : array of shape (n,) or (n, K)
        Numbers, ±1 for two classes, whole numbers from 0 to K − 1 for classes, or an indicator of labels; where X is.
    settings : Settings
    weights : array of shape (n,), optional
        Of the rows; where X is.
    present : ndarray, optional
        The rows that are used; y and weights have all rows.
    """

    def __init__(
        self, X: Array, y: Array, settings: Settings, weights: Array | None = None, present: Host | None = None
    ) -> None:
        self.settings, self.rows = settings, RowReader(X, present)
        self.xp = xp = self.rows.xp
        rows, self.K, self.P = self.rows, settings.columns, len(settings.alphas)
        self.softmax = settings.loss == "softmax"
        self.loss = ARRAY_LOSSES["log" if self.softmax else settings.loss]
        self.damped = settings.loss == "exponential"
        self.mass, self.weights, self.y = 1.0, None, rows.used(y)
        if weights is not None:
            self.weights = xp.astype(rows.used(weights), rows.dtype, copy=False)
            self.mass = float(xp.mean(self.weights))
        if self.softmax:
            self.y = xp.astype(self.y, xp.int64, copy=False)
        self.classes = xp.arange(self.K, dtype=self.y.dtype, device=rows.device)
        self.batch = settings.batch or default_batch(rows.n, rows.gpu, self.P * self.K)
        self.batches = max(1, round(rows.n / self.batch))
        self._units()
        G = self._scale()
        self._restart()
        self._first_step(G)

    # -- the change of variables -------------------------------------------------------------------------------------

    def _units(self) -> None:
        """Of y, its mean and deviation, and of the loss, κ."""
        self.middle, self.s, self.kappa = 0.0, 1.0, 1.0
        if self.loss.of == "residual":
            y = to_host(self.y).astype(np.float64)
            mass = None if self.weights is None else to_host(self.weights).astype(np.float64)
            self.middle = float(np.average(y, weights=mass)) if self.settings.intercept else 0.0
            self.s = math.sqrt(float(np.average((y - self.middle) ** 2, weights=mass))) or 1.0
            self.kappa = self.s**2
            if self.loss.steepest:
                steepest = self.loss.steepest * (self.settings.width if self.loss.by_width else 1.0)
                self.kappa = min(self.kappa, self.s * steepest) or self.kappa

    def _scale(self) -> Array:
        """μ, t, the directions and the step sizes; returns the gradient in V, (K, d), where all scores are 0."""
        rows, settings = self.rows, self.settings
        rng = np.random.default_rng((settings.seed, 0))
        size = min(rows.n, SAMPLE)
        chosen = np.sort(rng.choice(rows.n, size, replace=False)) if size < rows.n else np.arange(size)
        self.sample = rows.place(chosen)
        sample = to_host(rows.at(self.sample))
        shift = sample.mean(axis=0, dtype=np.float64)
        if not np.isfinite(shift).all():
            find_bad_row(rows)
        _, exponent = np.frexp(np.abs(sample - shift).max(axis=0))
        unit = np.ldexp(1.0, np.clip(exponent, -100, 100))
        mean, variance, sums = moments(rows, self.weights, shift, unit, self._sums_by_class)
        average, deviation = mean, np.sqrt(variance)
        constant = deviation <= 8.0 * np.finfo(sample.dtype).eps * np.abs(mean)
        if not settings.intercept:
            deviation, mean = np.hypot(deviation, mean), np.zeros_like(mean)
            constant = deviation == 0.0
        scale = deviation
        if not settings.standardised:  # so that the penalty never curves F more than the loss does
            most = max(settings.alphas) * (1.0 - settings.l1_ratio) * self.s**2 / self.kappa
            scale = np.hypot(deviation, math.sqrt(most / self._curvature))
        self.mean, self.t = mean, np.where(constant, 1.0, scale)
        self.inverse = np.where(constant, 0.0, 1.0 / self.t)
        # ½(1 − ρ)α w² = ½ α' V²/t², in units of κ.
        self.l2 = np.ones(rows.d) if settings.standardised else self.t**-2.0
        Z = (sample - mean.astype(sample.dtype)) * self.inverse.astype(sample.dtype)
        if self.weights is not None:
            share = to_host(take(self.xp, self.weights, self.sample)) / self.mass
            Z = Z * np.sqrt(share).astype(sample.dtype)[:, None]
        # The proximal step of L1 needs a diagonal metric.
        most_directions = DIRECTIONS if settings.l1_ratio == 0.0 else 0
        found = directions(Z, self.batch, most_directions, settings.seed, settings.loss in UNBOUNDED_SLOPES)
        self.found = found
        square = float(np.vdot(Z, Z)) / size
        self.L = self._curvature * found.largest
        self.of_intercepts = self._curvature
        if self.softmax:  # a class meets its own rows only: their share of all, and single rows of the batch
            self.L = min(self.L, 2.0 / self.K * found.largest + 0.5 * square / self.batch)
            self.of_intercepts = min(0.5, 2.0 * float(self.xp.max(sums[:, -1])) / rows.n)
        self._allow_for_heavy_rows()
        self._place()
        own, every = self._slopes_at_zero()
        unit, towards, of_all = (
            rows.place(each * self.inverse, rows.dtype) for each in (unit, shift - self.mean, average - self.mean)
        )
        return own * (sums[:, :-1] * unit + sums[:, -1:] * towards) / rows.n + every * of_all

    def _allow_for_heavy_rows(self) -> None:
        """A batch that holds a row of large weight curves more than the others, which may all lack it."""
        if self.weights is not None:
            shares = to_host(self.weights).astype(np.float64) / self.mass
            heavy = np.sort(np.argsort(-shares, kind="stable")[:SAMPLE])
            Z = (to_host(self.rows.at(self.rows.place(heavy))) - self.mean) * self.inverse
            lengths = np.einsum("ij,ij->i", Z, Z)
            self.L = max(self.L, self._curvature * float((shares[heavy] * lengths).max()) / (4.0 * self.batch))
            self.of_intercepts = max(self.of_intercepts, self._curvature * float(shares.max()) / self.batch)
        self.of_intercepts = max(self.of_intercepts, self.L)

    def _slopes_at_zero(self) -> tuple[float, float]:
        """Where all scores are 0 the slope of a column is own·[its class] + every; of a single column, as summed."""
        if self.K == 1:
            return 1.0, 0.0
        if self.softmax:
            return -1.0, 1.0 / self.K
        slope = float(self.loss.both(self.xp, self.xp.zeros((1,)), self.settings.width)[1][0])
        return 2.0 * slope, -slope

    def _sums_by_class(self, begin: int, end: int, block: Array) -> Array:
        """Σ share·(x, 1) over the rows of each class, (K, d + 1); of a single column, times the slope at score 0."""
        xp, y, columns = self.xp, self.y[begin:end, ...], self.classes[:, None]
        share = 1.0 if self.weights is None else self.weights[begin:end] / self.mass
        one = xp.ones((end - begin,), dtype=block.dtype, device=self.rows.device) * share
        if self.K == 1:
            at_zero = xp.zeros((end - begin, 1, 1), dtype=block.dtype, device=self.rows.device)
            factors = self.losses(at_zero, self.targets(y))[1][:, 0, 0][None, :] * one
        elif y.ndim == 2:
            factors = xp.astype((y != 0).T, block.dtype) * one
        elif isinstance(block, np.ndarray):
            of_classes = sp.csc_array((one, y, np.arange(end - begin + 1)), shape=(self.K, end - begin))
            return np.column_stack([of_classes @ block, np.bincount(y, one, self.K).astype(block.dtype)])
        else:
            factors = xp.astype(y[None, :] == columns, block.dtype) * one
        if self.rows.half:  # a value far larger than those of the sample must not become infinite
            block = xp.clip(block, -MOST_NARROW, MOST_NARROW)
        sums = self.product(self.narrowed(factors), block)
        return xp.concat([sums, xp.sum(factors, axis=1, keepdims=True)], axis=1)

    def _first_step(self, G: Array) -> None:
        """V ← −step·MG, the step by the objective of some of the sample's rows; one for each penalty.

        The objective is convex along the line. Without a penalty its minimum is furthest from 0: steps are doubled
        until the loss no longer falls, and each penalty takes the best of them.
        """
        xp, rows, index = self.xp, self.rows, self.sample[:: max(1, self.sample.shape[0] // MOST_TRIED)]
        D = -self.divided(xp.permute_dims(G, (1, 0)))
        block = rows.at(index)
        block -= self.mu
        block *= self.over
        f, y = block @ D, self.targets(take(xp, self.y, index))
        share = 1.0 if self.weights is None else xp.take(self.weights, index) / self.mass
        wide, losses, penalties, steps = xp.tile(D, (1, self.P)), [], [], [0.0]
        while True:
            loss = self.losses(steps[-1] * f[:, None, :], y)[0][:, 0] * share
            losses.append(float(xp.mean(loss)))
            if not 0.0 < losses[0] < np.inf:  # nothing to lower, in these rows
                return
            if not losses[-1] < np.inf or (len(steps) > 8 and losses[-1] > losses[-2] - ENOUGH * losses[0]):
                break
            penalties.append(to_host(self.penalty(steps[-1] * wide)))
            steps.append(2.0 * steps[-1] or 2.0**-6 / self.L)
        values = np.array(losses[: len(penalties)])[:, None] + np.array(penalties)
        best = np.array(steps)[np.argmin(values, axis=0)]
        self.V += wide * rows.place(np.repeat(best, self.K)[None, :], rows.dtype)  # in the layout that U has

    @property
    def _curvature(self) -> float:
        return 0.5 if self.softmax else self.loss.curvature

    def _place(self) -> None:
        """Put what the steps need where the rows are."""
        rows, settings, place = self.rows, self.settings, self.rows.place
        unit = self.s**2 / self.kappa
        alphas = np.repeat(np.asarray(settings.alphas, np.float64) * unit, self.K)
        smooth = alphas * (1.0 - settings.l1_ratio)
        worst = smooth * (float(self.l2[self.inverse > 0].max(initial=0.0)))
        self.steepness = (self.L + worst)[:: self.K]
        self.eta = place(((1.0 - MOMENTUM) / (self.L + worst))[None, :], rows.dtype)
        self.smooth = place(smooth[None, :], rows.dtype)
        # Without a smooth penalty the units of the features may be too small for their squares.
        self.by_feature = place(self.l2[:, None] if smooth.any() else np.zeros((rows.d, 1)), rows.dtype)
        self.sharp = None
        if settings.l1_ratio > 0.0:
            self.sharp = place(np.sqrt(self.l2)[:, None] * (alphas * settings.l1_ratio / self.s), rows.dtype)
        self.mu, self.over = place(self.mean, rows.dtype), place(self.inverse, rows.dtype)
        self.Q, self.cut = place(self.found.Q, rows.dtype), place(self.found.cut[:, None], rows.dtype)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _restart(self) -> None:
        xp, rows, columns = self.xp, self.rows, self.P * self.K
        self.V, self.c, self.U, self.u = (
            xp.zeros(shape, dtype=rows.dtype, device=rows.device)
            for shape in ((rows.d, columns), (1, columns), (rows.d, columns), (1, columns))
        )
        self.sum_V = self.sum_c = None
        self.step = self.summed = self.epochs = 0

    def start(self, W: Host, b: Host) -> None:
        """Start from these weights (K, d) and intercepts (K,), for every penalty."""
        place, dtype = self.rows.place, self.rows.dtype
        V = (W * np.where(self.inverse > 0.0, self.t, 0.0) / self.s).T  # a constant feature has no weight
        c = (b - self.middle + W @ self.mean) / self.s
        self.V, self.c = place(np.tile(V, self.P), dtype), place(np.tile(c, self.P)[None, :], dtype)

    def order(self, epoch: int) -> Array:
        """A fresh order of the rows; by (seed, epoch)."""
        n = self.rows.n
        run = math.ceil(n / MOST_RUNS)
        if self.rows.in_file:
            run = max(run, math.ceil(RUN_BYTES / max(1, self.rows.d * self.rows.X.dtype.itemsize)))
        run = max(1, min(run, self.batch // 16))  # a batch holds rows from many places
        runs = np.random.default_rng((self.settings.seed, 2, epoch)).permutation(n // run)
        found = self.rows.place(runs)
        if run > 1:
            found = self.xp.reshape(found[:, None] * run + self.rows.place(np.arange(run))[None, :], (-1,))
            found = self.xp.concat([found, self.rows.place(np.arange(n // run * run, n))])
        return found

    def standardise(self, centred: Array) -> Array:
        """Rows less μ as z, in the same memory unless products have another type."""
        centred *= self.over
        return self.narrowed(centred)

    def narrowed(self, values: Array) -> Array:
        """Values in the type of the products: 16 bits on a GPU where X has them."""
        return self.xp.astype(values, self.rows.X.dtype) if self.rows.half else values

    def product(self, a: Array, b: Array) -> Array:
        """a·b in 32 bits or more, where a has the type of the products."""
        return wide_product(self.xp, a, self.narrowed(b), self.rows.dtype) if self.rows.half else a @ b

    def scores(self, z: Array, V: Array, c: Array) -> Array:
        """The scores z·V + c."""
        f = self.product(z, V)
        f += c
        return f

    def by_penalty(self, f: Array) -> Array:
        """Scores (B, P·K) as (B, P, K)."""
        return self.xp.reshape(f, (f.shape[0], self.P, self.K))

    def targets(self, y: Array) -> Array:
        """What the columns should say of these rows: codes (B, 1, 1) for softmax, else ±1 or numbers (B, 1, K)."""
        xp, dtype = self.xp, self.rows.dtype
        if self.softmax:
            return y[:, None, None]
        if self.K == 1:
            return xp.astype(y, dtype)[:, None, None]
        on = y != 0 if y.ndim == 2 else y[:, None] == self.classes[None, :]
        return 2.0 * xp.astype(on, dtype)[:, None, :] - 1.0

    def losses(self, f: Array, target: Array) -> tuple[Array, Array]:
        """The loss of each row and penalty (B, P), and the slopes (B, P, K), of scores z·V + c (B, P, K)."""
        xp, width = self.xp, self.settings.width
        if self.softmax:
            return softmax(xp, f, target, self.classes)
        if self.loss.of == "residual":
            value, slope = self.loss.both(xp, self.s * f + (self.middle - target), width)
            return value[:, :, 0] / self.kappa, slope * (self.s / self.kappa)
        value, slope = self.loss.both(xp, target * f, width)
        return xp.sum(value, axis=-1), target * slope

    def epoch(self) -> Array:
        """One pass; the mean loss of the pass for each penalty, (P,), before its steps, not yet on the host."""
        xp, rows, order = self.xp, self.rows, self.order(self.epochs)
        steps = self.settings.epochs * self.batches
        total = xp.zeros((self.P,), dtype=rows.dtype, device=rows.device)
        for k in range(self.batches):
            begin, end = (rows.n * at // self.batches for at in (k, k + 1))
            index = order[begin:end]
            block = rows.at(index)
            block -= self.mu
            z = self.standardise(block)
            share = None if self.weights is None else xp.take(self.weights, index) / self.mass
            target = self.targets(take(xp, self.y, index))
            loss, G, g = self._gradient(z, self.scores(z, self.V, self.c), target, share, self.damped)
            total += loss
            self._move(G / (end - begin), g / (end - begin), max(1.0 - self.step / steps, 0.0))
            self.step += 1
            if self.step > (1.0 - TAIL) * steps and self.sharp is None:
                self._add_to_mean()
        self.epochs += 1
        return self.kappa * total / rows.n

    def _gradient(
        self, z: Array, f: Array, target: Array, share: Array | None, damped: bool = False
    ) -> tuple[Array, Array, Array]:
        """Σ ℓ for each penalty, and its gradients in V and c, over these rows with the scores f.

        If `damped`, a column whose mean slope exceeds 1 is divided by it: e^−m curves as much as it falls.
        """
        xp = self.xp
        loss, slopes = self.losses(self.by_penalty(f), target)
        if share is not None:
            loss, slopes = loss * share[:, None], slopes * share[:, None, None]
        flat = xp.reshape(slopes, (slopes.shape[0], self.P * self.K))
        if damped:
            flat = flat / xp.clip(xp.mean(xp.abs(flat), axis=0, keepdims=True), 1.0, None)
        return xp.sum(loss, axis=0), self.product(z.T, flat), xp.sum(flat, axis=0, keepdims=True)

    def _move(self, G: Array, g: Array, fall: float) -> None:
        G += self.by_feature * self.V * self.smooth
        self.U *= MOMENTUM
        self.U += self.divided(G)
        self.V -= (self.eta * fall) * self.U
        if self.sharp is not None:
            most = self.sharp * (self.eta * (fall / (1.0 - MOMENTUM)))
            self.V = self.xp.sign(self.V) * self.xp.clip(self.xp.abs(self.V) - most, 0.0, None)
        if self.settings.intercept:
            self.u *= MOMENTUM
            self.u += g
            self.c -= ((1.0 - MOMENTUM) / self.of_intercepts * fall) * self.u  # which no penalty curves

    def _add_to_mean(self) -> None:
        if self.sum_V is None:
            self.sum_V, self.sum_c, self.summed = self.V * 1.0, self.c * 1.0, 1
        else:
            self.sum_V += self.V
            self.sum_c += self.c
            self.summed += 1

    # -- results -----------------------------------------------------------------------------------------------------

    def point(self) -> tuple[Array, Array]:
        """V and c of the model: the mean of the last iterates, or the iterate before there is one."""
        if self.sum_V is None:
            return self.V, self.c
        return self.sum_V / self.summed, self.sum_c / self.summed

    def planes(self, V: Array, c: Array) -> tuple[Array, Array]:
        """Weights (P, K, d) and intercepts (P, K) of the features as given."""
        xp, P, K = self.xp, self.P, self.K
        W = V * (self.over * self.s)[:, None]
        b = self.s * c[0, :] + self.middle - self.mu @ W
        return xp.permute_dims(xp.reshape(W, (self.rows.d, P, K)), (1, 2, 0)), xp.reshape(b, (P, K))

    def _missed(self, f: Array, y: Array) -> Array:
        """How many rows the first penalty's model gets wrong, by the tie rule; of labels, rows with any label wrong.

        Residuals are errors if they exceed the width.
        """
        xp, f = self.xp, f[:, : self.K]
        if self.loss.of == "residual":
            missed = xp.abs(self.s * f[:, 0] + (self.middle - xp.astype(y, f.dtype))) > self.settings.width
        elif y.ndim == 2:
            missed = xp.any((f > 0.0) != (y != 0), axis=1)
        elif self.K == 1:
            missed = (f[:, 0] > 0.0) != (y > 0)
        else:
            missed = xp.argmax(f, axis=1) != xp.astype(y, xp.int64)
        return xp.sum(xp.astype(missed, xp.int64))

    def held_out(self, V: Array, c: Array, y: Array, weights: Array | None, present: Host) -> tuple[Host, Host]:
        """The mean loss and the share of right answers, (P,) each, on other rows of the same X; not for numbers."""
        xp, rows = self.xp, RowReader(self.rows.X, present)
        y = xp.astype(rows.used(y), self.y.dtype, copy=False)
        share = xp.ones((rows.n,), dtype=rows.dtype, device=rows.device)
        if weights is not None:
            share = xp.astype(rows.used(weights), rows.dtype)
        loss, right = (xp.zeros((self.P,), dtype=rows.dtype, device=rows.device) for _ in range(2))
        for begin, end, block in rows.blocks(self.P * self.K):
            f = self.scores(self.standardise(block - self.mu), V, c)
            truth = y[begin:end, ...]
            f = self.by_penalty(f)
            right += xp.sum(self._right(f, truth) * share[begin:end, None], axis=0)
            loss += xp.sum(self.losses(f, self.targets(truth))[0] * share[begin:end, None], axis=0)
        if not bool(xp.all(xp.isfinite(loss))):
            find_bad_row(rows)
        total = float(xp.sum(share))
        return to_host(loss).astype(np.float64) / total, to_host(right).astype(np.float64) / total

    def _right(self, f: Array, y: Array) -> Array:
        """The share of right answers of each row and penalty, (B, P); of labels, the share of them."""
        xp = self.xp
        if y.ndim == 2:
            hit = (f > 0.0) == (y != 0)[:, None, :]
            return xp.mean(xp.astype(hit, f.dtype), axis=-1)
        if self.K == 1:
            return xp.astype((f[:, :, 0] > 0.0) == (y > 0)[:, None], f.dtype)
        return xp.astype(xp.argmax(f, axis=-1) == y[:, None], f.dtype)

    def whole(self, V: Array, c: Array) -> tuple[Array, Array, Array, Array]:
        """The mean loss for each penalty, in units of κ, its gradients in V and c, and the errors, over all rows."""
        rows = self.rows
        total: list[Any] = [0.0, 0.0, 0.0, 0]
        for begin, end, block in rows.blocks(self.P * self.K):
            share = None if self.weights is None else self.weights[begin:end] / self.mass
            y, z = self.y[begin:end, ...], self.standardise(block - self.mu)
            f = self.scores(z, V, c)
            parts = [self._missed(f, y)]  # before the losses, which may use the memory of f
            parts = [*self._gradient(z, f, self.targets(y), share), *parts]
            total = [before + part for before, part in zip(total, parts, strict=True)]
        loss, G, g = (each / rows.n for each in total[:3])
        return loss, G, g * float(self.settings.intercept), total[3]

    def gradient_as_given(self, V: Array, c: Array) -> tuple[Array, Array]:
        """∂F/∂W (P, K, d) and ∂F/∂b (P, K), in the features as given, of the smooth part of F."""
        _, G, g, _ = self.whole(V, c)
        return self._as_given(G + self.by_feature * V * self.smooth, g)

    def _as_given(self, G: Array, g: Array) -> tuple[Array, Array]:
        # At a fixed intercept b = s·c − μ·W a weight also moves c.
        unit = self.kappa / self.s
        G = unit * (G * self.rows.place(self.t[:, None], self.rows.dtype) + self.mu[:, None] * g)
        shape = (self.rows.d, self.P, self.K)
        return self.xp.permute_dims(self.xp.reshape(G, shape), (1, 2, 0)), unit * self.xp.reshape(g, shape[1:])

    def report(self, V: Array, c: Array) -> Minimum:
        """How near the objective is to its minimum at this point."""
        xp = self.xp
        loss, G, g, wrong = self.whole(V, c)
        G = G + self.by_feature * V * self.smooth
        if self.sharp is not None:  # the subgradient nearest to 0
            at_zero = xp.sign(G) * xp.clip(xp.abs(G) - self.sharp, 0.0, None)
            G = xp.where(V == 0.0, at_zero, G + self.sharp * xp.sign(V))
        W, b = self._as_given(G, g)
        return Minimum(
            self.kappa * to_host(loss).astype(np.float64),
            self.kappa * to_host(self.penalty(V)).astype(np.float64),
            to_host(xp.sqrt(xp.sum(W * W, axis=(1, 2)) + xp.sum(b * b, axis=1))).astype(np.float64),
            self.decrease(G, g),
            int(wrong),
        )

    def decrease(self, G: Array, g: Array) -> Host:
        """How much a step along the gradient could lower F, to first order, for each penalty."""
        xp = self.xp
        inner = xp.sum(xp.reshape(G * self.divided(G), (self.rows.d, self.P, self.K)), axis=(0, 2))
        shifts = xp.sum(xp.reshape(g * g, (self.P, self.K)), axis=1)
        found: Host = self.kappa * (
            to_host(inner).astype(np.float64) / self.steepness + to_host(shifts) / self.of_intercepts
        )
        return found

    def divided(self, G: Array) -> Array:
        """MG."""
        return G - self.Q @ (self.cut * (self.Q.T @ G)) if self.Q.shape[1] else G

    def penalty(self, V: Array) -> Array:
        """α·P for each penalty, in units of κ."""
        xp = self.xp
        each = 0.5 * self.smooth * self.by_feature * V * V
        if self.sharp is not None:
            each = each + self.sharp * xp.abs(V)
        return xp.sum(xp.reshape(each, (self.rows.d, self.P, self.K)), axis=(0, 2))


def default_batch(n: int, gpu: bool, columns: int = 1) -> int:
    """Rows per step: a power of 2 that leaves at least 64 steps per epoch, where there are as many rows."""
    most, least = (DEVICE_BATCH, 64) if gpu else (BATCH, SMALLEST_BATCH)
    while gpu and most > least and most * columns > MOST_SCORES:
        most //= 2
    return min(most, max(least, 1 << max(n // 64, 1).bit_length() - 1))


def fit_path(X: Array, y: Array, settings: Settings, weights: Array | None = None) -> tuple[Array, Array]:
    """Minimise F for each penalty; returns weights (P, K, d) and intercepts (P, K), where X is.

    Parameters
    ----------
    X, y, settings, weights
        As in `MiniBatchDescent`.
    """
    descent = MiniBatchDescent(X, y, settings, weights)
    for _ in range(settings.epochs):
        descent.epoch()
    V, c = descent.point()
    if not bool(descent.xp.all(descent.xp.isfinite(V))):
        find_bad_row(descent.rows)
    return descent.planes(V, c)
