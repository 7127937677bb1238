"""Cross-fitting: predictions of each row whose calibration, and choice of a setting, did not use the row's label.

The out-of-fold score of a row is that of a model which did not learn from it. But the calibration is fitted to these
scores, and the best of several settings is chosen by them: measured on the same rows, both look better than they are.
So the rows are cut into two halves, several times at random. Setting and calibration of each half are found by the
other half alone, and the measures are means over all cuts. It costs no further fit.

Halves are cut without regard to the class: with the shares of the classes equal in both halves, always predicting the
more frequent class of one half would always do well on the other, also where classes are equally likely. Only classes
with few rows are cut evenly, and those of tables with equally many rows of each class, which nobody finds by chance.

S. Varma, R. Simon, "Bias in error estimation when using cross-validation for model selection", BMC Bioinformatics 7,
2006. I. Tsamardinos, E. Greasidou, G. Borboudakis, "Bootstrapping the out-of-sample predictions for efficient and
accurate cross-validation", Machine Learning 107, 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.learn.calibration import Calibration, by_class, calibrated, calibrated_losses

Array = np.ndarray[Any, Any]
CUTS, LARGE_CUTS = 5, 2  # with one, the estimate of a model that learned nothing varies more than its interval says
LARGE = 2_000  # rows for which more cuts would take too long
MOST = 5_000  # rows of a half that calibrate and choose
FEW = 20  # rows of a class that are cut evenly: both halves need some
STREAM = 5  # of the random numbers of the seed


class Candidates(NamedTuple):
    """The out-of-fold scores of the settings among which one was chosen."""

    scores: Array  # (settings, n), or (settings, n, K)
    known: Array  # whether each row has scores
    reported: Array  # whether each row is predicted, by one of these settings; only rows that are known
    complexity: tuple[int, ...] = (0,)  # of each setting

    @classmethod
    def only(cls, scores: Array) -> Candidates:
        """One setting, whose choice used none of these rows."""
        every = np.ones(scores.shape[0], np.bool_)
        return cls(scores[None], every, every)

    def take(self, rows: Array) -> Candidates:
        """Some of the rows."""
        return self._replace(scores=self.scores[:, rows], known=self.known[rows], reported=self.reported[rows])

    def among(self, rows: Array, n: int) -> Candidates:
        """The same, in a table of n rows that has these at `rows`."""
        scores = np.zeros((len(self.scores), n, *self.scores.shape[2:]))
        known, reported = np.zeros((2, n), bool)
        scores[:, rows], known[rows], reported[rows] = self.scores, self.known, self.reported
        return Candidates(scores, known, reported, self.complexity)


class Half(NamedTuple):
    """Predictions of some rows, made without their labels."""

    rows: Array
    predictions: Array  # probabilities (rows, K), or numbers
    scores: Array  # calibrated; of classes (rows, K)


def best_first(scores: Sequence[float], losses: Sequence[float], tested: int, classes: int) -> list[int]:
    """The settings within one standard error of the best score (for numbers all), the lowest loss first."""
    best = max(scores, default=0.0)
    error = float(np.sqrt(max(best * (1 - best), 0.0) / max(tested, 1))) if classes else np.inf
    return sorted((k for k in range(len(scores)) if scores[k] >= best - error), key=lambda k: losses[k])


def simplest_first(
    order: list[int], losses: Array, complexity: Sequence[int], weights: Array | None = None
) -> list[int]:
    """The order with the simplest setting whose loss is within one standard error of the first one's in front of it.

    The error is that of the difference, row by row, of the two losses: `losses` is of shape (settings, rows).
    """
    for k in sorted(order, key=lambda k: complexity[k]):
        if complexity[k] >= complexity[order[0]]:
            break
        above = losses[k] - losses[order[0]]
        mean = np.average(above, weights=weights)
        if mean <= np.sqrt(np.average((above - mean) ** 2, weights=weights) / above.size):
            return [k, *(other for other in order if other != k)]
    return order


def halves(
    candidates: Sequence[Candidates],
    target: Array,
    classes: int,
    weights: Array | None,
    shares: Array,
    seed: int,
) -> Iterator[list[Half]]:
    """For each cut, the predictions of both halves.

    Parameters
    ----------
    candidates : sequence of Candidates
    target : ndarray of shape (n,)
    classes : int
        0 if the target is numbers.
    weights : ndarray of shape (n,), optional
    shares : ndarray of shape (K,)
        The weights of the classes, for the calibration.
    seed : int
    """
    if not classes and all(len(one.scores) == 1 for one in candidates):  # nothing is calibrated or chosen
        every = [(np.flatnonzero(one.reported), one.scores[0, one.reported]) for one in candidates]
        yield [_merged([Half(rows, found, found) for rows, found in every])]
        return
    whole = np.ones(target.size) if weights is None else weights
    mass = shares[target] * whole if classes else whole
    for second in cuts(target, classes, seed):
        found = [[_half(one, side, target, classes, whole, mass) for one in candidates] for side in (~second, second)]
        yield [_merged(parts) for parts in found if any(part.rows.size for part in parts)]


def cuts(target: Array, classes: int, seed: int) -> Iterator[Array]:
    """Whether each row is in the second half, for each cut."""
    rng = np.random.default_rng((seed, STREAM))
    group = np.zeros(target.size, np.int64)  # rows that are cut together
    if classes:
        counts = np.bincount(target, minlength=classes)
        present = counts[counts > 0]
        alike = int(np.ptp(present)) <= 1
        group = np.where(alike | (counts[target] < FEW), 1 + target, 0)
    groups = [np.flatnonzero(group == k) for k in np.unique(group)]
    for _ in range(CUTS if target.size <= LARGE else LARGE_CUTS):
        second = np.zeros(target.size, np.bool_)
        for rows in groups:
            second[rng.permutation(rows)] = (np.arange(rows.size) + rng.integers(2)) % 2 == 1
        yield second


def _half(one: Candidates, asked: Array, target: Array, classes: int, weights: Array, mass: Array) -> Half:
    """The predictions of these rows by the other rows."""
    rows, others = np.flatnonzero(asked & one.reported), np.flatnonzero(~asked & one.known)
    others = others[:: -(-others.size // MOST) or 1]
    scores, truth, best = one.scores, target[others], 0
    if len(scores) > 1 and rows.size and others.size:
        if classes:
            right, losses = calibrated_losses(scores[:, others], truth, classes, mass[others])
        else:
            right = losses = (scores[:, others] - truth) ** 2
        share, loss = (np.average(each, axis=1, weights=weights[others]).tolist() for each in (right, losses))
        near = best_first(share, loss, others.size, classes)
        best = simplest_first(near, losses, one.complexity, weights[others])[0]
    found = scores[best, rows]
    if not classes or not rows.size:
        return Half(rows, found, found)
    calibration = Calibration(1.0, np.zeros(classes))
    if others.size:
        calibration = calibrated(scores[best, others], truth, classes, mass[others])
    return Half(rows, calibration.probabilities(found), calibration.scale * by_class(found) + calibration.shifts)


def _merged(parts: list[Half]) -> Half:
    return Half(*(np.concatenate(each) for each in zip(*(one for one in parts if one.rows.size), strict=True)))
