"""The dual of a support vector machine in shards, whose changes are added (CoCoA+, with a measured σ′).

Each of S shards has its rows, their dual variables and its own copy of w, with which it makes a part of a pass. A step
in it changes the copy by σ′ times its share of w, and takes σ′‖x̂_i‖² for ‖x̂_i‖², so that it is cautious of what the
others do at the same time (Ma, Smith, Jaggi, Jordan, Richtárik, Takáč, ICML 2015):

    copy k    w_k = w + σ′Δ_k,  Δ_k = Σ δ_i z_i over the rows of shard k
    merge     w ← w + ηΣ_k Δ_k,  α_i ← α_i + ηδ_i,  η = min(1, σ′/ρ),  ρ = ‖Σ_k Δ_k‖²/Σ_k ‖Δ_k‖²

A shard improves its own problem, g_k − ½σ′‖Δ_k‖² ≥ 0 with g_k concave in the step; so the dual rises by at least
ηΣ_k (g_k − ½ηρ‖Δ_k‖²) ≥ ηΣ_k (g_k − ½σ′‖Δ_k‖²) ≥ 0, for every σ′. σ′ = S always has η = 1; on most rows ρ is little
above 1, and σ′ may be smaller. But below S/2 the shards overshoot together in a direction that all rows share, and
oscillate. So σ′ is a little above the last ρ, and at least 0.6·S; of K columns ρ is the largest.

A pass in fewer copies closes more of the gap, and takes longer where each copy has a core. After a few passes, half as
many copies are tried, in which neighbouring shards share a copy of w and work one after the other: they stay if they
close more of the gap for the work of each copy. Everything that shapes the result follows from the rows, the settings
and the estimated gap, nothing from measured times.

What a shard does, in a thread or on a worker, is in `svm_shards`.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import read_only
from rosenblatt.learn.epochs import Source
from rosenblatt.learn.examples import Facts
from rosenblatt.learn.plan import default_epochs
from rosenblatt.learn.sharding import Sharding
from rosenblatt.objective.svm_dual import FINE, Ascent, DualAscent, DualPlan, next_bounds
from rosenblatt.objective.svm_gap import Gap, Published, Sums, duality_gap
from rosenblatt.objective.svm_shards import (
    Asked,
    AskGap,
    AskLosses,
    AskSums,
    End,
    Open,
    PartOfPass,
    Restore,
    Setting,
    Shards,
    Slices,
    Snapshot,
    Stamp,
    Visit,
    Visited,
)
from rosenblatt.planes.state import State

Array = np.ndarray[Any, Any]
MOST_PARTS = 8  # of a pass; more gain nothing
VALUES_PER_WEIGHT = 4  # stored values that a shard visits per part, for each weight that is then added
PASSES, TRIAL = 12, 2  # before half as many copies are tried, and in a trial
CAUTION, LEAST_CAUTION = 1.2, 0.6  # σ′ as a multiple of ρ, and its least value as a multiple of the copies


@dataclass(frozen=True, kw_only=True)
class ShardedPlan(DualPlan):
    """The problem of a support vector machine, on several cores or machines."""

    jobs: int = 1

    def limit(self, facts: Facts) -> int:
        """With as many cores as shards, a pass takes that much less time."""
        return self.max_epochs or default_epochs(facts.stored // self.jobs, self.keep)

    def ascent(self, source: Source, state: State) -> Ascent:
        """On one core, in threads, or wherever the source's shards are."""
        if not source.whole:
            if self.free:
                raise ValueError(
                    "In shards of files the intercept needs a penalty: intercept_scaling=1.0, or fit_intercept=False."
                )
            return ShardedAscent(source, self, state)  # type: ignore[arg-type]
        if self.jobs == 1:
            return super().ascent(source, state)
        (examples,) = source.parts(state.epoch)
        return ShardedAscent(Slices(examples, self.jobs), self, state)


class Progress(NamedTuple):
    """What a pass replaces as a whole."""

    snapshots: tuple[Snapshot | None, ...]
    sharding: Sharding


@compiled
def add_change(total: Array, w: Array, copy: Array, across: int, squares: Array) -> None:
    """Add the change of a copy of w, (K, d) or (d, K), to the total, and its ‖·‖² for each of K columns."""
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            change = np.float64(copy[i, j]) - np.float64(w[i, j])
            total[i, j] += change
            squares[i if across == 1 else j] += change * change


