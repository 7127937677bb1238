"""`TextEncoder`: the matrix of scikit-learn's TfidfVectorizer, with words of any script."""

import pickle
import unicodedata

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import rosenblatt
from forged_files import file_of
from rosenblatt import AROW, FileError, TableClassifier, TextEncoder
from rosenblatt.formats import term_counts
from rosenblatt.model_files.save_and_load import from_bytes

TEXTS = ["The dog, the DOG!", "", "a lazy dog", "The cat: straße İstanbul ΟΔΟΣ", "the cat the dog"]
# Letters whose lower case depends on their place or is longer, marks, digits of many kinds, characters of one byte to
# four, those that are words alone, controls, and half of a surrogate pair.
ALPHABET = "aAbBzé_09Σσςİıßǅﬁ٣²½ \t\n\r\0\x1f\x7f\xa0-.,'कीा่กあガ電䨺々\u0301\u200d\u2028😀𝒳𠀀\U000e0100\ud800"
DOCUMENTS = st.lists(st.text(ALPHABET, max_size=25), min_size=1, max_size=6)
HOW = st.fixed_dictionaries(
    {
        "ngram_range": st.sampled_from([(1, 1), (1, 2)]),
        "min_df": st.sampled_from([1, 2, 0.5]),
        "sublinear_tf": st.booleans(),
    }
)


def assert_same(ours, theirs, texts, others):
    """Both encoders find the same terms and values, or both find none."""
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:
        with pytest.raises(ValueError, match="vocabulary is empty"):
            ours.fit_transform(texts)
        return
    found = ours.fit_transform(texts)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-13, atol=1e-16)
    assert found.has_canonical_format
    again = ours.transform(others)
    np.testing.assert_allclose(again.toarray(), theirs.transform(others).toarray(), rtol=1e-13, atol=1e-16)


@settings(deadline=None)
@given(DOCUMENTS, DOCUMENTS, HOW)
@example(TEXTS, ["dog the unknown dog", ""], {"ngram_range": (1, 2), "min_df": 1, "sublinear_tf": True})
@example(["ΟΔΟΣ ΟΔΟΣΑ Σ Σ.Α", "ab ab" * 40], ["οδος"], {"ngram_range": (1, 2), "min_df": 1, "sublinear_tf": False})
def test_the_matrix_is_that_of_scikit_learn(texts, others, how):
    assert_same(TextEncoder(tokens="sklearn", **how), TfidfVectorizer(**how), texts, others)


