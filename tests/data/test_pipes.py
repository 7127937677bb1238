"""What can be read only once: telling its format, or reading it twice, loses none of it."""

import gzip
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

import rosenblatt
from rosenblatt import FileError, read, stream
from rosenblatt.cli.main import app

# Its first row alone is of class 2, and more follow than a look at the format takes.
ROWS = b"2 1:5 2:9\n" + b"".join(b"%d 1:%d 2:1\n" % (k % 2, k % 2 * 2 - 1) for k in range(8999))


@pytest.fixture
def piped(tmp_path, monkeypatch):
    """Makes a pipe that holds bytes for whoever opens it."""
    monkeypatch.setenv("ROSENBLATT_CACHE", str(tmp_path / "caches"))
    writers = []

    def pipe(content, name="rows"):
        path = tmp_path / f"{len(writers)}-{name}"
        os.mkfifo(path)
        writers.append(threading.Thread(target=path.write_bytes, args=[content], daemon=True))
        writers[-1].start()
        return path

    yield pipe
    for writer in writers:
        writer.join(timeout=300)
        assert not writer.is_alive()
    assert list((tmp_path / "caches").iterdir()) == []


@pytest.mark.parametrize("name", ["rows", "rows.svm", "rows.svm.gz"])
def test_a_pipe_gives_every_row(piped, name):
    assert len(ROWS) > 1 << 16
    X, y = read(piped(gzip.compress(ROWS) if name.endswith(".gz") else ROWS, name))
    assert X.shape == (9000, 2)
    assert y.tolist() == [2, *(k % 2 for k in range(8999))]


def test_a_pipe_of_each_kind(piped):
    found = list(stream(piped(ROWS)))
    assert sum(X.shape[0] for X, _ in found) == 9000
    table = b"a,label\n" + b"".join(b"%d,%d\n" % (k, k % 2) for k in range(9000))
    assert read(piped(table, "t.csv"))[0].ravel().tolist() == list(range(9000))
    _, y = read(piped(b"ham\thello there\n" * 9000), n_features=16)
    assert y.tolist() == ["ham"] * 9000
    X, y = read([piped(b"1 1:1\n"), piped(b"2 1:2\n", "more.svm")])
    assert (X.toarray().ravel().tolist(), y.tolist()) == ([1, 2], [1, 2])


def test_errors_in_a_pipe_name_the_pipe(piped):
    with pytest.raises(FileError, match=r"bad.svm, line 2, column 5: expected a finite number, found 'x'"):
        read(piped(b"1 1:1\n1 1:x\n", "bad.svm"))
    with pytest.raises(FileError, match=r"bad.csv.gz: expected a complete gzip file"):
        read(piped(b"no archive", "bad.csv.gz"))
    with pytest.raises(FileError, match=r"empty: expected rows, found none"):
        read(piped(b"", "empty"))


@pytest.mark.parametrize("settings", [{"max_epochs": 3}, {"max_epochs": 1, "order": "cyclic", "bias_step": "unit"}])
@pytest.mark.filterwarnings("ignore")
def test_training_from_a_pipe_sees_every_row(piped, settings):
    model = rosenblatt.fit(rosenblatt.Perceptron(random_state=0, **settings), piped(ROWS))
    assert model.classes_.tolist() == [0, 1, 2]
    for ask in (lambda path: rosenblatt.fit(model, path, shards=2), lambda path: rosenblatt.score(model, path)):
        path = piped(ROWS)
        with pytest.raises(ValueError, match=r"[Pp]ipes cannot be"):
            ask(path)
        path.read_bytes()  # so that its writer ends


@pytest.mark.filterwarnings("ignore")
def test_commands_read_all_of_a_pipe(piped, tmp_path):
    def out(*words):
        outcome = CliRunner().invoke(app, [str(word) for word in words])
        assert outcome.exit_code in (0, 1), outcome.output  # 1: not separable
        return outcome.output

    trained = out("train", piped(ROWS), "--test", piped(ROWS), "-o", tmp_path / "m", "--epochs", 1, "--json")
    assert json.loads(trained)["test"]["rows"] == 9000
    assert rosenblatt.load(tmp_path / "m").classes_.tolist() == [0, 1, 2]
    assert len(out("predict", tmp_path / "m", piped(ROWS)).split()) == 9000
    assert "of 9,000 rows" in out("evaluate", tmp_path / "m", piped(ROWS))
    assert set(json.loads(out("check", piped(ROWS), "--json"))["verdicts"]) == {"0.0", "1.0", "2.0"}
    assert "read, MB/s" in out("bench", piped(ROWS), "--json")


@pytest.mark.filterwarnings("ignore")
def test_training_with_nothing_set_reads_all_of_a_pipe(piped, tmp_path):
    """Its format is told from the beginning, which is not lost."""
    rows = b"".join(b"%d 1:%d 2:1 # %0200d\n" % (k % 2, k % 2, k) for k in range(400))
    table = b"size,note,label\n" + b"".join(b"%d.5,%0200d,%d\n" % (k % 100, k, k % 100 > 40) for k in range(400))
    assert min(len(rows), len(table)) > 1 << 16
    for content, name, told in ((rows, "rows", "report"), (table, "rows.csv", "summary")):
        pipe = piped(content, name)
        outcome = CliRunner().invoke(app, ["train", str(pipe), "-o", str(tmp_path / "m"), "--json"])
        assert outcome.exit_code == 0, outcome.output
        found = json.loads(outcome.output)[told]
        assert found["rows"] == 400
        assert found.get("source", pipe.name) == pipe.name


def test_dev_stdin_is_read_whole():
    script = "import rosenblatt; X, y = rosenblatt.read('/dev/stdin'); print(X.shape, int(y[0]))"
    run = subprocess.run([sys.executable, "-c", script], input=ROWS, capture_output=True, check=True)
    assert run.stdout == b"(9000, 2) 2\n"


def test_files_are_no_pipes(tmp_path):
    (tmp_path / "rows").write_bytes(ROWS)
    with open(tmp_path / "rows", "rb") as file:  # as `< rows` has it, which can be read again from the start
        assert read(f"/dev/fd/{file.fileno()}")[0].shape == (9000, 2)
    np.testing.assert_array_equal(read(tmp_path / "rows")[1][:2], [2, 0])
