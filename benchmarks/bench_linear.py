"""Losses, penalties and support vector machines compared with their peers, in one run.

Each learner gets the loosest tolerance, or the fewest epochs, from a list of settings with which its objective is
within 1e-3 of the best known; the time of that fit counts (best of several, interleaved). One thread, float32 rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import datasets
import numpy as np
from tables import head, left_out, say

CLOSE, REPEATS, PATIENCE = 1e-3, 3, 90.0

Fit = Callable[[Any], tuple[Any, Any]]  # a setting → coef (K, d), intercept (K,)


def rung(fit: Fit, ladder: Sequence[Any], value: Callable[[Any, Any], float], goal: float) -> tuple[Any, float] | None:
    """The first setting that reaches the goal, and its relative excess; None if the time limit is reached first."""
    began = time.perf_counter()
    for step in ladder:
        excess = value(*fit(step)) / goal - 1.0
        if excess <= CLOSE:
            return step, excess
        if time.perf_counter() - began > PATIENCE:
            return None
    return None


def race(fits: dict[str, tuple[Fit, Sequence[Any]]], value: Callable[[Any, Any], float], goal: float) -> dict[str, Any]:
    """For each learner: best seconds, setting and excess, or None."""
    reached = {name: rung(fit, ladder, value, goal) for name, (fit, ladder) in fits.items()}
    best = dict.fromkeys(fits, float("inf"))
    for _ in range(REPEATS):
        for name, found in reached.items():
            if found is not None:
                began = time.perf_counter()
                fits[name][0](found[0])
                best[name] = min(best[name], time.perf_counter() - began)
    return {name: None if found is None else (best[name], *found) for name, found in reached.items()}


def show(work: str, results: dict[str, Any], goal: float) -> None:
    """One row per peer; the first learner is ours."""
    ours, *peers = results
    mine = results[ours]
    for peer in peers:
        theirs = results[peer]
        left = "not reached" if mine is None else f"{mine[0]:.2f} s ({mine[1]}, {mine[2]:+.0e})"
        right = f"{peer}: " + (
            "not reached" if theirs is None else f"{theirs[0]:.2f} s ({theirs[1]}, {theirs[2]:+.0e})"
        )
        ratio = (
            ""
            if mine is None
            else f"> {PATIENCE / mine[0]:.0f} ×"
            if theirs is None
            else f"{theirs[0] / mine[0]:.1f} ×"
        )
        known = goal and not peer.startswith("rosenblatt")
        say(work, left, right, ratio, f"≥ {goal:g} ×" if known else "")


# -- support vector machines -----------------------------------------------------------------------------------------


def machines() -> None:
    """LinearSVM compared with LIBLINEAR and LinearSVC, hinge loss, the intercept as a constant feature 1."""
    from sklearn.svm import LinearSVC

    from rosenblatt import LinearSVM

    head("Support vector machine, hinge, C = 1: the time to an objective within 1e-3 of the best")
    for name, load, goal in (
        ("text-like 200,000 × 47,236", lambda: datasets.text_like(), 2.0),
        ("20 Newsgroups, 20 classes one-vs-rest", datasets.news, 2.0),
        ("a9a", datasets.a9a, 0.0),
    ):
        data = load()
        if data is None:
            left_out(f"{name}, which needs ROSENBLATT_DATA")
            continue
        X, y = data[0], np.unique(data[1], return_inverse=True)[1]
        count = 1 if y.max() == 1 else int(y.max()) + 1
        sides = np.where(y == 1, 1.0, -1.0)[:, None] if count == 1 else 2.0 * np.eye(count)[y] - 1.0

        def value(W: Any, b: Any, X: Any = X, sides: Any = sides) -> float:
            slack = np.maximum(0.0, 1.0 - sides * (X @ np.asarray(W, np.float64).T + b))
            return float(0.5 * (np.square(W).sum() + np.square(b).sum()) + slack.sum())

        def ours(tol: float, X: Any = X, y: Any = y) -> tuple[Any, Any]:
            model = LinearSVM(intercept_scaling=1.0, tol=tol, random_state=0).fit(X, y)
            return model.coef_, model.intercept_

        def svc(tol: float, X: Any = X, y: Any = y) -> tuple[Any, Any]:
            model = LinearSVC(loss="hinge", dual=True, tol=tol, random_state=0, max_iter=10_000).fit(X, y)
            return model.coef_, model.intercept_

        ladder = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
        fits: dict[str, tuple[Fit, Sequence[Any]]] = {
            "rosenblatt": (ours, (5e-3, 3e-3, 2e-3, 1.5e-3, 1e-3)),
            "LinearSVC": (svc, ladder),
        }
        try:
            from liblinear.liblinearutil import problem, train

            ready = problem(y, X.astype(np.float64), bias=1)

            def liblinear(tol: float, ready: Any = ready, d: int = X.shape[1], count: int = count) -> tuple[Any, Any]:
                model = train(ready, f"-s 3 -c 1 -B 1 -e {tol} -q")
                flat = np.ctypeslib.as_array(model.w, shape=((d + 1) * count,)).reshape(d + 1, count).T
                flat = flat * (1 if count > 1 or model.get_labels()[0] == 1 else -1)
                flat = flat[np.argsort(model.get_labels())] if count > 1 else flat
                return flat[:, :-1].copy(), flat[:, -1].copy()

            fits["LIBLINEAR -s 3"] = (liblinear, ladder)
        except ImportError:
            left_out("LIBLINEAR, liblinear-official is not installed")
        best = value(*ours(3e-5))
        show(name, race(fits, value, best), goal)


# -- logistic regression ---------------------------------------------------------------------------------------------


def logistic(alpha: float = 1e-5) -> None:
    """LinearClassifier(loss="log") compared with SGDClassifier and LogisticRegression(solver="saga")."""
    from sklearn.linear_model import LogisticRegression, SGDClassifier

    from rosenblatt import LinearClassifier

    head(f"Logistic regression, α = {alpha:g}, text-like 200,000 × 47,236: the time to within 1e-3 of the best")
    X, y = datasets.text_like()
    sides = np.where(y == 1, 1.0, -1.0)
    for penalty, share in (("l2", 0.0), ("elasticnet", 0.15)):

        def value(W: Any, b: Any, share: float = share) -> float:
            w = np.asarray(W[0], np.float64)
            loss = np.logaddexp(0.0, -sides * (X @ w + float(b[0]))).mean()
            return float(loss + alpha * (share * np.abs(w).sum() + 0.5 * (1.0 - share) * (w @ w)))

        def batch(count: int, penalty: str = penalty, tol: float = 0.0) -> tuple[Any, Any]:
            model = LinearClassifier(
                loss="log", penalty=penalty, alpha=alpha, solver="batch", max_epochs=count, tol=tol
            )
            model.fit(X, y)
            return model.coef_, model.intercept_

        def ours(count: int, penalty: str = penalty) -> tuple[Any, Any]:
            model = LinearClassifier(loss="log", penalty=penalty, alpha=alpha, max_epochs=count, random_state=0).fit(
                X, y
            )
            return model.coef_, model.intercept_

        def sgd(count: int, penalty: str = penalty) -> tuple[Any, Any]:
            model = SGDClassifier(
                loss="log_loss", penalty=penalty, alpha=alpha, max_iter=count, tol=None, random_state=0
            ).fit(X, y)
            return model.coef_, model.intercept_

        def saga(count: int, share: float = share) -> tuple[Any, Any]:
            C = 1.0 / (alpha * len(y))
            model = LogisticRegression(C=C, l1_ratio=share, solver="saga", max_iter=count, tol=1e-12, random_state=0)
            model.fit(X, y)
            return model.coef_, model.intercept_

        goal, epochs = value(*batch(60, tol=1e-6)), (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32)
        fits: dict[str, tuple[Fit, Sequence[Any]]] = {
            "rosenblatt, batch": (batch, epochs),
            "rosenblatt, stochastic": (ours, epochs),
            "SGDClassifier": (sgd, epochs),
            "LogisticRegression, saga": (saga, (4, 6, 8, 12, 16)),
        }
        show(f"log, {penalty}", race(fits, value, goal), 3.0)


def run() -> None:
    """Every row."""
    warnings.filterwarnings("ignore")
    machines()
    logistic()
