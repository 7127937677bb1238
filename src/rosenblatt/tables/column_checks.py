"""Checks of a column's encoding before it is used: a model file may be forged."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.formats.declared_fields import is_array, is_number, must
from rosenblatt.tables.columns.dates import FORMATS, PARTS, DateEncoding
from rosenblatt.tables.columns.fourier import FourierFeatures
from rosenblatt.tables.columns.numbers import NumberEncoding, SplineEncoding
from rosenblatt.tables.columns.one_hot_categories import NameEncoding
from rosenblatt.tables.columns.text import TextEncoding


def check_encoding(encoding: Any) -> None:
    """Refuse an encoding whose parts do not fit together."""
    if isinstance(encoding, NumberEncoding):
        _check_numbers(encoding)
    elif isinstance(encoding, SplineEncoding):
        must(isinstance(encoding.knots, np.ndarray) and encoding.knots.ndim == 1, "knots")
        must(encoding.knots.size and np.isfinite(encoding.knots).all(), "knots that are numbers")
        must((np.diff(encoding.knots) > 0).all() and is_number(encoding.mean), "knots in order")
        must(isinstance(encoding.indicator, bool), "whether values are missing")
    elif isinstance(encoding, NameEncoding):
        must(isinstance(encoding.names, tuple) and all(isinstance(name, str) for name in encoding.names), "names")
        must(len(set(encoding.names)) == len(encoding.names) and isinstance(encoding.missing, bool), "different names")
    elif isinstance(encoding, DateEncoding):
        must(encoding.format == "" or encoding.format in FORMATS, "a format of dates")
        must(isinstance(encoding.year, NumberEncoding) and isinstance(encoding.indicator, bool), "a year")
        _check_numbers(encoding.year)
        must(isinstance(encoding.parts, tuple) and set(encoding.parts) <= {name for name, _, _ in PARTS}, "parts")
    else:
        must(isinstance(encoding, TextEncoding), "an encoding")
        _check_text(encoding)


def check_fourier(fourier: FourierFeatures, width: int) -> None:
    """Refuse random features that are not of rows of this width."""
    count = np.size(fourier.phases)
    must(is_array(fourier.frequencies, (width, count)) and is_array(fourier.phases, (count,)), "frequencies and phases")
    must(count and np.isfinite(fourier.frequencies).all() and np.isfinite(fourier.phases).all(), "finite frequencies")
    must(is_number(fourier.scale), "the scale of random features")


def _check_numbers(encoding: NumberEncoding) -> None:
    must(all(is_number(one) for one in (encoding.mean, encoding.shift, encoding.scale)), "numbers")
    must(encoding.scale > 0 and isinstance(encoding.indicator, bool), "a scale")


def _check_text(encoding: TextEncoding) -> None:
    words, pairs, single, idf = encoding.words, encoding.pairs, encoding.single, encoding.idf
    must(all(isinstance(one, np.ndarray) for one in (words, pairs, single, idf)), "arrays")
    must(words.ndim == 1 and all(isinstance(word, str) for word in words.tolist()), "words")
    must(len(set(words.tolist())) == words.size, "distinct words")
    must(is_array(pairs, (pairs.shape[0], 2), "iu") and is_array(single, (single.size,), "iu"), "places of words")
    must(is_array(idf, (single.size + pairs.shape[0],)) and np.isfinite(idf).all(), "an idf for each word and pair")
    for places in (pairs, single):
        must(not places.size or (places.min() >= 0 and places.max() < words.size), "places within the words")
    order = np.arange(idf.size) if encoding.order is None else encoding.order
    must(is_array(order, idf.shape, "iu") and (np.sort(order) == np.arange(idf.size)).all(), "an order of all features")
    must(isinstance(encoding.sublinear, bool), "whether tf is sublinear")
