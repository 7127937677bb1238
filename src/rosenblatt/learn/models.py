"""Trained models, as used for prediction: planes, or a weighted vote of all planes during training."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import (
    VALUES_AT_ONCE,
    Dense,
    Sparse,
    gathered,
    in_pieces,
    is_narrow,
    spans,
    values_per_row,
    widened,
)
from rosenblatt.compiled.rows import dot, dots
from rosenblatt.formats.declared_fields import doubles, floats, integers, matrix, must, size
from rosenblatt.learn.labels import as_signed
from rosenblatt.learn.schemes import Scheme

Array = np.ndarray[Any, Any]


@compiled
def score_one(rows: Any, index: Array, w: Array, b: Array, out: Array) -> None:
    """out_t = w·x_i + b for i = index_t."""
    for t in range(index.size):
        out[t] = dot(rows, index[t], w) + b[0]


@compiled
def score_many(rows: Any, index: Array, W: Array, b: Array, out: Array) -> None:
    """out_tk = w_k·x_i + b_k for i = index_t."""
    for t in range(index.size):
        scores = out[t]
        dots(rows, index[t], W, scores)
        for k in range(scores.size):
            scores[k] += b[k]


FEWEST_UPDATES, MOST_UPDATES = 1 << 13, 1 << 18  # of a vote, processed per call


def laid_out_for(coef: Array, rows: Dense | Sparse) -> Array:
    """Coefficients (K, d) in the layout that the loops need for such rows: see `rows`."""
    laid_out = coef[0] if coef.shape[0] == 1 else coef if isinstance(rows, Dense) else coef.T
    return np.ascontiguousarray(laid_out, dtype=widened(rows.values.dtype))


@compiled
def _squares_across(W: Array, out: Array) -> None:
    for j in range(W.shape[0]):
        for k in range(W.shape[1]):
            out[k] += np.float64(W[j, k]) * np.float64(W[j, k])


def lengths2(coef: Array) -> Array:
    """‖w‖² of each plane, in double, read in memory order."""
    if coef.shape[0] > 1 and coef.flags.f_contiguous:
        out = np.zeros(coef.shape[0])
        for begin, end in spans(coef.shape[1], coef.shape[0]):
            _squares_across(coef.T[begin:end], out)
        return out
    return np.asarray(np.einsum("kj,kj->k", coef, coef, dtype=np.float64))


@dataclass(frozen=True)
class Planes:
    """One plane per row of `coef`: two classes and regression have one, "ovo" one per pair."""

    coef: Annotated[Array, floats("planes", "d")]
    intercept: Annotated[Array, floats("planes")]
    scheme: Scheme
    classes: Annotated[int, size("classes")]

    def check(self, planes: int) -> None:
        """As many planes as the scheme has."""
        must(planes == self.scheme.planes(self.classes), "as many planes as the classes need")

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.coef.shape[1])

    def one(self, k: int) -> Planes:
        """The plane of a single pair of classes."""
        return Planes(self.coef[k : k + 1], self.intercept[k : k + 1], self.scheme.alone, self.classes)

    def raw(self, rows: Dense | Sparse, index: Array) -> Array:
        """w·x + b of the rows in `index`, (n,) for a single plane, (n, K) for more."""
        score, out = self.scorer(rows), self._room(rows, index.size)

        def piece(span: tuple[int, int]) -> None:
            here = slice(*span)
            score(index[here], out[here])

        in_pieces(piece, index.size, values_per_row(rows), self.coef.shape[0])
        return out

    def scorer(self, rows: Dense | Sparse) -> Callable[..., Array]:
        """The same for few rows at a time, with the coefficients laid out once; may write into a given array."""
        w, b = laid_out_for(self.coef, rows), self.intercept.astype(widened(rows.values.dtype))
        score = score_one if self.coef.shape[0] == 1 else score_many

        def scored(index: Array, out: Array | None = None) -> Array:
            out = self._room(rows, index.size) if out is None else out
            if is_narrow(rows):
                score(gathered(rows, index), np.arange(index.size, dtype=np.uint64), w, b, out)
            else:
                score(rows, index, w, b, out)
            return out

        return scored

    def _room(self, rows: Dense | Sparse, n: int) -> Array:
        """An array for the scores of n rows."""
        K = self.coef.shape[0]
        return np.empty(n if K == 1 else (n, K), dtype=widened(rows.values.dtype))

    def scores(self, rows: Dense | Sparse, index: Array) -> Array:
        """Decision values: (n,) for two classes, (n, K) for more."""
        return self.scheme.scores(self.raw(rows, index), self.classes)


@compiled
def _vote_one(
    products: Array, which: Array, steps: Array, shifts: Array, lives: Array, scores: Array, votes: Array
) -> None:
    """Continue Σ_k c_k sign(f_k), f_k = f_{k−1} + step_k x_k·x + shift_k, from the products x_k·x.

    sign(0) = −1, the tie rule.
    """
    for t in range(products.shape[0]):
        f, total = scores[t], votes[t]
        for k in range(which.size):
            f += steps[k] * products[t, which[k]] + shifts[k]
            total += lives[k] if f > 0 else -lives[k]
        scores[t], votes[t] = f, total


@compiled
def _vote_many(
    products: Array,
    which: Array,
    columns: Array,
    steps: Array,
    shifts: Array,
    lives: Array,
    scores: Array,
    votes: Array,
) -> None:
    """The same for W: each W votes for its best class."""
    for t in range(products.shape[0]):
        f, total = scores[t], votes[t]
        for k in range(which.size):
            f[columns[k]] += steps[k] * products[t, which[k]] + shifts[k]
            if lives[k] > 0:
                total[np.argmax(f)] += lives[k]


@dataclass(frozen=True)
class UpdateHistory:
    """Every update of one machine: w after k updates is the initial w + Σ step·x̂, and survives until the next one."""

    support: Annotated[Any | None, matrix("rows", "d")]  # the rows that made updates; None: in another record
    which: Annotated[Array, integers("updates", below="rows")]  # the row of `support`, numbered over a tuple
    columns: Annotated[Array, integers("updates", below="K")]
    steps: Annotated[Array, doubles("updates")]
    clocks: Annotated[Array, doubles("updates")]  # visits before the update
    shares: Annotated[Array, doubles("updates")]  # the weight of the visit that made it
    end: float  # total visits
    coef: Annotated[Array, floats("K", "d")]  # the initial weights
    intercept: Annotated[Array, floats("K")]
    bias: Annotated[Array, doubles("updates")]  # what a step of 1 adds to b: R² may grow from epoch to epoch

    @functools.cached_property
    def rows(self) -> Any:
        """The support in one piece, built on first use: a stream of calls that only learn never needs it."""
        return stacked(self.support) if isinstance(self.support, tuple) else self.support

    def __getstate__(self) -> dict[str, Any]:
        """Everything except `rows`, which can be rebuilt."""
        return {name: value for name, value in self.__dict__.items() if name != "rows"}

    @property
    def shifts(self) -> Array:
        """The change of b at each update."""
        return self.steps * self.bias

    def votes(self, products: Array, first: Array, scheme: Scheme) -> Array:
        """The votes on rows, given their products with the support and their scores by the initial weights."""
        count = VoteCount(self, first, scheme)
        count.add(slice(None), products, self.which)
        return count.result()

    def counts(self, selected: Array | slice = slice(None)) -> Array:
        """How many visits each w survived unchanged, the initial one first.

        The two entries of a multinomial update have the same clock, so that the first of them counts 0.
        """
        births = np.append(0.0, self.clocks[selected] + self.shares[selected])
        return np.asarray(np.maximum(np.append(self.clocks[selected], self.end) - births, 0.0))

    def vectors(self, scheme: Scheme) -> tuple[Any, Any, Any]:
        """All w_k, b_k and counts, as arrays."""
        X = self.rows.toarray() if sp.issparse(self.rows) else self.rows
        moves = self.steps[:, None] * X[self.which]
        if self.coef.shape[0] == 1:
            return (*_running(self.coef[0], self.intercept[0], moves, self.shifts), self.counts())
        if scheme.joint:
            changes = np.zeros((self.which.size, *self.coef.shape))
            shifts = np.zeros((self.which.size, self.coef.shape[0]))
            changes[np.arange(self.which.size), self.columns] = moves
            shifts[np.arange(self.which.size), self.columns] = self.shifts
            w, b = _running(self.coef, self.intercept, changes, shifts)
            last = np.append(
                True, np.append(self.clocks[1:] != self.clocks[:-1], True)[: self.which.size]
            )  # whether an entry is the last of its update
            return w[last], b[last], self.counts()[last]
        found = []
        for k in range(self.coef.shape[0]):
            of_k = self.columns == k
            w, b = _running(self.coef[k], self.intercept[k], moves[of_k], self.shifts[of_k])
            found.append((w, b, self.counts(of_k)))
        return tuple(list(part) for part in zip(*found, strict=True))  # type: ignore[return-value]


class VoteCount:
    """A vote on rows, counted update by update: the scores and votes of the rows.

    Both are (K, n), or (n, K) if planes are compared with each other.
    """

    def __init__(self, history: UpdateHistory, first: Array, scheme: Scheme) -> None:
        """`first` (n, K): the scores by the initial weights."""
        self.history, self.together = history, scheme.joint and first.shape[1] > 1
        self.shifts, self.lives = history.shifts, np.empty(history.steps.size)
        if self.together:
            self.scores, self.votes = first.astype(np.float64, order="C"), np.zeros(first.shape)
            counts = history.counts()
            self.lives = counts[1:]
            self.votes[np.arange(len(first)), np.argmax(first, axis=1)] += counts[0]
            return
        self.scores = first.T.astype(np.float64, order="C")
        self.votes = np.empty(self.scores.shape)
        for k in range(first.shape[1]):
            of_k = history.columns == k
            counts = history.counts(of_k)
            self.lives[of_k] = counts[1:]
            self.votes[k] = np.where(self.scores[k] > 0, counts[0], -counts[0])

    def add(self, updates: slice, products: Array, which: Array, rows: slice = slice(None)) -> None:
        """Count the votes after these updates, made by rows `which` of the products, for these rows."""
        log = self.history
        columns, steps, shifts, lives = (array[updates] for array in (log.columns, log.steps, self.shifts, self.lives))
        if self.together:
            _vote_many(products, which, columns, steps, shifts, lives, self.scores[rows], self.votes[rows])
            return
        for k in range(len(self.scores)):
            of_k: Any = columns == k if len(self.scores) > 1 else slice(None)
            _vote_one(
                products, which[of_k], steps[of_k], shifts[of_k], lives[of_k], self.scores[k][rows], self.votes[k][rows]
            )

    def result(self) -> Array:
        """The votes, (n,) for one plane, (n, K) for more."""
        if self.together:
            return self.votes
        return self.votes[0] if len(self.votes) == 1 else np.ascontiguousarray(self.votes.T)


def _running(start: Array, shift: Array, moves: Array, shifts: Array) -> tuple[Array, Array]:
    return np.cumsum(np.concatenate([[start], moves]), axis=0), np.cumsum(np.concatenate([[shift], shifts]), axis=0)


@dataclass(frozen=True)
class VotedPlanes:
    """The voted perceptron: one history per machine (one, or one per pair for "ovo")."""

    histories: tuple[UpdateHistory, ...]
    scheme: Scheme
    classes: Annotated[int, size("classes")]

    def check(self) -> None:
        """A history per machine, with its rows."""
        must(len(self.histories) == self.scheme.machines(self.classes), "a history per machine")
        K = self.scheme.columns(self.classes)
        must(all(one.coef.shape[0] == K and one.support is not None for one in self.histories), f"{K} planes with rows")

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.histories[0].coef.shape[1])

    def raw(self, rows: Dense | Sparse, index: Array) -> Array:
        """The weighted votes of the rows in `index`, (n,) for two classes, (n, K) for more."""
        parts = [self._votes(history, rows, index) for history in self.histories]
        return parts[0] if len(parts) == 1 else np.stack(parts, axis=1)

    def _votes(self, history: UpdateHistory, rows: Dense | Sparse, index: Array) -> Array:
        """The votes on rows, in pieces of updates and of rows, so that Ctrl-C works."""
        (K, d), support, n = history.coef.shape, history.rows, index.size
        first = np.empty((n, K))
        for begin, end in spans(n, K * values_per_row(rows)):
            first[begin:end] = copy_rows(rows, index[begin:end], d) @ history.coef.T + history.intercept
        count = VoteCount(history, first, self.scheme)
        for updates in self._some(history, n):
            which = history.which[updates]
            low, high = int(which.min()), int(which.max()) + 1
            if high - low <= 2 * which.size:  # almost always: rows were gathered in the order of updates
                part, which = support[low:high], which - low
            else:
                distinct, which = np.unique(which, return_inverse=True)
                part = support[distinct]
            turned = part.T.tocsr() if sp.issparse(part) else part.T
            # The cost of a row: one or K scores per update, and products, which are much faster with BLAS.
            products = values_per_row(rows) * stored(part) / d
            quick = isinstance(rows, Dense) and not sp.issparse(part)
            each = which.size * (K if count.together else 1) + products / (64 if quick else 1)
            step = max(1, int(VALUES_AT_ONCE / each))
            for begin in range(0, n, step):
                block = slice(begin, min(begin + step, n))
                found = copy_rows(rows, index[block], d) @ turned
                found = found.toarray() if sp.issparse(found) else found
                count.add(updates, np.ascontiguousarray(found, dtype=np.float64), which, block)
        return count.result()

    def _some(self, history: UpdateHistory, n: int) -> Iterator[slice]:
        """All updates, in pieces whose rows are gathered quickly; longer ones for few rows."""
        most = VALUES_AT_ONCE * history.rows.shape[0] // max(stored(history.rows), 1)
        room = max(1, min(most, max(FEWEST_UPDATES, min(MOST_UPDATES, VALUES_AT_ONCE // max(n, 1)))))
        for begin in range(0, history.which.size, room):
            yield slice(begin, begin + room)

    def scores(self, rows: Dense | Sparse, index: Array) -> Array:
        """Decision values: (n,) for two classes, (n, K) for more."""
        return self.scheme.scores(self.raw(rows, index), self.classes)


def stacked(parts: tuple[Any, ...]) -> Any:
    """Rows of all parts, an array if all are arrays, else CSR."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return sp.vstack([sp.csr_matrix(part) for part in parts], format="csr")


def stored(X: Any) -> int:
    """The number of values stored in an array or CSR matrix."""
    return int(X.nnz if sp.issparse(X) else X.size)


def copy_rows(rows: Dense | Sparse, index: Array, n_features: int) -> Any:
    """A copy of the rows in `index`, an array or CSR matrix."""
    if isinstance(rows, Dense):
        return rows.values[index].astype(widened(rows.values.dtype), copy=False)
    whole = sp.csr_matrix(
        (rows.values, as_signed(rows.columns), as_signed(rows.starts)),
        shape=(rows.starts.size - 1, n_features),
        copy=False,
    )
    return whole[index.astype(np.int64)]


Model = Planes | VotedPlanes
