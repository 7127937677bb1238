"""`explain`: what columns and words add to the score of a row, and that it adds up."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from rosenblatt import TableClassifier, TableRegressor


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def table(n=90):
    rng = np.random.default_rng(0)
    note = [" ".join(rng.choice(["good", "bad", "late", "early", "box"], 5)) + f" {k}" for k in range(n)]
    frame = pd.DataFrame({"age": rng.normal(size=n), "city": rng.choice(["Bonn", "Graz"], n), "note": note})
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    return frame, np.array(["good" in one for one in note]) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("learner", ["linear", "auto"])
def test_contributions_add_up_to_the_scores_of_classes(classes, learner):
    frame, size = table()
    y = np.digitize(size, np.quantile(size, np.linspace(0, 1, classes + 1)[1:-1]))
    model = TableClassifier(learner=learner, cv=2, random_state=0).fit(frame, y)
    why = model.explain(frame[:7])
    assert why.columns == ("age", "city", "note")
    assert why.scores == pytest.approx(model.decision_function(frame[:7]), abs=1e-9)
    assert why.base + why.contributions.sum(axis=1) == pytest.approx(why.scores, abs=1e-12)
    assert "note" in str(why).splitlines()[0]


def test_a_column_adds_what_its_features_do():
    frame, size = table()
    model = TableClassifier(learner="linear", cv=2, random_state=0).fit(frame, size > 0.5)
    why, row = model.explain(frame[:1]), model.encoder_.transform(frame[:1]).toarray()[0]
    added = model.calibration_.scale * row * model.learner_.coef_[0]
    names = model.encoder_.get_feature_names_out().tolist()
    for column, found in zip(why.columns, why.contributions[0].tolist(), strict=True):
        own = [value for name, value in zip(names, added, strict=True) if name.startswith(column)]
        assert found == pytest.approx(sum(own))
    word, value = why.features[0][0]
    assert abs(value) == pytest.approx(abs(added).max())
    assert value == pytest.approx(added[names.index(word)])


def test_random_features_are_one_term():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-2, 2, size=(200, 2)), columns=["left", "right"])
    target = np.sin(2 * frame.left * frame.right)
    model = TableRegressor(random_state=0).fit(frame, target)
    assert model.fourier_ is not None
    why = model.explain(frame[:5])
    assert why.columns[-1] == "interaction of left, right"
    assert why.base + why.contributions.sum(axis=1) == pytest.approx(model.predict(frame[:5]), abs=1e-9)
    assert abs(why.contributions[:, -1]).max() > abs(why.contributions[:, :-1]).max()


def test_a_model_without_columns_has_its_base_alone():
    model = TableRegressor(learner="linear", random_state=0).fit(np.ones((30, 1)), np.arange(30.0))
    why = model.explain(np.ones((2, 1)))
    assert why.contributions.shape == (2, 0)
    assert why.scores.tolist() == [14.5, 14.5]


def test_a_learner_without_planes_is_refused():
    frame, size = table()
    model = TableClassifier(learner=RandomForestClassifier(3, random_state=0), cv=2).fit(frame[["age"]], size > 0.5)
    with pytest.raises(ValueError, match=r"explain needs one plane per class.*RandomForestClassifier"):
        model.explain(frame[["age"]])
