"""Whole fits: how soon each library reaches an accuracy, checks and encoding of labels included.

Both libraries search grids of the same size, on training rows alone, by one rule for all data sets:

1. Every setting is tried on a sample of the training rows, of which folds are held out. Those stay that the one
   standard error rule (Breiman et al., Classification and Regression Trees, 1984, section 3.4.3) cannot tell from the
   most accurate: their mean loss of accuracy, row by row, is at most its standard error. The target alone would not do
   here: test rows may be harder than training rows (the test posts of 20 Newsgroups are later ones), and a setting that
   just reaches the target on training rows misses it on test rows. If the sample is less than a quarter of the rows,
   all settings stay, since how they compare there says little about how they compare on many more rows; then they have
   to exceed the target by a standard error in step 3, which is little on many rows.
2. These are tried again on four times as many rows: some methods are quick on a small sample only, and some need more
   rows than others.
3. Of these, from the fastest on, without those that a faster one beats, the first is chosen whose median accuracy on a
   fifth of all training rows, over five seeds, reaches the target: a sample is small, and a setting must do on all rows
   too. If none does, the last is chosen; if the search takes too long, the one it has come to.

The two chosen settings are fitted on all training rows, in turns; medians over the seeds count, and the table says
where the test accuracy misses the target. With one thread processor times are compared, which other programs disturb
less; the table has both times. The same settings are then timed with all cores, by the clock.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import os
import statistics
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import datasets
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from tables import REPEATS, ROOT, head, left_out, say, show

SAMPLE, SAMPLED_VALUES = 10_000, 4_000_000  # rows and stored values of the sample, at most
SEEDS, AGAIN = 5, 3  # seeds; runs per seed, if these are short, and seeds with all cores
FOLDS, FEW = 5, 1_000_000  # of so few stored values all rows are sampled, and all folds held out in turn, else one
LONGEST = 240.0  # seconds for each step of the choice, and for the points of a line
EPOCHS = (1, 2, 3, 5, 10)
SIZES = {"C": (0.01, 0.1, 1.0), "alpha": (1e-6, 1e-5, 1e-4), "eta": (0.01, 0.1, 1.0), "r": (0.1, 1.0, 10.0)}
TOLERANCES = dict(zip(EPOCHS, (1.0, 0.3, 0.1, 0.03, 0.01), strict=True))  # LIBLINEAR has no limit of epochs


def ours() -> dict[str, Any]:
    """Our settings, by name."""
    from rosenblatt import AROW, LinearClassifier, PassiveAggressive, Perceptron

    found: dict[str, Any] = {}
    for keep, epochs in itertools.product(("last", "average"), EPOCHS):
        shared: dict[str, Any] = {"max_epochs": epochs}
        # Objectives and covariances are not averaged: they are tried without a bias instead.
        other: dict[str, Any] = {"max_epochs": epochs, "fit_intercept": keep == "last"}
        for k in range(3):
            C, alpha, eta, r = (SIZES[name][k] for name in ("C", "alpha", "eta", "r"))
            for name, model in {
                f"perceptron η={eta}": Perceptron(learning_rate=eta, keep=keep, **shared),
                f"hinge α={alpha}": LinearClassifier(loss="hinge", alpha=alpha, **other),
                f"log α={alpha}": LinearClassifier(loss="log", alpha=alpha, **other),
                f"PA-I C={C}": PassiveAggressive(variant="PA-I", C=C, keep=keep, **shared),
                f"PA-II C={C}": PassiveAggressive(variant="PA-II", C=C, keep=keep, **shared),
                f"AROW r={r}": AROW(r=r, **other),
            }.items():
                found[f"{name}, {keep}, {epochs} epochs"] = model
    return found


class Liblinear(ClassifierMixin, BaseEstimator):
    """LIBLINEAR's own package, hinge loss, dual; its format of rows is made in `fit`."""

    def __init__(self, C: float = 1.0, tol: float = 0.1, random_state: int | None = None) -> None:
        self.C, self.tol, self.random_state = C, tol, random_state

    def fit(self, X: Any, y: Any) -> Liblinear:
        """Learn; the package draws its own random numbers."""
        from liblinear.liblinearutil import problem, train

        task = problem(np.asarray(y, np.float64), sp.csr_matrix(X, dtype=np.float64), bias=1)
        model = train(task, f"-s 3 -c {self.C} -B 1 -e {self.tol} -q")
        labels = np.asarray(model.get_labels())
        columns = 1 if labels.size == 2 else labels.size
        w = np.ctypeslib.as_array(model.w, shape=((X.shape[1] + 1) * columns,)).reshape(X.shape[1] + 1, columns).T
        w = -w if columns == 1 and labels[0] < labels[1] else w  # positive scores are of the first label
        w = w[np.argsort(labels)] if columns > 1 else w
        self.classes_, self.coef_, self.intercept_ = np.sort(labels), w[:, :-1].copy(), w[:, -1].copy()
        return self

    def predict(self, X: Any) -> Any:
        """The class of the largest score."""
        scores = X @ self.coef_.T + self.intercept_
        return self.classes_[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]


