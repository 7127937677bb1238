"""Models of raw tables on the command line: train, predict, evaluate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from rosenblatt.formats.byte_sources import STDIN, expand_paths, spooled
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.read_and_stream import rereadable
from rosenblatt.formats.reading import make_reading
from rosenblatt.scale.prediction import how_to_read
from rosenblatt.scale.table_files import table_and_labels
from rosenblatt.tables.columns.encoding import in_given_units
from rosenblatt.tables.columns.files import TEXT, table_parts
from rosenblatt.tables.columns.frames import Table
from rosenblatt.tables.columns.labels import labels_of
from rosenblatt.tables.columns.numbers import NumberEncoding
from rosenblatt.tables.columns.values import as_names
from rosenblatt.tables.encoder import TableEncoder

Array = np.ndarray[Any, Any]
WORDS_AND_PAIRS = (1, 2)  # the n-grams of columns of text
FEATURES_OF = {
    "numbers": "numbers, as they are",
    "splines": "numbers, as piecewise-linear splines",
    "names": "names, one column of 0 and 1 per name",
    "booleans": "booleans, as 0 and 1",
    "dates": "dates, by year, month, day of the week and hour",
    "text": "text, by words and pairs of words, TF-IDF",
}


def column_kinds(options: Sequence[str]) -> dict[str, str] | None:
    """The kinds in options such as zip=names."""
    kinds = {}
    for option in options:
        name, equals, kind = option.rpartition("=")
        if not equals or not name:
            raise ValueError(f'--column takes name=kind, such as "zip=names", not {option!r}.')
        kinds[name] = kind
    return kinds or None


def has_columns(source: Any, settings: dict[str, Any]) -> bool:
    """Whether a source is a table, or text that is not to be hashed; refuses settings that do not apply to columns."""
    found = make_reading(source, **{name: value for name, value in settings.items() if name != "n_features"}).format
    if found == "svmlight":
        if {"label", "format"} & set(settings) == {"label"} and STDIN in expand_paths(source):
            raise ValueError("Standard input is taken as svmlight, which has no label column: give --format csv.")
        return False
    others = {"n_features", "zero_based"} & set(settings)
    if settings.get("ngrams", WORDS_AND_PAIRS) != WORDS_AND_PAIRS:
        others.add("ngrams")
    if others and found != "text":
        raise ValueError("--features, --zero-based, --one-based and --ngrams are for svmlight and text files.")
    return not others


def encoded_by_columns(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without the range of n-grams that columns of text have anyway."""
    return {name: value for name, value in settings.items() if name != "ngrams"}


@dataclass(frozen=True)
class EncodedTable:
    """A table as rows of numbers in the units of its columns, its labels, and how each column became features."""

    X: Any
    y: Array
    encoder: TableEncoder
    rows_left_out: int

    @property
    def columns(self) -> dict[str, str]:
        """The kind of each column that is used."""
        return {one.name: one.kind for one in self.encoder.columns_}

    def __str__(self) -> str:
        kinds = {kind: [name for name, one in self.columns.items() if one == kind] for kind in self.columns.values()}
        without = f" ({self.rows_left_out:,} rows without a label are left out)" if self.rows_left_out else ""
        lines = [f"{self.y.size:,} rows{without}"]
        lines += [f"  {FEATURES_OF[kind]}: {', '.join(names)}" for kind, names in kinds.items()]
        lines += [f"  left out {name}: {reason}" for name, reason in self.encoder.left_out_.items()]
        for one in self.encoder.columns_:
            missing = self.encoder.missing_counts_.get(one.name)
            if missing:
                mean = (
                    f"taken as the mean {one.encoding.mean:.6g}, " if isinstance(one.encoding, NumberEncoding) else ""
                )
                lines += [f"  {one.name}: {missing:,} missing, {mean}with a column that marks them"]
        return "\n".join(lines)


def encoded_table(source: Any, settings: dict[str, Any], kinds: dict[str, str] | None) -> EncodedTable:
    """The table in a file, whose columns are used as a model of tables would use them, with numbers as they are."""
    with spooled(source, stdin=False) as found:
        how = make_reading(found, **encoded_by_columns(settings))
        with rereadable(found, how, scan=True) as files:
            table, column, _, absent = table_and_labels(files, how)
    y = labels_of(column).classes
    known = {TEXT: "text"} if how.format == "text" else {}
    encoder = TableEncoder(columns={**known, **(kinds or {})}).fit(table, y)
    encoder.columns_ = tuple(in_given_units(one) for one in encoder.columns_)
    X = encoder.transform(table)
    if not X.shape[1]:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in encoder.left_out_.items())
        raise FileError(f"expected a column to separate the classes by, found none ({reasons})", table.path)
    X.columns = encoder.get_feature_names_out().tolist()  # the names in a proof
    return EncodedTable(X, y, encoder, absent)


def answers_by_part(
    model: Any, source: Any, settings: dict[str, Any], labelled: bool, answer: Callable[[Table], Any]
) -> Iterator[Any]:
    """The results of `answer` for a file's table, part by part."""
    with spooled(source, stdin=False) as found:
        how = replace(how_to_read(model, found, settings), labelled=labelled)
        with rereadable(found, how) as files:
            rows = 0
            for table in table_parts(files, how):
                rows += table.rows
                yield answer(table)
        if not rows:
            raise FileError("expected rows, found none", expand_paths(found)[0])


def labelled_rows(model: Any, source: Any, settings: dict[str, Any]) -> tuple[Any, Array]:
    """The table in a file and its labels, in the type of the model's classes; rows without a label are left out."""
    with spooled(source, stdin=False) as found:
        how = how_to_read(model, found, settings)
        with rereadable(found, how, scan=True) as files:
            table, column, *_ = table_and_labels(files, how)
    labels = labels_of(column)
    if not is_classifier(model):
        return table, labels.values
    classes = model.classes_
    if classes.dtype.kind == "U":
        codes, names = as_names(labels.column)
        known = set(classes.tolist())
        return table, np.array([_as_class(name, known) for name in names])[codes[labels.present]]
    return table, _as_type(classes.dtype, labels.classes)


def _as_class(name: str, known: set[str]) -> str:
    """The class that this label is written for: itself, or the same number as a class of fractions is written."""
    try:
        return name if name in known or str(float(name)) not in known else str(float(name))
    except ValueError:
        return name


def _as_type(kind: Any, labels: Array) -> Array:
    """Numbers in the type of the classes if it holds them: NumPy rounds large integers where it joins types."""
    if kind.kind not in "iu" or labels.dtype.kind not in "iuf":
        return labels
    with np.errstate(invalid="ignore"):
        found = labels.astype(kind)
    return found if found.tolist() == labels.tolist() else labels
