"""How a fit ended, as a frozen record that anyone can check."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.data.declared_fields import must, verify
from rosenblatt.data.examples import Examples, Facts
from rosenblatt.learn.counters import Count
from rosenblatt.learn.epochs import EpochRecord, Source, Training, frozen, thinned
from rosenblatt.learn.evaluation import Evaluation, Measure, evaluate_both
from rosenblatt.learn.mixing import Sharding
from rosenblatt.learn.models import Model, Planes, lengths2
from rosenblatt.learn.online.rules import PerceptronRule, Rule
from rosenblatt.learn.online.solver import Plan, errors_in, problems
from rosenblatt.learn.online.state import State
from rosenblatt.learn.schemes import PAIRS
from rosenblatt.prove.mistake_formula import SMALLEST, Separator, mistake_bound

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a fit ended.

    Attributes
    ----------
    outcome : str
        "separated": the last iterate has y·f above the margin on every training row (for PA and AROW above 0);
        "solved": the objective is within its duality gap or gradient tolerance; "stalled": it stopped improving, and
        patience was spent; "budget": the epochs were spent first; "early": stopped by held-out rows or a callback;
        "interrupted": Ctrl-C; "inseparable": no plane separates the rows; "undecided": no plane in doubles was found,
        though one may exist.
    epochs : sequence of EpochRecord
        Read-only. Of dual methods, whose epochs are many and short, the first hundred, then ever fewer, and
        the last.
    updates : int
        Updates of w, summed over planes.
    errors : int or None
        Training rows that the returned model gets wrong; for regression those outside the tube. With two classes, f = 0
        is a mistake for learners that make an update there; those that minimise an objective (`LinearClassifier`,
        `Pegasos`, `LinearSVM`, `KernelSVM`, `MaxMargin`) count it as `predict` and `score` do, as the first class.
    margin : float or None
        Geometric margin of the returned model on the training rows, negative if a row is wrong; the smallest over all
        planes. None for a vote and for regression.
    radius : float
        R = max‖x‖.
    bound : float or None
        An upper bound on the updates, from the margin of the last iterate: see `prove.mistake_formula`.
        None if no such bound holds: the rows are not separated, weights are not whole numbers, the rate is not
        constant, the start was not zero, or the rule has none. For batch updates it counts the rows that moved w.
    gap : float or None
        Duality gap, for dual methods.
    seconds : float
    rows : int
        Training rows that took part.
    witness : Separability or None
        The proof that no plane separates the rows, where the outcome is "inseparable".
    objective : float or None
        Mean loss + penalty of the returned model, for learners that minimise one.
    data_loss, penalty, gradient_norm : float or None
        The two parts of the objective, and the length of its gradient in `coef_` and `intercept_` over all rows, for
        solvers that compute them at the end.
    sharding : Sharding or None
        How training in shards went.
    moved : int or None
        For batch updates that have a bound: the rows that moved w, summed over updates, by weight.
    tokens, token_errors : int or None
        For sequences, whose rows are sentences: the training tokens, and those that the returned model gets wrong.

    Examples
    --------
    >>> from rosenblatt import Perceptron
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> report = Perceptron(fit_intercept=False, order="cyclic").fit(X, y).report_
    >>> print(report)
    separated: the last iterate has every training row on its right side
      epochs   2 in ... s
      updates  2
      errors   0 of 4 training rows, by the model returned
      margin   0.707107, radius 1
      bound    2 updates at most, 100 % of it used
    """

    outcome: str
    epochs: Sequence[EpochRecord]
    updates: int
    errors: int | None = None
    margin: float | None = None
    radius: float
    bound: float | None = None
    gap: float | None = None
    seconds: float
    rows: int
    witness: Any = None
    objective: float | None = None
    sharding: Sharding | None = None
    moved: int | None = None
    tokens: int | None = None
    token_errors: int | None = None
    data_loss: float | None = None
    penalty: float | None = None
    gradient_norm: float | None = None

    @property
    def n_epochs(self) -> int:
        """The number of epochs, including those whose records were not stored."""
        return self.epochs[-1].epoch if self.epochs else 0

    def __str__(self) -> str:
        """The report in words."""
        how = {
            "separated": "separated: the last iterate has every training row on its right side",
            "solved": "solved: the objective is at its minimum, within tolerance",
            "stalled": "stalled: the objective stopped improving",
            "budget": "stopped by its budget",
            "early": "stopped early; the best epoch is the model",
            "interrupted": "interrupted; the last whole epoch is the model",
            "inseparable": "no plane separates these rows",
            "undecided": "no plane in doubles was found, and none is ruled out",
        }[self.outcome]
        if self.gap is not None and self.outcome == "solved":
            how = "solved: stopped with its duality gap closed"
        if self.tokens is not None and self.outcome == "separated":
            how = "separated: the last iterate has the tags of every training sentence right"
        lines = [how, f"  epochs   {self.n_epochs} in {self.seconds:.3g} s", f"  updates  {self.updates:,}"]
        if self.errors is not None:
            what = f"{self.rows:,} training rows"
            if self.tokens is not None:
                what = f"{self.rows:,} training sentences, {self.token_errors:,} of {self.tokens:,} tokens"
            lines.append(f"  errors   {self.errors:,} of {what}, by the model returned")
        if self.margin is not None:
            lines.append(f"  margin   {self.margin:.6g}, radius {self.radius:.6g}")
        if self.bound is not None:
            counted, what = (self.updates, "updates") if self.moved is None else (self.moved, "rows that move w")
            share = 100 * counted / self.bound if self.bound else 0.0
            lines.append(f"  bound    {self.bound:,.0f} {what} at most, {share:.3g} % of it used")
        if self.objective is not None:
            lines.append(f"  objective {self.objective:.8g}")
        if self.gradient_norm is not None:
            lines.append(f"           data loss {self.data_loss:.6g}, penalty {self.penalty:.6g}")
            lines.append(f"  gradient {self.gradient_norm:.3g}")
        if self.gap is not None:
            lines.append(f"  gap      {self.gap:.3g}")
        if self.witness is not None:
            lines.append(f"  witness  {self.witness}")
        if self.sharding is not None:
            lines.append("  shards   " + str(self.sharding).replace("\n", "\n           "))
        return "\n".join(lines)


