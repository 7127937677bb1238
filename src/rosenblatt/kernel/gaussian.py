"""The RBF kernel from dot products, in one pass: exp(−γ‖x − x′‖²), where ‖x − x′‖² = ‖x‖² + ‖x′‖² − 2 x·x′.

NumPy's exp takes one double at a time on processors without AVX-512. The compiled one becomes vector code: with the
nearest integer n to x/ln 2 and r = x − n·ln 2 in two parts, exp(x) = 2ⁿ·exp(r), and the Taylor polynomial of degree 12
gives exp(r), since |r| ≤ ½ ln 2; the result is within 2.5 units in its last place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import overload

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.formats.decimal_numbers import double_from_bits

Array = np.ndarray[Any, Any]
# Multiply and add may be fused; sums may not be reordered, because r needs ln 2 in two parts.
FUSED: Any = {"fastmath": {"contract"}, "_nrt": False}
LOWEST = -708.0  # exp of anything lower counts as 0: doubles lose digits soon below
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # n·LN2_HIGH is exact
T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12 = (1.0 / math.factorial(k) for k in range(2, 13))
BIAS, FRACTION = 1023, 52  # of a double: 2ⁿ has the bits (n + BIAS) << FRACTION


def _gaussian(values: Array, a: Array, b: Array, gamma: float, shift: float) -> None:
    values *= values.dtype.type(-2)
    values += a[:, None]
    values += b[None, :]
    np.maximum(values, 0, out=values)
    values *= values.dtype.type(-gamma)
    np.exp(values, out=values)
    values += values.dtype.type(shift)


@overload(_gaussian, strict=False, jit_options=FUSED)
def _gaussian_compiled(values: Any, a: Any, b: Any, gamma: Any, shift: Any) -> Any:  # pragma: no cover
    def body(values: Any, a: Any, b: Any, gamma: Any, shift: Any) -> Any:
        for i in range(values.shape[0]):
            row, square = values[i], np.float64(a[i])
            for j in range(row.size):
                distance2 = square + b[j] - 2.0 * row[j]
                x = -gamma * (0.0 if distance2 < 0.0 else distance2)
                within = x if x >= LOWEST else LOWEST  # NaN too, which has no whole number nearby
                n = np.rint(within * LOG2_E)
                r = (within - n * LN2_HIGH) - n * LN2_LOW
                p = ((((T12 * r + T11) * r + T10) * r + T9) * r + T8) * r + T7
                p = ((((((p * r + T6) * r + T5) * r + T4) * r + T3) * r + T2) * r + 1.0) * r + 1.0
                power = double_from_bits(np.uint64((np.int64(np.int32(n)) + BIAS) << FRACTION))
                row[j] = (p * power if x >= LOWEST else 0.0 if x < LOWEST else x) + shift

    return body


@compiled
def gaussian(values: Array, a: Array, b: Array, gamma: float, shift: float) -> None:
    """Turn dot products x·x′ into exp(−γ‖x − x′‖²) + shift, in place; a and b are the squared norms of x and x′."""
    _gaussian(values, a, b, gamma, shift)
