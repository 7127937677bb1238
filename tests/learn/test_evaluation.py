"""Scans of all rows: one loop counts what arrays of margins say; the last iterate is left at its first violation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rosenblatt import LinearClassifier, LinearRegressor
from rosenblatt.compiled.row_arrays import Dense
from rosenblatt.learn import evaluation
from rosenblatt.learn.evaluation import (
    DECISION,
    FIRST_ROWS,
    MISTAKE,
    Criterion,
    Problem,
    evaluate,
    evaluate_both,
    row_margins,
    wrong,
)
from rosenblatt.learn.models import Planes
from rosenblatt.learn.schemes import JOINT, TWO, Scheme
from rosenblatt.online.rules import AROWRule, PassiveAggressiveRule, PerceptronRule, SecondOrderRule

CRITERIA = [
    MISTAKE,
    DECISION,
    PerceptronRule().criterion,
    PerceptronRule(0.5, 1.5).criterion,
    PerceptronRule(1.0, 1.0).criterion,
    PassiveAggressiveRule("PA-I", 1.0).criterion,
    PassiveAggressiveRule("PA-I", 1.0).criterion._replace(tie_is_mistake=False),
    AROWRule(1.0).criterion,
    SecondOrderRule().criterion,
]


def problem(X: Any, truth: Any, scheme: Scheme, present: Any = None) -> Problem:
    size = X.shape[0] if present is None else present.size
    return Problem(Dense(X), truth, np.zeros(0), present, size, float(size), scheme, float(X.shape[1]))


def by_arrays(task: Problem, planes: Planes, criterion: Criterion) -> tuple[float, int, int]:
    index = task.index(0, task.size)
    found = row_margins(task, index, planes.raw(task.rows, index), criterion)
    return float(found.margins.min()), int(found.violates.sum()), int(found.wrong.sum())


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("part", [False, True], ids=["all rows", "some rows"])
def test_a_scan_counts_what_the_margins_of_single_rows_say(criterion: Criterion, dtype: Any, part: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (200, 3)).astype(dtype)  # small whole numbers: many margins are 0, 0.5 or 1
    present = np.flatnonzero(rng.random(200) < 0.5).astype(np.uint64) if part else None
    two = problem(X, rng.choice(np.array([-1, 1], np.int8), 200), TWO, present)
    one = Planes(np.array([[1.0, -0.5, 0.5]], dtype), np.array([0.5], dtype), TWO, 2)
    many = problem(X, rng.integers(0, 4, 200).astype(np.int32), JOINT, present)
    four = Planes(rng.integers(-1, 2, (4, 3)).astype(dtype), np.zeros(4, dtype), JOINT, 4)
    for task, planes in ((two, one), (many, four)):
        found = evaluate(task, planes, criterion)
        assert (*found.lows, found.violations, found.errors) == by_arrays(task, planes, criterion)
        if criterion.tie_is_mistake:
            weighted = task._replace(weights=np.ones(200))  # by arrays
            assert wrong(task, planes, False) == wrong(weighted, planes, False) == (found.errors, found.errors)


@pytest.mark.parametrize("first", [0, FIRST_ROWS - 1, FIRST_ROWS, 3000, None])
def test_the_last_iterate_is_scored_up_to_its_first_violation(first: int | None, monkeypatch: Any) -> None:
    X = np.ones((4000, 1))
    truth = np.ones(4000, np.int8)
    if first is not None:
        truth[first] = -1
    scored: list[int] = []

    def counted(self: Planes, rows: Any) -> Any:
        score = scorer(self, rows)

        def count(index: Any) -> Any:
            if self is last:
                scored.append(index.size)
            return score(index)

        return count

    scorer = Planes.scorer
    monkeypatch.setattr(evaluation.Planes, "scorer", counted)
    kept, last = (Planes(np.array([[size]]), np.zeros(1), TWO, 2) for size in (2.0, 1.0))
    of_kept, of_last = evaluate_both(problem(X, truth, TWO), kept, last, MISTAKE)
    assert of_kept.errors == (0 if first is None else 1)
    if first is None:
        assert of_last is not None
        assert (*of_last.lows, of_last.violations, of_last.errors) == (1.0, 0, 0)
        assert sum(scored) == 4000
    else:
        assert of_last is None
        assert first < sum(scored) <= min(4000, 5 * max(first, FIRST_ROWS))


@pytest.mark.parametrize("model", [LinearClassifier(max_epochs=1), LinearRegressor(max_epochs=1, solver="stochastic")])
def test_errors_and_objective_come_from_one_scan(model: Any, monkeypatch: Any) -> None:
    scored: list[int] = []

    def counted(self: Planes, rows: Any) -> Any:
        score = scorer(self, rows)
        return lambda index: (scored.append(index.size), score(index))[1]  # type: ignore[func-returns-value]

    scorer = Planes.scorer
    monkeypatch.setattr(evaluation.Planes, "scorer", counted)
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.warns(ConvergenceWarning):
        model.fit(X, X[:, 0] > 0)
    assert model.report_.objective > 0
    assert sum(scored) == 50
