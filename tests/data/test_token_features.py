"""Features of tokens as python-crfsuite takes them, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import SequencePerceptron
from rosenblatt.formats.declared_fields import verify
from rosenblatt.formats.interning import Words
from rosenblatt.formats.vocabulary import Vocabulary
from rosenblatt.sequence import token_features
from rosenblatt.sequence.token_features import ItemFeatures


def encoded(item):
    """The features of one token, by name: what pycrfsuite.ItemSequence([item]).items() shows."""
    features, rows = ItemFeatures.collected([[item]])
    values = rows.features.values if rows.features.values.size else np.ones(rows.features.columns.size)
    return [(features.names[column], float(value)) for column, value in zip(rows.features.columns, values, strict=True)]


@pytest.mark.parametrize(
    ("item", "features"),
    [
        (["a", "b"], [("a", 1.0), ("b", 1.0)]),
        (("a", "b"), [("a", 1.0), ("b", 1.0)]),
        ({"b"}, [("b", 1.0)]),
        ("ab", [("a", 1.0), ("b", 1.0)]),
        ([b"a"], [("a", 1.0)]),
        ([], []),
        ({}, []),
        ({"a": 1.5, "b": "x"}, [("a", 1.5), ("b:x", 1.0)]),
        ({"a": {"b": {"c": 2, "d": "e"}}}, [("a:b:c", 2.0), ("a:b:d:e", 1.0)]),
        ({"a": ["x", "y"]}, [("a:x", 1.0), ("a:y", 1.0)]),
        ({"a": {"x"}}, [("a:x", 1.0)]),
        ({"a": {"b": ["x"]}}, [("a:b:x", 1.0)]),
        ({"a": False, "b": True, "c": 0.5}, [("a", 0.0), ("b", 1.0), ("c", 0.5)]),
        ({"a": np.float32(2), "b": np.int64(3), "c": np.bool_(True)}, [("a", 2.0), ("b", 3.0), ("c", 1.0)]),
        ({b"a": b"x"}, [("a:x", 1.0)]),
        ({"a": []}, []),
        ({"a": "é:b"}, [("a:é:b", 1.0)]),
        ({"": "x"}, [(":x", 1.0)]),
    ],
)
def test_a_token_has_the_features_that_crfsuite_gives_it(item, features):
    assert encoded(item) == features


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"a": None}, "Sentence 1, token 1: feature 'a': expected a number or text, found NoneType"),
        ({1: "x"}, "Sentence 1, token 1: expected a string as the name of a feature, found 1"),
        ([1], "Sentence 1, token 1: expected a string"),
        (None, "Sentence 1, token 1: expected a list of strings or a dict"),
        ({"a": float("nan")}, "feature 'a': expected a finite number"),
        ({"a": 10**400}, "expected a finite number"),
        ({"a": 1e39}, "expected a finite number in the range of float32"),
        ({"a": [["y"]]}, "expected a string"),
        ({"a": 1j}, "expected a number"),
        ([["y"]], "expected a string"),
    ],
)
def test_what_is_no_feature_is_refused_with_its_place(item, message):
    with pytest.raises(ValueError, match=message):
        ItemFeatures.collected([[["a"]], [["a"], item]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (5, "X must be a sequence of sentences, got int"),
        (["text"], "Sentence 0: expected a sequence of tokens, found str"),
        ([[["a"]], {"a": 1}], "Sentence 1: expected a sequence of tokens, found dict"),
        ([3], "Sentence 0: expected a sequence of tokens, found int"),
    ],
)
def test_what_is_no_sentence_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        ItemFeatures.collected(X)


def test_a_feature_that_is_there_twice_counts_twice():
    assert encoded(["a", "a"]) == [("a", 1.0), ("a", 1.0)]


def test_unknown_features_are_passed_over():
    features, _ = ItemFeatures.collected([[["a", "b"]]])
    rows = features.rows([[["b", "new"], {"a": 2.0, "other": "x"}]])
    assert rows.features.columns.tolist() == [1, 2, 0, 2]
    model = SequencePerceptron(random_state=0).fit([[["a"], ["b"]]], [["A", "B"]])
    assert model.predict([[["a", "new"], ["b", "other"]]]) == model.predict([[["a"], ["b"]]]) == [["A", "B"]]


def test_min_count_leaves_out_rare_features():
    X = [[["a", "b"], ["a"], {"c": 2.0, "a": 1.0}], [["b"]]]
    features, rows = ItemFeatures.collected(X, min_count=2)
    assert features.names == ["a", "b"]
    assert rows.features.columns.tolist() == [0, 1, 0, 0, 1]
    assert rows.features.starts.tolist() == [0, 2, 3, 4, 5]
    assert rows.features.values.tolist() == [1.0, 1.0, 1.0, 1.0, 1.0]


def test_known_features_keep_their_numbers():
    before, _ = ItemFeatures.collected([[["a", "b"]]])
    after, rows = ItemFeatures.collected([[["c", "b"]]], before)
    assert (after.names, rows.features.columns.tolist()) == (["a", "b", "c"], [2, 1])
    assert before.names == ["a", "b"]


names = st.lists(st.text(alphabet="ab\n\u00e4\U0001f600", max_size=6), max_size=30)


@settings(max_examples=60, deadline=None)
@given(names, names, names)
def test_words_are_numbered_as_a_dictionary_numbers_them(first, second, third):
    words, index = Words(), {}
    for some in (first, second):
        wanted = [index.setdefault(name, len(index)) for name in some]
        assert words.numbers(some).tolist() == wanted
    vocabulary = words.vocabulary()
    assert vocabulary.names == list(index)
    for known in (words, Words.of(vocabulary)):
        assert known.numbers(third, 999).tolist() == [index.get(name, 999) for name in third]
        assert len(known) == len(index)
    assert Words.of(vocabulary).numbers(third).tolist() == [index.setdefault(name, len(index)) for name in third]


def test_pieces_of_sentences_are_joined(monkeypatch):
    X = [[[f"w{k % 7}", f"v{k}"], []] for k in range(20)] + [[]]
    whole, rows = ItemFeatures.collected(X)
    monkeypatch.setattr(token_features, "SENTENCES_AT_ONCE", 3)
    parts, again = ItemFeatures.collected(X)
    assert whole.names == parts.names
    assert rows.features.columns.tolist() == again.features.columns.tolist()
    assert parts.rows(X).features.columns.tolist() == rows.features.columns.tolist()


def test_a_vocabulary_is_its_arrays():
    words = Vocabulary.of(["the", "", "Häuser", "\ud800"])
    again = Vocabulary(words.text, words.ends)
    verify(again, Vocabulary)
    assert again == words
    assert again.index["Häuser"] == 2
    for text, ends in (
        (words.text, words.ends + 1),
        (words.text, words.ends[::-1].copy()),
        (words.text.astype(np.int64), words.ends),
        (np.frombuffer(b"aa", dtype=np.uint8), np.array([1, 2])),
    ):
        with pytest.raises(ValueError, match=r"vocabulary|expected text"):
            verify(Vocabulary(text, ends), Vocabulary)


def test_features_nested_too_deeply_are_refused():
    token = {}
    token["a"] = token
    with pytest.raises(ValueError, match="Sentence 0, token 1: its features are nested too deeply"):
        ItemFeatures.collected([[["a"], token]])
