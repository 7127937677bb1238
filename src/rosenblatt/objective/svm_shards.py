"""A shard of the dual of a support vector machine: its rows, their dual variables, and the questions it is asked.

The driver (`svm_merging`) sends weights, and the shard makes a part of a pass with its own copy of them. The questions
run in threads of one process or on the workers of a cluster, with the same bits. Dual variables stay with their shard.
One that has lost them, because its worker died or was replaced, answers None; it then gets those of the end of the last
pass, and repeats the parts since then with the weights that it was sent.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from rosenblatt.compiled.row_arrays import Dense, Sparse, read_only
from rosenblatt.compiled.threads import in_threads
from rosenblatt.formats.declared_fields import must
from rosenblatt.learn.examples import Examples, Facts
from rosenblatt.learn.orders import Shuffled
from rosenblatt.learn.overflow import all_finite
from rosenblatt.learn.schemes import Scheme
from rosenblatt.objective.svm_dual import STEPS, DualAscent, DualPlan
from rosenblatt.objective.svm_gap import Published, Sums
from rosenblatt.planes.mixing import shard_seed

Array = np.ndarray[Any, Any]


class Shards(Protocol):
    """Rows in shards that can be asked one by one, and can keep values between questions."""

    @property
    def sizes(self) -> Sequence[int]:
        """The number of rows of each."""

    @property
    def facts(self) -> Facts:
        """Counts and sizes over all rows."""

    def ask_each(self, question: Any, places: Sequence[int]) -> Iterator[Any]:
        """The answers of these shards, in this order, to `question(examples, place, kept)`."""


class Slices:
    """Rows in memory, cut into shards of equal length, each with a thread."""

    def __init__(self, examples: Examples, shards: int) -> None:
        n = examples.target.shape[0]
        bounds = [n * k // shards for k in range(shards + 1)]
        self.examples = examples
        self.cut = [_slice(examples, a, b) for a, b in itertools.pairwise(bounds) if b > a]
        self.sizes = [one.target.shape[0] for one in self.cut]
        self.facts = examples.facts()
        self.kept: list[dict[str, Any]] = [{} for _ in self.cut]

    def ask_each(self, question: Any, places: Sequence[int]) -> Iterator[Any]:
        """The answers of these shards."""

        def ask(k: int) -> Any:
            return question(self.cut[k], k, self.kept[k])

        stored = sum(self.cut[k].stored for k in places)
        yield from in_threads(ask, places, stored, threads=len(self.cut))


def _slice(examples: Examples, first: int, end: int) -> Examples:
    """The rows from `first` to `end`, without a copy of their values."""
    rows, weights, present = examples.rows, examples.weights, examples.present
    if isinstance(rows, Dense):
        cut: Dense | Sparse = Dense(rows.values[first:end])
    else:
        a, b = int(rows.starts[first]), int(rows.starts[end])
        cut = Sparse(rows.values[a:b], rows.columns[a:b], read_only(rows.starts[first : end + 1] - rows.starts[first]))
    if present is not None:
        present = present[np.searchsorted(present, first) : np.searchsorted(present, end)] - np.uint64(first)
    target, weights = examples.target[first:end], None if weights is None else weights[first:end]
    return replace(examples, rows=cut, target=target, weights=weights, present=present)


# -- in a shard ------------------------------------------------------------------------------------------------------


class Snapshot(NamedTuple):
    """The dual variables of a shard between two passes."""

    shares: Array  # (n, K): α_i, as the coefficient of x̂_i in w_k
    left_out: Array  # (n, K) int8
    awake: Array  # (n,) bool: the active rows


class Setting(NamedTuple):
    """What identifies the dual problem of a run."""

    run: str
    plan: DualPlan
    scheme: Scheme
    classes: int
    columns: int
    seed: int
    bias: float | None = None  # B² of a free intercept


class Stamp(NamedTuple):
    """A moment: so many parts of a pass have been made."""

    epoch: int
    part: int


class ShardAscent:
    """The ascent of a shard: its α, its active rows, and the moment to which they belong."""

    def __init__(self, examples: Examples, setting: Setting, shard: int) -> None:
        self.setting, self.at = setting, Stamp(-1, 0)
        self.ascent = DualAscent.of(
            examples, setting.plan, setting.scheme, setting.classes, setting.columns, setting.bias
        )
        self.seed = shard_seed(setting.seed, shard)
        self.visits: Array = self.ascent.active[:0]
        self.kept: list[Array] = []
        self.before = self.visits, self.ascent.duals.alpha[:0]

    def visit(self, part: PartOfPass) -> None:
        """Make one part of a pass."""
        ascent = self.ascent
        if part.number == 0:
            if part.wake:
                ascent.activate_all()
            active = np.flatnonzero(self.awake()).astype(np.uint64)
            self.visits = active[Shuffled(active.size, self.seed).piece(part.epoch, 0, active.size)]
            self.kept = []
            ascent.duals.worst[:, 2:] = part.worst
            ascent.begin_pass()
        self.shorten(part.share)
        w, scores = part.w.copy(), np.zeros(part.b.size, part.w.dtype)
        ascent.duals = ascent.duals._replace(w=w, b=part.b.copy(), scores=scores)
        ascent.how = ascent.how._replace(sigma=part.sigma)
        first, end = (self.visits.size * k // part.parts for k in (part.number, part.number + 1))
        rows = self.visits[first:end]
        self.before = rows, ascent.duals.alpha[rows]
        self.kept.append(ascent.visit(rows.copy()))
        self.at = Stamp(part.epoch, part.number + 1)

    def shorten(self, share: float) -> None:
        """Keep this share of the changes of the last part."""
        if share < 1.0:
            rows, were = self.before
            alpha = self.ascent.duals.alpha
            alpha[rows] = were + share * (alpha[rows] - were)

    def end(self, share: float) -> None:
        """End the pass, with this share of the changes of its last part."""
        self.shorten(share)
        self.ascent.active = np.concatenate(self.kept)
        self.at = Stamp(self.at.epoch + 1, 0)

    def awake(self) -> Array:
        """(n,): which rows are active."""
        found = np.zeros(self.ascent.duals.alpha.shape[0], bool)
        found[self.ascent.active] = True
        return found

    def snapshot(self) -> Snapshot:
        """A copy of the dual variables."""
        duals = self.ascent.duals
        return Snapshot(self.ascent.signed(duals.alpha).copy(), duals.left_out.copy(), self.awake())

    def restore(self, at: Stamp, found: Snapshot) -> None:
        """Go back to a copy."""
        duals = self.ascent.duals
        alpha = found.shares if self.setting.scheme.joint else np.abs(found.shares)
        duals.alpha[:], duals.left_out[:] = alpha, found.left_out
        self.ascent.active, self.at = np.flatnonzero(found.awake).astype(np.uint64), at


class PartOfPass(NamedTuple):
    """A part of a pass: the weights at its start, and how far to go."""

    epoch: int
    number: int
    parts: int
    sigma: float
    share: float  # of the changes of the part before, which are kept
    wake: bool  # whether all rows are active again
    worst: Array  # (K, 2): the slopes beyond which a row is left out
    w: Array
    b: Array


@dataclass(frozen=True)
class Visited:
    """What a part of a pass made of a shard's copy of w."""

    w: Array
    b: Array
    steps: int
    estimate: float  # of the gap, so far in this pass
    worst: Array  # (K, 2): the largest and smallest slope so far in this pass

    @property
    def nbytes(self) -> int:
        """Its size when sent."""
        return int(self.w.nbytes + self.b.nbytes)


