"""New features in a stream: machines with room for more features, which start as they would have from zero."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rosenblatt.planes.state import State, new_machine


def widened(state: State, width: int, rule: Any) -> State:
    """The state with `width` features, the old ones first; covariances are diagonal, and no pocket or vote is kept."""
    machines = []
    for machine in state.machines:
        wider = new_machine(rule, state.keep, machine.intercept.size, width, machine.coef.dtype, state.bias)
        if machine.by_feature:
            wider = wider.transposed()
        wider.put(slice(0, state.width), machine)
        machines.append(wider)
    return replace(state, machines=machines)
