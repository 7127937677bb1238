"""Traces of learners with an arithmetic of their own: the steps are those that the learners make."""

import warnings
from fractions import Fraction as F

import numpy as np
import pytest

from rosenblatt import KernelPerceptron, LinearClassifier, LinearRegressor, Pegasos, trace

KTH = [[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]], [1, 1, 1, -1, -1, -1]
PRICES = [[1], [2], [4], [5]], [1.5, 2.0, 3.5, 6.0]


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def test_pegasos_by_hand():
    learner = Pegasos(alpha=0.5, order="cyclic", fit_intercept=False, max_epochs=1)
    run = trace([[1, 0], [0, -1], [2, 1]], [1, -1, 1], learner, exact=True)
    assert [step.values["w"] for step in run.steps] == [(2, 0), (1, 1), (F(2, 3), F(2, 3))]
    assert [step.values["η"] for step in run.steps] == [2, 1, F(2, 3)]
    assert [step.values["y·f"] for step in run.steps] == [0, 0, 3]
    assert [step.updated for step in run.steps] == [True, True, False]
    assert str(run).splitlines()[5].split() == ["3", "1", "2", "(2,", "1)", "+1", "3", "3", "2/3", "(2/3,", "2/3)"]
    assert run.ending == "2 updates in 3 steps"
    slides = trace([[1, 0], [0, -1], [2, 1]], [1, -1, 1], learner, exact=True, first=1)
    assert str(slides).splitlines()[5].split()[:3] == ["3", "1", "3"]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("model", "data"),
    [
        (Pegasos(alpha=0.1, order="cyclic", max_epochs=3, tol=0), KTH),
        (Pegasos(alpha=0.1, max_epochs=2, tol=0, random_state=3, fit_intercept=False), KTH),
        (LinearClassifier(loss="hinge", learning_rate=0.1, alpha=0.1, order="cyclic", max_epochs=2, tol=0), KTH),
        (LinearClassifier(loss="perceptron", learning_rate="1/t", penalty=None, max_epochs=2, random_state=1), KTH),
        (LinearRegressor(learning_rate=0.05, alpha=0.5, order=[2, 0, 3, 1], max_epochs=2, solver="stochastic"), PRICES),
    ],
    ids=["pegasos", "pegasos through the origin", "hinge", "perceptron", "squares"],
)
def test_the_steps_are_those_of_the_learner(model, data, exact):
    run, learned = trace(*data, model, exact=exact), fitted(model, *data)
    assert np.allclose(np.array(run.coef, float), np.ravel(learned.coef_), rtol=1e-9)
    assert np.isclose(float(run.intercept), np.ravel(learned.intercept_)[0], rtol=1e-9, atol=1e-12)
    assert len(run) == model.max_epochs * len(data[1])
    assert all(isinstance(value, F) == exact for step in run for value in step.values["w"])


def test_losses_whose_slopes_are_not_fractions():
    model = LinearClassifier(loss="log", learning_rate=0.5, order="cyclic", max_epochs=2, tol=0)
    assert np.allclose(trace(*KTH, model).coef, fitted(model, *KTH).coef_[0])
    with pytest.raises(ValueError, match="not log"):
        trace(*KTH, model, exact=True)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": "linear", "fit_intercept": True},
        {"kernel": "linear", "fit_intercept": True, "bias_step": "radius"},
        {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1},
    ],
    ids=["linear", "radius", "poly"],
)
def test_the_dual_perceptron_counts_mistakes_per_row(settings, exact):
    model = KernelPerceptron(order="cyclic", **settings)
    run, learned = trace(*KTH, model, exact=exact), fitted(model, *KTH)
    counts = np.array(run.steps[-1].values["α"])
    assert np.flatnonzero(counts).tolist() == learned.support_.tolist()
    assert (counts * KTH[1])[learned.support_].tolist() == learned.dual_coef_[0].tolist()
    assert len(run.updates) == counts.sum() == learned.report_.updates
    assert len(run) == 6 * learned.n_iter_
    if settings["kernel"] == "linear":
        assert np.allclose(np.array(run.coef, float), (counts * KTH[1]) @ np.array(KTH[0]))
        assert float(run.intercept) == pytest.approx(float(learned.intercept_[0]))
    else:
        assert run.coef is None


def test_the_table_of_the_dual_perceptron():
    run = trace(*KTH, KernelPerceptron("linear", fit_intercept=True, order="cyclic"), exact=True, first=1)
    table = str(run).splitlines()
    assert table[0].endswith("K = x_j·x + 1")
    assert table[5].split("  ")[-1] == "(1, 0, 1, 0, 0, 0)"
    assert table[-1] == "3 updates in 12 steps; w = Σ α·y·x = (0.5, 2), b = 1"  # as Perceptron(order="cyclic")


def test_a_long_fraction_is_rounded_where_it_is_printed():
    run = trace(*PRICES, LinearRegressor(learning_rate=0.05, order="cyclic", max_epochs=2), exact=True)
    assert run.steps[-1].values["w"][0].denominator > 10**6
    assert "≈" in str(run).splitlines()[-3]


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Pegasos(project=True), "square root"),
        (Pegasos(batch_size=2), "row by row"),
        (LinearClassifier(loss="hinge"), "learning_rate"),
        (LinearClassifier(loss="hinge", learning_rate=0.1, penalty="l1"), "penalty"),
        (LinearClassifier(loss="exponential", learning_rate=0.1), "exponential"),
        (LinearClassifier(loss="hinge", learning_rate=0.1, solver="gradient"), "row-by-row"),
        (KernelPerceptron("rbf"), 'kernel "linear" or "poly"'),
        (KernelPerceptron("poly"), "gamma"),
        (KernelPerceptron("linear", max_support=2), "max_support"),
        (Pegasos(class_weight="balanced"), "equal weights"),
    ],
)
def test_what_has_no_such_arithmetic_is_refused(model, why):
    with pytest.raises(ValueError, match=why):
        trace(*KTH, model)


def test_other_refusals():
    with pytest.raises(ValueError, match="two classes; y has 3"):
        trace([[0, 0], [3, 0], [0, 3]], [0, 1, 2], Pegasos())
    with pytest.raises(ValueError, match="from zero"):
        trace(*KTH, Pegasos(), coef_init=[[1, 0]])
    with pytest.raises(ValueError, match="digits"):
        trace(*PRICES, LinearRegressor(learning_rate=0.123, alpha=0.0377, max_epochs=2000, order="cyclic"), exact=True)
