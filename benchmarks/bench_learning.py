"""Epochs, memory and start-up of the perceptron family, compared with its peers."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import datasets
import numpy as np
from tables import REPEATS, fastest, head, say

warnings.filterwarnings("ignore")


# -- an epoch --------------------------------------------------------------------------------------------------------


def epochs() -> None:
    """The time per epoch compared with scikit-learn, and with reading the memory."""
    from sklearn.linear_model import Perceptron as Peer

    from rosenblatt import Perceptron

    head("One epoch, two classes, float32, one thread (fit of 5 epochs / 5)")

    def pair(X: Any, y: Any) -> dict[str, Callable[[], Any]]:
        return {
            "ours": lambda: Perceptron(max_epochs=5, random_state=0).fit(X, y),
            "peer": lambda: Peer(max_iter=5, tol=None, random_state=0).fit(X, y),
            "ours in order": lambda: Perceptron(max_epochs=5, order="cyclic").fit(X, y),
            "peer in order": lambda: Peer(max_iter=5, tol=None, shuffle=False).fit(X, y),
        }

    def against(read: Callable[[], Any], X: Any, y: Any, **how: Any) -> float:
        """The best time of `read` divided by that of an epoch without checks and the final scan; both interleaved."""
        model, best, mine = Perceptron(max_epochs=5, **how), float("inf"), float("inf")
        for _ in range(2 * REPEATS):
            best = min(best, fastest({"read": read}, repeats=3)["read"])
            mine = min(mine, *(record.seconds for record in model.fit(X, y).report_.epochs))
        return best / mine

    X, y = datasets.text_like()
    best = fastest(pair(X, y))
    _rows("text-like CSR 200,000 × 47,236", best, "≥ 3 ×")
    for name, how, goal in (("random order", {"random_state": 0}, 0.27), ("file order", {"order": "cyclic"}, 0.40)):
        share = against(lambda X=X: (X.data.sum(), X.indices.max()), X, y, **how)
        say(
            f"the same, {name}, against a streaming read", f"{share:.2f} of its speed", "1", f"{share:.2f}", f"≥ {goal}"
        )

    X, y = datasets.dense()
    w = np.ones(X.shape[1], np.float32)
    best = fastest(pair(X, y))
    _rows("dense 1,000,000 × 64", best, "≥ 5 ×")
    share = against(lambda: X @ w, X, y, order="cyclic")
    say("the same, file order, against X @ w", f"{share:.2f} of its speed", "1", f"{share:.2f}", "≥ 0.6")


def _rows(work: str, best: dict[str, float], goal: str) -> None:
    for order, goal_here in (("", goal), (" in order", "")):
        ours, peer = best["ours" + order] / 5, best["peer" + order] / 5
        name = work + (", random order" if not order else ", file order")
        say(name, f"{1e3 * ours:.1f} ms", f"{1e3 * peer:.1f} ms", f"{peer / ours:.1f} ×", goal_here)


# -- memory and start ------------------------------------------------------------------------------------------------

MEMORY = """
import numpy as np, scipy.sparse as sp, warnings, sys
from rosenblatt import Perceptron
warnings.simplefilter("ignore")
kind, dtype, index = sys.argv[1:]
rng = np.random.default_rng(0)
def make(n):
    if kind == "dense":
        return rng.standard_normal((n, 64), dtype=dtype)
    columns = np.sort(rng.integers(0, 47_236 // 64, (n, 64)) + np.arange(64) * (47_236 // 64), axis=1)
    starts = np.arange(n + 1) * 64
    X = sp.csr_matrix((n, 47_236), dtype=dtype)
    X.data, X.indices, X.indptr = rng.random(n * 64, dtype=dtype), columns.ravel().astype(index), starts.astype(index)
    return X
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
small, large = make(2000), make(600_000)
y = rng.integers(0, 2, 600_000)
Perceptron(max_epochs=2).fit(small, y[:2000])
size = sum(a.nbytes for a in ((large,) if kind == "dense" else (large.data, large.indices, large.indptr)))
open("/proc/self/clear_refs", "w").write("5")
before = peak()
model = Perceptron(max_epochs=2).fit(large, y)
print(1024 * (peak() - before) - model.coef_.nbytes, size)
"""


def memory() -> None:
    """The growth of peak memory during fit, as a fraction of X."""
    head("Peak memory of fit above X and the model")
    for kind, dtype, index in (
        ("dense", "float32", "-"),
        ("dense", "float64", "-"),
        ("csr", "float32", "int32"),
        ("csr", "float64", "int32"),
        ("csr", "float32", "int64"),
        ("csr", "float64", "int64"),
    ):
        out = subprocess.run(
            [sys.executable, "-c", MEMORY, kind, dtype, index], capture_output=True, text=True, check=True
        )
        grown, size = map(int, out.stdout.split())
        what = f"{kind} {dtype}" + (f", {index} indices" if kind == "csr" else "")
        say(what, f"{100 * grown / size:.1f} % of {size / 1e6:.0f} MB", "", "", "< 10 %")


def start() -> None:
    """CPU time of the import, and of the first fit in a new process."""
    head("Start, in processor seconds")

    def cpu(code: str, **env: str) -> float:
        program = f"import time; {code}; print(time.process_time())"
        best = float("inf")
        for _ in range(1 if env else 5):
            out = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **env}
            )
            best = min(best, float(out.stdout.split()[-1]))
        return best

    first = "from rosenblatt import Perceptron; Perceptron().fit([[0.0], [1.0]], [0, 1])"
    empty, peer = cpu("pass"), cpu("import sklearn.linear_model")
    say("import rosenblatt, above an empty program", f"{cpu('import rosenblatt') - empty:.3f} s", "", "", "< 0.1 s")
    say("first fit, warm cache, above import sklearn.linear_model", f"{cpu(first) - peer:.2f} s", "", "", "≤ 1 s")
    import tempfile

    with tempfile.TemporaryDirectory() as cache:
        say("first fit, cold cache", f"{cpu(first, NUMBA_CACHE_DIR=cache):.1f} s", "", "", "≤ 10 s")
