"""A path of penalties by mini-batches, without an estimator."""

from rosenblatt.objective.minibatch import MiniBatchDescent
from rosenblatt.objective.row_reader import find_bad_row


def fit_path(X, y, settings, weights=None):
    """Minimise F for each penalty; returns weights (P, K, d) and intercepts (P, K), on X's device."""
    descent = MiniBatchDescent(X, y, settings, weights)
    for _ in range(settings.epochs):
        descent.epoch()
    V, c = descent.point()
    if not bool(descent.xp.all(descent.xp.isfinite(V))):
        find_bad_row(descent.rows)
    return descent.planes(V, c)
