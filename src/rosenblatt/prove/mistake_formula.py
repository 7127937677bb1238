"""The mistake bound as a formula: all that a report needs, without the search for margins that `bounds` may start."""

from __future__ import annotations

import math
from dataclasses import dataclass

SMALLEST = 1e-290  # below it doubles have fewer and fewer digits


@dataclass(frozen=True)
class Separator:
    """Planes that separate: the smallest functional margin, and the squared lengths of weights and biases."""

    low: float
    norm2: float
    bias2: float


def mistake_bound(
    plane: Separator, radius2: float, *, bias: str, classes: int = 2, margin: float = 0.0, rate: float = 1.0
) -> float | None:
    """The most updates a perceptron that starts at zero can make, from planes that separate its rows.

    Two classes, γ = low/‖w‖, R² = max‖x‖², τ the margin asked for, η the learning rate:

    - no bias: (R² + 2τ/η)/γ² (Novikoff 1962);
    - bias step 1, the bias-free perceptron on (x, 1): (1 + R² + 2τ/η)(1 + b²/‖w‖²)/γ²;
    - bias step R²: (2R/γ)²(1 + τ/(ηR²)) (Cristianini and Shawe-Taylor 2000; Li et al. 2002).

    Many classes, W as one long vector: an update moves two of them, so that R² counts twice.

    >>> mistake_bound(Separator(low=1.0, norm2=2.0, bias2=0.0), 1.0, bias="none")
    2.0
    """
    if not (plane.low > 0 and math.isfinite(plane.low) and math.isfinite(radius2)):
        return None
    if bias == "radius" and classes == 2 and plane.bias2 <= radius2 * plane.norm2:
        return _bound(4 * radius2, 4 * margin / rate, plane.norm2, plane.low)
    length2, reach2 = plane.norm2, radius2
    if bias == "unit":
        length2, reach2 = plane.norm2 + plane.bias2, radius2 + 1
    elif bias == "radius" and radius2 > 0:
        length2, reach2 = plane.norm2 + plane.bias2 / radius2, 2 * radius2
    return _bound((2 if classes > 2 else 1) * reach2, 2 * margin / rate, length2, plane.low)


def _bound(reach2: float, slack: float, length2: float, low: float) -> float | None:
    """(reach² + slack)·length²/low²; None where squares left the range of doubles, or their digits did."""
    bound = (reach2 + slack) * length2 / low / low
    return bound if min(reach2, length2, low, bound) >= SMALLEST and bound < math.inf else None
