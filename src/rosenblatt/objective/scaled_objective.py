"""The objective of a linear model for several penalties at once, in variables whose units are those of the data.

The objective is that of `stochastic`, F(W, b) = D(W, b) + α·P(W), D the mean loss. Its variables are changed so that
neither the units of the features nor their correlations matter:

    z = (x − μ)/t          f = s·(z·V + c)          F = κ·(D' + P')

μ and t are the means and deviations of the features, s and κ the units of y and of the loss (1 for classes). With the
slopes S = ∂ℓ/∂f (for softmax p − y) B rows Z have the gradient

    G = Zᵀ S/B + α'V          MG          M = I − Q diag(1 − λ_k/λ_i) Qᵀ

M divides the k largest directions of the features' correlations, taken from a sample of rows, by their excess over the
k-th (Ma and Belkin 2017), so that they do not limit the step size. On a GPU, where a product of all rows costs little,
M = ρ(C + ρI)⁻¹, with C the covariance of all rows. L is the largest curvature of a batch that is left, by power
iteration. At V = 0 the gradient over all rows needs only the sums of the rows of each class, which the pass
that finds μ and t adds up.

P penalties are P blocks of columns of V: one product serves all of them. Where the means are near 0, rows are
multiplied as they are, x·(V/t), which spares copies of them. On a GPU rows of 16 bits are multiplied in 16 bits, with
sums and weights of 32 bits.

S. Ma, M. Belkin, "Diving into the shallows: a computational perspective on large-scale shallow learning", NIPS 2017.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.objective.feature_statistics import all_directions, directions, moments, shift_and_unit
from rosenblatt.objective.losses import LOSSES
from rosenblatt.objective.minibatch_settings import Settings
from rosenblatt.objective.row_reader import (
    Array,
    Host,
    RowReader,
    find_bad_row,
    take,
    to_host,
    wide_product,
)
from rosenblatt.objective.softmax import softmax

SAMPLE = 2048  # rows from which the directions and the step size are computed
REACH = 100.0  # of a minimum's intercepts, as in `duality_gap`, whose gradients are in double precision
DIRECTIONS = 128  # of the features' correlations that M divides at most, where they come from a sample
MOST_DECOMPOSED = 4096  # features whose covariance a GPU decomposes
UNBOUNDED_SLOPES = ("squared", "squared_hinge", "exponential")
MOST_NARROW = 2.0**14  # of a value in 16 bits that enters a sum
MOST_SHIFT_MULTIPLIED = 8.0  # deviations of a mean from 0 where rows are multiplied as they are: rounding grows as much
NARROW_UNITS = (2.0**-8, 4.0)  # of the features, t, for which V/t can be held in 16 bits


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
    gap : float
        A bound on F less its minimum, of the first penalty; see `ScaledObjective.gap`.
    errors : int
        Rows that the model of the first penalty gets wrong.
    """

    loss: Host
    penalty: Host
    gradient: Host
    decrease: Host
    gap: float
    errors: int


