"""What a bug report needs, and machine code made ahead."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from rosenblatt import _version
from rosenblatt.cli import compile_ahead
from rosenblatt.registry import LEARNERS


def run(*words, **settings):
    command = [sys.executable, "-m", "rosenblatt.cli.main", *words]
    return subprocess.run(command, capture_output=True, text=True, **settings)


def test_all_versions_are_named():
    plain, full = run("--version"), run("--version", "--all")
    assert plain.stdout == f"rosenblatt {_version.__version__}\n"
    shown = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in full.stdout.splitlines())
    assert shown["rosenblatt"] == _version.__version__
    assert shown["numpy"] == np.__version__
    assert shown["python"].startswith(".".join(map(str, sys.version_info[:3])))


def test_no_command_is_answered_with_the_help():
    ended = run()
    assert ended.returncode == 2
    assert "Usage:" in ended.stdout + ended.stderr


def test_every_layout_and_type_is_compiled(monkeypatch):
    seen = set()

    class Model:
        def get_params(self):
            return {}

        def fit(self, X, y):
            seen.add((type(X).__name__, X.dtype.name, len(set(y.tolist()))))

        predict = partial_fit = lambda *_: None

    monkeypatch.setattr(type(LEARNERS["averaged"]), "kind", Model)
    (line,) = compile_ahead.compile_ahead(["averaged"])
    assert line.startswith("averaged ")
    assert len(seen) == 8


def test_an_unknown_learner_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="no learner is called 'average'; there are perceptron, averaged"):
        list(compile_ahead.compile_ahead(["average"]))


@pytest.mark.compiled
def test_a_fit_after_it_compiles_nothing(tmp_path):
    """A loop that is compiled later would leave a further file."""
    settings = {"env": {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}}
    assert run("compile", "averaged", **settings).returncode == 0
    before = set(tmp_path.rglob("*.nbc"))
    code = (
        "import numpy as np; from rosenblatt import AveragedPerceptron as A;"
        "X = np.random.default_rng(0).normal(size=(99, 7));"
        "A(max_epochs=3).fit(X, X[:, 0] > 0).predict(X); A(max_epochs=3).fit(X.astype('f'), np.arange(99) % 4)"
    )
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, **settings)
    assert ended.returncode == 0, ended.stderr
    assert before
    assert set(tmp_path.rglob("*.nbc")) == before
