"""How X and y become examples, and how answers go back.

A reader turns X into rows: arrays, matrices and frames, validated by scikit-learn; arrays of other libraries; or rows
wired to random units (`mark_i`). A target turns y into codes of classes, an indicator of labels, or numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import column_or_1d
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_consistent_length,
    validate_data,
)

from rosenblatt.compiled.row_arrays import NARROW, Dense, Sparse, radius2, widened
from rosenblatt.compiled.tie_rule import decide
from rosenblatt.formats.arrow import check_buffers, check_collected
from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.examples import Examples, class_weights, encode_weights
from rosenblatt.learn.labels import (
    as_labels,
    check_labels,
    coded_labels,
    distinct,
    encode_indicator,
    encode_labels,
    merge_labels,
)
from rosenblatt.learn.models import Model
from rosenblatt.learn.overflow import check_scores
from rosenblatt.learn.row_checks import encode_rows
from rosenblatt.shell.caller_warnings import warn

Array = np.ndarray[Any, Any]


# -- X as scikit-learn validates it, with shorter errors and a fast path for small calls -------------------------------


def _plainly_valid(estimator: Any, X: Any, reset: bool, dtype: Any, accept_sparse: Any = False) -> bool:
    """Whether `validate_data` would return X unchanged: for one row it takes longer than the rest of the call."""
    plain = type(X) is np.ndarray and X.flags.c_contiguous
    if accept_sparse == "csr" and type(X) in (sp.csr_matrix, sp.csr_array):  # `encode_rows` checks its arrays
        plain = type(X.data) is np.ndarray
    if not plain or X.ndim != 2 or min(X.shape) == 0 or X.dtype not in (dtype if isinstance(dtype, list) else [dtype]):
        return False
    known = vars(estimator)
    if "feature_names_in_" in known:  # scikit-learn deletes them, or warns
        return False
    if reset:
        estimator.n_features_in_ = X.shape[1]
    return bool(known.get("n_features_in_") == X.shape[1])


def check_width(estimator: Any, X: Any, reset: bool) -> None:
    """Store the number of features, or refuse a different one."""
    _check_feature_names(estimator, X, reset=reset)
    _check_n_features(estimator, X, reset=reset)


def validated(estimator: Any, X: Any, *, reset: bool, dtype: Any, ensure_all_finite: bool, **settings: Any) -> Any:
    """`validate_data`, with a shorter error for complex numbers: scikit-learn's prints the whole array."""
    if not ensure_all_finite and _plainly_valid(estimator, X, reset, dtype, settings.get("accept_sparse")):
        return X
    check_collected(X, "X")
    check_buffers(X, "X")
    if getattr(X, "format", "csr") != "csr":  # CSR is not converted, and `encode_rows` checks all of it
        well_formed(X)
    try:
        return validate_data(estimator, X, reset=reset, dtype=dtype, ensure_all_finite=ensure_all_finite, **settings)
    except OverflowError as error:  # of a Python integer
        raise ValueError("X has a whole number that is too large for double precision, above 1.8e308.") from error
    except (ValueError, TypeError) as error:
        if str(error).startswith("Complex data not supported") or str(error).endswith("not 'complex'"):
            raise ValueError("Complex data not supported: X must hold real numbers.") from None
        raise


def _types(X: Any, plain: bool) -> Any:
    """The dtypes to convert to; scikit-learn recognises the dtype of an array, but not of every frame."""
    kinds = None if plain else getattr(X, "dtypes", None)
    narrow = kinds is not None and len(kinds) and all(str(kind).lower() == "float32" for kind in kinds)
    return np.float32 if narrow else [np.float64, np.float32]


# -- readers -----------------------------------------------------------------------------------------------------------