class ScaledObjective:
    """F for all penalties: its change of variables, its curvature, and its value and gradient at any point.

    Parameters
    ----------
    rows : RowReader
    y : array of shape (n,) or (n, K)
        Numbers, ±1 for two classes, whole numbers from 0 to K − 1 for classes, or an indicator of labels; where X is.
    settings : Settings
    weights : array of shape (n,), optional
        Of the rows; where X is.
    batch : int
        Rows of a batch, whose curvature L is.
    """

    def __init__(self, rows: RowReader, y: Array, settings: Settings, weights: Array | None, batch: int) -> None:
        self.settings, self.rows, self.batch = settings, rows, batch
        self.xp = xp = rows.xp
        self.K, self.P = settings.columns, len(settings.alphas)
        self.softmax = settings.loss == "softmax"
        self.loss = LOSSES["log" if self.softmax else settings.loss]
        self.damped = not math.isfinite(self.loss.steep)
        self.mass, self.weights, self.y = 1.0, None, rows.used(y)
        if weights is not None:
            self.weights = xp.astype(rows.used(weights), rows.dtype, copy=False)
            self.mass = float(xp.mean(self.weights))
        if self.softmax:
            self.y = xp.astype(self.y, xp.int64, copy=False)
        self.classes = xp.arange(self.K, dtype=self.y.dtype, device=rows.device)
        self._kept_columns: Any = None
        self._units()
        self.at_zero = self._scale()  # the gradient in V where all scores are 0, (K, d)

    # -- the change of variables -------------------------------------------------------------------------------------

    def _units(self) -> None:
        """The mean and the standard deviation of y, and κ of the loss."""
        self.middle, self.s, self.kappa = 0.0, 1.0, 1.0
        if self.loss.of == "residual":
            y = to_host(self.y).astype(np.float64)
            mass = None if self.weights is None else to_host(self.weights).astype(np.float64)
            self.middle = float(np.average(y, weights=mass)) if self.settings.intercept else 0.0
            self.s = math.sqrt(float(np.average((y - self.middle) ** 2, weights=mass))) or 1.0
            self.kappa = self.s**2
            self.kappa = min(self.kappa, self.s * self.loss.slopes(self.settings.width)[1]) or self.kappa

    def _scale(self) -> Array:
        """μ, t, the directions and the step sizes; returns the gradient in V, (K, d), where all scores are 0."""
        rows, settings = self.rows, self.settings
        rng = np.random.default_rng((settings.seed, 0))
        size = min(rows.n, SAMPLE)
        chosen = np.sort(rng.choice(rows.n, size, replace=False)) if size < rows.n else np.arange(size)
        self.sample = rows.place(chosen)
        # The proximal step of L1 needs a diagonal metric.
        metric = DIRECTIONS if settings.l1_ratio == 0.0 else 0
        self.decomposed = rows.gpu and 0 < metric <= rows.d <= MOST_DECOMPOSED
        some = rows.at(self.sample)
        sample = to_host(some[::8, :] if self.decomposed else some)  # what is not computed there waits for the copy
        # A weight times a value in 16 bits may exceed what these can hold, unless values are in units of their feature.
        shift, unit = shift_and_unit(sample, plain=not (rows.half and self.weights is not None))
        if not np.isfinite(shift).all():
            find_bad_row(rows)
        mean, variance, (sums, *crossed) = moments(rows, self.weights, shift, unit, self._sums, self.narrow_type)
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
        Z = some - rows.place(mean, rows.dtype)
        Z *= rows.place(self.inverse, rows.dtype)
        del some, sample  # several times the memory of all else that a fit needs
        if self.weights is not None:
            Z = Z * self.xp.sqrt(take(self.xp, self.weights, self.sample) / self.mass)[:, None]
        unit, towards, of_all, past = (
            rows.place(each * self.inverse, rows.dtype)
            for each in (unit, shift - mean, average - mean, average - shift)
        )
        steep = settings.loss in UNBOUNDED_SLOPES
        if not crossed:
            self.metric = directions(to_host(Z), self.batch, metric, settings.seed, steep)
        else:
            covariance = unit[:, None] * crossed[0] * (unit / rows.n)
            covariance += of_all[:, None] * of_all - past[:, None] * past
            self.metric = all_directions(self.xp, covariance, Z, self.batch, steep)
        self.L, self.counts = self._curvature * self.metric.largest, sums[:, -1]
        self.of_intercepts = self._curvature
        if self.softmax:  # a class meets its own rows only: their share of all, and single rows of the batch
            self.L = min(self.L, 2.0 / self.K * self.metric.largest + 0.5 * self.metric.square / self.batch)
            self.of_intercepts = min(0.5, 2.0 * float(self.xp.max(self.counts)) / rows.n)
        self._allow_for_heavy_rows()
        self._place()
        own, every = self._slopes_at_zero()
        return own * (sums[:, :-1] * unit + sums[:, -1:] * towards) / rows.n + every * of_all

    def _allow_for_heavy_rows(self) -> None:
        """Raise the curvatures for batches with rows of large weight, which other batches may not contain."""
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
        slope = float(self.loss.arrays(self.xp, self.xp.zeros((1,)), self.settings.width)[1][0])
        return 2.0 * slope, -slope

    def _sums(self, begin: int, end: int, block: Array) -> list[Array]:
        """Σ share·(x, 1) over the rows of each class, (K, d + 1); where all directions are wanted, Σ share·xxᵀ too."""
        xp, rows = self.xp, self.rows
        one = xp.ones((end - begin,), dtype=block.dtype, device=rows.device)
        if self.weights is not None:
            one = self.weights[begin:end] / self.mass
        if rows.half and block.dtype != self.narrow_type:
            # A value far larger than those of the sample must not become infinite.
            block = self.narrowed(xp.clip(block, -MOST_NARROW, MOST_NARROW))
        factors = self._factors(self.y[begin:end, ...], one)
        if isinstance(factors, sp.csc_array):
            sums = np.empty((self.K, rows.d + 1), block.dtype)
            sums[:, :-1] = factors @ block
            sums[:, -1] = np.bincount(factors.indices, factors.data, self.K)
        else:
            counts = xp.sum(factors, axis=1, keepdims=True, dtype=rows.dtype)
            sums = xp.concat([self.product(self.narrowed(factors), block), counts], axis=1)
        found = [sums]
        if self.decomposed:
            left = block
            if self.weights is not None:
                left = xp.astype(block, rows.dtype, copy=False) * one[:, None]
                left = self.narrowed(xp.clip(left, -MOST_NARROW, MOST_NARROW) if rows.half else left)
            found.append(self.product(left.T, block))
        return found

    def _factors(self, y: Array, one: Array) -> Array:
        """The weights of the rows in the sums, (K, B): shares; for a single column, times the slope at score 0."""
        xp, rows = self.xp, self.rows
        if self.K == 1:
            at_zero = xp.zeros((one.shape[0], 1, 1), dtype=rows.dtype, device=rows.device)
            return self.losses(at_zero, self.targets(y))[1][:, 0, 0][None, :] * one
        if y.ndim == 2:
            return xp.astype((y != 0).T, rows.dtype) * one
        if isinstance(one, np.ndarray):
            return self._one_hot(y, one)
        own = y[None, :] == self.classes[:, None]
        return xp.astype(own, self.narrow_type) if self.weights is None else xp.astype(own, rows.dtype) * one

    def _one_hot(self, y: Host, one: Host) -> sp.csc_array:
        """Columns with one entry each; kept for the next block, because making it takes longer than its product."""
        found = self._kept_columns
        if found is None or found.shape[1] != y.size:
            found = sp.csc_array((one, y, np.arange(y.size + 1)), shape=(self.K, y.size))
            self._kept_columns = found
        found.data, found.indices = one, y.astype(found.indices.dtype, copy=False)
        return found

    @property
    def _curvature(self) -> float:
        return 0.5 if self.softmax else self.loss.steep if math.isfinite(self.loss.steep) else 1.0

    def _place(self) -> None:
        """Put what the steps need where the rows are."""
        rows, settings, place = self.rows, self.settings, self.rows.place
        unit = self.s**2 / self.kappa
        alphas = np.repeat(np.asarray(settings.alphas, np.float64) * unit, self.K)
        smooth = alphas * (1.0 - settings.l1_ratio)
        l2 = self.l2[self.inverse > 0]
        worst = smooth * float(l2.max(initial=0.0))
        self.steepness = (self.L + worst)[:: self.K]
        self.strength = (smooth * (float(l2.min()) * self.metric.least if l2.size else 0.0))[:: self.K]
        self.smooth = place(smooth[None, :], rows.dtype)
        # Without a smooth penalty the units of the features may be too small for their squares.
        self.by_feature = place(self.l2[:, None] if smooth.any() else np.zeros((rows.d, 1)), rows.dtype)
        self.sharp = None
        if settings.l1_ratio > 0.0:
            self.sharp = place(np.sqrt(self.l2)[:, None] * (alphas * settings.l1_ratio / self.s), rows.dtype)
        self.mu, self.over = place(self.mean, rows.dtype), place(self.inverse, rows.dtype)
        self.Q, self.cut = place(self.metric.Q, rows.dtype), place(self.metric.cut[:, None], rows.dtype)
        self.as_given = self._multiplies_rows_as_given()

    def _multiplies_rows_as_given(self) -> bool:
        """Whether scaling V costs less than standardising the rows of a batch, and no precision."""
        used = self.inverse > 0.0
        near = bool((np.abs(self.mean) <= MOST_SHIFT_MULTIPLIED * self.t)[used].all())
        # Sums of rows over a batch must not overflow; those of constant features too, which are then multiplied by 0.
        sizes = np.maximum(np.abs(self.mean), self.t)
        largest = np.finfo(np.float64 if self.rows.dtype == self.xp.float64 else np.float32).max
        near = near and float(sizes.max(initial=0.0)) < float(largest) ** 0.75
        if self.rows.half:
            near = near and bool(((self.t >= NARROW_UNITS[0]) & (self.t <= NARROW_UNITS[1]))[used].all())
        return near and self.batch >= self.P * self.K

    # -- losses and gradients of some rows ---------------------------------------------------------------------------

    def at(self, index: Array) -> Array:
        """The rows at these positions, for `scores` and `gradient`."""
        if self.as_given:
            return self.rows.at(index, self.narrow_type)
        block = self.rows.at(index)
        block -= self.mu
        return self._standardised(block)

    def blocks(self, rows: RowReader, columns: int) -> Iterator[tuple[int, int, Array]]:
        """All rows of a reader, for `scores` and `gradient`: begin, end, rows."""
        if self.as_given:
            yield from rows.blocks(columns, self.narrow_type)
            return
        for begin, end, block in rows.blocks(columns):
            yield begin, end, self._standardised(block - self.mu)

    def _standardised(self, centred: Array) -> Array:
        """Rows less μ as z, in the same memory unless products have another type."""
        centred *= self.over
        return self.narrowed(centred)

    def factors(self, V: Array, c: Array) -> tuple[Array, Array]:
        """What `scores` multiplies rows by and adds: V and c, or V/t and c − μV/t."""
        if not self.as_given:
            return self.narrowed(V), c
        V = self.narrowed(V * self.over[:, None])
        return V, c - self.mu[None, :] @ self.xp.astype(V, self.rows.dtype, copy=False)

    def by_variables(self, G: Array, g: Array) -> Array:
        """The gradient in V, in the memory of G, from that in what `factors` returns."""
        if self.as_given:
            G -= self.mu[:, None] * g
            G *= self.over[:, None]
        return G

    @property
    def narrow_type(self) -> Any:
        """The type of the products: 16 bits on a GPU where X has them."""
        return self.rows.X.dtype if self.rows.half else self.rows.dtype

    def narrowed(self, values: Array) -> Array:
        """Values in the type of the products."""
        return self.xp.astype(values, self.narrow_type, copy=False)

    def product(self, a: Array, b: Array) -> Array:
        """a·b in 32 bits or more, where a has the type of the products."""
        return wide_product(self.xp, a, self.narrowed(b), self.rows.dtype) if self.rows.half else a @ b

    def scores(self, z: Array, V: Array, c: Array) -> Array:
        """The scores z·V + c; V and c are those of `factors`."""
        f = self.product(z, V)
        f += c
        return f

    def by_penalty(self, f: Array) -> Array:
        """Scores (B, P·K) as (B, P, K)."""
        return self.xp.reshape(f, (f.shape[0], self.P, self.K))

    def targets(self, y: Array) -> Array:
        """The targets of these rows: codes (B, 1, 1) for softmax, else ±1 or numbers (B, 1, K)."""
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
            value, slope = self.loss.arrays(xp, self.s * f + (self.middle - target), width)
            return value[:, :, 0] / self.kappa, slope * (self.s / self.kappa)
        value, slope = self.loss.arrays(xp, target * f, width)
        return xp.sum(value, axis=-1), target * slope

    def gradient(
        self, z: Array, f: Array, target: Array, share: Array | None, damped: bool = False
    ) -> tuple[Array, Array, Array]:
        """Σ ℓ for each penalty, and its gradients in what `factors` returns, over these rows with the scores f.

        If `damped`, a column whose mean slope exceeds 1 is divided by it: e^−m curves as much as it falls.
        """
        xp = self.xp
        loss, slopes = self.losses(self.by_penalty(f), target)
        if share is not None:
            loss, slopes = loss * share[:, None], slopes * share[:, None, None]
        flat = xp.reshape(slopes, (slopes.shape[0], self.P * self.K))
        if damped:
            flat = flat / xp.clip(xp.mean(xp.abs(flat), axis=0, keepdims=True), 1.0, None)
        if self.rows.half:
            flat = self.narrowed(flat)
            one = xp.ones((1, flat.shape[0]), dtype=flat.dtype, device=self.rows.device)
            return xp.sum(loss, axis=0), self.product(z.T, flat), self.product(one, flat)
        return xp.sum(loss, axis=0), z.T @ flat, xp.sum(flat, axis=0, keepdims=True)

    # -- over all rows -----------------------------------------------------------------------------------------------

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
        else:
            missed = self._right(f[:, None, :], y)[:, 0] < 1.0
        return xp.sum(xp.astype(missed, xp.int64))

    def held_out(self, V: Array, c: Array, y: Array, weights: Array | None, present: Host) -> tuple[Host, Host]:
        """The mean loss and the accuracy, (P,) each, on other rows of the same X; not for regression."""
        xp, rows = self.xp, RowReader(self.rows.X, present)
        y = xp.astype(rows.used(y), self.y.dtype, copy=False)
        share = xp.ones((rows.n,), dtype=rows.dtype, device=rows.device)
        if weights is not None:
            share = xp.astype(rows.used(weights), rows.dtype)
        loss, right = (xp.zeros((self.P,), dtype=rows.dtype, device=rows.device) for _ in range(2))
        V, c = self.factors(V, c)
        for begin, end, z in self.blocks(rows, self.P * self.K):
            f = self.scores(z, V, c)
            truth = y[begin:end, ...]
            f = self.by_penalty(f)
            right += xp.sum(self._right(f, truth) * share[begin:end, None], axis=0)
            loss += xp.sum(self.losses(f, self.targets(truth))[0] * share[begin:end, None], axis=0)
        if not bool(xp.all(xp.isfinite(loss))):
            find_bad_row(rows)
        total = float(xp.sum(share))
        return to_host(loss).astype(np.float64) / total, to_host(right).astype(np.float64) / total

    def _right(self, f: Array, y: Array) -> Array:
        """The accuracy on each row for each penalty, (B, P); for labels, the share of correct labels."""
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
        V, c = self.factors(V, c)
        for begin, end, z in self.blocks(rows, self.P * self.K):
            share = None if self.weights is None else self.weights[begin:end] / self.mass
            y, f = self.y[begin:end, ...], self.scores(z, V, c)
            parts = [self._missed(f, y)]  # before the losses, which may use the memory of f
            parts = [*self.gradient(z, f, self.targets(y), share), *parts]
            total = [before + part for before, part in zip(total, parts, strict=True)]
        loss, G, g = (each / rows.n for each in total[:3])
        G = self.by_variables(G, g)
        return loss, G, g * float(self.settings.intercept), total[3]

    def gradient_as_given(self, G: Array, g: Array) -> tuple[Array, Array]:
        """∂F/∂W (P, K, d) and ∂F/∂b (P, K), in the features as given, from the gradients in V and c."""
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
        W, b = self.gradient_as_given(G, g)
        return Minimum(
            self.kappa * to_host(loss).astype(np.float64),
            self.kappa * to_host(self.penalty(V)).astype(np.float64),
            to_host(xp.sqrt(xp.sum(W * W, axis=(1, 2)) + xp.sum(b * b, axis=1))).astype(np.float64),
            self.decrease(G, g),
            self.gap(float(loss[0]), G, c, g),
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

    def gap(self, loss: float, G: Array, c: Array, g: Array) -> float:
        """A bound on F less its minimum, of the first penalty, from its gradients: infinite without an L2 penalty.

        α·P curves F by at least λ_j in each V_j: min F ≥ F − Σ G_j²/2λ_j − R|g|, for all intercepts at most R away from
        c, R = `REACH` times the larger of 1 and |c|. The gradients are taken as far from 0 as their rounding allows.
        """
        xp, K = self.xp, self.K
        curvature = (self.by_feature * self.smooth)[:, :K]
        if self.sharp is not None or not bool(xp.all(curvature > 0.0)):
            return math.inf
        size = 1.0 + math.sqrt(max(loss, 0.0))  # of the slopes, of which the gradients are means
        eps = 16.0 * size * float(np.finfo(np.float64 if self.rows.dtype == xp.float64 else np.float32).eps)
        shift = xp.abs(self.mu) * self.over if self.as_given else 0.0 * self.over
        largest = xp.abs(G[:, :K]) + eps * (1.0 + shift)[:, None]
        reach = REACH * max(1.0, float(xp.max(xp.abs(c[:, :K]))))
        left = float(xp.sum(largest * largest / (2.0 * curvature)))
        if self.settings.intercept:
            left += reach * (float(xp.sum(xp.abs(g[:, :K]))) + eps)
        return self.kappa * left

    def divided(self, G: Array) -> Array:
        """MG."""
        if self.metric.M is not None:
            return self.metric.M @ G
        return G - self.Q @ (self.cut * (self.Q.T @ G)) if self.Q.shape[1] else G

    def penalty(self, V: Array) -> Array:
        """α·P for each penalty, in units of κ."""
        xp = self.xp
        each = 0.5 * self.smooth * self.by_feature * V * V
        if self.sharp is not None:
            each = each + self.sharp * xp.abs(V)
        return xp.sum(xp.reshape(each, (self.rows.d, self.P, self.K)), axis=(0, 2))
