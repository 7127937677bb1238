"""Models applied to files: predictions, and how good they are."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from rosenblatt.cli.sequences import evaluate_tags, is_sequence_model
from rosenblatt.cli.table_models import answers_by_part, labelled_rows
from rosenblatt.formats import table_layout
from rosenblatt.formats.byte_sources import CHUNK_BYTES, expand_paths, spooled
from rosenblatt.formats.contents import with_layout
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.read_and_stream import rereadable
from rosenblatt.formats.reading import Reading, format_family
from rosenblatt.formats.row_blocks import RowBlock, encode_target, row_blocks
from rosenblatt.formats.safe_writing import replace_atomically
from rosenblatt.registry import family
from rosenblatt.scale.prediction import how_to_read, labels_read
from rosenblatt.sequence.chunks import SequenceScores

PREDICTION = "prediction"  # the name of a column of answers
MOST_CONFUSIONS = 12  # classes of a confusion table that is printed


@dataclass(frozen=True)
class Measures:
    """The errors of a model on a file."""

    rows: int
    errors: int | None  # None for regression
    accuracy: float | None
    mean_error: float | None  # mean absolute error, for regression
    r2: float | None = None  # for regression
    f1: float | None = None  # the mean over the classes
    log_loss: float | None = None
    area: float | None = None  # under the ROC curve; several classes: the mean over each against the others
    classes: tuple[str, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()  # rows of each class, by the class that was predicted

    def __str__(self) -> str:
        if self.errors is None:
            more = "" if self.r2 is None else f", R² {self.r2:.4f}"
            return f"  mean absolute error {self.mean_error:.6g} on {self.rows:,} rows{more}"
        lines = [f"  accuracy {self.accuracy:.4f}: {self.errors:,} of {self.rows:,} rows wrong"]
        measures = (("F1", self.f1), ("log loss", self.log_loss), ("area under the curve", self.area))
        known = [f"{name} {value:.4f}" for name, value in measures if value is not None]
        lines += [f"  {', '.join(known)}"] if known else []
        return "\n".join([*lines, *self._confusions()])

    def _confusions(self) -> list[str]:
        """The confusion table: a line per class, a column per prediction."""
        if not 0 < len(self.classes) <= MOST_CONFUSIONS:
            return []
        names = [name if len(name) <= 16 else f"{name[:15]}…" for name in self.classes]
        width = max(len(f"{count:,}") for counts in self.confusion for count in counts)
        width = max(width, *map(len, names))
        first = max(len("true"), *map(len, names))
        lines = [f"  {'true':<{first}}  predicted " + " ".join(f"{name:>{width}}" for name in names)]
        for name, counts in zip(names, self.confusion, strict=True):
            lines.append(f"  {name:<{first}}  {'':9} " + " ".join(f"{count:>{width},}" for count in counts))
        return lines


def _rows(model: Any, source: Any, how: Reading, bare: bool = False) -> Iterator[RowBlock]:
    """The rows of a file; with `bare`, a table with exactly one column per feature is taken to have no label column."""
    with rereadable(source, how) as files:
        if bare and format_family(how.format) == "table" and how.layout is None:
            found = table_layout.read_column_names(expand_paths(files)[0], how, CHUNK_BYTES)
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
    model: Any,
    source: Any,
    settings: dict[str, Any],
    *,
    scores: bool = False,
    labelled: bool = True,
    proba: bool = False,
    explain: bool = False,
) -> Iterator[str]:
    """The predicted labels of a file, one line per row, in chunks of rows."""
    if family(model) == "tables":

        def answer(table: Any) -> str:
            lines = _lines(model, table, None, scores, proba)
            if explain:
                lines = [f"{line}\t{why}" for line, why in zip(lines, _reasons(model, table), strict=True)]
            return "\n".join(lines) + "\n"

        yield from answers_by_part(model, source, settings, labelled, answer)
        return
    with spooled(source, stdin=False) as source:
        how = replace(how_to_read(model, source, settings), labelled=labelled, multilabel=None)
        names = labels_read(model)
        for piece in _rows(model, source, how, bare=True):
            yield "\n".join(_lines(model, piece.X, names, scores, proba)) + "\n"


def _lines(model: Any, X: Any, names: Any, scores: bool, proba: bool) -> list[str]:
    """One line per row: the label, then scores and probabilities if requested."""
    predictions = model.predict(X)
    if predictions.ndim == 2:
        names = names or range(predictions.shape[1])
        lines = [",".join(_format_label(names[k]) for k in np.flatnonzero(row)) for row in predictions]
    else:
        lines = [_format_label(one) for one in predictions]
    asked = {"decision_function": scores, "predict_proba": proba}
    for method in [name for name, wanted in asked.items() if wanted and hasattr(model, name)]:
        values = np.atleast_2d(getattr(model, method)(X).T).T
        texts = [" ".join(f"{v:.9g}" for v in row) for row in values]
        lines = [f"{line}\t{text}" for line, text in zip(lines, texts, strict=True)]
    return lines


def _reasons(model: Any, table: Any) -> list[str]:
    """What adds the most to the score of each row: columns and, with columns of text, terms; one line per row."""
    found = model.explain(table)
    lines = str(found).splitlines()
    if any(one.kind == "text" for one in model.encoder_.columns_):
        for k, row in enumerate(found.features):
            terms = [f"{' '.join(name.split())} {'+' if value > 0 else '−'}{abs(value):.2f}" for name, value in row]
            lines[k] += f"; {', '.join(terms)}" if terms else ""
    return lines


# -- a table of answers ----------------------------------------------------------------------------------------------


def write_answers(
    model: Any, source: Any, settings: dict[str, Any], path: Path, *, scores: bool, explain: bool, labelled: bool
) -> int:
    """Write CSV with a line per row: ids, prediction, probabilities, scores and reasons if requested; returns the rows.

    Ids are the columns that the model left out for being like one; without them rows are numbered from 1.
    """
    rows = 0
    with replace_atomically(path) as file:
        for ids, names, columns in _answered(model, source, settings, scores, explain, labelled):
            count = len(columns[0])
            ids = ids or {"row": range(rows + 1, rows + count + 1)}
            text = io.StringIO()
            written = csv.writer(text, lineterminator="\n")
            if not rows:
                written.writerow([*ids, *names])
            written.writerows(zip(*ids.values(), *columns, strict=True))
            file.write(text.getvalue().encode())
            rows += count
    return rows


def is_answers(path: Path) -> bool:
    """Whether a file is a table of answers that `write_answers` wrote."""
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return PREDICTION in next(csv.reader(file), [])


def _answered(
    model: Any, source: Any, settings: dict[str, Any], scores: bool, explain: bool, labelled: bool
) -> Iterator[tuple[dict[str, Any], list[str], list[Any]]]:
    """The ids of rows, the names of the columns of answers, and their values, part by part of a file."""
    if family(model) == "tables":
        kept = [name for name, why in model.encoder_.left_out_.items() if why.endswith("an id")]

        def answer(table: Any) -> Any:
            ids = {name: table.columns[name].to_pylist() for name in kept if name in table.columns}
            names, columns = _answers(model, table, scores)
            reasons = {"explanation": _reasons(model, table)} if explain else {}
            return ids, [*names, *reasons], [*columns, *reasons.values()]

        yield from answers_by_part(model, source, settings, labelled, answer)
        return
    with spooled(source, stdin=False) as files:
        how = replace(how_to_read(model, files, settings), labelled=labelled, multilabel=None)
        for piece in _rows(model, files, how, bare=True):
            yield {}, *_answers(model, piece.X, scores)


def _answers(model: Any, X: Any, scores: bool) -> tuple[list[str], list[Any]]:
    """The names and the values of the columns of answers."""
    found = model.predict(X)
    labels = labels_read(model) or range(found.shape[1] if found.ndim == 2 else 0)
    if found.ndim == 2:
        found = [" ".join(_format_label(labels[k]) for k in np.flatnonzero(row)) for row in found]
    names, columns = [PREDICTION], [[one if isinstance(one, str) else _format_label(one) for one in found]]
    wanted = {"predict_proba": "probability", "decision_function": "score" if scores else ""}
    for method, title in wanted.items():
        if title and hasattr(model, method):
            values = np.atleast_2d(getattr(model, method)(X).T)
            several = [f"{title} {_format_label(name)}" for name in getattr(model, "classes_", [])]
            names += several if len(several) == len(values) else [title]
            columns += [[f"{value:.9g}" for value in row] for row in values]
    return names, columns


def _format_label(label: Any) -> str:
    """A label as text; floats that are integers without a decimal point."""
    if isinstance(label, float | np.floating):
        value = float(label)
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else str(label)
    return str(label)


def evaluate_file(model: Any, source: Any, settings: dict[str, Any]) -> Measures | SequenceScores:
    """Count the errors of a model on a file."""
    if is_sequence_model(model):
        return evaluate_tags(model, source)
    if family(model) == "tables":
        table, labels = labelled_rows(model, source, settings)
        if is_classifier(model):
            _check_comparable(model.classes_, labels, expand_paths(source)[0])
        answers = [Answers(labels, model.predict(table), _probabilities(model, table))]
        return _evaluation(model, answers)
    answers = []
    with spooled(source, stdin=False) as source:
        how = how_to_read(model, source, settings)
        for piece in _rows(model, source, how):
            if piece.labels is None:
                raise FileError("expected labels to compare with, found none", expand_paths(source)[0])
            labels = _labels_of(piece, how, expand_paths(source)[0])
            if is_classifier(model):
                _check_comparable(model.classes_, labels, expand_paths(source)[0])
            answers.append(Answers(labels, model.predict(piece.X), _probabilities(model, piece.X)))
    return _evaluation(model, answers)


@dataclass(frozen=True)
class Answers:
    """Labels of rows, a model's predictions, and its probabilities if it has any."""

    labels: Any
    predictions: Any
    probabilities: Any


