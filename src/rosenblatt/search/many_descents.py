"""Many penalties, schedules and folds of stochastic gradient descent in one pass over the rows.

As `many_settings`: each setting and fold is a machine, which makes the visits, and ends with the weights, of a
fit of its own over the same order of its rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.compiled.row_arrays import radius2, spans, values_per_row
from rosenblatt.compiled.simd_lanes import WIDTH
from rosenblatt.learn.epochs import Patience
from rosenblatt.learn.orders import Cyclic, Shuffled
from rosenblatt.learn.overflow import all_finite
from rosenblatt.learn.sweep import VisitTask
from rosenblatt.objective.objective_plan import ObjectivePlan
from rosenblatt.search.descent_columns import DescentColumns, settle, sweep_descents
from rosenblatt.search.many_settings import FoldRows, column_scores_of, fold_patterns, records_of

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Descent:
    """The settings of one machine; all machines have the same loss."""

    plan: ObjectivePlan
    fold: int
    epochs: int  # at most


class ManyDescents:
    """Machines that learn together; iterate over `epochs` to train them."""

    def __init__(self, data: FoldRows, descents: Sequence[Descent], order: Cyclic | Shuffled) -> None:
        self.data, self.descents, self.order = data, descents, order
        self.K = data.scheme.columns(data.classes)
        M, d, dtype = len(descents), data.n_features, data.rows.values.dtype
        C = M * self.K
        width = -(-C // WIDTH) * WIDTH
        used = {fold: np.flatnonzero(data.member[:, fold]).astype(np.uint64) for fold in {one.fold for one in descents}}
        reach = {fold: radius2(data.rows, rows) for fold, rows in used.items()}
        self.mass = np.array([used[one.fold].size for one in descents], dtype=np.float64)
        self.settings = [
            one.plan.descent_settings(1, reach[one.fold], data.scheme, max(mass, 1.0))
            for one, mass in zip(descents, self.mass.tolist(), strict=True)
        ]
        owing = any(one.l1 > 0 for one in self.settings)
        self.state = DescentColumns(
            v=np.zeros((d, width), dtype),
            q=np.zeros((d, width) if owing else (0, 0)),
            b=np.zeros(C, dtype),
            owed=np.zeros(width),
            scale=np.ones(M),
            scores=np.zeros(width, dtype),
            steps=np.zeros(width, dtype),
            slopes=np.zeros(self.K, dtype if self.K > 1 else np.float64),
            clock=np.zeros(M),
            losses=np.zeros(M),
            use=np.zeros((0, M)),
        )
        self.pattern, self.patterns = fold_patterns(data.member, [one.fold for one in descents])
        self.machines = records_of(self.settings)
        self.done, self.epoch = np.zeros(M, dtype=bool), 0

    def epochs(self) -> Iterator[int]:
        """Train; yields the number of each epoch when it ends. A machine stops when a separate fit would."""
        data = self.data
        task = VisitTask(data.rows, data.codes, data.weights)
        limits = np.array([one.epochs for one in self.descents])
        plans = [one.plan for one in self.descents]
        patience = [Patience(plan.tol, plan.patience) for plan in plans]
        while not self.done.all():
            state = self.state = self.state._replace(use=self.patterns * ~self.done)
            state.losses[:] = 0.0
            for begin, end in spans(self.order.size, values_per_row(data.rows) * state.scores.size / WIDTH):
                piece = self.order.piece(self.epoch, begin, end)
                sweep_descents(state, self.machines, task, self.pattern[piece].astype(np.int64), piece)
            self.epoch += 1
            settle(state, 0, len(plans))
            for m in np.flatnonzero(~self.done).tolist():
                objective = self._objective(m)
                if not math.isfinite(objective):
                    state.b[m * self.K : (m + 1) * self.K] = np.nan  # if a separate fit would fail, it has no scores
                    self.done[m] = True
                elif plans[m].tol > 0:
                    self.done[m] = patience[m].spent(objective)
            self.done[limits <= self.epoch] = True
            yield self.epoch

    def _objective(self, m: int) -> float:
        """Mean loss over the epoch plus penalty of machine m, NaN or infinity if anything overflowed."""
        columns = slice(m * self.K, (m + 1) * self.K)
        planes = np.ascontiguousarray(self.state.v[:, columns].T)  # of one machine at a time, to save memory
        if not all_finite(planes, self.state.b[columns]):
            return math.nan
        return float(self.state.losses[m] / self.mass[m]) + self.descents[m].plan.penalty_of(planes)

    def scores(self, machines: Array, average: bool, index: Array) -> Array:
        """The scores of rows by these machines, (rows, machines, K), in one sweep."""
        columns = (machines[:, None] * self.K + np.arange(self.K)).ravel()
        coef = np.ascontiguousarray(self.state.v[:, columns])
        return column_scores_of(self.data.rows, coef, self.state.b[columns], index).reshape(
            index.size, machines.size, self.K
        )
