"""Tables: each column becomes one or more features.

A column in which every value is a number is one feature. Any other column is categorical, a column of names: one
feature per name ("onehot"), or all such columns share `hashed` features, indexed by the hash of column=name ("hash").
The type of a column and its names are determined from all rows, never from the first few. In a column of almost only
numbers, a value that is not a number is an error rather than a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.formats.declared_fields import must, such_that
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.hashed_text import murmur
from rosenblatt.formats.table_batches import Batch, arrow_errors_as_file_errors, batches

Array = np.ndarray[Any, Any]
LABEL_NAMES = ("label", "target", "class", "y")
NUMERIC_SHARE = 0.9  # from this share of numbers on, other values are errors
LEAST_ROWS_OF_CODES, NEARLY_ALL = 50, 0.9  # in so many rows, names of which this share is different are refused


@dataclass(frozen=True)
class Column:
    """A feature column: numeric (`names` is None) or categorical, with its names."""

    name: str
    names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """How the columns of a table become features, in this order, with hashed features last."""

    columns: tuple[Column, ...]
    label: str | None
    label_kind: str  # "int", "float", "name", or "" without a label
    hashed: int = 0

    @property
    def n_features(self) -> int:
        """The number of features."""
        return sum(1 if c.names is None else len(c.names) for c in self.columns) + self.hashed

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The name of each feature: its column, column=name for categories, or its number for hashed features."""
        plain = [name for c in self.columns for name in _column_feature_names(c)]
        return (*plain, *(f"hash {k}" for k in range(self.hashed)))

    def check(self) -> None:
        """Refuse a layout from a model file whose parts are not of their kinds."""
        good = isinstance(self.columns, tuple) and all(isinstance(one, Column) for one in self.columns)
        for one in self.columns if good else ():
            names = () if one.names is None else one.names
            good &= isinstance(names, tuple) and all(isinstance(name, str) for name in (one.name, *names))
        good &= isinstance(self.label, str | None) and self.label_kind in ("int", "float", "name", "")
        if not (good and type(self.hashed) is int and 0 <= self.hashed <= 1 << 31):
            raise ValueError("expected the columns of a table")


def _column_feature_names(column: Column) -> list[str]:
    return [column.name] if column.names is None else [f"{column.name}={name}" for name in column.names]


