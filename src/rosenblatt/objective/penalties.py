"""Penalties on the weights. Intercepts are not penalised.

With the strength α ≥ 0 and the fraction 0 ≤ ρ ≤ 1 of the L1 part, a penalty has a `value`, a `slope` (at 0 the
subgradient nearest to 0) and `shrink`, the proximal step of size t, argmin_v α·P(v) + (v − w)²/2t. `parts` are the
coefficients of Σ|w| and ½Σw², with which the stochastic solver can shrink a weight lazily, when a row next contains its
feature; a penalty that is not such a sum returns None, and works with the batch solver only. To add a penalty, add a
class here and a line in `PENALTIES` (CONTRIBUTING.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Penalty:
    """λ₁Σ|w| + ½λ₂Σw², where a subclass gives λ₁ and λ₂; a penalty of another form overrides all four methods."""

    @staticmethod
    def parts(alpha: float, ratio: float) -> tuple[float, float] | None:
        """λ₁ and λ₂."""
        raise NotImplementedError

    @classmethod
    def value(cls, w: Array, alpha: float, ratio: float) -> float:
        """The penalty summed over all weights."""
        l1, l2 = cls.parts(alpha, ratio) or (0.0, 0.0)
        absolute = l1 * np.abs(w).sum() if l1 else 0.0
        return float(absolute + (0.5 * l2 * np.vdot(w, w) if l2 else 0.0))

    @classmethod
    def slope(cls, w: Array, alpha: float, ratio: float) -> Array:
        """Its derivative."""
        l1, l2 = cls.parts(alpha, ratio) or (0.0, 0.0)
        return l1 * np.sign(w) + l2 * w

    @classmethod
    def shrink(cls, w: Array, step: Any, alpha: float, ratio: float) -> Array:
        """The proximal step of this size, one for all weights or one per weight."""
        l1, l2 = cls.parts(alpha, ratio) or (0.0, 0.0)
        return np.sign(w) * np.maximum(np.abs(w) - step * l1, 0.0) / (1.0 + step * l2)  # type: ignore[no-any-return]


class NoPenalty(Penalty):
    """0: no penalty."""

    @staticmethod
    def parts(alpha: float, ratio: float) -> tuple[float, float]:
        return 0.0, 0.0


class L2(Penalty):
    """½Σw²: many small weights; ridge regression, the support vector machine."""

    @staticmethod
    def parts(alpha: float, ratio: float) -> tuple[float, float]:
        return 0.0, alpha


class L1(Penalty):
    """Σ|w|: many weights are exactly 0; the lasso, the 1-norm support vector machine."""

    @staticmethod
    def parts(alpha: float, ratio: float) -> tuple[float, float]:
        return alpha, 0.0


class ElasticNet(Penalty):
    """ρΣ|w| + ½(1 − ρ)Σw²: many weights are exactly 0, and correlated features share theirs."""

    @staticmethod
    def parts(alpha: float, ratio: float) -> tuple[float, float]:
        return alpha * ratio, alpha * (1.0 - ratio)


PENALTIES: dict[str | None, type[Penalty]] = {None: NoPenalty, "l2": L2, "l1": L1, "elasticnet": ElasticNet}
