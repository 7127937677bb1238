"""Columns of text: words and pairs of neighbouring words, by sublinear TF-IDF.

A word is a run of letters, digits and marks of any script, of two characters or more. Chinese and Japanese are
written without spaces: each of their characters is a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from rosenblatt.formats.declared_fields import doubles, integers, must, shaped

Array = np.ndarray[Any, Any]
UNSPACED = r"(\p{Han}|\p{Hiragana}|\p{Katakana})"
BETWEEN = r"[^\pL\pN\pM_]+"
LEAST_ROWS = 2  # in which a word or pair must occur


def _spaced(texts: Any) -> Any:
    """Texts with blanks around the characters of scripts that are written without them."""
    texts = texts.fill_null("")
    if not pc.any(pc.match_substring_regex(texts, UNSPACED), min_count=0).as_py():
        return texts
    return pc.replace_substring_regex(texts, UNSPACED, r" \1_ ")  # a second character, so that it counts as a word


def _words(texts: Any) -> tuple[Any, Array]:
    """All words one after the other, and the row of each."""
    split = pc.split_pattern_regex(pc.utf8_lower(_spaced(texts)), BETWEEN)
    words, rows = pc.list_flatten(split), pc.list_parent_indices(split)
    long = pc.greater_equal(pc.utf8_length(words), 2)
    return words.filter(long), rows.filter(long).to_numpy(zero_copy_only=False)


def count_words(texts: Any) -> Array:
    """The number of words of each text, counted by the blanks between them: an id such as a-17-x is one."""
    split = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(_spaced(texts)))
    counts: Array = pc.list_value_length(split).to_numpy(zero_copy_only=False)
    return counts


@dataclass(frozen=True)
class CountedWords:
    """How often each word and each pair of words occurs in each text."""

    counts: Any  # CSR: first the words, then the pairs
    words: Array
    pairs: Array  # (m, 2): the two words of each pair

    def take(self, rows: Array) -> CountedWords:
        """Some of the rows."""
        return CountedWords(self.counts[rows], self.words, self.pairs)


def counted(texts: Any) -> CountedWords:
    """Count the words and the pairs of neighbouring words of Arrow text."""
    n = len(texts)
    found, rows = _words(texts)
    coded = found.dictionary_encode() if len(found) else pa.array([], pa.large_string()).dictionary_encode()
    words = np.array(coded.dictionary.to_pylist(), dtype=object)
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    beside = rows[1:] == rows[:-1]
    keys, places = np.unique(codes[:-1][beside] * max(1, words.size) + codes[1:][beside], return_inverse=True)
    pairs = np.column_stack(np.divmod(keys, max(1, words.size)))
    columns = np.concatenate([codes, words.size + places])
    where = np.concatenate([rows, rows[1:][beside]])
    shape = (n, words.size + len(pairs))
    counts = sp.coo_matrix((np.ones(columns.size), (where, columns)), shape=shape).tocsr()  # sums duplicates
    return CountedWords(counts, words, pairs)


@dataclass(frozen=True)
class TextEncoding:
    """(1 + ln count)·idf of each word and pair, the row scaled to length 1.

    idf = 1 + ln((1 + n)/(1 + rows with it)), learned from n rows.
    """

    words: Annotated[Array, shaped((np.dtype(object),), "words")]
    pairs: Annotated[Array, integers("pairs", "two", below="words")]  # positions in `words`
    single: Annotated[Array, integers("single", below="words")]  # of the words that are features themselves
    idf: Annotated[Array, doubles("features")]

    def check(self, pairs: int, two: int, single: int, features: int) -> None:
        """Words, and an idf for each word and pair."""
        must(all(isinstance(word, str) for word in self.words.tolist()), "words")
        must(two == 2 and features == single + pairs and np.isfinite(self.idf).all(), "an idf for each word and pair")

    @classmethod
    def fit(cls, found: CountedWords) -> TextEncoding:
        """Learn the words, the pairs and their idf."""
        n, known = found.counts.shape[0], found.words.size
        rows = np.bincount(found.counts.indices, minlength=found.counts.shape[1])
        kept = np.flatnonzero(rows >= LEAST_ROWS)
        if not kept.size:
            kept = np.flatnonzero(rows)
        single, pairs = kept[kept < known], found.pairs[kept[kept >= known] - known]
        used = np.union1d(single, pairs.ravel()).astype(np.int64)  # unused words of the file are dropped
        idf = 1 + np.log((1 + n) / (1 + rows[kept]))
        words = found.words[used]
        return cls(words, np.searchsorted(used, pairs).reshape(-1, 2), np.searchsorted(used, single), idf)

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.idf.size)

    def feature_names(self, column: str) -> list[str]:
        """The name of each feature."""
        words = [str(word).rstrip("_") or str(word) for word in self.words]
        single = [f"{column}: {words[k]}" for k in self.single.tolist()]
        return single + [f"{column}: {words[a]} {words[b]}" for a, b in self.pairs.tolist()]

    def encode(self, found: CountedWords) -> Any:
        """The features of these texts."""
        counts = found.counts.tocoo()
        columns = self._places(found)[counts.col]
        kept = columns >= 0
        values = (1 + np.log(counts.data[kept])) * self.idf[columns[kept]]
        shape = (found.counts.shape[0], self.width)
        matrix = sp.coo_matrix((values, (counts.row[kept], columns[kept])), shape=shape).tocsr()
        lengths = np.sqrt(matrix.multiply(matrix).sum(axis=1)).A1
        matrix.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(matrix.indptr))
        return matrix

    def _places(self, found: CountedWords) -> Array:
        """The feature of each word and pair that was found, −1 for those that were not learned."""
        known = {word: k for k, word in enumerate(self.words.tolist())}
        words = np.array([known.get(word, -1) for word in found.words.tolist()], np.int64)
        feature = np.full(len(known) + 1, -1, np.int64)  # the last entry is for words that were not learned
        feature[self.single] = np.arange(self.single.size)
        both = words[found.pairs] if len(found.pairs) else np.zeros((0, 2), np.int64)
        keys = np.where((both >= 0).all(axis=1), both[:, 0] * max(1, len(known)) + both[:, 1], -1)
        learned = self.pairs[:, 0] * max(1, len(known)) + self.pairs[:, 1]
        order = np.argsort(learned)
        at = np.searchsorted(learned, keys, sorter=order).clip(max=max(0, learned.size - 1))
        if not learned.size:
            return np.concatenate([feature[words], np.full(len(keys), -1)])
        hit = learned[order][at] == keys
        return np.concatenate([feature[words], np.where(hit, self.single.size + order[at], -1)])
