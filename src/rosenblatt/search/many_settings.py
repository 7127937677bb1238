"""Many settings and folds of a learner in one pass: each is a machine, whose planes are columns of one W.

Reading a row and its places in W, which is most of the cost of a visit, is shared by all machines. Each machine makes
the visits, and ends with the weights, of a fit of its own over the same order of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.compiled.row_arrays import Dense, Sparse, in_pieces, spans, values_per_row
from rosenblatt.compiled.simd_lanes import WIDTH
from rosenblatt.learn.evaluation import Problem, clean
from rosenblatt.learn.models import Planes
from rosenblatt.learn.orders import Cyclic, Shuffled
from rosenblatt.learn.schemes import Scheme
from rosenblatt.learn.sweep import VisitTask
from rosenblatt.online.rules import AROW, CONSTANT, PERCEPTRON, Encoded, criterion_of
from rosenblatt.search.column_sweeps import (
    BY_COLUMN,
    PAIRWISE,
    SINGLE,
    Columns,
    Settings,
    score_columns,
    sweep_columns,
    sweep_single,
)

Array = np.ndarray[Any, Any]
MODES = {"one": SINGLE, "multinomial": PAIRWISE, "ovr": BY_COLUMN}


@dataclass(frozen=True)
class Setting:
    """The settings of one machine."""

    rule: Encoded
    fold: int
    class_weight: tuple[float, ...]
    epochs: int  # at most


@dataclass(frozen=True)
class FoldRows:
    """The rows of all folds, encoded once."""

    rows: Dense | Sparse
    codes: Array
    weights: Array  # empty if all are 1
    member: Array  # (n, folds), whether a fold learns from a row
    n_features: int
    classes: int
    scheme: Scheme


class ManySettings:
    """Machines that learn together; iterate over `epochs` to train them."""

    def __init__(self, data: FoldRows, settings: Sequence[Setting], order: Cyclic | Shuffled, average: bool) -> None:
        self.data, self.settings, self.order = data, settings, order
        self.K = data.scheme.columns(data.classes)
        M, d, dtype = len(settings), data.n_features, data.rows.values.dtype
        C = M * self.K
        width = -(-C // WIDTH) * WIDTH
        second = settings[0].rule.code == AROW
        none = np.zeros(0)
        self.state = Columns(
            w=np.zeros((d, width), dtype),
            b=np.zeros(C, dtype),
            u=np.zeros((d, width) if average else (0, 0)),
            v=np.zeros(C if average else 0),
            s=np.ones((d, width) if second else (0, 0), dtype),
            sb=np.repeat([float(one.rule.bias) for one in settings], self.K) if second else none,
            scores=np.zeros(width, dtype),
            steps=np.zeros(width, dtype),
            timed=np.zeros(width),
            q=np.zeros(width, dtype),
            shrinks=np.zeros(width, dtype),
            margins=np.zeros(M),
            sizes=np.zeros(M),
            moves=np.zeros(C),
            clock=np.zeros(M),
            violations=np.zeros(M),
            updates=np.zeros(M),
            done=np.zeros(M, dtype=bool),
            left=np.zeros(M),
            use=np.zeros((0, M)),
        )
        self.pattern, self.patterns = fold_patterns(data.member, [one.fold for one in settings])
        rules = [one.rule for one in settings]
        asked = np.array([[rule.low for rule in rules], [rule.high for rule in rules]])
        self.encoded = Settings(
            rules=records_of(rules),
            cap=np.array([rule.cap for rule in rules]),
            bias=np.array([rule.bias for rule in rules]),
            asked=asked,
            enough=np.where([rule.code == PERCEPTRON for rule in rules], asked, 0.0),
            fixed=np.array([rule.eta if rule.code == PERCEPTRON else 0.0 for rule in rules]),
            extra_with_bias=np.array([rule.bias + rule.extra for rule in rules]),
            class_weight=np.array([one.class_weight for one in settings]),
        )
        plain = data.weights.size == 0 and bool((self.encoded.class_weight == 1).all())
        # With a bias the norm of a row is above 0.
        steady = not second and all(rule.decay == CONSTANT and rule.bias > 0 for rule in rules)
        self.quick = data.scheme.single and plain and steady
        self.epoch = 0

    @property
    def done(self) -> Array:
        """Whether each machine has stopped."""
        return self.state.done

    def epochs(self) -> Iterator[int]:
        """Train; yields the number of each epoch when it ends. A machine stops when a separate fit would."""
        state, data = self.state, self.data
        task = VisitTask(data.rows, data.codes, data.weights)
        limits = np.array([one.epochs for one in self.settings])
        while not state.done.all():
            state.violations[:] = state.updates[:] = 0.0
            state = self.state = state._replace(use=self.patterns * ~state.done)
            for begin, end in spans(self.order.size, values_per_row(data.rows) * state.scores.size / WIDTH):
                piece = self.order.piece(self.epoch, begin, end)
                pattern = self.pattern[piece].astype(np.int64)  # gathered: a row's pattern would be a cache miss
                if self.quick:
                    sweep_single(state, self.encoded, task, pattern, piece)
                else:
                    sweep_columns(state, self.encoded, task, pattern, piece, MODES[data.scheme.name])
            self.epoch += 1
            for m in np.flatnonzero(~state.done & (state.violations == 0)):
                state.done[m] = state.updates[m] == 0 or self._clean(int(m))
            state.done[limits <= self.epoch] = True
            yield self.epoch

    def weights(self, machines: Array, average: bool) -> tuple[Array, Array]:
        """The weights (d, columns) and biases of these machines as they are now."""
        columns = (machines[:, None] * self.K + np.arange(self.K)).ravel()
        coef, intercept = self.state.w[:, columns], self.state.b[columns]
        if average:
            clock = np.repeat(np.maximum(self.state.clock[machines], 1e-300), self.K)
            coef = (coef - self.state.u[:, columns] / clock).astype(coef.dtype)
            intercept = (intercept - self.state.v[columns] / clock).astype(intercept.dtype)
        return np.ascontiguousarray(coef), intercept

    def scores(self, machines: Array, average: bool, index: Array) -> Array:
        """The scores of rows by these machines, (rows, machines, K), in one sweep."""
        found = column_scores_of(self.data.rows, *self.weights(machines, average), index)
        return found.reshape(index.size, machines.size, self.K)

    def _clean(self, m: int) -> bool:
        """Whether no row of its fold violates the margin of machine m."""
        data, setting = self.data, self.settings[m]
        present = np.flatnonzero(data.member[:, setting.fold]).astype(np.uint64)
        size, per_row = present.size, values_per_row(data.rows)
        whole = Problem(data.rows, data.codes, data.weights, present, size, float(size), data.scheme, per_row)
        (problem,) = data.scheme.problems(whole, data.classes)
        coef, intercept = self.weights(np.array([m]), average=False)
        planes = Planes(np.ascontiguousarray(coef.T), intercept, data.scheme, data.classes)
        return clean(problem, planes, criterion_of(setting.rule))


def records_of(settings: Sequence[Any]) -> Array:
    """Named tuples of numbers as an array of records, whose elements are read like the tuples, compiled or not."""
    kinds = [np.array(column).dtype for column in zip(*settings, strict=True)]
    records = np.array([tuple(one) for one in settings], list(zip(settings[0]._fields, kinds, strict=True)))
    return records.view(np.recarray)


def column_scores_of(rows: Dense | Sparse, coef: Array, intercept: Array, index: Array) -> Array:
    """The scores of these rows by planes that are columns of `coef`, (rows, columns)."""
    out, per_row = np.empty((index.size, intercept.size), coef.dtype), values_per_row(rows)

    def fill(span: tuple[int, int]) -> None:
        begin, end = span
        score_columns(rows, index[begin:end], coef, intercept, out[begin:end])

    in_pieces(fill, index.size, per_row, intercept.size)
    return out


def fold_patterns(member: Array, folds: Sequence[int]) -> tuple[Array, Array]:
    """The pattern of folds that learn from each row, and whether the folds of machines are in each pattern, 0 or 1."""
    patterns, which = _patterns(member)
    return which.astype(np.min_scalar_type(len(patterns))), patterns[:, folds].astype(
        np.float64
    )  # small: read at random


def _patterns(member: Array) -> tuple[Array, Array]:
    """The distinct rows of a matrix of truths, and which of them each row is."""
    if member.shape[1] > 64:
        return np.unique(member, axis=0, return_inverse=True)
    packed = np.zeros((member.shape[0], 8), np.uint8)  # one whole number per row, which is sorted quickly
    packed[:, : -(-member.shape[1] // 8)] = np.packbits(member, axis=1)
    codes = packed[:, 0] if member.shape[1] <= 8 else packed.view(np.uint64).ravel()
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    return member[first], which
