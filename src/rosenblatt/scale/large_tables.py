"""Models of tables in files that are larger than memory: one pass for the statistics, one for a cache of encoded rows.

The model learns from most rows, in the order of the file; a sample that fits in memory is held out to calibrate and
score it. A large table in memory is treated in the same way, with the same rows and the same results up to rounding.
The words of a text column come from another sample.
"""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor

from rosenblatt.compiled.row_arrays import Sparse
from rosenblatt.formats.byte_sources import (
    CHUNK_BYTES,
    PACKED,
    cache_folder,
    expand_paths,
    file_stamps,
    format_by_name,
    open_bytes,
)
from rosenblatt.formats.contents import MAX_LABELS
from rosenblatt.formats.declared_fields import must
from rosenblatt.formats.reading import Reading
from rosenblatt.formats.row_blocks import RowBlock, csr_from_arrays
from rosenblatt.formats.safe_writing import process_name
from rosenblatt.formats.table_batches import arrow_errors_as_file_errors
from rosenblatt.learn.epochs import EpochRecord
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.phases import phase
from rosenblatt.scale import row_cache
from rosenblatt.scale.checkpoints import Checkpoint
from rosenblatt.scale.file_source import CachedRows, FileSource, example_encoder
from rosenblatt.scale.memory_trimming import give_back
from rosenblatt.scale.row_cache import SUFFIX, RowCache, write_cache
from rosenblatt.scale.table_survey import LabelledParts, NumberedRows, Survey
from rosenblatt.shell.fitting import RowsWanted, train_from
from rosenblatt.tables.classifier import TableClassifier
from rosenblatt.tables.columns.encoding import ColumnEncoding, ParsedColumn, encoded, learned
from rosenblatt.tables.columns.files import TEXT
from rosenblatt.tables.columns.frames import Table
from rosenblatt.tables.columns.held_out import row_hashes
from rosenblatt.tables.columns.labels import Labels
from rosenblatt.tables.columns.numbers import Moments
from rosenblatt.tables.columns.used_columns import UsedColumns, columns_again
from rosenblatt.tables.columns.values import ColumnValues, as_codes, as_numbers, written
from rosenblatt.tables.encoder import TableEncoder, encoder_of
from rosenblatt.tables.model import TableModel, store
from rosenblatt.tables.plan import (
    Choice,
    LearnedTable,
    TablePlan,
    TableTask,
    TrainingParts,
    TrainingRows,
    UnseenRows,
)
from rosenblatt.tables.regressor import TableRegressor
from rosenblatt.tables.results import concluded
from rosenblatt.tables.search_rows import in_form
from rosenblatt.tables.targets import ClassTarget, NumberTarget, Target

Array = np.ndarray[Any, Any]
IN_MEMORY = 8  # a table in memory takes about this many times the bytes of its file
PART = 128  # a part of the rows takes at most this fraction of the memory limit


def fits_in_memory(source: Any, memory: int) -> bool:
    """Whether a table in these files can be held, encoded and learned from in this many bytes."""
    paths, room = expand_paths(source), memory // IN_MEMORY
    for path, stamp in zip(paths, file_stamps(paths), strict=True):
        room -= stamp.size if stamp.size > room else _unpacked_bytes(path, stamp.size, room)
        if room < 0:
            return False
    return True


