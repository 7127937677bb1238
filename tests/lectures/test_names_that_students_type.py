"""Names from lectures and other libraries are answered with the names that they have here."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt
from rosenblatt import (
    KernelPerceptron,
    KernelSVM,
    LinearClassifier,
    LinearSVM,
    MaxMargin,
    MultilayerPerceptron,
    PassiveAggressive,
    Pegasos,
    Perceptron,
    SequencePerceptron,
    margins,
    trace,
)


def test_parameters_of_other_libraries():
    with pytest.raises(TypeError, match=r"Perceptron has no parameter .*: use learning_rate=, max_epochs="):
        Perceptron(eta=0.1, n_iter=10)
    with pytest.raises(TypeError, match="use max_epochs="):
        PassiveAggressive(max_iter=10)
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        Perceptron(speed=1)
    with pytest.raises(TypeError, match=r"no parameter 'max_iter' or 'eta0': use max_epochs=, learning_rate=\.$"):
        Perceptron(max_iter=5, eta0=0.1)
    with pytest.raises(TypeError, match=r"use max_epochs=\.$"):  # it has no rate
        LinearSVM(eta=0.1, n_iter=10)
    with pytest.raises(TypeError, match=r"use learning_rate_init=\.$"):
        MultilayerPerceptron(eta=0.1)
    with pytest.raises(TypeError, match=r"no parameter 'budget': use max_support=\.$"):
        KernelPerceptron(budget=5)
    with pytest.raises(TypeError, match=r"no parameter 'epsilon': use adam_epsilon=\.$"):
        MultilayerPerceptron(epsilon=1e-6)
    with pytest.raises(TypeError, match=r"no parameter 'algorithm': use rule=\.$"):
        SequencePerceptron(algorithm="pa")
    assert "eta" not in inspect.signature(Perceptron).parameters
    assert "learning_rate" in inspect.signature(Perceptron).parameters
    assert clone(Perceptron(learning_rate=0.5)).learning_rate == 0.5


def test_a_parameter_means_the_same_in_every_estimator():
    """`update` is when w moves, `epsilon` where a loss of residuals starts or bends."""
    having = {name: set() for name in ("update", "epsilon", "budget", "eta")}
    for name in rosenblatt.__all__:
        kind = getattr(rosenblatt, name)
        if inspect.isclass(kind) and issubclass(kind, BaseEstimator):
            for parameter in having.keys() & inspect.signature(kind).parameters.keys():
                having[parameter].add(name)
    assert having == {
        "update": {"Perceptron", "AveragedPerceptron"},
        "epsilon": {"LinearRegressor", "PassiveAggressiveRegressor"},
        "budget": set(),
        "eta": set(),
    }


def test_the_mistakes_of_each_epoch():
    model = Perceptron().fit([[1.0], [-1.0]], [1, -1])
    assert not hasattr(model, "errors_")
    with pytest.raises(AttributeError, match=r"record.updates for record in model.report_.epochs"):
        _ = model.errors_
    with pytest.raises(AttributeError, match=r"model.report_.errors counts the training rows that are wrong"):
        _ = LinearSVM().fit([[1.0], [-1.0]], [1, -1]).errors_


@pytest.mark.parametrize("model", [Perceptron(), MaxMargin()])
def test_a_class_is_named_as_a_person_writes_it(model):
    with pytest.raises(ValueError, match=r"y has 1 class: 2\.$"):
        model.fit([[1.0], [2.0]], np.array([2, 2]))


def test_a_start_with_its_intercept_inside():
    with pytest.raises(ValueError, match="pass it as intercept_init"):
        Perceptron().fit([[1.0, 2.0], [2.0, 1.0]], [1, -1], coef_init=[-3, 1, 1])
    for exact in (False, True):
        with pytest.raises(ValueError, match="pass it as intercept_init"):
            trace([[1.0, 2.0], [2.0, 1.0]], [1, -1], coef_init=[-3, 1, 1], exact=exact)


def test_margins_of_a_pipeline():
    X, y = [[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]], [1, 1, 1, -1, -1, -1]
    pipeline = make_pipeline(StandardScaler(), Perceptron()).fit(X, y)
    scaled = pipeline[0].transform(X)
    assert margins(pipeline, X, y).geometric.tolist() == margins(pipeline[1], scaled, y).geometric.tolist()
    assert margins(make_pipeline(Perceptron()).fit(X, y), X, y).errors == 0


@pytest.mark.parametrize("exact", [False, True])
def test_a_row_that_makes_no_update_is_not_said_to_lack_margin(exact):
    """From zero every class scores 0, and the lowest of them is the answer."""
    text = str(trace([[1.0], [2.0], [3.0]], [0, 1, 2], exact=exact, max_epochs=1))
    first, second = text.splitlines()[3:5]
    assert "0 = 0, wins the tie" in first
    assert "→" not in first
    assert "→" in second or ">" in second
    assert not any("≤" in line and "→" not in line for line in text.splitlines())


SOLVERS = [
    LinearSVM(),
    LinearClassifier(solver="batch"),
    Pegasos(alpha=1.0, order="cyclic", max_epochs=2),
    KernelSVM(kernel="linear"),
    MaxMargin(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("model", SOLVERS, ids=repr)
def test_reports_and_scores_count_a_tie_alike(model, labels):
    """Each row once in each class: the best f is 0, which predicts the first class."""
    X, y = np.array([[1.0, 2.0], [1.0, 2.0], [-3.0, 1.0], [-3.0, 1.0]]), np.array([0, 1, 0, 1])
    if labels and isinstance(model, MaxMargin):
        pytest.skip("MaxMargin learns classes only")
    y = np.column_stack([y, [0, 0, 1, 1]]) if labels else y
    fitted = clone(model).fit(X, y)
    scores = fitted.decision_function(X)
    wrong = round(4 * (1 - fitted.score(X, y)))
    assert (np.abs(scores if scores.ndim == 1 else scores[:, 0]) < 1e-12).any() or not isinstance(model, LinearSVM)
    assert fitted.report_.errors == wrong == 2


def test_a_learner_that_updates_on_a_tie_counts_it_as_a_mistake():
    model = Perceptron(fit_intercept=False, order="cyclic", max_epochs=1)
    with pytest.warns(match="4 of 4 training rows wrong"):
        model.fit([[1.0], [1.0], [2.0], [2.0]], [1, 0, 1, 0])
    assert model.coef_ == 0
    assert model.report_.errors == 4
