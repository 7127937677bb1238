"""Models of tables: other measures and learners, labels that are missing, and fits that are refused."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, SVR

from rosenblatt import FileError, PassiveAggressive, Perceptron, TableClassifier, TableEncoder, TableRegressor, fit
from rosenblatt.cli.main import info
from rosenblatt.model_files.save_and_load import load, save


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"size": rng.normal(size=n), "weight": rng.normal(size=n), "colour": rng.choice(list("rgb"), n)})
    return X, np.where(X["size"] + 0.3 * rng.normal(size=n) > 0, "yes", "no")


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "average_precision", "f1_macro"])
@pytest.mark.parametrize("learner", ["auto", RandomForestClassifier(5, random_state=0)])
def test_measures_of_scores_and_probabilities(scoring, learner):
    X, y = table()
    y = (y == "yes").astype(int)
    summary = TableClassifier(scoring=scoring, learner=learner, random_state=0).fit(X, y).summary_
    ((name, value),) = summary.other_scores
    assert name == scoring
    assert np.isfinite(value)
    if scoring == "roc_auc":
        assert 0.7 < value <= 1


@pytest.mark.parametrize(
    ("make", "learner", "classes"),
    [
        (TableClassifier, SVC(), 3),
        (TableClassifier, SVC(kernel="linear"), 2),
        (TableRegressor, SVR(kernel="linear"), 0),
    ],
)
def test_learners_of_scikit_learn(make, learner, classes):
    X, _ = table()
    size = X["size"].to_numpy()
    y = np.searchsorted([0.0] if classes == 2 else [-0.5, 0.5], size) if classes else 2 * size + X["weight"].to_numpy()
    model = make(learner=learner, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    assert "out of fold" in str(model.summary_) or "folds" in str(model.summary_)


def test_a_refused_fit_leaves_the_model_as_it_was():
    X, y = table()
    size = X["size"].to_numpy()
    numbers = TableRegressor(learner="linear", random_state=0).fit(X, size)
    before = numbers.predict(X)
    with pytest.raises(ValueError, match="y"):
        numbers.fit(X, size * 1e200)
    np.testing.assert_array_equal(numbers.predict(X), before)
    names = TableClassifier(learner="linear", random_state=0).fit(X, y)
    before = names.predict(X)
    with pytest.raises(ValueError, match="class"):
        names.fit(X, ["yes"] * len(y))
    np.testing.assert_array_equal(names.predict(X), before)


def test_a_refused_fit_to_a_file_leaves_the_model_as_it_was(tmp_path):
    X, y = table()
    X.assign(label=y).to_csv(tmp_path / "two.csv", index=False)
    X.assign(label="yes", more=1.0).to_csv(tmp_path / "one.csv", index=False)
    model = fit(TableClassifier(learner="linear", random_state=0), tmp_path / "two.csv", label="label")
    before, answers = dict(vars(model)), model.predict(X)
    with pytest.raises(ValueError, match="class"):
        fit(model, tmp_path / "one.csv", label="label")
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict(X), answers)


def test_a_fit_to_a_frame_forgets_how_a_file_was_read(tmp_path):
    X, y = table()
    X.assign(label=y).to_csv(tmp_path / "two.csv", index=False)
    model = fit(TableClassifier(learner="linear", random_state=0), tmp_path / "two.csv", label="label")
    assert model.reading_.label == "label"
    save(model, tmp_path / "model")  # the reading has no layout: the model encodes columns itself
    assert load(tmp_path / "model").reading_ == model.reading_
    assert not hasattr(model.fit(X, y), "reading_")


def test_a_missing_text_of_pandas():
    X = pd.Series(["a b", "c d"] * 15 + [pd.NA], dtype="string")
    model = TableClassifier(learner="linear", random_state=0).fit(X, ["x", "y"] * 15 + ["x"])
    assert model.predict(X[:2]).tolist() == ["x", "y"]
    assert sum(n for _, n in model.summary_.missing) == 1


@pytest.mark.parametrize(
    "y",
    [
        ["yes", float("nan")] + ["no"] * 58,
        pd.Series(["yes", None] + ["no"] * 58, dtype="string"),
        pd.Series(["yes", pd.NA] + ["no"] * 58),
        np.array([1.0, np.nan] + [0.0] * 58),
        np.array(["2020-01-01", "NaT"] + ["2021-01-01"] * 58, "M8[D]"),
        pd.Series(pd.to_timedelta([1, None] + [2] * 58)),
        [Decimal(1), Decimal("NaN")] + [Decimal(2)] * 58,
        [Decimal(1), Decimal("sNaN")] + [Decimal(2)] * 58,
    ],
)
def test_a_missing_label_is_named(y):
    X, _ = table()
    for model in (TableClassifier(learner="linear"), TableRegressor(learner="linear")):
        with pytest.raises(ValueError, match="a missing label, at row 1"):
            model.fit(X, y)


def test_labels_of_other_types():
    X, truth = table()
    days = np.where(truth == "yes", np.datetime64("2020-01-02"), np.datetime64("2021-03-04"))
    for y in (days, days.tolist(), pd.Series(days), pa.array(days)):
        model = TableClassifier(learner="linear", random_state=0).fit(X, y)
        assert [str(one)[:10] for one in model.classes_.tolist()] == ["2020-01-02", "2021-03-04"]
        assert (model.predict(X) == np.asarray(y)).mean() > 0.8
        with pytest.raises(ValueError, match="TableRegressor needs numbers, but y has datetime"):
            TableRegressor(learner="linear").fit(X, y)
    assert TableClassifier(learner="linear", random_state=0).fit(X, pa.array(truth.tolist())).classes_.tolist() == [
        "no",
        "yes",
    ]
    with pytest.raises(ValueError, match="must all be of one kind"):
        TableClassifier(learner="linear").fit(X, [1, "a"] * 30)
    with pytest.raises(ValueError, match=r"continuous. y has 0.5 at row 1"):
        TableClassifier(learner="linear").fit(X, [1.0, 0.5] * 30)


def test_frames_without_rows_yet_are_refused():
    X, y = table()
    lazy = pl.from_pandas(X).lazy()
    for model in (TableClassifier(learner="linear"), TableEncoder(), Perceptron()):
        with pytest.raises(ValueError, match=r"X is a LazyFrame, which has no rows yet: collect\(\) it first"):
            model.fit(lazy, y)
    with pytest.raises(ValueError, match=r"X is a LazyFrame, which has no rows yet: collect\(\) it first"):
        TableClassifier(learner="linear").fit(X, y).predict(lazy)
    with pytest.raises(ValueError, match=r"y is a LazyFrame, which has no rows yet: collect\(\) it first"):
        TableClassifier(learner="linear").fit(X, lazy.select("size"))


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array])
def test_labels_of_frames_that_end_with_nul_are_refused(kind):
    X, truth = table()
    y = ["a" if one == "yes" else "a\0" for one in truth]
    with pytest.raises(ValueError, match="must not end with NUL"):
        TableClassifier(learner="linear").fit(X, kind(y) if kind is not np.array else np.array(y, dtype=object))


def test_a_transformer_of_dates_beyond_datetime():
    far = np.array(["0900-01-01", "20000-01-01"], "M8[us]")[np.arange(60) % 2]
    with pytest.raises(ValueError, match="column 'day': its transformer gets datetimes"):
        TableEncoder(columns={"day": OneHotEncoder()}).fit(pa.table({"day": far, "k": np.arange(60) % 3}))


def test_truths_may_be_objects():
    X, y = table()
    model = TableClassifier(learner="linear", random_state=0).fit(
        X, np.array([bool(one == "yes") for one in y], dtype=object)
    )
    assert model.classes_.dtype == bool


def test_an_encoder_needs_a_label_per_row():
    X, y = table()
    for wrong in (y[:-1], [*y, "no"]):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            TableEncoder().fit(X, wrong)


def test_info_of_a_model_with_a_learner_of_its_own(tmp_path, capsys):
    X, y = table()
    save(TableClassifier(learner=PassiveAggressive(C=0.1, max_epochs=5, random_state=0)).fit(X, y), tmp_path / "m")
    info(tmp_path / "m")
    assert "C=0.1" in capsys.readouterr().out


N = 40
STRANGE = {
    "binary": pa.array([b"x"] * N),
    "fixed_size_binary": pa.array([b"\xff\xfe"] * N, pa.binary(2)),
    "binary_view": pa.array([b"\xff"] * N, pa.binary_view()),
    "list": pa.array([[1]] * N),
    "month_day_nano_interval": pa.array([(1, 2, 3)] * N, pa.month_day_nano_interval()),
    "Mars/Phobos": pa.array(range(N), pa.timestamp("s", "Mars/Phobos")),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef"] * N, pa.binary(16))),
}
PLAIN = {
    "long durations": pa.array([2**62 + k for k in range(N)], pa.duration("s")),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([k % 3 for k in range(N)], pa.int8())),
}


def arrow_file(path, column):
    table = pa.table({"c": column, "n": np.arange(N) / 3, "label": ["x", "y"] * (N // 2)})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    return table


@pytest.mark.parametrize("kind", STRANGE)
def test_columns_of_other_types_are_refused_with_their_place(tmp_path, kind):
    path = tmp_path / "t.arrow"
    frame = arrow_file(path, STRANGE[kind]).drop_columns("label")
    with pytest.raises(FileError, match=r"t\.arrow, column 'c': "):
        fit(TableClassifier(learner="linear", random_state=0, cv=2), path)
    with pytest.raises(ValueError, match="column 'c': "):
        TableClassifier(learner="linear", random_state=0, cv=2).fit(frame, np.arange(N) % 2)
    arrow_file(path, pa.array([b"\xff"] * N, pa.binary(1)))  # as the label, too
    with pytest.raises(FileError, match=r"t\.arrow, column 'c': "):
        fit(TableClassifier(learner="linear"), path, label="c")


@pytest.mark.parametrize("kind", PLAIN)
def test_columns_that_are_numbers_in_another_form(tmp_path, kind):
    arrow_file(tmp_path / "t.arrow", PLAIN[kind])
    assert (
        fit(TableClassifier(learner="linear", random_state=0, cv=2), tmp_path / "t.arrow").encoder_.columns_[0].kind
        == "numbers"
    )


def test_labels_that_end_with_nul_are_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"n,label\n" + b"1,x\0\n2,x\n3,y\n" * 9)  # of which NumPy would make two
    with pytest.raises(ValueError, match=r"'label': expected labels that do not end with NUL, found 'x.x00'"):
        fit(TableClassifier(learner="linear"), tmp_path / "t.csv")


def test_weights_whose_squares_overflow():
    X, _ = table()
    weights = np.where(np.arange(60) == 0, 1e300, 1.0)
    model = TableRegressor(learner="linear", random_state=0, cv=2).fit(X, X["size"].to_numpy(), sample_weight=weights)
    assert np.isfinite(model.summary_.training_score)
