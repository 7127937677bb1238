"""The table that every benchmark prints into, and what they all do to be fair.

One thread unless a section says otherwise; runs are interleaved and the best of several counts, since machines are
noisy. Ratios are what to read.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPEATS = 5
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
    """Print a line, and remember it for the README."""
    LINES.append(line)
    print(line, flush=True)


def say(work: str, ours: str, peer: str, ratio: str, goal: str) -> None:
    """One row of the table."""
    show(f"| {work} | {ours} | {peer} | {ratio} | {goal} |")


def head(title: str) -> None:
    """The head of a table."""
    show(f"\n**{title}**\n\n| work | rosenblatt | peer | ratio | goal |\n|---|---|---|---|---|")


def left_out(what: str) -> None:
    """Say that a row is missing, and why."""
    show(f"| {what} | left out | | | |")


def write_readme() -> None:
    """Put the tables where the README has its figures."""
    readme = Path(__file__).parent.parent / "README.md"
    begin, end = "<!-- bench: begin -->", "<!-- bench: end -->"
    before, rest = readme.read_text(encoding="utf-8").split(begin)
    after = rest.split(end)[1]
    told = f"Measured by `make bench` in one run, {os.cpu_count()} cores, Python {platform.python_version()}:"
    readme.write_text(before + begin + "\n" + told + "\n" + "\n".join(LINES) + "\n" + end + after, encoding="utf-8")
