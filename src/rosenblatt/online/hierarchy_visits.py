"""What one visit to a row does to a tree of classes; the rule is described in `hierarchy`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import verb
from rosenblatt.compiled.row_arrays import norm
from rosenblatt.compiled.rows import add_class, dots
from rosenblatt.learn.counters import Count
from rosenblatt.learn.sweep import sweep_with
from rosenblatt.planes.update_log import UpdateLog

Array = np.ndarray[Any, Any]


class TreeNodes(NamedTuple):
    """The learner in the form that the loop takes: one column per node.

    For the average, u and v accumulate Σ clock·Δ; otherwise they are empty.
    """

    w: Array
    b: Array
    u: Array
    v: Array
    nodes: Array  # the scores of nodes
    scores: Array  # the scores of classes
    on: Array


class TreeSettings(NamedTuple):
    """The settings for compiled code."""

    bias: float  # c²


def visit_tree(
    learner: TreeNodes, rows: Any, y: Array, i: Any, share: float, how: TreeSettings, tally: Array, log: UpdateLog
) -> bool:
    """Add to the path of the true class and subtract from that of the predicted one, where they differ."""
    nodes, scores, on = learner.nodes, learner.scores, learner.on
    dots(rows, i, learner.w, nodes)
    best, finite = np.int64(0), True
    for k in range(scores.size):
        total = 0.0
        for v in range(nodes.size):
            if on[k, v] != 0:
                total += np.float64(nodes[v]) + np.float64(learner.b[v])
        scores[k] = total
        finite = finite and abs(total) < np.inf
        if scores[k] > scores[best]:  # the tie rule: the lowest index among equals
            best = np.int64(k)
    true = np.int64(y[i])
    if scores.size == 2 and scores[0] == scores[1]:
        best = 1 - true  # with two classes a tie is a mistake
    if not finite:
        tally[Count.LOSS] = np.nan
    if best == true:
        return False
    gamma = 0.0
    for v in range(nodes.size):
        if on[true, v] != on[best, v]:
            gamma += 1.0
    lack = scores[best] - scores[true] + np.sqrt(gamma)
    tally[Count.VIOLATIONS] += 1.0
    tally[Count.LOSS] += share * lack
    q = norm(rows, i) + how.bias
    if q == 0.0:
        return False  # an empty row: no step changes its score
    step = share * lack / (gamma * q)
    for v in range(nodes.size):
        if on[true, v] != on[best, v]:
            signed = step if on[true, v] != 0 else -step
            add_class(rows, i, signed, learner.w, v)
            learner.b[v] += signed * how.bias
            if learner.v.size > 0:
                add_class(rows, i, tally[Count.CLOCK] * signed, learner.u, v)
                learner.v[v] += tally[Count.CLOCK] * signed * how.bias
    tally[Count.UPDATES] += 1.0
    return True


sweep = sweep_with(verb({TreeNodes: visit_tree}, inline="always"))
