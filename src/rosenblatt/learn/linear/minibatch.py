"""Linear models by matrix products: descent in mini-batches, for several penalties at once, on any array library.

In the variables of `scaled_objective` a batch of B rows, with the gradient G, makes the step

    U ← βU + MG          V ← V − η(1 − step/steps)·U          η = (1 − β)/(L + α')

The start is over all rows: for softmax Fisher's discriminants of the classes' means, else a step along the gradient at
0; a sample of rows decides on its length. Iterates are averaged over most of the steps and over the last ones. The
model is that point between both means and the start which has the least objective on some rows: few noisy steps from a
good start may lead away from the minimum. Nothing waits for the device within an epoch.

R. Fisher, "The use of multiple measurements in taxonomic problems", Annals of Eugenics 7, 1936. B. Polyak, "Some
methods of speeding up the convergence of iteration methods", 1964. B. Polyak, A. Juditsky, "Acceleration of stochastic
approximation by averaging", 1992.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from rosenblatt.learn.linear.minibatch_settings import Settings
from rosenblatt.learn.linear.row_reader import Array, Host, RowReader, find_bad_row, take, to_host
from rosenblatt.learn.linear.scaled_objective import ScaledObjective

MOMENTUM = 0.9
FORGET = 4.0  # the start counts e⁻⁴ at the end, where the penalty alone curves the objective
TAILS = (0.8, 0.1)  # the last parts of the steps, whose iterates are averaged
MOST_JUDGED = (4096, 32768)  # rows by which the model is chosen between means and the start; on a GPU
RIDGES = (0.1, 0.01)  # that the first step tries, as shares of the mean of all λ
MOST_TRIED = 1024  # rows of the sample by which the length of the first step is chosen
ENOUGH = 0.01  # of the loss at 0: the least by which a step twice as long must lower it
MOST_RUNS = 1 << 18  # longer data are shuffled in runs of consecutive rows
RUN_BYTES = 1 << 14  # of a run of rows read from a file
SMALLEST_BATCH, BATCH, DEVICE_BATCH = 16, 512, 16384  # on a device a step costs its host as much as 10,000 rows
MOST_SCORES = 1 << 28  # of a batch, on a device: 1 GB


def default_batch(n: int, gpu: bool, columns: int = 1) -> int:
    """Rows per step: a power of 2 that leaves at least 64 steps per epoch, where there are as many rows."""
    most, least = (DEVICE_BATCH, 64) if gpu else (BATCH, SMALLEST_BATCH)
    while gpu and most > least and most * columns > MOST_SCORES:
        most //= 2
    return min(most, max(least, 1 << max(n // 64, 1).bit_length() - 1))


class Mean:
    """The mean of the iterates of the last `share` of the steps."""

    def __init__(self, share: float) -> None:
        self.share, self.count = share, 0
        self.V: Array = None
        self.c: Array = None

    def add(self, V: Array, c: Array) -> None:
        """One more iterate."""
        if self.V is None:
            self.V, self.c = V * 1.0, c * 1.0
        else:
            self.V += V
            self.c += c
        self.count += 1

    def point(self) -> tuple[Array, Array]:
        """V and c."""
        return self.V / self.count, self.c / self.count


class MiniBatchDescent(ScaledObjective):
    """One problem, for all penalties: its objective, its weights, and epochs of steps.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, of any real type and any array library.
    y : array of shape (n,) or (n, K)
        Numbers, ±1 for two classes, whole numbers from 0 to K − 1 for classes, or an indicator of labels; on X's
        device.
    settings : Settings
    weights : array of shape (n,), optional
        Weights of the rows; on X's device.
    present : ndarray, optional
        The rows that are used; y and weights have all rows.
    """

    V: Array
    c: Array

    def __init__(
        self, X: Array, y: Array, settings: Settings, weights: Array | None = None, present: Host | None = None
    ) -> None:
        rows = RowReader(X, present)
        batch = settings.batch or default_batch(rows.n, rows.gpu, len(settings.alphas) * settings.columns)
        super().__init__(rows, y, settings, weights, batch)
        self.batches = max(1, round(rows.n / self.batch))
        # No longer than the penalty needs to forget the start within the budget: longer steps add noise only.
        enough = self.strength * (0.5 * settings.epochs * self.batches / FORGET)
        eta = (1.0 - MOMENTUM) / np.maximum(self.steepness, enough)
        self.eta = rows.place(np.repeat(eta, self.K)[None, :], rows.dtype)
        self._restart()
        self._first_step()
        self.first = self.V * 1.0, self.c * 1.0

    def _first_step(self) -> None:
        """V ← step·MA and its c, the step by the objective of some of the sample's rows; one for each penalty.

        A is the gradient at 0, or for softmax the classes' means: with c, M the inverse of the covariance, these are
        the discriminants of Fisher. The objective is convex along the line. Without a penalty its minimum is furthest
        from 0: steps are doubled until the loss stops decreasing, and each penalty takes the best of them.
        """
        xp, rows, index = self.xp, self.rows, self.sample[:: max(1, self.sample.shape[0] // MOST_TRIED)]
        block = rows.at(index)
        block -= self.mu
        block *= self.over
        y = self.targets(take(xp, self.y, index))
        share = 1.0 if self.weights is None else xp.take(self.weights, index) / self.mass
        least: Host = np.full(self.P, np.inf)
        for D, shift, base in self._directions_from_zero():
            f = block @ D + shift
            wide, losses, penalties, steps = xp.tile(D, (1, self.P)), [], [], [0.0]
            penalty = to_host(self.penalty(wide))
            while True:
                loss = self.losses((base + steps[-1] * f)[:, None, :], y)[0][:, 0] * share
                losses.append(float(xp.mean(loss)))
                if not 0.0 < losses[0] < np.inf:  # nothing to lower, in these rows
                    return
                if not losses[-1] < np.inf or (len(steps) > 8 and losses[-1] > losses[-2] - ENOUGH * losses[0]):
                    break
                penalties.append(
                    steps[-1] ** 2 * penalty if self.sharp is None else to_host(self.penalty(steps[-1] * wide))
                )
                steps.append(2.0 * steps[-1] or 2.0**-6 / (self.L * (self.K if self.softmax else 1)))
            values = np.array(losses[: len(penalties)])[:, None] + np.array(penalties)
            better = np.repeat(values.min(axis=0) < least, self.K)[None, :]
            least = np.minimum(least, values.min(axis=0))
            best = rows.place(np.repeat(np.array(steps)[np.argmin(values, axis=0)], self.K)[None, :], rows.dtype)
            base, shift, better = xp.tile(base, (1, self.P)), xp.tile(shift, (1, self.P)), rows.place(better)
            self.V = xp.where(better, wide * best, self.V)
            self.c = xp.where(better, base + shift * best, self.c)

    def _directions_from_zero(self) -> Iterator[tuple[Array, Array, Array]]:
        """D (d, K), shift and base (1, K): scores are base + step·(z·D + shift)."""
        xp, rows, G = self.xp, self.rows, self.xp.permute_dims(self.at_zero, (1, 0))
        none = xp.zeros((1, self.K), dtype=rows.dtype, device=rows.device)
        if not (self.softmax and self.settings.intercept):
            yield -self.divided(G), none, none
            return
        counts = xp.clip(self.counts, 1e-6, None)[None, :]
        means = -G * (rows.n / counts)
        base = xp.log((counts + 1.0) / (rows.n + self.K))
        for cut, square, scale in self._metrics():
            D = self.divided(means, cut)
            length = xp.sum(means * D, axis=0, keepdims=True)
            # The scatter of a class's rows adds to the length of its mean, but is not part of its distance.
            shrunk = xp.clip(1.0 - square / (counts * length + 1e-30), 0.0, 1.0)
            yield D * (shrunk * scale), -0.5 * scale * shrunk**2 * length, base

    def _metrics(self) -> Iterator[tuple[Array, float, float]]:
        """Metrics that the first step tries: cut, mean of zᵀMz, scale."""
        yield self.cut, self.metric.square, 1.0
        sizes = self.metric.sizes
        if sizes is not None:
            mean = float(self.xp.mean(sizes))
            for ridge in RIDGES:
                cut = sizes / (sizes + ridge * mean + 1e-30)
                yield cut[:, None], float(self.xp.sum(sizes * (1.0 - cut))), (1.0 + ridge) / ridge

    def _restart(self) -> None:
        xp, rows, columns = self.xp, self.rows, self.P * self.K
        self.V, self.c, self.U, self.u = (
            xp.zeros(shape, dtype=rows.dtype, device=rows.device)
            for shape in ((rows.d, columns), (1, columns), (rows.d, columns), (1, columns))
        )
        self.means = [Mean(share) for share in TAILS]
        self.settled: tuple[Array, Array] | None = None
        self.step = self.epochs = 0

    def start(self, W: Host, b: Host) -> None:
        """Start from these weights (K, d) and intercepts (K,), for every penalty."""
        place, dtype = self.rows.place, self.rows.dtype
        V = (W * np.where(self.inverse > 0.0, self.t, 0.0) / self.s).T  # a constant feature has no weight
        c = (b - self.middle + W @ self.mean) / self.s
        self.V, self.c = place(np.tile(V, self.P), dtype), place(np.tile(c, self.P)[None, :], dtype)
        self.first = self.V * 1.0, self.c * 1.0

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
            loss, G, g = self.gradient(z, self.scores(z, self.V, self.c), target, share, self.damped)
            total += loss
            self._move(G / (end - begin), g / (end - begin), max(1.0 - self.step / steps, 0.0))
            self.step += 1
            if self.sharp is None:
                for mean in self.means:
                    if self.step > (1.0 - mean.share) * steps:
                        mean.add(self.V, self.c)
        self.epochs += 1
        if self.step >= steps and self.means[-1].V is not None:
            self._settle(order)
        return self.kappa * total / rows.n

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

    def _settle(self, order: Array) -> None:
        """Between the means and the start, the point with the least objective over some rows, for each penalty.

        A long mean has less noise, a short one and the last steps less of the start; where the start was near the
        minimum, all steps together may have added noise only.
        """
        if self.settings.loss == "perceptron":  # whose minimum is at 0
            return
        V, c = self.point()
        rows = order[:: max(1, self.rows.n // MOST_JUDGED[self.rows.gpu])]  # those of early and of late steps
        for other in (self.means[0].point(), self.first):
            best = np.repeat(self._best_between((V, c), other, rows), self.K)[None, :]
            t = self.rows.place(best, self.rows.dtype)
            V, c = V + t * (other[0] - V), c + t * (other[1] - c)
        self.settled = V, c

    def _best_between(self, a: tuple[Array, Array], b: tuple[Array, Array], order: Array) -> Host:
        """Where F is least: at a, 0, at b, 1, or where a parabola through both and the middle is; for each penalty."""
        one = np.ones(self.P)
        first, middle, last = self._between(a, b, [0.0 * one, 0.5 * one, one], order)
        curve, slope = 2.0 * (first - 2.0 * middle + last), 4.0 * middle - 3.0 * first - last
        inside = np.where(curve > 0.0, -0.5 * slope / np.where(curve > 0.0, curve, 1.0), 0.0)
        inside = np.clip(np.nan_to_num(inside), 0.0, 1.0)
        (there,) = self._between(a, b, [inside], order)
        values = np.nan_to_num(np.stack([first, there, last]), nan=np.inf)
        found: Host = np.choose(np.argmin(values, axis=0), [0.0 * one, inside, one])
        return found

    def _between(self, a: tuple[Array, Array], b: tuple[Array, Array], places: list[Host], order: Array) -> Host:
        """F over these rows at places from a, 0, to b, 1; (places, P)."""
        xp, rows, loss = self.xp, self.rows, 0.0
        shifts = [rows.place(each[None, :, None], rows.dtype) for each in places]
        size, step = int(order.shape[0]), max(1, self.batch // self.P)  # three times the scores are in memory
        for begin in range(0, size, step):
            index = order[begin : min(begin + step, size)]
            z = self.standardise(rows.at(index) - self.mu)
            share = 1.0 if self.weights is None else (xp.take(self.weights, index) / self.mass)[:, None]
            target = self.targets(take(xp, self.y, index))
            f, g = self.by_penalty(self.scores(z, *a)), self.by_penalty(self.scores(z, *b))
            g -= f
            loss = loss + xp.stack([xp.sum(self.losses(f + t * g, target)[0] * share, axis=0) for t in shifts])
        by_column = [rows.place(np.repeat(each, self.K)[None, :], rows.dtype) for each in places]
        penalties = xp.stack([self.penalty(a[0] + t * (b[0] - a[0])) for t in by_column])
        found: Host = to_host(loss / size + penalties).astype(np.float64)
        return found

    def point(self) -> tuple[Array, Array]:
        """V and c of the model: where it settled, before that the mean of the last iterates or the iterate."""
        if self.settled is not None:
            return self.settled
        return (self.V, self.c) if self.means[-1].V is None else self.means[-1].point()


def fit_path(X: Array, y: Array, settings: Settings, weights: Array | None = None) -> tuple[Array, Array]:
    """Minimise F for each penalty; returns weights (P, K, d) and intercepts (P, K), on X's device.

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
