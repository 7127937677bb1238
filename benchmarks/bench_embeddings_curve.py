"""Accuracy against time of linear classifiers on a CPU, for the guide to embeddings.

    python benchmarks/bench_embeddings_curve.py [--out docs/embeddings_cpu.json]

The rows are those of `bench_embeddings`, and the pixels of MNIST where ROSENBLATT_DATA names their folder. Penalties
are chosen on training rows; seconds are processor time with one thread, the best of two, interleaved. The figures are
written to a small file, with the command and the machine, from which docs/figures/embeddings.py draws.
"""

from __future__ import annotations

import tables  # isort: skip  (first: it sets the number of threads)

import argparse
import json
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_embeddings
import datasets
import numpy as np

REPEATS = 2
Models = dict[str, dict[int, Any]]


def processor() -> str:
    """The name of the processor, where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def measured(models: Models, data: tuple[Any, Any, Any, Any]) -> dict[str, list[dict[str, float]]]:
    """Seconds of processor time and test accuracy of each learner for each number of passes."""
    X, y, T, u = data
    found: dict[str, list[dict[str, float]]] = {name: [] for name in models}
    for name, by_passes in models.items():
        for passes in by_passes:
            found[name].append({"passes": passes, "seconds": float("inf"), "accuracy": 0.0})
    for repeat in range(REPEATS):
        for name, by_passes in models.items():
            if name == "SGDClassifier" and repeat:  # it takes longer than all others together
                continue
            for record, model in zip(found[name], by_passes.values(), strict=True):
                began = time.process_time()  # which other work on the machine hardly changes
                model.fit(X, y)
                record["seconds"] = min(record["seconds"], time.process_time() - began)
                record["accuracy"] = float(model.score(T, u))
    for name, records in found.items():
        print(name, records, flush=True)
    return found


def embeddings() -> dict[str, Any]:
    """80,000 × 768 rows, 100 classes."""
    from sklearn.linear_model import LogisticRegression

    from rosenblatt import LinearClassifier

    data = bench_embeddings.made()
    X, y, _, _ = data
    rows = X.shape[0]

    def part(of: Callable[[int], dict[str, list[Any]]], name: str) -> Any:
        return bench_embeddings.chosen(lambda n: {name: of(n)[name]}, X, y)[name]

    peer, stochastic = (part(bench_embeddings.peers, name) for name in ("LogisticRegression", "SGDClassifier"))
    ours = part(bench_embeddings.ours, "2 epochs")
    models: Models = {
        "rosenblatt": {
            epochs: LinearClassifier(solver="minibatch", alpha=ours.alpha, max_epochs=epochs, random_state=0)
            for epochs in (1, 2, 3, 6)
        },
        "LogisticRegression": {
            iterations: LogisticRegression(C=peer.C, max_iter=iterations) for iterations in (1, 2, 3, 5, 7, 10)
        },
        "SGDClassifier": {stochastic.max_iter: stochastic},
    }
    return {"rows": rows, "alpha": ours.alpha, "C": peer.C, **measured(models, data)}


def pixels() -> dict[str, Any] | None:
    """MNIST: where ten classes and few features make a step per row cheap."""
    from rosenblatt import AveragedPerceptron, LinearClassifier

    data = datasets.mnist()
    if data is None:
        return None
    models: Models = {
        "AveragedPerceptron": {epochs: AveragedPerceptron(max_epochs=epochs, random_state=0) for epochs in (1, 2, 4)},
        "mini-batches": {
            epochs: LinearClassifier(solver="minibatch", alpha=1e-5, max_epochs=epochs, random_state=0)
            for epochs in (1, 3, 10)
        },
    }
    return measured(models, data)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=None)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    import sklearn

    figures: dict[str, Any] = {
        "command": "python benchmarks/bench_embeddings_curve.py",
        "machine": processor(),
        "threads": 1,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "embeddings": embeddings(),
        "pixels": pixels(),
    }
    if arguments.out:
        rounded = json.loads(json.dumps(figures), parse_float=lambda digits: float(f"{float(digits):.4g}"))
        Path(arguments.out).write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    assert tables
    main()
