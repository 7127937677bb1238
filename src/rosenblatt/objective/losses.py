"""Losses: their values and derivatives, for compiled loops and for whole arrays.

A loss is a function of the margin m = y·f or of the residual r = f − y. It is a small class: the formula as its
docstring; `value` and `slope` (the derivative; at a kink, a subgradient) of one number; `arrays`, both on whole arrays
of any library that follows the array API standard; `ends` and `conjugate`, which prove a minimum; and, if it has
kinks, `near`, its proximal map argmin_p ℓ(p) + (p − m)²/2t, with which the batch solver smooths the kinks (Moreau's
envelope). `width` is the only parameter a loss may have: the point where Huber's loss becomes linear, or half the width
of the tube. To add a loss, add a class here and a line in `LOSSES` (CONTRIBUTING.md); compiled code
(`compiled_losses`) identifies it by its index in that table. This module needs no compiler: mini-batches on a GPU run
without one.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

Array = np.ndarray[Any, Any]
LARGEST_EXPONENT = 80.0  # e^80 is nearly the largest float32
LN2 = math.log(2.0)


class Loss:
    """Base class of the losses.

    of : "margin" (classification) or "residual" (regression).
    steep : the largest second derivative, which limits step sizes; 1 if there is a kink, infinite if there is none.
    kinked : whether it defines `near`.
    refusal : why it cannot be minimised, if it cannot; such a loss needs no `arrays`.
    ends : the lowest and the highest slope.
    """

    of: ClassVar[str] = "margin"
    steep: ClassVar[float] = 1.0
    kinked: ClassVar[bool] = False
    refusal: ClassVar[str] = ""
    ends: ClassVar[tuple[float, float]] = (-math.inf, math.inf)

    @staticmethod
    def value(m: float, width: float) -> float:
        """The loss."""
        raise NotImplementedError

    @staticmethod
    def slope(m: float, width: float) -> float:
        """Its derivative."""
        raise NotImplementedError

    @staticmethod
    def arrays(xp: Any, m: Any, width: float) -> tuple[Any, Any]:
        """The losses and the slopes at each element of an array of the namespace xp."""
        raise NotImplementedError

    @staticmethod
    def near(m: float, step: float, width: float) -> float:
        """The proximal map; a smooth loss needs none."""
        return m

    @classmethod
    def slopes(cls, width: float) -> tuple[float, float]:
        """The lowest and the highest slope; a loss overrides it where they depend on the width."""
        return cls.ends

    @staticmethod
    def conjugate(u: Array, width: float) -> Array:
        """ℓ*(u) = max_m um − ℓ(m) of slopes u; where it is unknown, infinity, no minimum can be certified."""
        return np.full(u.shape, math.inf)


# -- of the margin ---------------------------------------------------------------------------------------------------


class ZeroOne(Loss):
    """1 if m ≤ 0, else 0: the number of mistakes, ties included."""

    refusal = (
        "its slope is 0 wherever it exists, so that no step decreases it; minimise an upper bound such as "
        '"hinge" or "log", and count the errors of the result (report_.errors)'
    )

    @staticmethod
    def value(m: float, width: float) -> float:
        return 1.0 if m <= 0.0 else 0.0

    @staticmethod
    def slope(m: float, width: float) -> float:
        return 0.0


class PerceptronLoss(Loss):
    """max(0, −m), the perceptron criterion; its steps are Rosenblatt's, on a tie too."""

    kinked = True
    ends = -1.0, 0.0

    @staticmethod
    def value(m: float, width: float) -> float:
        return max(0.0, -m)

    @staticmethod
    def slope(m: float, width: float) -> float:
        return -1.0 if m <= 0.0 else 0.0

    @staticmethod
    def near(m: float, step: float, width: float) -> float:
        return max(min(0.0, m + step), m)

    @staticmethod
    def arrays(xp: Any, m: Any, width: float) -> tuple[Any, Any]:
        wrong = xp.astype(m <= 0.0, m.dtype)
        return -m * wrong, -wrong

    @staticmethod
    def conjugate(u: Array, width: float) -> Array:
        return np.zeros_like(u)


