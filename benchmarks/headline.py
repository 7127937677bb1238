"""The six figures of the README and of the home page, taken from docs/benchmarks.md: python benchmarks/headline.py

It rewrites their table in the README and draws docs/pictures/speed.svg.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE, README, PICTURE = ROOT / "docs" / "benchmarks.md", ROOT / "README.md", ROOT / "docs" / "pictures" / "speed.svg"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


class Headline(NamedTuple):
    """A row of the README.

    Attributes
    ----------
    task : str
        What is done, in words.
    work, peer : str
        What the row of the page begins with, and what its peer contains.
    rival : str
        The peer in words.
    note : str
        The settings, and what the ratio does not say: for the footnote.
    """

    task: str
    work: str
    peer: str
    rival: str
    note: str


CHOSEN = [
    Headline(
        "the widest plane between 100,000 × 20 rows",
        "100,000 × 20, gap 7e-13",
        "",
        "SVC",
        "tolerance 1e-6; margin 3e-5 smaller",
    ),
    Headline(
        "learn MNIST to a test accuracy of 0.92",
        "MNIST, 0.92",
        "",
        "SGDClassifier",
        "both averaged passive-aggressive; it stops at 0.917",
    ),
    Headline(
        "are 10,000 × 50 rows separated?",
        "10,000 × 50, quasi-complete",
        "",
        "linprog",
        "weakly separated rows; our time includes the proof",
    ),
    Headline(
        "grid search: 8 settings, 5 folds, 300,000 × 64",
        "dense 300,000 × 64: against GridSearchCV",
        "",
        "GridSearchCV",
        "both passive-aggressive, five epochs",
    ),
    Headline(
        "read 214 MB of svmlight",
        "parse svmlight, 214 MB",
        "",
        "load_svmlight_file",
        "the same arrays",
    ),
    Headline(
        "a linear SVM on 200,000 × 47,236 sparse rows",
        "text-like 200,000 × 47,236",
        "LIBLINEAR",
        "LIBLINEAR",
        "hinge, C = 1, to within 1e-3 of the best objective",
    ),
]


def seconds_or_speed(cell: str) -> str:
    """The time or the speed in a cell of the page, without settings, tolerances and processor time."""
    value, unit = re.search(r"([\d.]+) (ms|s|MB/s)\b", cell).groups()
    return f"{float(value) / 1000:.2g} s" if unit == "ms" else f"{float(value):.3g} {unit}"


def ratio_in_short(ratio: float) -> str:
    """Two digits, or all before the point."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def rows(page: str) -> list[tuple[Headline, str, str, str]]:
    """The chosen rows of the page: the headline, ours, the peer's, the ratio."""
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in page.splitlines() if line[:1] == "|"]
    found = []
    for chosen in CHOSEN:
        # A run may leave out what its machine lacks.
        fitting = [row for row in cells if row[0].startswith(chosen.work) and chosen.peer in row[2]][:1]
        found += [
            (chosen, *map(seconds_or_speed, row[1:3]), ratio_in_short(float(row[3].rstrip(" ×")))) for row in fitting
        ]
    return found


def table(page: str) -> str:
    """The table of the README and its footnote."""
    found = rows(page)
    lines = ["| task | rosenblatt | the usual tool | × |", "|---|--:|--:|--:|"]
    lines += [f"| {one.task} | {ours} | {one.rival} {theirs} | {ratio} |" for one, ours, theirs, ratio in found]
    notes = " ".join(f"{one.rival}: {one.note}." for one, *_ in found)
    return "\n".join([*lines, "", f"<sub>One thread, interleaved runs. {notes}</sub>"])


def write() -> None:
    """Update the README and the picture."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    README.write_text("\n".join([before + BEGIN, table(page), END]) + rest.split(END)[1], encoding="utf-8")
    draw(rows(page))


def draw(chosen: list[tuple[Headline, str, str, str]]) -> None:
    """Bars of the ratios, on a logarithmic scale."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "rosenblatt", "svg.fonttype": "path", "font.size": 11})
    figure, axes = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
    ratios = [float(ratio) for *_, ratio in chosen][::-1]
    axes.barh([f"{one.task}\nagainst {one.rival}" for one, *_ in chosen][::-1], ratios, color="#117a8b", height=0.6)
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
