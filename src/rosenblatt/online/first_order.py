"""What one visit to a row does to a first-order learner.

    OnePlane        w (d,):         two classes, or regression
    JointPlanes     W, K classes:   w_y += size·x, w_r −= size·x, r the best wrong class ("multinomial")
    SeparatePlanes  W, K columns:   one-vs-rest or labels, each column a two-class problem

`tally` is an array of counters, indexed by `Count`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import callee
from rosenblatt.compiled.row_arrays import norm
from rosenblatt.compiled.row_targets import is_on
from rosenblatt.compiled.rows import add, add_both, add_class, add_pair, dot, dots
from rosenblatt.compiled.tie_rule import edge, rival, wins_tie
from rosenblatt.learn.counters import Count
from rosenblatt.online.rules import PERCEPTRON, Encoded, step_size, violates
from rosenblatt.planes.update_log import UpdateLog, log_update

Array = np.ndarray[Any, Any]


class OnePlane(NamedTuple):
    """Scores use w and b, updates change dw and db: the same arrays except in a batch, whose rows `mass` counts.

    For the average, u and v accumulate Σ clock·Δ, so that after N visits the sum of all iterates is N·w − u; otherwise
    they are empty.
    """

    w: Array
    b: Array
    dw: Array
    db: Array
    mass: Array
    u: Array
    v: Array


class JointPlanes(NamedTuple):
    """Like `OnePlane`, for K classes in one pass."""

    w: Array
    b: Array
    dw: Array
    db: Array
    mass: Array
    u: Array
    v: Array
    scores: Array


class SeparatePlanes(NamedTuple):
    """Like `OnePlane`, for K two-class problems in one pass; `moves` counts the updates of each."""

    w: Array
    b: Array
    dw: Array
    db: Array
    mass: Array
    u: Array
    v: Array
    scores: Array
    moves: Array


# -- what a visit does -----------------------------------------------------------------------------------------------


def visit_one(
    learner: OnePlane, rows: Any, y: Array, i: Any, share: float, rule: Encoded, tally: Array, log: UpdateLog
) -> bool:
    """Two classes, y = ±1, or regression."""
    f = np.float64(dot(rows, i, learner.w) + learner.b[0])
    side = np.float64(y[i])
    if rule.tube >= 0.0:
        gap = side - f
        if abs(gap) < np.inf and abs(gap) - rule.tube <= edge(learner.w.itemsize, side, f, rule.tube):
            return False
        side, margin, asked = np.float64(1.0 if gap > 0.0 else -1.0), -abs(gap), -rule.tube
    else:
        margin, asked = side * f, rule.high if side > 0.0 else rule.low
    lack = asked - margin
    if lack < 0.0:
        return False
    if violates(rule, margin, lack):
        tally[Count.VIOLATIONS] += 1.0
    tally[Count.LOSS] += share * lack
    q = 0.0 if rule.code == PERCEPTRON else norm(rows, i) + rule.bias
    step = share * side * step_size(rule, lack, q, tally[Count.UPDATES])
    if step == 0.0:
        return False
    learner.db[0] += step * rule.bias
    if learner.u.size > 0:
        timed = tally[Count.CLOCK] * step
        add_both(rows, i, step, learner.dw, timed, learner.u)
        learner.v[0] += timed * rule.bias
    else:
        add(rows, i, step, learner.dw)
    learner.mass[0] += share
    log_update(tally, log, i, 0, step, share)
    tally[Count.UPDATES] += 1.0
    return True


@callee
def tie_stands(rule: Encoded, lack: float, true: Any, wrong: Any) -> bool:
    """Whether the true class ties with its rival, needs no margin, and wins by the tie rule."""
    return lack == 0.0 and rule.high == 0.0 and wins_tie(true, wrong)


def visit_multinomial(
    learner: JointPlanes, rows: Any, y: Array, i: Any, share: float, rule: Encoded, tally: Array, log: UpdateLog
) -> bool:
    """Multinomial: add to the true class, subtract from its best rival."""
    scores = learner.scores
    dots(rows, i, learner.w, scores)
    for k in range(scores.size):
        scores[k] += learner.b[k]
    true = np.int64(y[i])
    wrong = rival(scores, true)
    margin = np.float64(scores[true] - scores[wrong])
    lack = rule.high - margin
    if lack < 0.0 or tie_stands(rule, lack, true, wrong):
        return False
    if violates(rule, margin, lack):
        tally[Count.VIOLATIONS] += 1.0
    tally[Count.LOSS] += share * lack
    q = 0.0 if rule.code == PERCEPTRON else 2.0 * (norm(rows, i) + rule.bias)
    step = share * step_size(rule, lack, q, tally[Count.UPDATES])
    if step == 0.0:
        return False
    learner.mass[0] += share
    add_pair(rows, i, step, learner.dw, true, wrong)
    learner.db[true] += step * rule.bias
    learner.db[wrong] -= step * rule.bias
    if learner.v.size > 0:
        timed = tally[Count.CLOCK] * step
        add_pair(rows, i, timed, learner.u, true, wrong)
        learner.v[true] += timed * rule.bias
        learner.v[wrong] -= timed * rule.bias
    log_update(tally, log, i, true, step, share)
    log_update(tally, log, i, wrong, -step, share)
    tally[Count.UPDATES] += 1.0
    return True


def visit_separate(
    learner: SeparatePlanes, rows: Any, y: Array, i: Any, share: float, rule: Encoded, tally: Array, log: UpdateLog
) -> bool:
    """Every column is a separate two-class problem."""
    scores = learner.scores
    dots(rows, i, learner.w, scores)
    q = 0.0 if rule.code == PERCEPTRON else norm(rows, i) + rule.bias
    changed = False
    for k in range(scores.size):
        side = 1.0 if is_on(y, i, k) else -1.0
        margin = side * np.float64(scores[k] + learner.b[k])
        lack = (rule.high if side > 0.0 else rule.low) - margin
        if lack < 0.0:
            continue
        if violates(rule, margin, lack):
            tally[Count.VIOLATIONS] += 1.0
        tally[Count.LOSS] += share * lack
        step = share * side * step_size(rule, lack, q, learner.moves[k])
        if step != 0.0:
            learner.moves[k] += 1.0
            learner.mass[k] += share
            add_class(rows, i, step, learner.dw, k)
            learner.db[k] += step * rule.bias
            if learner.v.size > 0:
                add_class(rows, i, tally[Count.CLOCK] * step, learner.u, k)
                learner.v[k] += tally[Count.CLOCK] * step * rule.bias
            log_update(tally, log, i, k, step, share)
            tally[Count.UPDATES] += 1.0
            changed = True
    return changed
