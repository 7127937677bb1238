"""The steps of CONTRIBUTING, applied to a copy of the package and used in fresh processes."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import rosenblatt

ROOT = Path(__file__).parents[2]
PLACE = re.compile(
    r"^ *<!-- (?P<file>[\w./]+), (?:before: (?P<anchor>[^\n]+?)|new) -->\n(?P<indent> *)```(?:python|text)\n"
    r"(?P<code>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)


def copy_with(section, folder):
    """A copy of the package with the code of one section of CONTRIBUTING put where it says."""
    package = folder / "rosenblatt"
    shutil.copytree(Path(rosenblatt.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (body,) = [part for part in re.split(r"^## ", text, flags=re.MULTILINE) if part.startswith(section)]
    places = list(PLACE.finditer(body))
    assert len(places) == body.count("<!-- ")
    for place in places:
        code = re.sub(rf"^{place['indent']}", "", place["code"], flags=re.MULTILINE)
        file = package / place["file"]
        if place["anchor"] is None:
            assert not file.exists()
            file.write_text(code, encoding="utf-8")
            continue
        source = file.read_text(encoding="utf-8")
        assert source.count("\n" + place["anchor"]) == 1, place["anchor"]
        file.write_text(source.replace("\n" + place["anchor"], "\n" + code + place["anchor"]), encoding="utf-8")
    return folder


def run(folder, code):
    """What a fresh process prints that imports the package from the folder."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=300, env=environment, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


ROWS = "\n".join(f"{1 if i % 3 else -1} 1:{i % 7 - 3} 2:{(5 * i) % 11 / 4}" for i in range(60)) + "\n"


@pytest.mark.compiled
def test_a_rule_and_its_learner(tmp_path):
    folder = copy_with("How to add an update rule", tmp_path)
    (folder / "rows.svm").write_text(ROWS)
    found = run(
        folder,
        """
        import numpy as np, rosenblatt
        from typer.testing import CliRunner
        from rosenblatt import HalfStep
        from rosenblatt.cli.main import app
        from rosenblatt.registry import IN_LAB
        from rosenblatt.lab.rules_page import fit_learner
        from rosenblatt.lab.session import Session

        rng = np.random.default_rng(0)
        X = rng.integers(-3, 4, (40, 3)).astype(float)
        y = np.where(X @ [1, -2, 1] + rng.integers(-1, 2, 40) > 0, 1, -1)
        model = HalfStep(order="cyclic", max_epochs=3).fit(X, y)
        w, b = np.zeros(3), 0.0
        for _ in range(3):
            for x, sign in zip(X, y):
                margin = sign * (x @ w + b)
                step = 1.0 if margin <= 0 else 0.5 if margin <= 1 else 0.0
                w, b = w + step * sign * x, b + step * sign
        assert model.coef_[0].tolist() == w.tolist() and model.intercept_[0] == b, (model.coef_, w)
        from_file = rosenblatt.fit(HalfStep(max_epochs=2), "rows.svm")
        assert from_file.n_iter_ == 2
        assert fit_learner("Half step", Session()).coef_.shape == (1, 2)
        train = ["train", "rows.svm", "--learner", "half-step", "--epochs", "2", "-o", "m.model"]
        result = CliRunner().invoke(app, train)
        assert result.exit_code == 0, result.output
        print(type(rosenblatt.load("m.model")).__name__)
        """,
    )
    assert found == "HalfStep\n"


@pytest.mark.compiled
def test_a_loss(tmp_path):
    folder = copy_with("How to add a loss", tmp_path)
    (folder / "rows.svm").write_text(ROWS)
    found = run(
        folder,
        """
        import numpy as np, rosenblatt
        from scipy.optimize import minimize
        from sklearn.datasets import load_svmlight_file
        from typer.testing import CliRunner
        from rosenblatt import LinearClassifier, losses
        from rosenblatt.cli.main import app
        from rosenblatt.lab.losses_page import LossesPage
        from rosenblatt.lab.session import Session

        X, y = load_svmlight_file("rows.svm")
        X = X.toarray()

        def objective(p):
            return np.logaddexp(0, -2 * y * (X @ p[:2] + p[2])).mean() / 2 + 0.005 * p[:2] @ p[:2]

        best = minimize(objective, np.zeros(3)).fun
        for solver, most in (("batch", 1e-3), ("minibatch", 2e-2), ("stochastic", 5e-2)):
            model = LinearClassifier(loss="logit2", alpha=0.01, solver=solver, random_state=0).fit(X, y)
            assert objective(np.append(model.coef_[0], model.intercept_[0])) <= best * (1 + most), solver
            assert model.report_.outcome == "solved" or solver != "batch"
        assert rosenblatt.fit(LinearClassifier(loss="logit2", max_epochs=2), "rows.svm").n_iter_ == 2
        assert losses.value("logit2", 0.0) == np.log(2) / 2
        page = LossesPage(Session())
        page.shown, page.choice.value = True, list(page.choice.options.values())
        assert "logit2" in page.curves.data["name"] and len(page.curves.data["dash"]) == 8
        train = ["train", "rows.svm", "--learner", "linear", "--set", "loss=logit2", "--epochs", "2", "-o", "m.model"]
        result = CliRunner().invoke(app, train)
        assert result.exit_code == 0, result.output
        print(rosenblatt.load("m.model").loss)
        """,
    )
    assert found == "logit2\n"


