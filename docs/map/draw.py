"""Draw the rooms of the package and the imports between them: python docs/map/draw.py writes docs/map/rooms.svg.

An arrow goes the way of the data, against the imports; its width grows with their number. Every
arrow goes up: that is the contract that make check holds.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "rosenblatt"
ROOMS = {  # from where data come in to where a person sees them
    "data": "what comes in: arrays, tables, files, text → Examples",
    "learn": "what changes w: the one training loop, rules, losses, kernels, networks",
    "prove": "what can be said: margins, bounds, certificates",
    "estimators": "the scikit-learn face: prepare → train → conclude",
    "persist": "model files and ONNX",
    "scale": "where it runs: files larger than memory, threads, Dask",
    "plot": "pictures of models, traces, reports and proofs",
    "show": "what a person sees: trace, the lab",
    "cli": "the command line",
}


def imports() -> Counter[tuple[str, str]]:
    """How many modules of the second room import from the first."""
    found: Counter[tuple[str, str]] = Counter()
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rosenblatt."):
                other = node.module.split(".")[1]
                if other != room and {room, other} <= set(ROOMS):
                    found[other, room] += 1
    return found


def draw(path: Path) -> None:
    """Draw the map: rooms in a column, an arc for each pair of which one imports the other."""
    figure, axes = plt.subplots(figsize=(11, 7.5))
    place = {room: number for number, room in enumerate(ROOMS)}
    for (source, target), count in sorted(imports().items(), key=lambda item: -item[1]):
        low, high = place[source], place[target]
        arrow = {
            "arrowstyle": "-|>",
            "color": plt.get_cmap("viridis")(low / len(ROOMS)),
            "linewidth": 0.8 + count / 20,
            "connectionstyle": "arc3,rad=-0.5",
            "shrinkA": 4,
            "shrinkB": 4,
        }
        axes.annotate("", (-0.75, high - 0.08), (-0.75, low + 0.08), arrowprops=arrow)
    for room, words in ROOMS.items():
        files = len([one for one in (PACKAGE / room).rglob("*.py") if one.name != "__init__.py"])
        box = {"boxstyle": "round,pad=0.45", "facecolor": "white", "edgecolor": "#222222"}
        axes.text(0, place[room], room, ha="center", va="center", fontsize=13, fontweight="bold", bbox=box)
        axes.text(0.75, place[room], f"{words}\n{files} files", va="center", fontsize=10, color="#333333")
    axes.set_xlim(-2.9, 6.0)
    axes.set_ylim(-0.7, len(ROOMS) - 0.3)
    axes.axis("off")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    plt.rcParams["svg.hashsalt"] = "rosenblatt"  # the same file each time
    draw(Path(__file__).with_name("rooms.svg"))
