r"""Iterative parameter mixing: shards learn in parallel, and their weights are mixed after every pass.

The rows are divided into shards. In epoch n every shard i starts from the same weights w⁽ⁿ⁻¹⁾, makes one pass over its
own rows with k_{i,n} updates, and returns w⁽ⁱ'ⁿ⁾; then

    w⁽ⁿ⁾ = Σ_i μ_{i,n} w⁽ⁱ'ⁿ⁾          μ_{i,n} = 1/S  ("uniform")   or   k_{i,n}/Σ_j k_{j,n}  ("mistakes")

R. McDonald, K. Hall, G. Mann, "Distributed training strategies for the structured perceptron", NAACL 2010. If a plane
of margin γ separates the rows, ‖x‖ ≤ R, then for either μ (their theorem 3)

    Σ_n Σ_i μ_{i,n} k_{i,n} ≤ R²/γ²          and so          Σ_n Σ_i k_{i,n} ≤ S·R²/γ²

since Σ_i μ_i k_i ≥ Σ_i k_i/S for both (for "mistakes" it is Σk²/Σk). Training still converges on separable rows, while
weights that are trained independently and mixed only once need not separate them.

Everything that a later epoch needs is mixed with the same μ, as if there were a single run, the mean of the shards':

    clock       N = Σ μ_i N_i                                          visits, the time of averages and of schedules
    average     Σ of iterates = Σ μ_i Σ_t w⁽ⁱ⁾_t, stored as N·w − u    so that  u = N·w − Σ μ_i (N_i w_i − u_i)
    AROW        P = Σ μ_i P_i,  w = P⁻¹ Σ μ_i P_i w_i,  P = Σ⁻¹        weighted by precision
    debts       of an L1 penalty, like the weights
    updates     U = Σ_i U_i                                            a total, not a mean

A machine without rows in a shard (a pair of classes that does not occur in it) is left out of its mean. Sums are taken
in double precision and in the order of the shards, so that the result does not depend, to the bit, on where or when a
shard was processed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from rosenblatt.formats.declared_fields import AMOUNT, must, verify
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.learn.counters import Count
from rosenblatt.learn.epochs import Ending, EpochRecord, InMemory, PartOfEpoch, Solver, Source
from rosenblatt.learn.examples import Examples, Facts
from rosenblatt.learn.models import Planes
from rosenblatt.learn.overflow import all_finite, check_state
from rosenblatt.learn.report import Report
from rosenblatt.learn.sharding import Sharding
from rosenblatt.planes.average import Average
from rosenblatt.planes.companions import Weights
from rosenblatt.planes.linear_plan import LinearSolver
from rosenblatt.planes.penalty_debt import L1Debt
from rosenblatt.planes.state import Machine, State

Array = np.ndarray[Any, Any]
MIXINGS = ("uniform", "mistakes")


# -- one pass over one shard -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShardResult:
    """The result of one pass over a shard."""

    machines: tuple[Machine, ...]
    rows: int
    updates: int  # made in this pass
    violations: Annotated[float, AMOUNT]
    losses: tuple[float, ...]  # the sum of the losses during the pass, one per machine
    radius2: Annotated[float, AMOUNT]
    bias: float
    whole: bool
    seconds: Annotated[float, AMOUNT]

    @property
    def nbytes(self) -> int:
        """Its size when sent."""
        return sum(array.nbytes for machine in self.machines for array in machine.arrays)


def shard_seed(seed: int, shard: int) -> int:
    """The seed of a shard, which with the epoch determines the order of visits."""
    return int(np.random.SeedSequence((seed, shard)).generate_state(1, np.uint32)[0])


def outgoing(state: State) -> State:
    """What a shard needs of the mixed state: everything except the sums of averages, which start at zero."""
    if state.keep != "average":
        return state
    sent = replace(state)
    sent.machines = [replace(machine, average=None) for machine in state.machines]
    return sent


def one_pass(solver: LinearSolver, examples: Examples, shard: int) -> ShardResult:
    """Make one pass over a shard, starting from the mixed weights; `solver` is not changed.

    Examples
    --------
    >>> import numpy as np
    >>> from rosenblatt.compiled.row_arrays import Dense, read_only
    >>> from rosenblatt.learn.examples import Examples
    >>> from rosenblatt.online.rules import PerceptronRule
    >>> from rosenblatt.online.solver import OnlinePlan
    >>> from rosenblatt.learn.epochs import InMemory
    >>> def rows(X, y):
    ...     return Examples(Dense(read_only(np.array(X))), 1, np.array(y), np.array([0, 1]), None, None, 4.0)
    >>> shards = [rows([[1.0], [-1.0]], [1, 0]), rows([[2.0]], [1])]
    >>> plan = OnlinePlan(rule=PerceptronRule(), bias="none", order="cyclic")
    >>> solver = plan.start(InMemory(shards[0]), seed=0)
    >>> mixer = Mixer(solver.state)
    >>> for shard, examples in enumerate(shards):
    ...     mixer.add(one_pass(solver, examples, shard))
    >>> mixer.mixed().machines[0].coef  # (1 + 2)/2
    array([[1.5]])
    """
    began, state, source = time.perf_counter(), solver.state.copy(), InMemory(examples)
    state.seed = shard_seed(state.seed, shard)
    for machine in state.machines:
        if state.keep == "average":
            machine.average = Average.zeros(machine.weights)
        machine.tally[[Count.VIOLATIONS, Count.LOSS]] = 0.0
    before = state.updates
    solver = copy(solver)
    solver.state = state
    solver.begin(source, ())
    for _ in solver.epoch(source):
        pass
    check_state(state)
    variances = [one.covariance.variances for one in state.machines if one.covariance is not None]
    if any(one is not None and not one.min(initial=1.0) > 0 for one in variances):
        raise NotFiniteError(
            "A variance was rounded to 0, so that its inverse, which is needed to mix shards, overflows"
        )
    return ShardResult(
        tuple(state.machines),
        examples.target.shape[0],
        state.updates - before,
        float(sum(machine.tally[Count.VIOLATIONS] for machine in state.machines)),
        tuple(float(machine.tally[Count.LOSS]) for machine in state.machines),
        state.radius2,
        state.bias,
        state.whole,
        time.perf_counter() - began,
    )


@dataclass(frozen=True)
class OnePass:
    """One pass over each shard, all starting from the same weights."""

    solver: LinearSolver

    def __call__(self, examples: Examples, shard: int) -> ShardResult:
        """The result for this shard."""
        return one_pass(self.solver, examples, shard)

    def check(self, answer: Any, rows: int, features: int) -> None:
        """What a pass over all rows makes of the weights of the question."""
        verify(answer, ShardResult, d=features)
        start = self.solver.state
        must(len(answer.machines) == len(answer.losses) == len(start.machines), f"{len(start.machines)} machines")
        for machine, before in zip(answer.machines, start.machines, strict=True):
            _check_pass(machine, before, start.keep)
        made = sum(machine.updates for machine in answer.machines) - start.updates
        must(answer.updates == made, "as many updates as its machines made")
        must(answer.rows == rows, f"a pass over {rows:,} rows")


def _check_pass(machine: Machine, before: Machine, keep: str) -> None:
    """Refuse a machine that cannot be mixed with others that began in the same state."""
    same = machine.coef.dtype == before.coef.dtype and machine.intercept.size == before.intercept.size
    must(same, f"{before.intercept.size} planes of {before.coef.dtype}")
    must(type(machine.covariance) is type(before.covariance), "the same covariance")
    must(machine.average is not None or keep != "average", "the sums of an average")
    must(machine.debt is not None or before.debt is None, "the debts of a penalty")  # the first pass may create them
    must(all_finite(*machine.arrays, machine.moves), "finite weights, found NaN or infinity")
    must(all(machine.tally[k] >= before.tally[k] for k in (Count.CLOCK, Count.UPDATES)), "counts that do not decrease")
    if machine.covariance is not None:
        diagonal = machine.covariance.variances
        variances = machine.covariance.arrays if diagonal is None else (diagonal,)
        must(all(array.min(initial=1) > 0 for array in variances), "variances above 0")


# -- mixing ----------------------------------------------------------------------------------------------------------


@dataclass
class _Sums:
    """Sums over shards for one machine, weighted by μ before its normalisation."""

    mass: float = 0.0
    clock: float = 0.0
    arrays: dict[str, Any] = field(default_factory=dict)

    def add(self, weight: float, clock: float, terms: dict[str, Array]) -> None:
        self.mass += weight
        self.clock += weight * clock
        for name, term in terms.items():
            term = term * weight  # a new array, which may be stored
            if name in self.arrays:
                self.arrays[name] += term
            else:
                self.arrays[name] = term

    def mean(self, name: str) -> Array:
        return np.asarray(self.arrays[name] / self.mass)


class Mixer:
    """Mixes the results of shards, added in the order of the shards, into one state; no result is retained.

    Parameters
    ----------
    start : State
        The state in which every shard began.
    mixing : {"uniform", "mistakes"}
    """

    def __init__(self, start: State, mixing: str = "uniform") -> None:
        self.start, self.mixing = start, mixing
        self.alike = [_Sums() for _ in start.machines]
        self.by_mistakes = [_Sums() for _ in start.machines]
        self.updates = [0.0 for _ in start.machines]
        self.squares = [0.0 for _ in start.machines]
        self.moves = [machine.moves.copy() for machine in start.machines]
        self.violations, self.losses = 0.0, np.zeros(len(start.machines))
        self.radius2, self.bias, self.whole, self.by_feature = start.radius2, start.bias, start.whole, False

    def add(self, part: ShardResult) -> None:
        """Add the result of the next shard."""
        for k, (machine, begin) in enumerate(zip(part.machines, self.start.machines, strict=True)):
            clock = float(machine.tally[Count.CLOCK])
            if clock == begin.tally[Count.CLOCK]:
                continue  # no rows for this machine
            if not any(sums.mass for sums in self.alike):
                self.by_feature = machine.by_feature
            made = float(machine.tally[Count.UPDATES] - begin.tally[Count.UPDATES])
            terms = _terms(_in_layout(machine, self.by_feature), clock)
            self.alike[k].add(1.0, clock, terms)
            if self.mixing == "mistakes" and made:
                self.by_mistakes[k].add(made, clock, terms)
            self.updates[k] += made
            self.squares[k] += made * made
            self.moves[k] += machine.moves - begin.moves
        self.violations += part.violations
        self.losses += part.losses
        self.radius2, self.whole = max(self.radius2, part.radius2), self.whole and part.whole
        self.bias = part.bias

    @property
    def weighted(self) -> float:
        """Σ_i μ_i k_i, to which the bound for separable rows applies, summed over machines."""
        total = 0.0
        for sums, made, squares in zip(self.alike, self.updates, self.squares, strict=True):
            if made:
                total += squares / made if self.mixing == "mistakes" else made / sums.mass
        return total

    def mixed(self) -> State:
        """The state in which the next epoch begins."""
        result = replace(self.start)
        result.radius2, result.bias, result.whole = self.radius2, self.bias, self.whole
        result.machines = [self._machine(k) for k in range(len(self.start.machines))]
        return result

    def _machine(self, k: int) -> Machine:
        begin = _in_layout(self.start.machines[k], self.by_feature)
        sums = self.by_mistakes[k] if self.by_mistakes[k].mass else self.alike[k]
        if not sums.mass:
            return begin.copy()
        dtype, result = begin.coef.dtype, begin.copy()
        result.tally[Count.CLOCK] = sums.clock / sums.mass
        result.tally[Count.UPDATES] += self.updates[k]
        result.moves = self.moves[k]
        weights = Weights(sums.mean("coef"), sums.mean("intercept"))
        if begin.covariance is not None:
            result.covariance, weights = begin.covariance.mixed(sums.mean, weights)
        result.coef, result.intercept = weights.coef.astype(dtype), weights.intercept.astype(dtype)
        if begin.average is not None:
            result.average = begin.average.mixed(sums.mean, result.weights, result.tally[Count.CLOCK])
        if "owed" in sums.arrays:  # this pass may have been the first with debts
            result.debt = L1Debt.mixed(sums.mean)
        return result


def _terms(machine: Machine, clock: float) -> dict[str, Array]:
    """The terms that are summed over shards, in double precision."""
    weights = Weights(machine.coef.astype(np.float64), machine.intercept.astype(np.float64))
    found = weights._asdict()
    for part in (machine.covariance, machine.average, machine.debt):
        found |= {} if part is None else part.terms(weights, clock)
    return found


def _in_layout(machine: Machine, by_feature: bool) -> Machine:
    """The machine with its arrays in this layout."""
    return machine if machine.by_feature == by_feature else machine.transposed()


# -- the solver ------------------------------------------------------------------------------------------------------


class ShardCosts(NamedTuple):
    """The costs of a sharded source so far, and how many shards it processes in parallel."""

    sent_again: int
    bytes_moved: int
    reading: float
    slots: int


class MixedSolver(Solver):
    """Runs a linear solver on every shard of a source, and mixes the results."""

    def __init__(self, inner: LinearSolver, sharding: Sharding) -> None:
        self.inner = inner
        self._before = self._after = inner.state, sharding  # the states at the start and at the end of an epoch

    @property
    def state(self) -> State:
        """The mixed state, which every epoch replaces."""
        return self.inner.state

    @state.setter
    def state(self, state: State) -> None:
        self.inner.state = state

    @property
    def sharding(self) -> Sharding:
        """How training went up to the state, which may be that before an interrupted epoch."""
        return self._after[1] if self.state is self._after[0] else self._before[1]

    @property
    def finished(self) -> str:  # type: ignore[override]
        """As in the inner solver."""
        return self.inner.finished

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Delegates to the inner solver."""
        self.inner.begin(source, records)

    def epoch(self, source: Any) -> Iterator[PartOfEpoch]:
        """One pass over all shards from the same weights, and the mean of the results."""
        began, before, record = time.perf_counter(), source.spent(), self.sharding
        mixer = Mixer(self.state, record.mixing)
        sent = copy(self.inner)
        sent.state = outgoing(self.state)
        mistakes, computing = [], 0.0
        for part in source.ask(OnePass(sent)):
            mixer.add(part)
            mistakes.append(part.updates)
            computing += part.seconds
            yield PartOfEpoch(part.rows, part.updates)
        mixed, after = mixer.mixed(), source.spent()
        reading = after.reading - before.reading
        wall = (time.perf_counter() - began) * max(before.slots, after.slots)
        now = replace(
            record,
            mistakes=(*record.mistakes, tuple(mistakes)),
            weighted=record.weighted + mixer.weighted,
            sent_again=record.sent_again + after.sent_again - before.sent_again,
            bytes_moved=record.bytes_moved + after.bytes_moved - before.bytes_moved,
            computing=record.computing + computing,
            reading=record.reading + reading,
            waiting=record.waiting + max(wall - computing - reading, 0.0),
        )
        self._before, self._after = (self.state, record), (mixed, now)
        self.state = mixed
        self.inner.take(mixer.losses, mixer.violations, sum(mistakes))

    def ending(self, source: Source) -> Ending:
        """Delegates to the inner solver."""
        return self.inner.ending(source)

    def copy(self) -> State:
        """The state itself, because an epoch replaces it."""
        return self.state

    def model(self) -> Any:
        """The model that `keep` selects from the mixed state."""
        return self.inner.model()

    def last(self) -> Planes:
        """The last iterate, whatever `keep` is."""
        return self.inner.last()

    @property
    def separates(self) -> bool:  # type: ignore[override]
        """Delegates to the inner solver."""
        return bool(self.inner.separates)

    def clean(self, source: Source) -> bool:
        """Delegates to the inner solver."""
        return self.inner.clean(source)

    def radius(self, facts: Facts) -> float:
        """Delegates to the inner solver."""
        return self.inner.radius(facts)

    def conclude(self, source: Source, report: Report, kept: Any) -> Report:
        """Delegates to the inner solver."""
        return self.inner.conclude(source, report, kept)

    def complaint(self, name: str, report: Report) -> str:
        """Delegates to the inner solver."""
        return self.inner.complaint(name, report)
