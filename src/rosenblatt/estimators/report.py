"""How a fit ended, as a frozen record that anyone can check."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.data.examples import Examples
from rosenblatt.learn.evaluation import Evaluation, evaluate
from rosenblatt.learn.kept import Kept, Planes, lengths2
from rosenblatt.learn.machines import State
from rosenblatt.learn.records import frozen
from rosenblatt.learn.rules import PerceptronRule
from rosenblatt.learn.training import EpochRecord, Plan, errors_of, problems
from rosenblatt.prove.mistakes import SMALLEST, Separator, mistake_bound

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Sharding:
    """How a training in shards went (see `learn.mixing`).

    Attributes
    ----------
    mixing : {"uniform", "mistakes"}
    rows : tuple of int
        The rows of each shard.
    mistakes : tuple of tuple of int
        The updates of each epoch, of each shard.
    weighted : float
        Σ_n Σ_i μ_{i,n} k_{i,n}, of which R²/γ² is the bound; the `bound` of the report, that of all updates, is S
        times as large.
    sent_again : int
        How often a shard was given to another worker, because one had died, failed or been too slow.
    bytes_moved : int
        Weights sent to workers and back; 0 within one process.
    computing, reading, waiting : float
        Seconds, over all threads of all workers: in passes, in reading shards, and in neither while an epoch ran.
    """

    mixing: str
    rows: tuple[int, ...]
    mistakes: tuple[tuple[int, ...], ...] = ()
    weighted: float = 0.0
    sent_again: int = 0
    bytes_moved: int = 0
    computing: float = 0.0
    reading: float = 0.0
    waiting: float = 0.0

    def __str__(self) -> str:
        """The record in words."""
        how = "alike" if self.mixing == "uniform" else "by their mistakes"
        lines = [f"{len(self.rows)} shards, mixed {how}, {self.weighted:,.1f} mistakes by their share"]
        lines.append(
            f"{self.computing:.3g} s computing, {self.reading:.3g} s reading, {self.waiting:.3g} s waiting, "
            f"{self.bytes_moved / 1e6:,.1f} MB moved"
        )
        if self.sent_again:
            lines.append(f"{self.sent_again} times a shard was sent again")
        return "\n".join(lines)


@dataclass(frozen=True)
class Report:
    """How a fit ended.

    Attributes
    ----------
    outcome : str
        "converged": the last iterate has y·f above the margin on every training row (for PA and AROW above 0);
        "budget": the epochs were spent first; "early": stopped by held-out rows or a callback; "gap": a dual method
        closed its gap; "interrupted": Ctrl-C; "inseparable": no plane separates the rows; "undecided": no
        plane in doubles was found, though none is ruled out.
    epochs : sequence of EpochRecord
        It does not change.
    updates : int
        Updates of w in all, summed over planes.
    errors : int or None
        Training rows that the returned model gets wrong, a tie being a mistake; for regression those outside the tube.
    margin : float or None
        Geometric margin of the returned model on the training rows, negative where it errs; the smallest of all
        planes. None for a vote and for regression.
    radius : float
        R = max‖x‖.
    bound : float or None
        The most updates that could have been made, from the margin of the last iterate: see `prove.mistakes`. None
        where no such bound holds: the rows are not separated, weights are not whole numbers, the rate is not
        constant, the start was not zero, or the rule has none.
    gap : float or None
        Duality gap, for dual methods.
    seconds : float
    rows : int
        Training rows that took part.
    witness : Separability or None
        The proof that no plane separates the rows, where the outcome is "inseparable".
    objective : float or None
        Mean loss + penalty of the returned model, for learners that minimise one; "converged" then means that it
        no longer falls.
    sharding : Sharding or None
        How a training in shards went.
    """

    outcome: str
    epochs: Sequence[EpochRecord]
    updates: int
    errors: int | None
    margin: float | None
    radius: float
    bound: float | None
    gap: float | None
    seconds: float
    rows: int
    witness: Any = None
    objective: float | None = None
    sharding: Sharding | None = None

    def __str__(self) -> str:
        """The report in words."""
        how = {
            "converged": "converged: the last iterate has every training row on its right side",
            "budget": "stopped by its budget, not converged",
            "early": "stopped early; the best epoch is the model",
            "gap": "stopped with its duality gap closed",
            "interrupted": "interrupted; the last whole epoch is the model",
            "inseparable": "no plane separates these rows",
            "undecided": "no plane in doubles was found, and none is ruled out",
        }[self.outcome]
        if self.objective is not None and self.outcome == "converged":
            how = "converged: the objective no longer falls"
        lines = [how, f"  epochs   {len(self.epochs)} in {self.seconds:.3g} s", f"  updates  {self.updates:,}"]
        if self.errors is not None:
            lines.append(f"  errors   {self.errors:,} of {self.rows:,} training rows, by the model returned")
        if self.margin is not None:
            lines.append(f"  margin   {self.margin:.6g}, radius {self.radius:.6g}")
        if self.bound is not None:
            share = 100 * self.updates / self.bound if self.bound else 0.0
            lines.append(f"  bound    {self.bound:,.0f} updates at most, {share:.3g} % of it used")
        if self.objective is not None:
            lines.append(f"  objective {self.objective:.8g}")
        if self.gap is not None:
            lines.append(f"  gap      {self.gap:.3g}")
        if self.witness is not None:
            lines.append(f"  witness  {self.witness}")
        if self.sharding is not None:
            lines.append("  shards   " + str(self.sharding).replace("\n", "\n           "))
        return "\n".join(lines)


def looked_at(
    outcome: str,
    records: list[EpochRecord],
    examples: Examples,
    plan: Plan,
    state: State,
    kept: Kept,
    seconds: float,
    parts: Callable[[], Iterable[Examples]] | None = None,
) -> Report:
    """The report after a scan of the training rows: `examples`, or the `parts` that they come in."""
    parts = parts or (lambda: (examples,))
    return concluded(
        outcome,
        records,
        examples,
        plan,
        state,
        kept,
        seconds,
        lambda planes: scan(parts(), plan, state, planes),
        lambda: sum(errors_of(part, kept, plan) for part in parts()),
    )


def concluded(
    outcome: str,
    records: list[EpochRecord],
    examples: Examples,
    plan: Plan,
    state: State,
    kept: Kept,
    seconds: float,
    scanned: Callable[[Planes], list[Evaluation]],
    wrong: Callable[[], int],
) -> Report:
    """The report, wherever the rows are: `scanned` holds planes against them, `wrong` counts what `kept` gets wrong."""
    errors, margin, bound = None, None, None
    scans: list[Evaluation] = []
    if isinstance(kept, Planes):
        scans = scanned(kept)
        if examples.classes is None:
            errors = scans[0].violations
        else:
            margin = _margin(scans, kept)
            if kept.scheme in ("one", "multinomial") or examples.target.ndim == 2:
                errors = scans[0].errors
    if errors is None:
        errors = wrong()
    if _bounded(plan, state) and outcome in ("converged", "early", "budget"):
        last = state.last(plan.rule)
        if state.keep != "last":
            scans = scanned(last) if outcome == "converged" else []
        bound = _bound(scans, last, plan, state, examples)
    return Report(
        outcome,
        tuple(records),
        state.updates,
        errors,
        margin,
        math.sqrt(state.radius2),
        bound,
        None,
        seconds,
        examples.size,
    )


def unseen(outcome: str, records: Sequence[EpochRecord], examples: Examples, state: State, seconds: float) -> Report:
    """The report without a scan: errors and margin are not known."""
    radius = math.sqrt(max(state.radius2, examples.radius2))
    return Report(outcome, frozen(records), state.updates, None, None, radius, None, None, seconds, examples.size)


def scan(parts: Iterable[Examples], plan: Plan, state: State, planes: Planes) -> list[Evaluation]:
    """One evaluation a machine, of all parts together."""
    found: list[Evaluation] = []
    for part in parts:
        seen = _scan_part(part, plan, state, planes)
        found = [a.joined(b) for a, b in zip(found, seen, strict=True)] if found else seen
    return found


def _scan_part(examples: Examples, plan: Plan, state: State, planes: Planes) -> list[Evaluation]:
    """One evaluation a machine."""
    found, at = [], 0
    for problem in problems(examples, state.scheme, state.classes):
        count = 1 if problem.scheme == "one" else planes.coef.shape[0]
        part = Planes(planes.coef[at : at + count], planes.intercept[at : at + count], problem.scheme, state.classes)
        found.append(evaluate(problem, part, plan.rule))
        at += count
    return found


def _lows(scans: list[Evaluation], planes: Planes) -> list[Separator]:
    """The smallest functional margin of each plane, or of all together where they decide together."""
    shifts = np.square(planes.intercept, dtype=np.float64)
    norms = lengths2(planes.coef)
    lows = np.concatenate([scan.lows for scan in scans]).astype(np.float64)
    if planes.scheme == "multinomial":
        return [Separator(float(lows[0]), float(norms.sum()), float(shifts.sum()))]
    return [Separator(float(a), float(b), float(c)) for a, b, c in zip(lows, norms, shifts, strict=True)]


def _margin(scans: list[Evaluation], planes: Planes) -> float:
    """The smallest geometric margin of all planes."""
    found = _lows(scans, planes)
    each = [planes.coef] if len(found) == 1 else [planes.coef[k : k + 1] for k in range(len(found))]
    return min(_geometric(plane.low, _length(plane.norm2, coef)) for plane, coef in zip(found, each, strict=True))


def _length(norm2: float, coef: Array) -> float:
    """‖w‖, where its square leaves the range of doubles too."""
    if SMALLEST < norm2 < math.inf:
        return math.sqrt(norm2)
    size = float(np.abs(coef).max(initial=0.0))
    return size * float(np.linalg.norm(coef.astype(np.float64) / size)) if size else 0.0


def _geometric(low: float, length: float) -> float:
    if length > 0:
        return low / length
    return math.inf if low > 0 else min(low, 0.0) + 0.0  # no −0


def _bounded(plan: Plan, state: State) -> bool:
    """Whether a mistake bound holds for such a run."""
    return (
        isinstance(plan.rule, PerceptronRule)
        and isinstance(plan.rate, int | float)
        and state.from_zero
        and state.whole
        and min(plan.rule.low, plan.rule.high) >= 0
    )


def _bound(scans: list[Evaluation], last: Planes, plan: Plan, state: State, examples: Examples) -> float | None:
    if not scans:
        return None
    assert isinstance(plan.rule, PerceptronRule)
    assert isinstance(plan.rate, int | float)
    total = 0.0
    for plane in _lows(scans, last):
        bound = mistake_bound(
            plane,
            state.radius2,
            bias=plan.bias,
            classes=state.classes if last.scheme == "multinomial" else 2,
            margin=max(plan.rule.low, plan.rule.high),
            rate=float(plan.rate),
        )
        if bound is None:
            return None
        total += bound
    return total
