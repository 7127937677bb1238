"""Greedy tagging: from left to right, each tag by the averaged perceptron, with the two tags before it as features.

At each token the tag with the largest score Σ_f W[f, k] is taken at once, over the features of the words around it and
of the tags that were predicted before it. A wrong tag updates the weights, W[f, gold] += 1 and W[f, predicted] −= 1,
and the next token sees the predicted tag, as it will in prediction. Words that almost always had the same tag in
training get it without scoring.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Annotated, Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import exactly
from rosenblatt.compiled.row_arrays import Sparse
from rosenblatt.formats.declared_fields import integers, singles, size
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Solver, Source
from rosenblatt.learn.orders import Shuffled, visited
from rosenblatt.learn.report import Report
from rosenblatt.sequence.sentences import Sentences
from rosenblatt.sequence.vector_rows import add_features, check_rows, padded
from rosenblatt.sequence.visits import average_rows

Array = np.ndarray[Any, Any]
ONE = np.uint64(1)
DYNAMIC = 4  # features of the tags before: one back, two back, both, and one back with the word
SENTENCES_AT_ONCE = 1 << 10


class GreedyCount(IntEnum):
    """The indices of a tally of greedy training; model files store it, so new names go at the end."""

    CLOCK = 0  # tokens visited so far
    UPDATES = 1
    USED = 2  # rows of weights in use
    WRONG = 3  # tokens wrong in this epoch
    LOSS = 4  # of this epoch


class GreedyTask(NamedTuple):
    """Features of tokens, bounds of sentences, tags, the number of each word (−1: unknown) and its sure tag (or −1)."""

    features: Sparse
    bounds: Array
    target: Array
    words: Array
    sure: Array


class GreedyWeights(NamedTuple):
    """Rows of weights by feature; `sums` is empty where nothing is learned."""

    slots: Array
    rows: Array
    sums: Array


@exactly
def _gather(task: GreedyTask, token: Any, one: Any, two: Any, tags: Any, n_features: Any, columns: Array) -> Any:
    """The features of a token after these two tags; returns their number."""
    _, given, starts = task.features
    count = 0
    for j in range(starts[token], starts[token + ONE]):
        columns[count] = given[j]
        count += 1
    first, side = n_features, tags + 1
    columns[count] = first + one
    columns[count + 1] = first + side + two
    columns[count + 2] = first + 2 * side + one * side + two
    count += 3
    word = np.int64(task.words[token])
    if word >= 0:
        columns[count] = first + 2 * side + side * side + word * side + one
        count += 1
    return count


@exactly
def _move(weights: GreedyWeights, columns: Array, count: Any, gold: Any, said: Any, tally: Array) -> None:
    slots, rows, sums = weights
    late = tally[GreedyCount.CLOCK]
    for j in range(count):
        slot = np.int64(slots[columns[j]])
        if slot == 0:
            slot = np.int64(tally[GreedyCount.USED])
            slots[columns[j]] = slot
            tally[GreedyCount.USED] += 1.0
        rows[slot, gold] += np.float32(1)
        rows[slot, said] -= np.float32(1)
        sums[slot, gold] += late
        sums[slot, said] -= late


@exactly
def visit_greedily(
    task: GreedyTask, order: Array, n_features: int, tags: int, weights: GreedyWeights, columns: Array, scores: Array,
    tally: Array, out: Array,
) -> None:  # fmt: skip
    """Tag these sentences; learn where `out` is empty, else put the tags there."""
    learns, at, ones = out.size == 0, 0, scores[:0]
    for i in order:
        one = two = np.int64(tags)
        for token in range(task.bounds[i], task.bounds[i + ONE]):
            said = np.int64(task.sure[token])
            if said < 0:
                count = _gather(task, token, one, two, tags, n_features, columns)
                add_features(columns, ones, np.uint64(0), np.uint64(count), weights.slots, weights.rows, scores)
                said = np.int64(0)
                for k in range(1, tags):
                    if scores[k] > scores[said]:
                        said = np.int64(k)
                if learns:
                    gold = np.int64(task.target[token])
                    if said != gold:
                        tally[GreedyCount.LOSS] += np.float64(scores[said]) - np.float64(scores[gold])
                        _move(weights, columns, count, gold, said, tally)
                        tally[GreedyCount.UPDATES] += 1.0
                    tally[GreedyCount.CLOCK] += 1.0
            if learns:
                tally[GreedyCount.WRONG] += said != task.target[token]
            else:
                out[at] = said
                at += 1
            two, one = one, said


@dataclass(frozen=True)
class GreedyModel:
    """Weights that predict."""

    slots: Annotated[Array, integers("places", below="rows", dtype=np.uint32)]
    rows: Annotated[Array, singles("rows", "width")]
    n_features: Annotated[int, size("d")]
    tags: Annotated[int, size("tags")]

    def check(self) -> None:
        """Rows of weights."""
        check_rows(self.slots, self.rows, self.tags)

    def predicted_tags(self, task: GreedyTask, index: Array | None = None) -> Array:
        """The codes of the tags of these sentences."""
        index = np.arange(task.bounds.size - 1, dtype=np.uint64) if index is None else index
        lengths = np.diff(task.bounds.astype(np.int64))[index.astype(np.int64)]
        ends = np.append(0, np.cumsum(lengths))
        out = np.empty(int(ends[-1]), dtype=np.int64)
        columns, scores = scratch_for(task, self.rows.shape[1])
        weights = GreedyWeights(self.slots, self.rows, np.zeros((0, self.rows.shape[1])))
        for begin in range(0, index.size, SENTENCES_AT_ONCE):
            end = min(begin + SENTENCES_AT_ONCE, index.size)
            part = out[ends[begin] : ends[end]]
            if part.size:
                visit_greedily(
                    task, index[begin:end], self.n_features, self.tags, weights, columns, scores,
                    np.zeros(len(GreedyCount)), part,
                )  # fmt: skip
        return out


def scratch_for(task: GreedyTask, width: int) -> tuple[Array, Array]:
    """Room for the features of a token and for its scores."""
    most = int(np.diff(task.features.starts.astype(np.int64)).max(initial=0)) + DYNAMIC
    return np.zeros(most, dtype=np.uint32), np.zeros(width, dtype=np.float32)


def dynamic_features(tags: int, words: int) -> int:
    """How many features the tags before a token can make, with this many words."""
    side = tags + 1
    return 2 * side + side * side + words * side


def most_rows(n_features: int, tags: int, words: int, visits: int) -> int:
    """How many rows of weights this many visits of tokens can need: each updates one feature of a word after a tag."""
    return n_features + dynamic_features(tags, 0) + min(dynamic_features(tags, words), visits) + 1


@dataclass
class GreedyState:
    """Everything that a later epoch needs."""

    slots: Array
    rows: Array
    sums: Array
    tally: Array
    n_features: int
    tags: int
    seed: int
    epoch: int = 0

    @property
    def updates(self) -> int:
        """Updates so far."""
        return int(self.tally[GreedyCount.UPDATES])

    @property
    def used(self) -> int:
        """Rows of weights in use."""
        return int(self.tally[GreedyCount.USED])

    def copy(self) -> GreedyState:
        """A copy that shares no memory."""
        held = vars(self).items()
        arrays: dict[str, Any] = {name: value.copy() for name, value in held if isinstance(value, np.ndarray)}
        return replace(self, **arrays)

    def kept(self) -> GreedyModel:
        """The average over all tokens."""
        rows = np.empty_like(self.rows)
        average_rows(self.rows, self.sums, max(float(self.tally[GreedyCount.CLOCK]), 1.0), rows)
        return GreedyModel(self.slots, rows, self.n_features, self.tags)


def new_greedy_state(n_features: int, tags: int, words: int, seed: int) -> GreedyState:
    """A state with zero weights."""
    tally = np.zeros(len(GreedyCount))
    tally[GreedyCount.USED] = 1.0
    width = padded(tags)
    slots = np.zeros(n_features + dynamic_features(tags, words) + 1, dtype=np.uint32)  # the last: unknown features
    return GreedyState(slots, np.zeros((1, width), np.float32), np.zeros((1, width)), tally, n_features, tags, seed)


@dataclass(frozen=True, kw_only=True)
class WordSentences(Sentences):
    """Sentences with the number of each word and its sure tag: see `GreedyTask`."""

    words: Array
    sure: Array

    @property
    def task(self) -> GreedyTask:
        """The arrays, for compiled code."""
        return GreedyTask(self.rows, self.bounds, self.target, self.words, self.sure)


class GreedySolver(Solver):
    """Visits sentences in a fresh order each epoch, until no tag is wrong."""

    finished = "separated"
    continues = False  # the average is enough to predict
    state: GreedyState

    def __init__(self, state: GreedyState, most_rows: int) -> None:
        self.state, self.most_rows = state, most_rows

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Make room for all rows of weights; only those in use take memory."""
        state = self.state
        state.slots, state.tally = state.slots.copy(), state.tally.copy()
        count, width = self.most_rows, state.rows.shape[1]
        self.room, self.sums = np.zeros((count, width), dtype=np.float32), np.zeros((count, width))
        self.room[: state.used], self.sums[: state.used] = state.rows, state.sums
        state.rows, state.sums = self.room[: state.used], self.sums[: state.used]

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass over all sentences."""
        state, before = self.state, self.state.updates
        sentences: Any = next(iter(source.parts(state.epoch)))
        state.tally[[GreedyCount.WRONG, GreedyCount.LOSS]] = 0.0
        order, task = Shuffled(sentences.size, state.seed), sentences.task
        weights, none = GreedyWeights(state.slots, self.room, self.sums), np.zeros(0, dtype=np.int64)
        columns, scores = scratch_for(task, state.rows.shape[1])
        for begin in range(0, order.size, SENTENCES_AT_ONCE):
            end = min(begin + SENTENCES_AT_ONCE, order.size)
            piece = visited(order, sentences.chosen, state.epoch, begin, end)
            visit_greedily(task, piece, state.n_features, state.tags, weights, columns, scores, state.tally, none)
        state.rows, state.sums = self.room[: state.used], self.sums[: state.used]
        yield PartOfEpoch(order.size, state.updates - before)

    def ending(self, source: Source) -> Ending:
        """The mean loss per sentence, and whether every tag was right."""
        tally = self.state.tally
        return Ending(float(tally[GreedyCount.LOSS]) / max(source.facts.rows, 1), tally[GreedyCount.WRONG] == 0.0)

    def conclude(self, source: Source, report: Report, kept: GreedyModel) -> Report:
        """Errors, by tagging the training sentences."""
        ((sentences),) = source.parts(0)
        assert isinstance(sentences, WordSentences)
        wrong = np.append(0, np.cumsum(kept.predicted_tags(sentences.task) != sentences.target))
        errors = int(np.count_nonzero(np.diff(wrong[sentences.bounds.astype(np.int64)])))
        return replace(report, errors=errors, tokens=sentences.target.size, token_errors=int(wrong[-1]))

    def complaint(self, name: str, report: Report) -> str:
        """Some words are wrong."""
        return (
            f"{name} spent its {report.n_epochs} epochs with {report.token_errors:,} of {report.tokens:,} training "
            "words wrong. More epochs (max_epochs) help only if the tags depend on its features."
        )
