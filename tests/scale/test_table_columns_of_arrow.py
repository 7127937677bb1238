"""Labels and columns of tables in every layout and range of Arrow, on every path: memory, large files, shards."""

import warnings
from datetime import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from rosenblatt import FileError, Perceptron, TableClassifier, TableRegressor, fit
from rosenblatt.cli.scoring import evaluate_file
from rosenblatt.formats.arrow import plain_layout
from rosenblatt.scale import large_tables, table_files

ROWS = 60  # enough of each class to be held out
CODES = np.arange(ROWS) % 2
SIZE = CODES + 0.3 * np.random.default_rng(0).random(ROWS)
PATHS = ["memory", "large", "shards"]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fitted(path, how, task=None, **parameters):
    with pytest.MonkeyPatch.context() as patch:
        if how == "large":
            patch.setattr(large_tables, "IN_MEMORY", 1e9)
            patch.setattr(large_tables, "PART", 1 << 19)  # several parts
        shards = {"shards": 2} if how == "shards" else {}
        return table_files.fit_table(
            {"learner": "linear", "random_state": 0, "cv": 2, **parameters}, path, task, **shards
        )


def written(columns, path):
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path), compression="lz4")
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return path


# -- labels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", PATHS)
@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([2**53, 2**53 + 1], pa.int64()),
        ([-(2**63), -(2**63) + 1], pa.int64()),
        ([2**64 - 2, 2**64 - 1], pa.uint64()),
        ([5, 2**64 - 1], pa.uint64()),
        ([2**53, 2**53 + 1], pa.decimal128(20, 0)),
        ([-1, 2**64 - 1], pa.decimal128(38, 0)),
        ([2**70, 2**70 + 1], pa.decimal128(38, 0)),
    ],
    ids=["int64", "least", "uint64", "mixed uint64", "decimal", "both signs", "beyond uint64"],
)
def test_integer_labels_are_never_rounded(how, labels, kind, tmp_path):
    given = [labels[code] for code in CODES.tolist()]
    columns = {"size": SIZE, "label": [None, *given[1:]]}  # a missing label makes integers floats in pandas
    text = [["size", "label"], *zip(SIZE.tolist(), ["", *given[1:]], strict=True)]
    (tmp_path / "t.csv").write_text("".join(f"{a},{b}\n" for a, b in text))
    stored = written({**columns, "label": pa.array(columns["label"], kind)}, tmp_path / "t.parquet")
    names = [str(label) for label in labels]
    for path in (tmp_path / "t.csv", stored):
        for task in (None, "classification"):
            model = fitted(path, how, task=task)
            assert [str(one) for one in model.classes_.tolist()] == names
            assert model.classes_.dtype.kind in "iuU"
            assert dict(model.summary_.classes) == {names[0]: ROWS // 2 - 1, names[1]: ROWS // 2}
        assert evaluate_file(model, path, {}).accuracy == 1
        assert evaluate_file(model, path, {}).classes == tuple(names)


@pytest.mark.parametrize("how", PATHS)
def test_decimal_labels_keep_their_digits(how, tmp_path):
    given = [Decimal(f"{2**53 + code}.00") for code in CODES.tolist()]
    path = written({"size": SIZE, "label": pa.array(given, pa.decimal128(20, 2))}, tmp_path / "t.parquet")
    model = fitted(path, how, task="classification")
    assert [Decimal(one) for one in model.classes_.tolist()] == [2**53, 2**53 + 1]
    assert evaluate_file(model, path, {}).accuracy == 1
    assert isinstance(fitted(path, how, task="regression"), TableRegressor)


@pytest.mark.parametrize("how", PATHS)
def test_labels_that_are_fractions_are_evaluated_as_they_were_learned(how, tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"size": SIZE, "label": np.where(CODES, 1.0, 0.5)}).to_csv(path, index=False)
    model = fitted(path, how, task="classification")
    assert model.classes_.tolist() == ["0.5", "1.0"]
    assert evaluate_file(model, path, {}).accuracy == 1


