"""Weights that ask for more visits than anyone can wait for are refused; others mean what they always meant."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt
from rosenblatt.kernel import budgets
from rosenblatt.kernel import perceptron as kernel_machines
from rosenblatt.learn import repeated_visits as repeats
from rosenblatt.objective import pegasos, stochastic
from rosenblatt.online import hierarchy as tree
from rosenblatt.online import solver as training
from rosenblatt.tracing import exact_learners as exact

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(8)
X = rng.normal(size=(12, 3))
y = (X @ [1.0, 2.0, -1.0] + 0.7 * rng.normal(size=12) > 0).astype(int)
y[:2] = 0, 1

# Learners that change something at every visit: each must refuse.
TIRELESS = {
    "AROW": lambda **how: rosenblatt.AROW(max_epochs=2, **how),
    "AROW, full": lambda **how: rosenblatt.AROW(covariance="full", max_epochs=2, **how),
    "LinearClassifier": lambda **how: rosenblatt.LinearClassifier(solver="stochastic", max_epochs=2, **how),
    "LinearRegressor": lambda **how: rosenblatt.LinearRegressor(solver="stochastic", max_epochs=2, **how),
    "Pegasos": lambda **how: rosenblatt.Pegasos(max_epochs=2, **how),
    "Pegasos, batches": lambda **how: rosenblatt.Pegasos(batch_size=5, max_epochs=2, **how),
    "Perceptron, batch": lambda **how: rosenblatt.Perceptron(update="batch", max_epochs=2, **how),
}
# And learners that leave a row alone once it is right, or weigh it at once: each must end, with a model or a refusal.
OTHERS = {
    "Perceptron": lambda **how: rosenblatt.Perceptron(max_epochs=3, **how),
    "Perceptron, 1/t": lambda **how: rosenblatt.Perceptron(learning_rate="1/t", max_epochs=3, **how),
    "AveragedPerceptron": lambda **how: rosenblatt.AveragedPerceptron(max_epochs=3, **how),
    "VotedPerceptron": lambda **how: rosenblatt.VotedPerceptron(max_epochs=3, **how),
    "pocket": lambda **how: rosenblatt.Perceptron(keep="pocket", max_epochs=3, **how),
    "PassiveAggressive": lambda **how: rosenblatt.PassiveAggressive(max_epochs=3, **how),
    "PassiveAggressiveRegressor": lambda **how: rosenblatt.PassiveAggressiveRegressor(max_epochs=3, **how),
    "SecondOrderPerceptron": lambda **how: rosenblatt.SecondOrderPerceptron(max_epochs=3, **how),
    "HierarchicalPerceptron": lambda **how: rosenblatt.HierarchicalPerceptron(max_epochs=3, **how),
    "KernelPerceptron": lambda **how: rosenblatt.KernelPerceptron(max_epochs=3, **how),
    "forgetron": lambda **how: rosenblatt.KernelPerceptron(max_support=3, when_full="forgetron", max_epochs=3, **how),
    "projectron++": lambda **how: rosenblatt.KernelPerceptron(max_support=3, max_epochs=3, **how),
    "LinearSVM": lambda **how: rosenblatt.LinearSVM(max_epochs=3, **how),
    "KernelSVM": lambda **how: rosenblatt.KernelSVM(max_epochs=3, **how),
    "MultilayerPerceptron": lambda **how: rosenblatt.MultilayerPerceptron((3,), max_epochs=3, **how),
    "MarkI": lambda **how: rosenblatt.MarkI(16, n_connections=2, max_epochs=3, **how),
}
LEARNERS = TIRELESS | OTHERS


@pytest.fixture
def few(monkeypatch):
    """An epoch may repeat a few visits only, so that the tests need not wait for a million."""
    monkeypatch.setattr(repeats, "MOST", 300)
    monkeypatch.setattr(repeats, "PER_ROW", 20)
    monkeypatch.setattr(training, "MOST_WATCHED", 300)
    monkeypatch.setattr(exact, "MOST_WATCHED", 300)


@pytest.mark.parametrize("weight", [1e3, 1e9])
@pytest.mark.parametrize("name", TIRELESS)
def test_too_many_repeated_visits_are_refused(name, weight, few):
    for rows in (X, sp.csr_array(X)):
        model = TIRELESS[name]()
        with pytest.raises(ValueError, match=r"300 repeated visits in an epoch.*Scale them down"):
            model.fit(rows, y, sample_weight=np.full(12, weight))
        assert not hasattr(model, "n_iter_")
        if hasattr(model, "partial_fit") and "batch" not in name:
            with pytest.raises(ValueError, match="repeated visits"):
                model.partial_fit(rows, y, sample_weight=np.full(12, weight))
        if "Regressor" not in name:
            with pytest.raises(ValueError, match="repeated visits"):
                TIRELESS[name](class_weight={0: 1.0, 1: weight}).fit(rows, y)


@pytest.mark.parametrize("name", OTHERS)
def test_heavy_weights_end(name, few):
    for weight in (1e6, 1e9):
        model, refusal = OTHERS[name](), "repeated visits"
        try:
            model.fit(X, y, sample_weight=np.linspace(weight, 3 * weight, 12))
        except ValueError as error:
            refusal = str(error)
        assert "repeated visits" in refusal
        assert hasattr(model, "n_iter_") == (refusal == "repeated visits")


@pytest.mark.parametrize("name", ["AROW", "LinearClassifier", "Pegasos"])
def test_files_and_shards_refuse_them_too(name, tmp_path, few):
    path = tmp_path / "rows.svm"
    lines = [
        f"{k} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x))
        for k, x in zip(y.tolist(), X.tolist(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    for how in ({}, {"shards": 2}):
        with pytest.raises(ValueError, match="repeated visits"):
            rosenblatt.fit(TIRELESS[name](class_weight={0.0: 1.0, 1.0: 1e9}), path, **how)
    with pytest.raises(ValueError, match="repeated visits"):
        rosenblatt.fit(TIRELESS[name](class_weight={0: 1.0, 1: 1e9}), (X, y), shards=2)


def test_traces_refuse_them_too(few):
    for in_fractions in (False, True):
        with pytest.raises(ValueError, match="300 repeated visits"):
            rosenblatt.trace(X, y, margin=1e9, max_epochs=1, exact=in_fractions, sample_weight=np.full(12, 1e9))


def test_the_limit_itself():
    assert repeats.allowed(12) == 1_000_000
    assert repeats.allowed(50_000) == 5_000_000
    count = repeats.VisitLimit(12)
    count.begin(12)
    count.spend(1_000_012)
    with pytest.raises(ValueError, match="1,000,000 repeated visits"):
        count.spend(1)
    repeats.check_total(1_000_012.0, 12)
    with pytest.raises(ValueError, match="1,000,000 repeated visits"):
        repeats.check_total(1_000_013.0, 12)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ("MarkI", "Perceptron, 1/t")])
def test_balanced_classes_are_never_refused(name, few):
    """Their weights sum to the number of rows, however rare a class is."""
    n = 200
    many = rng.normal(size=(n, 3))
    rare = np.zeros(n, int)
    rare[7] = 1
    if "Regressor" not in name:
        LEARNERS[name](class_weight="balanced").fit(many, rare)


@pytest.mark.parametrize("at_once", [1, 2, 7])
@pytest.mark.parametrize("name", [name for name in LEARNERS if "Regressor" not in name])
def test_where_a_pass_pauses_within_a_row_does_not_matter(name, at_once, monkeypatch):
    weights = np.array([3.0, 0.5, 9.25, 1.0, 0.0, 6.0, 2.0, 17.0, 1.5, 4.0, 11.0, 1.0])

    def answers():
        return LEARNERS[name](random_state=3).fit(X, y, sample_weight=weights).decision_function(X)

    whole = answers()
    for module in (training, stochastic, tree, budgets):
        monkeypatch.setattr(module, "rows_per_call", lambda per_row: at_once)
    monkeypatch.setattr(kernel_machines, "VISITS_AT_ONCE", at_once)
    monkeypatch.setattr(pegasos, "FEWEST_VISITS", at_once)
    assert np.array_equal(answers(), whole)


INTERRUPTED = """
    import _thread, threading, warnings
    import numpy as np
    import rosenblatt
    from rosenblatt.learn import repeated_visits as repeats

    warnings.simplefilter("ignore")
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2
    X[0] *= 1e12  # after an update on the long row, a short one on its wrong side is a mistake 1e12 times
    repeats.VisitLimit.spend = lambda self, visits: None  # no limit: without Ctrl-C a pass takes days
    for model in (
        rosenblatt.AROW(),
        rosenblatt.AROW(covariance="full"),
        rosenblatt.Perceptron(update="batch"),
        rosenblatt.KernelPerceptron(kernel="linear"),
        rosenblatt.KernelPerceptron(kernel="linear", max_support=4),
    ):
        model.set_params(max_epochs=2)
        model.fit(X[1:], y[1:]).fit(X[1:], y[1:], sample_weight=np.full(11, 2.0))  # compiled
        try:
            threading.Timer(0.3, _thread.interrupt_main).start()
            model.fit(X, y, sample_weight=np.full(12, 1e12))
        except KeyboardInterrupt:
            print("heard")
"""


@pytest.mark.compiled
def test_interrupt_is_heard_within_a_row():
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.stdout.split() == ["heard"] * 5, run.stderr
