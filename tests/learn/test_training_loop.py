"""What every training has in common, whatever learns and wherever its examples are."""

import inspect
import itertools
import os
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import rosenblatt
from rosenblatt import fit
from rosenblatt.shell.fitted import fitted
from rosenblatt.shell.online_learner import examples_of, split

CROSSED = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 6), np.array([0, 0, 1, 1] * 6)


def rows(n=120, seed=0):
    """Rows that no plane separates."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(n, 3)).astype(float)
    return X, (X[:, 0] + rng.normal(scale=3.0, size=n) > 0).astype(int)


SCORED = {
    "Perceptron": {},
    "LinearClassifier": {"solver": "stochastic"},
    "Pegasos": {},
    "MultilayerPerceptron": {"hidden_layer_sizes": (4,)},
    "HierarchicalPerceptron": {},
    "KernelPerceptron": {},
    "MarkI": {"n_units": 8},
}


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("name", SCORED)
def test_ctrl_c_while_held_out_rows_are_scored_keeps_the_epoch_just_made(name, at):
    X, y = rows()
    calls = []

    def broken(model, X, y):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return model.score(X, y)

    model = getattr(rosenblatt, name)(
        early_stopping=True, scoring=broken, n_iter_no_change=9, max_epochs=9, random_state=0, **SCORED[name]
    )
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.report_.outcome == "interrupted"
    assert [record.epoch for record in model.report_.epochs] == list(range(1, at + 1))
    assert model.n_iter_ == fitted(model).state.epoch == at
    assert [record.score is None for record in model.report_.epochs] == [False] * (at - 1) + [True]
    model.predict(X)


# -- warnings point at the line that asked ---------------------------------------------------------------------------

BUDGETED = {
    "Perceptron": {},
    "PassiveAggressive": {},
    "PassiveAggressiveRegressor": {},
    "AROW": {},
    "LinearSVM": {"tol": 1e-12},
    "LinearClassifier": {"solver": "stochastic", "tol": 1e-12},
    "LinearRegressor": {"solver": "stochastic", "tol": 1e-12},
    "Pegasos": {"tol": 1e-12},
    "KernelPerceptron": {"kernel": "linear"},
    "KernelSVM": {"kernel": "linear", "C": 1e6, "tol": 1e-12},
    "HierarchicalPerceptron": {},
    "MultilayerPerceptron": {"hidden_layer_sizes": (2,)},
    "MarkI": {"n_units": 2},
}


def pointed_at(call):
    """Where the warning of a call points: a file and a line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    (found,) = [one for one in caught if issubclass(one.category, ConvergenceWarning)]
    return found.filename, found.lineno


@pytest.mark.parametrize("name", BUDGETED)
def test_a_warning_points_at_the_line_that_called_fit(name):
    X, y = CROSSED
    model = getattr(rosenblatt, name)(max_epochs=2, random_state=0, **BUDGETED[name])
    next_line = inspect.currentframe().f_lineno + 1
    assert pointed_at(lambda: model.fit(X, y)) == (__file__, next_line)


@pytest.mark.parametrize("shards", [None, 2])
def test_a_warning_of_a_fit_from_files_points_at_the_line_that_called_it(shards, tmp_path):
    X, y = CROSSED
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{label} 1:{a} 2:{b}\n" for (a, b), label in zip(X, y, strict=True)))
    for name in ("Perceptron", "LinearClassifier", "Pegasos"):
        model = getattr(rosenblatt, name)(max_epochs=2, random_state=0)
        assert pointed_at(lambda model=model: fit(model, path, shards=shards))[0] == __file__, name


# -- the same ending wherever the rows are ---------------------------------------------------------------------------


