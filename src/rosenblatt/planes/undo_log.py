"""What one call of `partial_fit` may change, to restore it if the call fails: the weights that its rows touch.

An update changes the weights of the features that its row stores, and no others. So a call on a few rows costs what
the rows cost, however many weights there are, and only what it touched has to be checked for overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.compiled.row_arrays import Dense, Sparse
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.learn.overflow import all_finite, check_state
from rosenblatt.planes.state import Machine, State

Array = np.ndarray[Any, Any]
FEW = 1 << 12  # of so few weights copying all is faster than selecting some


class UndoLog:
    """The values that training on these rows may change, as they are now."""

    def __init__(self, state: State, rows: Dense | Sparse) -> None:
        self.state, self.held = state, dict(vars(state))
        self.features: Array | slice = slice(None)
        one = state.machines[0]
        if isinstance(rows, Sparse) and one.coef.size > FEW and rows.columns.size < state.width // 2 and not one.full:
            self.features = rows.columns.astype(np.intp)
        self.machines = [(machine, dict(vars(machine)), machine.at(self.features)) for machine in state.machines]
        self.votes = [(one.votes, one.votes.log) for one in state.machines if one.votes is not None]

    def restore(self) -> None:
        """Put everything back; if it is interrupted it can be called again."""
        for machine, held, saved in self.machines:
            vars(machine).update(held)
            machine.put(self.features, saved)
        for votes, log in self.votes:
            votes.log = log
        vars(self.state).update(self.held)

    def check(self) -> None:
        """Refuse the state if a number that may have changed is not finite."""
        if any(machine.by_feature != held["by_feature"] for machine, held, _ in self.machines):
            check_state(self.state)  # in a new layout every number was written
        elif not all(all_finite(*_numbers(machine.at(self.features))) for machine in self.state.machines):
            raise NotFiniteError(f"The weights overflowed in epoch {self.state.epoch}")


def _numbers(machine: Machine) -> tuple[Array, ...]:
    return (*machine.arrays, machine.tally, machine.moves)