class Reader:
    """Arrays, CSR matrices and frames, of float32 and float64 as given; narrow types are widened to 32 bits.

    With `widens`, rows of 16 and 8 bits are stored as given, and widened in blocks.
    """

    def __init__(self, widens: bool = False) -> None:
        self.widens = widens

    def begin(self, estimator: Any, X: Any, dtype: Any, sample_weight: Any) -> None:
        """Learn from the rows of a first call what the reader needs."""

    def rows(self, estimator: Any, X: Any, reset: bool = False, dtype: Any = None) -> tuple[Dense | Sparse, float]:
        """X, validated by scikit-learn and by `Examples`, and max‖x‖²."""
        plain = type(X) in (np.ndarray, np.memmap)
        if dtype is None and plain and X.dtype.itemsize <= 2 and X.dtype.name in NARROW:
            if self.widens and X.ndim == 2 and X.size:
                check_width(estimator, X, reset)
                return encode_rows(X)
            dtype = np.float32
        X = validated(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=_types(X, plain) if dtype is None else dtype,
            ensure_all_finite=False,
        )
        return encode_rows(X)

    def width(self, estimator: Any) -> int:
        """The number of features that are learned from."""
        return int(estimator.n_features_in_)

    def host(self, values: Any) -> Any:
        """Labels or weights in memory."""
        return values

    def scores(self, kept: Model, rows: Dense | Sparse) -> Array:
        """The scores of all rows."""
        n = rows.values.shape[0] if isinstance(rows, Dense) else rows.starts.size - 1
        return kept.scores(rows, np.arange(n, dtype=np.uint64))

    def answer(self, found: Array, X: Any) -> Array:
        """The return value of a prediction for X."""
        return found


PLAIN, WIDENING = Reader(), Reader(widens=True)


# -- targets -----------------------------------------------------------------------------------------------------------


class Classes:
    """Classes as codes, or labels as an indicator."""

    def encode(self, y: Any, dtype: Any, weights: Array | None, known: Array | None, class_weight: Any) -> Any:
        """Codes or an indicator, the classes, and the rows' weights times class weights."""
        sparse = sp.issparse(y)
        if sparse and len(y.shape) == 2 and y.shape[1] == 1:
            y, sparse = well_formed(y, "y").toarray(), False  # one column of classes, as in a dense y
        y = y if sparse else as_labels(y)
        if sparse or (y.ndim == 2 and y.shape[1] > 1):
            indicator = encode_indicator(y)
            if class_weight is not None:
                raise ValueError("class_weight weighs classes; for an indicator of labels pass sample_weight.")
            return indicator, np.arange(indicator.shape[1]), weights
        plain = y.ndim == 1 and y.dtype.kind in "biufUSO"  # nothing that scikit-learn would convert or refuse
        y = y if plain else column_or_1d(y, warn=True)
        present = y if weights is None or weights.all() else y[weights > 0]
        coded = coded_labels(y) if present is y and known is None else None
        classes = distinct(present) if coded is None else coded[0]
        check_labels(y, classes if present is y else distinct(y))
        if known is not None:
            classes = merge_labels(known, classes) if classes.size else known
        if present is not y:  # labels of rows of weight 0 are not classes; their code is never read
            codes = np.zeros(y.shape[0], dtype=np.int32)
            codes[weights > 0] = encode_labels(present, classes)  # type: ignore[operator]
        else:
            codes = encode_labels(y, classes) if coded is None else coded[1]
        shares = None if class_weight is None else class_weights(class_weight, classes, codes, weights)
        if shares is not None:
            weights = shares[codes] * (1.0 if weights is None else weights)
            if not weights.any():
                raise ValueError("class_weight is zero on every row: there is nothing to learn from.")
        return codes, classes, weights

    def check(self, name: str, examples: Examples) -> None:
        """Refuse a single class; warn that a one-hot y is read as labels: a row may have several."""
        assert examples.classes is not None
        if examples.classes.size < 2 and examples.target.ndim == 1:
            raise ValueError(
                f"{name} needs at least 2 classes to learn from; y has 1 class: {examples.classes.item(0)!r}."
            )
        self.check_labels(examples)

    def check_labels(self, examples: Examples) -> None:
        """Warn that a one-hot y is read as labels."""
        if examples.target.ndim == 2 and examples.target.shape[0] > 1 and (examples.target.sum(axis=1) == 1).all():
            warn(
                "y has exactly one 1 in every row, and is read as labels: each column is learned on its own, and a row "
                "may get several or none. If the columns are classes, pass y.argmax(axis=1).",
                UserWarning,
            )

    def score(self, kept: Any, examples: Examples, rows: Array) -> float:
        """Weighted accuracy on these rows."""
        labels, right, total = examples.target.ndim == 2, 0.0, 0.0
        for begin in range(0, rows.size, 1 << 14):
            index = rows[begin : begin + (1 << 14)]
            truth, said = examples.target[index], decide(check_scores(kept.scores(examples.rows, index)), labels)
            hit = (said == truth) if not labels else (said == truth).all(axis=1)
            mass = np.ones(index.size) if examples.weights is None else examples.weights[index]
            right, total = right + float(mass[hit].sum()), total + float(mass.sum())
        return right / total


