"""Columns of text: words and pairs of neighbouring words, by sublinear TF-IDF.

A word is a run of letters, digits and marks of any script, of two characters or more. Chinese and Japanese are
written without spaces: each of their characters is a word.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
import pyarrow.compute as pc

from rosenblatt.formats.declared_fields import doubles, integers, must, shaped
from rosenblatt.formats.term_counts import NONE, TermCounts, Terms, count_terms
from rosenblatt.formats.tokens import UNSPACED
from rosenblatt.formats.vocabulary import Vocabulary

Array = np.ndarray[Any, Any]
LEAST_ROWS = 2  # in which a word or pair must occur


def count_words(texts: Any) -> Array:
    """The number of words of each text, counted by the blanks between them: an id such as a-17-x is one."""
    texts = texts.fill_null("")
    if pc.any(pc.match_substring_regex(texts, UNSPACED), min_count=0).as_py():
        texts = pc.replace_substring_regex(texts, f"({UNSPACED})", r" \1 ")
    split = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(texts))
    counts: Array = pc.list_value_length(split).to_numpy(zero_copy_only=False)
    return counts


def counted(texts: Any) -> TermCounts:
    """Count the words and the pairs of neighbouring words of Arrow text."""
    return count_terms(texts.fill_null("").to_pylist())


@dataclass(frozen=True)
class TextEncoding:
    """tf·idf of each word and pair, the row scaled to length 1.

    tf = 1 + ln count if `sublinear`, else the count; idf = 1 + ln((1 + n)/(1 + rows with it)), learned from n rows.
    """

    words: Annotated[Array, shaped((np.dtype(object),), "words")]
    pairs: Annotated[Array, integers("pairs", "two", below="words")]  # positions in `words`
    single: Annotated[Array, integers("single", below="words")]  # of the words that are features themselves
    idf: Annotated[Array, doubles("features")]
    sublinear: bool = True
    order: Annotated[Array | None, integers("features")] = None
    # which of `single`, followed by `pairs`, each feature is; None: in that order

    def check(self, pairs: int, two: int, single: int, features: int) -> None:
        """Distinct words, an idf for each word and pair, and an order of all of them."""
        words = self.words.tolist()
        must(all(isinstance(word, str) for word in words) and len(set(words)) == len(words), "distinct words")
        must(two == 2 and features == single + pairs and np.isfinite(self.idf).all(), "an idf for each word and pair")
        must(self.order is None or (np.sort(self.order) == np.arange(features)).all(), "an order of all features")

    @classmethod
    def of(cls, found: TermCounts, least: float, *, sublinear: bool = True, by_name: bool = False) -> TextEncoding:
        """Learn the words and pairs that at least so many rows have, and their idf."""
        n, m = found.counts.shape
        rows = np.bincount(found.counts.indices, minlength=m)
        terms, kept = found.terms.take(np.flatnonzero(rows >= least), by_name)
        idf, paired = 1 + np.log((1 + n) / (1 + rows[kept])), terms.places[:, 1] != NONE
        order = np.argsort(np.argsort(paired, kind="stable")) if by_name else None
        words = np.array(terms.words.names, dtype=object)
        made = cls(words, terms.places[paired], terms.places[~paired, 0], idf, sublinear, order)
        made.__dict__["terms"] = terms
        return made

    @classmethod
    def fit(cls, found: TermCounts) -> TextEncoding:
        """Learn from the texts of a column, from rare words if there are no others."""
        common = cls.of(found, LEAST_ROWS)
        return common if common.width else cls.of(found, 1)

    @functools.cached_property
    def terms(self) -> Terms:
        """The word or the pair of each feature."""
        single = np.column_stack([self.single, np.full(self.single.size, NONE)])
        places = np.concatenate([single, self.pairs]).astype(np.int32)
        return Terms(Vocabulary.of(self.words.tolist()), places if self.order is None else places[self.order])

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # without the terms and their tables

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.idf.size)

    def feature_names(self, column: str) -> list[str]:
        """The name of each feature."""
        return [f"{column}: {name}" for name in self.terms.names()]

    def encode(self, found: TermCounts) -> Any:
        """The features of these texts."""
        return found.weighted(self.terms, self.idf, self.sublinear)
