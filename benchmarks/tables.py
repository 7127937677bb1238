"""The tables of the benchmarks, and fair timing.

One thread unless a section says otherwise; runs are interleaved and the best of several counts, because machines are
noisy. The ratios matter, not the times.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import headline

REPEATS = 5
ROOT = headline.ROOT
LINES: list[str] = []


def fastest(runs: dict[str, Callable[[], Any]], repeats: int = REPEATS) -> dict[str, float]:
    """The best time of each run, all runs interleaved, after one run of each to warm up."""
    for run in runs.values():
        run()
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def show(line: str) -> None:
    """Print a line, and store it for `write_figures`."""
    LINES.append(line)
    print(line, flush=True)


def say(work: str, ours: str, peer: str, ratio: str, goal: str) -> None:
    """One row of the table."""
    show(f"| {work} | {ours} | {peer} | {ratio} | {goal} |")


def head(title: str) -> None:
    """The heading of a table."""
    LINES.append(f"\n## {title}\n\n{COLUMNS}")
    print(LINES[-1], flush=True)


COLUMNS = "| work | rosenblatt | peer | ratio | goal |\n|---|---|---|---|---|"


def left_out(what: str) -> None:
    """A row that was not measured, with the reason."""
    show(f"| {what} | left out | | | |")


def write_figures() -> None:
    """Write the tables to docs/benchmarks.md, and the figures that the README shows from there.

    A run of single sections replaces their tables and keeps the others; a whole run begins a new page.
    """
    whole = sys.argv[1:] == ["--write"]
    former = "" if whole else headline.PAGE.read_text(encoding="utf-8")
    parts = [*former.split("\n## ")[1:], *"\n".join(LINES).split("\n## ")[1:]]
    tables = {part.splitlines()[0]: part.rstrip() for part in parts}
    how = (
        f"Measured by `python benchmarks/bench.py --write`, each table in one run, on {os.cpu_count()} cores with "
        f"Python {platform.python_version()}; `bench.py SECTION --write` measures one section anew."
    )
    text = "\n\n".join(["# Benchmarks", how, *(f"## {part}" for part in tables.values())])
    headline.PAGE.write_text(text + "\n", encoding="utf-8")
    headline.write()
