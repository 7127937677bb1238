"""Draw the packages as the import contract lists them: python docs/map/draw.py writes docs/map/rooms.svg.

The order is read from pyproject.toml: each line of the picture imports only lines below it.
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "rosenblatt"
ROOMS = {
    "cli": "the command line",
    "records": "what functions return: reports, proofs, traces",
    "lab": "a page on which perceptrons learn, in the browser",
    "tracing": "every visit of a run, in floats or fractions",
    "scale": "files larger than memory, shards, Dask",
    "plot": "pictures of models, traces, reports and proofs",
    "losses": "losses and gradients, by name",
    "model_files": "save, load, ONNX",
    "teaching": "functions for lectures",
    "tables": "models of raw tables: columns, search, cross-fitting, summaries",
    "search": "GridSearchCV: settings and folds as columns of one pass",
    "online": "perceptron, PA, AROW,|trees, Mark I",
    "objective": "losses, penalties, SVM,|embeddings",
    "kernel": "kernels, budgets,|dual ascent",
    "network": "layers,|backpropagation",
    "sequence": "tags of sentences,|Viterbi, templates",
    "shell": "what estimators share: X and y → Examples, fit, partial_fit, fitted attributes",
    "planes": "what linear learners share: weights, averages, votes, covariances, mixing",
    "prove": "margins, mistake bounds, separability, certificates",
    "learn": "what all learners share: examples, plans, the training loop, the sweep, reports",
    "formats": "bytes → rows, columns and tokens; fields that are declared and checked",
    "compiled": "dense and sparse rows, ties, threads, the disk cache",
    "registry": "the learners by name",
}
LEFT, WIDTH, GAP, TOP = 92, 960, 8, 10
LINE, SMALL = 34, 16  # the height of a box with its words beside the name, and of each line of words below it


def layers() -> list[list[str]]:
    """The packages of each layer of the contract, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = [one for one in settings["contracts"] if one["type"] == "layers"]
    return [[name.strip(" ()") for name in layer.split("|")] for layer in contract["layers"]]


def files(room: str) -> str:
    """How many files a package has."""
    if not (PACKAGE / room).is_dir():
        return "1 file"
    count = len([path for path in (PACKAGE / room).rglob("*.py") if path.name != "__init__.py"])
    return f"{count} files"


def box(room: str, x: float, y: float, width: float, height: float, beside: bool) -> list[str]:
    """A package: its name, what is in it and how many files it has."""
    words = ROOMS[room].split("|")
    parts = [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" class="box"/>',
        f'<text x="{x + 12:g}" y="{y + 22:g}" class="name">{room}</text>',
        f'<text x="{x + width - 10:g}" y="{y + 22:g}" class="count">{files(room)}</text>',
    ]
    at = (x + 118, y + 22) if beside else (x + 12, y + 22 + SMALL)
    for number, line in enumerate([" ".join(words)] if beside else words):
        parts.append(f'<text x="{at[0]:g}" y="{at[1] + number * SMALL:g}">{escape(line)}</text>')
    return parts


def draw() -> str:
    """The picture: one line per layer, and an arrow in the direction of imports."""
    parts, y = [], float(TOP)
    for layer in layers():
        beside = len(layer) == 1
        height = LINE if beside else LINE - 4 + SMALL * max(ROOMS[room].count("|") + 1 for room in layer)
        width = (WIDTH - GAP * (len(layer) - 1)) / len(layer)
        for number, room in enumerate(layer):
            parts += box(room, LEFT + number * (width + GAP), y, width, height, beside)
        y += height + GAP
    bottom, right = y - GAP, LEFT + WIDTH + 10
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right} {bottom + TOP:g}" width="{right}" '
            f'height="{bottom + TOP:g}">',
            "<title>The packages: each imports only those below it</title>",
            "<style>text { font: 13px sans-serif; fill: #333 } .name { font-weight: bold; font-size: 15px }"
            " .count { font-size: 11px; fill: #666; text-anchor: end }"
            " .box { fill: #fff; stroke: #117a8b; stroke-width: 1.5 }"
            " .head { font-weight: bold; fill: #117a8b; text-anchor: middle }</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
            '<path d="M0 0L8 4L0 8z" fill="#666"/></marker></defs>',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="40" y="{TOP + 14}" class="head">imports</text>',
            f'<line x1="40" y1="{TOP + 24}" x2="40" y2="{bottom:g}" stroke="#666" stroke-width="2.5" '
            'marker-end="url(#tip)"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    Path(__file__).with_name("rooms.svg").write_text(draw(), encoding="utf-8")
