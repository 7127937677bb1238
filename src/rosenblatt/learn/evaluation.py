"""Evaluation of planes on rows by a criterion: errors, the smallest margin, the worst row.

It runs in pieces, so that Ctrl-C works. The margin of a row is y·f for two classes, s_y − max s_r for many, and y_k·f_k
per column for one-vs-rest and labels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import callee, compiled
from rosenblatt.compiled.row_arrays import Dense, Sparse, gathered, in_pieces, is_narrow, spans, values_per_row
from rosenblatt.compiled.tie_rule import decide, edge, rival, wins_tie
from rosenblatt.formats.declared_fields import floats
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.models import Model, Planes, copy_rows
from rosenblatt.learn.overflow import all_finite, check_scores
from rosenblatt.learn.schemes import Scheme
from rosenblatt.learn.sweep import VisitTask


class Criterion(NamedTuple):
    """When a row is wrong, and when it shows that the learner has not converged."""

    low: float = 0.0  # the required margin of the negative class
    high: float = 0.0  # of the positive class, and between classes
    tube: float = -1.0  # for numbers: how far f may be from y; below 0 for classes
    learns_at_margin: bool = True  # whether a row exactly at its required margin is learned from
    clears_margin: bool = True  # whether rows must be above their margin at the end, or only above 0
    tie_is_mistake: bool = True  # False for learners that minimise an objective: f = 0 counts as in `predict`

    @property
    def numbers(self) -> bool:
        """Whether rows have numbers instead of classes."""
        return self.tube >= 0.0


MISTAKE = Criterion()
DECISION = Criterion(tie_is_mistake=False)


Array = np.ndarray[Any, Any]
# The loss of an objective on these rows, given their scores, which it may overwrite.
Measure = Callable[["Problem", Array, Array], float]
FIRST_ROWS = 256  # of the last iterate, in which a violation ends its scan; then ever more


class Problem(NamedTuple):
    """The learning problem of one machine: rows, their targets, and which rows take part."""

    rows: Dense | Sparse
    truth: Array  # ±1 (int8), codes (int32), an indicator (int8, 2-D) or numbers
    weights: Array  # one per row, empty if all are 1
    present: Array | None
    size: int
    total: float  # the weight of all rows that take part
    scheme: Scheme
    per_row: float  # stored values per row

    def pieces(self, columns: int) -> Iterator[Array]:
        """The rows that take part, in pieces that are scored quickly."""
        for begin, end in spans(self.size, self.per_row * columns):
            yield self.index(begin, end)

    def index(self, begin: int, end: int) -> Array:  # type: ignore[override]
        """The rows at positions `begin` to `end` among those that take part."""
        if self.present is not None:
            return self.present[begin:end]
        return np.arange(begin, end, dtype=np.uint64)

    @property
    def task(self) -> VisitTask:
        """The arguments of the compiled loop."""
        return VisitTask(self.rows, self.truth, self.weights)

    def visit(self, piece: Array) -> tuple[VisitTask, Array]:
        """The arguments of the compiled loop and the rows to visit; narrow rows are copied, widened, in this order."""
        rows = self.rows
        if not is_narrow(rows):
            return self.task, piece
        weights = self.weights[piece] if self.weights.size else self.weights
        return VisitTask(gathered(rows, piece), self.truth[piece], weights), np.arange(piece.size, dtype=np.uint64)

    def mass(self, index: Array) -> Array:
        """The weights of these rows."""
        return self.weights[index] if self.weights.size else np.ones(index.size)


def problems(examples: Examples, scheme: Scheme, classes: int) -> Iterator[Problem]:
    """The problem of each machine, one at a time."""
    return scheme.problems(whole_problem(examples, scheme), classes)


def whole_problem(examples: Examples, scheme: Scheme) -> Problem:
    """The problem of all classes, before it is divided among machines."""
    weights, rows, size = np.zeros(0) if examples.weights is None else examples.weights, examples.rows, examples.size
    total = float(size)
    if examples.weights is not None:
        total = float(weights.sum() if examples.present is None else weights[examples.present].sum())
    return Problem(rows, examples.target, weights, examples.present, size, total, scheme, values_per_row(rows))


class Evaluation(NamedTuple):
    """The result of a scan of all rows."""

    lows: Annotated[Array, floats("columns")]  # the smallest margin, one per column if columns are separate problems
    violations: int  # rows that show that the learner has not converged
    errors: int  # misclassified rows; of labels, those with any label wrong
    loss: float = 0.0  # summed by weight, if it was measured

    def joined(self, other: Evaluation) -> Evaluation:
        """The result for the rows of both scans."""
        lows = np.minimum(self.lows, other.lows)
        return Evaluation(lows, self.violations + other.violations, self.errors + other.errors, self.loss + other.loss)


NOTHING = Evaluation(np.array([np.inf]), 0, 0)  # of no rows


class RowMargins(NamedTuple):
    """Rows as a criterion judges them; each (n,), or (n, K) if columns are separate problems."""

    margins: Array  # −|y − f| for regression
    lack: Array  # the required margin minus the margin
    learns: Array  # whether the rule would make an update
    violates: Array  # whether the row shows that the learner has not converged
    wrong: Array  # whether it is wrong; of two classes a tie is, unless the criterion says otherwise


def row_margins(problem: Problem, index: Array, scores: Array, criterion: Criterion) -> RowMargins:
    """Compare scores with the targets."""
    truth = problem.truth[index]
    if problem.scheme.joint:
        return _class_margins(truth, scores, criterion)
    if criterion.numbers:
        wide = scores.astype(np.float64)
        rounding = np.maximum(np.maximum(np.abs(truth), np.abs(wide)), criterion.tube) * edge(
            scores.itemsize, 1.0, 0.0, 0.0
        )
        margins = -np.abs(truth - wide)
        lack = -criterion.tube - margins
        outside = lack > rounding
        return RowMargins(margins, lack, outside, outside, outside)
    sides = truth if scores.ndim == 1 else problem.scheme.sides(truth, scores.shape[1])
    margins = (sides * scores).astype(np.float64, copy=False)
    low, high = criterion.low, criterion.high
    lack = (high if high == low else np.where(sides > 0, high, low)) - margins
    learns = lack >= 0 if criterion.learns_at_margin else lack > 0
    mistaken = margins <= 0
    wrong = mistaken if criterion.tie_is_mistake else (scores > 0) != (sides > 0)
    return RowMargins(margins, lack, learns, learns if criterion.clears_margin else mistaken, wrong)


def _class_margins(truth: Array, scores: Array, criterion: Criterion) -> RowMargins:
    at = np.arange(truth.size)
    others = scores.astype(np.float64)
    true = others[at, truth]
    others[at, truth] = -np.inf
    other = np.argmax(others, axis=1)
    margins = true - others[at, other]
    lack = criterion.high - margins
    stands = (lack == 0) & (criterion.high == 0) & wins_tie(truth, other)
    learns = (lack >= 0) & ~stands if criterion.learns_at_margin else lack > 0
    wrong = (margins < 0) | ((margins == 0) & wins_tie(other, truth))
    return RowMargins(margins, lack, learns, learns if criterion.clears_margin else margins <= 0, wrong)


def _evaluated(problem: Problem, index: Array, planes: Planes, criterion: Criterion) -> RowMargins:
    """The margins of these rows."""
    return row_margins(problem, index, check_scores(planes.raw(problem.rows, index)), criterion)


def _by_row(flags: Array) -> Array:
    return flags if flags.ndim == 1 else np.asarray(flags.any(axis=1))


def evaluate(problem: Problem, planes: Planes, criterion: Criterion) -> Evaluation:
    """Scan every row that takes part."""
    return evaluate_both(problem, planes, None, criterion)[0]


def evaluate_both(
    problem: Problem, planes: Planes, last: Planes | None, criterion: Criterion, measure: Measure | None = None
) -> tuple[Evaluation, Evaluation | None]:
    """Scan every row once for the model and for the last iterate, which counts only if no row violates its margin.

    The second result is None when a row does, or when there is no `last`. `measure` gives the loss of the model.
    """
    score = planes.scorer(problem.rows)
    score_last = None if last is None else last.scorer(problem.rows)
    violated: list[bool] = []

    def piece(span: tuple[int, int]) -> tuple[Evaluation, Evaluation | None]:
        index, found = problem.index(*span), None
        if score_last is not None:
            found, end = NOTHING, 0
            while found is not None and end < index.size and not violated:
                part = index[end : 4 * end + FIRST_ROWS]
                end += part.size
                scores = score_last(part)
                found = found.joined(_summary(problem, part, scores, criterion)) if all_finite(scores) else None
                if found is None or found.violations:
                    violated.append(True)
        scores = score(index)
        seen = _summary(problem, index, scores, criterion)
        return seen if measure is None else seen._replace(loss=measure(problem, index, scores)), found

    seen = in_pieces(piece, problem.size, problem.per_row, planes.coef.shape[0])
    kept = functools.reduce(Evaluation.joined, [one for one, _ in seen]) if seen else NOTHING
    if last is None or violated:
        return kept, None
    return kept, functools.reduce(Evaluation.joined, [one for _, one in seen if one is not None], NOTHING)


def _summary(problem: Problem, index: Array, scores: Array, criterion: Criterion) -> Evaluation:
    """The contribution of these rows to a scan."""
    check_scores(scores)
    counted = _counted(problem, index, scores, criterion)
    if counted is not None:
        low, violations, errors = counted
        return Evaluation(np.array([low]), violations, errors)
    found = row_margins(problem, index, scores, criterion)
    wrong = _by_row(found.wrong)
    if scores.ndim == 2 and problem.truth.ndim == 1:
        wrong = decide(scores) != problem.truth[index]  # one-vs-rest: the largest score decides
    lows = found.margins.min(axis=0, keepdims=found.margins.ndim == 1)
    return Evaluation(lows, int(np.count_nonzero(_by_row(found.violates))), int(np.count_nonzero(wrong)))


def _counted(problem: Problem, index: Array, scores: Array, criterion: Criterion) -> tuple[float, int, int] | None:
    """The smallest margin, violations and errors of classes that are decided together, None for other problems.

    In one loop, what `row_margins` computes array by array, which takes longer than the scores of short rows.
    """
    if criterion.numbers:
        return None
    if scores.ndim == 1:
        return _count_one(criterion, scores, problem.truth, index)
    return _count_joint(criterion, scores, problem.truth, index) if problem.scheme.joint else None


@callee
def _violates(criterion: Criterion, margin: float, lack: float) -> bool:
    """Whether a row shows that the learner has not converged; a margin of NaN does."""
    return not (lack < 0.0 if criterion.clears_margin else margin > 0.0)


@compiled
def _count_one(criterion: Criterion, scores: Array, truth: Array, index: Array) -> tuple[float, int, int]:
    """The smallest margin of two classes, the rows that violate theirs, and those misclassified; scores are finite."""
    low, violations, errors = np.inf, 0, 0
    for t in range(index.size):
        f, on = np.float64(scores[t]), truth[index[t]] > 0
        margin = f if on else -f
        low = min(low, margin)
        violations += 1 if _violates(criterion, margin, (criterion.high if on else criterion.low) - margin) else 0
        errors += 1 if (margin <= 0.0 if criterion.tie_is_mistake else (f > 0.0) != on) else 0
    return low, violations, errors


@compiled
def _count_joint(criterion: Criterion, scores: Array, truth: Array, index: Array) -> tuple[float, int, int]:
    """The same for many classes."""
    low, violations, errors = np.inf, 0, 0
    for t in range(index.size):
        row, true = scores[t], np.int64(truth[index[t]])
        wrong = rival(row, true)
        margin = np.float64(row[true]) - np.float64(row[wrong])
        lack = criterion.high - margin
        low = min(low, margin)
        stands = criterion.clears_margin and lack == 0.0 and criterion.high == 0.0 and wins_tie(true, wrong)
        violations += 1 if _violates(criterion, margin, lack) and not stands else 0
        errors += 1 if margin < 0.0 or (margin == 0.0 and wins_tie(wrong, true)) else 0
    return low, violations, errors


def clean(problem: Problem, planes: Planes, criterion: Criterion) -> bool:
    """Whether no row that takes part violates the rule's margin, as after convergence."""
    return not any(
        _evaluated(problem, index, planes, criterion).violates.any() for index in problem.pieces(planes.coef.shape[0])
    )


