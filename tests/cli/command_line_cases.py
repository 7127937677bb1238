"""What the tests of command line share."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from rosenblatt.cli import main as cli

COMMAND = [sys.executable, "-m", "rosenblatt.cli.main"]


def run(*arguments, **settings):
    """The command in this process: exit code, output and errors."""
    outcome = CliRunner().invoke(cli.app, [str(one) for one in arguments], **settings)
    if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
        with pytest.raises(SystemExit) as left:
            cli.fail(outcome.exception)
        return left.value.code, outcome.output, str(outcome.exception)
    return outcome.exit_code, outcome.output, outcome.stderr


@pytest.fixture(autouse=True)
def _quiet():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name, seed in (("rows", 1), ("more", 2)):
        X = sp.random(200, 20, 0.3, format="csr", random_state=seed)
        y = np.where(X @ np.arange(-10, 10) > 0, 1, -1)
        dump_svmlight_file(X, y, str(tmp_path / f"{name}.svm"), zero_based=False)
    lines = [f"{a:.3f},{'red' if b else 'blue'},{'yes' if a > 0.5 else 'no'}" for a, b in rng.random((80, 2)).round()]
    (tmp_path / "table.csv").write_text("size,colour,churned\n" + "\n".join(lines) + "\n")
    (tmp_path / "mail.txt").write_text("spam\tbuy this now\nham\tsee you at noon\n" * 20)
    return tmp_path
