"""The progress of training, for display."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

from rosenblatt.learn.epochs import EpochRecord, PartOfEpoch


@dataclass(frozen=True)
class Progress:
    """The progress of training.

    Attributes
    ----------
    epoch : int
        The current pass, from 1.
    rows, total : int
        Rows visited in this pass, and rows per pass; 0 if they have not been counted.
    updates : int
        Updates in this pass so far.
    seconds : float
        Seconds since training began.
    record : EpochRecord or None
        The record of the pass, at its end.
    done, shards : int
        Shards finished in this pass, and all shards; 0 if there are none.

    Examples
    --------
    >>> from rosenblatt.records import Progress
    >>> progress = Progress(epoch=2, rows=500, total=1000, updates=31, seconds=0.4)
    >>> progress.rows / progress.total
    0.5
    """

    epoch: int
    rows: int
    total: int
    updates: int
    seconds: float
    record: EpochRecord | None = None
    done: int = 0
    shards: int = 0


def followed(
    steps: Iterator[PartOfEpoch | EpochRecord], size: Callable[[], tuple[int, int]], epochs: int = 0
) -> Iterator[Progress]:
    """The steps of training as progress.

    `size` returns the rows per pass and the number of shards, once they are known; `epochs` is the number of epochs
    made before.
    """
    began, epoch, rows, updates, done = time.perf_counter(), epochs + 1, 0, 0, 0
    # After Ctrl-C training ends here, not when the last reference to its steps is dropped.
    with closing(steps):  # type: ignore[type-var]
        for step in steps:
            total, shards = size()
            record = step if isinstance(step, EpochRecord) else None
            if isinstance(step, PartOfEpoch):
                rows, updates, done = rows + step.rows, updates + step.updates, done + (shards > 0)
            yield Progress(epoch, rows, total, updates, time.perf_counter() - began, record, done, shards)
            if record is not None:
                epoch, rows, updates, done = epoch + 1, 0, 0, 0