# -- values ----------------------------------------------------------------------------------------------------------


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _text_or_numbers(pa: Any, column: Any, batch: Batch, name: str) -> Any:
    """The column as text or numbers; other types are refused."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _text_or_numbers(pa, column.dictionary, batch, name).take(column.indices)
    if _is_text(pa, kind) or pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return column
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return column.cast(pa.float64())
    if pa.types.is_decimal(kind):  # decimals are rounded like text
        return column.cast(pa.large_string())
    raise FileError(f"expected numbers or text, found values of type {kind}", batch.path, None, name)


def _to_floats(pa: Any, column: Any) -> tuple[Array, Array]:
    """The column as float64, and which of its values are numbers."""
    if not _is_text(pa, column.type):
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return values, np.ones(len(column), np.bool_) if not column.null_count else ~np.asarray(column.is_null())
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim(column, " \t\r")  # not other blanks: control characters are not part of a number
    try:
        return trimmed.cast(pa.float64()).to_numpy(zero_copy_only=False), np.ones(len(column), np.bool_)
    except pa.ArrowInvalid:
        values, good = np.zeros(len(column)), np.zeros(len(column), np.bool_)
        for i, word in enumerate(trimmed.to_pylist()):
            if word is not None and NUMBER.fullmatch(word):
                values[i], good[i] = float(word), True
        return values, good


POSITION = re.compile(r"-?\d{1,9}", re.ASCII)
INTEGER = re.compile(r"\s*([-+]?\d{1,400})(\.0*)?\s*", re.ASCII)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE | re.ASCII)


def _require_finite(values: Array, good: Array, column: Any, batch: Batch, name: str) -> Array:
    """Return the values; refuse any that is not a finite number."""
    wrong = ~(good & np.isfinite(values))
    if wrong.any():
        i = int(np.argmax(wrong))
        word = column[i].as_py()
        found = "nothing" if word is None or word == "" else repr(word)
        raise FileError(f"expected a finite number, found {found}", batch.path, batch.line(i), name)
    return values


def _first_inexact(values: Array, column: Any) -> int | None:
    """The first row with an integer that its double does not equal, or None."""
    for i in np.flatnonzero(np.isfinite(values) & (np.abs(values) >= 2**53)).tolist():
        given = column[i].as_py()
        if isinstance(given, str):
            whole = INTEGER.fullmatch(given)
            given = int(whole[1]) if whole else None
        if isinstance(given, int) and given != int(values[i]):
            return i
    return None


def _require_exact(pa: Any, values: Array, column: Any, batch: Batch, name: str) -> None:
    """Refuse integers that a double cannot represent; numbers in text are rounded instead."""
    i = _first_inexact(values, column) if pa.types.is_integer(column.type) else None
    if i is not None:
        found = column[i].as_py()
        what = f"expected a number that a double can represent, found {found}"
        raise FileError(what, batch.path, batch.line(i), name)


def _require_no_trailing_nul(pa: Any, column: Any, batch: Batch, name: str) -> Any:
    """Return the column; refuse a name that ends with NUL, which NumPy would drop."""
    import pyarrow.compute as pc

    if _is_text(pa, column.type):
        cut = np.asarray(pc.ends_with(column, "\0").fill_null(False))
        if cut.any():
            i = int(np.argmax(cut))
            found = repr(column[i].as_py())
            raise FileError(
                f"expected a name that does not end with NUL, found {found}", batch.path, batch.line(i), name
            )
    return column


def _to_strings(column: Any) -> list[str]:
    """The column as strings; missing values become the empty string."""
    return ["" if word is None else str(word) for word in column.to_pylist()]


# -- scanning columns ------------------------------------------------------------------------------------------------


PLACE = such_that(lambda first: isinstance(first, tuple) and len(first) == 3, "where a name is")


@dataclass
class ColumnSurvey:
    """What a column contains, in the batches surveyed so far."""

    numbers: int = 0
    total: int = 0
    whole: bool = True
    first: Annotated[tuple[Batch, int, str] | None, PLACE] = (
        None  # where the first value is that is not a number, and its text
    )
    rounded: bool = False  # whether there is an integer that a double cannot represent

    def check(self) -> None:
        """Numbers are some of the values."""
        must(self.numbers <= self.total, "a column")

    def add(self, values: Array, good: Array, column: Any, batch: Batch) -> None:
        """Add the part of the column in a batch."""
        self.numbers += int(good.sum())
        self.total += good.size
        self.whole = self.whole and bool(np.isfinite(values).all() and (values == np.floor(values)).all())
        if self.first is None and not good.all():
            i = int(np.argmin(good))
            self.first = replace(batch, columns={}), i, str(column[i].as_py())
        self.rounded = self.rounded or _first_inexact(values, column) is not None

    @property
    def label_kind(self) -> str:
        """The kind of labels in this column; integers that a double cannot represent are names, to avoid rounding."""
        if self.numbers < self.total or self.rounded:
            return "name"
        return "int" if self.whole else "float"

    def joined(self, other: ColumnSurvey) -> ColumnSurvey:
        """Both surveys as one, where `other` covers later rows."""
        first = self.first or other.first
        rounded = self.rounded or other.rounded
        return ColumnSurvey(
            self.numbers + other.numbers, self.total + other.total, self.whole and other.whole, first, rounded
        )


def survey_columns(parts: Iterable[Batch]) -> dict[str, ColumnSurvey]:
    """Survey each column of these batches."""
    import pyarrow as pa  # here and below, because only tables need it

    seen: dict[str, ColumnSurvey] = {}
    for batch in parts:
        seen = seen or {name: ColumnSurvey() for name in batch.columns}
        _require_same_columns(batch.path, list(batch.columns), list(seen))
        with arrow_errors_as_file_errors(batch.path):
            for name, column in batch.columns.items():
                column = _text_or_numbers(pa, column, batch, name)
                values, good = _to_floats(pa, column)
                if not _is_text(pa, column.type):
                    _require_finite(values, good, column, batch, name)
                seen[name].add(values, good, column, batch)
    return seen


def merge_surveys(surveys: Sequence[tuple[str, dict[str, ColumnSurvey]]]) -> dict[str, ColumnSurvey]:
    """Merge the surveys of several tables, each given with the path of its table."""
    found: dict[str, ColumnSurvey] = {}
    for path, seen in surveys:
        if seen:
            found = found or {name: ColumnSurvey() for name in seen}
            _require_same_columns(path, list(seen), list(found))
            found = {name: one.joined(seen[name]) for name, one in found.items()}
    if not found or not next(iter(found.values())).total:
        raise FileError("expected rows, found none", surveys[0][0])
    return found


def categorical_columns(seen: dict[str, ColumnSurvey], label: str | None) -> list[str]:
    """The categorical columns; one with almost only numbers is refused."""
    found = [name for name, one in seen.items() if name != label and one.numbers < one.total]
    for name in found:
        one = seen[name]
        if one.numbers >= NUMERIC_SHARE * one.total and one.first is not None:
            batch, i, word = one.first
            raise FileError(f"expected a number as in the other rows, found {word!r}", batch.path, batch.line(i), name)
    return found


def collect_names(parts: Iterable[Batch], columns: Sequence[str]) -> dict[str, set[str]]:
    """The set of names in each of these columns."""
    import pyarrow as pa

    found: dict[str, set[str]] = {name: set() for name in columns}
    for batch in parts:
        with arrow_errors_as_file_errors(batch.path):
            for name in columns:
                given = _require_no_trailing_nul(
                    pa, _text_or_numbers(pa, batch.columns[name], batch, name), batch, name
                )
                found[name].update(_to_strings(given.unique()))
    return found


def build_layout(
    seen: dict[str, ColumnSurvey], label: str | None, names: dict[str, set[str]], hashed: int, path: str
) -> Layout:
    """The layout for surveyed columns; `hashed` is 0 if every name gets its own feature."""
    columns = tuple(
        Column(name, tuple(sorted(names[name])) if name in names else None) for name in seen if name != label
    )
    for column in columns:
        total = seen[column.name].total
        if total >= LEAST_ROWS_OF_CODES and column.names and len(column.names) >= NEARLY_ALL * total:
            what = f"expected names that repeat, found {len(column.names):,} in {total:,} rows, like text or ids"
            raise FileError(
                f"{what} (TableClassifier, with any learner inside, encodes text and leaves out ids)",
                path,
                None,
                column.name,
            )
    if not columns:
        raise FileError(f"expected a feature column besides the label {label!r}, found none", path)
    about = seen[label] if label is not None else None
    return Layout(columns, label, "" if about is None else about.label_kind, hashed if names else 0)


def scan_layout(
    paths: Sequence[str],
    how: Any,
    size: int,
    *,
    hashed: int,
) -> Layout:
    """Scan these tables to determine how their columns become features under this reading."""
    seen = merge_surveys([(path, survey_columns(batches(path, how, size))) for path in paths])
    target = find_label_column(how.label, list(seen), paths[0]) if how.labelled else None
    columns = categorical_columns(seen, target)
    names: dict[str, set[str]] = {name: set() for name in columns}
    if columns and how.categorical == "onehot":
        for path in paths:
            for name, words in collect_names(batches(path, how, size), columns).items():
                names[name] |= words
    return build_layout(seen, target, names, hashed if how.categorical == "hash" else 0, paths[0])


def read_column_names(path: str, how: Any, size: int) -> tuple[str, ...]:
    """The column names of a table; empty if it has no rows."""
    return next((tuple(batch.columns) for batch in batches(path, how, size)), ())


def _require_same_columns(path: str, found: list[str], names: list[str]) -> None:
    if found != names:
        raise FileError(f"expected the columns {names}, found {found}", path, 1)


def find_label_column(label: str | int | None, names: list[str], path: str) -> str:
    """The name of the label column; a name that is a whole number and no column has stands for a position."""
    if isinstance(label, str) and label not in names and POSITION.fullmatch(label):
        label = int(label)
    if isinstance(label, int):
        if not -len(names) <= label < len(names):
            raise FileError(f"expected the label in column {label}, found only {len(names)} columns", path)
        return names[label]
    if label is not None:
        if label not in names:
            raise FileError(f"expected a column named {label!r}, found {names}", path)
        return label
    found = [name for name in names if name.strip().lower() in LABEL_NAMES]
    if len(found) != 1:
        raise FileError(f"cannot tell which column is the label: give label (--label), one of {names}", path)
    return found[0]


# -- rows ------------------------------------------------------------------------------------------------------------


def encode_batch(batch: Batch, layout: Layout) -> tuple[Any, Any]:
    """The features of a batch, dense if all columns are numeric and CSR otherwise, and its labels or None."""
    import pyarrow as pa

    with arrow_errors_as_file_errors(batch.path):
        return _encode_features(pa, batch, layout), _encode_batch_labels(pa, batch, layout)


def _encode_features(pa: Any, batch: Batch, layout: Layout) -> Any:
    missing = [column.name for column in layout.columns if column.name not in batch.columns]
    if missing:
        raise FileError(f"expected a column named {missing[0]!r}, found {list(batch.columns)}", batch.path, 1)
    dense = all(column.names is None for column in layout.columns)
    X = np.empty((batch.rows, layout.n_features)) if dense else None
    parts: list[tuple[Array, Array, Array]] = []
    first = 0
    for column in layout.columns:
        given = _text_or_numbers(pa, batch.columns[column.name], batch, column.name)
        if column.names is not None:
            words = _to_strings(_require_no_trailing_nul(pa, given, batch, column.name))
            parts.append(_encode_names(words, column, layout, first))
            first += len(column.names)
            continue
        values = _require_finite(*_to_floats(pa, given), given, batch, column.name)
        _require_exact(pa, values, given, batch, column.name)
        if X is not None:
            X[:, first] = values
        else:
            at = np.flatnonzero(values)
            parts.append((at, np.full(at.size, first), values[at]))
        first += 1
    return _csr_from_triplets(parts, (batch.rows, layout.n_features)) if X is None else X


def _csr_from_triplets(parts: list[tuple[Array, Array, Array]], shape: tuple[int, int]) -> Any:
    at, columns, values = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return sp.csr_matrix((values, (at, columns)), shape=shape)


def _encode_names(given: list[str], column: Column, layout: Layout, first: int) -> tuple[Array, Array, Array]:
    """For each row, a 1 at the feature of its name; a name that was not in the scan gets no feature."""
    words, inverse = np.unique(np.array(given, dtype=object).astype(str), return_inverse=True)
    assert column.names is not None
    if layout.hashed:
        base = layout.n_features - layout.hashed
        places = np.array([base + _hash_name(f"{column.name}={word}") % layout.hashed for word in words], np.int64)
    else:
        known = {name: first + k for k, name in enumerate(column.names)}
        places = np.array([known.get(str(word), -1) for word in words], np.int64)
    columns = places[inverse]
    at = np.flatnonzero(columns >= 0)
    return at, columns[at], np.ones(at.size)


def _hash_name(word: str) -> int:
    data = np.frombuffer(word.encode() + bytes(4), np.uint8)
    return int(murmur(data, 0, data.size - 4))


def _encode_batch_labels(pa: Any, batch: Batch, layout: Layout) -> Any:
    if layout.label is None or layout.label not in batch.columns:
        return None
    given = _text_or_numbers(pa, batch.columns[layout.label], batch, layout.label)
    if layout.label_kind == "name":
        words = np.array(_to_strings(_require_no_trailing_nul(pa, given, batch, layout.label)), dtype=object)
        if (words == "").any():
            line = batch.line(int(np.argmax(words == "")))
            raise FileError("expected a label, found nothing", batch.path, line, layout.label)
        return words
    values = _require_finite(*_to_floats(pa, given), given, batch, layout.label)
    if layout.label_kind == "int" and (values == np.floor(values)).all() and (np.abs(values) < 2**53).all():
        return values.astype(np.int64)
    return values
