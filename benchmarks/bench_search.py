"""A grid of settings over five folds: in one pass, one by one, and by scikit-learn's own learners."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import datasets
from tables import head, say

VALUES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def run() -> None:
    """Eight values of C × five folds, five epochs, scoring included, without the last fit on all rows."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import GridSearchCV as Peer

    from rosenblatt import GridSearchCV, PassiveAggressive

    warnings.simplefilter("ignore")
    os.environ.setdefault("ROSENBLATT_THREADS", "1")
    head("Eight values of C × five folds, five epochs, one thread, scoring included")

    def seconds(search: Any, X: Any, y: Any) -> float:
        began = time.perf_counter()
        search.fit(X, y)
        return time.perf_counter() - began

    ours = PassiveAggressive(max_epochs=5, random_state=0)
    theirs = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", max_iter=5, tol=None, random_state=0)
    for name, (X, y), alone in (
        ("text-like CSR 100,000 × 47,236", datasets.text_like(100_000), "≥ 4 ×"),
        ("dense 300,000 × 64", datasets.dense(300_000), "≥ 3 ×"),
    ):
        GridSearchCV(ours, {"C": VALUES}, cv=5, refit=False).fit(X[:1000], y[:1000])  # compiled
        best = {"pass": float("inf"), "own": float("inf"), "peer": float("inf")}
        for _ in range(3):
            for kind, search in (
                ("pass", GridSearchCV(ours, {"C": VALUES}, cv=5, refit=False)),
                ("own", Peer(ours, {"C": VALUES}, cv=5, refit=False)),
                ("peer", Peer(theirs, {"eta0": VALUES}, cv=5, refit=False)),
            ):
                best[kind] = min(best[kind], seconds(search, X, y))
        said = f"{best['pass']:.2f} s"
        say(
            f"{name}: against fits one by one",
            said,
            f"{best['own']:.2f} s",
            f"{best['own'] / best['pass']:.1f} ×",
            alone,
        )
        say(
            f"{name}: against GridSearchCV(SGDClassifier)",
            said,
            f"{best['peer']:.2f} s",
            f"{best['peer'] / best['pass']:.1f} ×",
            "≥ 10 ×",
        )