class Numbers:
    """Numbers in the precision of the rows."""

    def encode(self, y: Any, dtype: Any, weights: Array | None, known: Array | None, class_weight: Any) -> Any:
        """Finite numbers, no classes, and the rows' weights."""
        y = column_or_1d(y, warn=True)
        if y.dtype.kind in "mM" and np.isnat(y).any():  # NumPy would take NaT as the smallest integer
            raise ValueError(f"Input y contains NaT at row {int(np.argmax(np.isnat(y)))}.")
        try:
            target = np.ascontiguousarray(y, dtype=widened(dtype))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"y must be numbers for regression: {error}.") from error
        if not np.isfinite(target).all():
            row = int(np.flatnonzero(~np.isfinite(target))[0])
            raise ValueError(f"Input y contains NaN or infinity at row {row}.")
        return target, None, weights

    def check(self, name: str, examples: Examples) -> None:
        """Any numbers can be learned."""

    def check_labels(self, examples: Examples) -> None:
        """Numbers are no labels."""

    def score(self, kept: Any, examples: Examples, rows: Array) -> float:
        """Weighted R² on these rows."""
        from sklearn.metrics import r2_score  # here, because it takes long to import

        mass = None if examples.weights is None else examples.weights[rows]
        said = check_scores(kept.scores(examples.rows, rows))
        return float(r2_score(examples.target[rows], said, sample_weight=mass))


CLASSES, NUMBERS = Classes(), Numbers()


# -- both together -----------------------------------------------------------------------------------------------------


def encode_examples(
    estimator: Any,
    reader: Reader,
    target: Classes | Numbers,
    X: Any,
    y: Any,
    sample_weight: Any,
    class_weight: Any = None,
    *,
    reset: bool = True,
    dtype: Any = None,
    known: Array | None = None,
) -> Examples:
    """X, y and the rows' weights as examples.

    Parameters
    ----------
    estimator : estimator
        For scikit-learn's checks of features, which it stores on the estimator if `reset`.
    known : ndarray, optional
        Classes of earlier calls.
    """
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    if reset:
        reader.begin(estimator, X, dtype, sample_weight)
    y, sample_weight = reader.host(y), reader.host(sample_weight)
    rows, reach = reader.rows(estimator, X, reset, dtype)
    n = int(rows.values.shape[0] if isinstance(rows, Dense) else rows.starts.size - 1)
    if not (type(y) is np.ndarray and y.shape[:1] == (n,)):
        check_buffers(y, "y")
        check_collected(y, "y")
        check_consistent_length(X, y)
    weights = None if sample_weight is None else encode_weights(sample_weight, n)
    codes, classes, weights = target.encode(y, rows.values.dtype, weights, known, class_weight)
    present = None
    if weights is not None and not weights.all():
        present = np.flatnonzero(weights).astype(np.uint64)
        if isinstance(rows.values, np.ndarray):
            reach = radius2(rows, present)  # computed over all rows if they are used unconverted
    return Examples(rows, reader.width(estimator), codes, classes, weights, present, reach)
