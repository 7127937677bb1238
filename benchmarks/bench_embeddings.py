"""Linear probes on embeddings: time to the peers' best accuracy, ten penalties against one, memory of float16 rows.

Settings of peers and our penalties are chosen on training rows; then all fit all of them, interleaved, and of our
numbers of epochs the first counts that reaches the peer's accuracy. The embeddings are made
by a seeded script; random features of MNIST need the folder that ROSENBLATT_DATA names. GPU figures: `bench_gpu.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import datasets
import headline
import numpy as np
from tables import fastest, head, left_out, say

CHOSEN_ON = 20_000  # training rows by which settings are chosen, a fifth of them held out
GPU = headline.ROOT / "docs" / "gpu.json"

MEMORY = """
import numpy as np
from rosenblatt import LinearProbe
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1e3
rng = np.random.default_rng(0)
X = np.empty((200_000, 768), np.float16)
y = rng.integers(0, 100, X.shape[0])
few = rng.standard_normal((2000, 768)).astype(np.float16)
LinearProbe(alphas=(1e-2,), max_epochs=1).fit(few, y[:2000])  # what is imported and kept in any case
for begin in range(0, X.shape[0], 500):
    X[begin : begin + 500] = rng.standard_normal((500, 768), dtype=np.float32)
before = peak()
LinearProbe(alphas=(1e-2,), max_epochs=1).fit(X, y)
print(X.nbytes / 1e6, before, peak())
"""


def made(n: int = 80_000, d: int = 768, classes: int = 100, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Unit-variance noise about the centres of the classes; 10,000 further rows for testing."""
    rng = np.random.default_rng(seed)
    centres = np.float32(0.15) * rng.standard_normal((classes, d), dtype=np.float32)
    y = rng.integers(0, classes, n + 10_000)
    X = rng.standard_normal((n + 10_000, d), dtype=np.float32) + centres[y]
    return X[:n], y[:n], X[n:], y[n:]


def random_features(width: int = 2048, seed: int = 0) -> tuple[Any, Any, Any, Any] | None:
    """The rectified random projections of MNIST's pixels."""
    data = datasets.mnist()
    if data is None:
        return None
    X, y, T, u = data
    rng = np.random.default_rng(seed)
    W = (0.1 * rng.standard_normal((X.shape[1], width))).astype(np.float32)
    b = rng.uniform(-1.0, 1.0, width).astype(np.float32)
    return np.maximum(X @ W + b, 0.0), y, np.maximum(T @ W + b, 0.0), u


CS = (1e-4, 3e-4, 1e-3, 1e-2, 1e-1)  # of LogisticRegression; our penalty is 1/(C·rows), as its is


def peers(rows: int) -> dict[str, list[Any]]:
    """What others would try."""
    from sklearn.linear_model import LogisticRegression, SGDClassifier

    return {
        "LogisticRegression": [LogisticRegression(C=C, max_iter=steps) for C in CS for steps in (20, 100)],
        "SGDClassifier": [
            SGDClassifier(loss="log_loss", alpha=alpha, average=True, max_iter=steps, tol=None, random_state=0)
            for alpha in (1e-4, 1e-3)
            for steps in (1, 3)
        ],
    }


def ours(rows: int) -> dict[str, list[Any]]:
    """The penalties that we try, for each number of epochs."""
    from rosenblatt import LinearClassifier

    return {
        f"{epochs} epochs": [
            LinearClassifier(solver="minibatch", alpha=1.0 / (C * rows), max_epochs=epochs, random_state=0) for C in CS
        ]
        for epochs in (1, 2, 3, 4, 6, 8)
    }


