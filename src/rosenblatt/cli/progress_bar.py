"""Progress of training on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rosenblatt.learn.phases import watched
from rosenblatt.scale.progress import Progress

SECONDS_BETWEEN_LINES = 0.2  # at least, so that thousands of short epochs do not flood the log


def show_progress(steps: Iterator[Progress], quiet: bool = False) -> None:
    """Run the training and show its progress on standard error."""
    if sys.stderr.isatty() and not quiet:
        _with_bar(steps)
    else:
        printed_at, unprinted = -math.inf, None
        for step in steps:
            if step.record is not None and not quiet:
                unprinted = step
                if time.perf_counter() - printed_at >= SECONDS_BETWEEN_LINES:
                    print(_line(step), file=sys.stderr, flush=True)
                    printed_at, unprinted = time.perf_counter(), None
        if unprinted is not None:
            print(_line(unprinted), file=sys.stderr, flush=True)


@contextmanager
def show_phases(quiet: bool = False) -> Iterator[None]:
    """Show on a terminal what is done at the moment, compilation of machine code included."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    began = time.perf_counter()
    with (
        Console(stderr=True).status("reading the file") as shown,
        watched(lambda what: shown.update(f"{what} ({time.perf_counter() - began:.0f} s so far)")),
    ):
        yield


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
