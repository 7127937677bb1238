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
    """Write all tables to docs/benchmarks.md, and the figures that the README shows from there."""
    command = " ".join(["python benchmarks/bench.py", *sys.argv[1:]])
    how = f"Measured by `{command}` in one run, {os.cpu_count()} cores, Python {platform.python_version()}"
    headline.PAGE.write_text("\n".join([f"# Benchmarks\n\n{how}.", *LINES, ""]), encoding="utf-8")
    headline.write()