def learned(name, X, y, where, path=None, **settings):
    model = getattr(rosenblatt, name)(max_epochs=1, random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if where == "memory":
            return model.fit(X, y)
        return fit(model, path) if where == "file" else fit(model, (X, y), shards=1)


@pytest.mark.parametrize("keep", ["last", "average"])
@pytest.mark.parametrize(
    ("name", "where", "order"),
    [
        ("Perceptron", "file", "blocks"),
        ("Perceptron", "shards", "cyclic"),
        ("HierarchicalPerceptron", "file", "blocks"),
    ],
)
def test_a_clean_last_iterate_has_converged_from_every_source(name, where, order, keep, tmp_path):
    """Searched among small sets: the budget ends in an epoch that made updates and left every row right."""
    rng = np.random.default_rng(0)
    while True:
        X, y = rng.integers(-3, 4, size=(6, 2)).astype(float), rng.integers(0, 2, size=6)
        if len(set(y)) == 2:
            last = learned(name, X, y, "memory", order=order)
            scores = last.decision_function(X)
            if last.report_.epochs[-1].updates and (scores != 0).all() and ((scores > 0) == y).all():
                break
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{label} 1:{a} 2:{b}\n" for (a, b), label in zip(X, y, strict=True)))
    here = learned(name, X, y, "memory", order=order, keep=keep).report_
    there = learned(name, X, y, where, path, order=order, keep=keep).report_
    assert (here.outcome, there.outcome) == ("separated", "separated")
    assert (here.bound, here.errors, here.margin) == (there.bound, there.errors, there.margin)
    assert (here.bound is None) == (name == "HierarchicalPerceptron")


@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_a_kernel_whose_last_iterate_is_clean_has_converged(keep):
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rosenblatt.KernelPerceptron("linear", fit_intercept=True, keep=keep, order="cyclic", max_epochs=3)
        last = rosenblatt.KernelPerceptron("linear", fit_intercept=True, order="cyclic", max_epochs=3).fit(X, y)
        model.fit(X, y)
    assert last.report_.epochs[-1].updates > 0  # so that no epoch has shown it
    assert last.report_.errors == 0
    assert (model.report_.outcome, last.report_.outcome) == ("separated", "separated")


# -- objectives ------------------------------------------------------------------------------------------------------


def pegasos_objective(model, X, y):
    """½λ(‖w‖² + b²) + mean of max(0, 1 − y·f)."""
    f = model.decision_function(X)
    hinge = np.maximum(0, 1 - np.where(y == 1, f, -f)).mean()
    return 0.5 * model.alpha * (np.sum(model.coef_**2) + np.sum(model.intercept_**2)) + hinge


@pytest.mark.parametrize("shards", [None, 1, 2])
def test_the_objective_of_pegasos_counts_its_bias_in_shards_too(shards):
    X, y = rows()
    model = rosenblatt.Pegasos(alpha=0.1, max_epochs=6, tol=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model.fit(X, y) if shards is None else fit(model, (X, y), shards=shards)
    assert model.intercept_[0] != 0
    assert model.report_.objective == pytest.approx(pegasos_objective(model, X, y), rel=1e-12)


def test_patience_in_shards_waits_until_the_objective_says_something():
    """As in memory: before the bound of the method promises more than w = 0, no epoch counts as waited."""
    X, y = rows()
    settings = {"alpha": 1e-3, "tol": 0.9, "n_iter_no_change": 1, "max_epochs": 400, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = rosenblatt.Pegasos(**settings).fit(X, y)
        there = fit(rosenblatt.Pegasos(**settings), (X, y), shards=2)
    assert here.n_iter_ > 2
    # A shard makes half of the steps of an epoch, and its clock runs half as fast.
    assert there.n_iter_ >= here.n_iter_


@pytest.mark.parametrize("solver", ["stochastic", "batch"])
def test_with_early_stopping_objective_and_errors_are_of_the_rows_learned_from(solver):
    X, y = rows()
    model = rosenblatt.LinearClassifier(
        loss="log", alpha=0.1, solver=solver, early_stopping=True, validation_fraction=0.4, max_epochs=5, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    learned, _ = split(examples_of(model, X, y), 0.4, 0)
    mine = learned.present.astype(int)
    assert model.report_.rows == mine.size < len(y)
    f = model.decision_function(X[mine])
    margins = np.where(y[mine] == 1, f, -f)
    loss = np.logaddexp(0, -margins).mean() + 0.05 * np.sum(model.coef_**2)
    assert model.report_.objective == pytest.approx(loss, rel=1e-9)
    assert model.report_.errors == np.count_nonzero(margins <= 0)


# -- records ---------------------------------------------------------------------------------------------------------


def test_a_dual_method_keeps_few_of_its_thousands_of_records(tmp_path):
    X, y = rows(150)
    model = rosenblatt.LinearSVM(C=10.0, tol=1e-9, max_epochs=3000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert model.n_iter_ == model.report_.n_epochs > 1000
    assert f"epochs   {model.n_iter_} in" in str(model.report_)
    kept = [record.epoch for record in model.report_.epochs]
    assert kept[:100] == list(range(1, 101))
    assert kept[-1] == model.n_iter_
    assert all(after > before for before, after in itertools.pairwise(kept))
    assert len(kept) < 250
    rosenblatt.save(model, tmp_path / "svm.model")
    assert (tmp_path / "svm.model").stat().st_size < 40_000
    assert rosenblatt.load(tmp_path / "svm.model").report_ == model.report_


# -- the path of a fit -----------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_a_small_fit_is_a_short_path():
    """Calls of our functions in a fit of ten rows: its fixed cost, without a clock."""
    X = np.random.default_rng(0).normal(size=(10, 3))
    y, home, entered = X[:, 0] > 0, os.path.dirname(rosenblatt.__file__), []
    model = rosenblatt.Perceptron(random_state=0).fit(X, y)

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(home):
            entered.append(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    assert len(entered) <= 265, len(entered)
