"""`Sentences`: sequences of tokens with their features and tags, as integers, checked and encoded once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any

import numpy as np

from rosenblatt.compiled.row_arrays import Sparse, read_only
from rosenblatt.learn.examples import Facts
from rosenblatt.learn.labels import check_labels, check_no_trailing_nul

Array = np.ndarray[Any, Any]
FLOAT32 = np.dtype(np.float32)
SHOWN = 5  # tags that an error message names


@dataclass(frozen=True)
class TokenRows:
    """The features of tokens: one CSR row per token, one range of rows per sentence.

    Attributes
    ----------
    features : Sparse
        float32 values, empty if all are 1; uint32 columns; uint64 starts.
    bounds : ndarray
        The first token of each sentence, and the end: uint64.
    """

    features: Sparse
    bounds: Array

    @property
    def size(self) -> int:
        """The number of sentences."""
        return int(self.bounds.size - 1)

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return int(self.features.starts.size - 1)

    @property
    def longest(self) -> int:
        """The most tokens in a sentence."""
        return int(np.diff(self.bounds.astype(np.int64)).max(initial=0))


def token_rows(columns: Array, values: Array, per_token: Array, per_sentence: Array) -> TokenRows:
    """Token rows from the columns and values of all tokens, and the lengths of tokens and sentences."""
    starts = np.zeros(per_token.size + 1, dtype=np.uint64)
    np.cumsum(per_token, out=starts[1:])
    bounds = np.zeros(per_sentence.size + 1, dtype=np.uint64)
    np.cumsum(per_sentence, out=bounds[1:])
    return TokenRows(Sparse(read_only(values), read_only(columns), read_only(starts)), read_only(bounds))


def frequent_features(rows: TokenRows, n_features: int, min_count: int) -> tuple[Array, TokenRows]:
    """Which features occur at least `min_count` times, and the tokens with only those."""
    values, columns, starts = rows.features
    often = np.bincount(columns, minlength=n_features) >= min_count
    kept = often[columns]
    per_token: Array = np.diff(starts.astype(np.int64))
    tokens = np.repeat(np.arange(per_token.size), per_token)[kept]
    renumbered = (np.cumsum(often) - 1)[columns[kept]].astype(np.uint32)
    left = np.bincount(tokens, minlength=per_token.size)
    values = values[kept] if values.size else values
    return often, token_rows(renumbered, values, left, np.diff(rows.bounds.astype(np.int64)))


@dataclass(frozen=True)
class Sentences:
    """The data of a sequence learner: sentences with their tags, checked and encoded.

    Attributes
    ----------
    rows : Sparse
        The features of all tokens: see `TokenRows`.
    bounds : ndarray
    n_features : int
    target : ndarray
        The tag of each token: int32 codes into `classes`.
    classes : ndarray
        The distinct tags, sorted.
    chosen : ndarray or None
        The sentences to learn from; None for all.
    """

    rows: Sparse
    bounds: Array
    n_features: int
    target: Array
    classes: Array
    chosen: Array | None = None
    weights = present = None  # attributes of `Examples`: every token has weight 1

    @property
    def token_rows(self) -> TokenRows:
        """The features of all tokens."""
        return TokenRows(self.rows, self.bounds)

    @property
    def size(self) -> int:
        """The number of sentences to learn from."""
        return int(self.bounds.size - 1 if self.chosen is None else self.chosen.size)

    @property
    def index(self) -> Array:
        """The sentences to learn from."""
        return np.arange(self.bounds.size - 1, dtype=np.uint64) if self.chosen is None else self.chosen

    def only(self, chosen: Array) -> Sentences:
        """The same sentences, restricted to these."""
        return replace(self, chosen=chosen)

    def digest(self) -> str:
        """A fingerprint of the sentences and their tags."""
        found = hashlib.blake2b(digest_size=16)
        for array in (*self.rows, self.bounds, self.target):
            found.update(np.ascontiguousarray(array).data)
        found.update(repr(self.classes.tolist()).encode())
        return found.hexdigest()

    def facts(self) -> Facts:
        """Counts and sizes."""
        return Facts(
            self.n_features, self.classes, False, FLOAT32, self.size, float(self.size), self.rows.columns.size, 0.0
        )


# -- tags ------------------------------------------------------------------------------------------------------------


def flat_tags(y: Any, lengths: Array) -> list[Any]:
    """The tags of all tokens; one sequence of tags per sentence, one tag per token."""
    try:
        sentences = [tags if isinstance(tags, list | tuple) else list(tags) for tags in y]
    except TypeError:
        raise ValueError("y must be a sequence of tag sequences, one per sentence.") from None
    if len(sentences) != lengths.size:
        raise ValueError(f"X has {lengths.size} sentences, y has {len(sentences)}.")
    if any(isinstance(tags, str) for tags in y):
        raise ValueError("y must be a sequence of tag sequences; it is a sequence of strings.")
    counts = np.fromiter(map(len, sentences), np.int64, count=len(sentences))
    if (counts != lengths).any():
        at = int(np.flatnonzero(counts != lengths)[0])
        raise ValueError(f"Sentence {at} has {int(lengths[at])} tokens and {int(counts[at])} tags.")
    return list(chain.from_iterable(sentences))


def distinct_tags(tags: Iterable[Any], known: Array | None = None) -> Array:
    """The distinct tags, sorted; all strings or all whole numbers."""
    try:
        found = set(tags)
    except TypeError:
        raise ValueError("Tags must be strings or whole numbers.") from None
    found |= set() if known is None else set(known.tolist())
    kinds = {type(tag) for tag in found}
    if not (all(issubclass(kind, str) for kind in kinds) or all(_number(kind) for kind in kinds)):
        strange = sorted((str(tag) for tag in found if not isinstance(tag, str)), key=len)[:SHOWN]
        raise ValueError(f"Tags must all be strings or all whole numbers, found {', '.join(strange)} among them.")
    check_no_trailing_nul(found)
    classes = np.array(sorted(found))
    check_labels(classes, classes)
    return classes


def _number(kind: type) -> bool:
    """Whether this may be a whole number; `check_labels` refuses fractions."""
    return issubclass(kind, int | float | np.integer) and kind is not bool


def tag_codes(tags: Iterable[Any], classes: Array, count: int) -> Array:
    """The codes of tags; −1 for those that are not among the classes."""
    codes = {tag: code for code, tag in enumerate(classes.tolist())}
    try:
        return np.fromiter(map(codes.get, tags, repeat(-1)), np.int32, count=count)
    except TypeError:
        raise ValueError("Tags must be strings or whole numbers.") from None
