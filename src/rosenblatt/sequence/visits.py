"""One pass over sentences: decode each, and move the weights where the best path is wrong.

The structured perceptron (Collins 2002) with the features Φ(x, y) of a sentence and a path: every feature of a token
paired with its tag, and every pair of neighbouring tags.

    ŷ = argmax_y w·Φ(x, y)          w += Φ(x, y) − Φ(x, ŷ)   where ŷ ≠ y

The passive-aggressive update (PA-I, Crammer et al. 2006) decodes with a cost of 1 for each wrong tag and steps as far
as the loss requires, with ΔΦ = Φ(x, y) − Φ(x, ŷ):

    ŷ = argmax_y w·Φ(x, y) + cost(y)     ℓ = cost(ŷ) − w·ΔΦ     w += min(C, ℓ/‖ΔΦ‖²) ΔΦ

The average is lazy: with t visits before this one, u += t·step·ΔΦ, and the mean of w over T visits is w − u/T.
A feature gets its row of weights when it first moves: most never do, and those that do stay close together in memory.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import exactly
from rosenblatt.compiled.step_sizes import aggressive_step
from rosenblatt.sequence.viterbi import Scratch, SentenceTask, decode_path, emit, overflowed

Array = np.ndarray[Any, Any]
ONE = np.uint64(1)
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
LOW, ODD, SHIFT = np.uint64(0xFFFFFFFF), np.uint64(0x9E3779B1), np.uint64(15)


class SequenceCount(IntEnum):
    """The indices of a tally of sequence training; model files store it, so new names go at the end."""

    CLOCK = 0  # visits so far
    UPDATES = 1
    VIOLATIONS = 2  # visits, in this epoch, at which the gold path did not have the highest score
    LOSS = 3  # of this epoch
    USED = 4  # rows of weights in use; row 0 is that of features that have never moved
    RADIUS2 = 5  # the largest ‖ΔΦ‖² of an update


class PathWeights(NamedTuple):
    """Weights while they are learned; `sums` and `move_sums` are empty without an average."""

    slots: Array  # the row of each feature in `rows`, 0 for none
    rows: Array  # (rows, width) float32
    sums: Array
    transitions: Array  # (tags + 2, width) float32; the last two rows are the start and the end
    move_sums: Array
    moves: Array  # `transitions`, and −∞ where a move is forbidden


class PathRule(NamedTuple):
    """The update: `aggressive` for PA-I with its C; `chained` if transitions are learned."""

    aggressive: bool
    C: float
    chained: bool


class Difference(NamedTuple):
    """A sparse ΔΦ, summed by key in an open-addressing table."""

    keys: Array
    values: Array
    filled: Array  # the places in use, in the order of first use


def new_difference(entries: int) -> Difference:
    """Room for ΔΦ of this many entries."""
    size = 1 << max(4, int(2 * entries - 1).bit_length())
    return Difference(np.full(size, EMPTY, dtype=np.uint64), np.zeros(size), np.zeros(size, dtype=np.int64))


@exactly
def _add(table: Difference, count: Any, key: Any, value: Any) -> Any:
    """Add to the entry of this key; returns the number of entries."""
    keys, values, filled = table
    mask = np.uint64(keys.size - 1)
    place = (((key & LOW) * ODD) >> SHIFT) & mask
    while keys[place] != key:
        if keys[place] == EMPTY:
            keys[place] = key
            values[place] = 0.0
            filled[count] = place
            count += 1
            break
        place = (place + ONE) & mask
    values[place] += value
    return count


@exactly
def _difference(task: SentenceTask, begin: Any, path: Array, n: Any, tags: Any, n_features: Any, chained: Any,
                table: Difference) -> Any:  # fmt: skip
    """ΔΦ of the gold path and this one; returns the number of entries and of wrong tags."""
    values, columns, starts = task.features
    K, count, wrong = np.uint64(tags), 0, 0
    gold_before = path_before = np.uint64(tags)
    for t in range(n):
        token = begin + np.uint64(t)
        gold, said = np.uint64(task.target[token]), np.uint64(path[t])
        if gold != said:
            wrong += 1
            for j in range(starts[token], starts[token + ONE]):
                x = np.float64(values[j]) if values.size else 1.0
                row = np.uint64(columns[j]) * K
                count = _add(table, count, row + gold, x)
                count = _add(table, count, row + said, -x)
        if chained and (gold != said or gold_before != path_before):
            first = np.uint64(n_features)
            count = _add(table, count, (first + gold_before) * K + gold, 1.0)
            count = _add(table, count, (first + path_before) * K + said, -1.0)
        gold_before, path_before = gold, said
    return count, wrong


@exactly
def _measure(table: Difference, count: Any, tags: Any, n_features: Any, weights: PathWeights) -> Any:
    """w·ΔΦ and ‖ΔΦ‖²."""
    keys, values, filled = table
    slots, rows, _, transitions, _, _ = weights
    product = norm2 = 0.0
    for entry in range(count):
        place = filled[entry]
        feature, k, x = np.int64(keys[place]) // tags, np.int64(keys[place]) % tags, values[place]
        w = rows[slots[feature], k] if feature < n_features else transitions[feature - n_features, k]
        product += x * np.float64(w)
        norm2 += x * x
    return product, norm2


@exactly
def _move(table: Difference, count: Any, tags: Any, n_features: Any, weights: PathWeights, step: Any,
          tally: Array) -> None:  # fmt: skip
    """The update w += step ΔΦ."""
    keys, values, filled = table
    slots, rows, sums, transitions, move_sums, moves = weights
    late = tally[SequenceCount.CLOCK]
    for entry in range(count):
        place = filled[entry]
        feature, k, x = np.int64(keys[place]) // tags, np.int64(keys[place]) % tags, step * values[place]
        if x != 0.0 and feature < n_features:
            slot = np.int64(slots[feature])
            if slot == 0:
                slot = np.int64(tally[SequenceCount.USED])
                slots[feature] = slot
                tally[SequenceCount.USED] += 1.0
            rows[slot, k] = rows[slot, k] + x
            if sums.size > 0:
                sums[slot, k] += late * x
        elif x != 0.0:
            j = feature - n_features
            transitions[j, k] = transitions[j, k] + x
            moves[j, k] = transitions[j, k]
            if sums.size > 0:
                move_sums[j, k] += late * x


@exactly
def visit_sentences(
    task: SentenceTask, order: Array, n_features: int, weights: PathWeights, rule: PathRule, scratch: Scratch,
    table: Difference, tally: Array,
) -> None:  # fmt: skip
    """Visit these sentences in order."""
    emissions, best, path = scratch
    tags = weights.moves.shape[0] - 2
    for i in order:
        begin, end = task.bounds[i], task.bounds[i + ONE]
        n = np.int64(end - begin)
        emit(task.features, begin, end, weights.slots, weights.rows, emissions)
        if rule.aggressive:
            for t in range(n):
                for k in range(tags):
                    if k != task.target[begin + np.uint64(t)]:
                        emissions[t, k] += np.float32(1)
        decode_path(emissions, n, weights.moves, best, path)
        if overflowed(best, path, n):
            tally[SequenceCount.LOSS] = np.nan
        count, wrong = _difference(task, begin, path, n, tags, n_features, rule.chained, table)
        if wrong > 0:
            product, norm2 = _measure(table, count, tags, n_features, weights)
            loss = wrong - product if rule.aggressive else -product
            step = 1.0
            if rule.aggressive:
                step = aggressive_step(loss, norm2, rule.C, 0.0) if loss > 0.0 else 0.0
            if product <= 0.0 or not rule.aggressive:
                tally[SequenceCount.VIOLATIONS] += 1.0
            if not loss <= 0.0:  # also for NaN, which must not go unseen
                tally[SequenceCount.LOSS] += loss
            if step > 0.0:
                _move(table, count, tags, n_features, weights, step, tally)
                tally[SequenceCount.UPDATES] += 1.0
                tally[SequenceCount.RADIUS2] = max(tally[SequenceCount.RADIUS2], norm2)
        for entry in range(count):
            table.keys[table.filled[entry]] = EMPTY
        tally[SequenceCount.CLOCK] += 1.0


@exactly
def average_rows(rows: Array, sums: Array, clock: float, out: Array) -> None:
    """The mean of the weights over all visits, w − u/T."""
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            out[i, k] = rows[i, k] - sums[i, k] / clock
