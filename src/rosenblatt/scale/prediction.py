"""Prediction and scoring on files and collections of any size, shard by shard."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.base import is_classifier

from rosenblatt.formats.byte_sources import (
    STDIN,
    expand_paths,
    format_by_name,
    readable_once,
    refuse_overwriting_inputs,
)
from rosenblatt.formats.contents import with_layout
from rosenblatt.formats.declared_fields import is_count, must, verify
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import Reading, format_family, make_reading
from rosenblatt.formats.row_blocks import RowBlock, encode_target
from rosenblatt.formats.safe_writing import replace_atomically
from rosenblatt.registry import family
from rosenblatt.scale.sharded_source import groups_of, is_arrays, is_collection, make_engine
from rosenblatt.scale.shards import Shard, Store, file_groups, paths_of

Array = np.ndarray[Any, Any]


def labels_read(model: Any) -> tuple[Any, ...] | None:
    """The names of labels as they were in the training file; None if the model was not trained from one."""
    known: Reading | None = vars(model).get("reading_")
    return None if known is None else known.labels


def how_to_read(model: Any, source: Any, settings: dict[str, Any]) -> Reading:
    """The reading of the training file with these settings changed; only the settings if the model has no reading.

    The meaning of columns, the number of features and the tokenisation of text stay as in training.
    """
    if "n_features_in_" not in vars(model):
        raise ValueError(f"This {type(model).__name__} was saved before it was trained, and cannot predict.")
    known: Reading | None = vars(model).get("reading_")
    if known is not None:
        kind = settings.get("format") or _kind(known, expand_paths(source)[0])
        if format_family(kind) != format_family(known.format):
            raise ValueError(f"The model was trained on {known.format}, and cannot read {kind}.")
        return replace(known, **{**settings, "format": kind})
    how = make_reading(source, **settings)
    if format_family(how.format) != "table":
        how = replace(how, n_features=model.n_features_in_)
    if how.format == "svmlight" and how.zero_based == "auto":
        how = replace(how, zero_based=False)
    return how


def _kind(known: Reading, path: str) -> str:
    """The format by the file's name, if it belongs to the same family as that of training; else that of training."""
    named = format_by_name(path)
    return named if named is not None and format_family(named) == format_family(known.format) else known.format


def _pieces(shard: Shard, model: Any, how: Reading, store: Store) -> Iterator[RowBlock]:
    for piece in shard.pieces(how, store):
        if piece.X.shape[1] != model.n_features_in_:
            raise FileError(f"expected {model.n_features_in_} features, found {piece.X.shape[1]}", shard.name)
        if piece.rows:
            yield piece


# -- questions to a shard --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WritePredictions:
    """Predict the rows of shards, with one output file per shard."""

    model: bytes  # pickled
    how: Reading
    paths: dict[str, str]
    scores: bool

    def __call__(self, shard: Shard, store: Store) -> tuple[str, int]:
        """The file and the number of its rows."""
        model, path, rows = pickle.loads(self.model), self.paths[shard.name], 0
        with replace_atomically(path) as file:
            writer = None
            for piece in _pieces(shard, model, self.how, store):
                table = pa.table(self._columns(model, piece))
                writer = writer or pq.ParquetWriter(file, table.schema)
                writer.write_table(table)
                rows += piece.rows
            if writer is None:
                pq.write_table(pa.table({"prediction": pa.array([], pa.float64())}), file)
            else:
                writer.close()
        return path, rows

    def check(self, answer: Any, shard: Shard) -> None:
        """The file of the shard."""
        must(isinstance(answer, tuple) and len(answer) == 2, "a file and its rows")
        must(answer[0] == self.paths[shard.name] and is_count(answer[1]), f"rows in {self.paths[shard.name]}")

    def _columns(self, model: Any, piece: RowBlock) -> dict[str, Any]:
        predicted = model.predict(piece.X)
        if predicted.ndim == 2:
            names = np.array(labels_read(model) or range(predicted.shape[1]))
            columns: dict[str, Any] = {"prediction": [names[np.flatnonzero(row)].tolist() for row in predicted]}
        else:
            columns = {"prediction": predicted.astype(object) if predicted.dtype.kind == "U" else predicted}
        if self.scores and is_classifier(model):
            values = model.decision_function(piece.X)
            if values.ndim == 1:
                return {**columns, "score": values}
            columns |= {f"score {name}": values[:, k] for k, name in enumerate(model.classes_)}
        return columns


@dataclass(frozen=True)
class ScoreCounts:
    """The counts for a score: rows and correct predictions, and for regression the sums for R²."""

    rows: int = 0
    right: int = 0
    mean: float = 0.0
    spread: float = 0.0  # Σ (y − mean)²
    missed: float = 0.0  # Σ (y − ŷ)²

    def check(self) -> None:
        """At most as many correct rows as rows."""
        must(self.right <= self.rows, "at most as many correct rows as rows")

    def joined(self, other: ScoreCounts) -> ScoreCounts:
        """The counts of both (Chan, Golub, LeVeque 1979)."""
        rows = self.rows + other.rows
        if not rows:
            return self
        difference = other.mean - self.mean
        return ScoreCounts(
            rows,
            self.right + other.right,
            self.mean + difference * other.rows / rows,
            self.spread + other.spread + difference * difference * self.rows * other.rows / rows,
            self.missed + other.missed,
        )


