"""The compiled loops: one pass over rows in a given order, and the scores of rows.

`sweep` visits rows x_i in the given order and changes w where the rule requires it. It is written once for dense and
sparse rows and for every kind of learner; what a visit does is the function `visit`, whose bodies are in
`online.first_order`, `online.second_order`, `online.hierarchy_visits` and `linear.stochastic_visits`.

A pass can stop anywhere and be resumed: the order is passed in piece by piece, and within a piece the loop returns
after `visits` visits, when the log of updates is full, or when the pocket has to examine w.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiling import compiled, verb
from rosenblatt.learn.counters import Count
from rosenblatt.learn.linear.stochastic_visits import DescentPlane, DescentPlanes, visit_descent, visit_descent_many
from rosenblatt.learn.online.first_order import (
    JointPlanes,
    OnePlane,
    SeparatePlanes,
    UpdateLog,
    visit_multinomial,
    visit_one,
    visit_separate,
)
from rosenblatt.learn.online.hierarchy_visits import TreeNodes, visit_tree
from rosenblatt.learn.online.second_order import AROWPlane, Diagonal, Full, visit_arow_plane, visit_second_order
from rosenblatt.learn.rows import dot, dots, fetch_ahead, usual_lines

Array = np.ndarray[Any, Any]

# Visit row i; returns whether w changed. Inlined, because a call would cost more than a short row.
visit = verb(
    {
        OnePlane: visit_one,
        JointPlanes: visit_multinomial,
        SeparatePlanes: visit_separate,
        AROWPlane: visit_arow_plane,
        Diagonal: visit_second_order,
        Full: visit_second_order,
        TreeNodes: visit_tree,
        DescentPlane: visit_descent,
        DescentPlanes: visit_descent_many,
    },
    inline="always",
)


# -- the loop --------------------------------------------------------------------------------------------------------


class VisitTask(NamedTuple):
    """Rows, their targets and their weights; `weights` is empty when all are 1."""

    rows: Any
    y: Array
    weights: Array


@compiled
def sweep(learner: Any, task: VisitTask, order: Array, rule: Any, tally: Array, log: UpdateLog, visits: int) -> int:
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


@compiled
def count_run(tally: Array, share: float, changed: bool) -> None:
    """Count the visits since the last update, for the pocket; an update ends the run."""
    if not changed:
        tally[Count.RUN] += share
        return
    if tally[Count.HELD] > 0.0:
        tally[Count.BEST] = tally[Count.RUN]
    tally[Count.RUN] = tally[Count.HELD] = tally[Count.CHECKED] = 0.0


@compiled
def worth_checking(tally: Array) -> bool:
    """Whether the pocket has to examine w: its run is the longest so far, and it was not examined yet."""
    return bool(tally[Count.HELD] + tally[Count.CHECKED] == 0.0 and tally[Count.RUN] > tally[Count.BEST])


# -- scores ----------------------------------------------------------------------------------------------------------


@compiled
def score_one(rows: Any, index: Array, w: Array, b: Array, out: Array) -> None:
    """out_t = w·x_i + b for i = index_t."""
    for t in range(index.size):
        out[t] = dot(rows, index[t], w) + b[0]


@compiled
def score_many(rows: Any, index: Array, W: Array, b: Array, out: Array) -> None:
    """out_tk = w_k·x_i + b_k for i = index_t."""
    for t in range(index.size):
        scores = out[t]
        dots(rows, index[t], W, scores)
        for k in range(scores.size):
            scores[k] += b[k]
