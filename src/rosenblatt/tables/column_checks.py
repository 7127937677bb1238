"""Checks of a column's encoding before it is used: a model file may be forged."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.formats.declared_fields import is_array, is_number, must, verify
from rosenblatt.formats.term_counts import NONE, Terms
from rosenblatt.formats.vocabulary import Vocabulary
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
    terms, idf = encoding.terms, encoding.idf
    must(isinstance(terms, Terms) and isinstance(idf, np.ndarray), "terms, and the idf of each")
    verify(terms.words, Vocabulary)
    must(isinstance(terms.places, np.ndarray) and terms.places.dtype == np.int32, "places of words")
    must(terms.places.shape == (idf.size, 2) and is_array(idf, (idf.size,)), "an idf for each word and pair")
    must(np.isfinite(idf).all() and idf.dtype == np.float64, "an idf for each word and pair")
    first, second = terms.places.T
    for places, least in ((first, 0), (second, NONE)):
        must(not idf.size or (places.min() >= least and places.max() < len(terms.words)), "places within the words")
    must(isinstance(encoding.sublinear, bool), "whether tf is sublinear")
