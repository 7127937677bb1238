"""New classes in a stream: extends the machines for more classes.

Every new plane is a fixed combination of old ones, so that no decision between old classes changes: with two old
classes and one plane w, multinomial weights are −w/2 and w/2, one-vs-rest −w and w, one-vs-one w for that pair. A
new class starts at zero.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rosenblatt.compiled.row_arrays import Dense
from rosenblatt.learn.schemes import PAIRS, TWO, Scheme
from rosenblatt.planes.state import Machine, State, lay_out, new_machine

Array = np.ndarray[Any, Any]


def grow(state: State, places: Array, classes: int, scheme: Scheme, rule: Any) -> State:
    """The state for `classes` classes; `places` are the indices of the old classes among them."""
    if scheme == PAIRS and classes > 2:
        return _grow_pairs(state, places, classes, rule)
    machine = state.machines[0]
    mix = np.zeros((scheme.columns(classes), machine.intercept.size))
    if state.scheme.single:  # the plane is positive for class 1; a single class is class 0
        half = 0.5 if scheme.joint else 1.0
        if scheme.single:
            mix[0, 0] = 1.0 if places[0] == 0 else -1.0
        else:
            mix[places[0], 0] = -half
            if places.size > 1:
                mix[places[1], 0] = half
    else:
        mix[places, np.arange(places.size)] = 1.0
    grown = _mixed(machine, mix, rule, state)
    return replace(state, machines=[grown], scheme=scheme, classes=classes)


def _grow_pairs(state: State, places: Array, classes: int, rule: Any) -> State:
    old = _pair_numbers(places.size) if state.scheme == PAIRS else {(0, 1): 0}
    first = state.machines[0]
    d, dtype = first.coef.shape[1] - first.full, first.coef.dtype
    machines = [new_machine(rule, state.keep, 1, d, dtype, state.bias) for _ in range(PAIRS.machines(classes))]
    for (a, b), number in _pair_numbers(classes).items():
        where = [int(np.flatnonzero(places == c)[0]) if c in places else -1 for c in (a, b)]
        if min(where) >= 0:
            machines[number] = state.machines[old[where[0], where[1]]]
    return replace(state, machines=machines, scheme=PAIRS, classes=classes)


def _pair_numbers(classes: int) -> dict[tuple[int, int], int]:
    return {pair: number for number, pair in enumerate(PAIRS.of(classes))}


def _mixed(machine: Machine, mix: Array, rule: Any, state: State) -> Machine:
    """The machine whose planes are `mix` @ the old planes."""
    lay_out(machine, Dense(machine.coef), TWO)
    d, dtype = machine.coef.shape[1] - machine.full, machine.coef.dtype
    grown = new_machine(rule, state.keep, mix.shape[0], d, dtype, state.bias)
    grown.coef, grown.intercept = (mix @ machine.coef).astype(dtype), (mix @ machine.intercept).astype(dtype)
    grown.tally = machine.tally.copy()
    grown.moves = np.abs(mix) @ machine.moves
    for name in ("average", "pocket", "votes", "debt"):
        part = getattr(machine, name)
        setattr(grown, name, None if part is None else part.grown(mix))
    if machine.covariance is not None and grown.covariance is not None:
        grown.covariance = machine.covariance.grown(mix, grown.covariance)
    return grown
