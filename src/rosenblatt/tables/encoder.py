"""`TableEncoder`: tables with columns of mixed types as rows of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from rosenblatt.formats.declared_fields import is_count, must, verify
from rosenblatt.shell.caller_warnings import warn
from rosenblatt.shell.fitted_attributes import SHARED, check_attributes
from rosenblatt.tables.columns.encoding import ENCODINGS, ColumnEncoding, encoded, learned
from rosenblatt.tables.columns.frames import Table, as_table
from rosenblatt.tables.columns.one_hot_categories import MAX_NAMES
from rosenblatt.tables.columns.used_columns import DROP, ColumnOptions, UsedColumns, columns_again
from rosenblatt.tables.frames_out import dense_if_asked

Array = np.ndarray[Any, Any]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encodes a table as rows of numbers: numeric, categorical, boolean, date and text columns, with missing values.

    The kind of a column is decided from all rows:

    - numbers: standardised; a missing value becomes the mean, with an indicator feature; columns of mostly zeros are
      scaled without a shift and stay sparse
    - names (categories, whole numbers with leading zeros, and digits that are text where other columns of the frame are
      numbers by type): one-hot for the most frequent; rare and unknown names share a feature; missing is a name
    - booleans: as 0 and 1, standardised
    - dates and times: year, month, day of the week, hour
    - text (a median of three words or more, more than half of the values different): words and pairs of words by
      sublinear TF-IDF

    Empty and constant columns, ids (whole numbers or names that are all different, names of which nine in ten are) and,
    where y is given, columns
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
    reasons_ : dict of str to str
        Why each column that is used has its kind.
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

    STORED = SHARED | {"columns_", "left_out_", "missing_counts_", "reasons_", "_names", "_notes"}
    _parameter_constraints: dict[str, Any] = {
        "columns": [Mapping, None],
        "encoders": [Mapping, None],
        "missing": ["array-like"],
        "max_names": [Interval(Integral, 1, None, closed="left")],
    }
    columns_: tuple[ColumnEncoding, ...]
    left_out_: dict[str, str]
    reasons_: dict[str, str]
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
            The training rows.
        y : array-like of shape (n,), optional
            Labels; columns that are copies of them are left out.
        """
        table = as_table(X)
        labelled = table.rows if y is None else np.asarray(y).shape[0]
        if labelled != table.rows:
            raise ValueError(f"X has {table.rows} rows and y has {labelled}: inconsistent numbers of samples.")
        self._validate_params()
        used = UsedColumns(options_of(self), tuple(table.columns), table.named, table.typed)
        columns = used.in_table(table, *_label_codes(y))
        encodings = [learned(column, self.max_names) for column in columns]
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(used.attributes(encodings))
        warn_left_out(self.left_out_, self.columns)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Any:
        """`fit`, then `transform` of the same table."""
        table = as_table(X)
        return dense_if_asked(self, sparse_rows(self.fit(table, y), table))

    def transform(self, X: Any) -> Any:
        """The rows of a table as numbers.

        Columns may be in another order, and extra columns are ignored; a missing column is an error.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n, d)
            The rows to encode.

        Returns
        -------
        csr_matrix of shape (n, features), or a frame after `set_output`
        """
        return dense_if_asked(self, sparse_rows(self, X))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The name of each feature.

        Parameters
        ----------
        input_features : ignored
            Not used; present as scikit-learn's transformers have it.
        """
        check_is_fitted(self, "columns_")
        return np.array([name for one in self.columns_ for name in one.feature_names()], dtype=object)

    def _matched(self, table: Table) -> Table:
        """The table with the columns of `fit`, matched by name, or by position if there are no names."""
        if not (table.named and "feature_names_in_" in vars(self)):
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
            if options_of(self).transformer(one.name, one.kind) is None:
                must(one.kind in ENCODINGS, "a kind of column")
                verify(one.encoding, ENCODINGS[one.kind])


def sparse_rows(encoder: TableEncoder, X: Any) -> Any:
    """What `transform` gives where `set_output` asks for no frame."""
    check_is_fitted(encoder, "columns_")
    table = encoder._matched(as_table(X))
    columns = columns_again(table, encoder.columns_, options_of(encoder), encoder._notes)
    return encoded(encoder.columns_, columns, table.rows)


def options_of(encoder: TableEncoder) -> ColumnOptions:
    """The parameters that say how columns are encoded."""
    return ColumnOptions(encoder.columns or {}, encoder.encoders or {}, encoder.missing)


def encoder_of(used: UsedColumns, encodings: Sequence[ColumnEncoding]) -> TableEncoder:
    """The encoder of columns that were examined elsewhere, with these encodings."""
    encoder = TableEncoder(columns=used.options.columns or None)
    encoder.__dict__.update(used.attributes(encodings))
    return encoder


def warn_left_out(left_out: Mapping[str, str], asked: Mapping[str, Any] | None) -> None:
    """Warn of each column that is left out, unless the user said so."""
    for name, reason in left_out.items():
        if (asked or {}).get(name) != DROP:
            warn(f"Column {name!r} is left out: {reason}.", UserWarning)


def _label_codes(y: Any) -> tuple[Array | None, int]:
    """Labels as codes with the number of classes; numbers unchanged, with 0."""
    values = None if y is None else np.asarray(y)
    if values is None or values.dtype.kind == "f":
        return values, 0
    found, codes = np.unique(values.astype(str), return_inverse=True)
    return codes, found.size
