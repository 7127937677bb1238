"""The one training loop: epoch after epoch, until something says stop.

Every learner does the same thing with its examples, wherever they are. What learns is a `Solver`, where examples come
from is a `Source`, and `Training` drives one over the other: in memory, from files, in threads and on a cluster. It
counts and times epochs, takes back one that breaks off, scores held-out rows, restores the best epoch and decides to
stop.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Protocol

from rosenblatt.data.errors import NotFiniteError
from rosenblatt.data.examples import Examples, Facts


@dataclass(frozen=True)
class EpochRecord:
    """One pass over the examples.

    Attributes
    ----------
    epoch : int
        Counted from 1, over all passes of the model's life.
    updates : int
        Updates made in this pass.
    errors : int or None
        Rows that the model as kept gets wrong at the end of the pass, where asked for.
    loss : float
        Mean loss met during the pass, before each update.
    seconds : float
    converged : bool
        Whether the last iterate is known to have every row on its right side.
    score : float or None
        Score on the held-out rows, where there are some.
    """

    epoch: int
    updates: int
    errors: int | None
    loss: float
    seconds: float
    converged: bool = False
    score: float | None = None


class PartOfEpoch(NamedTuple):
    """Part of an epoch that is done: the rows visited and the updates made."""

    rows: int
    updates: int


class Ending(NamedTuple):
    """What an epoch leaves to say."""

    loss: float
    converged: bool
    errors: int | None = None


class Question(Protocol):
    """Something to find out about examples; it travels to wherever they are."""

    def __call__(self, examples: Examples, shard: int) -> Any:
        """The answer for these examples, which are those of this shard."""


class Source(Protocol):
    """Where examples come from."""

    @property
    def facts(self) -> Facts:
        """What is true of all rows."""

    @property
    def whole(self) -> bool:
        """Whether one part holds every row, and the solver orders its visits; else parts come as they are visited."""

    @property
    def lasting(self) -> bool:
        """Whether rows can be asked about again at no great cost."""

    @property
    def described(self) -> dict[str, Any]:
        """The attributes by which an estimator remembers the source."""

    def parts(self, epoch: int) -> Iterator[Examples]:
        """The examples of an epoch, part by part."""

    def ask(self, question: Question) -> Iterator[Any]:
        """The answers of all parts, in the order of the rows."""


@dataclass(frozen=True)
class InMemory:
    """Examples that are all there."""

    examples: Examples
    facts: Facts = field(init=False)
    whole = lasting = True
    described: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", self.examples.facts())

    def parts(self, epoch: int) -> Iterator[Examples]:
        """The examples, in one part."""
        yield self.examples

    def ask(self, question: Question) -> Iterator[Any]:
        """One answer."""
        yield question(self.examples, 0)


class Solver:
    """What learns: a state, and what an epoch does to it.

    `begin` is called once per run, `epoch` and `ending` once per epoch. An epoch that breaks off is taken back by
    putting what `copy` gave before it in the place of `state`.
    """

    state: Any  # with seed, epoch, updates and copy(): all that a later epoch needs
    iterates = False  # whether an epoch is a short iteration, of which there may be thousands

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Prepare for epochs over this source, after those of the records."""

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass, part by part."""
        raise NotImplementedError

    def ending(self, source: Source) -> Ending:
        """What is to be said at the end of a pass."""
        raise NotImplementedError

    def copy(self) -> Any:
        """The state, to go back to."""
        return self.state.copy()

    def clean(self, source: Source) -> bool:
        """Whether a scan shows that the last iterate has converged; rows say nothing about an objective."""
        return False

    def model(self) -> Any:
        """What predicts: planes, votes, support rows or layers."""
        return self.state.kept()

    def radius(self, facts: Facts) -> float:
        """R, for the report."""
        return math.sqrt(facts.radius2)


class Patience:
    """Whether a loss stopped decreasing: for `patience` epochs it was not `tol` below the lowest (0: never said).

    `relative` measures by the loss itself, and the lowest is the lowest of all; else only a loss that is lower by `tol`
    takes its place.
    """

    def __init__(self, tol: float, patience: float, relative: bool) -> None:
        self.tol, self.patience, self.relative = tol, patience, relative
        self.lowest, self.waited = math.inf, 0

    def spent(self, loss: float) -> bool:
        """Take note of an epoch."""
        better = loss < self.lowest - self.tol * (abs(self.lowest) if self.relative else 1.0)
        self.waited = 0 if better else self.waited + 1
        if better or self.relative:
            self.lowest = min(self.lowest, loss)
        return self.waited >= self.patience


@dataclass
class Training:
    """One training, epoch by epoch; iterating over it trains.

    Attributes
    ----------
    limit : int
        Epochs at most, those of `records` counted.
    records : list of EpochRecord
        Of the epochs so far, those of an interrupted run before this one included.
    validation : function of a model, or None
        The score on held-out rows; the best epoch is restored.
    patience : int
        Epochs without a better score before the run stops.
    rollback : bool
        Whether an epoch that breaks off is taken back; where nobody wants the state, a copy is saved.
    outcome : str
        "budget", "converged" or "early".
    asked : bool
        Set by whoever iterates to stop the run after the epoch.
    """

    solver: Solver
    source: Source
    limit: int
    records: list[EpochRecord] = field(default_factory=list)
    validation: Callable[[Any], float] | None = None
    patience: float = math.inf
    rollback: bool = True
    outcome: str = "budget"
    asked: bool = False

    def __iter__(self) -> Iterator[PartOfEpoch | EpochRecord]:
        """Train: yields each part of an epoch that is done, and the record at its end."""
        solver, records = self.solver, self.records
        best, waited = None, 0
        solver.begin(self.source, records)
        while not (records and records[-1].converged) and len(records) < self.limit:
            yield from self._epoch()
            if self.validation is not None:
                score = self.validation(solver.model())
                records[-1] = replace(records[-1], score=score)
                waited += 1
                if best is None or score > best[0]:
                    best, waited = (score, solver.copy(), len(records)), 0
            yield records[-1]
            if not records[-1].converged and (self.asked or waited >= self.patience):
                self.outcome = "early"
                break
        if records and records[-1].converged:
            self.outcome = "converged"
        if best is not None and best[2] < len(records):
            self.outcome, solver.state = "early", best[1]

    def _epoch(self) -> Iterator[PartOfEpoch]:
        solver, began = self.solver, time.perf_counter()
        # Before its first whole epoch nobody has any use for a state: there is nothing to go back to.
        before = solver.copy() if self.rollback and solver.state.epoch else None
        updates = solver.state.updates
        try:
            yield from solver.epoch(self.source)
            ending = solver.ending(self.source)
            if not math.isfinite(ending.loss):
                raise NotFiniteError(f"The loss overflowed in epoch {solver.state.epoch + 1}")
        except BaseException:
            if before is not None:
                solver.state = before
            raise
        state = solver.state
        state.epoch += 1
        seconds = time.perf_counter() - began
        # At once: whatever breaks off from here on, this epoch is whole.
        self.records.append(
            EpochRecord(state.epoch, state.updates - updates, ending.errors, ending.loss, seconds, ending.converged)
        )
