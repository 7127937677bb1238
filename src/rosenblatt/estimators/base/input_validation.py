"""scikit-learn's validation of X, with shorter errors and a fast path for small calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data

from rosenblatt.data.arrow_checks import check_buffers
from rosenblatt.data.sparse_checks import well_formed


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
    check_buffers(X, "X")
    if getattr(X, "format", "csr") != "csr":  # CSR is not converted, and `encode_rows` checks all of it
        well_formed(X)
    try:
        return validate_data(estimator, X, reset=reset, dtype=dtype, ensure_all_finite=ensure_all_finite, **settings)
    except (ValueError, TypeError) as error:
        if str(error).startswith("Complex data not supported") or str(error).endswith("not 'complex'"):
            raise ValueError("Complex data not supported: X must hold real numbers.") from None
        raise
