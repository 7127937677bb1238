"""Labels that double precision or microseconds would merge are refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rosenblatt
from rosenblatt import FileError, TableClassifier

BEYOND = 2**53  # the first whole number whose successor is not a double


def written(tmp_path, text):
    path = tmp_path / "rows.svm"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        (f"{BEYOND} 1:1\n{BEYOND + 1} 1:2\n", 2, 1),
        (f"# first\n{BEYOND} 1:1\n  -{BEYOND + 1} 1:2 # last\n", 3, 3),
        (f"1 1:1\n2,{BEYOND + 3} 1:2\n", 2, 3),
        (f"1 qid:3 1:1\n{10**22 + 1} qid:3 1:2\n", 2, 1),
    ],
)
def test_svmlight_labels_that_a_double_changes_are_refused(tmp_path, text, line, column):
    with pytest.raises(FileError, match=f"line {line}, column {column}: expected a label that double precision"):
        rosenblatt.read(written(tmp_path, text))


def test_other_large_labels_of_svmlight_are_numbers(tmp_path):
    text = f"{BEYOND} 1:1\n{BEYOND + 2} 1:1\n1e300 1:1\n12345678901234567.5 3:{BEYOND + 1}\n"
    _, y = rosenblatt.read(written(tmp_path, text))
    assert y.tolist() == [BEYOND, BEYOND + 2, 1e300, 12345678901234567.5]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("step", [1, 1000])
def test_labels_that_differ_by_nanoseconds_are_refused(tmp_path, zone, coded, step):
    times = pa.array(1_577_836_800_000_000_000 + step * (np.arange(40) % 2)).cast(pa.timestamp("ns", zone))
    table = {"x": np.arange(40) % 2 + np.linspace(0, 0.1, 40), "label": times.dictionary_encode() if coded else times}
    path = tmp_path / "times.parquet"
    pq.write_table(pa.table(table), path)
    if step == 1:
        with pytest.raises(
            ValueError, match=r"'label', row 1: expected labels in whole microseconds, found .*000000001"
        ):
            rosenblatt.fit(TableClassifier(learner="linear"), path)
        return
    model = TableClassifier(learner="linear")
    rosenblatt.fit(model, path)
    assert len(model.classes_) == 2
