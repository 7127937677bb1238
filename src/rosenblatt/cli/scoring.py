"""Models on files: labels, how many are right, and how fast it all is."""

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
from rosenblatt.data.formats.byte_sources import CHUNK, expand, spooled
from rosenblatt.data.formats.reading import Piece, Reading, family, lasting, pieces, prepared, reading, target
from rosenblatt.scale.prediction import how_to_read

MADE_UP = 20_000  # rows, where none are given


@dataclass(frozen=True)
class Evaluated:
    """How a model does on a file."""

    rows: int
    errors: int | None  # None for regression
    accuracy: float | None
    mean_error: float | None  # mean absolute error, for regression

    def __str__(self) -> str:
        if self.errors is None:
            return f"  mean absolute error {self.mean_error:.6g} on {self.rows:,} rows"
        return f"  accuracy {self.accuracy:.4f}: {self.errors:,} of {self.rows:,} rows wrong"


def _rows(model: Any, source: Any, how: Reading, bare: bool = False) -> Iterator[Piece]:
    """The rows of a file; where `bare`, a table of an unknown kind with one column per feature has no label."""
    with lasting(source, how) as again:
        if bare and family(how.format) == "table" and how.layout is None:
            found = tables.names(expand(again)[0], how.format, CHUNK, how.header)
            how = replace(how, labelled=how.labelled and len(found) != model.n_features_in_)
        yield from _checked(model, again, prepared(again, how))


def _checked(model: Any, source: Any, how: Reading) -> Iterator[Piece]:
    """The rows of a file, which must have as many features as the model."""
    rows = 0
    for piece in pieces(source, how):
        rows += piece.rows
        if piece.X.shape[1] != model.n_features_in_:
            raise FileError(f"expected {model.n_features_in_} features, found {piece.X.shape[1]}", expand(source)[0])
        if piece.rows:
            yield piece
    if not rows:
        raise FileError("expected rows, found none", expand(source)[0])


def predicted(
    model: Any, source: Any, settings: dict[str, Any], *, scores: bool = False, labelled: bool = True
) -> Iterator[str]:
    """The labels of a file, a line a row, some rows at a time."""
    with spooled(source, stdin=False) as source:
        how = replace(how_to_read(model, source, settings), labelled=labelled, multilabel=None)
        names = getattr(getattr(model, "reading_", None), "labels", None)
        for piece in _rows(model, source, how, bare=True):
            said = model.predict(piece.X)
            if said.ndim == 2:
                names = names or range(said.shape[1])
                lines = [",".join(_written(names[k]) for k in np.flatnonzero(row)) for row in said]
            else:
                lines = [_written(one) for one in said]
            if scores and hasattr(model, "decision_function"):
                values = np.atleast_2d(model.decision_function(piece.X).T).T
                beside = [" ".join(f"{v:.9g}" for v in row) for row in values]
                lines = [f"{line}\t{text}" for line, text in zip(lines, beside, strict=True)]
            yield "\n".join(lines) + "\n"


def _written(label: Any) -> str:
    """A label in the fewest characters that say it, whole numbers without a point."""
    if isinstance(label, float | np.floating):
        value = float(label)
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else str(label)
    return str(label)


def evaluated(model: Any, source: Any, settings: dict[str, Any]) -> Evaluated:
    """How often the model is right on a file."""
    rows, errors, distance = 0, 0, 0.0
    with spooled(source, stdin=False) as source:
        how = how_to_read(model, source, settings)
        for piece in _rows(model, source, how):
            if piece.labels is None:
                raise FileError("expected labels to compare with, found none", expand(source)[0])
            said, truth = model.predict(piece.X), _truth(piece, how, expand(source)[0])
            rows += piece.rows
            if hasattr(model, "classes_"):
                _comparable(model.classes_, truth, expand(source)[0])
                wrong = said != truth
                errors += int(np.count_nonzero(wrong if wrong.ndim == 1 else wrong.any(axis=1)))
            else:
                distance += float(np.abs(said - truth).sum())
    if hasattr(model, "classes_"):
        return Evaluated(rows, errors, 1 - errors / rows, None)
    return Evaluated(rows, None, None, distance / rows)


def _truth(piece: Piece, how: Reading, path: str) -> Any:
    try:
        return target(piece, how)
    except FileError as error:
        raise FileError(error.what, path) from error


def _comparable(classes: Any, truth: Any, path: str) -> None:
    """Refuse names where numbers were learned, and numbers where names were."""
    if truth.ndim == 1 and (classes.dtype.kind in "OUS") != (truth.dtype.kind in "OUS"):
        known, found = classes[:1].tolist()[0], truth[:1].tolist()[0]
        raise FileError(f"expected labels of the kind that was learned, such as {known!r}, found {found!r}", path)


def measured(source: Any, settings: dict[str, Any]) -> dict[str, float]:
    """Megabytes and rows a second of reading and learning, on this machine."""
    import rosenblatt

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = source if source is not None else str(_made_up(Path(folder) / "rows.svm"))
        path = stack.enter_context(spooled(path, stdin=False))
        how = reading(path, **settings)
        with lasting(path, how, scan=True) as again:
            how, paths = prepared(again, how), expand(again)
            rosenblatt.read(again, like=how)  # compiles
            megabytes = sum(os.path.getsize(one) for one in paths) / 1e6
            began = time.perf_counter()
            X, y = rosenblatt.read(again, like=how)
            found = {"read, MB/s": megabytes / (time.perf_counter() - began)}
            if how.format == "svmlight" and len(paths) == 1 and not paths[0].endswith(".zst") and y.ndim == 1:
                found["scikit-learn reads, MB/s"] = megabytes / _theirs(paths[0])
        model = rosenblatt.AveragedPerceptron(max_epochs=1, random_state=0)
        model.partial_fit(X[:100], y[:100], classes=np.unique(y) if y.ndim == 1 else np.arange(y.shape[1]))
        began = time.perf_counter()
        model.partial_fit(X, y)
        learned = time.perf_counter() - began
    return {**found, "one epoch, million values/s": getattr(X, "nnz", X.size) / learned / 1e6}


def _theirs(path: str) -> float:
    """Seconds in which scikit-learn reads the file."""
    from sklearn.datasets import load_svmlight_file

    began = time.perf_counter()
    load_svmlight_file(path)
    return time.perf_counter() - began


def _made_up(path: Path) -> Path:
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        for label in rng.integers(0, 2, MADE_UP):
            columns = np.unique(rng.integers(1, 50_000, 60))
            file.write(
                f"{label} " + " ".join(f"{c}:{v:.4f}" for c, v in zip(columns, rng.random(60), strict=False)) + "\n"
            )
    return path


def named(X: Any, how: Any) -> Any:
    """X with the names of its columns, where the file has some."""
    if how is None or how.layout is None:
        return X

    class Named(np.ndarray):
        """An array that knows its columns."""

    X = X if sp.issparse(X) else X.view(Named)
    X.columns = how.layout.feature_names
    return X