class Hinge(Loss):
    """max(0, 1 − m), the loss of the support vector machine."""

    kinked = True
    ends = -1.0, 0.0

    @staticmethod
    def value(m: float, width: float) -> float:
        return max(0.0, 1.0 - m)

    @staticmethod
    def slope(m: float, width: float) -> float:
        return -1.0 if m < 1.0 else 0.0

    @staticmethod
    def near(m: float, step: float, width: float) -> float:
        return max(min(1.0, m + step), m)

    @staticmethod
    def arrays(xp: Any, m: Any, width: float) -> tuple[Any, Any]:
        short = xp.astype(m < 1.0, m.dtype)
        return (1.0 - m) * short, -short

    @staticmethod
    def conjugate(u: Array, width: float) -> Array:
        return u


class SquaredHinge(Loss):
    """max(0, 1 − m)²: smooth, and large for rows far on the wrong side."""

    steep = 2.0
    ends = -math.inf, 0.0

    @staticmethod
    def value(m: float, width: float) -> float:
        return max(0.0, 1.0 - m) ** 2

    @staticmethod
    def slope(m: float, width: float) -> float:
        return -2.0 * max(0.0, 1.0 - m)

    @staticmethod
    def arrays(xp: Any, m: Any, width: float) -> tuple[Any, Any]:
        lacking = (1.0 - m) * xp.astype(m < 1.0, m.dtype)
        return lacking * lacking, -2.0 * lacking

    @staticmethod
    def conjugate(u: Array, width: float) -> Array:
        return u + 0.25 * u * u


class LogLoss(Loss):
    """ln(1 + e^−m), logistic regression: the negative log-likelihood of P(y|x) = 1/(1 + e^−m)."""

    steep = 0.25
    ends = -1.0, 0.0

    @staticmethod
    def value(m: float, width: float) -> float:
        return max(0.0, -m) + math.log1p(math.exp(-abs(m)))

    @staticmethod
    def slope(m: float, width: float) -> float:
        e = math.exp(-abs(m))
        return -e / (1.0 + e) if m > 0.0 else -1.0 / (1.0 + e)

    @staticmethod
    def arrays(xp: Any, m: Any, width: float) -> tuple[Any, Any]:
        e = xp.exp(-xp.abs(m))
        wrong = xp.astype(m <= 0.0, m.dtype)
        return xp.log1p(e) - m * wrong, -(e + wrong * (1.0 - e)) / (1.0 + e)

    @staticmethod
    def conjugate(u: Array, width: float) -> Array:
        return np.asarray(xlogy(-u, -u) + xlogy(1.0 + u, 1.0 + u))


class Exponential(Loss):
    """e^−m, the loss of AdaBoost; a row far on the wrong side outweighs all others."""

    steep = math.inf
    ends = -math.inf, 0.0

    @staticmethod
    def value(m: float, width: float) -> float:
        return math.exp(min(-m, 700.0))  # e^700 is nearly the largest double

    @staticmethod
    def slope(m: float, width: float) -> float:
        return -math.exp(min(-m, 700.0))

    @staticmethod
    def arrays(xp: Any, m: Any, width: float) -> tuple[Any, Any]:
        e = xp.exp(xp.clip(-m, None, LARGEST_EXPONENT))
        return e, -e

    @staticmethod
    def conjugate(u: Array, width: float) -> Array:
        return np.asarray(xlogy(-u, -u) + u)


class ModifiedHuber(SquaredHinge):
    """max(0, 1 − m)² if m ≥ −1, else −4m: smooth, and linear for outliers."""

    ends = -4.0, 0.0

    @staticmethod
    def value(m: float, width: float) -> float:
        return -4.0 * m if m < -1.0 else max(0.0, 1.0 - m) ** 2

    @staticmethod
    def slope(m: float, width: float) -> float:
        return -4.0 if m < -1.0 else -2.0 * max(0.0, 1.0 - m)

    @staticmethod
    def arrays(xp: Any, m: Any, width: float) -> tuple[Any, Any]:
        far = xp.astype(m < -1.0, m.dtype)
        value, slope = SquaredHinge.arrays(xp, m, width)
        return value + far * (-4.0 * m - value), slope + far * (-4.0 - slope)


# -- of the residual -------------------------------------------------------------------------------------------------


