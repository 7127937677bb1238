"""The walk of one fit: how many files of ours it enters, and that the training loop calls nothing above it."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import rosenblatt
from rosenblatt.cli.main import main
from rosenblatt.learn.epochs import Training
from rosenblatt.shell.held_out_scoring import ScoredRows

PACKAGE = Path(rosenblatt.__file__).parent
LOOP = {Training.__iter__.__code__, Training._epoch.__code__}
X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 1.0], [0.0, 3.0], [3.0, 0.0], [1.0, 2.0]] * 4)
Y = np.array([0, 1, 1, 0, 1, 0] * 4)
# At most so many files, which may only become fewer; the second fit is counted, as the first compiles.
MOST = {"Perceptron": 29, "LinearClassifier": 29}
MOST_OF_A_TABLE = {"linear": 72, "auto": 76}  # the default, auto, is a search
TRAINED = {
    "Perceptron": {"early_stopping": True, "scoring": "accuracy"},
    "AveragedPerceptron": {"record_errors": True},
    "PassiveAggressive": {},
    "AROW": {},
    "LinearClassifier": {"solver": "batch"},
    "LinearSVM": {},
    "Pegasos": {},
    "KernelPerceptron": {},
    "KernelSVM": {},
    "HierarchicalPerceptron": {},
    "MultilayerPerceptron": {"hidden_layer_sizes": (2,)},
    "MarkI": {"n_units": 4},
}


def calls_of(run):
    """The frames of our functions that a call enters, each with the functions that called it, the nearest first."""
    found = []

    def profile(frame, event, arg):
        if event == "call" and frame.f_code.co_name != "<module>" and PACKAGE in Path(frame.f_code.co_filename).parents:
            callers, above = [], frame.f_back
            while above is not None:
                callers.append(above.f_code)
                above = above.f_back
            found.append((frame.f_code, callers))

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def files(calls):
    return {Path(code.co_filename).relative_to(PACKAGE).as_posix() for code, _ in calls}


@pytest.mark.compiled
@pytest.mark.parametrize("name", MOST)
def test_a_fit_enters_few_files(name):
    model = getattr(rosenblatt, name)(random_state=0)
    model.fit(X, Y)
    entered = files(calls_of(lambda: model.fit(X, Y)))
    assert len(entered) <= MOST[name], sorted(entered)


@pytest.mark.compiled
@pytest.mark.parametrize("learner", MOST_OF_A_TABLE)
def test_training_on_a_table_enters_few_files(learner, tmp_path, monkeypatch):
    rows = "".join(f"{k % 7},{k % 5},{'yes' if k % 7 > 3 else 'no'}\n" for k in range(200))
    (tmp_path / "rows.csv").write_text("a,b,label\n" + rows)
    monkeypatch.setattr(sys, "argv", ["rosenblatt", "train", str(tmp_path / "rows.csv"), "--learner", learner])

    def train():
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0

    train()
    entered = files(calls_of(train))
    assert len(entered) <= MOST_OF_A_TABLE[learner], sorted(entered)


@pytest.mark.parametrize("name", TRAINED)
def test_the_training_loop_calls_no_estimator(name):
    """The loop knows a solver and a source; of what is above it, it calls only the score of held-out rows."""
    model = getattr(rosenblatt, name)(random_state=0, **{"max_epochs": 3, **TRAINED[name]})
    above = {f"{kind.__module__.replace('.', '/')}.py" for kind in type(model).__mro__}  # and all of the shell
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = calls_of(lambda: model.fit(X, Y))
    assert any(LOOP & set(callers) for _, callers in calls)
    scoring = ScoredRows.__call__.__code__
    upwards = {
        code.co_qualname
        for code, callers in calls
        for file in files([(code, callers)])
        if (file.startswith("shell/") or f"rosenblatt/{file}" in above)
        and LOOP & set(callers)
        and scoring not in [code, *callers]
    }
    assert not upwards
