"""A table in memory: choose a setting, score rows by models that did not learn from them, then learn from all."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.learn.phases import phase
from rosenblatt.tables.columns.encoding import ParsedColumn, encoded, learned
from rosenblatt.tables.columns.fourier import FourierFeatures
from rosenblatt.tables.columns.frames import Table
from rosenblatt.tables.columns.held_out import at_level, level_for, row_hashes
from rosenblatt.tables.columns.used_columns import UsedColumns
from rosenblatt.tables.cross_fitting import Candidates
from rosenblatt.tables.encoder import encoder_of
from rosenblatt.tables.plan import Choice, LearnedTable, TablePlan, TableTask, TrainingRows, UnseenRows
from rosenblatt.tables.search_folds import FoldLearner
from rosenblatt.tables.search_rows import fourier_features, in_form
from rosenblatt.tables.settings import wave_count
from rosenblatt.tables.targets import Target

Array = np.ndarray[Any, Any]
MANY_ROWS, HELD_OUT = 200_000, 100_000  # tables with more rows hold out up to HELD_OUT of them once, in place of folds


def learn_table(
    plan: TablePlan, table: Table, target: Target, y: Array, weights: Array | None = None
) -> tuple[LearnedTable, UnseenRows, TrainingRows]:
    """Learn from columns and an encoded target."""
    if table.rows < 2:
        raise ValueError(f"{plan.name} cannot learn from 1 sample: it needs two rows or more.")
    phase(f"looking at {len(table.columns):,} columns of {table.rows:,} rows")
    used = UsedColumns(plan.options, tuple(table.columns), table.named, table.typed)
    columns = used.in_table(table, y, target.classes)
    task = TableTask(plan, target, table.rows > MANY_ROWS)
    return (_held_out if task.large else _cross_validated)(task, used, columns, y, weights)


def _held_out(
    task: TableTask, used: UsedColumns, columns: list[ParsedColumn], y: Array, weights: Array | None
) -> tuple[LearnedTable, UnseenRows, TrainingRows]:
    """Learn from most rows of a large table, and score the others."""
    hashes = row_hashes(0, y.size, task.plan.seed)
    held = at_level(hashes, level_for(hashes, HELD_OUT))
    rare, notes = task.target.rare()
    back = held & np.isin(y, rare)
    rows = np.flatnonzero(held & ~back)
    rest = np.concatenate([np.flatnonzero(~held), np.flatnonzero(back)])
    seen, tested = ([column.take(some) for column in columns] for some in (rest, rows))
    training, unseen = ((y[some], None if weights is None else weights[some]) for some in (rest, rows))
    phase("choosing a learner and its settings by a sample")
    choice = task.choice_by_sample(seen, *training, rest)
    seen = in_form(choice.setting, seen, used.options.columns)
    encodings = tuple(map(learned, seen))
    X = encoded(encodings, seen, rest.size)
    phase(f"learning from {rest.size:,} rows")
    learner = task.learned(choice.setting, X, *training)
    asked = encoded(encodings, in_form(choice.setting, tested, used.options.columns), rows.size)
    found = LearnedTable(task, encoder_of(used, encodings), None, learner, choice, (*notes, *used.described))
    scores = task.target.scores(learner, asked)
    return (
        found,
        UnseenRows(scores, unseen[0], np.zeros(rows.size, np.int64), unseen[1], tested),
        TrainingRows(X, *training),
    )


def _cross_validated(
    task: TableTask, used: UsedColumns, columns: list[ParsedColumn], y: Array, weights: Array | None
) -> tuple[LearnedTable, UnseenRows, TrainingRows]:
    """Score each fold by a model of the others, then learn from all rows."""
    folds, notes = task.target.folds(y, task.plan.cv, task.plan.rng)
    phase("choosing a learner and its settings")
    choice = task.choice(columns, y, weights, folds)
    search = choice.search
    descent = _descent(task, choice, columns, y, weights, folds)
    if descent is None or choice.setting is None:
        form = in_form(choice.setting, columns, used.options.columns)
        scores = _out_of_fold(task, choice, form, y, weights, folds)
        encodings = tuple(map(learned, form))
        X, waves = _beside_waves(task, choice, encoded(encodings, form, y.size))
        phase(f"learning from {y.size:,} rows")
        learner = task.learned(choice.setting, X, y, weights)
    else:
        known = None if search is None or not search.whole else search.scores.get(choice.setting)
        scores = task.target.from_learning(descent.out_of_fold(choice.setting) if known is None else known)
        best = descent.form(choice.setting)
        encodings, waves, X = best.encodings, best.waves, best.X
        learner = task.learned(choice.setting, X, y, weights, descent.planes(choice.setting))
    found = LearnedTable(task, encoder_of(used, encodings), waves, learner, choice, (*notes, *used.described))
    tested = np.flatnonzero(folds >= 0)
    mass = None if weights is None else weights[tested]
    asked = columns if tested.size == y.size else [column.take(tested) for column in columns]
    unseen = UnseenRows(scores[tested], y[tested], folds[tested], mass, asked, _candidates(task, choice, scores, folds))
    return found, unseen, TrainingRows(X, y, weights)


def _descent(
    task: TableTask, choice: Choice, columns: list[ParsedColumn], y: Array, weights: Array | None, folds: Array
) -> FoldLearner | None:
    """What learns the chosen setting in all folds at once; None where each fold has a learner of its own."""
    setting, search = choice.setting, choice.search
    if setting is None or search is None:
        return None
    if search.rows.numbers is None:
        known = search.whole or (setting.by_descent and search.learner.form(setting).is_small)
        return search.learner if known else None
    if not setting.by_descent:
        return None
    learner = FoldLearner(task.rows(columns, task.target.for_learning(y), weights, folds))
    return learner if learner.form(setting).is_small else None


def _candidates(task: TableTask, choice: Choice, scores: Array, folds: Array) -> tuple[Candidates, ...]:
    """What the setting was chosen from, for a score that accounts for the choice."""
    if choice.search is None:
        return ()
    tested, numbers = folds >= 0, choice.search.rows.numbers
    some = choice.search.tested if choice.search.one_fold else np.ones(choice.search.tested.size, bool)
    chose = np.flatnonzero(some) if numbers is None else numbers[some]
    if 2 * chose.size <= folds.size:  # the other rows had no part in the choice
        others = tested.copy()
        others[chose] = False
        found = [Candidates(scores[None], tested, others)]
    else:
        searched = choice.search.candidates()
        found = [one._replace(scores=task.target.from_learning(one.scores)) for one in searched]
        found = found if numbers is None else [one.among(numbers, folds.size) for one in found]
    return tuple(one.take(np.flatnonzero(tested)) for one in found)


def _out_of_fold(
    task: TableTask, choice: Choice, columns: list[ParsedColumn], y: Array, weights: Array | None, folds: Array
) -> Array:
    """The score of each row by a model, encoders included, that was fitted without the row's fold."""
    scores: Array | None = None
    count = int(folds.max(initial=-1)) + 1
    for fold in range(count):
        phase(f"fold {fold + 1} of {count}")
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        seen = [column.take(train) for column in columns]
        encodings = tuple(map(learned, seen))
        asked = encoded(encodings, [column.take(test) for column in columns], test.size)
        X, waves = _beside_waves(task, choice, encoded(encodings, seen, train.size))
        learner = task.learned(choice.setting, X, y[train], None if weights is None else weights[train])
        found = task.target.scores(learner, asked if waves is None else waves.beside(asked))
        if scores is None:
            scores = np.zeros((folds.size, *found.shape[1:]))
        scores[test] = found
    return np.zeros(folds.size) if scores is None else scores


def _beside_waves(task: TableTask, choice: Choice, X: Any) -> tuple[Any, FourierFeatures | None]:
    """The rows with the random features of the setting, if it has any; and these."""
    waves = fourier_features(choice.setting, X, wave_count(X.shape[0], task.target.classes), task.plan.seed)
    return (X, None) if waves is None else (waves.beside(X), waves)