@pytest.mark.parametrize(
    "labels", [[-1, 2**64 - 1], [2**53, 2**53 + 1, 1.0], [2**70, 2**70 + 1], [Decimal(2**53), Decimal(2**53 + 1)]]
)
def test_labels_in_lists_and_frames_are_never_rounded(labels):
    y = [labels[k % len(labels)] for k in range(ROWS)]
    for given in (y, pd.Series(y, dtype=object)):
        for model in (TableClassifier(learner="linear", cv=2), Perceptron(max_epochs=2)):
            assert model.fit(pd.DataFrame({"size": SIZE, "k": np.arange(ROWS) / 7}), given).classes_.tolist() == sorted(
                labels
            )


def test_classes_of_later_calls_are_never_rounded():
    y = np.array([2**53, 2**53 + 1], np.int64)[CODES]
    model = Perceptron().partial_fit(SIZE[:, None], y, classes=np.array([1, 2**64 - 1], np.uint64))
    assert model.classes_.tolist() == [1, 2**53, 2**53 + 1, 2**64 - 1]


@pytest.mark.parametrize("how", PATHS)
def test_names_of_large_integers_are_not_merged(how, tmp_path):
    for kind in (pa.uint64(), pa.decimal128(20, 0)):
        codes = pa.array([2**64 - 1 - code for code in CODES.tolist()], kind)
        path = written({"code": codes, "size": SIZE, "label": CODES + 5}, tmp_path / "t.parquet")
        model = fitted(path, how, columns={"code": "names"})
        names = [f"code={2**64 - 2}", f"code={2**64 - 1}", "code=(other)"]
        assert model.encoder_.get_feature_names_out().tolist()[:3] == names


# -- layouts -----------------------------------------------------------------------------------------------------------