def chosen(tried: Callable[[int], dict[str, list[Any]]], X: Any, y: Any) -> dict[str, Any]:
    """For all rows the settings with the highest accuracy on rows that are held out of some training rows."""
    order = np.random.default_rng(1).permutation(X.shape[0])[:CHOSEN_ON]
    held, learned = order[: order.size // 5], order[order.size // 5 :]

    def best(models: list[Any]) -> int:
        return int(np.argmax([model.fit(X[learned], y[learned]).score(X[held], y[held]) for model in models]))

    return {one: tried(X.shape[0])[one][best(models)] for one, models in tried(learned.size).items()}


def compared(name: str, data: tuple[Any, Any, Any, Any], repeats: int) -> None:
    """Time to the best accuracy, against each peer."""
    X, y, T, u = data
    mine, theirs = chosen(ours, X, y), chosen(peers, X, y)
    models = mine | theirs
    best = dict.fromkeys(models, float("inf"))
    for _ in range(repeats):
        for one, model in models.items():
            began = time.perf_counter()
            model.fit(X, y)
            best[one] = min(best[one], time.perf_counter() - began)
    accuracy = {one: model.score(T, u) for one, model in models.items()}
    for peer, goal in zip(theirs, ("≥ 5 ×", "≥ 10 ×"), strict=True):
        level = [one for one in mine if accuracy[one] >= accuracy[peer]]
        first = level[0] if level else max(mine, key=accuracy.__getitem__)
        say(
            f"{name}, {'at its accuracy or above' if level else 'below its accuracy'}: {peer}",
            f"{best[first]:.2f} s ({accuracy[first]:.4f})",
            f"{best[peer]:.2f} s ({accuracy[peer]:.4f})",
            f"{best[peer] / best[first]:.1f} ×",
            goal,
        )


def run() -> None:
    """The section."""
    warnings.simplefilter("ignore")
    from rosenblatt import LinearProbe

    head("Embeddings: settings chosen on training rows, one thread")
    data = made()
    compared("80,000 × 768, 100 classes", data, 3)
    features = random_features()
    if features is None:
        left_out("random features of MNIST, which need ROSENBLATT_DATA")
    else:
        compared("random features of MNIST, 60,000 × 2,048", features, 2)
    X, y, _, _ = data
    times = fastest(
        {
            "one": lambda: LinearProbe(alphas=(1e-2,), max_epochs=2, random_state=0).fit(X, y),
            "ten": lambda: LinearProbe(max_epochs=2, random_state=0).fit(X, y),
        },
        repeats=2,
    )
    say(
        "ten penalties at once, chosen and fitted again, against one",
        f"{times['ten']:.2f} s",
        f"{times['one']:.2f} s",
        f"{times['ten'] / times['one']:.1f} ×",
        "≤ 4 ×",
    )
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    size, before, after = map(float, done.stdout.split())
    say(
        "float16 rows, 200,000 × 768: memory beside them",
        f"{after - before:.0f} MB",
        f"X {size:.0f} MB",
        f"{100 * (after - before) / size:.1f} %",
        "≤ 10 %",
    )
    on_gpu()


def on_gpu() -> None:
    """The figures of `bench_gpu.py`, from its file."""
    if not GPU.exists():
        left_out("1,230,000 × 768 float16 on a GPU: run benchmarks/bench_gpu.py there")
        return
    found = json.loads(GPU.read_text(encoding="utf-8"))
    where = f"{found['rows']:,} × {found['features']} float16, {found['classes']:,} classes, {found['machine']}"
    for kind in ("uncorrelated", "correlated"):
        part = found[kind]
        peer = max(part["lbfgs"], key=lambda each: each["accuracy"])
        fits = sorted(part["one"].values(), key=lambda each: each["seconds"])
        level = (one for one in fits if one["accuracy"] >= peer["accuracy"] - 0.002)
        mine = next(level, max(fits, key=lambda each: each["accuracy"]))
        say(
            f"{where}, {kind}: to within 0.002 of the best of torch L-BFGS",
            f"{mine['seconds']:.2f} s ({mine['accuracy']:.4f})",
            f"{peer['seconds']:.2f} s ({peer['accuracy']:.4f})",
            f"{peer['seconds'] / mine['seconds']:.1f} ×",
            "≥ 3 ×",
        )
        three, ten = part["one"][str(found["epochs"])], part["ten"]
        for what, one, goal in (("one penalty", three, "0.4 s"), ("ten penalties at once", ten, "1.2 s")):
            memory = f"{one['memory']:.1f} GB beside X"
            say(f"{where}, {kind}: {what}, {found['epochs']} epochs, {memory}", f"{one['seconds']:.2f} s", "", "", goal)


if __name__ == "__main__":
    run()
