"""Step sizes that several families share, each written once, for floats, fractions and compiled code."""

from __future__ import annotations

from typing import Any

from rosenblatt.compiled.machine_code import exactly


def squared_bias_feature(bias: Any, radius2: Any) -> Any:
    """c², what a step of size 1 adds to b, for "none", "unit", "radius" or a number."""
    return {"none": 0, "unit": 1, "radius": radius2}[bias] if isinstance(bias, str) else bias


def passive_aggressive_step(lack: Any, q: Any, cap: Any, extra: Any) -> Any:
    """min(cap, ℓ/(q + extra)), in floats or fractions; an empty row makes no step, because none changes its score."""
    if q + extra == 0:
        return q  # 0 of the same type
    size = lack / (q + extra)
    return cap if size > cap else size  # NaN stays NaN


aggressive_step = exactly(passive_aggressive_step)
