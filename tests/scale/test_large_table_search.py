"""The search of learner="auto" on files larger than memory: a sample is searched, all rows are learned from."""

import warnings

import numpy as np
import pandas as pd
import pytest

from rosenblatt import TableClassifier, TableRegressor, fit, load, save
from rosenblatt.scale import large_tables, row_cache
from rosenblatt.tables import fit as table_fit
from rosenblatt.tables import search as table_search
from rosenblatt.tables import search_rows as table_search_rows
from rosenblatt.tables import settings as table_settings

ROWS = 400


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Every file is large, is read in many parts, and only a sample of it is searched."""
    monkeypatch.setattr(table_search, "BUDGET", 10**9)
    monkeypatch.setattr(table_settings, "PASSES", 2)
    monkeypatch.setattr(table_search_rows, "SEARCH_ROWS", 150)
    monkeypatch.setattr(table_search, "GROUPS", table_search.GROUPS[:3])
    monkeypatch.setattr(table_fit, "MANY_ROWS", 100)
    monkeypatch.setattr(large_tables, "IN_MEMORY", 1e9)
    monkeypatch.setattr(large_tables, "PART", 1 << 16)
    monkeypatch.setattr(row_cache, "HELD_SHARE", 1 << 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, ROWS).round(4)
    frame = pd.DataFrame({"x": np.where(rng.random(ROWS) < 0.1, np.nan, x), "city": rng.choice(["Bonn", "Ulm"], ROWS)})
    frame["label"] = np.where(np.cos(2 * x) > 0, "yes", "no")
    frame["number"] = (10 * np.cos(2 * x) + 3).round(3)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_a_sample_is_searched_and_all_rows_are_learned_from(path, tmp_path):
    model = fit(TableClassifier(learner="auto", columns={"number": "drop"}, random_state=0), path, label="label")
    summary = model.summary_
    assert model.setting_.splines
    assert {one.name: one.kind for one in model.encoder_.columns_} == {"x": "splines", "city": "names"}
    assert 50 < summary.searched_rows <= 150
    assert f"on a sample of {summary.searched_rows} rows" in str(summary)
    assert any("'x' is encoded by what a sample" in one for one in summary.warnings)
    assert summary.rows == ROWS
    assert model.learner_.report_.rows == ROWS - summary.held_out
    assert summary.score > 0.7
    frame = pd.read_csv(path)
    save(model, tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize("held", [10**6, 15], ids=["few are held out", "fewer as rows come"])
def test_the_sample_of_files_is_that_of_a_frame(path, tmp_path, monkeypatch, held):
    """A fair sample of the whole file: rows that are no longer held out are as likely in it as any other."""
    monkeypatch.setattr(table_fit, "HELD_OUT", held)
    monkeypatch.setattr(table_search, "GROUPS", table_search.GROUPS[:2])
    parameters = {"columns": {"number": "drop"}, "random_state": 0}
    frame, parts = pd.read_csv(path), [tmp_path / f"part-{k}.csv" for k in range(8)]
    for k, part in enumerate(parts):
        frame[50 * k : 50 * (k + 1)].to_csv(part, index=False)
    large = fit(TableClassifier(learner="auto", **parameters), parts, label="label")
    small = TableClassifier(learner="auto", **parameters).fit(frame.drop(columns="label"), frame["label"])
    assert small.setting_ == large.setting_
    assert small.summary_.searched_rows == large.summary_.searched_rows
    assert small.summary_.runners_up == large.summary_.runners_up
    np.testing.assert_allclose(small.learner_.coef_, large.learner_.coef_, rtol=1e-9, atol=1e-11)


def test_numbers(path):
    model = fit(TableRegressor(learner="auto", columns={"label": "drop"}, random_state=0), path, label="number")
    assert model.setting_.splines
    assert model.summary_.score > 0.3
    assert model.summary_.tried


def test_a_class_that_the_sample_lacks_leaves_the_default(path, monkeypatch, tmp_path):
    frame = pd.read_csv(path)
    frame.loc[5, "label"] = "rare"
    frame.to_csv(tmp_path / "rare.csv", index=False)
    monkeypatch.setattr(table_search_rows, "SEARCH_ROWS", 20)
    model = fit(TableClassifier(learner="auto", random_state=0), tmp_path / "rare.csv", label="label")
    assert model.setting_ == table_settings.DEFAULT
    assert model.summary_.tried == 0


@pytest.mark.parametrize("step", ["learned_from", "_target", "give_back"])
def test_ctrl_c_leaves_the_model_as_it_was(path, monkeypatch, step):
    model = fit(TableClassifier(learner="linear", columns={"number": "drop"}, random_state=0), path, label="label")
    before = dict(vars(model))
    whole = getattr(large_tables, step)

    def interrupted(*args, **kwargs):
        whole(*args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(large_tables, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(model, path, label="city")
    assert vars(model) == before