def _unpacked_bytes(path: str, size: int, room: int) -> int:
    """The size of a file once it is decompressed; counting stops beyond `room`."""
    if path.endswith(PACKED):
        size = 0
        with open_bytes(path) as file:
            while size <= room and (part := file.read(CHUNK_BYTES)):
                size += len(part)
    elif format_by_name(path) == "parquet":
        with arrow_errors_as_file_errors(path):
            about = pq.read_metadata(path)
        packed = (about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        size = max(sum(packed), 8 * about.num_rows * about.num_columns)
    return size


@dataclass(frozen=True)
class TableJob:
    """A model of tables, or a mapping of its parameters, to be fitted to files."""

    estimator: Any
    task: str | None
    how: Reading
    memory: int
    point: Checkpoint
    label: str = ""  # the name of its column, once it is known
    began: float = field(default_factory=time.perf_counter)

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of columns that are known from the format."""
        return {TEXT: "text"} if self.how.format == "text" else {}

    def model(self, task: str) -> TableModel:
        """The model; of parameters that of the task that was asked for, or of this one."""
        if isinstance(self.estimator, TableModel):
            return self.estimator
        learner = self.estimator.get("learner")
        wanted = self.task or ("regression" if hasattr(learner, "fit") and is_regressor(learner) else task)
        if wanted == "regression" and hasattr(learner, "fit") and is_classifier(learner):
            raise ValueError(
                f"{type(learner).__name__} predicts classes, but the labels are numbers: choose a learner for numbers "
                "(--learner linear-regressor, or regressor), or say that they are classes (--task classification)."
            )
        kind: Any = TableRegressor if wanted == "regression" else TableClassifier
        model: TableModel = kind(**self.estimator)
        return model

    def survey(self) -> Survey:
        """A survey of no rows yet."""
        settings = settings_of(self.estimator)
        seed = TableClassifier(random_state=settings.get("random_state")).plan().seed
        return Survey(self.label, seed, {**self.kinds, **(settings.get("columns") or {})}, self.memory)


def settings_of(estimator: Any) -> Any:
    """The parameters of a model of tables, or these themselves."""
    return estimator.get_params() if isinstance(estimator, TableModel) else estimator


# -- labels ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelCodes:
    """The class of each label; without classes, labels are numbers."""

    codes: dict[str, int] | None

    def __call__(self, labels: ColumnValues) -> Array:
        """The classes of these rows, or their numbers."""
        if self.codes is None:
            return as_numbers(labels)
        found, words = as_codes(labels)
        places = np.array([self.codes[name] for name in written(words)], np.int64)
        return places[found] if places.size else np.zeros(0, np.int64)


def _target(plan: TablePlan, survey: Survey, names: list[str], counts: Array, labels: Labels) -> tuple[Any, LabelCodes]:
    """The target in all rows, and how labels become it."""
    if plan.target is NumberTarget:
        if survey.label.numbers < survey.rows:
            raise ValueError(f"TableRegressor needs numbers, but y has {survey.label.strays[0]!r}.")
        found = Moments.joined(survey.label.moments)
        return NumberTarget.measured(found.mean, found.deviation, survey.rows), LabelCodes(None)
    if survey.label.sample is not None:
        raise ValueError(f"There are more than {MAX_LABELS:,} different labels: for numbers use TableRegressor.")
    classes, codes = np.unique(labels.classes, return_inverse=True)
    rows = np.bincount(codes, counts, classes.size).astype(np.int64)
    target = ClassTarget.counted(classes, rows, plan.class_weight)
    return target, LabelCodes(dict(zip(names, codes.tolist(), strict=True)))


# -- the encoder, the setting and the held-out rows --------------------------------------------------------------------


@dataclass(frozen=True)
class RowEncoding:
    """Encodes rows and labels for the learner."""

    encoder: TableEncoder
    codes: LabelCodes
    target: Target

    def __call__(self, table: Table, labels: ColumnValues) -> RowBlock:
        """These rows, encoded."""
        return RowBlock(self.encoder.transform(table), self.target.for_learning(self.codes(labels)))


@dataclass(frozen=True)
class Preparation:
    """A learned encoder and a chosen setting for a model, and its held-out rows."""

    job: TableJob
    model: TableModel
    learned: LearnedTable  # without a learner
    codes: LabelCodes
    truth: Array  # of the held-out rows
    columns: list[ParsedColumn]  # of the held-out rows
    rare: Array  # classes that are not held out
    returned: NumberedRows  # the rows of these classes, which are learned from after all

    @property
    def width(self) -> int:
        """The number of features."""
        return sum(one.encoding.width for one in self.learned.encoder.columns_)

    @property
    def encoding(self) -> RowEncoding:
        """The encoding of the training rows."""
        return RowEncoding(self.learned.encoder, self.codes, self.learned.task.target)

    def conclude(self, learner: Any, training: TrainingParts) -> Any:
        """The model with this learner: calibrated, scored and summarised."""
        found, rows = replace(self.learned, learner=learner), self.truth.size
        scores = found.task.target.scores(learner, encoded(found.encoder.columns_, self.columns, rows))
        unseen = UnseenRows(scores, self.truth, np.zeros(rows, np.int64), None, self.columns)
        return store(self.model, concluded(found, unseen, training, self.job.began))

    def without_features(self) -> Any:
        """The model of a table without a column to learn from: one row per class, weighted by its count."""
        target = self.learned.task.target
        truth = np.arange(target.classes) if target.classes else target.scores(None, np.zeros((1, 0)))
        training = TrainingRows(sp.csr_matrix((truth.size, 0)), truth, target.counts.astype(np.float64))
        return self.conclude(None, training)


def prepared(job: TableJob, survey: Survey) -> Preparation:
    """Learn the encoder of a model and choose its setting, from a survey of all rows."""
    names, counts, labels = survey.labels()
    model = job.model(labels.task)
    plan = replace(model.plan(job.kinds), seed=survey.seed)
    target, codes = _target(plan, survey, names, counts, labels)
    survey.leave_rows()
    held = survey.held.joined()
    truth = codes(held.labels)
    rare, told = target.rare()
    back = np.isin(truth, rare) if rare.size else np.zeros(truth.size, np.bool_)
    returned, tested, truth = held.take(np.flatnonzero(back)), held.table.take(np.flatnonzero(~back)), truth[~back]
    survey.learn(returned)
    used, notes = UsedColumns(plan.options, tuple(survey.columns), typed=tested.typed), list(told)
    encodings, columns = _learn_columns(used, survey, tested, truth, target.classes, notes)
    whole = TableTask(plan, target, True)
    choice = _choose_setting(whole, used, survey, encodings, codes, notes)
    columns = in_form(choice.setting, columns, plan.options.columns)
    encoder = encoder_of(used, encodings)
    learned = LearnedTable(whole, encoder, None, None, choice, (*notes, *used.described))
    return Preparation(job, model, learned, codes, truth, columns, rare, returned)


def _learn_columns(
    used: UsedColumns, survey: Survey, tested: Table, truth: Array, classes: int, notes: list[str]
) -> tuple[list[ColumnEncoding], list[ParsedColumn]]:
    """The encodings of the columns that are used, and these columns of the held-out rows."""
    encodings, columns = list[ColumnEncoding](), list[ParsedColumn]()
    for name, every in survey.all_rows(tested).items():
        values = replace(tested.values(name), categorical=every.categorical)
        column = used.examine(values, every.statistics(), truth, classes)
        if column is None:
            continue
        if column.kind in ("text", "splines") or column.raw is not None:
            sample = survey.texts.column(name)
            if sample is None:
                used.left_out[name] = "text that first appears late in a large file: declare it as text (columns)"
                continue
            encodings.append(learned(used.options.parsed(sample, column.kind, column.date_format)))
            notes.append(_by_sample(name, len(sample)))
        else:
            encodings.append(survey.columns[name].encoding(column.kind, column.date_format))
        columns.append(column)
    return encodings, columns


def _choose_setting(
    task: TableTask,
    used: UsedColumns,
    survey: Survey,
    encodings: list[ColumnEncoding],
    codes: LabelCodes,
    notes: list[str],
) -> Choice:
    """Search a sample of the rows, and encode numbers as the chosen setting requires."""
    table, labels, _, _ = survey.searched.joined()
    columns = columns_again(table, encodings, used.options, used.notes)
    choice = task.choice_by_sample(columns, codes(labels), None, None)
    for k, other in enumerate(in_form(choice.setting, columns, used.options.columns)):
        if other is not columns[k]:
            encodings[k] = learned(other)
            notes.append(_by_sample(other.name, table.rows))
    return choice


def _by_sample(name: str, rows: int) -> str:
    return f"column {name!r} is encoded by what a sample of {rows:,} rows has"


# -- fit ---------------------------------------------------------------------------------------------------------------


def fit_large_table(job: TableJob, source: Any) -> tuple[Any, int]:
    """Fit a model of tables to files; the model, and the number of rows without a label."""
    parts = LabelledParts(source, job.how, min(CHUNK_BYTES, job.memory // PART), job.label)
    phase("the first pass: what the columns hold")
    survey = job.survey().read(parts)
    survey.check(expand_paths(source)[0])
    phase("choosing a learner and its settings by a sample")
    ready = prepared(job, survey)
    if not ready.width:
        return ready.without_features(), survey.unlabelled
    phase("encoding the rows")
    with _temporary_cache(ready.width, _encoded_rows(ready, parts, survey), job.memory) as cache:
        model = learned_from(ready, partial(_cached_rows, cache), cache.contents.rows)
    give_back()
    return model, survey.unlabelled


def learned_from(ready: Preparation, source: Callable[[RowsWanted], Any], rows: int, mixing: str | None = None) -> Any:
    """The model, after its learner is trained on this many rows of a source."""
    task, point = ready.learned.task, ready.job.point
    learner = task.new_learner(ready.learned.choice.setting, rows, ready.width)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # passes are limited on purpose
        for step in train_from(learner, source, mixing=mixing, save=point.save, resume=point.resume):
            if isinstance(step, EpochRecord):
                phase(f"pass {step.epoch} over {rows:,} rows is done")
    for name in ("reading_", "_contents"):  # they describe the encoded rows, not the user's file
        vars(learner).pop(name, None)
    return ready.conclude(learner, EncodedParts(task, source))


def _encoded_rows(ready: Preparation, parts: LabelledParts, survey: Survey) -> Iterator[RowBlock]:
    """The encoded training rows: the rows of the files that are not held out, then those of rare classes."""
    encoding = ready.encoding
    for first, table, labels, _ in parts:
        rest = np.flatnonzero(~survey.held.takes(row_hashes(first, table.rows, survey.seed)))
        if rest.size:
            yield encoding(table.take(rest), labels.take(rest))
    if ready.returned.table.rows:
        yield encoding(ready.returned.table, ready.returned.labels)


def encoded_reading(width: int) -> Reading:
    """How encoded rows would be read from a file."""
    return Reading("svmlight", n_features=width, zero_based=True, multilabel=False)


@contextmanager
def _temporary_cache(width: int, pieces: Iterable[RowBlock], memory: int) -> Iterator[RowCache]:
    """A cache of the rows, removed at the end of the block."""
    path = cache_folder() / f"table-{process_name()}-{secrets.token_hex(4)}{SUFFIX}"
    try:
        copied = {"paths": [], "stamps": [], "racy": True}
        yield write_cache(pieces, encoded_reading(width), path, memory // row_cache.HELD_SHARE, copied)
    finally:
        path.unlink(missing_ok=True)


def _cached_rows(cache: RowCache, wanted: RowsWanted) -> FileSource:
    """The rows of a cache, for the training loop."""
    return FileSource(CachedRows(cache), example_encoder(wanted, cache.contents), wanted.in_turn)


@dataclass(frozen=True)
class EncodedParts:
    """The encoded rows of a source, part by part."""

    task: TableTask
    source: Callable[[RowsWanted], Any]

    def ask(self, question: Callable[[TrainingRows], Any]) -> Iterator[Any]:
        """The answer to the question for each part."""
        target = self.task.target
        wanted = RowsWanted(self.task.plan.name, bool(target.classes), False, None, True, False, False)
        yield from self.source(wanted).ask(AskTraining(question, target))


@dataclass(frozen=True)
class AskTraining:
    """A question about encoded rows and their target in the form that a table model uses."""

    question: Callable[[TrainingRows], Any]
    target: Target

    def __call__(self, examples: Examples, shard: int) -> Any:
        """The answer for these rows."""
        assert isinstance(examples.rows, Sparse)
        values, columns, starts = examples.rows
        X = csr_from_arrays(values, columns, starts, examples.n_features)
        return self.question(TrainingRows(X, self.target.from_learning(examples.target), None))

    def check(self, answer: Any, rows: int, features: int) -> None:
        """Sums that are numbers."""
        must(isinstance(answer, tuple), "sums over rows")
        told = [one for one in answer if one is not None]
        must(all(isinstance(one, int | float | np.ndarray) for one in told), "numbers")
        must(not any(np.isnan(one).any() for one in told), "numbers, found NaN")