@dataclass(frozen=True)
class Ended:
    """The dual variables of a shard at the end of a pass."""

    linear: tuple[float, float]
    snapshot: Snapshot

    @property
    def nbytes(self) -> int:
        """Its size when sent."""
        return sum(array.nbytes for array in self.snapshot)


@dataclass(frozen=True)
class Opened:
    """What the driver needs to know of a shard."""

    dense: bool
    size: int  # the rows that take part
    longest: int  # the most stored values of a row


@dataclass(frozen=True)
class Open:
    """Make the dual problem of a shard, with α = 0."""

    setting: Setting

    def __call__(self, examples: Examples, shard: int, kept: dict[str, Any]) -> Opened:
        """Make it, in place of that of an earlier run."""
        made = kept["dual"] = ShardAscent(examples, self.setting, shard)
        made.at = Stamp(0, 0)
        return Opened(isinstance(examples.rows, Dense), made.ascent.size, made.ascent.longest)

    def check(self, answer: Any, rows: int, features: int) -> None:
        """At most all rows, at most all features."""
        must(isinstance(answer, Opened) and 0 <= answer.size <= rows, f"at most {rows:,} rows")


@dataclass(frozen=True)
class Asked:
    """A question about the α of a moment; the answer is None if the shard does not have them."""

    setting: Setting
    at: Stamp

    def __call__(self, examples: Examples, shard: int, kept: dict[str, Any]) -> Any:
        """The answer, or None."""
        found = kept.get("dual")
        if found is None or (found.setting.run, found.at) != (self.setting.run, self.at):
            return None
        return self.answer(found, shard)

    def answer(self, held: ShardAscent, shard: int) -> Any:
        """The answer of a shard that has them."""
        raise NotImplementedError

    def check(self, answer: Any, rows: int, features: int) -> None:
        """Refuse what cannot be the answer."""
        if answer is not None:
            self.check_found(answer, rows, features)

    def check_found(self, answer: Any, rows: int, features: int) -> None:
        """Refuse what cannot be the answer of a shard that has them."""
        raise NotImplementedError


