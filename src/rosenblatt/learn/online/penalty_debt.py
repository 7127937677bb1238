"""The L1 penalty that a stochastic learner has applied and still has to apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.learn.online.companions import Array, Companion, Mean, Weights, is_shaped


@dataclass
class L1Debt(Companion):
    """The L1 penalty applied to each weight so far, with its sign, and the penalty due, one number per column.

    See `stochastic_visits`, which writes to both.
    """

    pulled: Array
    owed: Array

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

    def wrong(self, K: int, d: int, shape: tuple[int, ...], dtype: Any) -> str | None:
        """Debts in double, shaped like the weights."""
        return None if is_shaped(self, shape, K, np.float64) else f"debts of shape {shape} in float64"
