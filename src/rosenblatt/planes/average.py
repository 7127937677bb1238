"""The average of all iterates, for keep="average"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rosenblatt.formats.declared_fields import doubles
from rosenblatt.planes.companions import Array, Mean, Sums, Weights

BLOCK = 1 << 16  # values computed at a time, so that intermediate results stay in the cache


@dataclass
class Average(Sums):
    """Σ clock·Δ over all updates: after N visits the mean of all iterates is w − Σ/N. Training writes to the arrays."""

    coef: Annotated[Array, doubles("height", "width")]
    intercept: Annotated[Array, doubles("K")]

    def mean(self, weights: Weights, clock: float) -> Weights:
        """(N·w − Σ)/N after N visits."""
        N = clock or 1.0
        coef = np.empty(weights.coef.shape, weights.coef.dtype)
        out, w, total = (one.reshape(-1) for one in (coef, weights.coef, self.coef))
        for begin in range(0, out.size, BLOCK):
            here = slice(begin, begin + BLOCK)
            out[here] = w[here] - total[here] / N
        return Weights(coef, (weights.intercept - self.intercept / N).astype(coef.dtype))

    def terms(self, weights: Weights, clock: float) -> dict[str, Array]:
        """The terms to sum over shards, whose averages started at zero."""
        return {
            "average": self.coef,
            "average_b": self.intercept,
            "timed": clock * weights.coef,
            "timed_b": clock * weights.intercept,
        }

    def mixed(self, mean: Mean, weights: Weights, clock: float) -> Average:
        """The sums for mixed weights: those before this epoch, plus the mean of what the shards added."""
        return Average(
            self.coef + mean("average") - mean("timed") + clock * weights.coef,
            self.intercept + mean("average_b") - mean("timed_b") + clock * weights.intercept,
        )
