"""Tables to rows: every kind of column, with missing values; frames of any library; columns that are left out."""

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import rosenblatt
from forged_files import file_of
from rosenblatt import FileError, TableClassifier, TableEncoder, TextEncoder
from rosenblatt.model_files.save_and_load import from_bytes
from rosenblatt.tables import frames_out
from rosenblatt.tables.columns.frames import as_table
from rosenblatt.tables.columns.kinds import kind_of
from rosenblatt.tables.columns.statistics import statistics

MISSING = ["", "NA", "NaN", "?", "null", "None"]


def kind(values):
    column = as_table(pa.table({"c": pa.array(values)})).values("c")
    return kind_of(column, statistics(column))


def encode(values, **settings):
    """The features of one column, dense, and their names."""
    encoder = TableEncoder(**settings)
    X = encoder.fit_transform(pa.table({"c": pa.array(values)}))
    assert isinstance(X, sp.csr_matrix)
    assert X.dtype == np.float64
    assert X.has_sorted_indices
    return X.toarray(), encoder.get_feature_names_out().tolist()


# -- kinds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 2], "numbers"),
        (["1", " 2.5 ", "-3e4"], "numbers"),
        (["1.5", *MISSING], "numbers"),
        ([0.5 + k for k in range(50)], "numbers"),  # fractions are no ids
        ([True, False, None], "booleans"),
        (["True", "false", "NA"], "booleans"),
        (["red", "green", "red"], "names"),
        (["yes", "no", "no"], "names"),
        ([dt.date(2020, 1, 1), None, dt.date(2021, 5, 5)], "dates"),
        (["2020-01-01", "2020-02-01 10:30", ""], "dates"),
        (["24.12.2020", "1.1.2021"], "dates"),
        (["12/24/2020", "1/1/2021"], "dates"),
        (["24/12/2020", "1/1/2021"], "dates"),
        (["a good film indeed", "a bad film indeed", "not my taste"], "text"),
        (["这部电影很好看", "非常糟糕的电影", "我喜欢它"], "text"),
        (["Очень хороший фильм", "Мне совсем не понравилось", "Так себе кино"], "text"),
    ],
)
def test_kind_of_a_column(values, expected):
    assert kind(values).kind == expected


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (MISSING, "empty"),
        ([None, None], "empty"),
        ([7, 7, 7], "constant"),
        (list(range(30)), "whole numbers, like an id"),
        ([f"customer{k}" for k in range(30)], "like an id"),
        ([f"{k:08x}-e29b-41d4-a716" for k in range(30)], "like an id"),
    ],
)
def test_columns_that_are_left_out_are_named_with_the_reason(values, reason):
    found = kind(values)
    assert found.kind is None
    assert reason in found.reason
    with pytest.warns(UserWarning, match=f"Column 'c' is left out: .*{reason}"):
        X = TableEncoder().fit_transform(pa.table({"c": pa.array(values)}))
    assert X.shape == (len(values), 0)


def test_the_kind_is_decided_from_all_rows():
    assert kind(["1"] * 5000 + ["red"] * 5000).kind == "names"
    found = kind(["1"] * 99 + ["n.b."])
    assert found.kind == "numbers"
    assert "'n.b.'" in found.note


# -- numbers and booleans ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("absent", [*MISSING, "-999"])
def test_a_missing_number_is_the_mean_and_has_an_indicator(absent):
    X, names = encode(["1", "3", absent, "1", "3"], missing=["-999"])
    assert names == ["c", "c (missing)"]
    assert X.tolist() == [[-1, 0], [1, 0], [0, 1], [-1, 0], [1, 0]]


def test_numbers_without_missing_values_have_no_indicator_and_unseen_missing_ones_are_the_mean():
    encoder = TableEncoder().fit(pa.table({"c": [1.0, 3.0]}))
    X = encoder.transform(pa.table({"c": [float("nan"), 5.0, float("inf")]}))
    assert X.toarray().tolist() == [[0.0], [3.0], [0.0]]


def test_a_sparse_column_is_scaled_without_a_shift():
    values = np.zeros(100)
    values[:3] = 5.0, 2.0, 7.5
    encoder = TableEncoder().fit(values.reshape(-1, 1))
    X = encoder.transform(values.reshape(-1, 1))
    assert X.nnz == 3
    assert X.toarray().ravel() == pytest.approx(values / values.std())


def test_huge_numbers_are_scaled_without_overflow():
    X, _ = encode([1e308, -1e308, 1e307])
    assert np.isfinite(X).all()
    assert X.std() == pytest.approx(1.0)


