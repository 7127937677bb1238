"""Words as columns of text: the word in a common form, its prefixes and suffixes, and its shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from rosenblatt.compiled.row_arrays import read_only
from rosenblatt.formats.conll import ColumnSentences
from rosenblatt.formats.vocabulary import Vocabulary
from rosenblatt.sequence.token_features import as_sentences

Array = np.ndarray[Any, Any]
LONGEST_SHAPE = 4
RUNS = re.compile(r"(.)\1+")
WORD, SUFFIX3, SUFFIX2, SUFFIX1, PREFIX1, PREFIX3, SHAPE = range(7)


def columns_of(word: str) -> tuple[str, ...]:
    """The columns of a word.

    Examples
    --------
    >>> from rosenblatt.sequence.words import columns_of
    >>> columns_of("Tagging")
    ('tagging', 'ing', 'ng', 'g', 'T', 'Tag', 'Xx')
    >>> columns_of("1984")[0], columns_of("3.5")[0], columns_of("well-known")[0]
    ('!year', '!digits', '!hyphen')
    """
    return common_form(word), word[-3:], word[-2:], word[-1:], word[:1], word[:3], shape(word)


def common_form(word: str) -> str:
    """The word in lower case; all years, all other numbers and all hyphenated words have one form each."""
    if "-" in word and not word.startswith("-"):
        return "!hyphen"
    if word.isdigit() and len(word) == 4:
        return "!year"
    if word[:1].isdigit():
        return "!digits"
    return word.lower()


def shape(word: str) -> str:
    """X for upper case, x for lower case, 0 for a digit, other characters unchanged; runs become one."""
    letters = ("X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word)
    return RUNS.sub(r"\1", "".join(letters))[:LONGEST_SHAPE]


def word_sentences(X: Any) -> tuple[ColumnSentences, list[str], Array]:
    """Sentences of words as columns, the distinct words, and the number of each token's word."""
    sentences = as_sentences(X)
    words: dict[str, int] = {}
    for word in chain.from_iterable(sentences):
        if not isinstance(word, str):
            raise ValueError(f"Sentences must be lists of words, each a string; found {type(word).__name__}.")
        words.setdefault(word, len(words))
    lengths = np.fromiter(map(len, sentences), np.int64, count=len(sentences))
    number = np.fromiter(map(words.__getitem__, chain.from_iterable(sentences)), np.int64, count=int(lengths.sum()))
    cells: dict[str, int] = {}
    table = np.array(
        [[cells.setdefault(cell, len(cells)) for cell in columns_of(word)] for word in words], dtype=np.int32
    ).reshape(-1, SHAPE + 1)
    bounds = np.zeros(lengths.size + 1, dtype=np.uint64)
    np.cumsum(lengths, out=bounds[1:])
    return ColumnSentences(Vocabulary.of(cells), table[number], read_only(bounds)), list(words), number


def sure_tags(words: list[str], number: Array, target: Array, least: int, share: float) -> dict[str, int]:
    """Words that occur at least `least` times, at least this share of them with one tag, and its code."""
    tags = int(target.max(initial=0)) + 1
    pairs: Iterable[tuple[int, int]] = Counter((number * tags + target).tolist()).items()
    counts = np.bincount(number, minlength=len(words))
    return {
        words[pair // tags]: pair % tags
        for pair, count in pairs
        if counts[pair // tags] >= least and count >= share * counts[pair // tags]
    }
