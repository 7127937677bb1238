"""Dense rows that are used without conversion: narrow types, memory maps, and arrays of other libraries, also on a GPU.

Arrays of other libraries are kept where they are if scikit-learn's `array_api_dispatch` is on; otherwise they become
NumPy's, as in scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_array_api_obj, is_numpy_array
from sklearn import get_config

from rosenblatt.compiled.row_arrays import NARROW, Dense, Sparse
from rosenblatt.learn.embeddings import StackedRows
from rosenblatt.learn.models import Model, Planes
from rosenblatt.learn.overflow import check_scores
from rosenblatt.objective.row_reader import RowReader, longest, scores_of, to_host, type_name
from rosenblatt.shell.encoding import Reader, check_width

Array = np.ndarray[Any, Any]


def elsewhere(X: Any) -> bool:
    """Whether X is an array of another library that stays on its device."""
    return bool(get_config()["array_api_dispatch"]) and is_array_api_obj(X) and not is_numpy_array(X)


def refuse_sparse(X: Any, who: str, instead: str) -> None:
    """Refuse a sparse matrix, and name the alternative."""
    if sp.issparse(X):
        raise ValueError(f"Sparse rows: {who} multiplies dense rows. Use {instead}, or X.toarray().")


def used_as_is(estimator: Any, X: Any, reset: bool) -> bool:
    """Whether rows are used without conversion; if so, checks them and, with `reset`, stores their width."""
    array = type(X) in (np.ndarray, np.memmap) and X.ndim == 2 and X.size > 0
    narrow = array and (X.dtype.name in NARROW or (type(X) is np.memmap and X.dtype.kind in "iuf"))
    if not (narrow or isinstance(X, StackedRows) or elsewhere(X)):
        return False
    kind = type_name(X.dtype)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"Expected 2D array, got an array of shape {tuple(X.shape)}: X must be rows × features.")
    if not kind.startswith(("float", "bfloat", "int", "uint")):
        raise ValueError(f"X must hold real numbers, found {kind}.")
    check_width(estimator, X, reset)
    return True


def kept_rows(estimator: Any, X: Any, reset: bool) -> tuple[Dense, float] | None:
    """The unconverted rows with max‖x‖², refused if they contain NaN; None if they have to be converted."""
    return (Dense(X), longest(RowReader(X))) if used_as_is(estimator, X, reset) else None


def on_host(values: Any) -> Any:
    """Labels or weights as NumPy's, if they are an array of another library."""
    return to_host(values) if elsewhere(values) else values


def placed_like(found: Any, X: Any) -> Any:
    """A prediction on X's device if it consists of numbers; names stay in a NumPy array."""
    if not elsewhere(X) or found.dtype.kind not in "biuf":
        return found
    rows = RowReader(X)
    return rows.place(found, rows.dtype if found.dtype.kind == "f" else None)


class ProductReader(Reader):
    """Dense rows as they are, on the device where they are, for the mini-batch solvers."""

    def __init__(self, solver: str) -> None:
        super().__init__()
        self.solver = solver

    def rows(self, estimator: Any, X: Any, reset: bool = False, dtype: Any = None) -> tuple[Dense | Sparse, float]:
        """Dense rows, converted only if they have to be; a model predicts sparse rows too."""
        if sp.issparse(X) and not reset:
            return super().rows(estimator, X, reset, dtype)
        refuse_sparse(X, f'solver="{self.solver}"', 'solver="stochastic" or "batch"')
        return kept_rows(estimator, X, reset) or super().rows(estimator, X, reset, dtype)

    def host(self, values: Any) -> Any:
        """Labels or weights as NumPy's."""
        return on_host(values)

    def scores(self, kept: Model, rows: Dense | Sparse) -> Array:
        """Scores of dense rows by a matrix product."""
        if not isinstance(rows, Dense):
            return super().scores(kept, rows)
        assert isinstance(kept, Planes)
        found = to_host(scores_of(rows.values, kept.coef, kept.intercept))
        return kept.scheme.scores(check_scores(found), kept.classes)

    def answer(self, found: Array, X: Any) -> Array:
        """On X's device."""
        return placed_like(found, X)  # type: ignore[no-any-return]
