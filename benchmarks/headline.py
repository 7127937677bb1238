"""The six figures of the README and of the home page, taken from docs/benchmarks.md: python benchmarks/headline.py

It rewrites their table in the README and draws docs/pictures/speed.svg.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE, README, PICTURE = ROOT / "docs" / "benchmarks.md", ROOT / "README.md", ROOT / "docs" / "pictures" / "speed.svg"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"

# What a reader cares about: (in words, the row of the page by its work, and by its peer; the peer in a word).
CHOSEN = [
    ("a9a to accuracy 0.8495", "a9a, 0.8495", "", "scikit-learn SGD"),
    ("forest cover types to accuracy 0.755", "covtype, two classes, 0.755", "", "scikit-learn SGD"),
    ("a linear SVM on 200,000 text-like rows", "text-like 200,000 × 47,236", "LIBLINEAR", "LIBLINEAR"),
    ("are 10,000 × 50 rows separated?", "10,000 × 50, quasi-complete", "", "SciPy's linprog"),
    ("read 214 MB of svmlight", "parse svmlight, 214 MB", "", "scikit-learn"),
    ("one pass over 2 GB of generated rows", "train one pass from 2,009 MB of svmlight, nothing", "", "Vowpal Wabbit"),
]


def rows(page: str) -> list[tuple[str, str, str, str, str]]:
    """The chosen rows of the page: in words, ours, the peer's, the ratio, the peer in a word."""
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in page.splitlines() if line[:1] == "|"]
    found = []
    for words, work, peer, name in CHOSEN:
        # A run may leave out what its machine lacks.
        found += [(words, *row[1:4], name) for row in cells if row[0].startswith(work) and peer in row[2]][:1]
    return found


def write() -> None:
    """Update the README and the picture."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    lines = ["| work | rosenblatt | peer | ratio |", "|---|---|---|---|"]
    lines += [f"| {words} | {ours} | {peer} | {ratio} |" for words, ours, peer, ratio, _ in rows(page)]
    lines = [re.sub(r" \([\d.]+, \+[\de.-]+\)", "", line) for line in lines]  # tolerances: the page explains them
    README.write_text(before + "\n".join([BEGIN, *lines, END]) + rest.split(END)[1], encoding="utf-8")
    draw(rows(page))


def draw(chosen: list[tuple[str, str, str, str, str]]) -> None:
    """Bars of the ratios, on a logarithmic scale."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "rosenblatt", "svg.fonttype": "path", "font.size": 11})
    figure, axes = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
    ratios = [float(ratio.rstrip(" ×")) for _, _, _, ratio, _ in chosen][::-1]
    axes.barh(
        [f"{words}\nagainst {name}" for words, _, _, _, name in chosen][::-1], ratios, color="#117a8b", height=0.6
    )
    for at, ratio in enumerate(ratios):
        axes.text(ratio * 1.06, at, f"{ratio:g} ×", va="center", fontweight="bold")
    axes.set_xscale("log")
    axes.set_xlim(1, max(ratios) * 2)
    axes.set_xticks([1, 3, 10, 30, 100], ["1 ×", "3 ×", "10 ×", "30 ×", "100 ×"])
    axes.set_xlabel("times as fast as the peer, in one run on two cores")
    axes.tick_params(axis="y", length=0, labelsize=9)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.savefig(PICTURE, metadata={"Date": None, "Creator": None}, facecolor="white")
    plt.close(figure)


if __name__ == "__main__":
    write()
