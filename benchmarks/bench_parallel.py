"""Support vector machines on two cores compared with one: `python benchmarks/bench.py parallel`.

Time to 99.5 % of the accuracy of its own optimum on test rows, after which it stays above, and to a gap of 1 %, from
the call of `fit`, with all of its checks and scans; runs are interleaved, and medians count. The passes that each core
makes over all rows say what a machine would do whose cores are not busy with anything else.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from tables import head, left_out, say  # isort: skip  (first: it sets the number of threads)
import datasets
import numpy as np
from sklearn.base import clone

ROWS, TESTED, REPEATS = 200_000, 50_000, 5


class Watch:
    """Seconds since the start of a fit, without those of scoring, and the accuracy after each epoch."""

    def __init__(self, T: Any, u: Any) -> None:
        self.T, self.u, self.began, self.scoring = T, u, time.perf_counter(), 0.0
        self.curve: list[tuple[float, float]] = []

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to close."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing to do."""

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> None:
        """Score an epoch's model."""
        if context.task_name == "epoch":
            now = time.perf_counter()
            accuracy = float(np.mean(fitted_estimator.predict(self.T) == self.u))
            self.curve.append((now - self.began - self.scoring, accuracy))
            self.scoring += time.perf_counter() - now


def seconds_to(curve: list[tuple[float, float]], accuracy: float) -> float:
    """The first time after which a curve stays at or above an accuracy."""
    below = [k for k, (_, reached) in enumerate(curve) if reached < accuracy]
    return curve[below[-1] + 1 if below else 0][0] if not below or below[-1] + 1 < len(curve) else float("inf")


def svm(X: Any, y: Any, test: tuple[Any, Any], what: str, C: float) -> None:
    """One core and two, to an accuracy and to a gap."""
    from rosenblatt import LinearSVM

    fits = {cores: LinearSVM(C=C, tol=1e-2, n_jobs=cores, random_state=0) for cores in (1, 2)}
    best = LinearSVM(C=C, tol=1e-3, random_state=0).fit(X, y).score(*test)
    accuracy: dict[int, list[float]] = {1: [], 2: []}
    gap: dict[int, list[float]] = {1: [], 2: []}
    fits[2].fit(X, y)  # compiled
    for _ in range(REPEATS):
        for cores, model in fits.items():
            watch = Watch(*test)
            clone(model).set_callbacks(watch).fit(X, y)
            accuracy[cores].append(seconds_to(watch.curve, 0.995 * best))
            began = time.perf_counter()
            model.fit(X, y)
            gap[cores].append(time.perf_counter() - began)
    report = fits[2].report_
    for name, found, goal in (("99.5 % of its accuracy", accuracy, "≥ 1.7 ×"), ("a gap of 1 %", gap, "≥ 1.4 ×")):
        one, two = (statistics.median(found[cores]) for cores in (1, 2))
        say(f"{what}: to {name}, two cores against one", f"{two:.2f} s", f"{one:.2f} s", f"{one / two:.2f} ×", goal)
    passes = sum(1.0 / copies for copies in report.sharding.copies)
    say(
        f"{what}: passes over all rows to a gap of 1 %, per core",
        f"{passes:.1f} ({report.n_epochs} epochs)",
        f"{fits[1].report_.n_epochs}",
        f"{fits[1].report_.n_epochs / passes:.2f} ×",
        "",
    )
    liblinear(X, y, test, what, C, 0.995 * best, statistics.median(accuracy[2]))


def liblinear(X: Any, y: Any, test: tuple[Any, Any], what: str, C: float, wanted: float, ours: float) -> None:
    """LIBLINEAR on one core, with the loosest tolerance that reaches the accuracy."""
    try:
        from liblinear.liblinearutil import predict, problem, train
    except ImportError:
        left_out("LIBLINEAR, liblinear-official is not installed")
        return
    rows = problem(np.where(y > 0, 1.0, -1.0), X.astype(np.float64), bias=1)
    for tol in (10.0, 3.0, 1.0, 0.3, 0.1):
        began = time.perf_counter()
        model = train(rows, f"-s 3 -c {C} -e {tol} -B 1 -q")
        taken = time.perf_counter() - began
        answers = np.array(predict([], test[0].astype(np.float64), model, "-q")[0]) > 0
        if float(np.mean(answers == (test[1] > 0))) >= wanted:
            say(
                f"{what}: to 99.5 % of the accuracy, two cores against LIBLINEAR -e {tol} on one",
                f"{ours:.2f} s",
                f"{taken:.2f} s",
                f"{taken / ours:.1f} ×",
                "≥ 6 ×",
            )
            return


def run() -> None:
    """All measurements."""
    head("One core and two")
    X, y = datasets.text_like(ROWS + TESTED)
    for C in (0.5, 5.0):
        svm(X[:ROWS], y[:ROWS], (X[ROWS:], y[ROWS:]), f"LinearSVM, C = {C:g}, {ROWS:,} text-like rows", C)


if __name__ == "__main__":
    run()
