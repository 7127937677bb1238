"""The state of training: weights, sums, clocks. Everything that a later epoch needs, and nothing else.

A `State` holds one `Machine`, or one a pair of classes for one-vs-one. A machine's weights are laid out as `rows`
says, and `learner` shows them to the compiled loop.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.data.examples import Dense, Sparse
from rosenblatt.learn.models import Ballot, History, Kept, Planes, stacked
from rosenblatt.learn.online.first_order import CLOCK, TALLY, UPDATES, WATCHED, Log, Multinomial, One, Separate
from rosenblatt.learn.online.rules import Rule, SecondOrderRule
from rosenblatt.learn.online.second_order import BY_COLUMN, PAIRWISE, SINGLE, Diagonal, Full
from rosenblatt.learn.schemes import Scheme

Array = np.ndarray[Any, Any]
LOG_ROOM = 1 << 13
NONE = np.zeros(0)
NO_LOG = Log(np.zeros(0, np.uint64), np.zeros(0, np.int32), NONE, NONE, NONE)


class Piece(NamedTuple):
    """Updates that were logged together."""

    support: Any  # the rows that made them, an array or CSR
    log: Log  # its rows are those of `support`
    bias: float  # what a step of 1 adds to b


@dataclass
class Machine:
    """Weights of one learner.

    coef, intercept : the last iterate, (K, d), or (d, K) when `by_feature`, and (K,); v for the diagonal second-order
        perceptron; (K, d + 1), the bias last, for a full Σ.
    total, total_b : Σ clock·Δ for the average; for an L1 penalty what each weight has been pulled by, and should have
        been; else empty.
    spread, spread_b : Σ, or the diagonal of A, for second-order rules, else empty.
    """

    coef: Array
    intercept: Array
    total: Array = field(default_factory=lambda: np.zeros((0, 0)))
    total_b: Array = field(default_factory=lambda: NONE)
    spread: Array = field(default_factory=lambda: np.zeros((0, 0)))
    spread_b: Array = field(default_factory=lambda: NONE)
    tally: Array = field(default_factory=lambda: np.zeros(TALLY))
    moves: Array = field(default_factory=lambda: NONE)  # updates of each plane
    by_feature: bool = False  # the arrays lie (d, K)
    start: tuple[Array, Array] | None = None
    log: tuple[Piece, ...] = ()
    pocket: tuple[Array, Array, float] | None = None  # coef, intercept, the weight of its errors

    def copy(self) -> Machine:
        """A machine that shares nothing that changes."""
        return replace(
            self,
            coef=self.coef.copy(),
            intercept=self.intercept.copy(),
            total=self.total.copy(),
            total_b=self.total_b.copy(),
            spread=self.spread.copy(),
            spread_b=self.spread_b.copy(),
            tally=self.tally.copy(),
            moves=self.moves.copy(),
        )

    @property
    def updates(self) -> int:
        """Updates so far."""
        return int(self.tally[UPDATES])


@dataclass
class State:
    """All machines and what their training has seen."""

    machines: list[Machine]
    scheme: Scheme
    keep: str
    classes: int
    seed: int
    epoch: int = 0
    radius2: float = 0.0
    bias: float = 0.0
    from_zero: bool = True
    whole: bool = True  # all row weights so far were whole numbers

    def copy(self) -> State:
        """A state that shares nothing that changes."""
        result = copy(self)
        result.machines = [machine.copy() for machine in self.machines]
        return result

    def shallow(self) -> State:
        """A state that shares weights, where they are replaced and never written to."""
        result = copy(self)
        result.machines = [replace(machine, tally=machine.tally.copy()) for machine in self.machines]
        return result

    @property
    def updates(self) -> int:
        """Updates of all machines."""
        return sum(machine.updates for machine in self.machines)

    @property
    def dtype(self) -> Any:
        """The type of the weights."""
        return self.machines[0].coef.dtype

    def last(self, rule: Rule) -> Planes:
        """The last iterate."""
        return self._planes([_linear(machine, rule) for machine in self.machines])

    def kept(self, rule: Rule) -> Kept:
        """What `keep` says: the last iterate, the average, the pocket or the ballot."""
        if self.keep == "vote":
            histories = tuple(_history(machine) for machine in self.machines)
            return Ballot(histories, self.scheme, self.classes)
        if self.keep == "average":
            return self._planes([_average(machine) for machine in self.machines])
        if self.keep == "pocket":
            return self._planes([machine.pocket[:2] for machine in self.machines if machine.pocket is not None])
        return self.last(rule)

    def _planes(self, parts: list[tuple[Array, Array]]) -> Planes:
        coef = parts[0][0] if len(parts) == 1 else np.concatenate([part[0] for part in parts])
        return Planes(coef, np.concatenate([part[1] for part in parts]), self.scheme, self.classes)


def new_machine(rule: Rule, keep: str, K: int, d: int, dtype: Any) -> Machine:
    """A machine of K columns at zero."""
    machine = Machine(np.zeros((K, d), dtype), np.zeros(K, dtype), moves=np.zeros(K))
    if keep == "average":
        machine.total, machine.total_b = np.zeros((K, d)), np.zeros(K)
    if keep == "pocket":
        machine.pocket = (machine.coef.copy(), machine.intercept.copy(), np.inf)
        machine.tally[WATCHED] = 1.0
    if keep == "vote":
        machine.start = (machine.coef.copy(), machine.intercept.copy())
    if rule.order == 2:
        full = rule.full  # type: ignore[union-attr]
        start: float = rule.start  # type: ignore[union-attr]
        if full:
            machine.coef = np.zeros((K, d + 1), dtype)
            machine.spread = np.stack([np.eye(d + 1, dtype=dtype) * start] * K)
        else:
            machine.spread, machine.spread_b = np.full((K, d), start, dtype), np.full(K, start, dtype)
    return machine


def lengthened(log: tuple[Piece, ...], piece: Piece) -> tuple[Piece, ...]:
    """The log with one more piece. As in a binary counter, equals are joined: few pieces, each copied a few times."""
    while log and log[-1].log.rows.size <= piece.log.rows.size < LOG_ROOM // 4:
        last = log[-1]
        if last.bias != piece.bias or isinstance(last.support, np.ndarray) != isinstance(piece.support, np.ndarray):
            break
        rows = piece.log.rows + np.uint64(last.support.shape[0])
        joined = (np.concatenate(pair) for pair in zip(last.log, piece.log._replace(rows=rows), strict=True))
        piece, log = Piece(stacked((last.support, piece.support)), Log(*joined), piece.bias), log[:-1]
    return (*log, piece)


def _linear(machine: Machine, rule: Rule) -> tuple[Array, Array]:
    """Coef (K, d) and intercept of the last iterate."""
    if isinstance(rule, SecondOrderRule) and not rule.full:
        return _by_class(machine.coef / machine.spread, machine), machine.intercept / machine.spread_b
    if machine.spread.ndim == 3:
        return machine.coef[:, :-1].copy(), machine.coef[:, -1].copy()
    return _by_class(machine.coef.copy(), machine), machine.intercept.copy()


def _average(machine: Machine) -> tuple[Array, Array]:
    """(N·w − u)/N after N visits."""
    clock, dtype = machine.tally[CLOCK] or 1.0, machine.coef.dtype
    coef = (machine.coef - machine.total / clock).astype(dtype)
    return _by_class(coef, machine), (machine.intercept - machine.total_b / clock).astype(dtype)


def _by_class(coef: Array, machine: Machine) -> Array:
    return coef.T if machine.by_feature else coef


def _history(machine: Machine) -> History:
    """The log of a machine, its rows gathered once each."""
    assert machine.start is not None
    end, pieces = float(machine.tally[CLOCK]), machine.log
    if not pieces:
        empty = (np.zeros((0, machine.start[0].shape[1])),)
        return History(empty, np.zeros(0, np.int64), *NO_LOG[1:], end, *machine.start, NONE)
    support = tuple(piece.support for piece in pieces)
    offsets = np.cumsum([0, *(piece.support.shape[0] for piece in pieces)])
    which = np.concatenate(
        [piece.log.rows.astype(np.int64) + offset for piece, offset in zip(pieces, offsets[:-1], strict=True)]
    )
    _, columns, steps, clocks, shares = (
        np.concatenate(column) for column in zip(*(piece.log for piece in pieces), strict=True)
    )
    bias = np.concatenate([np.full(piece.log.rows.size, piece.bias) for piece in pieces])
    return History(support, which, columns, steps, clocks, shares, end, *machine.start, bias)


# -- what the compiled loop sees -------------------------------------------------------------------------------------


def lay_out(machine: Machine, rows: Dense | Sparse, scheme: Scheme) -> None:
    """Turn the weights of several classes the way that `rows` wants them."""
    by_feature = isinstance(rows, Sparse) and not scheme.single and machine.spread.ndim < 3
    if by_feature != machine.by_feature:
        machine.coef, machine.total, machine.spread = (
            np.ascontiguousarray(array.T) if array.ndim == 2 else array
            for array in (machine.coef, machine.total, machine.spread)
        )
        machine.by_feature = by_feature


def learner(machine: Machine, scheme: Scheme, rule: Rule, rows: Dense | Sparse, batch: bool = False) -> Any:
    """The machine's own arrays, as the loop takes them for such rows; a batch gathers its step in arrays of its own."""
    lay_out(machine, rows, scheme)
    K, w = machine.intercept.size, machine.coef
    scores = np.zeros(K, w.dtype)
    if rule.order == 2:
        mode = PAIRWISE if scheme.joint else SINGLE if scheme.single else BY_COLUMN
        if machine.spread.ndim == 3:
            return Full(w, machine.spread, np.zeros(w.shape[1], w.dtype), np.zeros(w.shape, w.dtype), scores, mode)
        s = machine.spread
        if isinstance(rows, Sparse) and mode == SINGLE:  # (1, d) and (d, 1) are the same memory
            w, s = w.reshape(-1, 1), s.reshape(-1, 1)
        return Diagonal(w, machine.intercept, s, machine.spread_b, scores, mode)
    single = scheme.single
    w = w[0] if single else w
    dw, db = (np.zeros_like(w, dtype=np.float64), np.zeros(K)) if batch else (w, machine.intercept)
    moves = machine.moves.copy() if batch else machine.moves
    if batch or not machine.total_b.size:  # a batch is averaged where its step is taken
        u, v = np.zeros((0,) * w.ndim), NONE
    else:
        u, v = machine.total[0] if single else machine.total, machine.total_b
    common = (w, machine.intercept, dw, db, np.zeros(K), u, v)
    if single:
        return One(*common)
    return Multinomial(*common, scores) if scheme.joint else Separate(*common, scores, moves)
