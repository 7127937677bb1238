"""The sweep of online learners, what one visit does to each kind of them, and their arrays as the sweep takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.compiled.machine_code import verb
from rosenblatt.compiled.row_arrays import Dense, Sparse
from rosenblatt.learn.schemes import Scheme
from rosenblatt.learn.sweep import sweep_with
from rosenblatt.online.first_order import (
    JointPlanes,
    OnePlane,
    SeparatePlanes,
    visit_multinomial,
    visit_one,
    visit_separate,
)
from rosenblatt.online.rules import AROWRule, Rule
from rosenblatt.online.second_order import (
    BY_COLUMN,
    PAIRWISE,
    SINGLE,
    AROWPlane,
    Diagonal,
    Full,
    visit_arow_plane,
    visit_second_order,
)
from rosenblatt.planes.covariance import DiagonalCovariance, FullCovariance
from rosenblatt.planes.state import Machine, lay_out
from rosenblatt.planes.update_log import NONE

# Inlined, because a call would cost more than a short row.
visit = verb(
    {
        OnePlane: visit_one,
        JointPlanes: visit_multinomial,
        SeparatePlanes: visit_separate,
        AROWPlane: visit_arow_plane,
        Diagonal: visit_second_order,
        Full: visit_second_order,
    },
    inline="always",
)
sweep = sweep_with(visit)


def learner(machine: Machine, scheme: Scheme, rule: Rule, rows: Dense | Sparse, batch: bool = False) -> Any:
    """The machine's arrays in the form the loop takes for such rows; a batch sums its step in separate arrays."""
    lay_out(machine, rows, scheme)
    K, w = machine.intercept.size, machine.coef
    scores = np.zeros(K, w.dtype)
    if rule.order == 2:
        mode = PAIRWISE if scheme.joint else SINGLE if scheme.single else BY_COLUMN
        covariance = machine.covariance
        if isinstance(covariance, FullCovariance):
            x, g = np.zeros(w.shape[1], w.dtype), np.zeros(w.shape, w.dtype)
            return Full(w, covariance.matrices, x, g, scores, mode)
        assert isinstance(covariance, DiagonalCovariance)
        s = covariance.coef
        if isinstance(rule, AROWRule) and mode == SINGLE:
            return AROWPlane(w[0], machine.intercept, s[0], covariance.intercept)
        if isinstance(rows, Sparse) and mode == SINGLE:  # (1, d) and (d, 1) are the same memory
            w, s = w.reshape(-1, 1), s.reshape(-1, 1)
        return Diagonal(w, machine.intercept, s, covariance.intercept, scores, mode)
    single = scheme.single
    w = w[0] if single else w
    dw, db = (np.zeros_like(w, dtype=np.float64), np.zeros(K)) if batch else (w, machine.intercept)
    moves = machine.moves.copy() if batch else machine.moves
    sums = machine.average
    if batch or sums is None:  # a batch is averaged when its step is made
        u, v = np.zeros((0,) * w.ndim), NONE
    else:
        u, v = sums.coef[0] if single else sums.coef, sums.intercept
    common = (w, machine.intercept, dw, db, np.zeros(K), u, v)
    if single:
        return OnePlane(*common)
    return JointPlanes(*common, scores) if scheme.joint else SeparatePlanes(*common, scores, moves)
