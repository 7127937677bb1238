"""Evaluation of planes on rows: errors, the smallest margin, the worst row. It runs in pieces, so that Ctrl-C works.

The margin of a row is y·f for two classes, s_y − max s_r for many, and y_k·f_k per column for one-vs-rest and labels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np

from rosenblatt.compiling import compiled
from rosenblatt.data.declared_fields import floats
from rosenblatt.data.examples import Dense, Sparse, gathered, in_pieces, is_narrow, spans
from rosenblatt.learn.compiled_loops import VisitTask
from rosenblatt.learn.models import Model, Planes, copy_rows
from rosenblatt.learn.online.first_order import edge, tie_stands
from rosenblatt.learn.online.rules import PERCEPTRON, SECOND_ORDER, Encoded, PerceptronRule, Rule, violates
from rosenblatt.learn.overflow import all_finite, check_scores
from rosenblatt.learn.schemes import Scheme
from rosenblatt.learn.tie_rule import decide, rival, wins_tie

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


class Evaluation(NamedTuple):
    """The result of a scan of all rows."""

    lows: Annotated[Array, floats("columns")]  # the smallest margin, one per column if columns are separate problems
    violations: int  # rows whose margin is below the rule's
    errors: int  # misclassified rows; of labels, those with any label wrong
    loss: float = 0.0  # summed by weight, if it was measured

    def joined(self, other: Evaluation) -> Evaluation:
        """The result for the rows of both scans."""
        lows = np.minimum(self.lows, other.lows)
        return Evaluation(lows, self.violations + other.violations, self.errors + other.errors, self.loss + other.loss)


NOTHING = Evaluation(np.array([np.inf]), 0, 0)  # of no rows


class RowMargins(NamedTuple):
    """Rows as a rule judges them; each (n,), or (n, K) if columns are separate problems."""

    margins: Array  # −|y − f| for regression
    lack: Array  # the required margin minus the margin
    learns: Array  # whether the rule would make an update
    violates: Array  # whether the row shows that the learner has not converged
    wrong: Array  # whether it is wrong; of two classes a tie is, unless the rule says otherwise


def row_margins(problem: Problem, index: Array, scores: Array, rule: Rule) -> RowMargins:
    """Compare scores with the targets."""
    truth, encoded = problem.truth[index], rule.encode(1.0, 0, 0.0)
    if problem.scheme.joint:
        return _class_margins(truth, scores, encoded)
    if encoded.tube >= 0:
        wide = scores.astype(np.float64)
        rounding = np.maximum(np.maximum(np.abs(truth), np.abs(wide)), encoded.tube) * edge(
            scores.itemsize, 1.0, 0.0, 0.0
        )
        margins = -np.abs(truth - wide)
        lack = -encoded.tube - margins
        outside = lack > rounding
        return RowMargins(margins, lack, outside, outside, outside)
    sides = truth if scores.ndim == 1 else problem.scheme.sides(truth, scores.shape[1])
    margins = (sides * scores).astype(np.float64, copy=False)
    asked = encoded.high if encoded.high == encoded.low else np.where(sides > 0, encoded.high, encoded.low)
    lack = asked - margins
    learns = lack >= 0 if encoded.code in (PERCEPTRON, SECOND_ORDER) else lack > 0
    mistaken = margins <= 0
    wrong = mistaken if getattr(rule, "tie_is_mistake", True) else (scores > 0) != (sides > 0)
    return RowMargins(margins, lack, learns, learns if encoded.code == PERCEPTRON else mistaken, wrong)


def _class_margins(truth: Array, scores: Array, encoded: Encoded) -> RowMargins:
    at = np.arange(truth.size)
    others = scores.astype(np.float64)
    true = others[at, truth]
    others[at, truth] = -np.inf
    other = np.argmax(others, axis=1)
    margins = true - others[at, other]
    lack = encoded.high - margins
    stands = (lack == 0) & (encoded.high == 0) & wins_tie(truth, other)
    learns = (lack >= 0) & ~stands if encoded.code in (PERCEPTRON, SECOND_ORDER) else lack > 0
    wrong = (margins < 0) | ((margins == 0) & wins_tie(other, truth))
    return RowMargins(margins, lack, learns, learns if encoded.code == PERCEPTRON else margins <= 0, wrong)


def _evaluated(problem: Problem, index: Array, planes: Planes, rule: Rule) -> RowMargins:
    """The margins of these rows."""
    return row_margins(problem, index, check_scores(planes.raw(problem.rows, index)), rule)


def _by_row(flags: Array) -> Array:
    return flags if flags.ndim == 1 else np.asarray(flags.any(axis=1))


def evaluate(problem: Problem, planes: Planes, rule: Rule) -> Evaluation:
    """Scan every row that takes part."""
    return evaluate_both(problem, planes, None, rule)[0]


def evaluate_both(
    problem: Problem, planes: Planes, last: Planes | None, rule: Rule, measure: Measure | None = None
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
                found = found.joined(_summary(problem, part, scores, rule)) if all_finite(scores) else None
                if found is None or found.violations:
                    violated.append(True)
        scores = score(index)
        seen = _summary(problem, index, scores, rule)
        return seen if measure is None else seen._replace(loss=measure(problem, index, scores)), found

    seen = in_pieces(piece, problem.size, problem.per_row, planes.coef.shape[0])
    kept = functools.reduce(Evaluation.joined, [one for one, _ in seen]) if seen else NOTHING
    if last is None or violated:
        return kept, None
    return kept, functools.reduce(Evaluation.joined, [one for _, one in seen if one is not None], NOTHING)


def _summary(problem: Problem, index: Array, scores: Array, rule: Rule) -> Evaluation:
    """The contribution of these rows to a scan."""
    check_scores(scores)
    counted = _counted(problem, index, scores, rule)
    if counted is not None:
        low, violations, errors = counted
        return Evaluation(np.array([low]), violations, errors)
    found = row_margins(problem, index, scores, rule)
    wrong = _by_row(found.wrong)
    if scores.ndim == 2 and problem.truth.ndim == 1:
        wrong = decide(scores) != problem.truth[index]  # one-vs-rest: the largest score decides
    lows = found.margins.min(axis=0, keepdims=found.margins.ndim == 1)
    return Evaluation(lows, int(np.count_nonzero(_by_row(found.violates))), int(np.count_nonzero(wrong)))


def _counted(problem: Problem, index: Array, scores: Array, rule: Rule) -> tuple[float, int, int] | None:
    """The smallest margin, violations and errors of classes that are decided together, None for other problems.

    In one loop, what `row_margins` computes array by array, which takes longer than the scores of short rows.
    """
    encoded = rule.encode(1.0, 0, 0.0)
    if encoded.tube >= 0:
        return None
    if scores.ndim == 1:
        tie_is_mistake = bool(getattr(rule, "tie_is_mistake", True))
        return _count_one(encoded, scores, problem.truth, index, tie_is_mistake)
    return _count_joint(encoded, scores, problem.truth, index) if problem.scheme.joint else None


@compiled
def _count_one(
    rule: Encoded, scores: Array, truth: Array, index: Array, tie_is_mistake: bool
) -> tuple[float, int, int]:
    """The smallest margin of two classes, the rows that violate theirs, and those misclassified; scores are finite."""
    low, violations, errors = np.inf, 0, 0
    for t in range(index.size):
        f, on = np.float64(scores[t]), truth[index[t]] > 0
        margin = f if on else -f
        low = min(low, margin)
        violations += 1 if violates(rule, margin, (rule.high if on else rule.low) - margin) else 0
        errors += 1 if (margin <= 0.0 if tie_is_mistake else (f > 0.0) != on) else 0
    return low, violations, errors


@compiled
def _count_joint(rule: Encoded, scores: Array, truth: Array, index: Array) -> tuple[float, int, int]:
    """The same for many classes."""
    low, violations, errors = np.inf, 0, 0
    for t in range(index.size):
        row, true = scores[t], np.int64(truth[index[t]])
        wrong = rival(row, true)
        margin = np.float64(row[true]) - np.float64(row[wrong])
        lack = rule.high - margin
        low = min(low, margin)
        stands = rule.code == PERCEPTRON and tie_stands(rule, lack, true, wrong)
        violations += 1 if violates(rule, margin, lack) and not stands else 0
        errors += 1 if margin < 0.0 or (margin == 0.0 and wins_tie(wrong, true)) else 0
    return low, violations, errors


def clean(problem: Problem, planes: Planes, rule: Rule) -> bool:
    """Whether no row that takes part violates the rule's margin, as after convergence."""
    return not any(
        _evaluated(problem, index, planes, rule).violates.any() for index in problem.pieces(planes.coef.shape[0])
    )


def total_loss(problem: Problem, planes: Planes, rule: Rule) -> float:
    """The weighted sum of the missing margins."""
    loss = 0.0
    for index in problem.pieces(planes.coef.shape[0]):
        lack = np.maximum(_evaluated(problem, index, planes, rule).lack, 0)
        loss += float(problem.mass(index) @ (lack if lack.ndim == 1 else lack.sum(axis=1)))
    return loss


def row_to_learn_from(problem: Problem, planes: Planes, rule: Rule, worst: bool, bias: float) -> int | None:
    """The first row that the rule would learn from, or the one whose margin is furthest short; None if there is none.

    Without a bias an empty row never changes the weights, and is skipped.
    """
    best, most = None, -np.inf
    for index in problem.pieces(planes.coef.shape[0]):
        found = _evaluated(problem, index, planes, rule)
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
        counted = None if labels or problem.weights.size else _counted(problem, index, scores, PerceptronRule())
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