def test_booleans_are_the_same_from_frames_and_as_text():
    truth, _ = encode([True, False, None, True])
    assert np.array_equal(truth, encode(["True", "False", "", "True"])[0])
    assert truth[0, 0] > truth[2, 0] > truth[1, 0]


def test_splines_are_hat_functions_at_the_quantiles():
    values = np.r_[np.linspace(0.0, 1.0, 71), np.nan]
    X, names = encode(values, columns={"c": "splines"})
    assert len(names) == 9
    assert X[:, :-1].sum(axis=1) == pytest.approx(np.ones(72))
    assert (np.count_nonzero(X[:71, :-1], axis=1) <= 2).all()
    knots = np.linspace(0, 1, 8)
    assert X[:71, :-1] @ knots == pytest.approx(values[:71])


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_are_one_hot_with_a_column_for_others_and_one_for_missing():
    encoder = TableEncoder().fit(pl.DataFrame({"c": ["b", "a", None, "b"]}))
    assert encoder.get_feature_names_out().tolist() == ["c=a", "c=b", "c=(other)", "c=(missing)"]
    X = encoder.transform(pl.DataFrame({"c": ["a", "unseen", None]})).toarray()
    assert X.tolist() == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


def test_a_missing_name_where_none_was_learned_is_another_name():
    encoder = TableEncoder().fit(pl.DataFrame({"c": ["b", "a", "b"]}))
    assert encoder.transform(pl.DataFrame({"c": [None]}, schema={"c": pl.String})).toarray().tolist() == [[0, 0, 1]]


def test_only_the_most_frequent_names_have_a_column():
    values = ["a"] * 5 + ["b"] * 4 + ["c"] * 3 + ["d"]
    X, names = encode(values, max_names=2)
    assert names == ["c=a", "c=b", "c=(other)"]
    assert X.sum(axis=0).tolist() == [5, 4, 4]
    many = [f"n{k % 1500}" for k in range(3000)]
    assert len(encode(many)[1]) == 1001


def test_zip_codes_as_names_are_the_same_from_integers_floats_and_text():
    settings = {"columns": {"c": "names"}}
    whole, names = encode([53111, 53113, None], **settings)
    assert names == ["c=53111", "c=53113", "c=(other)", "c=(missing)"]
    assert np.array_equal(whole, encode([53111.0, 53113.0, float("nan")], **settings)[0])
    assert np.array_equal(whole, encode(["53111", "53113", "NA"], **settings)[0])


def test_categories_of_pandas_are_names_even_where_they_are_numbers():
    encoder = TableEncoder().fit(pd.DataFrame({"c": pd.Categorical([1, 2, 1])}))
    assert encoder.columns_[0].kind == "names"
    assert len(TableEncoder().fit(pd.DataFrame({"c": pd.cut([1.0, 2.0, 3.0], 2)})).get_feature_names_out()) == 3


# -- dates -------------------------------------------------------------------------------------------------------------


def test_dates_are_year_month_day_of_week_and_hour():
    stamps = [dt.datetime(2020, 1, 6, 9), dt.datetime(2022, 3, 8, 17), None]
    X, names = encode(stamps)
    row = dict(zip(names, X[0], strict=True))
    assert row["c year"] == -1
    assert {name for name in names if row[name] == 1} == {"c month=1", "c day of week=0", "c hour=9"}
    assert X[2].tolist() == [0.0] * (len(names) - 1) + [1.0]
    assert np.array_equal(X, encode(["2020-01-06 09:00:00", "2022-03-08T17:00", ""])[0])
    assert np.array_equal(X, encode(["6.1.2020 9:00", "08.03.2022 17:00:00", "?"])[0])


def test_new_dates_are_read_in_the_format_that_was_learned():
    encoder = TableEncoder().fit(pa.table({"c": ["25/12/2020", "01/02/2021"]}))
    names = encoder.get_feature_names_out().tolist()
    X = encoder.transform(pa.table({"c": ["03/02/2021", "no date", None]})).toarray()
    assert X[0, names.index("c month=2")] == 1
    assert not X[1:].any()
    assert kind(["2020-13-45", "2020-01-01"]).kind == "names"


# -- text --------------------------------------------------------------------------------------------------------------

TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    "The dog sleeps, and the fox runs: quick, quick!",
    "a lazy afternoon with the brown dog",
    "nothing of the kind",
]


