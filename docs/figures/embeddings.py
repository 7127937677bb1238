"""Accuracy against time of linear probes on a GPU, for the guide to embeddings.

    python docs/figures/embeddings.py

Draws embeddings.png beside this file from docs/gpu.json, which benchmarks/bench_gpu.py writes.
"""

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
KINDS = {"correlated": "Correlated features", "uncorrelated": "Uncorrelated features"}


def main():
    figures = json.loads((HERE.parent / "gpu.json").read_text(encoding="utf-8"))
    drawing, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for ax, (kind, title) in zip(axes, KINDS.items(), strict=True):
        ours = list(figures[kind]["one"].values())
        ax.plot(
            [one["seconds"] for one in ours], [one["accuracy"] for one in ours], "o-", label="rosenblatt, mini-batches"
        )
        peers = figures[kind]["lbfgs"]
        best = max(peers, key=lambda one: one["accuracy"])["penalty"]
        of_best = [one for one in peers if one["penalty"] == best]
        ax.plot([one["seconds"] for one in of_best], [one["accuracy"] for one in of_best], "s--", label="torch, L-BFGS")
        ax.set(title=title, xlabel="seconds", xscale="log", ylabel="test accuracy")
        ax.set_xticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    axes[1].legend(loc="lower right")
    drawing.savefig(HERE / "embeddings.png", dpi=110)


if __name__ == "__main__":
    main()
