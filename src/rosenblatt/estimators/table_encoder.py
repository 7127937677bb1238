"""`TableEncoder`: tables with columns of mixed types as rows of numbers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from rosenblatt.data.columns.encoding import (
    ENCODINGS,
    ColumnEncoding,
    ParsedColumn,
    encoded,
    learned,
    parsed,
    transformed,
)
from rosenblatt.data.columns.frames import Table, as_table
from rosenblatt.data.columns.kinds import KINDS, Kind, kind_of
from rosenblatt.data.columns.label_copies import is_copy
from rosenblatt.data.columns.one_hot_categories import MAX_NAMES
from rosenblatt.data.columns.statistics import ColumnStatistics, statistics
from rosenblatt.data.columns.values import ColumnValues, first_stray
from rosenblatt.data.declared_fields import is_count, must
from rosenblatt.estimators.base.column_checks import check_encoding
from rosenblatt.estimators.base.fitted_attributes import SHARED, check_attributes
from rosenblatt.estimators.base.fitting import as_it_was

Array = np.ndarray[Any, Any]
DROP = "drop"


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encodes a table as rows of numbers: numeric, categorical, boolean, date and text columns, with missing values.

    The kind of a column is decided from all rows:

    - numbers: standardised; a missing value becomes the mean, with an indicator feature; columns of mostly zeros are
      scaled without a shift and stay sparse
    - names (categories): one-hot for the most frequent; rare and unknown names share a feature; missing is a name
    - booleans: as 0 and 1, standardised
    - dates and times: year, month, day of the week, hour
    - text (a median of three words or more, more than half of the values different): words and pairs of words by
      sublinear TF-IDF

    Empty and constant columns, ids (whole numbers or names that are all different) and, where y is given, columns
    that are one-to-one copies of it are left out, with a warning that names them.

    Parameters
    ----------
    columns : mapping of str to str or transformer, optional
        The kind of some columns: "numbers", "splines" (a piecewise-linear function of a number), "names", "booleans",
        "dates", "text", or "drop"; or a scikit-learn transformer for the column. Others are decided from the data.
    encoders : mapping of str to transformer, optional
        Transformers that replace the built-in encoding of all columns of a kind. Those for numbers and booleans get
        numbers of shape (n, 1), those for names and dates objects of shape (n, 1), with NaN for missing values; those
        for text get strings of shape (n,).
    missing : sequence of str, default=()
        Strings that mean a missing value, besides the empty string, NA, NaN, ?, null and None.
    max_names : int, default=1000
        The most names of a column that have a feature of their own.

    Attributes
    ----------
    columns_ : tuple of ColumnEncoding
        The columns that are used, each with its kind and its learned encoding.
    left_out_ : dict of str to str
        The columns that are left out, each with the reason.
    missing_counts_ : dict of str to int
        The missing values of columns that have any.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of str
        The names of the columns, if X had names.

    Examples
    --------
    >>> import polars as pl
    >>> from rosenblatt import TableEncoder
    >>> table = pl.DataFrame({"age": [20, None, 40], "city": ["Bonn", "Köln", None]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age (missing)', 'city=Bonn', 'city=Köln', 'city=(other)', 'city=(missing)']
    >>> encoder.transform(table).toarray()
    array([[-1.,  0.,  1.,  0.,  0.,  0.],
           [ 0.,  1.,  0.,  1.,  0.,  0.],
           [ 1.,  0.,  0.,  0.,  0.,  1.]])
    """

    STORED = SHARED | {"columns_", "left_out_", "missing_counts_", "_names", "_notes"}
    _parameter_constraints: dict[str, Any] = {
        "columns": [Mapping, None],
        "encoders": [Mapping, None],
        "missing": ["array-like"],
        "max_names": [Interval(Integral, 1, None, closed="left")],
    }
    columns_: tuple[ColumnEncoding, ...]
    left_out_: dict[str, str]
    missing_counts_: dict[str, int]
    n_features_in_: int
    _notes: dict[str, str]

    def __init__(
        self,
        *,
        columns: Mapping[str, Any] | None = None,
        encoders: Mapping[str, Any] | None = None,
        missing: Sequence[str] = (),
        max_names: int = MAX_NAMES,
    ) -> None:
        self.columns, self.encoders, self.missing, self.max_names = columns, encoders, missing, max_names

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Decide the kind of each column and learn its encoding.

        Parameters
        ----------
        X : frame (pandas, polars, Arrow), array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,), optional
            Labels; columns that are copies of them are left out.
        """
        table = as_table(X)
        labelled = table.rows if y is None else np.asarray(y).shape[0]
        if labelled != table.rows:
            raise ValueError(f"X has {table.rows} rows and y has {labelled}: inconsistent numbers of samples.")
        with as_it_was(self):
            self._learn(self._columns(table, y))
        for name, reason in self.left_out_.items():
            if (self.columns or {}).get(name) != DROP:
                warnings.warn(f"Column {name!r} is left out: {reason}.", UserWarning, stacklevel=2)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Any:
        """`fit`, then `transform` of the same table."""
        table = as_table(X)
        return self.fit(table, y).transform(table)

    def transform(self, X: Any) -> Any:
        """The rows of a table as numbers.

        Columns may be in another order, and extra columns are ignored; a missing column is an error.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n, d)

        Returns
        -------
        csr_matrix of shape (n, features)
        """
        check_is_fitted(self, "columns_")
        table = self._matched(as_table(X))
        columns = [self._parsed(table, one) for one in self.columns_]
        return encoded(self.columns_, columns, table.rows)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The name of each feature.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self, "columns_")
        return np.array([name for one in self.columns_ for name in one.feature_names()], dtype=object)

    # -- the steps of fit, which folds call separately ----------------------------------------------------------------

    def _columns(self, table: Table, y: Any = None, classes: int | None = None) -> list[ParsedColumn]:
        """The used columns, parsed; sets the attributes that do not depend on which rows are learned from."""
        self._begin(list(table.columns), table.named)
        if y is not None and classes is None:
            y, classes = _label_codes(y)
        columns = []
        for name in table.columns:
            values = table.values(name, self.missing)
            found = statistics(values)
            kind = self._decide(values, found)
            if kind is None:
                continue
            column = self._in_form(values, parsed(values, kind, found.date_format if kind == "dates" else None))
            if y is None or not self._copies(column, found, y, classes):
                columns.append(column)
        return columns

    def _in_form(self, values: ColumnValues, column: ParsedColumn) -> ParsedColumn:
        """A column in the form that its encoder, possibly the user's transformer, takes."""
        transformer = self._transformer(column.name, column.kind)
        return column if transformer is None else transformed(values, column, transformer)

    def _transformer(self, name: str, kind: str) -> Any:
        asked = (self.columns or {}).get(name)
        return (self.encoders or {}).get(kind) if asked is None or isinstance(asked, str) else asked

    def _begin(self, names: list[str], named: bool) -> None:
        """Replace the columns of an earlier fit by these."""
        self._validate_params()
        self._check_kinds(names)
        self.n_features_in_, self._names = len(names), tuple(names)
        self.__dict__.pop("feature_names_in_", None)
        if named:
            self.feature_names_in_ = np.array(self._names, dtype=object)
        self.left_out_, self.missing_counts_, self._notes = {}, {}, {}

    def _decide(self, column: ColumnValues, found: ColumnStatistics) -> str | None:
        """The kind of a column; None, with the reason in `left_out_`, if it is left out."""
        kind = self._kind(column.name, kind_of(column, found))
        if found.missing:
            self.missing_counts_[column.name] = found.missing
        if kind.note:
            self._notes[column.name] = kind.note
        if kind.kind is None:
            self.left_out_[column.name] = kind.reason
        return kind.kind

    def _copies(self, column: ParsedColumn, found: ColumnStatistics, y: Array, classes: int | None) -> bool:
        """Whether a column is a copy of the label, and therefore left out."""
        code = found.whole or not found.numbers or classes is None  # fractional values are measurements, not codes
        copies = code and column.name not in (self.columns or {}) and is_copy(column, y, classes)
        if copies:
            self.left_out_[column.name] = "a one-to-one copy of the label"
        return copies

    def _parsed(self, table: Table, one: ColumnEncoding) -> ParsedColumn:
        """A column of a new table; text in a column of numbers is an error."""
        values = table.values(one.name, self.missing)
        if one.kind in ("numbers", "splines") and one.name not in self._notes and values.is_text:
            row = first_stray(values)
            if row is not None:
                raise table.error(f"expected a finite number, found {values.values[row].as_py()!r}", row, one.name)
        return self._in_form(values, parsed(values, one.kind, one.date_format))

    def _kind(self, name: str, decided: Kind) -> Kind:
        asked = (self.columns or {}).get(name)
        if asked is None:
            return decided
        if not isinstance(asked, str):  # a transformer, even for a column that would be left out
            return decided if decided.kind else Kind("names")
        return Kind(None, "as requested") if asked == DROP else Kind(asked)

    def _check_kinds(self, names: list[str]) -> None:
        for name, kind in (self.columns or {}).items():
            if name not in names:
                raise ValueError(f"columns names {name!r}, but there is no such column: {_some(names)}.")
            if kind not in (*KINDS, DROP) if isinstance(kind, str) else not hasattr(kind, "transform"):
                known = ", ".join((*KINDS, DROP))
                raise ValueError(f"columns[{name!r}] must be one of {known}, or a transformer, got {kind!r}.")
        for kind, transformer in (self.encoders or {}).items():
            if kind not in KINDS or not hasattr(transformer, "transform"):
                raise ValueError(f"encoders must map some of {', '.join(KINDS)} to transformers, got {kind!r}.")

    def _learn(self, columns: list[ParsedColumn]) -> None:
        self.columns_ = tuple(learned(column, self.max_names) for column in columns)

    def _matched(self, table: Table) -> Table:
        """The table with the columns of `fit`, matched by name, or by position if there are no names."""
        if not (table.named and hasattr(self, "feature_names_in_")):
            if len(table.columns) != self.n_features_in_:
                raise ValueError(
                    f"X has {len(table.columns)} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input."
                )
            return replace(table, columns=dict(zip(self._names, table.columns.values(), strict=True)))
        absent = [one.name for one in self.columns_ if one.name not in table.columns]
        if absent:
            raise ValueError(f"X has no column {absent[0]!r}, which the model learned from.")
        return table

    # -- scikit-learn and model files ---------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        """X may have columns of mixed types, missing values, or be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _renew(self) -> None:
        """Nothing to restore: no array is a view."""

    def _check_whole(self) -> None:
        """Refuse a model whose parts do not fit together."""
        check_attributes(self)
        must(isinstance(self.missing, list | tuple | np.ndarray) and is_count(self.max_names, 1), "parameters")
        if "columns_" not in vars(self):
            return
        names: Any = vars(self).get("_names")
        must(isinstance(names, tuple) and all(isinstance(name, str) for name in names), "names of columns")
        must(len(set(names)) == len(names) == vars(self).get("n_features_in_"), "a name for each column")
        must(isinstance(self.columns_, tuple) and isinstance(vars(self).get("_notes"), dict), "columns")
        for one in self.columns_:
            must(isinstance(one, ColumnEncoding) and one.name in names, "encodings of columns")
            if self._transformer(one.name, one.kind) is None:
                must(isinstance(one.encoding, ENCODINGS.get(one.kind, ())), "an encoding of the column's kind")
                check_encoding(one.encoding)


def _label_codes(y: Any) -> tuple[Array, int | None]:
    """Labels as codes with the number of classes, or numbers unchanged."""
    values = np.asarray(y)
    if values.dtype.kind == "f":
        return values, None
    found, codes = np.unique(values.astype(str), return_inverse=True)
    return codes, found.size


def _some(names: Any) -> str:
    shown = [repr(name) for name in list(names)[:10]]
    return f"the columns are {', '.join(shown)}{', …' if len(names) > 10 else ''}"