def test_text_is_the_tf_idf_of_words_and_pairs_that_scikit_learn_has():
    X, names = encode(TEXTS)
    peer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    expected = peer.fit_transform(TEXTS).toarray()
    found = {name.removeprefix("c: "): X[:, k] for k, name in enumerate(names)}
    assert sorted(found) == sorted(peer.get_feature_names_out())
    for k, name in enumerate(peer.get_feature_names_out()):
        assert found[name] == pytest.approx(expected[:, k])
    encoder = TableEncoder().fit(pa.table({"c": TEXTS}))
    new = ["quick brown dog and cat", "", "unseen words"]
    again = encoder.transform(pa.table({"c": new})).toarray()
    order = [peer.vocabulary_[name.removeprefix("c: ")] for name in names]
    assert again == pytest.approx(peer.transform(new).toarray()[:, order])


@pytest.mark.parametrize(
    ("texts", "word"),
    [
        (["это хороший фильм сегодня", "хороший фильм вчера вечером"], "хороший фильм"),
        (["एक अच्छी फिल्म आज", "बहुत अच्छी फिल्म है"], "अच्छी फिल्म"),
        (["这部电影很好看", "那部电影真糟糕"], "电 影"),
        (["ein schönes Stück Käse", "kein SCHÖNES Stück Brot"], "schönes stück"),
    ],
)
def test_words_of_many_languages_are_named(texts, word):
    _, names = encode(texts)
    assert f"c: {word}" in names


def test_a_text_column_with_missing_values_and_only_rare_words():
    X, names = encode(["one two three", None, "four five six"])
    assert len(names) == 10
    assert not X[1].any()


# -- tables ------------------------------------------------------------------------------------------------------------


def mixed(n=40):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "name": rng.choice(["a", "b", "c"], n),
            "flag": rng.random(n) < 0.5,
            "day": pd.date_range("2020-01-30", periods=n).astype("datetime64[us]"),
            "note": [" ".join(rng.choice(["good", "bad", "film", "plot", "fine"], 4)) + f" nr{k}" for k in range(n)],
        }
    )


def test_frames_of_every_library_files_and_a_loaded_model_give_the_same_numbers(tmp_path):
    frame = mixed()
    frame.to_csv(tmp_path / "t.csv", index=False)
    encoder = TableEncoder()
    X = encoder.fit_transform(frame)
    assert [one.kind for one in encoder.columns_] == ["numbers", "names", "booleans", "dates", "text"]
    rosenblatt.save(encoder, tmp_path / "m")
    for other in (
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        pa.Table.from_pandas(frame).to_batches()[0],
        pd.read_csv(tmp_path / "t.csv"),
        pl.read_csv(tmp_path / "t.csv", infer_schema=False),
    ):
        fresh = TableEncoder()
        for Y in (
            fresh.fit_transform(other),
            encoder.transform(other),
            rosenblatt.load(tmp_path / "m").transform(other),
        ):
            assert np.array_equal(X.toarray(), Y.toarray())
        assert np.array_equal(fresh.get_feature_names_out(), encoder.get_feature_names_out())


def test_columns_may_be_in_another_order_and_more_but_not_missing():
    frame = mixed()
    encoder = TableEncoder().fit(frame)
    other = frame[frame.columns[::-1]].assign(extra=1)
    assert np.array_equal(encoder.transform(frame).toarray(), encoder.transform(other).toarray())
    with pytest.raises(ValueError, match="X has no column 'name', which the model learned from"):
        encoder.transform(frame.drop(columns="name"))
    with pytest.raises(ValueError, match="X has 2 features, but TableEncoder is expecting 5"):
        encoder.transform(np.zeros((3, 2)))


def test_two_hundred_columns():
    X = np.random.default_rng(0).normal(size=(50, 200))
    assert TableEncoder().fit_transform(X).toarray() == pytest.approx((X - X.mean(axis=0)) / X.std(axis=0))


def test_columns_with_one_value_per_row_stand_side_by_side():
    frame = pl.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"], "c": [True, False, True]})
    X = TableEncoder().fit_transform(frame)
    X.check_format(full_check=True)
    assert X.has_canonical_format
    parts = [TableEncoder().fit_transform(frame[[name]]).toarray() for name in frame.columns]
    assert np.array_equal(X.toarray(), np.hstack(parts))


def test_objects_of_several_types_and_names_of_columns_that_are_numbers():
    frame = pd.DataFrame({0: [1, "a", None, 1] * 5, "n": [1.5, 2.5, 3.5, 4.0] * 5})
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["0=1", "0=a", "0=(other)", "0=(missing)", "n"]
    assert TableEncoder().fit([["a", 1.5], ["b", 2.5], ["a", 3.5]]).columns_[1].kind == "numbers"


