"""Linear probes on a GPU, compared with torch's L-BFGS: three epochs for one penalty, and for ten at once.

    python benchmarks/bench_gpu.py [--rows 1230000] [--out docs/gpu.json] [--libraries FOLDER …]

Needs torch, NumPy and array-api-compat, and nothing else of what rosenblatt needs: only the mini-batch core is
imported. Where array-api-compat is not installed, --libraries names a folder that holds it. First the GPU's results are
compared with NumPy's on a small problem. Then two kinds of rows: with features of one size and no correlation, the
easiest for L-BFGS, and with features whose variances fall like 1/k along hidden directions, as those of embeddings do.
The figures are written to a small file, with the command and the machine.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FEATURES, CLASSES, EPOCHS = 768, 1000, 3
PENALTIES = tuple(float(alpha) for alpha in np.logspace(-6, -1.5, 10))


def core(libraries: list[str]) -> Any:
    """The mini-batch core, without the package around it: its first line needs lazy_loader, other modules numba."""
    sys.path.extend(libraries)
    package = types.ModuleType("rosenblatt")
    package.__path__ = [str(ROOT / "src" / "rosenblatt")]
    sys.modules["rosenblatt"] = package
    from rosenblatt.objective import minibatch

    return minibatch


def data(torch: Any, kind: str, n: int, held_out: int, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Gaussian rows about the centres of 1,000 classes, as float16, made on the GPU."""
    g = torch.Generator(device="cuda").manual_seed(seed)
    centres = torch.randn(CLASSES, FEATURES, device="cuda", generator=g)
    y = torch.randint(0, CLASSES, (n + held_out,), device="cuda", generator=g)
    X = torch.empty(n + held_out, FEATURES, dtype=torch.float16, device="cuda")
    if kind == "correlated":
        place = torch.arange(1.0, FEATURES + 1, device="cuda")
        turn = torch.linalg.qr(torch.randn(FEATURES, FEATURES, device="cuda", generator=g))[0]
        spread, centres = (turn * place**-0.5) @ turn.T, (0.55 * centres * place**-0.75) @ turn.T
    else:
        spread, centres = torch.eye(FEATURES, device="cuda"), 0.15 * centres
    for begin in range(0, n + held_out, 1 << 16):
        part = y[begin : begin + (1 << 16)]
        X[begin : begin + (1 << 16)] = (
            torch.randn(part.numel(), FEATURES, device="cuda", generator=g) @ spread + centres[part]
        ).half()
    return X[:n], y[:n], X[n:].clone(), y[n:].clone()


def accuracy(torch: Any, W: Any, b: Any, X: Any, y: Any) -> float:
    """The share of rows that the planes W (K, d) get right."""
    right = 0
    for begin in range(0, X.shape[0], 1 << 14):
        scores = X[begin : begin + (1 << 14)].float() @ W.float().T + b
        right += int((scores.argmax(1) == y[begin : begin + (1 << 14)]).sum())
    return right / X.shape[0]


def timed(torch: Any, work: Any, repeats: int = 3) -> tuple[float, float, Any]:
    """The best seconds of several, the peak of memory beyond what was held before, in GB, and the result."""
    best, peak, found = float("inf"), 0.0, None
    for _ in range(repeats):
        found = None
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        held = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        began = time.perf_counter()
        found = work()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
        peak = max(peak, (torch.cuda.max_memory_allocated() - held) / 1e9)
    return best, peak, found


def by_lbfgs(torch: Any, X: Any, y: Any, alpha: float, iterations: int) -> tuple[Any, Any]:
    """Softmax by torch.optim.LBFGS over all rows, with products of 16 bits and sums of 32, as ours."""
    scale = X[: 1 << 14].float().std(0)
    mean = X[: 1 << 14].float().mean(0)
    V = torch.zeros(FEATURES, CLASSES, device="cuda", requires_grad=True)
    c = torch.zeros(CLASSES, device="cuda", requires_grad=True)
    n, step = X.shape[0], 1 << 16
    solver = torch.optim.LBFGS([V, c], max_iter=iterations, history_size=10, line_search_fn="strong_wolfe")

    @torch.no_grad()
    def closure() -> Any:
        loss, V.grad, c.grad = 0.5 * alpha * (V * V).sum(), alpha * V, torch.zeros_like(c)
        half = V.half()
        for begin in range(0, n, step):
            z = ((X[begin : begin + step].float() - mean) / scale).half()
            logs = torch.log_softmax((z @ half).float() + c, 1)
            part = y[begin : begin + step]
            loss = loss - logs.gather(1, part[:, None]).sum() / n
            p = logs.exp_()
            p[torch.arange(part.numel(), device="cuda"), part] -= 1
            V.grad += (z.T @ p.half()).float() / n
            c.grad += p.sum(0) / n
        return loss

    solver.step(closure)
    W = (V.detach() / scale[:, None]).T
    return W, c.detach() - W @ mean


