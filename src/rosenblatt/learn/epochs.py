"""The one training loop: epoch after epoch, until a stopping rule applies.

A `Solver` learns, a `Source` provides the examples, and `Training` runs the solver over the source: in memory, from
files, in threads and on a cluster. It counts and times epochs, undoes an interrupted epoch, scores held-out rows,
restores the best epoch and decides when to stop. An epoch is made, for its weights and for its record, by one
assignment: Ctrl-C comes before it or after it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.learn.examples import Examples, Facts

if TYPE_CHECKING:
    from rosenblatt.learn.report import Report


@dataclass(frozen=True)
class EpochRecord:
    """One pass over the examples.

    Attributes
    ----------
    epoch : int
        Counted from 1, over all calls that trained the model.
    updates : int
        Updates made in this pass.
    errors : int or None
        Rows that the model misclassifies at the end of the pass, if they are counted.
    loss : float
        Mean loss during the pass, each row's taken before its update.
    seconds : float
        How long the pass took.
    converged : bool
        Whether the solver was done: the last iterate is known to classify every row correctly, the objective is within
        its tolerance, or patience ran out; `Report.outcome` says which.
    score : float or None
        Score on the held-out rows, if there are any.

    Examples
    --------
    >>> from rosenblatt import Perceptron
    >>> model = Perceptron(order="cyclic").fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> last = model.report_.epochs[-1]
    >>> last.epoch, last.updates, last.converged
    (6, 0, True)
    """

    epoch: int
    updates: int
    errors: int | None
    loss: float
    seconds: float
    converged: bool = False
    score: float | None = None


class EpochRecords(Sequence[Any]):
    """An immutable sequence of records, like a tuple; one that is a record longer shares all others with it."""

    __slots__ = ("_all", "_size")

    def __init__(self, records: Iterable[Any] = ()) -> None:
        self._all = list(records)
        self._size = len(self._all)

    @classmethod
    def of(cls, records: Iterable[Any]) -> EpochRecords:
        """These records as `EpochRecords`; returned as they are if they already are."""
        return records if isinstance(records, cls) else cls(records)

    def after(self, record: Any) -> EpochRecords:
        """These records and one more."""
        longer = EpochRecords.__new__(EpochRecords)
        # Another sequence may already have been extended from this one; its records are not ours.
        longer._all = self._all if len(self._all) == self._size else self._all[: self._size]
        longer._all.append(record)
        longer._size = self._size + 1
        return longer

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self._all[k] for k in range(*at.indices(self._size)))
        return self._all[range(self._size)[at]]

    def __iter__(self) -> Iterator[Any]:
        return (self._all[k] for k in range(self._size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EpochRecords | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return EpochRecords, (tuple(self),)


def frozen(records: Iterable[Any]) -> Sequence[Any]:
    """The records as an immutable sequence."""
    return records if isinstance(records, EpochRecords) else tuple(records)


def thinned(records: Sequence[Any], dense: int = 100, ratio: float = 1.05) -> Sequence[Any]:
    """The first `dense` records, then geometrically fewer, and the last: enough for thousands of iterations."""
    kept, wanted = list(records[:dense]), float(dense)
    for place in range(dense, len(records)):
        if place + 1 >= wanted * ratio or place == len(records) - 1:
            kept.append(records[place])
            wanted = place + 1
    return kept


class PartOfEpoch(NamedTuple):
    """A finished part of an epoch: the rows visited and the updates made."""

    rows: int
    updates: int


class Ending(NamedTuple):
    """The result of an epoch."""

    loss: float
    converged: bool
    errors: int | None = None


class Question(Protocol):
    """A computation on examples, which is sent to wherever they are stored."""

    def __call__(self, examples: Examples, shard: int) -> Any:
        """The answer for these examples, those of this shard."""


class ShardQuestion(Question, Protocol):
    """A question that may be sent to a worker, which may have faulty memory, or other code: it checks the answer."""

    def check(self, answer: Any, rows: int, features: int) -> None:
        """Refuse what cannot be the answer about so many rows of so many features."""


class Source(Protocol):
    """Where examples come from."""

    @property
    def facts(self) -> Facts:
        """Counts and sizes over all rows."""

    @property
    def whole(self) -> bool:
        """Whether one part holds every row, and the solver orders its visits; else parts arrive in visiting order."""

    @property
    def lasting(self) -> bool:
        """Whether it is cheap to scan the rows again."""

    @property
    def described(self) -> dict[str, Any]:
        """The fitted attributes of an estimator that describe the source."""

    def parts(self, epoch: int) -> Iterator[Examples]:
        """The examples of an epoch, part by part."""

    def ask(self, question: Question) -> Iterator[Any]:
        """The answers of all parts, in the order of the rows."""


@dataclass(frozen=True)
class InMemory:
    """All examples, held in memory."""

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
    """A learning algorithm: a state, and what an epoch does to it.

    `begin` is called once per run, `epoch` and `ending` once per epoch. If an epoch is interrupted, `state` is
    replaced by what `copy` returned before it; what a solver stores elsewhere must not be part of the model, or
    depend on which of the two `state` is.
    """

    state: Any  # with seed, epoch, updates and copy(): everything that a later epoch needs
    iterates = False  # whether an epoch is one short iteration of possibly thousands
    separates = False  # whether it has finished once no row violates its margin
    defers = False  # whether the model can be formed from the state when it is first read
    continues = True  # whether a later call of `partial_fit` can go on from the state
    finished = "stalled"  # the outcome once `ending` reports convergence: "separated", "solved" or "stalled"
    complains: tuple[str, ...] = ("budget",)  # the outcomes of which the user is warned
    sharding: Any = None  # how training in shards went

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Prepare for epochs over this source; `records` are those of the epochs so far."""

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass, part by part."""
        raise NotImplementedError

    def ending(self, source: Source) -> Ending:
        """The result of a pass."""
        raise NotImplementedError

    def copy(self) -> Any:
        """A copy of the state, to restore if the next epoch is interrupted."""
        return self.state.copy()

    def clean(self, source: Source) -> bool:
        """Whether a scan of the rows shows that the last iterate has converged; it cannot for an objective."""
        return False

    def model(self) -> Any:
        """The model that predicts: planes, votes, support rows or layers."""
        return self.state.kept()

    @property
    def described(self) -> dict[str, Any]:
        """The fitted attributes of an estimator that describe the solution, in addition to the model."""
        return {}

    def snapshot(self) -> Any:
        """The model, independent of what is learned later."""
        return self.model()

    def radius(self, facts: Facts) -> float:
        """R = max‖x‖, for the report."""
        return math.sqrt(facts.radius2)

    def conclude(self, source: Source, report: Report, kept: Any) -> Report:
        """The report completed by a scan of all rows, with the model that was kept."""
        return report

    def complaint(self, name: str, report: Report) -> str:
        """The warning of the estimator `name` when the budget is spent."""
        return (
            f"{name} spent its budget of {report.n_epochs} epochs with {report.errors:,} of {report.rows:,} training "
            "rows wrong. More epochs (max_epochs) help only if rows can be separated."
        )


class Patience:
    """Whether the loss stopped decreasing: for `patience` epochs none was lower than the lowest by `tol`.

    `tol` is a fraction of the lowest loss. With `cumulative`, only a loss that is lower by it becomes the lowest, so
    that a slow decrease counts if it adds up to `tol` in time; otherwise every lower loss becomes the lowest.
    """

    def __init__(self, tol: float, patience: float, cumulative: bool = False) -> None:
        self.tol, self.patience, self.cumulative = tol, patience, cumulative
        self.lowest, self.waited = math.inf, 0

    def spent(self, loss: float) -> bool:
        """Record the loss of an epoch; returns whether patience has run out."""
        first = self.cumulative and math.isinf(self.lowest)
        better = first or loss < self.lowest - self.tol * abs(self.lowest)
        self.waited = 0 if better else self.waited + 1
        if better or not self.cumulative:
            self.lowest = min(self.lowest, loss)
        return self.waited >= self.patience


@dataclass
class Training:
    """One run of training, epoch by epoch; iterating over it trains.

    Attributes
    ----------
    limit : int
        Maximum number of epochs, including those of `records`.
    records : list of EpochRecord
        Of the epochs so far, including those of an earlier, interrupted run.
    validation : function of a model, or None
        Computes the score on held-out rows; the best epoch is restored.
    patience : int
        Epochs without a better score before the run stops.
    rollback : bool
        Whether an interrupted epoch is undone; without it no copy of the state is made.
    outcome : str
        "budget", "early" or what the solver calls its end: "separated", "solved" or "stalled".
    asked : bool
        Set by the caller, while iterating, to stop the run after the current epoch.
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
    # The state at the end of the last whole epoch, or a copy of it, and the number of records at that time.
    _whole: tuple[Any, int] = field(init=False)

    def __post_init__(self) -> None:
        self._whole = self.solver.state, len(self.records)

    def __iter__(self) -> Iterator[PartOfEpoch | EpochRecord]:
        """Train; yields each finished part of an epoch, and the record at its end."""
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
            self.outcome = solver.finished
        if best is not None and best[2] < len(records):
            self.outcome, solver.state = "early", best[1]

    def _epoch(self) -> Iterator[PartOfEpoch]:
        solver, records, began = self.solver, self.records, time.perf_counter()
        if self.rollback and solver.state.epoch:  # before the first whole epoch there is no state worth restoring
            self._whole = solver.copy(), len(records)
        updates = solver.state.updates
        yield from solver.epoch(self.source)
        ending = solver.ending(self.source)
        if not math.isfinite(ending.loss):
            raise NotFiniteError(f"The loss overflowed in epoch {solver.state.epoch + 1}")
        state = solver.state
        state.epoch += 1
        seconds = time.perf_counter() - began
        records.append(
            EpochRecord(state.epoch, state.updates - updates, ending.errors, ending.loss, seconds, ending.converged)
        )
        # A signal is handled before this assignment, and the epoch is undone, or after it, and the epoch is whole.
        self._whole = state, len(records)

    def undo(self) -> None:
        """Go back to the end of the last whole epoch, from wherever the run was interrupted."""
        self.solver.state, count = self._whole
        del self.records[count:]
