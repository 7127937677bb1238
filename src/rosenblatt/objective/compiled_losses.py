"""The losses in compiled code, by their index in `LOSSES`."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.extending import overload

from rosenblatt.compiled.machine_code import OPTIONS, compiled
from rosenblatt.objective.losses import CODES, LOSSES

Array = np.ndarray[Any, Any]
_BY_CODE = list(LOSSES.values())


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
