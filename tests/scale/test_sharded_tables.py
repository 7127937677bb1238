"""Tables in shards, in threads and on a cluster: the same model wherever a shard is, encoded where its rows are."""

import os
import signal
import threading
import time
import warnings

import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from cluster_cases import inside, needs_processes, ready, two  # noqa: F401 (fixtures)
from typer.testing import CliRunner

from rosenblatt import AveragedPerceptron, FileError, TableClassifier, TableRegressor, VotedPerceptron, fit, load, save
from rosenblatt.cli import main as cli
from rosenblatt.formats.byte_sources import cache_folder
from rosenblatt.scale import row_cache, sharded_tables
from rosenblatt.tables import fit as table_fit
from rosenblatt.tables import search as table_search
from rosenblatt.tables import search_rows as table_search_rows
from rosenblatt.tables import settings as table_settings
from rosenblatt.tables.columns.accumulation import ColumnAccumulator
from rosenblatt.tables.columns.frames import as_table

ROWS = 600


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """A small search, and parts of a few kilobytes."""
    monkeypatch.setattr(table_search, "BUDGET", 10**8)
    monkeypatch.setattr(table_settings, "PASSES", 3)
    monkeypatch.setattr(table_search_rows, "SEARCH_ROWS", 150)
    monkeypatch.setattr(table_search, "GROUPS", table_search.GROUPS[:1])
    monkeypatch.setattr(table_fit, "HELD_OUT", 50)  # fewer than an eighth: levels rise as surveys are joined
    monkeypatch.setattr(sharded_tables, "PART", 1 << 17)
    monkeypatch.setattr(row_cache, "RACY", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, ROWS)
    words = np.where(age > 50, "quiet old house by the sea", "loud new flat in the city")
    found = pd.DataFrame(
        {
            "age": np.where(rng.random(ROWS) < 0.1, np.nan, age),
            "city": rng.choice(["Bonn", "Köln", "Ulm", None], ROWS),
            "wish": [f"{one} number {rng.integers(10**6)}" for one in words],
        }
    )
    found["label"] = np.where(age + 15 * rng.normal(size=ROWS) > 50, "old", "young")
    found.loc[::50, "label"] = None
    return found


