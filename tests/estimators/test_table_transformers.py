"""Encoders of the user in place of those that are built in, by column and by kind."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
)

import rosenblatt
from rosenblatt import TableClassifier, TableEncoder, fit

RNG = np.random.default_rng(0)
N = 120
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, N) + 0.5,
        "pay": RNG.normal(size=N),
        "city": RNG.choice(["Bonn", "Köln", "Ulm"], N),
        "note": [" ".join(RNG.choice(["good", "bad", "red", "blue", "odd"], 4)) + f" w{k}" for k in range(N)],
    }
)
LABELS = np.where(FRAME["age"] + 10 * RNG.normal(size=N) > 50, "old", "young")


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_a_transformer_encodes_a_column():
    bins = KBinsDiscretizer(4, encode="onehot", strategy="uniform")
    found = TableEncoder(columns={"age": bins}).fit(FRAME)
    names = found.get_feature_names_out().tolist()
    assert sum(name.startswith("age: ") for name in names) == 4
    wanted = KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform").fit_transform(FRAME[["age"]].to_numpy())
    np.testing.assert_array_equal(found.transform(FRAME).toarray()[:, :4], wanted)
    assert not hasattr(bins, "n_bins_")  # a copy is fitted


def test_a_transformer_encodes_all_columns_of_a_kind():
    encoders = {
        "numbers": QuantileTransformer(n_quantiles=10),
        "names": OneHotEncoder(handle_unknown="ignore"),
        "text": TfidfVectorizer(),
    }
    found = TableEncoder(encoders=encoders).fit(FRAME)
    X = found.transform(FRAME).toarray()
    numbers = QuantileTransformer(n_quantiles=10).fit_transform(FRAME[["age"]].to_numpy())
    np.testing.assert_allclose(X[:, :1], numbers)
    names = OneHotEncoder().fit_transform(FRAME[["city"]].to_numpy()).toarray()
    np.testing.assert_array_equal(X[:, 2:5], names)
    words = TfidfVectorizer().fit_transform(FRAME["note"]).toarray()
    np.testing.assert_allclose(X[:, 5:], words)
    shown = found.get_feature_names_out().tolist()
    assert shown[:5] == ["age", "pay", "city: Bonn", "city: Köln", "city: Ulm"]
    assert "note: good" in shown


def test_missing_values_reach_the_transformer():
    frame = FRAME[["age", "city"]].copy()
    frame.loc[3, "age"], frame.loc[5, "city"] = np.nan, None
    seen = []
    watch = FunctionTransformer(lambda values: seen.append(values) or np.nan_to_num(values))
    ordinal = OrdinalEncoder(encoded_missing_value=-1)
    X = TableEncoder(columns={"age": watch, "city": ordinal}).fit(frame).transform(frame).toarray()
    assert np.isnan(seen[-1][3, 0])
    assert X[5, 1] == -1


def test_folds_fit_their_own_transformers_and_files_give_the_same(tmp_path):
    rows = []

    class Bins(KBinsDiscretizer):
        def fit(self, X, y=None):
            rows.append(len(X))
            return super().fit(X)

    columns = {"age": Bins(5, strategy="uniform")}
    model = TableClassifier(learner="linear", columns=columns, random_state=0).fit(FRAME, LABELS)
    assert rows == [96] * 5 + [120]
    assert model.summary_.score > 0.6
    FRAME.assign(label=LABELS).to_csv(tmp_path / "t.csv", index=False)
    same = fit(TableClassifier(learner="linear", columns=columns, random_state=0), tmp_path / "t.csv")
    np.testing.assert_allclose(same.predict_proba(FRAME), model.predict_proba(FRAME), rtol=1e-9)
    with pytest.raises(ValueError, match="columns"):
        rosenblatt.save(model, tmp_path / "m")


def test_transformers_of_a_file_larger_than_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("rosenblatt.scale.large_tables.IN_MEMORY", 10**9)
    FRAME.assign(label=LABELS).to_csv(tmp_path / "t.csv", index=False)
    model = fit(
        TableClassifier(learner="linear", columns={"age": KBinsDiscretizer(5)}, random_state=0), tmp_path / "t.csv"
    )
    assert sum(name.startswith("age: ") for name in model.encoder_.get_feature_names_out()) == 5
    assert any("'age' is encoded by what a sample of" in one for one in model.summary_.warnings)


def test_a_column_that_would_be_left_out_is_used_if_a_transformer_is_named():
    frame = FRAME.assign(id=[f"c{k}" for k in range(N)])
    first = FunctionTransformer(lambda values: np.array([[len(one[0])] for one in values]))
    assert "id" in TableEncoder(columns={"id": first}).fit(frame).get_feature_names_out()


def test_what_is_no_transformer_is_refused():
    with pytest.raises(ValueError, match="or a transformer, got 3"):
        TableEncoder(columns={"age": 3}).fit(FRAME)
    for encoders in ({"ages": OneHotEncoder()}, {"names": "onehot"}):
        with pytest.raises(ValueError, match="encoders must map some of numbers"):
            TableEncoder(encoders=encoders).fit(FRAME)