def _probabilities(model: Any, X: Any) -> Any:
    """The probabilities of rows, or their scores for two classes, which rank them as well; None without either."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    scores = model.decision_function(X) if hasattr(model, "decision_function") else None
    return scores if scores is not None and scores.ndim == 1 else None


def _evaluation(model: Any, answers: list[Answers]) -> Measures:
    """All measures of these answers."""
    labels = np.concatenate([one.labels for one in answers])
    predictions = np.concatenate([one.predictions for one in answers])
    rows = labels.shape[0]
    if not is_classifier(model):
        error, spread = labels - predictions, float(((labels - labels.mean()) ** 2).sum())
        r2 = 1 - float((error**2).sum()) / spread if spread else None
        return Measures(rows, None, None, float(np.abs(error).mean()), r2)
    wrong = predictions != labels
    errors = int(np.count_nonzero(wrong if wrong.ndim == 1 else wrong.any(axis=1)))
    found = Measures(rows, errors, 1 - errors / rows, None)
    if labels.ndim != 1:
        return found
    known = None if answers[0].probabilities is None else np.concatenate([one.probabilities for one in answers])
    return _class_measures(found, model.classes_, labels, predictions, known)


def _class_measures(found: Measures, classes: Any, labels: Any, predictions: Any, known: Any) -> Measures:
    """The evaluation with F1, the confusion table and, where probabilities or scores are known, log loss and AUC."""
    from sklearn.metrics import confusion_matrix, f1_score, log_loss, roc_auc_score

    names = np.union1d(classes, labels)
    table = confusion_matrix(labels, predictions, labels=names)
    found = replace(
        found,
        f1=float(f1_score(labels, predictions, labels=names, average="macro", zero_division=0)),
        classes=tuple(_format_label(name) for name in names),
        confusion=tuple(tuple(map(int, row)) for row in table),
    )
    if known is None or names.size > classes.size:  # labels that the model does not know have no probability
        return found
    if known.ndim == 2:
        codes = np.searchsorted(classes, labels)
        found = replace(found, log_loss=float(log_loss(codes, known, labels=np.arange(classes.size))))
    present = np.unique(labels)
    if classes.size == 2 and present.size == 2:
        return replace(
            found, area=float(roc_auc_score(labels == classes[1], known if known.ndim == 1 else known[:, 1]))
        )
    if classes.size > 2 and present.size > 1:
        each = [roc_auc_score(labels == name, known[:, np.searchsorted(classes, name)]) for name in present]
        return replace(found, area=float(np.mean(each)))
    return found


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