def fit_path(minibatch: Any, X: Any, y: Any, settings: Any) -> Any:
    """The weights and intercepts of all penalties, where X is."""
    descent = minibatch.MiniBatchDescent(X, y, settings)
    for _ in range(settings.epochs):
        descent.epoch()
    return descent.planes(*descent.point())


def check(torch: Any, minibatch: Any) -> dict[str, float]:
    """The share of rows on which the GPU's model agrees with NumPy's, for each type of rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 20_000)
    X = (rng.standard_normal((20_000, 64)) + 0.5 * rng.standard_normal((20, 64))[y]).astype(np.float32)
    settings = minibatch.Settings("softmax", 20, (1e-4, 1e-1), standardised=True, batch=512)
    W, b = fit_path(minibatch, X, y, settings)
    agreement = {}
    for kind in ("float32", "float16", "bfloat16"):
        rows = torch.asarray(X).to(getattr(torch, kind)).cuda()
        V, c = fit_path(minibatch, rows, torch.asarray(y).cuda(), settings)
        assert V.is_cuda
        assert V.dtype == torch.float32
        again, _ = fit_path(minibatch, rows, torch.asarray(y).cuda(), settings)
        assert bool((again == V).all()), "the same seed gave other bits"
        agreement[kind] = min(
            float(((X @ W[k].T + b[k]).argmax(1) == (X @ V[k].cpu().numpy().T + c[k].cpu().numpy()).argmax(1)).mean())
            for k in range(2)
        )
    return agreement


def measure(torch: Any, minibatch: Any, kind: str, rows: int) -> dict[str, Any]:
    """One kind of rows: ours for one and for ten penalties, and L-BFGS for two of them.

    Penalties are chosen on rows of the validation half of those held out, accuracies are those of the other half.
    """
    X, y, T, u = data(torch, kind, rows, 100_000)
    half = T.shape[0] // 2

    def ours(penalties: tuple[float, ...], epochs: int) -> Any:
        settings = minibatch.Settings("softmax", CLASSES, penalties, standardised=True, epochs=epochs)
        return timed(torch, lambda: fit_path(minibatch, X, y, settings))

    ten_s, ten_gb, (W, b) = ours(PENALTIES, EPOCHS)
    validated = [accuracy(torch, W[k], b[k], T[:half], u[:half]) for k in range(len(PENALTIES))]
    best = PENALTIES[int(np.argmax(validated))]
    ten = {"seconds": ten_s, "memory": ten_gb, "penalties": PENALTIES, "validated": validated, "chosen": best}
    print(
        f"{kind}: ten penalties, {EPOCHS} epochs: {ten_s:.3f} s, {ten_gb:.2f} GB beside X, {best:.1e} chosen",
        flush=True,
    )
    one = {}
    for epochs in (1, 2, 3, 6, 12):
        seconds, memory, (W, b) = ours((best,), epochs)
        one[epochs] = {
            "seconds": seconds,
            "accuracy": accuracy(torch, W[0], b[0], T[half:], u[half:]),
            "memory": memory,
        }
        print(f"{kind}: one penalty, {epochs} epochs: {one[epochs]}", flush=True)
    peers = []
    for alpha in sorted({best, 1e-4, 1e-3}):
        for iterations in (5, 10, 20, 40, 80):
            seconds, memory, (V, c) = timed(torch, lambda a=alpha, most=iterations: by_lbfgs(torch, X, y, a, most), 2)
            found = {"penalty": alpha, "iterations": iterations, "seconds": seconds, "memory": memory}
            peers.append(found | {"accuracy": accuracy(torch, V, c, T[half:], u[half:])})
            print(f"{kind}: torch L-BFGS: {peers[-1]}", flush=True)
    return {"ten": ten, "one": one, "lbfgs": peers}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_230_000)
    parser.add_argument("--out", default=None)
    parser.add_argument("--libraries", nargs="*", default=[])
    arguments = parser.parse_args()
    minibatch = core(arguments.libraries)
    import torch

    agreement = check(torch, minibatch)
    print("agreement with NumPy:", agreement, flush=True)
    assert min(agreement.values()) > 0.97
    figures = {
        "command": "python benchmarks/bench_gpu.py",
        "machine": torch.cuda.get_device_name(0),
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__},
        "rows": arguments.rows,
        "features": FEATURES,
        "classes": CLASSES,
        "epochs": EPOCHS,
        "agreement": agreement,
        **{kind: measure(torch, minibatch, kind, arguments.rows) for kind in ("uncorrelated", "correlated")},
    }
    if arguments.out:
        rounded = json.loads(json.dumps(figures), parse_float=lambda digits: float(f"{float(digits):.4g}"))
        Path(arguments.out).write_text(json.dumps(rounded, indent=1) + "\n")


if __name__ == "__main__":
    main()