@dataclass
class Copies:
    """How many copies of w there are."""

    count: int
    limit: int  # of epochs
    tol: float
    gap: float = math.inf  # the relative gap after the last pass
    passes: int = 0  # since the number was last decided on
    patience: int = PASSES
    trial: tuple[int, float] | None = None  # the number before a trial, and its pace

    def after(self, gap: float, epoch: int) -> None:
        """Choose the number for the next pass, by the gaps before and after this one."""
        closed = math.log(self.gap / gap) if gap > 0.0 and math.isfinite(self.gap) else math.inf
        self.gap, self.passes = gap, self.passes + 1
        pace, hopeless = closed * self.count, False
        if self.trial is not None and self.passes >= TRIAL:
            before, to_beat = self.trial
            self.trial, self.passes = None, self.patience
            if pace <= to_beat:
                self.count, self.passes, self.patience = before, 0, 2 * self.patience
        if 2 * epoch > self.limit and gap > self.tol:  # the limit comes before the gap is closed at this pace
            hopeless = closed <= 0.0 or epoch + math.log(gap / self.tol) / closed > self.limit
        if self.count > 1 and self.trial is None and (hopeless or self.passes >= self.patience):
            self.trial, self.passes = (None if hopeless else (self.count, pace)), 0
            self.count = -(-self.count // 2)


class ShardedAscent(Ascent):
    """A dual problem in shards: w and the copies of it, and when there are fewer of them."""

    def __init__(self, source: Shards, plan: DualPlan, state: State) -> None:
        self.source, K = source, state.machines[0].intercept.size
        super().__init__(plan, state.scheme, K)
        # The plan of a worker is that of one machine.
        self.setting = Setting(uuid.uuid4().hex, plan, state.scheme, state.classes, K, state.seed)
        if isinstance(source, Slices) and plan.free:  # its α are scaled, and b found, where all rows are
            self.whole = DualAscent.of(source.examples, plan, state.scheme, state.classes, K)
            self.how, bias = self.whole.how, self.whole.how.bias
            self.setting = self.setting._replace(bias=bias)
        self.parts = len(source.sizes)
        self.every = list(range(self.parts))
        opened = list(source.ask_each(Open(self.setting), self.every))
        dense, d = opened[0].dense, source.facts.n_features
        self.size, self.longest = sum(one.size for one in opened), max(one.longest for one in opened)
        self.across = None if state.scheme.single else 1 if dense else 0
        shape: tuple[int, ...] = (d,) if state.scheme.single else (K, d) if dense else (d, K)
        dtype = source.facts.dtype if plan.tol >= FINE else np.dtype(np.float64)
        self.w, self.b, self.estimate = np.zeros(shape, dtype), np.zeros(K), np.inf
        self.copies = Copies(self.parts, plan.limit(source.facts), plan.tol)
        self.at, self.wake, self.awake = Stamp(0, 0), False, self.size
        self.sigma = float(self.parts)
        self.since: list[list[PartOfPass]] = [[] for _ in self.every]
        self.linear, self.worst = (0.0, 0.0), np.tile([np.inf, -np.inf], (K, 1))
        self.progress = Progress((None,) * self.parts, Sharding("added", tuple(source.sizes)))

    # -- asking shards -------------------------------------------------------------------------------------------------

    def _ask(self, question: Asked, places: Sequence[int]) -> list[Any]:
        """The answers of these shards; one that has lost its α gets them back first."""
        found = dict(zip(places, self.source.ask_each(question, places), strict=True))
        while lost := [k for k, answer in found.items() if answer is None]:
            for k in lost:
                restore = Restore(self.setting, self.at.epoch, self.progress.snapshots[k], tuple(self.since[k]))
                list(self.source.ask_each(restore, [k]))
            found |= dict(zip(lost, self.source.ask_each(question, lost), strict=True))
        return [found[k] for k in places]

    def _turns(self) -> list[list[int]]:
        """The shards that work at the same time, one per copy of w."""
        groups = [[k for k in self.every if k * self.copies.count // self.parts == g] for g in range(self.copies.count)]
        return [[group[turn] for group in groups if turn < len(group)] for turn in range(max(map(len, groups)))]

    def parts_of_pass(self) -> int:
        """How often changes are added: less often with few active rows, or many weights."""
        awake = 1.0 if self.wake else self.awake / max(self.size, 1)
        values = self.source.facts.stored * awake * self.b.size / self.copies.count
        return int(min(MOST_PARTS, max(1.0, values // (VALUES_PER_WEIGHT * self.w.size))))

    def sweep(self, epoch: int, seed: int) -> int:
        """A pass over the active rows of all shards; returns the steps made."""
        parts, steps, share = self.parts_of_pass(), [0] * self.parts, 1.0
        self.at, self.since = Stamp(epoch, 0), [[] for _ in self.every]
        last: dict[int, Visited] = {}
        for number in range(parts):
            copies, sigma = [(self.w, self.b)] * self.copies.count, self.sigma
            for turn in self._turns():
                sent = {}
                for k in turn:
                    w, b = copies[k * self.copies.count // self.parts]
                    sent[k] = PartOfPass(epoch, number, parts, sigma, share, self.wake, self.worst, w, b)
                answers = self._ask(Visit(self.setting, Stamp(epoch, number), sent), turn)
                for k, answer in zip(turn, answers, strict=True):
                    copies[k * self.copies.count // self.parts] = answer.w, answer.b
                    steps[k] += answer.steps
                    self.since[k].append(sent[k])
                    last[k] = answer
            share = self._add(copies)
        ended = self._ask(End(self.setting, Stamp(epoch, parts), share), self.every)
        ordered = [last[k] for k in self.every]
        self.estimate = sum(one.estimate for one in ordered)
        if self.plan.free:
            self.b = self.b.copy()
            self.estimate = self.recentred(self.estimate)
        self.linear = sum(one.linear[0] for one in ended), sum(one.linear[1] for one in ended)
        high, low = (np.array([one.worst[:, k] for one in ordered]) for k in (0, 1))
        self.worst = next_bounds(high.max(axis=0), low.min(axis=0), self.scheme.joint)
        self.awake = sum(int(one.snapshot.awake.sum()) for one in ended)
        self._made = (tuple(steps), parts, tuple(one.snapshot for one in ended))
        return sum(steps)

    def _add(self, copies: list[tuple[Array, Array]]) -> float:
        """Add a share of the changes of all copies to w, and choose σ′; returns the share."""
        if len(copies) == 1:
            ((self.w, self.b),) = copies
            return 1.0
        w = self.w if self.w.ndim == 2 else self.w[None, :]
        total, own, shift = np.zeros(w.shape), np.zeros(self.b.size), np.zeros(self.b.size)
        for one, b in copies:
            add_change(total, read_only(w), read_only(one.reshape(w.shape)), 0 if self.across == 0 else 1, own)
            shift += b - self.b
            own += (b - self.b) ** 2 / self.how.bias if self.how.bias else 0.0
        joint = (total * total).sum(axis=0 if self.across == 0 else 1)
        joint += shift * shift / self.how.bias if self.how.bias else 0.0
        if self.scheme.joint:
            joint, own = joint.sum(keepdims=True), own.sum(keepdims=True)
        overlap = float(np.max(joint / np.maximum(own, 1e-300)))
        share = min(1.0, self.sigma / max(overlap, 1e-300))
        step = share / self.sigma
        self.w = (w + step * total).astype(w.dtype).reshape(self.w.shape)
        self.b = self.b + step * shift
        self.sigma = min(float(len(copies)), max(1.0, LEAST_CAUTION * len(copies), CAUTION * overlap))
        return share

    def closed(self, dtype: Any) -> Any:
        """The gap if it is closed; else the number of copies may fall."""
        steps, parts, snapshots = self._made
        epoch, self.wake = self.at.epoch + 1, False
        self.at, self.since, before = Stamp(epoch, 0), [[] for _ in self.every], self.progress
        self.progress = before._replace(snapshots=snapshots)
        found = super().closed(dtype)
        told, relative = before.sharding, max(self.estimate, 0.0) / (self.objective or 1.0)
        self.progress = Progress(
            self.progress.snapshots,
            replace(
                told,
                mistakes=(*told.mistakes, steps),
                copies=(*told.copies, self.copies.count),
                merges=(*told.merges, parts),
                gaps=(*told.gaps, relative),
            ),
        )
        self.copies.after(relative, epoch)
        self.sigma = min(self.sigma, float(self.copies.count))
        return found

    # -- what depends on where the rows are ----------------------------------------------------------------------------

    @property
    def shrunk(self) -> tuple[bool, bool]:
        """Whether some rows are left out, in any column, and whether all are."""
        found = [one for one in self.progress.snapshots if one is not None]
        return self.awake < self.size or any(one.left_out.any() for one in found), not self.awake

    def activate_all(self) -> None:
        """Make all rows active again, before the next pass."""
        self.wake, self.worst = True, np.tile([np.inf, -np.inf], (self.b.size, 1))

    def linear_terms(self) -> tuple[float, float]:
        """Σ α_i and ½Σ D_i α_i²."""
        return self.linear

    def scanned_gap(self) -> float:
        """The duality gap of w as the steps left it, by a scan of all rows."""
        if self.plan.free:
            return self._gathered().scanned_gap()
        return float(max(sum(self._ask(AskGap(self.setting, self.at, self.w, self.b), self.every)), 0.0))

    def summed(self) -> Sums:
        """Σ α_i z_i, by a pass over the rows with α > 0."""
        found = self._ask(AskSums(self.setting, self.at), self.every)
        return Sums(*(np.asarray(sum(terms)) for terms in zip(*found, strict=True)))

    def losses(self, of: Published) -> Array:
        """The sum of the losses of all rows, and how far it may be from the exact one."""
        return np.asarray(sum(self._ask(AskLosses(self.setting, self.at, of), self.every)))

    def _gathered(self) -> DualAscent:
        """The dual problem of all rows, in memory, at this α and w."""
        whole, alpha = self.whole, self.shares()
        whole.duals.alpha[:] = alpha if self.scheme.joint else np.abs(alpha)
        scores = np.zeros(self.b.size, self.w.dtype)
        whole.duals = whole.duals._replace(w=self.w.copy(), b=self.b.copy(), scores=scores)
        return whole

    def settled(self) -> Sums:
        """Make w what the rows and α say; of a free intercept, after α is scaled, and with the best b."""
        if not self.plan.free:
            sums = self.summed()
            self.w, self.b = sums.u.astype(self.w.dtype), sums.b.copy()
            return sums
        whole = self._gathered()
        sums = whole.settled()
        self.w, self.b, self.centre, self.linear = whole.w, whole.b.copy(), whole.centre, whole.linear_terms()
        shares = np.split(whole.signed(whole.duals.alpha), np.cumsum(self.source.sizes)[:-1])
        found = zip(self.progress.snapshots, shares, strict=True)
        snapshots = tuple(one._replace(shares=each) for one, each in found if one is not None)
        self.progress = self.progress._replace(snapshots=snapshots)
        self.setting = self.setting._replace(run=uuid.uuid4().hex)  # the shards ask for their new α
        return sums

    def gap_of(self, w: Array, b: Array) -> Gap:
        """The gap of these weights; of a free intercept, with α scaled aside."""
        return self._gathered().gap_of(w, b) if self.plan.free else duality_gap(self, self.summed(), w, b)

    def alpha_bounds(self) -> tuple[Array, float]:
        """Σ |α_i| of each column, and max ‖x̂_i‖² of the rows that take part."""
        return np.abs(self.shares()).sum(axis=0), self.whole.alpha_bounds()[1]

    def use_doubles(self) -> None:
        """Store w in double precision from now on."""
        self.w = self.w.astype(np.float64)

    def mark(self) -> Progress:
        """The dual variables of all shards, which a pass replaces."""
        return self.progress

    def shares(self, mark: Any = None) -> Array:
        """(n, K): the coefficient of each x̂_i in w_k, now or at the time of this mark."""
        return np.concatenate([one.shares for one in (mark or self.progress).snapshots if one is not None])

    def sharding(self, mark: Any = None) -> Sharding:
        """How training in shards went, until now or until this mark."""
        return (mark or self.progress).sharding
