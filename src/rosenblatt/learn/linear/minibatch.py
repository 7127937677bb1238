"""Linear models by matrix products: descent in mini-batches, for several penalties at once, on any array library.

In the variables of `scaled_objective` a batch of B rows, with the gradient G, makes the step

    U ← βU + MG          V ← V − η(1 − step/steps)·U          η = (1 − β)/(L + α')

The first step is over all rows; a sample of rows decides on its length. The model is the mean of the last iterates.
Nothing waits for the device within an epoch.

B. Polyak, "Some methods of speeding up the convergence of iteration methods", 1964. B. Polyak, A. Juditsky,
"Acceleration of stochastic approximation by averaging", 1992.
"""

from __future__ import annotations

import math

import numpy as np

from rosenblatt.learn.linear.row_reader import Array, Host, RowReader, find_bad_row, take, to_host
from rosenblatt.learn.linear.scaled_objective import ScaledObjective, Settings

MOMENTUM = 0.9
TAIL = 0.1  # the last part of the steps, whose iterates are averaged
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


class MiniBatchDescent(ScaledObjective):
    """One problem, for all penalties: its objective, its weights, and epochs of steps.

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
        rows = RowReader(X, present)
        batch = settings.batch or default_batch(rows.n, rows.gpu, len(settings.alphas) * settings.columns)
        super().__init__(rows, y, settings, weights, batch)
        self.batches = max(1, round(rows.n / self.batch))
        self.eta = rows.place(((1.0 - MOMENTUM) / np.repeat(self.steepness, self.K))[None, :], rows.dtype)
        self._restart()
        self._first_step(self.at_zero)

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
            if self.step > (1.0 - TAIL) * steps and self.sharp is None:
                self._add_to_mean()
        self.epochs += 1
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

    def _add_to_mean(self) -> None:
        if self.sum_V is None:
            self.sum_V, self.sum_c, self.summed = self.V * 1.0, self.c * 1.0, 1
        else:
            self.sum_V += self.V
            self.sum_c += self.c
            self.summed += 1

    def point(self) -> tuple[Array, Array]:
        """V and c of the model: the mean of the last iterates, or the iterate before there is one."""
        if self.sum_V is None:
            return self.V, self.c
        return self.sum_V / self.summed, self.sum_c / self.summed


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
