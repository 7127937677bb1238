"""The command line as a user meets it: in a pipe, in a terminal, interrupted."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pexpect
import pytest
from command_line_cases import COMMAND, _quiet, folder, run  # noqa: F401 (fixtures)

import rosenblatt

# -- as a user -------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_in_a_pipe(folder):
    environment = {**os.environ, "ROSENBLATT_CACHE": str(folder / "caches")}
    data = (folder / "rows.svm").read_bytes()
    trained = subprocess.run(
        [*COMMAND, "train", "-", "-o", str(folder / "m"), "--epochs", "3"],
        input=data,
        capture_output=True,
        env=environment,
    )
    assert trained.returncode == 0, trained.stderr
    assert trained.stderr.decode().count("epoch ") >= 1
    assert b"\x1b" not in trained.stderr + trained.stdout
    said = subprocess.run([*COMMAND, "predict", str(folder / "m"), "-"], input=data, capture_output=True)
    assert len(said.stdout.split()) == 200
    bad = subprocess.run([*COMMAND, "train", str(folder / "nothing.svm")], capture_output=True, text=True)
    assert bad.returncode == 2
    assert bad.stderr.count("\n") == 1
    assert "Traceback" not in bad.stderr


def test_in_a_terminal(folder):
    arguments = [
        "-m",
        "rosenblatt.cli.main",
        "train",
        str(folder / "rows.svm"),
        "--epochs",
        "3",
        "-o",
        str(folder / "m"),
    ]
    child = pexpect.spawn(sys.executable, arguments, timeout=600, encoding="utf-8", dimensions=(40, 120))
    child.expect("epoch 1: .* mistakes, loss .* rows/s")
    child.expect("separated|budget")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert (folder / "m").exists()


@pytest.mark.compiled
def test_ctrl_c_in_a_terminal(folder):
    def arguments(point):
        return [
            "-m", "rosenblatt.cli.main", "train", str(folder / "rows.svm"), "--learner", "perceptron", "--set",
            "margin=1e9", "--epochs", "400", "--checkpoint", str(point), "--resume",
            "-o", str(folder / point.name) + ".m",
        ]  # fmt: skip

    # The terminal writes ^C wherever it comes, within a character too.
    child = pexpect.spawn(
        sys.executable,
        arguments(folder / "point"),
        timeout=600,
        encoding="utf-8",
        codec_errors="replace",
        dimensions=(40, 120),
    )
    child.expect("epoch 2: ")
    time.sleep(0.2)
    child.sendintr()
    child.expect("interrupted; continue from .* with --resume")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130, child.signalstatus == signal.SIGINT
    assert 2 <= rosenblatt.load(folder / "point").n_iter_ < 400
    for point in ("point", "other"):
        subprocess.run([sys.executable, *arguments(folder / point)], check=True, capture_output=True)
    np.testing.assert_array_equal(rosenblatt.load(folder / "point.m").coef_, rosenblatt.load(folder / "other.m").coef_)


@pytest.mark.compiled
@pytest.mark.exhaustive
def test_a_reader_that_closes_the_pipe_early(folder):
    (folder / "long.svm").write_bytes((folder / "rows.svm").read_bytes() * 200)
    run("train", folder / "rows.svm", "-o", folder / "m", "--epochs", 2)
    command = f"{' '.join(COMMAND)} predict {folder / 'm'} {folder / 'long.svm'} | head -1"
    out = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert len(out.stdout.split()) == 1
    assert "Traceback" not in out.stderr
