"""Accuracy against time of linear classifiers of embeddings, on a CPU and on a GPU, for the guide to embeddings.

    python docs/figures/embeddings.py

Draws embeddings.png beside this file from docs/gpu.json, which benchmarks/bench_gpu.py writes, and from
docs/embeddings_cpu.json, which benchmarks/bench_embeddings_curve.py writes.
"""

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
KINDS = {"correlated": "GPU, correlated features", "uncorrelated": "GPU, uncorrelated features"}
CPU = (
    ("rosenblatt", "o-", "rosenblatt, mini-batches"),
    ("LogisticRegression", "s--", "scikit-learn, LogisticRegression"),
    ("SGDClassifier", "^", "scikit-learn, SGDClassifier"),
)


def curve(ax, points, style, label):
    ax.plot([one["seconds"] for one in points], [one["accuracy"] for one in points], style, label=label)


def dressed(ax, title, ticks, legend="lower right"):
    ax.set(title=title, xlabel="seconds", xscale="log", ylabel="test accuracy")
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    ax.legend(loc=legend, fontsize=8)


def main():
    figures, on_cpu = (
        json.loads((HERE.parent / name).read_text(encoding="utf-8")) for name in ("gpu.json", "embeddings_cpu.json")
    )
    drawing, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    for name, style, label in CPU:
        curve(axes[0], on_cpu["embeddings"][name], style, label)
    dressed(axes[0], "CPU, one thread (processor time)", [0.3, 1, 3, 10, 30], "center right")
    for ax, (kind, title) in zip(axes[1:], KINDS.items(), strict=True):
        curve(ax, list(figures[kind]["one"].values()), "o-", "rosenblatt, mini-batches")
        peers = figures[kind]["lbfgs"]
        best = max(peers, key=lambda one: one["accuracy"])["penalty"]
        curve(ax, [one for one in peers if one["penalty"] == best], "s--", "torch, L-BFGS")
        dressed(ax, title, [0.1, 0.3, 1, 3])
    drawing.savefig(HERE / "embeddings.png", dpi=110)


if __name__ == "__main__":
    main()
