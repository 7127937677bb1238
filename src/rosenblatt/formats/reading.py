"""`Reading`: how a file becomes rows.

Its format and settings and, once the file has been scanned, the number of features, where indices start, and what the
columns of a table mean. It is stored with a model, so that new files are read as the training file was.
"""

from __future__ import annotations

import codecs
import itertools
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.formats import svmlight, table_layout
from rosenblatt.formats.byte_sources import (
    FORMATS,
    detect_format,
    expand_paths,
)

Array = np.ndarray[Any, Any]
MAX_FEATURES = svmlight.MAX_INDEX  # column indices have 32 bits, as in SciPy
MAX_NGRAM = 100  # words
UNIT_BYTES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30}
BYTES_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)


def in_bytes(memory: str | int) -> int:
    """The number of bytes in a size such as "256MB", "1.5 GiB" or 1000000."""
    if isinstance(memory, int | np.integer) and memory > 0:
        return int(memory)
    found = BYTES_PATTERN.fullmatch(memory) if isinstance(memory, str) else None
    if found is None or found.group(2).upper() not in UNIT_BYTES:
        raise ValueError(f'memory must be a size such as "256MB" or a number of bytes, got {memory!r}.')
    return int(Fraction(found.group(1)) * UNIT_BYTES[found.group(2).upper()])


@dataclass(frozen=True)
class Reading:
    r"""How a file becomes rows and labels.

    Attributes
    ----------
    format : str
        "svmlight", "csv", "tsv", "parquet", "arrow", "jsonl" (a JSON object per line), "npy" (an array), "npz"
        (arrays X and y), or "text".
    n_features : int or None
        None until it is known.
    zero_based : bool or "auto"
        svmlight: whether indices start at 0. "auto": if the file has an index 0.
    multilabel : bool or None
        svmlight: whether y is a label indicator. None: if some row does not have exactly one label.
    labels : tuple of float or None
        svmlight with several labels per row: the label of each column of y.
    label : str, int or None
        Tables: the name of the label column, or its number from 0, negative from the end, if no column has that name.
        None: the one named label, target, class or y.
    header : bool
        CSV and TSV: whether the first line has the column names.
    delimiter : str or None
        CSV: the character between values. None: found in the first line.
    encoding : str or None
        CSV and TSV: how text is encoded, by a name that Python knows. None: UTF-8.
    categorical : {"onehot", "hash"}
        Tables: how columns of text are encoded.
    ngrams : tuple of int
        Text: the shortest and the longest n-grams, in words.
    labelled : bool
        Text: whether each line starts with a label and a tab. Tables: whether there is a label column.
    layout : Layout or None
        Tables: what each column means, once it is known.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rosenblatt import Perceptron, fit
    >>> from rosenblatt.records import Reading
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = path.write_text("+1 1:2 2:1\n-1 1:-1 2:1\n+1 1:3\n-1 2:4\n")
    >>> reading = fit(Perceptron(random_state=0), path).reading_
    >>> isinstance(reading, Reading), reading.format, reading.n_features
    (True, 'svmlight', 2)
    """

    format: str
    n_features: int | None = None
    zero_based: bool | str = "auto"
    multilabel: bool | None = None
    labels: tuple[float, ...] | None = None
    label: str | int | None = None
    header: bool = True
    categorical: str = "onehot"
    ngrams: tuple[int, int] = (1, 1)
    labelled: bool = True
    layout: table_layout.Layout | None = None
    delimiter: str | None = None
    encoding: str | None = None

    @property
    def known(self) -> bool:
        """Whether rows can be read without scanning the file first."""
        if self.format in ("svmlight", "text"):
            return self.n_features is not None and self.zero_based != "auto"
        return self.layout is not None

    def check(self) -> None:
        """Refuse a reading from a model file that no scan can have found."""
        table = format_family(self.format) == "table"
        bare = table and self.layout is None and self.n_features is not None  # a table model encodes columns itself
        if self.format not in FORMATS or bare:
            raise ValueError(f"expected how a file is read, found {self.format!r}")
        _check_settings(replace(self, n_features=None) if table else self)
        labels = () if self.labels is None else self.labels
        good = isinstance(labels, tuple) and all(isinstance(one, int | float) for one in labels)
        if not good or any(b <= a for a, b in itertools.pairwise(labels)):
            raise ValueError("expected distinct labels in order")
        if self.layout is not None:
            self.layout.check()
            if self.n_features != self.layout.n_features:
                raise ValueError("expected as many features as the columns have")


