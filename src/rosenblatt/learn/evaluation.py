"""How planes do on rows: errors, the smallest margin, the row that is most wrong. Chunk by chunk, so that Ctrl-C is heard.

The margin of a row is y·f for two classes, s_y − max s_r for many, and for one-vs-rest or labels one y_k·f_k a column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.data.examples import Dense, Sparse, spans
from rosenblatt.learn.kept import Kept, Planes, decide
from rosenblatt.learn.rules import PerceptronRule, Rule

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Problem:
    """What one machine learns: rows, what is true of them, and which take part."""

    rows: Dense | Sparse
    truth: Array  # ±1 (int8), codes (int32), an indicator (int8, 2-D) or numbers
    weights: Array  # one a row, empty when all are 1
    present: Array | None
    size: int
    total: float  # the weight of all rows that take part
    scheme: str

    def pieces(self, columns: int) -> Iterator[Array]:
        """The rows that take part, in pieces that are quickly scored."""
        for begin, end in spans(self.size, self.per_row * columns):
            yield self.index(begin, end)

    def index(self, begin: int, end: int) -> Array:
        """The rows at places `begin` to `end` of those that take part."""
        if self.present is not None:
            return self.present[begin:end]
        return np.arange(begin, end, dtype=np.uint64)

    @property
    def per_row(self) -> float:
        """Stored values a row."""
        return self.rows.values.size / max(self.truth.shape[0], 1)

    def mass(self, index: Array) -> Array:
        """The weights of these rows."""
        return self.weights[index] if self.weights.size else np.ones(index.size)


@dataclass(frozen=True)
class Evaluation:
    """What a scan of all rows saw."""

    lows: Array  # the smallest margin, one a column where columns live apart
    violations: int  # rows that do not have the margin the rule asks for
    errors: int  # rows with a margin of 0 or less, in any column
    loss: float  # mean loss


def margins(problem: Problem, index: Array, scores: Array) -> Array:
    """The margins of these rows, (n,), or (n, K) where columns live apart; −|y − f| for regression."""
    truth = problem.truth[index]
    if problem.scheme == "ovr":
        signs = 2.0 * (truth if truth.ndim == 2 else truth[:, None] == np.arange(scores.shape[1])) - 1.0
        return np.asarray(signs * scores)
    if problem.scheme == "multinomial":
        at = np.arange(index.size)
        true = scores[at, truth]
        others = scores.copy()
        others[at, truth] = -np.inf
        return np.asarray(true.astype(np.float64) - others.max(axis=1))
    if truth.dtype.kind == "f":
        return -np.abs(truth - scores)
    return np.asarray(truth * scores.astype(np.float64))


def lacks(problem: Problem, index: Array, scores: Array, rule: Rule) -> tuple[Array, Array, Array]:
    """Margins, what they lack of the margin that the rule asks for, and whether that shows it not converged."""
    found = margins(problem, index, scores)
    encoded = rule.encode(1.0, 0, 0.0)
    asked: Any = encoded.high
    if problem.scheme != "multinomial" and encoded.low != encoded.high:
        truth = problem.truth[index]
        on = truth > 0 if found.ndim == 1 else truth if truth.ndim == 2 else truth[:, None] == np.arange(found.shape[1])
        asked = np.where(on, encoded.high, encoded.low)
    if encoded.tube >= 0:
        asked = -encoded.tube
    lack = asked - found
    if isinstance(rule, PerceptronRule):
        return found, lack, lack >= 0
    return found, lack, lack > 0 if encoded.tube >= 0 else found <= 0


def evaluate(problem: Problem, planes: Planes, rule: Rule) -> Evaluation:
    """Scan every row that takes part."""
    columns = planes.coef.shape[0]
    lows: Any = np.inf
    violations, errors, loss = 0, 0, 0.0
    for index in problem.pieces(columns):
        found, lack, bad = lacks(problem, index, planes.raw(problem.rows, index), rule)
        lows = np.minimum(lows, found.min(axis=0))
        violations += int(np.count_nonzero(bad if bad.ndim == 1 else bad.any(axis=1)))
        errors += int(np.count_nonzero(found <= 0 if found.ndim == 1 else (found <= 0).any(axis=1)))
        loss += float(problem.mass(index) @ np.maximum(lack, 0).reshape(index.size, -1).sum(axis=1))
    return Evaluation(np.atleast_1d(lows), violations, errors, loss / max(problem.total, 1e-300))


def find(problem: Problem, planes: Planes, rule: Rule, worst: bool) -> int | None:
    """The first row that the rule would learn from, or the one that lacks most; None when there is none."""
    best, most = None, -np.inf
    for index in problem.pieces(planes.coef.shape[0]):
        _, lack, _ = lacks(problem, index, planes.raw(problem.rows, index), rule)
        lack = lack if lack.ndim == 1 else lack.max(axis=1)
        at = int(np.argmax(lack if worst else lack >= 0))
        if lack[at] >= 0 and lack[at] > most:
            best, most = int(index[at]), float(lack[at])
            if not worst:
                break
    return best


def wrong(problem: Problem, kept: Kept, labels: bool) -> tuple[int, float]:
    """Rows answered wrongly by class, a tie being a mistake, and their weight. `problem` is that of all classes."""
    rows, mass = 0, 0.0
    for index in problem.pieces(max(kept.classes, 1)):
        scores = kept.scores(problem.rows, index)
        truth = problem.truth[index]
        if labels:
            bad = (np.where(truth > 0, scores, -scores) <= 0).any(axis=1)
        elif scores.ndim == 1:
            bad = np.where(truth > 0, scores, -scores) <= 0
        elif kept.scheme == "ovo":
            bad = decide(scores) != truth
        else:
            at = np.arange(index.size)
            others = scores.copy()
            others[at, truth] = -np.inf
            bad = others.max(axis=1) >= scores[at, truth]
        rows += int(np.count_nonzero(bad))
        mass += float(problem.mass(index)[bad].sum())
    return rows, mass