def plain_tokens(text):
    """The words of a text, character by character."""
    words, word = [], ""
    for character in [*text.lower(), " "]:
        name = unicodedata.name(character, "")
        alone = name.startswith(("CJK UNIFIED", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC ITERATION"))
        if not alone and (unicodedata.category(character)[0] in "LNM" or character == "_"):
            word += character
            continue
        words += [word] if len(word) > 1 else []
        words += [character] if alone else []
        word = ""
    return words


def plain_terms(text, low, high):
    words = plain_tokens(text)
    return [" ".join(words[k : k + n]) for n in range(low, high + 1) for k in range(len(words) - n + 1)]


@settings(deadline=None)
@given(DOCUMENTS, DOCUMENTS, HOW)
@example(["这部电影很好看", "那部电影真糟糕"], ["电影"], {"ngram_range": (1, 2), "min_df": 1, "sublinear_tf": True})
def test_words_of_any_script_are_those_of_a_plain_loop(texts, others, how):
    low, high = how["ngram_range"]
    theirs = TfidfVectorizer(**(how | {"analyzer": lambda text: plain_terms(text, low, high), "ngram_range": (1, 1)}))
    assert_same(TextEncoder(**how), theirs, texts, others)


@settings(deadline=None)
@given(st.lists(st.text(ALPHABET, max_size=12), min_size=1, max_size=30), st.integers(0, 40), st.integers(60, 200))
def test_blocks_of_texts_and_forgotten_positions_change_nothing(texts, block, positions):
    whole = term_counts.count_terms(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(term_counts, "BLOCK_BYTES", block)
        patch.setattr(term_counts, "POSITIONS", positions)
        parts = term_counts.count_terms(texts)
    assert parts.terms.names() == whole.terms.names()
    assert (parts.counts != whole.counts).nnz == 0


def test_many_pairs_and_long_texts_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    words = np.array([f"word{k}" for k in range(600)])
    texts = [" ".join(words[(rng.random(size) ** 2 * 600).astype(int)]) for size in (3, 40, 300, 5000, 2000)]
    assert_same(
        TextEncoder(tokens="sklearn", min_df=1),
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
        texts,
        texts[:2],
    )


@pytest.mark.parametrize(
    "made",
    [
        list,
        tuple,
        np.array,
        pd.Series,
        pl.Series,
        pa.array,
        lambda texts: pa.chunked_array([texts]),
        lambda texts: np.array(texts, object)[:, None],
        lambda texts: pd.DataFrame({"a": texts}),
        lambda texts: pl.DataFrame({"a": texts}),
    ],
)
def test_texts_come_from_any_container(made):
    expected = TextEncoder().fit_transform(TEXTS)
    encoder = TextEncoder()
    assert abs(encoder.fit_transform(made(TEXTS)) - expected).max() == 0
    assert abs(encoder.transform(made(TEXTS)) - expected).max() == 0


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", r"X is one text: expected a sequence of texts, such as \[text\]"),
        (["a", None], "X, row 1: expected text, found None .a missing text can be ''"),
        ([b"a"], "X, row 0: expected text, found b'a'"),
        (np.array([["a", "b"]]), "X has 2 columns: expected texts, or one column of them"),
        ([], "The vocabulary is empty: the 0 texts have no words"),
        (["a b", "!"], "The vocabulary is empty: the 2 texts have no words"),
        (["ab", "cd"], "The vocabulary is empty: no word is in 2 of 2 texts: lower min_df"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(texts, message):
    with pytest.raises(ValueError, match=message):
        TextEncoder().fit(texts)


@pytest.mark.parametrize("wrong", [{"tokens": "words"}, {"ngram_range": (1, 3)}, {"min_df": 0}, {"sublinear_tf": "no"}])
def test_parameters_are_checked(wrong):
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of TextEncoder"):
        TextEncoder(**wrong).fit(TEXTS)


def test_copies_pickles_and_files_encode_alike(tmp_path):
    encoder = TextEncoder(tokens="sklearn", min_df=1).fit(TEXTS)
    expected = encoder.transform(TEXTS)
    rosenblatt.save(encoder, tmp_path / "words.model")
    for other in (pickle.loads(pickle.dumps(encoder)), rosenblatt.load(tmp_path / "words.model")):
        assert (other.transform(TEXTS) != expected).nnz == 0
        assert other.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    assert clone(encoder).get_params() == encoder.get_params()


def test_a_forged_order_is_refused():
    encoder = TextEncoder(min_df=1).fit(["the dog"])
    object.__setattr__(encoder.encoding_, "order", np.array([0, 0, 2]))
    with pytest.raises(FileError, match="not a model that rosenblatt wrote: expected an order of all features"):
        from_bytes(file_of(encoder))


def test_it_is_a_step_of_pipelines_tables_and_column_transformers():
    labels = [0, 1, 0, 1, 0]
    assert make_pipeline(TextEncoder(), AROW(random_state=0)).fit(TEXTS, labels).predict(TEXTS).shape == (5,)
    frame = pd.DataFrame({"said": TEXTS})
    X = ColumnTransformer([("words", TextEncoder(), "said")]).fit_transform(frame)
    assert abs(X - TextEncoder().fit_transform(TEXTS)).max() == 0
    model = TableClassifier(columns={"said": TextEncoder(min_df=1)}, learner=AROW(random_state=0), cv=2)
    assert model.fit(frame, labels).predict(frame).shape == (5,)
