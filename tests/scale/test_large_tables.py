"""Tables in files larger than memory: the same numbers as from a frame, in bounded memory, killed and resumed."""

import gzip
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import rosenblatt
from rosenblatt import FileError, LinearSVM, TableClassifier, TableRegressor, fit
from rosenblatt.formats.byte_sources import cache_folder
from rosenblatt.scale import cache_files, large_tables, row_cache, table_files, table_survey
from rosenblatt.tables import fit as table_fit
from rosenblatt.tables import settings as table_settings
from rosenblatt.tables.columns.held_out import at_level, level_for, row_hashes

ROWS = 2400


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Every file is large, and is read in many parts."""
    monkeypatch.setattr(table_fit, "MANY_ROWS", 100)
    monkeypatch.setattr(table_settings, "PASSES", 3)
    monkeypatch.setattr(large_tables, "IN_MEMORY", 1e9)
    monkeypatch.setattr(large_tables, "PART", 1 << 14)
    monkeypatch.setattr(row_cache, "HELD_SHARE", 1 << 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, ROWS)
    found = pd.DataFrame(
        {
            "id": [f"c{k}" for k in range(ROWS)],
            "age": np.where(rng.random(ROWS) < 0.1, np.nan, age),
            "pay": (1e3 * rng.normal(size=ROWS)).round(3),
            "city": rng.choice(["Bonn", "Köln", "Ulm", None], ROWS),
            "shop": [f"shop {k}" for k in (300 * rng.random(ROWS) ** 3).astype(int)],
            "open": rng.choice([True, False], ROWS),
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), unit="D"),
            "constant": 1,
            "empty": None,
            "zeros": np.where(rng.random(ROWS) < 0.8, 0, rng.normal(size=ROWS).round(2)),
        }
    )
    found["copy"] = np.where(age + 10 * rng.normal(size=ROWS) > 50, "old", "young")
    found["label"] = np.where(found["copy"] == "old", "yes", "no")
    found["number"] = (age * 1.5 + rng.normal(size=ROWS)).round(2)
    return found


def written(frame, path, **settings):
    frame.to_csv(path, index=False, **settings)
    return path


def in_memory(estimator, path, label):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_tables, "IN_MEMORY", 1e-9)
        return fit(estimator, path, label=label)


def check_same(a, b, rows):
    assert a.encoder_.get_feature_names_out().tolist() == b.encoder_.get_feature_names_out().tolist()
    assert a.encoder_.left_out_ == b.encoder_.left_out_
    assert a.encoder_.missing_counts_ == b.encoder_.missing_counts_
    np.testing.assert_allclose(a.learner_.coef_, b.learner_.coef_, rtol=1e-9, atol=1e-11)
    for name in ("rows", "classes", "kinds", "held_out", "passes", "baseline", "separated", "warnings", "left_out"):
        assert getattr(a.summary_, name) == getattr(b.summary_, name), name
    for name in ("score", "interval", "training_score", "log_loss", "area", "mean_error"):
        one, other = getattr(a.summary_, name), getattr(b.summary_, name)
        assert one is other is None or one == pytest.approx(other, rel=1e-9), name
    for one, other in zip(a.summary_.weights[:10], b.summary_.weights[:10], strict=True):
        assert one[1] == pytest.approx(other[1], rel=1e-6)
    ask = "predict_proba" if hasattr(a, "predict_proba") else "predict"
    np.testing.assert_allclose(getattr(a, ask)(rows), getattr(b, ask)(rows), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("estimator", "label"),
    [(TableClassifier, "label"), (TableClassifier, "city"), (TableRegressor, "number")],
    ids=["two classes", "three classes", "numbers"],
)
def test_the_same_numbers_as_from_a_frame(estimator, label, frame, tmp_path):
    kept = frame.drop(columns={"label", "number"} - {label})
    path = written(kept.drop(columns="copy") if label != "label" else kept, tmp_path / "t.csv")
    large = fit(estimator(random_state=0), path, label=label)
    check_same(in_memory(estimator(random_state=0), path, label), large, frame[:50])
    read = pd.read_csv(path).dropna(subset=[label])
    check_same(estimator(random_state=0).fit(read.drop(columns=label), read[label]), large, frame[:50])
    assert large.summary_.unlabelled == frame[label].isna().sum()
    assert 200 < large.summary_.held_out < 400
    assert list(cache_folder().glob("table-*")) == []


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv.gz"])
def test_other_formats(suffix, frame, tmp_path):
    frame = frame.drop(columns=["number", "empty"])
    path = tmp_path / f"t.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path, row_group_size=1000)
    elif suffix == "feather":
        frame.to_feather(path)
    else:
        written(frame, path)
    large = fit(TableClassifier(learner="linear", random_state=0), path, label="label")
    check_same(in_memory(TableClassifier(learner="linear", random_state=0), path, "label"), large, frame[:50])


def test_the_task_the_label_and_several_files(frame, tmp_path):
    for k in range(2):
        written(frame[k::2].drop(columns=["label", "copy"]), tmp_path / f"part-{k}.csv")
    model = table_files.fit_table({"random_state": 0}, str(tmp_path / "part-*.csv"), label="number")
    assert isinstance(model, TableRegressor)
    assert model.summary_.rows == ROWS
    classes = table_files.fit_table(
        {"random_state": 0}, str(tmp_path / "part-*.csv"), label="open", task="classification"
    )
    assert classes.classes_.tolist() == ["False", "True"]
    (tmp_path / "part-1.csv").write_text("a,number\n1,2\n")
    with pytest.raises(FileError, match="expected the columns"):
        fit(TableRegressor(learner="linear"), str(tmp_path / "part-*.csv"), label="number")


def test_text_is_learned_from_a_sample(tmp_path):
    rng = np.random.default_rng(0)
    words = {"good": ["fine", "lovely", "great"], "bad": ["poor", "awful", "sad"]}
    labels = rng.choice(["good", "bad"], 2000)
    notes = [
        " ".join([*rng.choice(words[one], 2), *rng.choice(["a", "the", "film", "plot", "it"], 6)]) for one in labels
    ]
    frame = pd.DataFrame({"note": notes, "label": labels})
    frame.loc[5, "note"] = None
    frame["note"] = frame["note"] + [f" w{k}" for k in range(2000)]
    model = fit(TableClassifier(learner="linear", random_state=0), written(frame, tmp_path / "t.csv"))
    assert dict(model.summary_.kinds) == {"text": 1}
    assert model.summary_.score > 0.99
    assert any("a sample of " in one for one in model.summary_.warnings)
    lines = tmp_path / "t.txt"
    lines.write_text("".join(f"{one}\t{note}\n" for one, note in zip(labels, notes, strict=True)))
    assert fit(TableClassifier(learner="linear", random_state=0), lines, format="text").summary_.score > 0.99


def test_tiny_classes_are_learned_and_not_held_out(frame, tmp_path):
    frame = frame[["age", "pay", "label"]].copy()
    frame.loc[::500, "label"] = "perhaps"
    path = written(frame, tmp_path / "t.csv")
    large = fit(TableClassifier(learner="linear", random_state=0), path, label="label")
    check_same(in_memory(TableClassifier(learner="linear", random_state=0), path, "label"), large, frame[:50])
    assert large.classes_.tolist() == ["no", "perhaps", "yes"]
    assert any("not held out: perhaps (5)" in one for one in large.summary_.warnings)


@pytest.mark.parametrize("most", [150, 40])
def test_as_rows_come_fewer_of_them_are_held_out(most, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(table_fit, "HELD_OUT", most)
    path = written(frame[["age", "pay", "city", "shop", "day", "label"]], tmp_path / "t.csv")
    large = fit(TableClassifier(learner="linear", random_state=0), path, label="label")
    assert most / 3 < large.summary_.held_out <= most
    check_same(in_memory(TableClassifier(learner="linear", random_state=0), path, "label"), large, frame[:50])
    monkeypatch.setattr(table_survey, "SAMPLE", 1 << 17)
    assert (
        fit(TableClassifier(learner="linear", random_state=0), path, label="label").summary_.held_out
        <= large.summary_.held_out
    )
    monkeypatch.setattr(table_survey, "SAMPLE", 1 << 40)
    assert (
        fit(TableClassifier(learner="linear", random_state=0), path, label="label").summary_.score is None
    )  # no room for any


def test_too_many_labels_and_text_that_begins_late(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    late = [f"n{k % 50}" for k in range(12_000)] + [" ".join(rng.choice(list("abcdefgh"), 6)) for _ in range(20_000)]
    frame = pd.DataFrame(
        {"note": late, "x": rng.normal(size=32_000), "label": rng.choice(["a", "b", "c", "d"], 32_000)}
    )
    monkeypatch.setattr("rosenblatt.tables.settings.PASSES", 1)
    monkeypatch.setattr("rosenblatt.tables.settings.LEAST_PASSES", 1)
    path = written(frame[::8], tmp_path / "t.csv")
    model = fit(TableClassifier(learner="linear", random_state=0), path)
    assert dict(model.summary_.kinds) == {"text": 1, "numbers": 1}  # it was noticed in time
    monkeypatch.setattr(table_survey, "TEXT_WORDS", np.inf)
    assert (
        "text that first appears late"
        in fit(TableClassifier(learner="linear", random_state=0), path).encoder_.left_out_["note"]
    )
    for room in (large_tables, table_survey):
        monkeypatch.setattr(room, "MAX_LABELS", 3)
    with pytest.raises(ValueError, match="more than 3 different labels"):
        fit(TableClassifier(learner="linear"), path)


def test_many_tiny_classes_leave_nothing_to_hold_out(tmp_path):
    frame = pd.DataFrame({"x": np.arange(300) % 60 + 0.5, "label": [f"c{k % 60}" for k in range(300)]})
    large = fit(TableClassifier(learner="linear", random_state=0), written(frame, tmp_path / "t.csv"))
    assert large.summary_.score is None
    check_same(in_memory(TableClassifier(learner="linear", random_state=0), tmp_path / "t.csv", "label"), large, frame)


def test_no_usable_column_and_what_cannot_be_learned(tmp_path, frame):
    alone = pd.DataFrame({"one": 1, "label": ["a", "a", "b", "a"] * 100})
    model = fit(TableClassifier(learner="linear", random_state=0), written(alone, tmp_path / "t.csv"))
    assert set(model.predict(alone)) == {"a"}
    for content, message in [
        ("x,label\n" + "1,a\n" * 300, "y has one class"),
        ("x,label\n" + "1,\n" * 300, "expected labels, found none"),
        ("x,label\n", "expected rows, found none"),
        ("label\n" + "a\nb\n" * 200, "columns beside the label"),
    ]:
        (tmp_path / "t.csv").write_text(content)
        with pytest.raises(ValueError, match=message):
            fit(TableClassifier(learner="linear"), tmp_path / "t.csv", label="label")
    with pytest.raises(ValueError, match="TableRegressor needs numbers, but y has 'yes'"):
        fit(TableRegressor(learner="linear"), written(frame[["age", "label"]], tmp_path / "t.csv"), label="label")
    with pytest.raises(ValueError, match="cannot learn from files"):
        fit(TableClassifier(learner=LinearSVM()), written(frame[["age", "label"]], tmp_path / "t.csv"), label="label")


def test_options_of_other_learners_are_refused(frame, tmp_path):
    path = written(frame[["age", "label"]], tmp_path / "t.csv")
    with pytest.raises(ValueError, match="determines the classes itself: leave out classes"):
        fit(TableClassifier(learner="linear"), path, label="label", classes=["yes", "no"])
    with pytest.raises(ValueError, match="deadline is for shards"):
        fit(TableClassifier(learner="linear"), path, label="label", deadline=3.0)
    with pytest.raises(ValueError, match="at least 160MB"):
        fit(TableClassifier(learner="linear"), path, label="label", memory="100MB")
    with pytest.raises(FileError, match="also the input"):
        fit(TableClassifier(learner="linear"), path, label="label", checkpoint=path)


def test_held_out_rows_are_the_same_in_any_parts():
    for n, most in ((1000, 200), (1000, 30), (5, 100)):
        hashes = row_hashes(0, n, 3)
        level = level_for(hashes, most)
        held = at_level(hashes, level)
        assert held.sum() <= most
        assert level == 3 or at_level(hashes, level - 1).sum() > most
        parts = [row_hashes(first, min(7, n - first), 3) for first in range(0, n, 7)]
        np.testing.assert_array_equal(np.concatenate(parts), hashes)
    shares = [at_level(row_hashes(0, 100_000, seed), 3).mean() for seed in range(5)]
    assert np.abs(np.array(shares) - 1 / 8).max() < 0.005


SCRIPT = """
import os, sys, warnings
import rosenblatt
from rosenblatt.scale import checkpoints, large_tables, row_cache
from rosenblatt.tables import fit as table_fit, settings as table_settings
warnings.simplefilter("ignore")
large_tables.IN_MEMORY, row_cache.HELD_SHARE, table_fit.MANY_ROWS = 1e9, 1 << 60, 100
table_settings.PASSES = 3
path, point, kill = sys.argv[1:]
save = checkpoints._save
def counted(where, model):
    save(where, model)
    if len(model.report_.epochs) == int(kill):
        os.kill(os.getpid(), 9)
