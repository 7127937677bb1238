"""The state of training: weights, counters and companions. It is everything that a later epoch needs.

A `State` holds one `Machine`, or one per pair of classes for one-vs-one. The layout of a machine's weights is
described in `rows`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

import numpy as np

from rosenblatt.compiled.row_arrays import Dense, Sparse
from rosenblatt.formats.declared_fields import doubles, floats, must, one_of, size
from rosenblatt.learn.counters import TALLY, Count
from rosenblatt.learn.models import Model, Planes, VotedPlanes
from rosenblatt.learn.schemes import Scheme
from rosenblatt.planes.average import Average
from rosenblatt.planes.companions import Companion, Weights, in_other_layout
from rosenblatt.planes.covariance import Covariance
from rosenblatt.planes.penalty_debt import L1Debt
from rosenblatt.planes.pocket import Pocket
from rosenblatt.planes.update_log import NONE
from rosenblatt.planes.votes import Votes

Array = np.ndarray[Any, Any]
COMPANIONS = ("average", "pocket", "votes", "debt", "covariance")


@dataclass
class Machine:
    """Weights of one learner.

    coef, intercept : the last iterate, (K, d), or (d, K) if `by_feature`, and (K,); with a `FullCovariance` coef is
        (K, d + 1), the bias last, and with a `DiagonalCorrelation` both hold v.
    average, pocket, votes, debt, covariance : see `companions`.
    """

    coef: Annotated[Array, floats("height", "width")]
    intercept: Annotated[Array, floats("K")]
    tally: Annotated[Array, TALLY] = field(default_factory=lambda: np.zeros(len(Count)))
    moves: Annotated[Array, doubles("K")] = field(default_factory=lambda: NONE)  # updates of each plane
    by_feature: bool = False  # whether arrays are (d, K)
    average: Average | None = None
    pocket: Pocket | None = None
    votes: Votes | None = None
    debt: L1Debt | None = None
    covariance: Covariance | None = None

    def check(self, K: int, d: int) -> None:
        """Weights in one of the layouts, and one dtype."""
        must(not (self.full and self.by_feature), "full covariances by class")
        shape = (K, d + 1) if self.full else (d, K) if self.by_feature else (K, d)
        must(self.coef.shape == shape, f"weights of shape {shape}")
        arrays = (self.intercept, *(() if self.covariance is None else self.covariance.arrays))
        must(all(array.dtype == self.coef.dtype for array in arrays), "one dtype")

    @property
    def weights(self) -> Weights:
        """The last iterate, in the machine's layout."""
        return Weights(self.coef, self.intercept)

    @property
    def companions(self) -> dict[str, Companion]:
        """The companions that are set, by name."""
        found = {name: getattr(self, name) for name in COMPANIONS}
        return {name: part for name, part in found.items() if part is not None}

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays of weights and companions, without pocket and votes."""
        parts = (part.arrays for name, part in self.companions.items() if name not in ("pocket", "votes"))
        return (self.coef, self.intercept, *(array for part in parts for array in part))

    def copy(self) -> Machine:
        """An independent copy."""
        arrays = (self.coef.copy(), self.intercept.copy(), self.tally.copy(), self.moves.copy())
        parts = (self.average, self.pocket, self.votes, self.debt, self.covariance)
        return Machine(*arrays, self.by_feature, *[None if part is None else part.copy() for part in parts])  # type: ignore[arg-type]

    def at(self, features: Array | slice) -> Machine:
        """A copy with the weights, averages and variances of these features alone, or of all."""
        place = features if self.by_feature else (slice(None), features)
        parts = {name: getattr(self, name) for name in ("average", "covariance")}
        found: dict[str, Any] = {name: part and part.at(place) for name, part in parts.items()}
        arrays = (self.coef[place].copy(), self.intercept.copy(), self.tally.copy(), self.moves.copy())
        return Machine(*arrays, self.by_feature, **found)

    def put(self, features: Array | slice, part: Machine) -> None:
        """Write a copy that `at` made back to its place."""
        place = features if self.by_feature else (slice(None), features)
        for whole, saved in zip(self._at_features(self), self._at_features(part), strict=True):
            whole[place if whole.ndim == 2 else slice(None)] = saved

    @staticmethod
    def _at_features(machine: Machine) -> tuple[Array, ...]:
        """The arrays that `at` copies."""
        parts = [part.arrays for part in (machine.average, machine.covariance) if part is not None]
        own = (machine.coef, machine.intercept, machine.tally, machine.moves)
        return (*own, *(array for part in parts for array in part))

    def transposed(self) -> Machine:
        """The same in the other layout; a full covariance has only one."""
        parts: dict[str, Any] = {name: part.transposed() for name, part in self.companions.items()}
        return replace(self, coef=in_other_layout(self.coef), by_feature=not self.by_feature, **parts)

    @property
    def full(self) -> bool:
        """Whether covariances are full matrices."""
        return self.covariance is not None and self.covariance.full

    @property
    def updates(self) -> int:
        """Updates so far."""
        return int(self.tally[Count.UPDATES])


@dataclass
class State:
    """All machines, and what training needs to continue."""

    machines: list[Machine]
    scheme: Scheme
    keep: Annotated[str, one_of("last", "average", "pocket", "vote")]
    classes: Annotated[int, size("classes")]
    seed: int
    epoch: int = 0
    radius2: float = 0.0
    bias: float = 0.0
    from_zero: bool = True
    whole: bool = True  # all row weights so far were whole numbers

    def check(self) -> None:
        """Machines as the scheme has them, with what is kept."""
        machines, K = self.machines, self.scheme.columns(self.classes)
        must(len(machines) == self.scheme.machines(self.classes), "as many machines as the classes need")
        must(all(machine.intercept.size == K for machine in machines), f"machines of {K} planes")
        kept = {"vote": "votes"}.get(self.keep, self.keep)
        must(kept == "last" or all(kept in machine.companions for machine in machines), f"{kept} of each machine")

    def copy(self) -> State:
        """An independent copy."""
        return State(**(vars(self) | {"machines": [machine.copy() for machine in self.machines]}))

    def shallow(self) -> State:
        """A copy that shares the weights, for solvers that replace them and never write to them."""
        machines = [replace(machine, tally=machine.tally.copy()) for machine in self.machines]
        return State(**(vars(self) | {"machines": machines}))

    @property
    def updates(self) -> int:
        """Updates of all machines."""
        total = 0
        for machine in self.machines:
            total += int(machine.tally[Count.UPDATES])
        return total

    @property
    def dtype(self) -> Any:
        """The type of the weights."""
        return self.machines[0].coef.dtype

    @property
    def width(self) -> int:
        """The number of features."""
        one = self.machines[0]
        return int(one.coef.shape[0] if one.by_feature else one.coef.shape[1] - one.full)

    @property
    def selects(self) -> bool:
        """Whether the model of some features is that of all, restricted to these."""
        return self.keep in ("last", "average") and not self.machines[0].full

    def at(self, features: Array | slice) -> State:
        """A copy with the weights of these features alone; covariances are diagonal, and no pocket or vote is kept."""
        return State(**(vars(self) | {"machines": [machine.at(features) for machine in self.machines]}))

    def current(self) -> Planes:
        """The last iterate, in memory that training goes on to change."""
        return self._planes([_last(machine) for machine in self.machines])

    def last(self) -> Planes:
        """The last iterate."""
        return self._planes([Weights(w.copy("K"), b.copy("K")) for w, b in map(_last, self.machines)])

    def kept(self) -> Model:
        """The model that `keep` selects: the last iterate, the average, the pocket or the vote."""
        if self.keep == "vote":
            votes = [(one.votes, float(one.tally[Count.CLOCK])) for one in self.machines]
            histories = tuple(part.history(clock) for part, clock in votes if part is not None)
            return VotedPlanes(histories, self.scheme, self.classes)
        if self.keep == "average":
            return self._planes([_average(machine) for machine in self.machines])
        if self.keep == "pocket":
            pockets = [machine.pocket for machine in self.machines if machine.pocket is not None]
            return self._planes([Weights(pocket.coef, pocket.intercept) for pocket in pockets])
        return self.last()

    def _planes(self, parts: list[Weights]) -> Planes:
        coef = parts[0][0] if len(parts) == 1 else np.concatenate([part[0] for part in parts])
        intercept = parts[0][1] if len(parts) == 1 else np.concatenate([part[1] for part in parts])
        return Planes(coef, intercept, self.scheme, self.classes)


def new_machine(rule: Any, keep: str, K: int, d: int, dtype: Any, bias: float) -> Machine:
    """A machine of K columns at zero, with the covariance of its rule, if it has one; bias is c², or 0."""
    covariance: Covariance | None = None if rule is None else rule.covariance(K, d, bias or 1.0, dtype)
    width = d + 1 if covariance is not None and covariance.full else d
    machine = Machine(np.zeros((K, width), dtype), np.zeros(K, dtype), moves=np.zeros(K), covariance=covariance)
    if keep == "average":
        machine.average = Average.zeros(machine.weights)
    begin_at(machine, keep)
    return machine


def begin_at(machine: Machine, keep: str) -> None:
    """Start the pocket or the vote, if `keep` selects one, from the machine's weights."""
    if keep == "pocket":
        machine.pocket = Pocket.of(machine.weights)
        machine.tally[Count.WATCHED] = 1.0
    if keep == "vote":
        machine.votes = Votes.of(machine.weights)


def _last(machine: Machine) -> Weights:
    """Coef (K, d) and intercept of the last iterate, which may share the machine's memory."""
    weights = machine.weights
    return _by_class(weights if machine.covariance is None else machine.covariance.planes(weights), machine)


def _average(machine: Machine) -> Weights:
    """The mean of all iterates."""
    assert machine.average is not None
    return _by_class(machine.average.mean(machine.weights, float(machine.tally[Count.CLOCK])), machine)


def _by_class(weights: Weights, machine: Machine) -> Weights:
    return weights._replace(coef=weights.coef.T) if machine.by_feature else weights


def lay_out(machine: Machine, rows: Dense | Sparse, scheme: Scheme) -> None:
    """Bring the weights of several classes into the layout for such rows."""
    by_feature = isinstance(rows, Sparse) and not scheme.single and not machine.full
    if by_feature != machine.by_feature:
        transposed = machine.transposed()
        for one in fields(machine):
            setattr(machine, one.name, getattr(transposed, one.name))
