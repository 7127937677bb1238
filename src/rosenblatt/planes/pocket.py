"""The weights with the fewest errors so far, for keep="pocket" (Gallant 1990)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rosenblatt.formats.declared_fields import AMOUNT, floats
from rosenblatt.planes.companions import Array, Companion, Weights


@dataclass
class Pocket(Companion):
    """The weights with the fewest errors so far, (K, d), and the total weight of the rows they misclassify."""

    coef: Annotated[Array, floats("K", "d")]
    intercept: Annotated[Array, floats("K")]
    errors: Annotated[float, AMOUNT]

    @classmethod
    def of(cls, weights: Weights) -> Pocket:
        """These weights, with their errors not counted yet."""
        return cls(weights.coef.copy(), weights.intercept.copy(), np.inf)

    def copy(self) -> Pocket:
        """Itself, because a pocket is replaced and never written to."""
        return self

    def transposed(self) -> Pocket:
        """Itself, because it is always stored by class."""
        return self

    def grown(self, mix: Array) -> Pocket:
        """Extended to the new planes."""
        dtype = self.coef.dtype
        return Pocket((mix @ self.coef).astype(dtype), (mix @ self.intercept).astype(dtype), self.errors)