def total_loss(problem: Problem, planes: Planes, criterion: Criterion) -> float:
    """The weighted sum of the missing margins."""
    loss = 0.0
    for index in problem.pieces(planes.coef.shape[0]):
        lack = np.maximum(_evaluated(problem, index, planes, criterion).lack, 0)
        loss += float(problem.mass(index) @ (lack if lack.ndim == 1 else lack.sum(axis=1)))
    return loss


def row_to_learn_from(problem: Problem, planes: Planes, criterion: Criterion, worst: bool, bias: float) -> int | None:
    """The first row that the rule would learn from, or the one whose margin is furthest short; None if there is none.

    Without a bias an empty row never changes the weights, and is skipped.
    """
    best, most = None, -np.inf
    for index in problem.pieces(planes.coef.shape[0]):
        found = _evaluated(problem, index, planes, criterion)
        need = np.where(found.learns, found.lack, -np.inf)
        need = need if need.ndim == 1 else need.max(axis=1)
        if bias == 0:
            asks = np.flatnonzero(need > -np.inf)
            need[asks[empty(copy_rows(problem.rows, index[asks], planes.coef.shape[1]))]] = -np.inf
        at = int(np.argmax(need if worst else need > -np.inf))
        if need[at] > most:
            best, most = int(index[at]), float(need[at])
            if not worst:
                break
    return best


def empty(X: Any) -> Array:
    """Whether each row of an array or CSR matrix is all zeros."""
    if isinstance(X, np.ndarray):
        return np.asarray(~X.any(axis=1))
    found = np.ones(X.shape[0], dtype=bool)
    found[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[X.data != 0]] = False
    return found


def wrong(problem: Problem, kept: Model, labels: bool) -> tuple[int, float]:
    """The number of misclassified rows and their weight; of two classes a tie is a mistake.

    `problem` is that of all classes.
    """
    rows, mass = 0, 0.0
    for index in problem.pieces(max(kept.classes, 1)):
        scores = check_scores(kept.scores(problem.rows, index))
        counted = None if labels or problem.weights.size else _counted(problem, index, scores, MISTAKE)
        if counted is not None:
            rows, mass = rows + counted[2], mass + counted[2]
            continue
        truth = problem.truth[index]
        if labels:
            bad = (np.where(truth > 0, scores, -scores) <= 0).any(axis=1)
        elif scores.ndim == 1:
            bad = np.where(truth > 0, scores, -scores) <= 0
        else:
            bad = decide(scores) != truth
        rows += int(np.count_nonzero(bad))
        mass += float(problem.mass(index)[bad].sum())
    return rows, mass