class Squared(Loss):
    """½r²: least squares; the best constant is the mean."""

    of = "residual"

    @staticmethod
    def value(m: float, width: float) -> float:
        return 0.5 * m * m

    @staticmethod
    def slope(m: float, width: float) -> float:
        return m

    @staticmethod
    def arrays(xp: Any, m: Any, width: float) -> tuple[Any, Any]:
        return 0.5 * m * m, m

    @staticmethod
    def conjugate(u: Array, width: float) -> Array:
        return 0.5 * u * u


class Absolute(Loss):
    """|r|: the best constant is the median."""

    of = "residual"
    kinked = True
    ends = -1.0, 1.0

    @staticmethod
    def value(m: float, width: float) -> float:
        return abs(m)

    @staticmethod
    def slope(m: float, width: float) -> float:
        return 1.0 if m > 0.0 else -1.0 if m < 0.0 else 0.0

    @staticmethod
    def near(m: float, step: float, width: float) -> float:
        return m - min(max(m, -step), step)

    @staticmethod
    def arrays(xp: Any, m: Any, width: float) -> tuple[Any, Any]:
        return xp.abs(m), xp.sign(m)

    @staticmethod
    def conjugate(u: Array, width: float) -> Array:
        return np.zeros_like(u)


class Huber(Squared):
    """½r² if |r| ≤ ε, else ε|r| − ½ε²: quadratic for small residuals, linear for outliers."""

    @staticmethod
    def value(m: float, width: float) -> float:
        return 0.5 * m * m if abs(m) <= width else width * (abs(m) - 0.5 * width)

    @staticmethod
    def slope(m: float, width: float) -> float:
        return min(max(m, -width), width)

    @staticmethod
    def arrays(xp: Any, m: Any, width: float) -> tuple[Any, Any]:
        slope = xp.clip(m, -width, width)
        return slope * (m - 0.5 * slope), slope

    @classmethod
    def slopes(cls, width: float) -> tuple[float, float]:
        return -width, width


class LogCosh(Loss):
    """ln cosh r: approximately ½r² for small residuals, |r| − ln 2 for large ones."""

    of = "residual"
    ends = -1.0, 1.0

    @staticmethod
    def value(m: float, width: float) -> float:
        return abs(m) + math.log1p(math.exp(-2.0 * abs(m))) - LN2

    @staticmethod
    def slope(m: float, width: float) -> float:
        return math.tanh(m)

    @staticmethod
    def arrays(xp: Any, m: Any, width: float) -> tuple[Any, Any]:
        size = xp.abs(m)
        return size + xp.log1p(xp.exp(-2.0 * size)) - LN2, xp.tanh(m)

    @staticmethod
    def conjugate(u: Array, width: float) -> Array:
        return np.asarray(0.5 * (xlogy(1.0 + u, 1.0 + u) + xlogy(1.0 - u, 1.0 - u)))


class EpsilonInsensitive(Loss):
    """max(0, |r| − ε): zero within the tube; the loss of support vector regression."""

    of = "residual"
    kinked = True
    ends = -1.0, 1.0

    @staticmethod
    def value(m: float, width: float) -> float:
        return max(0.0, abs(m) - width)

    @staticmethod
    def slope(m: float, width: float) -> float:
        return 1.0 if m > width else -1.0 if m < -width else 0.0

    @staticmethod
    def near(m: float, step: float, width: float) -> float:
        beyond = max(abs(m) - width, 0.0)
        return m - math.copysign(min(beyond, step), m)

    @staticmethod
    def arrays(xp: Any, m: Any, width: float) -> tuple[Any, Any]:
        out = xp.astype(xp.abs(m) > width, m.dtype)
        return (xp.abs(m) - width) * out, xp.sign(m) * out

    @staticmethod
    def conjugate(u: Array, width: float) -> Array:
        return width * np.abs(u)


LOSSES: dict[str, type[Loss]] = {
    "zero_one": ZeroOne,
    "perceptron": PerceptronLoss,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "log": LogLoss,
    "exponential": Exponential,
    "modified_huber": ModifiedHuber,
    "squared": Squared,
    "absolute": Absolute,
    "huber": Huber,
    "log_cosh": LogCosh,
    "epsilon_insensitive": EpsilonInsensitive,
}
CODES = {name: code for code, name in enumerate(LOSSES)}


def names(of: str) -> set[str]:
    """The losses of the margin, or those of the residual."""
    return {name for name, loss in LOSSES.items() if loss.of == of}