@dataclass(frozen=True)
class Visit(Asked):
    """Make a part of a pass, from the weights of each shard's copy."""

    parts: dict[int, PartOfPass]

    def answer(self, held: ShardAscent, shard: int) -> Visited:
        """Make the part."""
        ascent, before = held.ascent, held.ascent.duals.sums[STEPS]
        held.visit(self.parts[shard])
        steps, worst = int(ascent.duals.sums[STEPS] - before), ascent.duals.worst[:, :2].copy()
        return Visited(ascent.w, ascent.b, steps, ascent.estimate, worst)

    def check_found(self, answer: Any, rows: int, features: int) -> None:
        """Finite weights of the right shape."""
        (sent, *_), K = self.parts.values(), self.setting.columns
        must(isinstance(answer, Visited), "the result of a part of a pass")
        same = all(a.shape == b.shape and a.dtype == b.dtype for a, b in ((answer.w, sent.w), (answer.b, sent.b)))
        must(same and all_finite(answer.w, answer.b), f"{K} finite planes of {sent.w.dtype}")
        must(np.isfinite(answer.estimate) and answer.steps >= 0, "finite sums")
        must(answer.worst.shape == (K, 2) and not np.isnan(answer.worst).any(), "slopes that are numbers")


@dataclass(frozen=True)
class End(Asked):
    """End a pass."""

    share: float

    def answer(self, held: ShardAscent, shard: int) -> Ended:
        """End it."""
        held.end(self.share)
        return Ended(held.ascent.linear_terms(), held.snapshot())

    def check_found(self, answer: Any, rows: int, features: int) -> None:
        """Dual variables that compiled code can go on from."""
        must(isinstance(answer, Ended) and np.isfinite(answer.linear).all(), "finite sums")
        K, found = self.setting.columns, [(one.shape, one.dtype) for one in answer.snapshot]
        wanted = [((rows, K), np.float64), ((rows, K), np.int8), ((rows,), np.bool_)]
        must(found == [(shape, np.dtype(kind)) for shape, kind in wanted], f"dual variables of {rows:,} rows")
        must(all_finite(answer.snapshot.shares), "finite dual variables")


@dataclass(frozen=True)
class Restore:
    """Give a shard its dual variables of the end of a pass, and repeat the parts since then."""

    setting: Setting
    epoch: int
    snapshot: Snapshot | None  # None: α = 0
    since: tuple[PartOfPass, ...]

    def __call__(self, examples: Examples, shard: int, kept: dict[str, Any]) -> bool:
        """Restore them."""
        held = ShardAscent(examples, self.setting, shard)
        held.at = Stamp(self.epoch, 0)
        if self.snapshot is not None:
            held.restore(held.at, self.snapshot)
        for part in self.since:
            held.visit(part)
        kept["dual"] = held
        return True

    def check(self, answer: Any, rows: int, features: int) -> None:
        """Done."""
        must(answer is True, "True")


@dataclass(frozen=True)
class AskGap(Asked):
    """The rows' terms of the gap, at these weights."""

    w: Array
    b: Array

    def answer(self, held: ShardAscent, shard: int) -> float:
        """Their sum."""
        scores = np.zeros(self.b.size, self.w.dtype)
        held.ascent.duals = held.ascent.duals._replace(w=self.w.copy(), b=self.b.copy(), scores=scores)
        return held.ascent.gap_terms()

    def check_found(self, answer: Any, rows: int, features: int) -> None:
        """A number."""
        must(isinstance(answer, float) and np.isfinite(answer), "a finite gap")


@dataclass(frozen=True)
class AskSums(Asked):
    """Σ α_i z_i of a shard."""

    def answer(self, held: ShardAscent, shard: int) -> Sums:
        """The sum."""
        return held.ascent.summed()

    def check_found(self, answer: Any, rows: int, features: int) -> None:
        """Finite weights."""
        must(isinstance(answer, Sums) and all_finite(*answer[:3]), "finite sums")
        must(answer.u.size == features * self.setting.columns, f"{features:,} features")


@dataclass(frozen=True)
class AskLosses(Asked):
    """The losses of a shard's rows at these weights, and their error."""

    of: Published

    def answer(self, held: ShardAscent, shard: int) -> Array:
        """Their sums."""
        return held.ascent.losses(self.of._replace(scores=np.zeros_like(self.of.scores)))

    def check_found(self, answer: Any, rows: int, features: int) -> None:
        """Two sums, neither below 0."""
        must(isinstance(answer, np.ndarray) and answer.shape == (2,) and all_finite(answer), "two finite sums")
        must(answer.min() >= 0.0, "losses that are at least 0")
