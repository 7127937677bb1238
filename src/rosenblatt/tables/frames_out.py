"""What the encoders give after `set_output`: a frame where the features are few, an error where it would be huge."""

from __future__ import annotations

from typing import Any

from sklearn.utils._set_output import _get_output_config

MOST_VALUES = 10**8  # of a dense frame: 0.8 GB


def dense_if_asked(encoder: Any, rows: Any) -> Any:
    """The sparse rows of an encoder, dense if `set_output` asks for a frame."""
    wanted = _get_output_config("transform", encoder)["dense"]
    if wanted == "default":
        return rows
    values = rows.shape[0] * rows.shape[1]
    if values > MOST_VALUES:
        raise ValueError(
            f'set_output(transform="{wanted}"): {rows.shape[0]:,} rows of {rows.shape[1]:,} features would take '
            f'{8 * values / 1e9:,.1f} GB as a frame; set_output(transform="default") keeps them sparse.'
        )
    return rows.toarray()
