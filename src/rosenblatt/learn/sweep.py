"""The compiled loop of all learners that visit rows one by one: one pass over rows in a given order.

It is written once for dense and sparse rows and for every kind of learner. What a visit does is the family's own: each
makes its `sweep` by `sweep_with`, from a verb with one body per kind of learner.

A pass can stop anywhere and be resumed: the order is passed in piece by piece, and within a piece the loop returns
after `visits` visits, when the log of updates is full, or when the pocket has to examine w.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import callee, compiled
from rosenblatt.compiled.rows import fetch_ahead, usual_lines
from rosenblatt.learn.counters import Count

Array = np.ndarray[Any, Any]


class VisitTask(NamedTuple):
    """Rows, their targets and their weights; `weights` is empty when all are 1."""

    rows: Any
    y: Array
    weights: Array


@callee
def count_run(tally: Array, share: float, changed: bool) -> None:
    """Count the visits since the last update, for the pocket; an update ends the run."""
    if not changed:
        tally[Count.RUN] += share
        return
    if tally[Count.HELD] > 0.0:
        tally[Count.BEST] = tally[Count.RUN]
    tally[Count.RUN] = tally[Count.HELD] = tally[Count.CHECKED] = 0.0


@callee
def worth_checking(tally: Array) -> bool:
    """Whether the pocket has to examine w: its run is the longest so far, and it was not examined yet."""
    return bool(tally[Count.HELD] + tally[Count.CHECKED] == 0.0 and tally[Count.RUN] > tally[Count.BEST])


def sweep_with(visit: Callable[..., Any]) -> Callable[..., int]:
    """The loop that calls `visit(learner, rows, y, i, share, rule, tally, log)`, which returns whether w changed."""

    def sweep(learner: Any, task: VisitTask, order: Array, rule: Any, tally: Array, log: Any, visits: int) -> int:
        """Visit rows in `order`, starting at tally[Count.POSITION]; returns how many of the `visits` are left.

        A row of weight s gets ⌈s⌉ consecutive visits, the last one scaled by the remaining fraction, and no more once a
        visit changes nothing.
        """
        rows, y, weights = task
        n, lines = np.uint64(order.size), usual_lines(rows)
        begin = np.uint64(tally[Count.POSITION])
        room = log.rows.size // 2  # a row may add one entry per class: return while they all still fit
        watched = tally[Count.WATCHED] > 0.0
        clock = tally[Count.CLOCK]  # in a register, and stored for `visit`: adding to it in memory would take longer
        for t in range(begin, n):
            fetch_ahead(rows, y, order, t, lines)
            i = order[t]
            left = 1.0
            if weights.size > 0:
                left = tally[Count.LEFT] if tally[Count.LEFT] > 0.0 else weights[i]
                tally[Count.LEFT] = 0.0
            while left > 0.0:
                if visits == 0 or (room > 0 and tally[Count.LOGGED] >= room):
                    tally[Count.POSITION], tally[Count.LEFT] = t, left if weights.size > 0 else 0.0
                    return visits
                visits -= 1
                share = min(left, 1.0)
                changed = visit(learner, rows, y, i, share, rule, tally, log)
                share = share if changed else left
                clock += share
                tally[Count.CLOCK] = clock
                if watched:
                    count_run(tally, share, changed)
                if not changed:
                    break
                left -= share
            if watched and worth_checking(tally):
                tally[Count.POSITION] = t + np.uint64(1)
                return visits
        tally[Count.POSITION] = n
        return visits

    return compiled(sweep)
