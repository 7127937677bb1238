"""First-order Viterbi: the best path of tags through a sentence.

The score of a path y through a sentence of n tokens, with the weights W[f, k] of features and the moves M[j, k],

    s(y) = M[start, y_1] + Σ_t Σ_{f ∈ x_t} W[f, y_t] + Σ_{t>1} M[y_{t−1}, y_t] + M[y_n, end]

is maximised by A_1k = M[start, k] + e_1k, A_tk = max_j (A_{t−1,j} + M[j, k]) + e_tk. Only the maxima are stored; the
previous tag of the best path is found again on the way back, one tag per token.

Ties: among equal scores the tag with the lower index wins (`tie_rule`), decided at the last token first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import exactly
from rosenblatt.compiled.prefetching import prefetch
from rosenblatt.compiled.row_arrays import Sparse
from rosenblatt.sequence.vector_rows import add_features, best_previous

Array = np.ndarray[Any, Any]
ONE, LINE = np.uint64(1), np.uint64(16)
AHEAD = np.uint64(20)  # features between the one that is added and the one that is prefetched


class SentenceTask(NamedTuple):
    """Features of tokens, bounds of sentences, and tags."""

    features: Sparse
    bounds: Array
    target: Array


class Paths(NamedTuple):
    """The weights of paths: the row of each feature, rows of weights, and moves."""

    slots: Array
    rows: Array
    moves: Array


class Scratch(NamedTuple):
    """Arrays for one sentence at a time: emissions and maxima (n, width), the path (n,)."""

    emissions: Array
    best: Array
    path: Array


def new_scratch(longest: int, width: int) -> Scratch:
    """Room for sentences of this many tokens."""
    shape = (max(longest, 1), width)
    return Scratch(
        np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32), np.zeros(shape[0], dtype=np.int64)
    )


@exactly
def emit(features: Sparse, begin: Any, end: Any, slots: Array, W: Array, emissions: Array) -> None:
    """emissions_tk = Σ_f W[f, k] for the tokens begin … end."""
    values, columns, starts = features
    width, limit = np.uint64(W.shape[1]), starts[end]
    for t in range(begin, end):
        ahead = min(starts[t] + AHEAD, limit)
        for j in range(ahead, min(starts[t + ONE] + AHEAD, limit)):
            row = np.uint64(slots[columns[j]]) * width
            prefetch(W, row, True)
            prefetch(W, row + LINE, True)
        add_features(columns, values, starts[t], starts[t + ONE], slots, W, emissions[t - begin])


@exactly
def decode_path(emissions: Array, n: Any, moves: Array, best: Array, path: Array) -> None:
    """The best path; the last two rows of `moves` are the start and the end."""
    tags = moves.shape[0] - 2
    if n == 0:
        return
    first, start = best[0], moves[tags]
    for k in range(first.size):
        first[k] = start[k] + emissions[0, k]
    for t in range(1, n):
        best_previous(best[t - 1], moves, tags, emissions[t], best[t])
    last, end, tag = best[n - 1], moves[tags + 1], 0
    for k in range(1, tags):
        if last[k] + end[k] > last[tag] + end[tag]:
            tag = k
    path[n - 1] = tag
    for t in range(n - 1, 0, -1):
        before, previous = best[t - 1], 0
        most = before[0] + moves[0, tag]
        for j in range(1, tags):
            score = before[j] + moves[j, tag]
            if score > most:
                most, previous = score, j
        tag = previous
        path[t - 1] = tag


@exactly
def overflowed(best: Array, path: Array, n: Any) -> bool:
    """Whether the score of the best path is infinite or NaN; −∞ is that of a path that constraints forbid."""
    return bool(n > 0 and not best[n - 1, path[n - 1]] < np.inf)


@exactly
def _decode(task: SentenceTask, i: Any, weights: Paths, scratch: Scratch) -> Any:
    """The first token of sentence i and how many it has, after its best path was found."""
    begin, end = task.bounds[i], task.bounds[i + ONE]
    n = np.int64(end - begin)
    emit(task.features, begin, end, weights.slots, weights.rows, scratch.emissions)
    decode_path(scratch.emissions, n, weights.moves, scratch.best, scratch.path)
    return begin, n


@exactly
def tag_sentences(task: SentenceTask, index: Array, weights: Paths, scratch: Scratch, out: Array) -> bool:
    """The best paths of these sentences, one after another; returns whether a score overflowed."""
    at, over = np.int64(0), False
    for i in index:
        _, n = _decode(task, i, weights, scratch)
        over = over or overflowed(scratch.best, scratch.path, n)
        for t in range(n):
            out[at + t] = scratch.path[t]
        at += n
    return over


@exactly
def count_wrong(task: SentenceTask, index: Array, weights: Paths, scratch: Scratch, stop: bool) -> tuple[int, int]:
    """How many of these sentences, and of their tokens, are wrong; with `stop` it ends at the first."""
    sentences = tokens = 0
    for i in index:
        begin, n = _decode(task, i, weights, scratch)
        wrong = 0
        for t in range(n):
            wrong += scratch.path[t] != task.target[begin + np.uint64(t)]
        tokens += wrong
        sentences += wrong > 0
        if stop and wrong > 0:
            break
    return sentences, tokens


@exactly
def _lead(emissions: Array, n: Any, moves: Array, gold: Array, others: Array) -> Any:
    """The score of the gold path minus that of the best other path, in double precision.

    others_tk is the best score of a path to tag k at token t that has left the gold path.
    """
    tags = moves.shape[0] - 2
    right = np.float64(moves[tags, gold[0]]) + emissions[0, gold[0]]
    for k in range(tags):
        others[0, k] = -np.inf if k == gold[0] else np.float64(moves[tags, k]) + emissions[0, k]
    for t in range(1, n):
        for k in range(tags):
            most = -np.inf if k == gold[t] else right + moves[gold[t - 1], k]
            for j in range(tags):
                most = max(most, others[t - 1, j] + moves[j, k])
            others[t, k] = most + emissions[t, k]
        right += np.float64(moves[gold[t - 1], gold[t]]) + emissions[t, gold[t]]
    most = -np.inf
    for k in range(tags):
        most = max(most, others[n - 1, k] + moves[tags + 1, k])
    return right + moves[tags + 1, gold[n - 1]] - most


@exactly
def smallest_lead(task: SentenceTask, index: Array, weights: Paths, emissions: Array, others: Array) -> Any:
    """The smallest lead of a gold path; `emissions` and `others` in double precision."""
    values, columns, starts = task.features
    least, tags = np.inf, weights.moves.shape[0] - 2
    for i in index:
        begin, n = task.bounds[i], np.int64(task.bounds[i + ONE] - task.bounds[i])
        for t in range(n):
            token = begin + np.uint64(t)
            for k in range(tags):
                emissions[t, k] = 0.0
            for j in range(starts[token], starts[token + ONE]):
                x = np.float64(values[j]) if values.size else 1.0
                for k in range(tags):
                    emissions[t, k] += x * weights.rows[weights.slots[columns[j]], k]
        if n > 0:
            gold = task.target[begin : begin + np.uint64(n)]
            least = min(least, _lead(emissions, n, weights.moves, gold, others))
    return least