def peers() -> dict[str, Any]:
    """As many of scikit-learn's; LinearSVC and LIBLINEAR in the place of a second-order learner."""
    import importlib.util

    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import LinearSVC

    installed = importlib.util.find_spec("liblinear") is not None
    found: dict[str, Any] = {}
    for average, epochs in itertools.product((False, True), EPOCHS):
        shared: dict[str, Any] = {"max_iter": epochs, "tol": None, "average": average}
        for k in range(3):
            C, alpha, eta = (SIZES[name][k] for name in ("C", "alpha", "eta"))
            steps = {"penalty": None, "loss": "hinge", "eta0": C}
            for name, model in {
                f"SGD perceptron η={eta}": SGDClassifier(
                    loss="perceptron", penalty=None, learning_rate="constant", eta0=eta, **shared
                ),
                f"SGD hinge α={alpha}": SGDClassifier(loss="hinge", alpha=alpha, **shared),
                f"SGD log α={alpha}": SGDClassifier(loss="log_loss", alpha=alpha, **shared),
                f"SGD PA-I C={C}": SGDClassifier(learning_rate="pa1", **steps, **shared),
                f"SGD PA-II C={C}": SGDClassifier(learning_rate="pa2", **steps, **shared),
            }.items():
                found[f"{name}{', averaged' if average else ''}, {epochs} epochs"] = model
            if not average:
                found[f"LinearSVC C={C}, {epochs} epochs"] = LinearSVC(C=C, max_iter=epochs)
            elif installed:
                found[f"LIBLINEAR C={C}, tolerance {TOLERANCES[epochs]}"] = Liblinear(C, TOLERANCES[epochs])
            else:
                found[f"LinearSVC C={C}, primal, {10 * epochs} steps"] = LinearSVC(
                    C=C, dual=False, max_iter=10 * epochs
                )
    return found


@dataclass(frozen=True)
class Tried:
    """A setting on the sample."""

    name: str
    model: Any
    seconds: float  # of the processor, for one fold
    right: Any  # whether each held-out row is classified correctly

    @property
    def accuracy(self) -> float:
        """Of held-out rows."""
        return float(self.right.mean())


def _timed(model: Any, X: Any, y: Any, seed: int) -> tuple[float, float]:
    """Wall and processor time of a fit."""
    model.set_params(random_state=seed)
    wall, processor = time.perf_counter(), time.process_time()
    model.fit(X, y)
    return time.perf_counter() - wall, time.process_time() - processor


def _tried(models: dict[str, Any], X: Any, y: Any) -> list[Tried]:
    """Every setting on a sample of the training rows, a fifth of it held out."""
    few = _sample_size(X) == X.shape[0]
    order = np.random.default_rng(0).permutation(X.shape[0])[: _sample_size(X)]
    folds = []
    for held in np.array_split(order, FOLDS)[: None if few else 1]:
        rest = np.setdiff1d(order, held)
        folds.append((X[rest], y[rest], X[held], y[held]))
    A, a, *_ = folds[0]
    found = []
    for name, model in models.items():
        model.fit(A[:1000], a[:1000])  # compiled code is loaded before it is timed
        seconds, right = [], []
        for A, a, B, b in folds:
            seconds.append(_timed(model, A, a, 0)[1])
            right.append(model.predict(B) == b)
        found.append(Tried(name, model, min(seconds), np.concatenate(right)))
    return found