def unseen(outcome: str, run: Training, records: Sequence[EpochRecord], seconds: float) -> Report:
    """The report without a scan: errors and margin are not known."""
    solver, facts = run.solver, run.source.facts
    return Report(
        outcome=outcome,
        epochs=frozen(thinned(records) if solver.iterates else records),
        updates=solver.state.updates,
        radius=solver.radius(facts),
        seconds=seconds,
        rows=facts.rows,
        sharding=getattr(solver, "sharding", None),
    )


@dataclass(frozen=True)
class Scan:
    """Evaluates planes on rows, once per machine, and the last iterate too; see `evaluate_both`."""

    rule: Rule
    planes: Planes
    last: Planes | None = None
    measure: Measure | None = None

    def __call__(self, examples: Examples, shard: int) -> list[tuple[Evaluation, Evaluation | None]]:
        """Evaluate these examples."""
        planes, last, how = self.planes, self.last, (self.rule, self.measure)
        tasks = problems(examples, planes.scheme, planes.classes) if examples.size else ()
        if planes.scheme != PAIRS:
            return [evaluate_both(problem, planes, last, *how) for problem in tasks]
        return [
            evaluate_both(problem, planes.one(k), None if last is None else last.one(k), *how)
            for k, problem in enumerate(tasks)
        ]

    def check(self, answer: Any, rows: int, features: int) -> None:
        """A scan of each machine, and one of its last iterate or None."""
        planes = self.planes
        count = planes.scheme.machines(planes.classes)
        must(isinstance(answer, list) and len(answer) in (0, count), f"{count} scans")
        must(all(isinstance(pair, tuple) and len(pair) == 2 for pair in answer), "two scans of each machine")
        for one in [one for kept, last in answer for one in ((kept,) if last is None else (kept, last))]:
            verify(one, Evaluation)
            must(one.lows.size in (1, planes.classes) and not np.isnan(one.lows).any(), "the smallest margins")
            must(max(one.violations, one.errors) <= rows, f"at most {rows:,} rows")


def scan(source: Source, rule: Rule, planes: Planes) -> list[Evaluation]:
    """One evaluation per machine, of all rows together."""
    return scan_both(source, rule, planes, None)[0]


def scan_both(
    source: Source, rule: Rule, planes: Planes, last: Planes | None, measure: Measure | None = None
) -> tuple[list[Evaluation], list[Evaluation]]:
    """The same with the last iterate's evaluations, in one pass; these are None if a row violates its margin."""
    kept: list[Evaluation] = []
    lasts: list[Evaluation | None] = []
    for seen in source.ask(Scan(rule, planes, last, measure)):
        if seen:
            kept = [a.joined(b[0]) for a, b in zip(kept, seen, strict=True)] if kept else [one for one, _ in seen]
            found = [one for _, one in seen]
            lasts = [a and b and a.joined(b) for a, b in zip(lasts, found, strict=True)] if lasts else found
    return kept, [one for one in lasts if one is not None] if None not in lasts else []