WORDS = [None if k % 7 == 0 else f"w{k % 5}" for k in range(ROWS)]
NUMBERS = [k // 7 for k in range(ROWS)]
LAYOUTS = {
    "view": (pa.array(WORDS, pa.string_view()), WORDS),
    "runs": (pc.run_end_encode(pa.array(NUMBERS)), NUMBERS),
    "runs of text": (pc.run_end_encode(pa.array(sorted(map(str, WORDS)))), sorted(map(str, WORDS))),
    "runs of views": (
        pa.RunEndEncodedArray.from_arrays(pa.array([20, ROWS], pa.int32()), pa.array(["a", "b"], pa.string_view())),
        ["a"] * 20 + ["b"] * (ROWS - 20),
    ),
    "dictionary of views": (
        pa.DictionaryArray.from_arrays(pa.array(CODES), pa.array(["a", "b"], pa.string_view())),
        ["ab"[code] for code in CODES],
    ),
}


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_every_layout_has_the_values_of_plain_columns(layout):
    given, values = LAYOUTS[layout]
    for first, rows in ((0, ROWS), (3, 30), (21, 5), (ROWS, 0)):
        found = plain_layout(given.slice(first, rows))
        assert found.to_pylist() == values[first : first + rows]
        assert found.take(pa.array([], pa.int64())).to_pylist() == []
    assert plain_layout(pa.chunked_array([given, given.slice(5)])).to_pylist() == values + values[5:]


@pytest.mark.parametrize(
    ("layout", "suffix"), [*((layout, "arrow") for layout in LAYOUTS), ("view", "parquet"), ("view", "feather")]
)
def test_every_layout_is_learned_from_on_every_path(layout, suffix, tmp_path):
    given, values = LAYOUTS[layout]
    plain = pa.array(values).dictionary_encode() if layout.startswith("dictionary") else pa.array(values)
    frames = [{"size": SIZE, "more": one, "label": CODES + 5} for one in (given, plain)]
    paths = [written(frame, tmp_path / f"{k}.{suffix}") for k, frame in enumerate(frames)]
    for how in PATHS:
        one, other = (fitted(path, how) for path in paths)
        assert one.encoder_.get_feature_names_out().tolist() == other.encoder_.get_feature_names_out().tolist()
        np.testing.assert_array_equal(one.predict_proba(pa.table(frames[0])), other.predict_proba(pa.table(frames[1])))
    weights = CODES + np.arange(ROWS) % 3
    models = [
        TableClassifier(learner="linear", random_state=0).fit(pa.table(one), CODES, sample_weight=weights)
        for one in frames
    ]
    np.testing.assert_array_equal(*(model.predict_proba(pa.table(frames[0])) for model in models))


@pytest.mark.parametrize("how", PATHS)
def test_labels_and_bytes_in_views(how, tmp_path):
    given = pa.array([None, *("ab"[code] for code in CODES[1:])], pa.string_view())
    model = fitted(written({"size": SIZE, "label": given}, tmp_path / "t.arrow"), how)
    assert model.classes_.tolist() == ["a", "b"]
    other = written({"size": SIZE, "label": given.cast(pa.binary_view())}, tmp_path / "u.arrow")
    with pytest.raises(FileError, match="expected numbers, text, booleans or dates, found values of type large_binary"):
        fitted(other, how)


def test_a_frame_of_polars_and_its_file(tmp_path):
    frame = pl.DataFrame({"size": SIZE, "more": WORDS, "label": ["ab"[code] for code in CODES]})
    frame.write_ipc(tmp_path / "t.arrow")  # with string_view
    for how in PATHS:
        assert fitted(tmp_path / "t.arrow", how).classes_.tolist() == ["a", "b"]
    assert fit(Perceptron(max_epochs=2), tmp_path / "t.arrow").classes_.tolist() == ["a", "b"]


# -- dates -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", PATHS)
@pytest.mark.parametrize(
    ("date", "year", "unit"),
    [
        ("20000-02-03T04", 20000, "s"),
        ("-0500-02-03", -500, "us"),
        ("0000-02-03", 0, "ms"),
        ("200000-02-03", 200000, "us"),
    ],
)
def test_dates_beyond_the_years_of_datetime(how, date, year, unit, tmp_path):
    days = np.datetime64(date, unit) + CODES * np.timedelta64(40, "D").astype(f"m8[{unit}]")
    for suffix, encode in (("arrow", False), ("arrow", True), ("parquet", False)):
        if suffix == "parquet" and unit == "s":
            continue  # stored as milliseconds
        given = pa.array(days).dictionary_encode() if encode else pa.array(days)
        path = written({"size": SIZE, "day": given, "label": CODES + 5}, tmp_path / f"t.{suffix}")
        model = fitted(path, how)
        assert model.encoder_.get_feature_names_out().tolist()[0] == "size"
        if not encode:
            assert model.encoder_.columns_[1].encoding.year.mean == year
        model = fitted(written({"size": SIZE, "label": given}, tmp_path / f"u.{suffix}"), how)
        names = [str(one).replace("T", " ") for one in np.unique(days).astype("M8[s]")]
        assert sorted(model.classes_.tolist()) == sorted(names)


@pytest.mark.parametrize("how", PATHS)
@pytest.mark.parametrize("role", ["day", "label"])
@pytest.mark.parametrize(
    "kind", [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("s", "Europe/Berlin"), pa.date64(), pa.date32()]
)
def test_dates_that_no_microseconds_count_are_refused(how, role, kind, tmp_path):
    most, day = (2**31 - 1, 1) if kind == pa.date32() else (2**62, 86_400_000)
    counts = [(most // day - code) * day for code in CODES.tolist()]
    days = pa.array(counts, pa.int32() if kind == pa.date32() else pa.int64()).view(kind)
    columns = {"size": SIZE, "day": SIZE[::-1], "label": CODES + 5, role: days}
    with pytest.raises(FileError, match="expected dates within 290,000 years of 1970") as caught:
        fitted(written(columns, tmp_path / "t.arrow"), how)
    assert caught.value.column == role


def test_names_of_dates_are_those_of_datetime():
    days = [datetime(2020, 1, 2), datetime(2020, 1, 2, 3, 4, 5), datetime(1901, 1, 1, 0, 0, 0, 7)]
    y = [str(one) for one in days]
    frame = pd.DataFrame({"day": days * 10, "size": SIZE[:30]})
    model = TableClassifier(learner="linear", columns={"day": "names"}, random_state=0).fit(frame, CODES[:30])
    assert model.encoder_.get_feature_names_out().tolist()[:3] == [f"day={one}" for one in sorted(y)]