checkpoints._save = counted
linear = rosenblatt.TableClassifier(learner="linear", random_state=0)
model = rosenblatt.fit(linear, path, label="label", checkpoint=point, resume=True)
rosenblatt.save(model, point + ".model")
"""


def test_killed_and_resumed(frame, tmp_path, monkeypatch):
    monkeypatch.setenv("ROSENBLATT_CACHE", str(tmp_path / "caches"))
    path = written(frame[["age", "city", "label"]], tmp_path / "t.csv")
    monkeypatch.setattr(large_tables, "PART", 128)
    whole = fit(TableClassifier(learner="linear", random_state=0), path, label="label")
    for kill, code in ((2, -signal.SIGKILL), (0, 0)):
        command = [sys.executable, "-c", SCRIPT, str(path), str(tmp_path / "point"), str(kill)]
        assert subprocess.run(command, check=False, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}).returncode == code
    found = rosenblatt.load(tmp_path / "point.model")
    np.testing.assert_allclose(found.learner_.coef_, whole.learner_.coef_, rtol=1e-12)
    assert len(found.learner_.report_.epochs) == len(whole.learner_.report_.epochs) == 3
    states = [one.state for one in cache_files.cache_files()]
    assert states == ["left by a run that was killed"]


MEMORY = """
import sys, warnings
import rosenblatt
warnings.simplefilter("ignore")
def used(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))
small, large = sys.argv[1:]
linear = rosenblatt.TableClassifier(learner="linear", random_state=0)
rosenblatt.fit(linear, small, label="label", memory="160MB")  # compiles
before = used("VmRSS")
model = rosenblatt.fit(linear, large, label="label", memory="160MB")
print(used("VmHWM") - before, model.summary_.rows, model.summary_.held_out)
"""


@pytest.mark.compiled
def test_memory_is_bounded(tmp_path):
    rng = np.random.default_rng(0)
    rows = 60_000
    block = pd.DataFrame(rng.normal(size=(rows, 4)).round(4), columns=list("abcd"))
    for name, count in (("city", 7), ("shop", 4000)):
        block[name] = [f"{name} number {k}" for k in rng.integers(0, count, rows)]
    block["label"] = np.where(block["a"] + rng.normal(size=rows) > 0, "yes", "no")
    block["constant"] = "x" * 110  # bytes that are quickly read
    text = block.to_csv(index=False, header=False)
    head = ",".join(block.columns) + "\n"
    (tmp_path / "small.csv").write_text(head + text)
    with open(tmp_path / "large.csv", "w") as file:
        file.write(head)
        for _ in range(18):
            file.write(text)
    size = (tmp_path / "large.csv").stat().st_size
    assert size > 160_000_000
    environment = {**os.environ, "ROSENBLATT_CACHE": str(tmp_path / "caches")}
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "small.csv"), str(tmp_path / "large.csv")]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    grown, found, held = map(int, run.stdout.split())
    print(f"{grown:,} bytes for a file of {size:,}")
    assert found == 18 * rows
    assert 0 < held <= table_fit.HELD_OUT
    assert grown < 160_000_000
    assert list((tmp_path / "caches").iterdir()) == []


def test_what_fits_in_memory_is_told_by_what_files_unpack_to(tmp_path, monkeypatch):
    monkeypatch.setattr(large_tables, "IN_MEMORY", 8)
    rows = b"a,label\n" + b"1,x\n" * 500_000
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(rows))
    (tmp_path / "t.csv.zst").write_bytes(zstandard.compress(rows))
    pq.write_table(pa.table({"a": np.ones(250_000), "label": ["x"] * 250_000}), tmp_path / "t.parquet")
    for name in ("t.csv.gz", "t.csv.zst", "t.parquet"):
        path = tmp_path / name
        assert path.stat().st_size < 10_000
        assert large_tables.fits_in_memory(path, 8 * 4_100_000)
        assert not large_tables.fits_in_memory(path, 8 * 1_900_000)
        assert not large_tables.fits_in_memory([path] * 3, 8 * 4_100_000)


def test_lines_of_text_longer_than_memory_allows_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(large_tables, "PART", 1 << 14)
    (tmp_path / "t.txt.gz").write_bytes(gzip.compress(b"a\tb c\nb\tc d\n" * 20 + b"a\t" + b"1" * 300_000))
    with pytest.raises(FileError, match=r"line 41: a line of more than [0-9,]+ bytes is longer than memory allows"):
        fit(TableClassifier(learner="linear"), tmp_path / "t.txt.gz", format="text", memory="160MB")
