"""Whole fits: how soon each library reaches an accuracy, checks and encoding of labels included.

Both libraries search grids of the same size. A setting is chosen on training rows alone: of those whose held-out
accuracy, on a sample of training rows, is within one standard error of the library's best, the fastest. The chosen
settings are then fitted on all training rows, in turns, with five seeds; medians count.
"""

from __future__ import annotations

import gzip
import itertools
import math
import statistics
import time
import warnings
from dataclasses import dataclass
from typing import Any

import datasets
import numpy as np
from tables import ROOT, head, left_out, say, show

SAMPLE, SEEDS = 10_000, 5
EPOCHS = (1, 2, 3, 5, 10)
SIZES = {"C": (0.01, 0.1, 1.0), "alpha": (1e-6, 1e-5, 1e-4), "eta": (0.01, 0.1, 1.0), "r": (0.1, 1.0, 10.0)}


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


def peers() -> dict[str, Any]:
    """As many of scikit-learn's; LinearSVC, which is LIBLINEAR, in the place of a second-order learner."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import LinearSVC

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
                f"LinearSVC C={C}{', primal' if average else ''}": LinearSVC(
                    C=C, dual=not average, max_iter=epochs if not average else 10 * epochs
                ),
            }.items():
                found[f"{name}{', averaged' if average else ''}, {epochs} epochs"] = model
    return found


@dataclass(frozen=True)
class Tried:
    """A setting on the sample."""

    name: str
    model: Any
    seconds: float
    accuracy: float


def _timed(model: Any, X: Any, y: Any, seed: int) -> float:
    model.set_params(random_state=seed)
    began = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - began


def _tried(models: dict[str, Any], X: Any, y: Any) -> list[Tried]:
    """Every setting on a sample of the training rows, a fifth of it held out."""
    order = np.random.default_rng(0).permutation(X.shape[0])[:SAMPLE]
    held, rest = order[: order.size // 5], order[order.size // 5 :]
    A, a, B, b = X[rest], y[rest], X[held], y[held]
    return [Tried(name, model, _timed(model, A, a, 0), model.score(B, b)) for name, model in models.items()]


def _chosen(tried: list[Tried], rows: int) -> Tried:
    best = max(one.accuracy for one in tried)
    near = best - math.sqrt(best * (1 - best) / rows)
    return min((one for one in tried if one.accuracy >= near), key=lambda one: one.seconds)


def _frontier(tried: list[Tried]) -> list[Tried]:
    """The settings that no faster one beats on held-out rows."""
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


def run(names: Any = None) -> None:
    """One row per data set, and a picture of time against accuracy."""
    warnings.simplefilter("ignore")
    head("Whole fits: time to a test accuracy, settings chosen on training rows, medians of five seeds, one thread")
    lines: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for name in names or DATA:
        load, target, goal = DATA[name]
        data = load()
        if data is None:
            left_out(f"{name}, which needs ROSENBLATT_DATA")
            continue
        X, y, T, u = data
        y, u = np.unique(y, return_inverse=True)[1], np.searchsorted(np.unique(y), u)
        tried = {"rosenblatt": _tried(ours(), X, y), "scikit-learn": _tried(peers(), X, y)}
        chosen = {library: _chosen(settings, min(SAMPLE, X.shape[0]) // 5) for library, settings in tried.items()}
        seconds: dict[str, list[float]] = {library: [] for library in tried}
        scores: dict[str, list[float]] = {library: [] for library in tried}
        for seed in range(SEEDS):
            for library, one in chosen.items():
                seconds[library].append(_timed(one.model, X, y, seed))
                scores[library].append(one.model.score(T, u))
        mine, peer = (statistics.median(seconds[library]) for library in tried)
        said = {
            library: f"{1e3 * statistics.median(seconds[library]):.1f} ms ({chosen[library].name}: "
            f"{statistics.median(scores[library]):.4f})"
            for library in tried
        }
        reached = statistics.median(scores["rosenblatt"]) >= target
        work = f"{name}, {target} {'reached' if reached else 'missed'}"
        say(work, said["rosenblatt"], said["scikit-learn"], f"{peer / mine:.1f} ×", goal)
        lines[name] = {
            library: [(_timed(one.model, X, y, 0), one.model.score(T, u)) for one in _frontier(settings)]
            for library, settings in tried.items()
        }
    if lines:
        draw(lines)


def draw(lines: dict[str, dict[str, list[tuple[float, float]]]]) -> None:
    """Time against test accuracy, one panel per data set, one line per library."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(lines), figsize=(3.6 * len(lines), 3.2), squeeze=False, layout="constrained")
    for panel, (name, libraries) in zip(panels[0], lines.items(), strict=True):
        for library, points in libraries.items():
            best = np.maximum.accumulate([accuracy for _, accuracy in sorted(points)])
            panel.plot([1e3 * seconds for seconds, _ in sorted(points)], best, "o-", ms=3, label=library)
        panel.set(xscale="log", xlabel="fit, milliseconds", title=name)
    panels[0][0].set_ylabel("test accuracy")
    panels[0][0].legend()
    figure.savefig(ROOT / "docs" / "whole_fits.svg")
    plt.close(figure)
    show("\n![Time against accuracy](whole_fits.svg)")
