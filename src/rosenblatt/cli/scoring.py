"""Models applied to files: predictions, accuracy, and the speed of reading and training."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.data.errors import FileError
from rosenblatt.data.formats import tables
from rosenblatt.data.formats.byte_sources import CHUNK_BYTES, expand_paths, spooled
from rosenblatt.data.formats.reading import (
    Reading,
    RowBlock,
    encode_target,
    format_family,
    make_reading,
    rereadable,
    row_blocks,
    with_layout,
)
from rosenblatt.scale.prediction import how_to_read

SYNTHETIC_ROWS = 20_000  # used if no file is given


@dataclass(frozen=True)
class Evaluation:
    """The errors of a model on a file."""

    rows: int
    errors: int | None  # None for regression
    accuracy: float | None
    mean_error: float | None  # mean absolute error, for regression

    def __str__(self) -> str:
        if self.errors is None:
            return f"  mean absolute error {self.mean_error:.6g} on {self.rows:,} rows"
        return f"  accuracy {self.accuracy:.4f}: {self.errors:,} of {self.rows:,} rows wrong"


def _rows(model: Any, source: Any, how: Reading, bare: bool = False) -> Iterator[RowBlock]:
    """The rows of a file; with `bare`, a table with exactly one column per feature is taken to have no label column."""
    with rereadable(source, how) as files:
        if bare and format_family(how.format) == "table" and how.layout is None:
            found = tables.read_column_names(expand_paths(files)[0], how.format, CHUNK_BYTES, how.header)
            how = replace(how, labelled=how.labelled and len(found) != model.n_features_in_)
        yield from _checked_rows(model, files, with_layout(files, how))


def _checked_rows(model: Any, source: Any, how: Reading) -> Iterator[RowBlock]:
    """The rows of a file, checked to have as many features as the model."""
    rows = 0
    for piece in row_blocks(source, how):
        rows += piece.rows
        if piece.X.shape[1] != model.n_features_in_:
            raise FileError(
                f"expected {model.n_features_in_} features, found {piece.X.shape[1]}", expand_paths(source)[0]
            )
        if piece.rows:
            yield piece
    if not rows:
        raise FileError("expected rows, found none", expand_paths(source)[0])


def predicted_lines(
    model: Any, source: Any, settings: dict[str, Any], *, scores: bool = False, labelled: bool = True
) -> Iterator[str]:
    """The predicted labels of a file, one line per row, in chunks of rows."""
    with spooled(source, stdin=False) as source:
        how = replace(how_to_read(model, source, settings), labelled=labelled, multilabel=None)
        names = getattr(getattr(model, "reading_", None), "labels", None)
        for piece in _rows(model, source, how, bare=True):
            predictions = model.predict(piece.X)
            if predictions.ndim == 2:
                names = names or range(predictions.shape[1])
                lines = [",".join(_format_label(names[k]) for k in np.flatnonzero(row)) for row in predictions]
            else:
                lines = [_format_label(one) for one in predictions]
            if scores and hasattr(model, "decision_function"):
                values = np.atleast_2d(model.decision_function(piece.X).T).T
                score_texts = [" ".join(f"{v:.9g}" for v in row) for row in values]
                lines = [f"{line}\t{text}" for line, text in zip(lines, score_texts, strict=True)]
            yield "\n".join(lines) + "\n"


def _format_label(label: Any) -> str:
    """A label as text; floats that are integers without a decimal point."""
    if isinstance(label, float | np.floating):
        value = float(label)
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else str(label)
    return str(label)


def evaluate_file(model: Any, source: Any, settings: dict[str, Any]) -> Evaluation:
    """Count the errors of a model on a file."""
    rows, errors, absolute_error = 0, 0, 0.0
    with spooled(source, stdin=False) as source:
        how = how_to_read(model, source, settings)
        for piece in _rows(model, source, how):
            if piece.labels is None:
                raise FileError("expected labels to compare with, found none", expand_paths(source)[0])
            predictions, labels = model.predict(piece.X), _labels_of(piece, how, expand_paths(source)[0])
            rows += piece.rows
            if hasattr(model, "classes_"):
                _check_comparable(model.classes_, labels, expand_paths(source)[0])
                wrong = predictions != labels
                errors += int(np.count_nonzero(wrong if wrong.ndim == 1 else wrong.any(axis=1)))
            else:
                absolute_error += float(np.abs(predictions - labels).sum())
    if hasattr(model, "classes_"):
        return Evaluation(rows, errors, 1 - errors / rows, None)
    return Evaluation(rows, None, None, absolute_error / rows)


def _labels_of(piece: RowBlock, how: Reading, path: str) -> Any:
    try:
        return encode_target(piece, how)
    except FileError as error:
        raise FileError(error.what, path) from error


def _check_comparable(classes: Any, labels: Any, path: str) -> None:
    """Refuse text labels for a model trained on numbers, and numbers for one trained on text."""
    if labels.ndim == 1 and (classes.dtype.kind in "OUS") != (labels.dtype.kind in "OUS"):
        known, found = classes[:1].tolist()[0], labels[:1].tolist()[0]
        raise FileError(
            f"expected labels of the kind that the model was trained on, such as {known!r}, found {found!r}", path
        )


def measure_speed(source: Any, settings: dict[str, Any]) -> dict[str, float]:
    """The speed of reading and training on this machine."""
    import rosenblatt

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = source if source is not None else str(_write_synthetic_rows(Path(folder) / "rows.svm"))
        path = stack.enter_context(spooled(path, stdin=False))
        how = make_reading(path, **settings)
        with rereadable(path, how, scan=True) as files:
            how, paths = with_layout(files, how), expand_paths(files)
            rosenblatt.read(files, like=how)  # compiles the reader
            megabytes = sum(os.path.getsize(one) for one in paths) / 1e6
            began = time.perf_counter()
            X, y = rosenblatt.read(files, like=how)
            found = {"read, MB/s": megabytes / (time.perf_counter() - began)}
            if how.format == "svmlight" and len(paths) == 1 and not paths[0].endswith(".zst") and y.ndim == 1:
                found["scikit-learn reads, MB/s"] = megabytes / _sklearn_seconds(paths[0])
        model = rosenblatt.AveragedPerceptron(max_epochs=1, random_state=0)
        model.partial_fit(X[:100], y[:100], classes=np.unique(y) if y.ndim == 1 else np.arange(y.shape[1]))
        began = time.perf_counter()
        model.partial_fit(X, y)
        seconds = time.perf_counter() - began
    return {**found, "one epoch, million values/s": getattr(X, "nnz", X.size) / seconds / 1e6}


def _sklearn_seconds(path: str) -> float:
    """The time that scikit-learn takes to read the file."""
    from sklearn.datasets import load_svmlight_file

    began = time.perf_counter()
    load_svmlight_file(path)
    return time.perf_counter() - began


def _write_synthetic_rows(path: Path) -> Path:
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        for label in rng.integers(0, 2, SYNTHETIC_ROWS):
            columns = np.unique(rng.integers(1, 50_000, 60))
            file.write(
                f"{label} " + " ".join(f"{c}:{v:.4f}" for c, v in zip(columns, rng.random(60), strict=False)) + "\n"
            )
    return path


def with_column_names(X: Any, how: Any) -> Any:
    """X with the column names of the file, if it has any."""
    if how is None or how.layout is None:
        return X

    class NamedArray(np.ndarray):
        """An array with column names."""

    X = X if sp.issparse(X) else X.view(NamedArray)
    X.columns = how.layout.feature_names
    return X
