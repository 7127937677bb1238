"""Penalties: what large weights cost. Intercepts cost nothing.

With α ≥ 0 and the share 0 ≤ ρ ≤ 1 of the L1 part, a penalty has a `value`, a `slope` (at 0 the one nearest to 0) and
`shrink`, its proximal map argmin_v α·P(v) + (v − w)²/2t, which is what a step of length t does to w. `parts` are the
factors of Σ|w| and ½Σw² in it, by which the stochastic solver shrinks a weight only when a row shows its feature; a
penalty that is no such sum has None there, and is for the batch solver alone. A new penalty is a class here and its
line in `PENALTIES` (CONTRIBUTING.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Penalty:
    """λ₁Σ|w| + ½λ₂Σw² with the parts λ₁, λ₂ that a subclass names; another penalty says all four itself."""

    @staticmethod
    def parts(alpha: float, ratio: float) -> tuple[float, float] | None:
        """λ₁ and λ₂."""
        raise NotImplementedError

    @classmethod
    def _both(cls, alpha: float, ratio: float) -> tuple[float, float]:
        parts = cls.parts(alpha, ratio)
        assert parts is not None
        return parts

    @classmethod
    def value(cls, w: Array, alpha: float, ratio: float) -> float:
        """The penalty of all weights together."""
        l1, l2 = cls._both(alpha, ratio)
        return float(l1 * np.abs(w).sum() + 0.5 * l2 * np.vdot(w, w))

    @classmethod
    def slope(cls, w: Array, alpha: float, ratio: float) -> Array:
        """Its derivative."""
        l1, l2 = cls._both(alpha, ratio)
        return l1 * np.sign(w) + l2 * w

    @classmethod
    def shrink(cls, w: Array, step: Any, alpha: float, ratio: float) -> Array:
        """The proximal map for steps of this length, one for all weights or one for each."""
        l1, l2 = cls._both(alpha, ratio)
        return np.sign(w) * np.maximum(np.abs(w) - step * l1, 0.0) / (1.0 + step * l2)  # type: ignore[no-any-return]

    @classmethod
    def sentence(cls) -> str:
        """The penalty in a sentence."""
        return (cls.__doc__ or "").strip().splitlines()[0]


class NoPenalty(Penalty):
    """0: weights are free."""

    @staticmethod
    def parts(alpha: float, ratio: float) -> tuple[float, float]:
        return 0.0, 0.0


class L2(Penalty):
    """½Σw²: weights are spread evenly; ridge regression, the support vector machine."""

    @staticmethod
    def parts(alpha: float, ratio: float) -> tuple[float, float]:
        return 0.0, alpha


class L1(Penalty):
    """Σ|w|: many weights are exactly 0; the lasso, the 1-norm support vector machine."""

    @staticmethod
    def parts(alpha: float, ratio: float) -> tuple[float, float]:
        return alpha, 0.0


class ElasticNet(Penalty):
    """ρΣ|w| + ½(1 − ρ)Σw²: zeros, but features that say the same share their weight."""

    @staticmethod
    def parts(alpha: float, ratio: float) -> tuple[float, float]:
        return alpha * ratio, alpha * (1.0 - ratio)


PENALTIES: dict[str | None, type[Penalty]] = {None: NoPenalty, "l2": L2, "l1": L1, "elasticnet": ElasticNet}
