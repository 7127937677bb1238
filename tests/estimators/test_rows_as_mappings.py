"""Rows as mappings from names to values, as a web service has them, are predicted as rows of a frame are."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from rosenblatt import AveragedPerceptron, TableClassifier


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame({"size": rng.normal(size=n), "city": rng.choice(["Bonn", "Ulm"], n)})
    frame.loc[rng.random(n) < 0.2, "size"] = np.nan
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    y = np.where(frame["size"].fillna(0) + (frame.city == "Ulm") > 0.3, "up", "down")
    return TableClassifier(learner=AveragedPerceptron(random_state=0), random_state=0).fit(frame, y), frame


def test_mappings_are_predicted_as_a_frame_is(fitted):
    model, frame = fitted
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(frame))
    for k in (0, 7, 50):
        np.testing.assert_array_equal(model.predict_proba(rows[k]), model.predict_proba(frame[k : k + 1]))
        assert model.predict(rows[k]).tolist() == model.predict(frame[k : k + 1]).tolist()


def test_names_that_are_absent_in_some_rows_are_missing_values(fitted):
    model, _ = fitted
    row = {"size": 1.5, "city": "Ulm", "day": dt.datetime(2020, 5, 1), "extra": "ignored"}
    found = model.predict_proba([row, {"city": "Bonn", "day": row["day"]}])
    np.testing.assert_array_equal(found[1], model.predict_proba({**row, "city": "Bonn", "size": None})[0])
    with pytest.raises(ValueError, match="X has no column 'city'"):
        model.predict({"size": 1.0, "day": row["day"]})
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        model.predict({})
