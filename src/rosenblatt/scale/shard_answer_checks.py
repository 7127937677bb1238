"""Checks of the answer of a shard before it reaches the model: see `estimators.base.state_checks`.

A worker may have faulty memory, another version of a library, or modified code. Its answers are therefore checked
like a model file, and an invalid answer is an error that names the shard and the worker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rosenblatt.data.columns.accumulation import ColumnAccumulator
from rosenblatt.data.errors import FileError
from rosenblatt.data.formats.contents import Contents
from rosenblatt.data.formats.reading import Reading
from rosenblatt.data.formats.table_layout import ColumnSurvey
from rosenblatt.estimators.base.state_checks import check_machine, is_count, is_number, must
from rosenblatt.learn.counters import Count
from rosenblatt.learn.evaluation import Evaluation
from rosenblatt.learn.mixing import OnePass, ShardResult
from rosenblatt.learn.online.state import Machine
from rosenblatt.learn.overflow import Largest
from rosenblatt.learn.scans import Clean, Errors, Scan
from rosenblatt.scale.large_tables import AskTraining
from rosenblatt.scale.shards import Shard, ShardContents, TimedAnswer
from rosenblatt.scale.table_survey import Sample, Survey

Array = np.ndarray[Any, Any]
Check = Callable[[Any, Shard], None]
LABELS = (str, bytes, int, float, np.generic)


def accepted(answer: Any, check: Check, shard: Shard, worker: str) -> Any:
    """The answer of a shard; an error if it is not valid."""
    try:
        check(answer, shard)
    except Exception as error:  # it may be wrong in any way; all give the same error
        raise FileError(f"the answer of {worker} cannot be used: {error}", shard.name) from error
    return answer


def _is_amount(value: Any) -> bool:
    """Whether this is a number that is at least 0, possibly infinite, because sums of squares may overflow."""
    return isinstance(value, int | float | np.integer | np.floating) and bool(value >= 0)


def _finite(array: Array) -> bool:
    """Whether there is neither NaN nor infinity: the extremes show it without another array."""
    return not array.size or bool(math.isfinite(array.min()) and math.isfinite(array.max()))


# -- the contents of shards ------------------------------------------------------------------------------------------


def check_survey(columns: Any, shard: Shard) -> None:
    """Check the answer to `AskColumns`."""
    must(isinstance(columns, dict) and all(isinstance(name, str) for name in columns), "columns by their names")
    for one in columns.values():
        must(isinstance(one, ColumnSurvey) and is_count(one.numbers) and is_count(one.total, one.numbers), "a column")
        must(isinstance(one.whole, bool) and isinstance(one.rounded, bool), "the kind of numbers in a column")
        must(one.first is None or (isinstance(one.first, tuple) and len(one.first) == 3), "where the first name is")


def check_vocabulary(columns: Sequence[str], found: Any, shard: Shard) -> None:
    """Check the answer to `AskNames`, for these columns."""
    must(isinstance(found, dict) and set(found) == set(columns), "the requested columns")
    for words in found.values():
        must(isinstance(words, set) and all(isinstance(word, str) for word in words), "names that are text")


def check_found(found: Any, shard: Shard) -> None:
    """Check the answer to `AskContents`."""
    must(isinstance(found, ShardContents) and isinstance(found.single, bool), "what the shard holds")
    held = found.contents
    must(isinstance(held, Contents) and isinstance(held.how, Reading), "what the shard holds")
    must(is_count(held.rows) and is_count(held.stored) and is_count(held.most, -1), "numbers of rows and columns")
    must(_is_amount(held.radius2), "a radius")
    must(isinstance(held.dense, bool) and isinstance(held.zero, bool), "how rows are stored")
    labels = () if held.labels is None else held.labels
    must(isinstance(labels, tuple) and isinstance(held.counts, tuple), "labels and their numbers")
    must(all(isinstance(label, LABELS) for label in labels), "labels that are names or numbers")
    must(len(labels) == len(held.counts) and all(is_count(count) for count in held.counts), "a number for each label")


def check_survey_of_table(found: Any, shard: Shard) -> None:
    """Check the answer to `AskSurvey`."""
    must(isinstance(found, Survey) and is_count(found.rows) and is_count(found.unlabelled), "a survey of rows")
    must(isinstance(found.label, ColumnAccumulator) and found.label.rows == found.rows, "a label for each row")
    for sample in (found.held, found.searched, found.texts):
        must(isinstance(sample, Sample) and is_count(sample.level), "samples of rows")
        rows = [part.numbers.size for part in sample.parts]
        must(sum(rows) == sample.rows <= found.rows, f"samples of {found.rows:,} rows")
        must(all(part.table.rows == part.hashes.size == n for part, n in zip(sample.parts, rows, strict=True)), "rows")
    for name, one in found.columns.items():
        must(isinstance(name, str) and isinstance(one, ColumnAccumulator), "columns by their names")
        must(is_count(one.missing) and one.missing <= one.rows == found.rows - found.held.rows, "statistics of columns")


# -- the results of passes and scans ---------------------------------------------------------------------------------


def check_answered(
    question: Any, sizes: Sequence[int], places: dict[str, int], features: int, answered: Any, shard: Shard
) -> None:
    """Check the answer to a question about the examples of a shard."""
    must(isinstance(answered, TimedAnswer) and _is_amount(answered.reading), "an answer")
    CHECKS[type(question)](question, answered.value, sizes[places[shard.name]], features)


def _check_part(question: OnePass, part: Any, rows: int, features: int) -> None:
    """Check the result of one pass, which started from the weights of the question."""
    start = question.solver.state
    must(isinstance(part, ShardResult) and isinstance(part.machines, tuple), "what was learned")
    must(len(part.machines) == len(part.losses) == len(start.machines), f"{len(start.machines)} machines")
    for machine, begin in zip(part.machines, start.machines, strict=True):
        must(isinstance(machine, Machine), "machines")
        _check_pass(machine, begin, start.keep, features)
    made = sum(machine.updates for machine in part.machines) - start.updates
    must(is_count(part.updates) and part.updates == made, "as many updates as its machines made")
    must(is_count(part.rows) and part.rows == rows, f"a pass over {rows:,} rows")
    must(all(is_number(loss) for loss in part.losses) and _is_amount(part.violations), "finite losses")
    must(_is_amount(part.radius2) and is_number(part.bias) and isinstance(part.whole, bool), "a radius and a bias")
    must(_is_amount(part.seconds), "the seconds that it took")


def _check_pass(machine: Machine, begin: Machine, keep: str, features: int) -> None:
    """Check that a machine can be mixed with others that began in the same state."""
    check_machine(machine, begin.intercept.size, features, begin.covariance is not None)
    must(machine.coef.dtype == begin.coef.dtype, f"weights of {begin.coef.dtype}")
    must(type(machine.covariance) is type(begin.covariance), "the same covariance")
    must(machine.average is not None or keep != "average", "the sums of an average")
    must(machine.debt is not None or begin.debt is None, "the debts of a penalty")  # the first pass may create them
    must(all(map(_finite, (*machine.arrays, machine.tally, machine.moves))), "finite weights, found NaN or infinity")
    must(all(machine.tally[k] >= begin.tally[k] for k in (Count.CLOCK, Count.UPDATES)), "counts that do not decrease")
    if machine.covariance is not None:
        diagonal = machine.covariance.variances
        arrays = machine.covariance.arrays if diagonal is None else (diagonal,)
        must(all(array.min(initial=1) > 0 for array in arrays), "variances above 0")


def _check_scan(question: Scan, scans: Any, rows: int, features: int) -> None:
    planes = question.planes
    count = planes.scheme.machines(planes.classes)
    must(isinstance(scans, list) and len(scans) in (0, count), f"{count} scans")
    for pair in scans:
        must(isinstance(pair, tuple) and len(pair) == 2, "a scan of each machine, and one of its last iterate")
    found = [one for pair in scans for one in (pair[:1] if pair[1] is None else pair)]
    for one in found:
        must(isinstance(one, Evaluation) and isinstance(one.lows, np.ndarray), "a scan of each machine")
        must(one.lows.dtype.kind == "f" and one.lows.shape in ((1,), (planes.classes,)), "the smallest margins")
        must(not np.isnan(one.lows).any(), "margins that are numbers")
        must(is_count(one.violations) and is_count(one.errors), "numbers of rows")
        must(max(one.violations, one.errors) <= rows, f"at most {rows:,} rows")
        must(is_number(one.loss), "a finite loss")


def _check_errors(question: Errors, errors: Any, rows: int, features: int) -> None:
    must(is_count(errors) and errors <= rows, f"at most {rows:,} errors")


def _check_clean(question: Clean, clean: Any, rows: int, features: int) -> None:
    must(isinstance(clean, bool), "yes or no")


def _check_place(question: Largest, place: Any, rows: int, features: int) -> None:
    must(isinstance(place, tuple) and len(place) == 4 and place[3] == rows, "a row, a column and a value")
    must(all(is_count(one) for one in place[:2]) and is_number(place[2]), "a row, a column and a value")
    must(place[0] < max(rows, 1) and place[1] < features, f"a place in {rows:,} rows of {features:,} columns")


def _check_sums(question: AskTraining, answer: Any, rows: int, features: int) -> None:
    must(isinstance(answer, tuple), "sums over rows")
    told = [one for one in answer if one is not None]
    must(all(isinstance(one, int | float | np.ndarray) for one in told), "numbers")
    must(not any(np.isnan(one).any() for one in told), "numbers, found NaN")


CHECKS: dict[type, Callable[[Any, Any, int, int], None]] = {
    OnePass: _check_part,
    Largest: _check_place,
    Scan: _check_scan,
    Errors: _check_errors,
    Clean: _check_clean,
    AskTraining: _check_sums,
}