def test_copies_of_the_label_are_left_out_aloud():
    frame = mixed()
    y = np.where(frame["name"] == "a", "yes", "no")
    frame["alive"] = np.where(y == "yes", 1, 0)
    frame["money"] = np.arange(40) / 7
    with pytest.warns(UserWarning, match="'alive' is left out: a one-to-one copy of the label"):
        encoder = TableEncoder().fit(frame, y)
    assert set(encoder.left_out_) == {"alive"}
    with pytest.warns(UserWarning, match="'money' is left out"):
        TableEncoder().fit(frame, np.arange(40) / 7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not TableEncoder(columns={"alive": "names"}).fit(frame, y).left_out_


def test_refusals_say_what_is_wrong():
    frame = mixed()
    with pytest.raises(ValueError, match=r"columns names 'zip', but there is no such column: the columns are 'number'"):
        TableEncoder(columns={"zip": "names"}).fit(frame)
    with pytest.raises(ValueError, match=r"columns\['note'\] must be one of numbers, .*got 'words'"):
        TableEncoder(columns={"note": "words"}).fit(frame)
    with pytest.raises(ValueError, match=r"column 'c': expected numbers, text, booleans or dates, found .*list"):
        TableEncoder().fit(pa.table({"c": [[1], [2]]}))
    with pytest.raises(ValueError, match="Two columns of X are named 'a'"):
        TableEncoder().fit(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))
    assert TableEncoder(columns={"note": "drop"}).fit(frame).left_out_ == {"note": "as requested"}


# -- scikit-learn and model files --------------------------------------------------------------------------------------


def expected_failures(_):
    return {"check_dataframe_column_names_consistency": "columns are found by name: another order is welcome"}


@parametrize_with_checks([TableEncoder()], expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore:Column")
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_clone_keeps_the_parameters():
    encoder = TableEncoder(columns={"a": "names"}, missing=["-"], max_names=5)
    assert clone(encoder).get_params() == encoder.get_params()


def forged(path, value):
    """The file of an encoder with one part of one encoding replaced."""
    encoder = TableEncoder().fit(mixed())
    for one in encoder.columns_:
        if path in vars(one.encoding):
            object.__setattr__(one.encoding, path, value)
    return encoder


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("scale", 0.0),
        ("mean", "x"),
        ("indicator", 3),
        ("names", ("a", "a")),
        ("parts", ("minute",)),
        ("format", "%s"),
        ("idf", np.ones(2)),
        ("pairs", np.full((3, 2), 10**6)),
        ("single", np.array([-5])),
        ("words", np.array([1, 2], dtype=object)),
        ("words", np.array(["a", "a"], dtype=object)),
        ("sublinear", 1),
        ("order", np.zeros(3, int)),
        ("knots", np.array([2.0, 1.0])),
    ],
)
def test_forged_encodings_are_refused(part, value):
    encoder = forged(part, value)
    if part == "knots":
        encoder = TableEncoder(columns={"number": "splines"}).fit(mixed())
        object.__setattr__(encoder.columns_[0].encoding, "knots", value)
    with pytest.raises(FileError, match="not a model that rosenblatt wrote: expected"):
        from_bytes(file_of(encoder))


def test_set_output_gives_frames_where_they_are_small_enough():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]}, index=[5, 6, 7])
    encoder = TableEncoder().fit(table)
    sparse = encoder.transform(table)
    for frame in (encoder.set_output(transform="pandas").transform(table), encoder.fit_transform(table)):
        assert frame.columns.tolist() == encoder.get_feature_names_out().tolist()
        assert frame.index.tolist() == [5, 6, 7]
        np.testing.assert_array_equal(frame.to_numpy(), sparse.toarray())
    with sklearn.config_context(transform_output="pandas"):  # the models on top are not touched
        TableClassifier().fit(pd.concat([table] * 20), ["u", "v", "u"] * 20).predict(table)


def test_a_frame_that_would_be_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(frames_out, "MOST_VALUES", 5)
    texts = ["good film", "bad film", "good book"]
    encoder = TextEncoder(ngram_range=(1, 1), min_df=1).set_output(transform="pandas").fit(texts)
    with pytest.raises(ValueError, match=r'set_output\(transform="pandas"\): 3 rows of 4 features would take 0\.0 GB'):
        encoder.transform(texts)
    assert encoder.set_output(transform="default").transform(texts).shape == (3, 4)
