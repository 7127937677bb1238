"""Features of tokens in the form of python-crfsuite, encoded as integers.

A token is

- a list, tuple or set of strings: features with the value 1;
- or a mapping {name: value}, where a number is the value of the feature (True is 1, False is 0), a string makes the
  feature "name:value", a list or set of strings one such feature for each, and a mapping is read in the same way, with
  "name:" before its names.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from rosenblatt.formats.declared_fields import must
from rosenblatt.formats.interning import Words
from rosenblatt.formats.vocabulary import Vocabulary
from rosenblatt.sequence.sentences import TokenRows, frequent_features, token_rows

Array = np.ndarray[Any, Any]
PLAIN = {list, tuple, set}  # tokens that are just a collection of names
ONES = np.zeros(0, dtype=np.float32)
SENTENCES_AT_ONCE = 16  # so that their names stay in the processor's cache between sweeps
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class ItemFeatures:
    """Features by name: the vocabulary of the training sentences."""

    vocabulary: Vocabulary

    def check(self, d: int) -> None:
        """A name per feature."""
        must(self.size == d, f"the names of {d} features")

    @property
    def size(self) -> int:
        """The number of features."""
        return len(self.vocabulary)

    @property
    def names(self) -> list[str]:
        """The name of each feature."""
        return self.vocabulary.names

    def number(self, name: str) -> int | None:
        """The number of a feature; None if it is not known."""
        return self.vocabulary.index.get(name)

    def rows(self, X: Any) -> TokenRows:
        """The known features of tokens; unknown ones become the column `size`, which has no weights."""
        if "_words" not in vars(self):
            object.__setattr__(self, "_words", Words.of(self.vocabulary))
        return Tokens.of(X, vars(self)["_words"], self.size).rows

    def __getstate__(self) -> dict[str, Any]:
        return {"vocabulary": self.vocabulary}  # the table of words is rebuilt

    @classmethod
    def collected(cls, X: Any, known: ItemFeatures | None = None, min_count: int = 1) -> tuple[ItemFeatures, TokenRows]:
        """The known features, then those that occur in at least `min_count` tokens, and the tokens as rows of them."""
        words = Words() if known is None else Words.of(known.vocabulary)
        rows, vocabulary = Tokens.of(X, words).rows, words.vocabulary()
        if min_count == 1:
            return cls(vocabulary), rows
        often, rows = frequent_features(rows, len(words), min_count)
        return cls(
            Vocabulary.of(name for name, kept in zip(vocabulary.names, often.tolist(), strict=True) if kept)
        ), rows


@dataclass(frozen=True)
class Tokens:
    """Sentences of tokens of any form, by the numbers of their names; `values` is empty if all are 1."""

    columns: Array
    values: Array
    per_token: Array
    per_sentence: Array

    @property
    def rows(self) -> TokenRows:
        """The tokens as rows."""
        return token_rows(self.columns, self.values, self.per_token, self.per_sentence)

    @classmethod
    def of(cls, X: Any, words: Words, unknown: int = -1) -> Tokens:
        """Tokens by the numbers of their names in `words`; a new name is added, or gets `unknown` if that is given."""
        sentences = as_sentences(X)
        try:
            return cls._numbered(sentences, ONES, words, unknown)
        except TypeError:  # a token is not a list of strings: a mapping, or something to refuse with its position
            return cls._numbered(*_flattened(sentences), words, unknown)

    @classmethod
    def _numbered(cls, sentences: list[Any], values: Array, words: Words, unknown: int) -> Tokens:
        """Tokens that are lists of strings; some sentences at a time, so that each list is read once from memory."""
        columns, per_token = [np.zeros(0, dtype=np.uint32)], [np.zeros(0, dtype=np.int64)]
        for begin in range(0, len(sentences), SENTENCES_AT_ONCE):
            tokens = list(chain.from_iterable(sentences[begin : begin + SENTENCES_AT_ONCE]))
            if not set(map(type, tokens)) <= PLAIN:
                raise TypeError
            per_token.append(np.fromiter(map(len, tokens), np.int64, count=len(tokens)))
            columns.append(words.numbers(list(chain.from_iterable(tokens)), unknown))
        per_sentence = np.fromiter(map(len, sentences), np.int64, count=len(sentences))
        return cls(np.concatenate(columns), values, np.concatenate(per_token), per_sentence)


def as_sentences(X: Any) -> list[Any]:
    """A list of sentences, each a list or tuple of tokens."""
    try:
        if hasattr(X, "tocsr"):
            raise TypeError
        given = X if isinstance(X, list) else list(X)
    except TypeError:
        raise ValueError(f"X must be a sequence of sentences, got {type(X).__name__}.") from None
    sentences = []
    for place, sentence in enumerate(given):
        if isinstance(sentence, str | bytes | dict) or not hasattr(sentence, "__iter__"):
            raise ValueError(f"Sentence {place}: expected a sequence of tokens, found {type(sentence).__name__}.")
        sentences.append(sentence if isinstance(sentence, list | tuple) else list(sentence))
    return sentences


def _flattened(sentences: list[Any]) -> tuple[list[list[list[str]]], Array]:
    """The names of each token, and the values of all."""
    named: list[list[list[str]]] = []
    values: list[float] = []
    for place, sentence in enumerate(sentences):
        tokens = []
        for position, item in enumerate(sentence):
            names: list[str] = []
            try:
                _add_item(item, "", names, values)
            except ValueError as error:
                raise ValueError(f"Sentence {place}, token {position}: {error}") from None
            except RecursionError:
                raise ValueError(f"Sentence {place}, token {position}: its features are nested too deeply.") from None
            tokens.append(names)
        named.append(tokens)
    array = np.array(values, dtype=np.float64)
    return named, ONES if (array == 1.0).all() else array.astype(np.float32)


def _add_item(item: Any, prefix: str, names: list[str], values: list[float]) -> None:
    """Add the features of a token, or of a mapping inside it."""
    if isinstance(item, dict):
        for key, value in item.items():
            name = prefix + _text(key)
            if isinstance(value, str | bytes):
                names.append(f"{name}:{_text(value)}")
                values.append(1.0)
            elif isinstance(value, dict):
                _add_item(value, name + ":", names, values)
            elif isinstance(value, list | tuple | set | frozenset):
                _add_names(value, name + ":", names, values)
            else:
                names.append(name)
                values.append(_number(name, value))
    elif isinstance(item, list | tuple | set | frozenset | str):
        _add_names(item, prefix, names, values)
    else:
        raise ValueError(f"expected a list of strings or a dict of features, found {type(item).__name__}.")


def _add_names(given: Any, prefix: str, names: list[str], values: list[float]) -> None:
    before = len(names)
    names.extend(prefix + _text(name) for name in given)
    values.extend([1.0] * (len(names) - before))


def _text(name: Any) -> str:
    if isinstance(name, str):
        return str(name)
    if isinstance(name, bytes):
        return name.decode()
    raise ValueError(f"expected a string as the name of a feature, found {name!r}.")


def _number(name: str, value: Any) -> float:
    if not isinstance(value, int | float | Real | np.bool_):
        raise ValueError(f"feature {name!r}: expected a number or text, found {type(value).__name__}.")
    number: Any = value
    if not abs(number) <= LARGEST:
        raise ValueError(f"feature {name!r}: expected a finite number in the range of float32, found {value!r}.")
    return float(number)
