"""Losses: their values and derivatives.

A loss is a function of the margin m = y·f or of the residual r = f − y. It is a small class: the formula as its
docstring, `value`, `slope` (the derivative; at a kink, a subgradient) and, if it has kinks, `near`, its proximal map
argmin_p ℓ(p) + (p − m)²/2t, with which the batch solver smooths the kinks (Moreau's envelope). `width` is the only
parameter a loss may have: the point where Huber's loss becomes linear, or half the width of the tube. To add a loss,
add a class here and a line in `LOSSES` (CONTRIBUTING.md); compiled code identifies it by its index in that table.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numba
import numpy as np
from numba.extending import overload

from rosenblatt.compiling import OPTIONS, compiled

Array = np.ndarray[Any, Any]


class Loss:
    """Base class of the losses.

    of : "margin" (classification) or "residual" (regression).
    steep : the largest second derivative, which limits the first step sizes; 1 if there is a kink.
    kinked : whether it defines `near`.
    refusal : why it cannot be minimised, if it cannot.
    """

    of: ClassVar[str] = "margin"
    steep: ClassVar[float] = 1.0
    kinked: ClassVar[bool] = False
    refusal: ClassVar[str] = ""

    @staticmethod
    def value(m: float, width: float) -> float:
        """The loss."""
        raise NotImplementedError

    @staticmethod
    def slope(m: float, width: float) -> float:
        """Its derivative."""
        raise NotImplementedError

    @staticmethod
    def near(m: float, step: float, width: float) -> float:
        """The proximal map; a smooth loss needs none."""
        return m


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

    @staticmethod
    def value(m: float, width: float) -> float:
        return max(0.0, -m)

    @staticmethod
    def slope(m: float, width: float) -> float:
        return -1.0 if m <= 0.0 else 0.0

    @staticmethod
    def near(m: float, step: float, width: float) -> float:
        return max(min(0.0, m + step), m)


class Hinge(Loss):
    """max(0, 1 − m), the loss of the support vector machine."""

    kinked = True

    @staticmethod
    def value(m: float, width: float) -> float:
        return max(0.0, 1.0 - m)

    @staticmethod
    def slope(m: float, width: float) -> float:
        return -1.0 if m < 1.0 else 0.0

    @staticmethod
    def near(m: float, step: float, width: float) -> float:
        return max(min(1.0, m + step), m)


class SquaredHinge(Loss):
    """max(0, 1 − m)²: smooth, and large for rows far on the wrong side."""

    steep = 2.0

    @staticmethod
    def value(m: float, width: float) -> float:
        return max(0.0, 1.0 - m) ** 2

    @staticmethod
    def slope(m: float, width: float) -> float:
        return -2.0 * max(0.0, 1.0 - m)


class LogLoss(Loss):
    """ln(1 + e^−m), logistic regression: the negative log-likelihood of P(y|x) = 1/(1 + e^−m)."""

    steep = 0.25

    @staticmethod
    def value(m: float, width: float) -> float:
        return max(0.0, -m) + math.log1p(math.exp(-abs(m)))

    @staticmethod
    def slope(m: float, width: float) -> float:
        e = math.exp(-abs(m))
        return -e / (1.0 + e) if m > 0.0 else -1.0 / (1.0 + e)


class Exponential(Loss):
    """e^−m, the loss of AdaBoost; a row far on the wrong side outweighs all others."""

    steep = math.inf

    @staticmethod
    def value(m: float, width: float) -> float:
        return math.exp(min(-m, 700.0))  # e^700 is nearly the largest double

    @staticmethod
    def slope(m: float, width: float) -> float:
        return -math.exp(min(-m, 700.0))


class ModifiedHuber(Loss):
    """max(0, 1 − m)² if m ≥ −1, else −4m: smooth, and linear for outliers."""

    steep = 2.0

    @staticmethod
    def value(m: float, width: float) -> float:
        return -4.0 * m if m < -1.0 else max(0.0, 1.0 - m) ** 2

    @staticmethod
    def slope(m: float, width: float) -> float:
        return -4.0 if m < -1.0 else -2.0 * max(0.0, 1.0 - m)


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


class Absolute(Loss):
    """|r|: the best constant is the median."""

    of = "residual"
    kinked = True

    @staticmethod
    def value(m: float, width: float) -> float:
        return abs(m)

    @staticmethod
    def slope(m: float, width: float) -> float:
        return 1.0 if m > 0.0 else -1.0 if m < 0.0 else 0.0

    @staticmethod
    def near(m: float, step: float, width: float) -> float:
        return m - min(max(m, -step), step)


class Huber(Loss):
    """½r² if |r| ≤ ε, else ε|r| − ½ε²: quadratic for small residuals, linear for outliers."""

    of = "residual"

    @staticmethod
    def value(m: float, width: float) -> float:
        return 0.5 * m * m if abs(m) <= width else width * (abs(m) - 0.5 * width)

    @staticmethod
    def slope(m: float, width: float) -> float:
        return min(max(m, -width), width)


class LogCosh(Loss):
    """ln cosh r: approximately ½r² for small residuals, |r| − ln 2 for large ones."""

    of = "residual"

    @staticmethod
    def value(m: float, width: float) -> float:
        return abs(m) + math.log1p(math.exp(-2.0 * abs(m))) - math.log(2.0)

    @staticmethod
    def slope(m: float, width: float) -> float:
        return math.tanh(m)


class EpsilonInsensitive(Loss):
    """max(0, |r| − ε): zero within the tube; the loss of support vector regression."""

    of = "residual"
    kinked = True

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
_BY_CODE = list(LOSSES.values())


def names(of: str) -> set[str]:
    """The losses of the margin, or those of the residual."""
    return {name for name, loss in LOSSES.items() if loss.of == of}


# -- by code, for compiled loops -------------------------------------------------------------------------------------


def loss_value(code: Any, m: Any, width: Any) -> Any:
    """The loss of this code at m."""
    return _BY_CODE[code].value(m, width)


def loss_slope(code: Any, m: Any, width: Any) -> Any:
    """The slope of the loss of this code at m."""
    return _BY_CODE[code].slope(m, width)


def near(code: Any, m: Any, step: Any, width: Any) -> Any:
    """The proximal map of the loss of this code."""
    return _BY_CODE[code].near(m, step, width)


def _branches(verb: str, arguments: str) -> Any:  # pragma: no cover
    """The table as a compiled chain of `if code == …: return …`, because compiled code cannot index functions."""
    scope: dict[str, Any] = {
        f"_{code}": numba.njit(**OPTIONS)(getattr(loss, verb)) for code, loss in enumerate(_BY_CODE)
    }
    lines = [f"    if code == {code}: return _{code}({arguments})" for code in range(1, len(_BY_CODE))]
    exec("\n".join([f"def body(code, {arguments}):", *lines, f"    return _0({arguments})"]), scope)
    return scope["body"]


@overload(loss_value, strict=False, jit_options=OPTIONS)
def _value(code: Any, m: Any, width: Any) -> Any:  # pragma: no cover
    return _branches("value", "m, width")


@overload(loss_slope, strict=False, jit_options=OPTIONS)
def _slope(code: Any, m: Any, width: Any) -> Any:  # pragma: no cover
    return _branches("slope", "m, width")


@overload(near, strict=False, jit_options=OPTIONS)
def _near(code: Any, m: Any, step: Any, width: Any) -> Any:  # pragma: no cover
    return _branches("near", "m, step, width")


# -- on arrays -------------------------------------------------------------------------------------------------------


@compiled
def _curve(code: int, width: float, of_slope: bool, m: Array, out: Array) -> None:
    for i in range(m.size):
        out[i] = loss_slope(code, m[i], width) if of_slope else loss_value(code, m[i], width)


def curve(name: str, m: Any, width: float = 0.1, slopes: bool = False) -> Array:
    """A loss, or its slope, at each of many margins or residuals."""
    at = np.asarray(m, dtype=np.float64)
    out = np.empty(at.size)
    _curve(CODES[name], float(width), slopes, at.reshape(-1), out)
    return out.reshape(at.shape)
