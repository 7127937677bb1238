"""What some settings store in addition to the weights: the base of their classes.

    average.Average        Σ clock·Δ of all updates, for keep="average"
    pocket.Pocket          the weights with the fewest errors so far, for keep="pocket"
    votes.Votes            the initial weights and every update since, for keep="vote"
    penalty_debt.L1Debt    the L1 penalty applied to each weight so far, and the penalty due
    covariance.…           the covariance of a second-order rule

Each class has methods to copy its arrays, to transpose them, to extend them for new classes, and to mix them over
shards. Arrays that follow the weights are (K, d), or (d, K) if the weights are stored by feature: ("height", "width")
in their declarations. Arrays are never written to, except where a class says so. `mix` is a matrix: the new planes are
`mix` @ the old planes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np

Array = np.ndarray[Any, Any]
Mean = Callable[[str], Array]  # the mean over all shards of the term with this name


class Weights(NamedTuple):
    """Coefficients and intercepts, in the machine's layout."""

    coef: Array
    intercept: Array


@dataclass
class Companion:
    """Arrays that belong to the weights of one machine."""

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All stored arrays."""
        return tuple(getattr(self, one.name) for one in fields(self))

    def copy(self) -> Self:
        """An independent copy."""
        return type(self)(*(array.copy() for array in self.arrays))

    def transposed(self) -> Self:
        """The same in the other layout."""
        return type(self)(*(in_other_layout(one) if one.ndim == 2 else one for one in self.arrays))

    def at(self, place: Any) -> Self:
        """A copy of the part at these places of the weights."""
        return type(self)(*(one[place].copy() if one.ndim == 2 else one.copy() for one in self.arrays))


class Sums(Companion):
    """Two arrays in double, shaped like coefficients and intercepts, which start at zero."""

    @classmethod
    def zeros(cls, weights: Weights) -> Self:
        """Before the first update."""
        return cls(*(np.zeros(one.shape) for one in weights))

    def grown(self, mix: Array) -> Self:
        """Extended to the new planes."""
        return type(self)(*(mix @ array for array in self.arrays))


def in_other_layout(array: Array) -> Array:
    """The transposed array, contiguous; zeros, as at the start of training, are made anew, and take no memory yet."""
    return np.ascontiguousarray(array.T) if array.any() else np.zeros(array.T.shape, array.dtype)
