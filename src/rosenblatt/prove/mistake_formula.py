"""The mistake bound as a formula: all that a report needs, without the search for margins in `mistake_bounds`."""

from __future__ import annotations

import math
from typing import NamedTuple

from rosenblatt.compiled.step_sizes import squared_bias_feature

SMALLEST = 1e-290  # smaller doubles may be subnormal, with fewer digits


class Separator(NamedTuple):
    """Separating planes: the smallest functional margin, and the squared norms of weights and biases."""

    low: float
    norm2: float
    bias2: float


def mistake_bound(
    plane: Separator, radius2: float, *, bias: str | float, classes: int = 2, margin: float = 0.0, rate: float = 1.0
) -> float | None:
    """The most updates that a perceptron starting at zero can make, from planes that separate its rows.

    Two classes, γ = low/‖w‖, R² = max‖x‖², τ the required margin, η the learning rate:

    - no bias: (R² + 2τ/η)/γ² (Novikoff 1962);
    - bias step c² ("unit": 1), the perceptron without bias on (x, c): (c² + R² + 2τ/η)(1 + b²/(c‖w‖)²)/γ²;
    - bias step R² ("radius"): (2R/γ)²(1 + τ/(ηR²)) (Cristianini and Shawe-Taylor 2000; Li et al. 2002).

    For more than two classes W is one long vector: an update changes two planes, so R² counts twice.

    >>> mistake_bound(Separator(low=1.0, norm2=2.0, bias2=0.0), 1.0, bias="none")
    2.0
    """
    if not (plane.low > 0 and math.isfinite(plane.low) and math.isfinite(radius2)):
        return None
    if bias == "radius" and classes == 2 and plane.bias2 <= radius2 * plane.norm2:
        return _bound_in_range(4 * radius2, 4 * margin / rate, plane.norm2, plane.low)
    length2, reach2 = plane.norm2, radius2
    c2 = squared_bias_feature(bias, radius2)
    if c2 > 0:
        length2, reach2 = plane.norm2 + plane.bias2 / c2, radius2 + c2
    return _bound_in_range((2 if classes > 2 else 1) * reach2, 2 * margin / rate, length2, plane.low)


def _bound_in_range(reach2: float, slack: float, length2: float, low: float) -> float | None:
    """(reach² + slack)·length²/low²; None if a factor or the result overflows or is too small to be accurate."""
    bound = (reach2 + slack) * length2 / low / low
    return bound if min(reach2, length2, low, bound) >= SMALLEST and bound < math.inf else None
