"""What scikit-learn checks of X, with its errors in one sentence."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import validate_data

from rosenblatt.data.arrow_checks import check_buffers
from rosenblatt.data.sparse_checks import well_formed


def validated(estimator: Any, X: Any, **settings: Any) -> Any:
    """`validate_data`, for tables that can be read; its error for complex numbers holds the whole array."""
    check_buffers(X, "X")
    if getattr(X, "format", "csr") != "csr":  # CSR is not converted, and `encode_rows` looks at all of it
        well_formed(X)
    try:
        return validate_data(estimator, X, **settings)
    except (ValueError, TypeError) as error:
        if str(error).startswith("Complex data not supported") or str(error).endswith("not 'complex'"):
            raise ValueError("Complex data not supported: X must hold real numbers.") from None
        raise
