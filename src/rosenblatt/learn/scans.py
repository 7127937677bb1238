"""Questions about examples, answered wherever they are stored: errors, convergence, margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.formats.declared_fields import is_count, must, verify
from rosenblatt.learn.epochs import Source
from rosenblatt.learn.evaluation import (
    MISTAKE,
    Criterion,
    Evaluation,
    Measure,
    clean,
    evaluate,
    evaluate_both,
    problems,
    whole_problem,
    wrong,
)
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.models import Planes
from rosenblatt.learn.schemes import PAIRS, Scheme


@dataclass(frozen=True)
class Errors:
    """How many rows a model misclassifies, by the tie rule; for regression, rows outside the tube."""

    kept: Any
    criterion: Criterion = MISTAKE

    def __call__(self, examples: Examples, shard: int) -> int:
        """The number for these examples."""
        problem = whole_problem(examples, self.kept.scheme)
        if examples.classes is None:
            return evaluate(problem, self.kept, self.criterion).violations
        return wrong(problem, self.kept, examples.target.ndim == 2)[0]

    def check(self, answer: Any, rows: int, features: int) -> None:
        """At most all rows."""
        must(is_count(answer) and answer <= rows, f"at most {rows:,} errors")


def errors_in(source: Source, kept: Any, criterion: Criterion = MISTAKE) -> int:
    """How many rows of all parts a model misclassifies."""
    return sum(source.ask(Errors(kept, criterion)))


@dataclass(frozen=True)
class Clean:
    """Whether every row is above its margin; the scan stops at the first that is not.

    `planes` has one entry per machine, None for machines that are known to have converged.
    """

    criterion: Criterion
    scheme: Scheme
    classes: int
    planes: tuple[Planes | None, ...]

    def __call__(self, examples: Examples, shard: int) -> bool:
        """The answer for these examples."""
        return all(
            clean(problem, planes, self.criterion)
            for planes, problem in zip(self.planes, problems(examples, self.scheme, self.classes), strict=True)
            if planes is not None and problem.size
        )

    def check(self, answer: Any, rows: int, features: int) -> None:
        """Yes or no."""
        must(isinstance(answer, bool), "yes or no")


@dataclass(frozen=True)
class Scan:
    """Evaluates planes on rows, once per machine, and the last iterate too; see `evaluate_both`."""

    criterion: Criterion
    planes: Planes
    last: Planes | None = None
    measure: Measure | None = None

    def __call__(self, examples: Examples, shard: int) -> list[tuple[Evaluation, Evaluation | None]]:
        """Evaluate these examples."""
        planes, last, how = self.planes, self.last, (self.criterion, self.measure)
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


def scan(source: Source, criterion: Criterion, planes: Planes) -> list[Evaluation]:
    """One evaluation per machine, of all rows together."""
    return scan_both(source, criterion, planes, None)[0]


def scan_both(
    source: Source, criterion: Criterion, planes: Planes, last: Planes | None, measure: Measure | None = None
) -> tuple[list[Evaluation], list[Evaluation]]:
    """The same with the last iterate's evaluations, in one pass; these are None if a row violates its margin."""
    kept: list[Evaluation] = []
    lasts: list[Evaluation | None] = []
    for seen in source.ask(Scan(criterion, planes, last, measure)):
        if seen:
            kept = [a.joined(b[0]) for a, b in zip(kept, seen, strict=True)] if kept else [one for one, _ in seen]
            found = [one for _, one in seen]
            lasts = [a and b and a.joined(b) for a, b in zip(lasts, found, strict=True)] if lasts else found
    return kept, [one for one in lasts if one is not None] if None not in lasts else []