@dataclass(frozen=True)
class ScorePredictions:
    """Compare predictions with labels."""

    model: bytes  # pickled
    how: Reading

    def __call__(self, shard: Shard, store: Store) -> ScoreCounts:
        """The counts for a shard."""
        model, total = pickle.loads(self.model), ScoreCounts()
        for piece in _pieces(shard, model, self.how, store):
            truth = encode_target(piece, self.how)
            if truth is None:
                raise FileError("expected labels to compare with, found none", shard.name)
            predicted = model.predict(piece.X)
            if is_classifier(model):
                right = predicted == truth if predicted.ndim == 1 else (predicted == truth).all(axis=1)
                total = total.joined(ScoreCounts(piece.rows, int(np.count_nonzero(right))))
            else:
                y = truth.astype(np.float64)
                spread, missed = float(((y - y.mean()) ** 2).sum()), float(((y - predicted) ** 2).sum())
                total = total.joined(ScoreCounts(piece.rows, 0, float(y.mean()), spread, missed))
        return total

    def check(self, answer: Any, shard: Shard) -> None:
        """Counts of rows."""
        verify(answer, ScoreCounts)


# -- public functions ------------------------------------------------------------------------------------------------


def _asked(model: Any, source: Any, client: Any, settings: dict[str, Any]) -> tuple[list[Any], Reading]:
    """One shard per file or block, and how it is read."""
    if family(model) == "tables":
        raise ValueError(
            f"{type(model).__name__} predicts rows of tables in memory: give a frame to its own methods, or use "
            "`rosenblatt predict` and `rosenblatt evaluate`."
        )
    if is_collection(source) or is_arrays(source):
        alone = not isinstance(source, tuple) and not hasattr(source, "columns")
        groups, how = groups_of((source, None) if alone else source, None, client, settings)
        known: Reading | None = vars(model).get("reading_")
        return groups, known if known is not None and known.layout is not None and how.format != "arrays" else how
    paths = expand_paths(source)
    if any(path != STDIN and readable_once(path) for path in paths):
        raise ValueError("Pipes cannot be read by several workers: give files.")
    how = with_layout(source, how_to_read(model, source, settings))
    return list(file_groups(paths, len(paths))), how


def _carried(model: Any) -> bytes:
    """The pickled model, without what only training needs."""
    lean = copy.copy(model)
    for name in ("_state", "report_"):
        vars(lean).pop(name, None)
    return pickle.dumps(lean, protocol=5)


def predict(
    model: Any,
    source: Any,
    output: str | PathLike[str],
    *,
    scores: bool = False,
    n_jobs: int = 1,
    client: Any = None,
    memory: str | int | None = None,
    deadline: float | None = None,
    **settings: Any,
) -> list[Path]:
    r"""Write predictions as Parquet, one file per file, block or partition of the source.

    Parameters
    ----------
    model : fitted estimator of rosenblatt
        The model to apply.
    source : path, pattern of paths, sequence of paths, or collection
        As for `fit`; a Dask array of rows needs no labels.
    output : path
        A folder, created if it does not exist; on a cluster one that all workers can access. Its files are
        part-00000.parquet and so on, in the order of the source, with one row per row; each is replaced atomically.
    scores : bool, default=False
        Whether to write scores in addition to the predictions.
    n_jobs, client, memory, deadline, **settings
        As for `fit`.

    Returns
    -------
    list of Path

    Examples
    --------
    >>> import rosenblatt, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.svm").write_text("1 1:2\n0 1:-1\n")
    >>> _ = (folder / "b.svm").write_text("1 1:3\n")
    >>> model = rosenblatt.fit(rosenblatt.Perceptron(), folder / "a.svm")
    >>> [path.name for path in rosenblatt.predict(model, str(folder / "*.svm"), folder / "answers")]
    ['part-00000.parquet', 'part-00001.parquet']
    """
    groups, how = _asked(model, source, client, settings)
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {group.name: str(folder / f"part-{k:05d}.parquet") for k, group in enumerate(groups)}
    refuse_overwriting_inputs(paths_of(groups), paths.values())
    engine = make_engine(client, n_jobs, memory, deadline)
    question = WritePredictions(_carried(model), replace(how, multilabel=None), paths, scores)
    answers = engine.round(question, groups)
    return [Path(path) for path, _ in answers]


def score(
    model: Any,
    source: Any,
    *,
    n_jobs: int = 1,
    client: Any = None,
    memory: str | int | None = None,
    deadline: float | None = None,
    **settings: Any,
) -> float:
    r"""The accuracy of a classifier, or R² of a regressor, on files or collections of any size.

    Parameters
    ----------
    model : fitted estimator of rosenblatt
        The model to apply.
    source, n_jobs, client, memory, deadline, **settings
        As for `fit`.

    Returns
    -------
    float

    Examples
    --------
    >>> import rosenblatt, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = path.write_text("1 1:2\n0 1:-1\n")
    >>> rosenblatt.score(rosenblatt.fit(rosenblatt.Perceptron(), path), path)
    1.0
    """
    groups, how = _asked(model, source, client, settings)
    engine = make_engine(client, n_jobs, memory, deadline)
    total = ScoreCounts()
    for one in engine.round(ScorePredictions(_carried(model), how), groups):
        total = total.joined(one)
    if not total.rows:
        raise FileError("expected rows, found none", groups[0].name)
    if is_classifier(model):
        return total.right / total.rows
    return 1.0 - total.missed / total.spread if total.spread else float(total.missed == 0)
