"""The log of updates, which compiled code writes, and which a vote is made of."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import callee
from rosenblatt.formats.declared_fields import doubles, integers
from rosenblatt.learn.counters import Count

Array = np.ndarray[Any, Any]
LOG_ROOM = 1 << 13


class UpdateLog(NamedTuple):
    """A log of updates; its arrays are empty if updates are not logged."""

    rows: Annotated[Array, integers("updates", below="rows", dtype=np.uint64)]
    columns: Annotated[Array, integers("updates", below="K", dtype=np.int32)]  # the class whose w changed
    steps: Annotated[Array, doubles("updates")]  # signed
    clocks: Annotated[Array, doubles("updates")]  # Count.CLOCK before the visit
    shares: Annotated[Array, doubles("updates")]  # the weight of the visit


@callee
def log_update(tally: Array, log: UpdateLog, row: Any, column: Any, step: float, share: float) -> None:
    """Append an update to the log."""
    if log.rows.size > 0:
        at = np.int64(tally[Count.LOGGED])
        log.rows[at], log.columns[at], log.steps[at] = row, column, step
        log.clocks[at], log.shares[at] = tally[Count.CLOCK], share
        tally[Count.LOGGED] += 1.0


NONE = np.zeros(0)
NO_LOG = UpdateLog(np.zeros(0, np.uint64), np.zeros(0, np.int32), NONE, NONE, NONE)