@pytest.mark.compiled
def test_a_solver_and_its_learner(tmp_path):
    folder = copy_with("How to add a solver", tmp_path)
    (folder / "rows.svm").write_text(ROWS)
    found = run(
        folder,
        """
        import numpy as np, rosenblatt
        from sklearn.datasets import load_svmlight_file
        from typer.testing import CliRunner
        from rosenblatt import Adaline
        from rosenblatt.cli.main import app
        from rosenblatt.lab.rules_page import fit_learner
        from rosenblatt.lab.session import Session

        X, y = load_svmlight_file("rows.svm")
        model = Adaline(learning_rate=0.02, order="cyclic", max_epochs=4).fit(X, y)
        w, b = np.zeros(2), 0.0
        for _ in range(4):
            for x, sign in zip(X.toarray(), y):
                error = sign - (w @ x + b)
                w, b = w + 0.02 * error * x, b + 0.02 * error
        assert np.allclose(model.coef_[0], w, rtol=1e-12) and np.isclose(model.intercept_[0], b, rtol=1e-12)
        pieces = Adaline(learning_rate=0.02, order="cyclic")
        for _ in range(4):
            pieces.partial_fit(X, y)
        assert np.array_equal(pieces.coef_, model.coef_)
        assert model.report_.errors == np.count_nonzero(model.predict(X) != y)
        from_file = rosenblatt.fit(Adaline(learning_rate=0.02, order="cyclic", max_epochs=4), "rows.svm")
        assert np.allclose(from_file.coef_, model.coef_, rtol=1e-12)
        assert fit_learner("Adaline", Session()).coef_.shape == (1, 2)
        train = ["train", "rows.svm", "--learner", "adaline", "--epochs", "2", "-o", "m.model"]
        result = CliRunner().invoke(app, train)
        assert result.exit_code == 0, result.output
        print(type(rosenblatt.load("m.model")).__name__)
        """,
    )
    assert found == "Adaline\n"


@pytest.mark.compiled
def test_a_file_format(tmp_path):
    folder = copy_with("How to add a file format", tmp_path)
    found = run(
        folder,
        """
        import numpy as np, pyarrow as pa, pyarrow.orc, rosenblatt
        from typer.testing import CliRunner
        from rosenblatt import AveragedPerceptron, TableClassifier
        from rosenblatt.cli.main import app

        table = [{"age": i % 7 - 2.5, "town": "abc"[i % 3], "label": "yes" if i % 3 else "no"} for i in range(60)]
        pyarrow.orc.write_table(pa.Table.from_pylist(table), "rows.orc")
        with open("rows.csv", "w") as columns:
            columns.writelines(",".join(map(str, row)) + "\\n" for row in [table[0], *(row.values() for row in table)])
        (X, y), (Z, z) = rosenblatt.read("rows.orc"), rosenblatt.read("rows.csv")
        assert np.array_equal(X.toarray(), Z.toarray()) and np.array_equal(y, z)
        models = [AveragedPerceptron(max_epochs=3, random_state=0) for _ in range(3)]
        rosenblatt.fit(models[0], "rows.orc")
        rosenblatt.fit(models[1], "rows.csv")
        rosenblatt.fit(models[2], "rows.orc", shards=2)
        assert np.array_equal(models[0].coef_, models[1].coef_) and models[2].reading_.format == "orc"
        assert rosenblatt.fit(TableClassifier(random_state=0), "rows.orc").classes_.tolist() == ["no", "yes"]
        train = ["train", "rows.orc", "--learner", "averaged", "-o", "m.model"]
        result = CliRunner().invoke(app, train)
        assert result.exit_code == 0, result.output
        print(*sorted(set(rosenblatt.load("m.model").classes_)))
        """,
    )
    assert found == "no yes\n"


@pytest.mark.compiled
def test_a_source(tmp_path):
    folder = copy_with("How to add a source", tmp_path)
    found = run(
        folder,
        """
        import numpy as np
        from rosenblatt import AveragedPerceptron
        from rosenblatt.shell.fitting import train_from
        from rosenblatt.shell.online_learner import examples_of
        from rosenblatt.learn.epochs import EpochRecord
        from rosenblatt.scale.in_parts import InParts

        rng = np.random.default_rng(0)
        X = rng.normal(size=(50, 3))
        y = np.sign(X @ [1, 2, 3] + rng.normal(size=50))
        whole = AveragedPerceptron(order="cyclic", max_epochs=5).fit(X, y)
        model = AveragedPerceptron(order="cyclic", max_epochs=5)
        steps = list(train_from(model, lambda wanted: InParts(examples_of(AveragedPerceptron(), X, y), 7)))
        assert np.array_equal(model.coef_, whole.coef_) and model.report_.errors == whole.report_.errors
        print(sum(isinstance(step, EpochRecord) for step in steps), len(steps))
        """,
    )
    assert found == "5 45\n"
