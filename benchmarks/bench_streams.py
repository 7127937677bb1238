"""Streams, one row per call: predict, then learn, beside River, scikit-learn and Vowpal Wabbit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from tables import head, left_out, say

from rosenblatt import AROW, AveragedPerceptron, OneByOne, Perceptron

ROWS, FEW, RUNS, WIDE = 4000, 200, 5, 436_000
Step = Callable[[Any, Any], Any]


def run() -> None:
    """Rows per second of each kind of row, the best of several passes, by the processor's time."""
    rng = np.random.default_rng(0)
    numbers = [{f"n{k}": float(v) for k, v in enumerate(rng.normal(size=39))} for _ in range(ROWS)]
    texts = [{f"c{k}": f"{rng.integers(50):x}" for k in range(26)} for _ in range(ROWS)]
    mixed = [dict(list(x.items())[:13]) | more for x, more in zip(numbers, texts, strict=True)]
    dense, wide = list(rng.normal(size=(ROWS, 50))), [_sparse_row(rng) for _ in range(ROWS)]
    kinds = {
        "39 numbers by name": (numbers, {"River": _river(False), "Vowpal Wabbit": _vowpal_wabbit()}, "200,000/s"),
        "13 numbers, 26 texts": (mixed, {"River": _river(True), "Vowpal Wabbit": _vowpal_wabbit()}, "45,000/s"),
        "50 numbers": (dense, {"SGDClassifier": _scikit()}, "500,000/s"),
        f"CSR, 100 of {WIDE:,}": (wide, {"SGDClassifier": _scikit()}, "500,000/s"),
    }
    head("Streams: predict and learn, one row per call")
    labels = rng.integers(0, 2, ROWS).tolist()
    for kind, (rows, peers, goal) in kinds.items():
        for model in (Perceptron(), AveragedPerceptron(), AROW()):
            ours = _speed(OneByOne(model).learn_one, rows, labels)
            work = f"{kind}, {type(model).__name__}"
            for peer, step in peers.items():
                if step is None:
                    left_out(f"{work}, beside {peer}, which is not installed")
                    continue
                theirs = _speed(step, rows[:FEW] if peer == "SGDClassifier" else rows, labels)
                say(work, f"{ours:,.0f}/s", f"{peer} {theirs:,.0f}/s", f"{ours / theirs:.1f}", goal)


def _sparse_row(rng: Any) -> Any:
    columns = np.sort(rng.choice(WIDE, 100, replace=False)).astype(np.int32)
    return sp.csr_matrix((rng.normal(size=100), columns, np.array([0, 100], np.int32)), shape=(1, WIDE))


def _speed(step: Step, rows: list[Any], labels: list[int]) -> float:
    """Rows per second; the first pass warms up."""
    best = 0.0
    for _ in range(1 + RUNS):
        began = time.process_time()
        for x, y in zip(rows, labels, strict=False):
            step(x, y)
        best = max(best, len(rows) / (time.process_time() - began))
    return best


def _scikit() -> Step:
    model, seen = SGDClassifier(loss="perceptron", penalty=None), []

    def step(x: Any, y: int) -> None:
        block = x if sp.issparse(x) else x.reshape(1, -1)
        if seen:
            model.predict(block)
        model.partial_fit(block, [y], classes=[0, 1])
        seen[:] = [True]

    return step


def _river(texts: bool) -> Step | None:
    try:
        from river import linear_model, preprocessing
    except ImportError:
        return None
    model: Any = linear_model.Perceptron()
    if texts:
        model = preprocessing.OneHotEncoder() | model

    def step(x: Any, y: int) -> None:
        model.predict_one(x)
        model.learn_one(x, y)

    return step


def _vowpal_wabbit() -> Step | None:
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        return None
    workspace = Workspace("--loss_function hinge --quiet")

    def step(x: Any, y: int) -> None:
        parts = (f"{name}={value}" if isinstance(value, str) else f"{name}:{value}" for name, value in x.items())
        text = f"{2 * y - 1} | " + " ".join(parts)
        workspace.predict(text)
        workspace.learn(text)

    return step
