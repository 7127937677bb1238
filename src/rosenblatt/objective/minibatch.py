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
from collections.abc import Callable, Iterator

import numpy as np

from rosenblatt.objective.feature_statistics import ridge_metric
from rosenblatt.objective.minibatch_settings import Settings
from rosenblatt.objective.row_reader import Array, Host, RowReader, take, to_host
from rosenblatt.objective.scaled_objective import ScaledObjective

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
PLACES = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])  # corners, midpoints
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
            f, wide = block @ D + shift, xp.tile(D, (1, self.P))
            penalty = to_host(self.penalty(wide))

            def F(step: float, f: Array = f, base: Array = base, wide: Array = wide, penalty: Host = penalty) -> Host:
                """The loss (the same for all penalties) and the penalties, (2, P)."""
                loss = float(xp.mean(self.losses((base + step * f)[:, None, :], y)[0][:, 0] * share))
                each = step**2 * penalty if self.sharp is None else to_host(self.penalty(step * wide))
                return np.stack([np.full(self.P, loss), each])

            steps, found = [0.0], [F(0.0)]
            if not 0.0 < found[0][0, 0] < np.inf:  # nothing to lower, in these rows
                return
            lowest = ENOUGH * found[0][0, 0]
            while len(steps) <= 9 or found[-1][0, 0] <= found[-2][0, 0] - lowest:
                steps.append(2.0 * steps[-1] or 2.0**-6 / (self.L * (self.K if self.softmax else 1)))
                found.append(F(steps[-1]))
                if not found[-1][0, 0] < np.inf:
                    break
            values = np.nan_to_num(np.array(found).sum(axis=1), nan=np.inf)
            if self.softmax and self.weights is None:
                best, value = _refined(np.array(steps), values, lambda step: F(step).sum(axis=0))
            else:
                # Measured with losses that have kinks, and with rows of large weight: a refined step, or the last one,
                # which no longer lowers the loss, starts lower on the sample and ends higher on all rows.
                best = np.array(steps)[np.argmin(values[:-1], axis=0)]
                value = values[:-1].min(axis=0)
            better = np.repeat(value < least, self.K)[None, :]
            least = np.minimum(least, value)
            length = rows.place(np.repeat(best, self.K)[None, :], rows.dtype)
            base, shift, better = xp.tile(base, (1, self.P)), xp.tile(shift, (1, self.P)), rows.place(better)
            self.V = xp.where(better, wide * length, self.V)
            self.c = xp.where(better, base + shift * length, self.c)

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
        for D, square, scale in self._divided_means(means):
            length = xp.sum(means * D, axis=0, keepdims=True)
            # The scatter of a class's rows adds to the length of its mean, but is not part of its distance.
            shrunk = xp.clip(1.0 - square / (counts * length + 1e-30), 0.0, 1.0)
            yield D * (shrunk * scale), -0.5 * scale * shrunk**2 * length, base

    def _divided_means(self, means: Array) -> Iterator[tuple[Array, float, float]]:
        """The means in the metrics that the first step tries, the mean of zᵀMz, and the scale of the metric."""
        yield self.divided(means), self.metric.square, 1.0
        covariance = self.metric.covariance
        if covariance is not None:
            for ridge in RIDGES:
                M, _ = ridge_metric(self.xp, covariance, ridge)
                yield M @ means, float(self.xp.sum(M * covariance)), (1.0 + ridge) / ridge

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
            z = self.at(index)
            share = None if self.weights is None else xp.take(self.weights, index) / self.mass
            target = self.targets(take(xp, self.y, index))
            f = self.scores(z, *self.factors(self.V, self.c))
            loss, G, g = self.gradient(z, f, target, share, self.damped)
            total += loss
            G /= end - begin
            g /= end - begin
            self._move(self.by_variables(G, g), g, max(1.0 - self.step / steps, 0.0))
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
        rows = order[:: max(1, self.rows.n // MOST_JUDGED[self.rows.gpu])]  # those of early and of late steps
        corners = [self.means[-1].point(), self.means[0].point(), self.first]
        values = self._objectives(corners, PLACES, rows)
        best = np.array([_least_of_quadratic(each) for each in values.T])  # (P, 3)
        there = self._mixed(corners, best)
        (at_best,) = self._objectives([there], PLACES[:1, :1], rows)
        values = np.nan_to_num(np.vstack([at_best, values]), nan=np.inf)
        first = np.argmin(values, axis=0)
        self.settled = self._mixed(corners, np.where((first == 0)[:, None], best, PLACES[np.maximum(first, 1) - 1]))

    def _mixed(self, corners: list[tuple[Array, Array]], shares: Host) -> tuple[Array, Array]:
        """The mean of the corners with these shares (P, corners) for each penalty."""
        by_column = [self.rows.place(np.repeat(each, self.K)[None, :], self.rows.dtype) for each in shares.T]
        V, c = (sum(t * corner[k] for t, corner in zip(by_column, corners, strict=True)) for k in (0, 1))
        return V, c

    def _objectives(self, corners: list[tuple[Array, Array]], places: Host, order: Array) -> Host:
        """F over these rows at means of the corners with these shares (places, corners); (places, P)."""
        xp, loss, scaled = self.xp, 0.0, [self.factors(*corner) for corner in corners]
        size, step = int(order.shape[0]), max(1, self.batch // self.P)  # several times the scores are in memory
        for begin in range(0, size, step):
            index = order[begin : min(begin + step, size)]
            z = self.at(index)
            share = 1.0 if self.weights is None else (xp.take(self.weights, index) / self.mass)[:, None]
            target = self.targets(take(xp, self.y, index))
            scores = [self.by_penalty(self.scores(z, *each)) for each in scaled]
            found = []
            for shares in places:
                f = sum(float(t) * each for t, each in zip(shares, scores, strict=True) if t)
                found.append(xp.sum(self.losses(f, target)[0] * share, axis=0))
            loss = loss + xp.stack(found)
        penalties = [self.penalty(self._mixed(corners, np.tile(shares, (self.P, 1)))[0]) for shares in places]
        F: Host = to_host(loss / size + xp.stack(penalties)).astype(np.float64)
        return F

    def point(self) -> tuple[Array, Array]:
        """V and c of the model: where it settled, before that the mean of the last iterates or the iterate."""
        if self.settled is not None:
            return self.settled
        return (self.V, self.c) if self.means[-1].V is None else self.means[-1].point()


def _refined(steps: Host, values: Host, F: Callable[[float], Host]) -> tuple[Host, Host]:
    """Of steps that were doubled, and F at them (steps, P), the best of each penalty, and F there.

    Between two of them F is looked at where a parabola in the logarithm of the step is least.
    """
    at, penalties = np.argmin(values, axis=0), np.arange(values.shape[1])
    best, least = steps[at], values[at, penalties]
    inside = (at > 1) & (at < steps.size - 1)
    before, after = (values[np.clip(at + k, 0, steps.size - 1), penalties] - least for k in (-1, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        places = best * 2.0 ** (0.5 * (before - after) / (before + after))
    places = np.where(inside & np.isfinite(places), places, best)
    for place in np.unique(places[places != best]):
        value = F(float(place))
        better = (places == place) & (value < least)
        best, least = np.where(better, place, best), np.where(better, value, least)
    return best, least


def _least_of_quadratic(values: Host) -> Host:
    """The shares (3,) of the corners of a triangle where the quadratic with these values at PLACES is least."""
    F, middles = values[:3], values[3:]
    # Along an edge F is F₀ + bt + at², a from its ends and its middle; the Hessian of the shares (s, t) follows.
    a = 2.0 * (F[[0, 0, 1]] + F[[1, 2, 2]] - 2.0 * middles)
    b = F[1:] - F[0] - a[:2]
    cross = a[0] + a[1] - a[2]
    found = [PLACES[int(np.argmin(F))]]

    def add(s: float, t: float) -> None:
        if s >= 0.0 and t >= 0.0 and s + t <= 1.0:
            found.append(np.array([1.0 - s - t, s, t]))

    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = 4.0 * a[0] * a[1] - cross**2
        if a[0] > 0.0 and determinant > 0.0:
            add((cross * b[1] - 2.0 * a[1] * b[0]) / determinant, (cross * b[0] - 2.0 * a[0] * b[1]) / determinant)
        for k in range(2):
            if a[k] > 0.0:
                add(*(-0.5 * b[k] / a[k] * np.eye(2)[k]))
        if a[2] > 0.0:
            t = 0.5 - 0.5 * (F[2] - F[1]) / a[2]
            add(1.0 - t, t)
    points = np.array(found)
    s, t = points[:, 1], points[:, 2]
    heights = b[0] * s + b[1] * t + a[0] * s * s + a[1] * t * t + cross * s * t
    best: Host = points[int(np.argmin(np.nan_to_num(heights, nan=np.inf)))]
    return best