def format_family(format: str) -> str:
    """Which formats can replace each other: "svmlight", "text", or "table" for all kinds of tables."""
    return format if format in ("svmlight", "text", "arrays") else "table"


TEXT_FEATURES, HASHED_FEATURES = 1 << 20, 1 << 16


def make_reading(source: Any, like: Reading | None = None, **settings: Any) -> Reading:
    """How to read this source: from the settings, or else from the name or first line of its first file."""
    if like is not None:
        if settings:
            raise ValueError(f"like already says how to read: {sorted(settings)} cannot be given as well.")
        return like
    kind = settings.pop("format", None) or detect_format(expand_paths(source)[0])
    unknown = sorted(set(settings) - set(Reading.__dataclass_fields__) | (set(settings) & {"layout", "labels"}))
    if unknown or kind not in FORMATS:
        what = f"no setting {unknown[0]!r}" if unknown else f"no format {kind!r}; it must be one of {FORMATS}"
        raise ValueError(f"There is {what}.")
    if isinstance(settings.get("n_features"), np.integer):
        settings["n_features"] = int(settings["n_features"])  # a Python integer, which does not overflow
    found = Reading(kind, **settings)
    _check_settings(found)
    if kind == "text":
        low, high = found.ngrams
        found = replace(found, n_features=found.n_features or TEXT_FEATURES, zero_based=True, ngrams=(low, high))
    return found


def _check_settings(how: Reading) -> None:
    """Refuse invalid settings; the error names the setting."""
    grams, width = how.ngrams, how.n_features
    in_range = width is None or (_is_positive_integer(width) and width <= MAX_FEATURES)
    pair = isinstance(grams, tuple | list) and len(grams) == 2 and all(_is_positive_integer(one) for one in grams)
    for name, holds, wanted in (
        ("categorical", how.categorical in ("onehot", "hash"), '"onehot" or "hash"'),
        ("n_features", in_range, f"an integer from 1 to {MAX_FEATURES:,}, or None"),
        ("zero_based", isinstance(how.zero_based, bool) or how.zero_based == "auto", 'True, False or "auto"'),
        ("multilabel", how.multilabel is None or isinstance(how.multilabel, bool), "True, False or None"),
        ("label", how.label is None or isinstance(how.label, str | int), "the name or number of a column, or None"),
        (
            "delimiter",
            how.delimiter is None or (isinstance(how.delimiter, str) and len(how.delimiter) == 1),
            "a character",
        ),
        ("encoding", _is_encoding(how.encoding), "an encoding of text that Python knows, or None"),
        ("header", isinstance(how.header, bool), "True or False"),
        ("labelled", isinstance(how.labelled, bool), "True or False"),
        (
            "ngrams",
            pair and grams[0] <= grams[1] <= MAX_NGRAM,
            f"two integers with 1 ≤ first ≤ last ≤ {MAX_NGRAM}",
        ),
    ):
        if not holds:
            raise ValueError(f"{name} must be {wanted}, got {getattr(how, name)!r}.")
    if how.n_features is not None and format_family(how.format) == "table" and how.categorical == "onehot":
        raise ValueError('n_features must be None for tables, whose columns determine it, unless categorical="hash".')


def _is_encoding(name: Any) -> bool:
    try:
        return name is None or bool(codecs.lookup(name))
    except (LookupError, TypeError):
        return False


def _is_positive_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1
