"""Kernel perceptron and multilayer perceptron on MNIST, compared with a NumPy loop and scikit-learn: `run()`.

One thread, float32, the same data; CPU seconds, interleaved, the best of several. MNIST is read from the folder that
ROSENBLATT_DATA names; without it the rows are left out, with a note.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from typing import Any

import datasets
import numpy as np
from tables import head, left_out, say

PLACES, ROWS, FEW = 9, 100, 20  # places at which the NumPy loops are timed, and the number of rows there


def careful_loop(X: Any, support: Any, coef: Any, sides: Any, rows: range) -> float:
    """Seconds per row, all ten classes at once: K of the support, already in one array, with x; then the errors."""
    began = time.process_time()
    for i in rows:
        f = coef @ (1.0 + support @ X[i]) ** 2
        np.flatnonzero(sides[i] * f <= 0)
    return (time.process_time() - began) / len(rows)


def plain_loop(X: Any, index: list[Any], coef: list[Any], sides: Any, rows: range) -> float:
    """Seconds per row, one class at a time, f = Σ β_j (1 + x_j·x)² over the rows j with β_j ≠ 0."""
    began = time.process_time()
    for k, (mine, beta) in enumerate(zip(index, coef, strict=True)):
        for i in rows:
            f = beta @ (1.0 + X[mine] @ X[i]) ** 2
            if sides[i, k] * f <= 0:
                pass  # a mistake adds a row, which costs almost nothing
    return (time.process_time() - began) / len(rows)


PEAK = """
import sys, warnings
sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")
import datasets
from rosenblatt import KernelPerceptron
X, y, T, u = datasets.mnist()
settings = dict(degree=2, gamma=1.0, coef0=1.0, keep="vote", multiclass="ovr", order="cyclic", max_epochs=1)
model = KernelPerceptron("poly", **settings)
model.fit(X, y).predict(T[:2000])
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024)
"""


def kernel(data: tuple[Any, Any, Any, Any]) -> None:
    """Freund and Schapire's table, degree 2, T = 1."""
    from rosenblatt import KernelPerceptron

    X, y, T, u = data
    settings = {"degree": 2, "gamma": 1.0, "coef0": 1.0, "keep": "vote", "multiclass": "ovr", "order": "cyclic"}
    make = KernelPerceptron("poly", **settings, max_epochs=1)
    make.fit(X[:2000], y[:2000])
    fits, careful, plain = [], [], []
    sides = np.where(y[:, None] == np.arange(10), 1, -1)
    for _ in range(3):
        began = time.process_time()
        model = make.fit(X, y)
        fits.append(time.process_time() - began)
        log = np.concatenate(model._state.log)  # (support row, class, step, row visited, share)
        first = np.full(model.support_vectors_.shape[0], np.inf)
        np.minimum.at(first, log[:, 0].astype(int), log[:, 3])
        known, slow = [], []
        for place in np.linspace(0, len(y) - ROWS, PLACES).astype(int):
            size, rows = max(int(np.searchsorted(first, place)), 1), range(place, place + ROWS)  # in order of entry
            support = np.ascontiguousarray(model.support_vectors_[:size])
            coef = np.ascontiguousarray(model.dual_coef_[:, :size], dtype=np.float32)
            known.append(careful_loop(X, support, coef, sides, rows))
            index = [log[(log[:, 1] == k) & (log[:, 3] < place), 3].astype(int) for k in range(10)]
            slow.append(plain_loop(X, index, [np.ones(len(i), np.float32) for i in index], sides, rows[:FEW]))
        careful.append(float(np.trapezoid(known, dx=len(y) / (PLACES - 1))))
        plain.append(float(np.trapezoid(slow, dx=len(y) / (PLACES - 1))))
    ours, how = min(fits), f"(from {PLACES} places, extrapolated)"
    work = "KernelPerceptron degree 2, one-vs-rest, vote, T = 1: fit"
    for loop, peer, goal in (
        ("NumPy loop over rows, class by class", min(plain), "≥ 10 ×"),
        ("NumPy loop over rows, all classes at once, support ready", min(careful), ""),
    ):
        say(work, f"{ours:.1f} s", f"{loop}: {peer:.0f} s {how}", f"{peer / ours:.1f} ×", goal)
    error = 100 * (1 - model.score(T, u))
    reached = f"{error:.2f} % ({model.report_.updates:,} mistakes)"
    say("the same: test error", reached, "published 2.8 %", f"{error - 2.8:+.2f}", "within 0.3")
    here = os.path.dirname(os.path.abspath(__file__))
    out = subprocess.run([sys.executable, "-c", PEAK, here], capture_output=True, text=True, check=True)
    say("the same: peak memory of the process", f"{int(out.stdout) / 1e9:.2f} GB", "", "", "< 4 GB")


def network(data: tuple[Any, Any, Any, Any]) -> None:
    """784-128-10 compared with scikit-learn's MLPClassifier, with the same batches and the same optimiser."""
    from sklearn.neural_network import MLPClassifier

    from rosenblatt import MultilayerPerceptron

    X, y, T, u = data
    ours, peer, epochs = np.inf, np.inf, 3
    for _ in range(3):
        start = time.process_time()
        MultilayerPerceptron((128,), max_epochs=1, random_state=0).fit(X, y)  # one epoch, with set-up and report
        middle = time.process_time()
        MultilayerPerceptron((128,), max_epochs=1 + epochs, random_state=0).fit(X, y)
        began = time.process_time()
        ours = min(ours, (began - middle - (middle - start)) / epochs)
        MLPClassifier((128,), max_iter=1, random_state=0).fit(X, y)  # the same
        middle = time.process_time()
        MLPClassifier((128,), max_iter=1 + epochs, random_state=0).fit(X, y)
        peer = min(peer, (time.process_time() - middle - (middle - began)) / epochs)
    other = f"MLPClassifier {peer:.2f} s"
    say("MultilayerPerceptron 784-128-10: an epoch", f"{ours:.2f} s", other, f"{peer / ours:.2f} ×", "≥ 1 ×")
    model = MultilayerPerceptron((128,), max_epochs=20, random_state=0).fit(X, y)
    theirs = MLPClassifier((128,), max_iter=20, random_state=0).fit(X, y)
    reached, other = f"{100 * model.score(T, u):.2f} %", f"{100 * theirs.score(T, u):.2f} %"
    say("the same: test accuracy after 20 epochs", reached, other, "", "≥ 97.5 %")


def run() -> None:
    """Every row."""
    head("Kernels and networks, MNIST")
    data = datasets.mnist()
    if data is None:
        left_out("MNIST, which needs ROSENBLATT_DATA")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel(data)
        network(data)
