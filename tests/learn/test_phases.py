"""The phases of a long call are told to whoever watches, compilation among them."""

import io

import numba
import numpy as np
import pandas as pd
import pytest

from rosenblatt import AveragedPerceptron, TableClassifier, fit
from rosenblatt.cli.progress_bar import show_phases
from rosenblatt.learn.phases import COMPILING, phase, watched


def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(["x", "y"], 60)})
    return frame, np.where(frame.a > 0, "up", "down")


def model(**settings):
    return TableClassifier(learner=AveragedPerceptron(max_epochs=2, random_state=0), random_state=0, **settings)


def test_nobody_watches():
    phase("nothing")  # and nothing happens
    found = []
    with watched(found.append):
        phase("one")
    phase("two")
    assert found == ["one"]


@pytest.mark.compiled
def test_compilation_is_told_as_such_and_then_what_went_on():
    found = []
    with watched(found.append):
        phase("adding")

        @numba.njit
        def more(x):
            return x + 1

        assert more(1) == 2
    assert found == ["adding", COMPILING, "adding"]


def test_verbose_prints_the_phases_of_a_fit(capsys, tmp_path, monkeypatch):
    X, y = table()
    model().fit(X, y)
    assert capsys.readouterr().err == ""
    model(verbose=True).fit(X, y)
    told = [line.split(" s  ")[1] for line in capsys.readouterr().err.splitlines() if COMPILING not in line]
    assert told[0] == "looking at 2 columns of 60 rows"
    assert [one for one in told if one.startswith("fold")] == [f"fold {k} of 5" for k in range(1, 6)]
    assert told[-1] == "learning from 60 rows"
    X.assign(label=y).to_csv(tmp_path / "t.csv", index=False)
    fit(model(verbose=True), tmp_path / "t.csv")
    assert "reading the file" in capsys.readouterr().err
    monkeypatch.setattr("rosenblatt.scale.large_tables.IN_MEMORY", 10**9)
    fit(model(verbose=True), tmp_path / "t.csv")
    told = capsys.readouterr().err
    assert all(one in told for one in ("the first pass", "encoding the rows", "pass 1 over", "pass 2 over"))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_command_line_shows_phases_on_a_terminal_only(monkeypatch):
    for stream, quiet, shown in ((Terminal(), False, True), (Terminal(), True, False), (io.StringIO(), False, False)):
        monkeypatch.setattr("sys.stderr", stream)
        with show_phases(quiet):
            phase("fold 3 of 5")
        assert bool(stream.getvalue()) == shown
