"""The L1 penalty that a stochastic learner has applied and still has to apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rosenblatt.data.declared_fields import doubles
from rosenblatt.learn.online.companions import Array, Companion, Mean, Weights


@dataclass
class L1Debt(Companion):
    """The L1 penalty applied to each weight so far, with its sign, and the penalty due, one number per column.

    See `stochastic_visits`, which writes to both.
    """

    pulled: Annotated[Array, doubles("height", "width")]
    owed: Annotated[Array, doubles("K")]

    @classmethod
    def zeros(cls, weights: Weights) -> L1Debt:
        """No penalty due yet."""
        return cls(np.zeros(weights.coef.shape), np.zeros(weights.intercept.shape))

    def grown(self, mix: Array) -> L1Debt:
        """Extended to the new planes."""
        return L1Debt(mix @ self.pulled, mix @ self.owed)

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """The terms to sum over shards."""
        return {"pulled": self.pulled, "owed": self.owed}

    @staticmethod
    def mixed(mean: Mean) -> L1Debt:
        """The mean of the debts of all shards."""
        return L1Debt(mean("pulled"), mean("owed"))
