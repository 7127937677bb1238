"""The L1 penalty that a stochastic learner has applied and still has to apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.learn.online.companions import Array, Mean, Sums, Weights, is_shaped


@dataclass
class L1Debt(Sums):
    """The L1 penalty applied to each weight so far, with its sign, and the penalty due, one number per column.

    See `stochastic_visits`, which writes to both.
    """

    pulled: Array
    owed: Array

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
