"""The report of a linear learner: errors, margin and mistake bound, from one scan of all rows."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from rosenblatt.learn.counters import Count
from rosenblatt.learn.epochs import Source
from rosenblatt.learn.evaluation import Evaluation, Measure
from rosenblatt.learn.examples import Facts
from rosenblatt.learn.models import Model, Planes, lengths2
from rosenblatt.learn.report import Report
from rosenblatt.learn.scans import errors_in, scan, scan_both
from rosenblatt.learn.schemes import PAIRS
from rosenblatt.prove.mistake_formula import SMALLEST, Separator, mistake_bound

Array = np.ndarray[Any, Any]


def scanned(report: Report, solver: Any, source: Source, kept: Model, measure: Measure | None = None) -> Report:
    """The report after a scan of all rows with planes or votes; "budget" becomes "separated" if all rows are right.

    For planes, `objective` is the mean loss measured by `measure`, without the penalty.
    """
    errors, margin, planes, mean_loss = None, None, [], None
    plan, criterion = solver.plan, solver.plan.criterion
    state, facts, outcome = solver.state, source.facts, report.outcome
    bounded = plan.bounded and state.from_zero and state.whole and min(criterion.low, criterion.high) >= 0
    unsure = outcome == "budget" and solver.separates  # the last epoch may have classified every row correctly
    asked = unsure or (outcome == "separated" and bounded)
    last = None if state.keep == "last" or not asked else state.last()
    if isinstance(kept, Planes):
        scans, lasts = scan_both(source, criterion, kept, last, measure)
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
        lasts = scan(source, criterion, state.last()) if bounded and (clean or outcome == "separated") else []
    if errors is None:
        errors = errors_in(source, kept, criterion)
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


def _bound(planes: list[Separator], plan: Any, solver: Any, facts: Facts) -> float | None:
    """The bounds of all planes of the last iterate, summed."""
    if not planes:
        return None
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
            margin=max(plan.criterion.low, plan.criterion.high),
            rate=float(plan.rate),
        )
        if bound is None:
            return None
        total += count * bound
    return total