def scanned(
    report: Report, plan: Plan, solver: Any, source: Source, kept: Model, measure: Measure | None = None
) -> Report:
    """The report after a scan of all rows with planes or votes; "budget" becomes "separated" if all rows are right.

    For planes, `objective` is the mean loss measured by `measure`, without the penalty.
    """
    errors, margin, planes, mean_loss = None, None, [], None
    state, facts, outcome = solver.state, source.facts, report.outcome
    bounded = _bounded(plan, state)
    unsure = outcome == "budget" and solver.separates  # the last epoch may have classified every row correctly
    asked = unsure or (outcome == "separated" and bounded)
    last = None if state.keep == "last" or not asked else state.last()
    if isinstance(kept, Planes):
        scans, lasts = scan_both(source, plan.rule, kept, last, measure)
        if measure is not None:
            mean_loss = scans[0].loss / facts.mass
        if facts.classes is None:
            errors = scans[0].violations
        else:
            planes = _lows(scans, kept)
            margin = _margin(planes, kept)
            if kept.scheme != PAIRS:
                errors = scans[0].errors
        clean = bool(lasts) if last is not None else not any(one.violations for one in scans)
    else:
        clean = unsure and solver.clean(source)
        lasts = scan(source, plan.rule, state.last()) if bounded and (clean or outcome == "separated") else []
    if errors is None:
        errors = errors_in(source, kept, plan.rule)
    if unsure and clean:
        outcome = solver.finished
    bound, moved = None, None
    if bounded and outcome in ("separated", "early", "budget"):
        if state.keep != "last":
            planes = _lows(lasts, state.last()) if lasts else []
        bound = _bound(planes, plan, solver, facts)
        if plan.batch and bound is not None:
            moved = sum(int(machine.tally[Count.MISTAKES]) for machine in state.machines)
        if bound is not None and report.sharding is not None:
            bound *= len(report.sharding.rows)
    found = {"outcome": outcome, "errors": errors, "margin": margin, "bound": bound, "moved": moved}
    return Report(**(vars(report) | found | {"objective": mean_loss}))


def _lows(scans: list[Evaluation], planes: Planes) -> list[Separator]:
    """The smallest functional margin of each plane, or one for all planes if they decide jointly."""
    shifts = np.square(planes.intercept, dtype=np.float64)
    norms = lengths2(planes.coef)
    lows = scans[0].lows if len(scans) == 1 else np.concatenate([scan.lows for scan in scans])
    if planes.scheme.joint:
        return [Separator(float(lows[0]), float(norms.sum()), float(shifts.sum()))]
    return list(map(Separator, lows.tolist(), norms.tolist(), shifts.tolist()))


def _margin(found: list[Separator], planes: Planes) -> float:
    """The smallest geometric margin of all planes."""
    each = [planes.coef] if len(found) == 1 else [planes.coef[k : k + 1] for k in range(len(found))]
    return min(_geometric(plane.low, _length(plane.norm2, coef)) for plane, coef in zip(found, each, strict=True))


def _length(norm2: float, coef: Array) -> float:
    """‖w‖, also if its square overflows or underflows."""
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


def _bound(planes: list[Separator], plan: Plan, solver: Any, facts: Facts) -> float | None:
    """The bounds of all planes of the last iterate, summed."""
    if not planes:
        return None
    assert isinstance(plan.rule, PerceptronRule)
    assert isinstance(plan.rate, int | float)
    state, total = solver.state, 0.0
    # A batch of rows M moves w by η|M|/N at most: the bound is on Σ|M|, and N times as large.
    totals = state.scheme.totals(facts, solver.totals) if plan.batch else [1.0]
    for plane, count in zip(
        planes, itertools.cycle(totals), strict=False
    ):  # one total for all planes, or one per plane
        bound = mistake_bound(
            plane,
            state.radius2,
            bias=plan.bias,
            classes=state.classes if state.scheme.joint else 2,
            margin=max(plan.rule.low, plan.rule.high),
            rate=float(plan.rate),
        )
        if bound is None:
            return None
        total += count * bound
    return total
