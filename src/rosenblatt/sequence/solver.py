"""Training of sequence models: a `Solver` over `Sentences`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from rosenblatt.compiled.row_arrays import rows_per_call
from rosenblatt.formats.declared_fields import doubles, integers, is_array, must, one_of, singles, such_that
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Solver, Source
from rosenblatt.learn.examples import Facts
from rosenblatt.learn.orders import Cyclic, Explicit, Order, Random, Shuffled, visited
from rosenblatt.learn.report import Report
from rosenblatt.sequence.constraints import lengths_without_path
from rosenblatt.sequence.sentences import Sentences, TokenRows
from rosenblatt.sequence.vector_rows import check_rows, padded
from rosenblatt.sequence.visits import (
    PathRule,
    PathWeights,
    SequenceCount,
    average_rows,
    new_difference,
    visit_sentences,
)
from rosenblatt.sequence.viterbi import (
    Paths,
    SentenceTask,
    count_wrong,
    new_scratch,
    smallest_lead,
    tag_sentences,
)

Array = np.ndarray[Any, Any]


def _is_tally(tally: Any) -> bool:
    good = is_array(tally, (len(SequenceCount),)) and tally.dtype == np.float64
    return good and bool(np.isfinite(tally).all() and (tally >= 0).all())


TALLY = such_that(_is_tally, "finite counters")


@dataclass(frozen=True)
class SequencePlan:
    """How to train: the checked parameters of an estimator."""

    rule: PathRule
    order: str | Array
    forbidden: Array  # (tags + 2, width) float32: −∞ where a move is forbidden, else 0

    def make_order(self, sentences: Sentences, seed: int) -> Order:
        """The order of visits."""
        if not isinstance(self.order, str):
            chosen = sentences.chosen
            return Explicit(self.order if chosen is None else self.order[np.isin(self.order, chosen)])
        if self.order == "shuffle":
            return Shuffled(sentences.size, seed)
        return Random(sentences.size, seed) if self.order == "random" else Cyclic(sentences.size)


@dataclass(frozen=True)
class PathModel:
    """Weights that predict: rows of weights by feature, and moves between tags."""

    slots: Annotated[Array, integers("d+1", below="rows", dtype=np.uint32)]
    rows: Annotated[Array, singles("rows", "width")]
    transitions: Annotated[Array, singles("tags+2", "width")]
    forbidden: Annotated[Array, singles("tags+2", "width")]

    def check(self, tags: int) -> None:
        """Rows of weights, and moves that are forbidden or not."""
        check_rows(self.slots, self.rows, tags)
        must((self.forbidden <= 0).all(), "forbidden moves of −∞ or 0")

    @property
    def tags(self) -> int:
        """The number of tags."""
        return int(self.transitions.shape[0] - 2)

    @property
    def n_features(self) -> int:
        """The number of features; the last slot is that of unknown ones."""
        return int(self.slots.size - 1)

    def paths(self, rows: TokenRows, index: Array | None = None) -> Array:
        """The codes of the tags of these sentences, in pieces, so that Ctrl-C is handled.

        Where constraints allow no path, they are ignored.
        """
        index = np.arange(rows.size, dtype=np.uint64) if index is None else index
        lengths: Array = np.diff(rows.bounds.astype(np.int64))[index.astype(np.int64)]
        out = self._best_paths(rows, index, lengths, self.weights)
        if self.forbidden.any():
            stuck = lengths_without_path(self.forbidden, rows.longest)[lengths]
            if stuck.any():
                free = Paths(self.slots, self.rows, self.transitions)
                out[np.repeat(stuck, lengths)] = self._best_paths(rows, index[stuck], lengths[stuck], free)
        return out

    def _best_paths(self, rows: TokenRows, index: Array, lengths: Array, weights: Paths) -> Array:
        ends = np.append(0, np.cumsum(lengths))
        out = np.empty(int(ends[-1]), dtype=np.int32)
        scratch = new_scratch(rows.longest, self.rows.shape[1])
        task = SentenceTask(rows.features, rows.bounds, out[:0])
        step = sentences_per_call(rows, self.tags)
        for begin in range(0, index.size, step):
            end = min(begin + step, index.size)
            if tag_sentences(task, index[begin:end], weights, scratch, out[ends[begin] : ends[end]]):
                raise NotFiniteError("The score of a sentence overflowed", remedy="Scale the values of its features.")
        return out

    @property
    def weights(self) -> Paths:
        """The weights, for compiled code."""
        return Paths(self.slots, self.rows, self.transitions + self.forbidden)

    def lead(self, sentences: Sentences) -> float:
        """The smallest score by which a gold path leads the best other path."""
        rows = sentences.token_rows
        shape = (max(rows.longest, 1), self.rows.shape[1])
        others, emissions, least = np.zeros(shape), np.zeros(shape), math.inf
        step = sentences_per_call(rows, self.tags)
        index = sentences.index
        for begin in range(0, index.size, step):
            part = index[begin : begin + step]
            least = min(least, smallest_lead(sentence_task(sentences), part, self.weights, emissions, others))
        return float(least)

    @property
    def norm2(self) -> float:
        """‖w‖²."""
        return float(np.square(self.rows, dtype=np.float64).sum() + np.square(self.transitions, dtype=np.float64).sum())


def sentence_task(sentences: Sentences) -> SentenceTask:
    """The arrays of sentences, for compiled code."""
    return SentenceTask(sentences.rows, sentences.bounds, sentences.target)


def sentences_per_call(rows: TokenRows, tags: int) -> int:
    """Sentences for one call of compiled code: some milliseconds of work."""
    tokens = rows.tokens / max(rows.size, 1)
    per_token = rows.features.columns.size / max(rows.tokens, 1) + tags
    return rows_per_call(tokens * per_token * tags / 8)


@dataclass
class SequenceState:
    """Everything that a later epoch needs."""

    slots: Annotated[Array, integers("d+1", below="rows", dtype=np.uint32)]
    rows: Annotated[Array, singles("rows", "width")]
    sums: Annotated[Array, doubles("summed rows", "width")]
    transitions: Annotated[Array, singles("tags+2", "width")]
    move_sums: Annotated[Array, doubles("summed tags", "width")]
    tally: Annotated[Array, TALLY]
    keep: Annotated[str, one_of("average", "last")]
    seed: int
    epoch: int = 0

    def check(self, tags: int, rows: int) -> None:
        """A row of weights per feature that has moved, and sums like them or none."""
        check_rows(self.slots, self.rows, tags)
        must(self.used == rows, "as many rows as are in use")
        moved = self.slots[self.slots > 0]
        must(moved.size == rows - 1 == np.unique(moved).size, "a row for each feature that has moved")
        summed = (rows, tags + 2) if self.keep == "average" else (0, 0)
        must((self.sums.shape[0], self.move_sums.shape[0]) == summed, f"sums of {summed} rows")

    @property
    def updates(self) -> int:
        """Updates so far."""
        return int(self.tally[SequenceCount.UPDATES])

    @property
    def used(self) -> int:
        """Rows of weights in use."""
        return int(self.tally[SequenceCount.USED])

    @property
    def tags(self) -> int:
        """The number of tags."""
        return int(self.transitions.shape[0] - 2)

    def copy(self) -> SequenceState:
        """A copy that shares no memory."""
        arrays: dict[str, Any] = {
            name: value.copy() for name, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        return replace(self, **arrays)

    def last(self, forbidden: Array) -> PathModel:
        """The last iterate."""
        return PathModel(self.slots, self.rows, self.transitions, forbidden)

    def kept(self, forbidden: Array) -> PathModel:
        """The model that `keep` selects."""
        clock = float(self.tally[SequenceCount.CLOCK])
        if self.keep == "last" or clock == 0.0:
            return self.last(forbidden)
        rows, transitions = np.empty_like(self.rows), np.empty_like(self.transitions)
        average_rows(self.rows, self.sums, clock, rows)
        average_rows(self.transitions, self.move_sums, clock, transitions)
        return PathModel(self.slots, rows, transitions, forbidden)


def new_sequence_state(n_features: int, tags: int, keep: str, seed: int) -> SequenceState:
    """A state with zero weights."""
    width, averaged = padded(tags), keep == "average"
    tally = np.zeros(len(SequenceCount))
    tally[SequenceCount.USED] = 1.0
    return SequenceState(
        slots=np.zeros(n_features + 1, dtype=np.uint32),
        rows=np.zeros((1, width), dtype=np.float32),
        sums=np.zeros((1 if averaged else 0, width)),
        transitions=np.zeros((tags + 2, width), dtype=np.float32),
        move_sums=np.zeros((tags + 2 if averaged else 0, width)),
        tally=tally,
        keep=keep,
        seed=seed,
    )


def grown_state(state: SequenceState, n_features: int, places: Array, tags: int) -> SequenceState:
    """The state with room for new features and tags; `places` are the codes that the old tags now have."""
    width, old = padded(tags), state.tags
    slots = np.zeros(n_features + 1, dtype=np.uint32)
    slots[: state.slots.size] = state.slots

    def by_tag(array: Array) -> Array:
        wide = np.zeros((array.shape[0], width), dtype=array.dtype)
        wide[:, places] = array[:, :old]
        return wide

    def by_pair(array: Array) -> Array:
        if array.shape[0] == 0:
            return by_tag(array)
        tall = np.zeros((tags + 2, width), dtype=array.dtype)
        tall[np.append(places, [tags, tags + 1])] = by_tag(array)
        return tall

    return replace(
        state,
        slots=slots,
        rows=by_tag(state.rows),
        sums=by_tag(state.sums),
        transitions=by_pair(state.transitions),
        move_sums=by_pair(state.move_sums),
        tally=state.tally.copy(),
    )


class SequenceSolver(Solver):
    """Visits sentences one by one, until the last iterate has every path right."""

    finished = "separated"
    state: SequenceState

    def __init__(self, plan: SequencePlan, state: SequenceState) -> None:
        self.plan, self.state, self.covered = plan, state, False
        # For traces: called before each visit, with the sentence, and after it, with what the first call returned.
        self.watch: Callable[[SequenceSolver, int, Any], Any] | None = None

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Make room for a row of weights per feature; only rows in use take memory."""
        sentences: Any = next(iter(source.parts(self.state.epoch)))
        state, rows = self.state, sentences.token_rows
        state.slots, state.tally = state.slots.copy(), state.tally.copy()
        state.transitions, state.move_sums = state.transitions.copy(), state.move_sums.copy()
        self.room = _with_room(state.rows, state.slots.size)
        self.sums = _with_room(state.sums, state.slots.size) if state.keep == "average" else state.sums
        self._show_used()
        starts, bounds = rows.features.starts, rows.bounds
        most = int(np.diff(starts[bounds].astype(np.int64)).max(initial=0)) + rows.longest
        self.scratch, self.table = new_scratch(rows.longest, state.rows.shape[1]), new_difference(2 * most + 1)

    def _show_used(self) -> None:
        state, used = self.state, self.state.used
        state.rows = self.room[:used]
        if state.keep == "average":
            state.sums = self.sums[:used]

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass over all sentences."""
        state, before = self.state, self.state.updates
        (sentences,) = source.parts(state.epoch)
        assert isinstance(sentences, Sentences)
        state.tally[[SequenceCount.VIOLATIONS, SequenceCount.LOSS]] = 0.0
        order = self.plan.make_order(sentences, state.seed)
        task = sentence_task(sentences)
        moves = state.transitions + self.plan.forbidden
        weights = PathWeights(state.slots, self.room, self.sums, state.transitions, state.move_sums, moves)
        step = 1 if self.watch else sentences_per_call(sentences.token_rows, state.tags)
        for begin in range(0, order.size, step):
            piece = visited(order, sentences.chosen, state.epoch, begin, min(begin + step, order.size))
            seen = self.watch(self, int(piece[0]), None) if self.watch else None
            visit_sentences(
                task, piece, sentences.n_features, weights, self.plan.rule, self.scratch, self.table, state.tally
            )
            if self.watch:
                self._show_used()
                self.watch(self, int(piece[0]), seen)
        self._show_used()
        self.covered = order.covers
        yield PartOfEpoch(order.size, state.updates - before)

    def ending(self, source: Source) -> Ending:
        """The mean loss per sentence, and whether every path is right."""
        tally, size = self.state.tally, source.facts.rows
        untouched = self.covered and tally[SequenceCount.LOSS] == 0.0
        violated = tally[SequenceCount.VIOLATIONS] > 0.0
        converged = not violated and (untouched or self.clean(source))
        return Ending(float(tally[SequenceCount.LOSS]) / max(size, 1), converged)

    def clean(self, source: Source) -> bool:
        """Whether the last iterate has every path right."""
        return not any(wrong for wrong, _ in source.ask(WrongPaths(self.state.last(self.plan.forbidden), stop=True)))

    def model(self) -> PathModel:
        """The model that `keep` selects."""
        return self.state.kept(self.plan.forbidden)

    def radius(self, facts: Facts) -> float:
        """R, the largest ‖ΔΦ‖ of an update."""
        return math.sqrt(float(self.state.tally[SequenceCount.RADIUS2]))

    def conclude(self, source: Source, report: Report, kept: PathModel) -> Report:
        """Errors, margin and bound, by tagging the training sentences."""
        ((errors, token_errors),) = source.ask(WrongPaths(kept))
        ((sentences),) = source.parts(0)
        assert isinstance(sentences, Sentences)
        outcome, state = report.outcome, self.state
        if outcome == "budget" and (errors == 0 if state.keep == "last" else self.clean(source)):
            outcome = self.finished
        margin = _margin(kept, sentences) if errors == 0 else None
        bound = None
        if outcome == "separated" and not self.plan.rule.aggressive:
            lead = margin or 0.0
            delta = lead if lead > 0 else _margin(state.last(self.plan.forbidden), sentences)
            bound = (report.radius / delta) ** 2 if delta > 0 else None
        lengths = np.diff(sentences.bounds.astype(np.int64))
        return replace(
            report,
            outcome=outcome,
            errors=errors,
            margin=margin,
            bound=bound,
            tokens=int(lengths[sentences.index.astype(np.int64)].sum()),
            token_errors=token_errors,
        )

    def complaint(self, name: str, report: Report) -> str:
        """Some paths are wrong."""
        return (
            f"{name} spent its {report.n_epochs} epochs with {report.errors:,} of {report.rows:,} training sentences "
            "wrong. More epochs (max_epochs) help only if sentences can be separated."
        )


def _margin(kept: PathModel, sentences: Sentences) -> float:
    """δ: the smallest lead of a correct path, for weights of length 1."""
    length = math.sqrt(kept.norm2)
    return kept.lead(sentences) / length if length > 0 else 0.0


def _with_room(rows: Array, count: int) -> Array:
    """The rows at the start of an array of this many; memory that is not written to is not used."""
    room = np.zeros((count, rows.shape[1]), dtype=rows.dtype)
    room[: rows.shape[0]] = rows
    return room


@dataclass(frozen=True)
class WrongPaths:
    """How many sentences and tokens a model gets wrong; with `stop` only whether any."""

    model: PathModel
    stop: bool = False

    def __call__(self, examples: Any, shard: int) -> tuple[int, int]:
        """The numbers of these sentences."""
        sentences: Sentences = examples
        model, rows, index = self.model, sentences.token_rows, sentences.index
        scratch, weights = new_scratch(rows.longest, model.rows.shape[1]), model.weights
        wrong = tokens = 0
        step = sentences_per_call(rows, model.tags)
        for begin in range(0, index.size, step):
            found = count_wrong(sentence_task(sentences), index[begin : begin + step], weights, scratch, self.stop)
            wrong, tokens = wrong + found[0], tokens + found[1]
            if self.stop and wrong:
                break
        return int(wrong), int(tokens)
