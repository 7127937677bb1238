"""What a person sees while training runs: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator

from rosenblatt.scale.progress import Progress

SILENCE = 0.2  # seconds between two lines: thousands of short epochs are no news


def watched(steps: Iterator[Progress], quiet: bool = False) -> None:
    """Drive the training and show how far it is, on standard error."""
    if sys.stderr.isatty() and not quiet:
        _with_bar(steps)
    else:
        said, last = -math.inf, None
        for step in steps:
            if step.record is not None and not quiet:
                last = step
                if time.perf_counter() - said >= SILENCE:
                    print(_line(step), file=sys.stderr, flush=True)
                    said, last = time.perf_counter(), None
        if last is not None:
            print(_line(last), file=sys.stderr, flush=True)


def _line(step: Progress) -> str:
    assert step.record is not None
    rate = step.rows / max(step.record.seconds, 1e-9)
    return (
        f"epoch {step.epoch}: {step.updates:,} mistakes, loss {step.record.loss:.4g}, "
        f"{f'{step.shards:,} shards, ' if step.shards else ''}"
        f"{rate:,.0f} rows/s, {step.seconds:.1f} s"
    )


def _with_bar(steps: Iterator[Progress]) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]} rows/s"),
        TextColumn("{task.fields[mistakes]} mistakes"),
        TextColumn("{task.fields[shards]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("train", total=None, epoch=1, rate="…", mistakes=0, shards="")
        began, epoch = time.perf_counter(), 0
        for step in steps:
            if step.epoch != epoch:
                epoch, began = step.epoch, time.perf_counter()
                bar.reset(task, total=step.total)
            rate = f"{step.rows / max(time.perf_counter() - began, 1e-9):,.0f}"
            shards = f"{step.done:,} of {step.shards:,} shards" if step.shards else ""
            bar.update(task, completed=step.rows, epoch=epoch, mistakes=f"{step.updates:,}", rate=rate, shards=shards)
            if step.record is not None:
                bar.console.print(_line(step), highlight=False)