def _sample_size(X: Any) -> int:
    stored = int(X.nnz if hasattr(X, "nnz") else X.size)
    return int(X.shape[0] if stored < FEW else min(SAMPLE, SAMPLED_VALUES * X.shape[0] // stored, X.shape[0]))


def _is_large(X: Any) -> bool:
    return 4 * _sample_size(X) < X.shape[0]


def _tried_again(tried: list[Tried], X: Any, y: Any) -> list[Tried]:
    """The settings on four times as many rows, a fifth of them held out; without the slowest if that takes too long."""
    rows = np.random.default_rng(2).permutation(X.shape[0])[: 4 * _sample_size(X)]
    held, rest = np.sort(rows[: rows.size // 5]), np.sort(rows[rows.size // 5 :])
    A, a, B, b = X[rest], y[rest], X[held], y[held]
    found: list[Tried] = []
    began = time.perf_counter()
    for one in sorted(tried, key=lambda one: one.seconds):
        if time.perf_counter() - began < LONGEST:
            seconds = _timed(one.model, A, a, 0)[1]
            right = one.model.predict(B) == b if _is_large(X) else one.right
            found.append(Tried(one.name, one.model, seconds, right))
    return found


def _as_good_as_the_best(tried: list[Tried], X: Any) -> list[Tried]:
    """The settings whose loss of accuracy against the best is at most its standard error; all if X is large."""
    if _is_large(X):
        return tried
    best = max(tried, key=lambda one: one.accuracy)
    found = []
    for one in tried:
        loss = best.right.astype(float) - one.right
        if loss.mean() <= loss.std(ddof=1) / np.sqrt(loss.size):
            found.append(one)
    return found


def _frontier(tried: list[Tried]) -> list[Tried]:
    """The settings that no faster one beats on held-out rows, from the fastest on."""
    found: list[Tried] = []
    for one in sorted(tried, key=lambda one: one.seconds):
        if not found or one.accuracy > found[-1].accuracy:
            found.append(one)
    return found


def covtype() -> Any:
    """Lodgepole pine against the other forests, standardised; every fifth row is for testing."""
    at = datasets.folder("covtype")
    if at is None:
        return None
    with gzip.open(at / "covtype.csv.gz", "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", skiprows=1, dtype=np.float32)
    X, y = table[:, :-1], (table[:, -1] == 2).astype(np.int64)
    order = np.random.default_rng(0).permutation(X.shape[0])
    test, train = order[: X.shape[0] // 5], order[X.shape[0] // 5 :]
    mean, scale = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - mean) / np.where(scale > 0, scale, 1)
    return X[train], y[train], X[test], y[test]


DATA: dict[str, tuple[Any, float, str]] = {
    "a9a": (datasets.a9a, 0.8495, "≥ 3.5 ×"),
    "20 Newsgroups TF-IDF": (datasets.news, 0.857, "≥ 3.5 ×"),
    "acq": (datasets.acq, 0.970, "≥ 2 ×"),
    "covtype, two classes": (covtype, 0.755, "≥ 4 ×"),
    "MNIST": (datasets.mnist, 0.920, "≥ 100 ×"),
}


def _chosen(tried: list[Tried], target: float, X: Any, y: Any) -> Tried:
    """The fastest setting as good as the best that reaches the target on a fifth of the training rows, or the last."""
    order = np.random.default_rng(1).permutation(X.shape[0])
    held, rest = np.sort(order[: order.size // 5]), np.sort(order[order.size // 5 :])
    target += _standard_error(target, held.size) if _is_large(X) else 0.0
    settings = _frontier(_tried_again(_as_good_as_the_best(tried, X), X, y))
    began = time.perf_counter()
    for one in settings:
        if time.perf_counter() - began > LONGEST:
            break
        if _accuracy(one.model, (X[rest], y[rest], X[held], y[held]), target) >= target:
            break
    return one


def _standard_error(accuracy: float, rows: int) -> float:
    return float(np.sqrt(accuracy * (1 - accuracy) / rows))


def _accuracy(model: Any, data: Any, target: float) -> float:
    """The median accuracy over the seeds, or over those after which it is known to reach or to miss the target.

    One seed is enough for a clear miss, by three standard errors.
    """
    X, y, T, u = data
    scores = [model.set_params(random_state=0).fit(X, y).score(T, u)]
    if scores[0] < target - 3 * _standard_error(target, u.size):
        return scores[0]
    while max(sum(score >= target for score in scores), sum(score < target for score in scores)) <= SEEDS // 2:
        scores.append(model.set_params(random_state=len(scores)).fit(X, y).score(T, u))
    return statistics.median(scores)


def _in_turns(models: list[Any], data: Any, seeds: int) -> tuple[Any, Any]:
    """Median wall and processor times over the seeds, one row per model, and median accuracies.

    Of each seed the best of a few repetitions counts.
    """
    X, y, T, u = data
    seconds, scores = [], []
    for seed in range(seeds):
        runs = [[_timed(model, X, y, seed) for model in models]]
        if np.sum(runs) < 1.0:
            runs += [[_timed(model, X, y, seed) for model in models] for _ in range(AGAIN - 1)]
        seconds.append(np.min(runs, axis=0))
        scores.append([model.score(T, u) for model in models])
    return np.median(seconds, axis=0), np.median(scores, axis=0)


@contextlib.contextmanager
def all_cores() -> Iterator[None]:
    """As many threads as there are cores, for both libraries."""
    from threadpoolctl import threadpool_limits

    os.environ["ROSENBLATT_THREADS"] = str(os.cpu_count())
    try:
        with threadpool_limits(os.cpu_count()):
            yield
    finally:
        del os.environ["ROSENBLATT_THREADS"]


def _row(title: str, goal: str, target: float, chosen: list[Tried], data: Any, cores: int = 1) -> None:
    """Time the two chosen settings; with one thread the ratio is of processor times."""
    times, scores = _in_turns([one.model for one in chosen], data, SEEDS if cores == 1 else AGAIN)
    by = 1 if cores == 1 else 0
    said = [
        f"{1e3 * wall:.1f} ms, processor {1e3 * processor:.1f} ({one.name}: {score:.4f}"
        f"{'' if score >= target else ', missed'})"
        for (wall, processor), one, score in zip(times, chosen, scores, strict=True)
    ]
    say(f"{title}, {target}", said[0], said[1], f"{times[1][by] / times[0][by]:.1f} ×", goal)


def run(names: Any = None) -> None:
    """One row per data set, with one thread and with all cores, and a picture of time against accuracy."""
    warnings.simplefilter("ignore")
    head("Whole fits: time to a test accuracy, settings chosen on training rows, medians of five seeds, one thread")
    lines: dict[str, dict[str, list[tuple[float, float]]]] = {}
    later = []
    for name in names or DATA:
        load, target, goal = DATA[name]
        data = load()
        if data is None:
            left_out(f"{name}, which needs ROSENBLATT_DATA")
            continue
        X, y, T, u = data
        y, u = np.unique(y, return_inverse=True)[1], np.searchsorted(np.unique(y), u)
        tried = {"rosenblatt": _tried(ours(), X, y), "scikit-learn, LIBLINEAR": _tried(peers(), X, y)}
        chosen = [_chosen(settings, target, X, y) for settings in tried.values()]
        _row(name, goal, target, chosen, (X, y, T, u))
        later.append((name, target, chosen, (X, y, T, u)))
        lines[name] = {library: _points(settings, (X, y, T, u)) for library, settings in tried.items()}
    if lines:
        draw(lines)
    head(f"Whole fits: the same settings with {os.cpu_count()} cores, medians of three seeds")
    for name, target, chosen, data in later:
        for one in chosen:
            if "n_jobs" in one.model.get_params():  # several classes of SGDClassifier
                one.model.set_params(n_jobs=os.cpu_count())
        with all_cores():
            _row(name, "", target, chosen, data, os.cpu_count() or 1)
    one_epoch()


def _points(tried: list[Tried], data: Any) -> list[tuple[float, float]]:
    """Processor time and test accuracy of settings that no faster one beats on held-out rows, from the fastest on."""
    X, y, T, u = data
    points: list[tuple[float, float]] = []
    for one in _frontier(_tried_again(_frontier(tried), X, y)):
        if sum(seconds for seconds, _ in points) < LONGEST / 10:
            points.append((_timed(one.model, X, y, 0)[1], one.model.score(T, u)))
    return points


def one_epoch() -> None:
    """A fit of one epoch, in epochs of the same data in random order, without checks and scan.

    With one thread processor time counts, and an epoch is a fifth of what five more of them take.
    """
    from rosenblatt import Perceptron

    head("Cost of a one-epoch fit, in units of one shuffled epoch (ours, of this version, one thread)")
    for rows in (50_000, 200_000):
        X, y = datasets.text_like(rows)
        unsorted = X.copy()
        for begin, end in itertools.pairwise(X.indptr):
            unsorted.indices[begin:end] = X.indices[begin:end][::-1]
            unsorted.data[begin:end] = X.data[begin:end][::-1]
        unsorted.has_sorted_indices = False
        one, six = Perceptron(max_epochs=1), Perceptron(max_epochs=6)
        best = dict.fromkeys(("fit", "six", "unsorted", "cores"), float("inf"))
        for _ in range(2 * REPEATS):
            best["fit"] = min(best["fit"], _timed(one, X, y, 0)[1])
            best["six"] = min(best["six"], _timed(six, X, y, 0)[1])
            best["unsorted"] = min(best["unsorted"], _timed(one, unsorted, y, 0)[1])
            with all_cores():
                best["cores"] = min(best["cores"], _timed(one, X, y, 0)[0])
        epoch = (best["six"] - best["fit"]) / 5
        name = f"text-like {rows:,} × 47,236"
        for what, title, goal in (
            ("fit", "one core", "≤ 2.5"),
            ("unsorted", "one core, unsorted columns", "≤ 3"),
            ("cores", f"{os.cpu_count()} cores", "≤ 2"),
        ):
            took = f"{best[what] / epoch:.1f} epochs"
            say(f"{name}, {title}", f"{1e3 * best[what]:.1f} ms", f"epoch {1e3 * epoch:.1f} ms", took, goal)


def draw(lines: dict[str, dict[str, list[tuple[float, float]]]]) -> None:
    """Time against test accuracy, one panel per data set, one line per library."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "rosenblatt", "svg.fonttype": "path"})
    figure, panels = plt.subplots(1, len(lines), figsize=(3.6 * len(lines), 3.2), squeeze=False, layout="constrained")
    for panel, (name, libraries) in zip(panels[0], lines.items(), strict=True):
        for library, points in libraries.items():
            best = np.maximum.accumulate([accuracy for _, accuracy in sorted(points)])
            panel.plot([1e3 * seconds for seconds, _ in sorted(points)], best, "o-", ms=3, label=library)
        panel.set(xscale="log", xlabel="fit, milliseconds of the processor", title=name)
        low, high = panel.get_xlim()
        for digits in ((1, 2, 3, 5, 7), (1, 3), (1,)):
            ticks = [m * 10.0**e for e in range(-2, 7) for m in digits if low <= m * 10.0**e <= high]
            if len(ticks) <= 6:
                break
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.set_xticks([], minor=True)
    panels[0][0].set_ylabel("test accuracy")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.savefig(ROOT / "docs" / "pictures" / "whole_fits.svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    show("\n![Time against accuracy](pictures/whole_fits.svg)")
