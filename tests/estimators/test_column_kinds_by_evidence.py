"""The kind of a column follows from what speaks for it: its type, its digits, how many values differ, the user."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rosenblatt import AveragedPerceptron, TableClassifier, TableEncoder, fit

pytestmark = pytest.mark.filterwarnings("ignore:Column:UserWarning", "ignore:.*overfits:UserWarning")
DIGITS = [str(k % 5) for k in range(60)]
ZIPS = [f"{k % 7:05d}" for k in range(60)]
CODES = [f"c{k // 2 if k < 8 else k}" for k in range(60)]  # 56 of 60 are different


def kinds(table, **settings):
    encoder = TableEncoder(**settings).fit(pa.table(table))
    assert set(encoder.reasons_) == {one.name for one in encoder.columns_}
    return {one.name: one.kind for one in encoder.columns_} | dict.fromkeys(encoder.left_out_), encoder


@pytest.mark.parametrize(
    ("values", "beside", "kind", "reason"),
    [
        (DIGITS, [0.5, 1.5] * 30, "names", "digits that are text, beside columns of numbers"),
        (DIGITS, ["a", "b"] * 30, "numbers", "written as numbers"),  # as in a file of text
        (["?", *DIGITS[1:]], [0.5, 1.5] * 30, "numbers", "written as numbers"),  # text because of the "?"
        ([None, *DIGITS[1:]], [1, 2] * 30, "names", "digits that are text, beside columns of numbers"),
        (["1.5", *DIGITS[1:]], [1, 2] * 30, "numbers", "written as numbers"),
        (ZIPS, ["a", "b"] * 30, "names", "whole numbers with leading zeros, like a code"),
        (["0", "0.5"] * 30, ["a", "b"] * 30, "numbers", "written as numbers"),
        (list(map(int, DIGITS)), [1, 2] * 30, "numbers", "by type"),
        (
            DIGITS[:9] + [f"{k}" for k in range(100, 151)],
            [1, 2] * 30,
            None,
            "56 of 60 values are different, like a code or an id",
        ),
        (CODES, [1, 2] * 30, None, "56 of 60 values are different, like a code or an id"),
        (CODES[:40], [1, 2] * 20, "names", "36 different values"),  # by chance, in so few rows
        ([True, False] * 30, [1, 2] * 30, "booleans", "true or false"),
        (["2.5.2020", "1.5.2021"] * 30, [1, 2] * 30, "dates", "written as day.month.year"),
        ([dt.date(2020, 1, 1), dt.date(2021, 1, 1)] * 30, [1, 2] * 30, "dates", "by type"),
        (pa.array(DIGITS).dictionary_encode(), ["a", "b"] * 30, "names", "by type"),
        ([f"a film of {k} reels" for k in range(60)], [1, 2] * 30, "text", "texts of 5 words (median)"),
    ],
)
def test_the_evidence_for_a_kind(values, beside, kind, reason):
    found, encoder = kinds({"c": values, "other": beside})
    assert found["c"] == kind
    assert {**encoder.reasons_, **encoder.left_out_}["c"] == reason


@pytest.mark.parametrize(
    ("values", "asked"), [(ZIPS, "numbers"), (DIGITS, "numbers"), (CODES, "names"), (DIGITS, "drop")]
)
def test_the_user_is_believed(values, asked):
    found, encoder = kinds({"c": values, "other": [1, 2] * 30}, columns={"c": asked})
    assert found["c"] == (None if asked == "drop" else asked)
    assert {**encoder.reasons_, **encoder.left_out_}["c"] == "as requested"


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(2)
    n = 240
    frame = pd.DataFrame(
        {
            "id": rng.permutation(n),
            "size": rng.normal(size=n).round(6),
            "rooms": np.where(rng.random(n) < 0.1, np.nan, rng.integers(1, 9, n)),
            "city": rng.choice(["Bonn", "Köln", "Ulm"], n),
            "sold": rng.random(n) < 0.5,
            "built": pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), "D"),
            "about": [
                " ".join(rng.choice(["old", "new", "large", "garden", "sun", "lake"], 6)) + f" n{k}" for k in range(n)
            ],
        }
    )
    frame["label"] = np.where(frame["size"] + frame.sold + rng.normal(0, 0.4, n) > 0.5, "dear", "cheap")
    return frame


@pytest.mark.parametrize("road", ["csv", "parquet", "large csv", "large parquet", "shards"])
def test_the_same_table_gives_the_same_model_on_every_road(road, frame, tmp_path, monkeypatch):
    model = TableClassifier(learner=AveragedPerceptron(order="cyclic", max_epochs=3, random_state=0), random_state=0)
    rows = frame.drop(columns="label")
    here = model.fit(rows, frame.label)
    expected = {one.name: (one.kind, tuple(one.feature_names())) for one in here.encoder_.columns_}
    path = tmp_path / f"t.{'parquet' if 'parquet' in road else 'csv'}"
    frame.to_parquet(path) if "parquet" in road else frame.to_csv(path, index=False)
    if "large" in road:
        monkeypatch.setattr("rosenblatt.scale.large_tables.IN_MEMORY", 10**9)
    there = fit(TableClassifier(**model.get_params(deep=False)), path, **({"shards": 2} if road == "shards" else {}))
    found = {one.name: (one.kind, tuple(one.feature_names())) for one in there.encoder_.columns_}
    assert there.encoder_.left_out_.keys() == here.encoder_.left_out_.keys() == {"id"}
    if road in ("csv", "parquet"):
        assert found == expected
        np.testing.assert_array_equal(there.learner_.coef_, here.learner_.coef_)
        np.testing.assert_array_equal(there.predict_proba(rows), here.predict_proba(rows))
    else:  # which learns from the rows that are not held out, so that rare words may be missing
        assert [(name, kind) for name, (kind, _) in found.items()] == [
            (name, kind) for name, (kind, _) in expected.items()
        ]
        assert {name: one for name, one in found.items() if name != "about"} == {
            name: one for name, one in expected.items() if name != "about"
        }
        assert (there.predict(rows) == here.predict(rows)).mean() > 0.85


def test_the_summary_says_why(frame):
    rows = frame.assign(zip=[f"{k % 9:03d}" for k in range(len(frame))]).drop(columns="label")
    summary = (
        TableClassifier(learner=AveragedPerceptron(random_state=0), random_state=0).fit(rows, frame.label).summary_
    )
    lines = str(summary).splitlines()
    assert lines[2] == (
        "  city: names, 3 different values; sold: booleans, true or false; built: dates, by type; "
        "zip: names, whole numbers with leading zeros, like a code"
    )
    assert lines[3] == "  left out id: all values are different whole numbers, like an id"
    assert {name: kind for name, kind, _ in summary.columns}["about"] == "text"
