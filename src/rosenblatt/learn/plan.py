"""How to train, from an estimator's parameters alone: what the plans of all families share.

A plan is a frozen record. It refuses combinations of parameters that cannot be learned and says what it needs before
any row is read. `start` chooses the scheme and the solver for a source, and makes the state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rosenblatt.compiled.row_arrays import Dense, Sparse, spans
from rosenblatt.learn.epochs import Solver, Source
from rosenblatt.learn.evaluation import MISTAKE, Criterion, Problem
from rosenblatt.learn.examples import Facts
from rosenblatt.learn.orders import Blocks, Cyclic, Explicit, Order, Random, Shuffled, block_bounds, visited
from rosenblatt.learn.schemes import REST, SCHEMES, TWO, Scheme

Array = np.ndarray[Any, Any]
MOST_VALUES, MOST_EPOCHS, FEWEST_EPOCHS = 2_000_000_000, 10_000, 10
VOTED_VALUES, VOTED_EPOCHS = 20_000_000, 1000  # fewer for a vote, which stores every update
ORDERS = {"shuffle", "blocks", "cyclic", "random", "first", "worst"}


@dataclass(frozen=True)
class Needs:
    """What a plan needs of its source.

    Attributes
    ----------
    memory : str or None
        Why all rows must be in memory; None if they may come from files. "{name}" stands for the estimator.
    mixing : str or None
        Why weights learned from shards cannot be mixed; None if they can.
    radius : bool
        Whether max‖x‖ must be known before the first step.
    """

    memory: str | None = None
    mixing: str | None = None
    radius: bool = False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to train.

    Attributes
    ----------
    order : str or ndarray
        The order of visits: see `Perceptron`.
    keep : str
        Which weights are the model.
    record_errors : bool
        Whether each epoch's record counts the rows that are wrong.
    multiclass : str
        The name of the scheme for more than two classes.
    max_epochs : int or None
    """

    order: str | Array = "shuffle"
    keep: str = "last"
    record_errors: bool = False
    multiclass: str = "ovr"
    max_epochs: int | None = None
    grows: ClassVar[bool] = False  # whether new classes may appear in later calls

    @property
    def criterion(self) -> Criterion:
        """What counts as wrong in the final scan."""
        return MISTAKE

    @property
    def needs(self) -> Needs:
        """What it needs of its source."""
        return Needs()

    def scheme(self, classes: int, labels: bool) -> Scheme:
        """How this many classes, or labels, become planes."""
        return REST if labels else TWO if classes <= 2 else SCHEMES[self.multiclass]

    def scheme_of(self, facts: Facts) -> Scheme:
        """The scheme for the classes of these rows."""
        return self.scheme(class_count(facts), facts.by_labels)

    def limit(self, facts: Facts) -> int:
        """The maximum number of epochs."""
        return self.max_epochs or default_epochs(facts.stored, self.keep)

    # -- from a plan to a solver ---------------------------------------------------------------------------------------

    def new_state(self, source: Source, seed: int, weights: Any = None) -> Any:
        """The state at the start: at these weights if there are any, else at zero or at random."""
        raise NotImplementedError

    def follow(self, state: Any) -> Solver:
        """The solver that goes on from this state."""
        raise NotImplementedError

    def start(self, source: Source, seed: int, weights: Any = None) -> Solver:
        """The solver for rows that are all in memory."""
        return self.follow(self.new_state(source, seed, weights))

    def refuse_change(self, state: Any) -> None:
        """Refuse parameters that must not change between calls of `partial_fit`."""
        if state.keep != self.keep:
            raise ValueError(f"keep was {state.keep!r} in the first call and is now {self.keep!r}.")

    def grown(self, state: Any, places: Array, classes: int, scheme: Scheme) -> Any:
        """The state with new classes; `places` are the indices of the old ones among them."""
        raise NotImplementedError

    # -- the order of visits -------------------------------------------------------------------------------------------

    def make_order(self, problem: Problem, seed: int) -> Order:
        """The order of visits over the rows that take part."""
        if not isinstance(self.order, str):
            rows = self.order
            return Explicit(rows if problem.present is None else rows[np.isin(rows, problem.present)])
        if self.order == "shuffle":
            return Shuffled(problem.size, seed)
        if self.order == "blocks":
            return Blocks(_bounds(problem.rows), seed, problem.present)
        return Random(problem.size, seed) if self.order == "random" else Cyclic(problem.size)

    @property
    def covers(self) -> bool:
        """Whether an epoch visits every row."""
        return isinstance(self.order, str) and self.order in ("shuffle", "blocks", "cyclic")

    @property
    def why_not_in_parts(self) -> str | None:
        """Why its order needs all rows in memory; None if it does not."""
        named = self.order if isinstance(self.order, str) else self.order.tolist()
        return (
            None
            if self.covers
            else (f'order={named!r} needs random access to rows; from files use "shuffle" or "cyclic".')
        )

    def visits(self, problem: Problem, state: Any, whole: bool, columns: int) -> Iterator[Array]:
        """The rows of an epoch in short pieces; the rows of a part of a source are visited as they come."""
        order = self.make_order(problem, state.seed) if whole else Cyclic(problem.size)
        for begin, end in spans(order.size, problem.per_row * columns):
            yield visited(order, problem.present, state.epoch, begin, end)


def default_epochs(stored: int, keep: str) -> int:
    """The default limit of epochs: small sets may run to convergence, large ones do not take minutes."""
    values, most = (VOTED_VALUES, VOTED_EPOCHS) if keep == "vote" else (MOST_VALUES, MOST_EPOCHS)
    return max(FEWEST_EPOCHS, min(most, values // max(stored, 1)))


def class_count(facts: Facts) -> int:
    """How many classes rows have; 1 for numbers."""
    return 1 if facts.classes is None else int(facts.classes.size)


def _bounds(rows: Dense | Sparse) -> Array:
    """The blocks of rows, as in a file."""
    if isinstance(rows, Sparse):
        return block_bounds(rows.starts)
    return block_bounds(np.arange(rows.values.shape[0] + 1) * rows.values.shape[1])


def checked_order(order: Any) -> str | Array:
    """An order by name, or row numbers."""
    if isinstance(order, str):
        return order
    rows = np.asarray(order)
    if rows.ndim != 1 or rows.size == 0 or rows.dtype.kind not in "iu":
        raise ValueError(f"order must be one of {sorted(ORDERS)} or a sequence of row numbers, got {order!r}.")
    if (rows < 0).any():
        raise ValueError(f"order names row {int(rows.min())}: rows are numbered from 0.")
    return rows.astype(np.uint64)
