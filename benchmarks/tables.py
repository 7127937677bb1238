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
from pathlib import Path
from typing import Any

REPEATS = 5
ROOT = Path(__file__).parent.parent
LINES: list[str] = []
SHORT: list[str] = []  # the lines that the README shows too


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


def show(line: str, *, short: bool) -> None:
    """Print a line, and store it for `write_figures`."""
    LINES.append(line)
    if short:
        SHORT.append(line)
    print(line, flush=True)


def say(work: str, ours: str, peer: str, ratio: str, goal: str) -> None:
    """One row of the table."""
    show(f"| {work} | {ours} | {peer} | {ratio} | {goal} |", short=bool(ratio and goal))


def head(title: str) -> None:
    """The heading of a table."""
    LINES.append(f"\n## {title}\n\n{COLUMNS}")
    print(LINES[-1], flush=True)


COLUMNS = "| work | rosenblatt | peer | ratio | goal |\n|---|---|---|---|---|"


def left_out(what: str) -> None:
    """A row that was not measured, with the reason."""
    show(f"| {what} | left out | | | |", short=False)


def write_figures() -> None:
    """Write all tables to docs/benchmarks.md, and the rows with a ratio and a goal to the README."""
    command = " ".join(["python benchmarks/bench.py", *sys.argv[1:]])
    how = f"Measured by `{command}` in one run, {os.cpu_count()} cores, Python {platform.python_version()}"
    page = [f"# Benchmarks\n\n{how}.", *LINES, ""]
    (ROOT / "docs" / "benchmarks.md").write_text("\n".join(page), encoding="utf-8")
    readme = ROOT / "README.md"
    begin, end = "<!-- bench: begin -->", "<!-- bench: end -->"
    before, rest = readme.read_text(encoding="utf-8").split(begin)
    block = "\n".join([begin, f"{how} ([all of it](docs/benchmarks.md)):\n", COLUMNS, *SHORT, end])
    readme.write_text(before + block + rest.split(end)[1], encoding="utf-8")