@pytest.fixture(scope="module")
def files(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    paths = [folder / f"part-{k}.csv" for k in range(3)]
    for k, path in enumerate(paths):
        frame[200 * k : 200 * (k + 1)].to_csv(path, index=False)
        os.utime(path, (time.time() - 100,) * 2)  # settled, for workers that look at the clock
    return [str(path) for path in paths]


def same(a, b):
    assert a.setting_ == b.setting_
    assert a.encoder_.get_feature_names_out().tolist() == b.encoder_.get_feature_names_out().tolist()
    assert a.learner_.coef_.tobytes() == b.learner_.coef_.tobytes()
    assert np.array_equal(a.calibration_.shifts, b.calibration_.shifts)
    for name in ("rows", "unlabelled", "held_out", "score", "log_loss", "training_score", "runners_up", "weights"):
        assert getattr(a.summary_, name) == getattr(b.summary_, name), name


def test_a_table_in_shards_is_searched_encoded_and_learned_from(files, frame, tmp_path):
    model = fit(TableClassifier(learner="auto", random_state=0), files, shards=3, n_jobs=2)
    labelled = int(frame["label"].notna().sum())
    summary = model.summary_
    assert {one.name: one.kind for one in model.encoder_.columns_} == {
        "age": "numbers",
        "city": "names",
        "wish": "text",
    }
    assert (summary.rows, summary.unlabelled, summary.label) == (labelled, ROWS - labelled, "label")
    assert 20 < summary.held_out <= 50
    assert 50 < summary.searched_rows <= 150
    assert summary.tried
    assert sum(model.learner_.report_.sharding.rows) == labelled - summary.held_out
    assert summary.score > 0.7
    known = frame.dropna(subset=["label"])
    assert (model.predict(known) == known["label"]).mean() > 0.75
    save(model, tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").predict_proba(frame), model.predict_proba(frame))


def test_statistics_of_shards_are_those_of_the_whole(files, frame):
    """What is learned of columns does not depend on how rows are divided, but for the few that are held out."""
    sharded = fit(TableClassifier(learner="linear", random_state=0), files, shards=3)
    one, other = sharded.encoder_, fit(TableClassifier(learner="linear", random_state=0), files).encoder_
    assert one.missing_counts_ == other.missing_counts_
    age, whole = one.columns_[0].encoding, other.columns_[0].encoding
    assert age.mean == pytest.approx(whole.mean, rel=0.02)
    assert age.scale == pytest.approx(whole.scale, rel=0.02)


def test_any_number_of_threads_and_of_files_that_are_divided(files, tmp_path, monkeypatch):
    one = fit(TableClassifier(learner="linear", random_state=0), files[0], shards=4)
    assert len(one.learner_.report_.sharding.rows) == 4
    same(one, fit(TableClassifier(learner="linear", random_state=0), files[0], shards=4, n_jobs=3))
    monkeypatch.setattr(row_cache, "HELD_SHARE", 1 << 60)  # encoded rows go to a file, which is removed
    same(one, fit(TableClassifier(learner="linear", random_state=0), files[0], shards=4, n_jobs=3))
    assert list(cache_folder().glob("table-*")) == []


def test_the_same_on_a_cluster(files, inside):
    here = fit(TableClassifier(learner="auto", random_state=0), files, shards=3)
    there = fit(TableClassifier(learner="auto", random_state=0), files, client=inside)
    same(here, there)
    assert there.learner_.report_.sharding.bytes_moved > 0


def test_a_dask_frame(frame, inside):
    """A partition is a shard; one of them is empty, and text stays where it is."""
    parts = dask.dataframe.from_pandas(frame, npartitions=3)
    parts = dask.dataframe.concat([parts, parts.partitions[0].query("age > 1000")])
    model = fit(TableClassifier(learner="linear", random_state=0), parts, client=inside)
    assert model.summary_.rows == frame["label"].notna().sum()
    assert len(model.learner_.report_.sharding.rows) == 3
    known = frame.dropna(subset=["label"])
    assert (model.predict(known) == known["label"]).mean() > 0.75


def test_numbers(files, frame):
    known = frame.dropna(subset=["age"])
    model = fit(TableRegressor(learner="linear", random_state=0), files, shards=3, label="age")
    assert model.summary_.rows == len(known)
    assert model.summary_.score > 0.4
    assert np.corrcoef(model.predict(known), known["age"])[0, 1] > 0.7


def test_rare_classes_are_learned_from(files, frame, tmp_path):
    frame = frame.dropna(subset=["label"]).copy()
    frame.iloc[:12, frame.columns.get_loc("label")] = "rare"
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = fit(TableClassifier(learner="linear", random_state=0), tmp_path / "t.csv", shards=3)
    learned = sum(model.learner_.report_.sharding.rows)
    assert learned == len(frame) - model.summary_.held_out
    assert dict(model.summary_.classes)["rare"] == 12
    assert any("not held out: rare (12)" in one for one in model.summary_.warnings)


def test_a_table_without_usable_columns(tmp_path, inside):
    pd.DataFrame({"one": 1, "label": ["a", "b", "b"] * 20}).to_csv(tmp_path / "t.csv", index=False)
    model = fit(TableClassifier(learner="linear", random_state=0), tmp_path / "t.csv", client=inside)
    assert model.learner_ is None
    assert model.summary_.baseline == pytest.approx(2 / 3)


@pytest.mark.parametrize("learner", [None, "auto"])
def test_a_handful_of_rows_sorted_by_class(learner, tmp_path):
    """All classes are too rare to be held out: the model is calibrated on the rows of all shards."""
    for name, age in (("a", 20), ("b", 60)):
        frame = pd.DataFrame({"age": age + np.arange(9) // 3, "label": name})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    model = fit(TableClassifier(learner=learner, random_state=0), [tmp_path / "a.csv", tmp_path / "b.csv"], shards=2)
    assert model.summary_.held_out == 0
    assert model.predict(pd.DataFrame({"age": [21, 67]})).tolist() == ["a", "b"]


def test_some_rows_are_always_learned_from(tmp_path):
    """With this seed the number of each of two rows of two files says that it is held out."""
    for k in range(2):
        pd.DataFrame({"x": [k, k + 2], "label": [0.5 + k, 2.5 + k]}).to_csv(tmp_path / f"{k}.csv", index=False)
    model = fit(TableRegressor(learner="linear", random_state=2248), [tmp_path / "0.csv", tmp_path / "1.csv"], shards=2)
    assert model.summary_.held_out < model.summary_.rows == 4


HALF = 60


@pytest.mark.parametrize(
    ("column", "changed"),
    [
        ("city", [None] * HALF),
        ("city", np.arange(HALF) % 3),
        ("city", pd.Categorical(["Bonn", "Ulm"] * (HALF // 2))),
        ("age", np.arange(HALF)),
        ("age", ["old"] * HALF),
        ("age", [2**60 + 1] * HALF),
        ("label", [1, 2] * (HALF // 2)),
        ("label", [True, False] * (HALF // 2)),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_parts_of_a_table_whose_columns_have_different_types(frame, column, changed, first, tmp_path):
    frame = frame[:120].drop(columns="wish")
    other, one = frame[:HALF].copy(), frame[HALF:]
    other[column] = changed
    parts = [other, one] if first else [one, other]
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for part, path in zip(parts, paths, strict=True):
        part.to_parquet(path, index=False)
    model = fit(TableClassifier(learner="linear", random_state=0), paths, shards=2)
    assert model.summary_.rows == sum(int(part["label"].notna().sum()) for part in parts)
    assert set(model.classes_) == {str(one) for part in parts for one in part["label"].dropna()}
    whole = fit(TableClassifier(learner="linear", random_state=0), paths)  # in memory
    assert {one.name: one.kind for one in model.encoder_.columns_} == {
        one.name: one.kind for one in whole.encoder_.columns_
    }
    assert model.classes_.tolist() == whole.classes_.tolist()


@pytest.mark.parametrize("first", [True, False])
def test_labels_that_are_whole_numbers_in_one_part_and_fractions_in_another(first, tmp_path):
    x = np.arange(100)
    parts = [pd.DataFrame({"x": x, "label": 2 * x}), pd.DataFrame({"x": x, "label": 2 * x + 0.5})]
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for part, path in zip(parts if first else parts[::-1], paths, strict=True):
        part.to_parquet(path, index=False)
    assert fit(TableRegressor(learner="linear", random_state=0), paths, shards=2).summary_.score > 0.9


def test_a_part_without_the_label(files, frame, tmp_path):
    frame.drop(columns="label").to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(FileError, match=r"other\.csv: expected a column named 'label', found"):
        fit(TableClassifier(learner="linear"), [*files, tmp_path / "other.csv"], shards=4)


def test_a_run_is_resumed(files, tmp_path, monkeypatch):
    point = tmp_path / "point"
    whole = fit(TableClassifier(learner="linear", random_state=0), files, shards=3)
    monkeypatch.setattr("rosenblatt.tables.settings.PASSES", 2)
    fit(TableClassifier(learner="linear", random_state=0), files, shards=3, checkpoint=point)
    assert len(load(point).report_.epochs) == 2
    monkeypatch.setattr("rosenblatt.tables.settings.PASSES", 3)
    same(whole, fit(TableClassifier(learner="linear", random_state=0), files, shards=3, checkpoint=point, resume=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_jobs": 2}, "give shards too"),
        ({"shards": 0}, "at least 1"),
        ({"shards": 2, "mixing": "maybe"}, "mixing must be one of"),
        ({"shards": 2, "classes": ["a"]}, "leave out classes"),
        ({"shards": 2, "label": "nothing"}, "nothing"),
    ],
)
def test_what_cannot_be_is_refused(files, change, message):
    with pytest.raises((ValueError, FileError), match=message):
        fit(TableClassifier(learner="linear", random_state=0), files, **change)


def test_learners_and_sources_that_cannot_be_divided(files, frame, tmp_path, inside):
    model = TableClassifier(learner=VotedPerceptron(), random_state=0)
    with pytest.raises(ValueError, match="VotedPerceptron cannot learn in shards"):
        fit(model, files, shards=2)
    assert not hasattr(model, "encoder_")
    with pytest.raises(ValueError, match="use the model's fit"):
        fit(TableClassifier(learner="linear"), (np.ones((4, 2)), np.ones(4)), shards=2)
    frame.drop(columns="city").to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(FileError, match="expected the columns"):
        fit(TableClassifier(learner="linear"), [*files, tmp_path / "other.csv"], client=inside)
    (tmp_path / "none.csv").write_text("age,label\n1,\n")
    with pytest.raises(FileError, match="expected labels, found none"):
        fit(TableClassifier(learner="linear"), tmp_path / "none.csv", client=inside)


def test_a_learner_of_ones_own(files):
    model = fit(TableClassifier(learner=AveragedPerceptron(max_epochs=2), random_state=0), files, shards=3)
    assert model.learner_.report_.sharding.mixing == "uniform"
    assert model.summary_.score > 0.6


@needs_processes
def test_a_lost_worker(files, two):
    """A worker that is killed while shards are surveyed or learned from: the model is the same."""
    ready(two)
    whole = fit(TableClassifier(learner="linear", random_state=0), files, shards=6)
    victim = next(iter(two.run(os.getpid).values()))
    killer = threading.Timer(0.3, os.kill, (victim, signal.SIGKILL))
    killer.start()
    same(whole, fit(TableClassifier(learner="linear", random_state=0), files, shards=6, client=two))
    killer.join()


def test_the_command_line(files, tmp_path):
    """Options of shards are not options of a single learner: a table still gets a model of its columns."""
    pattern, out = files[0].replace("part-0", "part-*"), tmp_path / "m"
    for words, settings in ((["--learner", "auto"], {"learner": "auto"}), (["--column", "wish=drop"], {})):
        done = CliRunner().invoke(cli.app, ["train", pattern, "--shards", "3", "--jobs", "2", *words, "-o", str(out)])
        assert done.exit_code == 0, done.exception
        settings |= {} if "auto" in words else {"columns": {"wish": "drop"}}
        same(load(out), fit(TableClassifier(random_state=0, **settings), files, shards=3))
    done = CliRunner().invoke(cli.app, ["train", pattern, "--jobs", "2"])
    assert "give shards too" in str(done.exception)


# -- joining statistics ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        [1.5, 2.5, np.nan, 4.0, -3.0, 0.0, 7.0, 1.0],
        ["a", "b", None, "a", "c", "d", "e", "f"],
        ["2020-01-01", "2021-02-03", None, "2020-05-05", "2022-01-01", "2023-01-01", None, "2024-06-06"],
        ["one two three four", "five six", "x", "7", "8", "9", "10", "11"],
        [True, False, True, None, True, True, False, False],
    ],
    ids=["numbers", "names", "dates", "text", "booleans"],
)
@pytest.mark.parametrize("most", [100, 3])
def test_joined_statistics_are_those_of_all_rows(values, most):
    table = as_table(pd.DataFrame({"x": pd.Series(values, dtype=object)}))
    parts = [table.take(np.arange(first, first + 2)).values("x") for first in range(0, 8, 2)]
    whole, one, other = (ColumnAccumulator("x", most) for _ in range(3))
    for k, part in enumerate(parts):
        whole.add(part)
        (one if k < 2 else other).add(part)
    one.join(other)
    found, expected = one.statistics(), whole.statistics()
    assert found == expected
    for kind in ("numbers", "names") if most > 3 else ("numbers",):
        assert repr(one.encoding(kind, "")) == repr(whole.encoding(kind, ""))
