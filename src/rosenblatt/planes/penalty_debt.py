"""The L1 penalty that a stochastic learner has applied and still has to apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rosenblatt.formats.declared_fields import doubles
from rosenblatt.planes.companions import Array, Mean, Sums, Weights


@dataclass
class L1Debt(Sums):
    """The L1 penalty applied to each weight so far, with its sign, and the penalty due, one number per column.

    See `stochastic_visits`, which writes to both.
    """

    pulled: Annotated[Array, doubles("height", "width")]
    owed: Annotated[Array, doubles("K")]

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """The terms to sum over shards."""
        return {"pulled": self.pulled, "owed": self.owed}

    @staticmethod
    def mixed(mean: Mean) -> L1Debt:
        """The mean of the debts of all shards."""
        return L1Debt(mean("pulled"), mean("owed"))
