"""The initial weights and every update since, for keep="vote"; `learn.models.VotedPlanes` counts the votes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from rosenblatt.formats.declared_fields import floats, instance, matrix
from rosenblatt.learn.models import UpdateHistory, stacked
from rosenblatt.planes.companions import Array, Companion, Weights
from rosenblatt.planes.update_log import LOG_ROOM, NO_LOG, NONE, UpdateLog


class LoggedUpdates(NamedTuple):
    """A batch of logged updates."""

    support: Annotated[Any, matrix("rows", "d")]  # the rows that made them
    log: UpdateLog  # its rows are indices into `support`
    bias: Annotated[float, instance(float)]  # what a step of 1 adds to b


@dataclass
class Votes(Companion):
    """The initial weights, (K, d), and every update since."""

    coef: Annotated[Array, floats("K", "d")]
    intercept: Annotated[Array, floats("K")]
    log: tuple[LoggedUpdates, ...] = ()

    @classmethod
    def of(cls, weights: Weights) -> Votes:
        """Starting from these weights."""
        return cls(weights.coef.copy(), weights.intercept.copy())

    def copy(self) -> Votes:
        """A copy that shares the arrays, which are never written to."""
        return replace(self)

    def transposed(self) -> Votes:
        """Itself, because it is always stored by class."""
        return self

    def add(self, updates: LoggedUpdates) -> None:
        """Append to the log. As in a binary counter, pieces of similar size are joined, so that there are few."""
        log = self.log
        while log and log[-1].log.rows.size <= updates.log.rows.size < LOG_ROOM // 4:
            last = log[-1]
            if last.bias != updates.bias or isinstance(last.support, np.ndarray) != isinstance(
                updates.support, np.ndarray
            ):
                break
            rows = updates.log.rows + np.uint64(last.support.shape[0])
            joined = (np.concatenate(pair) for pair in zip(last.log, updates.log._replace(rows=rows), strict=True))
            support = stacked((last.support, updates.support))
            updates, log = LoggedUpdates(support, UpdateLog(*joined), updates.bias), log[:-1]
        self.log = (*log, updates)

    def grown(self, mix: Array) -> Votes:
        """Extended to the new planes."""
        log = tuple(one._replace(log=_grown_log(one.log, mix)) for one in self.log)
        return Votes(mix @ self.coef, mix @ self.intercept, log)

    def history(self, clock: float) -> UpdateHistory:
        """The log in one piece."""
        if not self.log:
            empty = (np.zeros((0, self.coef.shape[1])),)
            return UpdateHistory(empty, np.zeros(0, np.int64), *NO_LOG[1:], clock, self.coef, self.intercept, NONE)
        support = tuple(one.support for one in self.log)
        offsets = np.cumsum([0, *(one.support.shape[0] for one in self.log)])[:-1]
        which = [one.log.rows.astype(np.int64) + offset for one, offset in zip(self.log, offsets, strict=True)]
        _, columns, steps, clocks, shares = (
            np.concatenate(column) for column in zip(*(one.log for one in self.log), strict=True)
        )
        bias = np.concatenate([np.full(one.log.rows.size, one.bias) for one in self.log])
        return UpdateHistory(
            support, np.concatenate(which), columns, steps, clocks, shares, clock, self.coef, self.intercept, bias
        )


def _grown_log(log: UpdateLog, mix: Array) -> UpdateLog:
    """Each entry once for every new plane that its old plane contributes to, entries of one update adjacent."""
    targets = [np.flatnonzero(mix[:, column]) for column in range(mix.shape[1])]
    entries = np.repeat(np.arange(log.rows.size), [targets[column].size for column in log.columns])
    columns = np.concatenate([targets[column] for column in log.columns] or [np.zeros(0, np.int64)])
    steps = log.steps[entries] * mix[columns, log.columns[entries]]
    return UpdateLog(log.rows[entries], columns.astype(np.int32), steps, log.clocks[entries], log.shares[entries])
