"""Where scikit-learn 1.9's linear online learners fail, and rosenblatt does not."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier, SGDRegressor

from family import ESTIMATORS, same_model, target_for
from rosenblatt import (
    AROW,
    AveragedPerceptron,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    VotedPerceptron,
)
from rosenblatt.shell.encoding import Classes, Numbers


def separable(seed, rows=500, features=10, margin=0.02):
    """Rows that a plane through no special place separates, each at least `margin` away from it."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=features)
    w /= np.linalg.norm(w)
    b = rng.normal() / 4
    X = rng.normal(size=(2 * rows, features))
    distance = X @ w + b
    far = np.abs(distance) > margin
    X, distance = X[far][:rows], distance[far][:rows]
    assert len(X) == rows
    return X, (distance > 0).astype(int)


# -- it quits on separable data, silently ----------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(50))
def test_separable_data_are_separated_and_then_it_stops(seed):
    X, y = separable(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = Perceptron(random_state=seed).fit(X, y)
    assert model.score(X, y) == 1.0
    assert (model.report_.outcome, model.report_.errors) == ("separated", 0)
    # It stops there: only the last epoch makes no update.
    assert [epoch.updates == 0 for epoch in model.report_.epochs] == [False] * (model.n_iter_ - 1) + [True]
    assert model.report_.updates <= model.report_.bound


def test_four_points_do_not_take_a_thousand_epochs():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    model = Perceptron(random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.n_iter_ < 30


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_budget_is_spent_aloud(estimator):
    X, y = make_classification(100, 4, flip_y=0.4, random_state=0)
    model = estimator(max_epochs=4, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, target_for(model, y))
    assert model.report_.outcome == "budget"
    assert f"{model.report_.errors} of 100" in str(caught[0].message)
    assert caught[0].filename == __file__  # it points at the call of fit
    if estimator is not PassiveAggressiveRegressor:
        ties = model.decision_function(X) == 0  # a tie is a mistake, though one of the classes is predicted
        assert model.report_.errors == np.sum((model.predict(X) != y) | ties)


# -- t_ is said to count updates, and counts samples -----------------------------------------------------------------


@pytest.mark.parametrize("estimator", [Perceptron, AveragedPerceptron, VotedPerceptron])
def test_updates_are_the_mistakes(estimator):
    X, y = make_classification(120, 5, flip_y=0.2, random_state=1)
    with pytest.warns(ConvergenceWarning):
        model = estimator(order="cyclic", max_epochs=5).fit(X, y)
    w, b, mistakes = np.zeros(5), 0.0, []
    for _ in range(5):
        mistakes.append(0)
        for x, side in zip(X, 2 * y - 1, strict=True):
            if side * (w @ x + b) <= 0:
                w, b = w + side * x, b + side
                mistakes[-1] += 1
    assert [epoch.updates for epoch in model.report_.epochs] == mistakes
    assert model.report_.updates == sum(mistakes) < 5 * 120


# -- sparse and dense give different models --------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sparse_rows_are_the_dense_rows(estimator):
    # An intercept that matters: scikit-learn takes a hundredth of its steps for sparse rows.
    rng = np.random.default_rng(2)
    X = (rng.integers(-3, 4, size=(200, 6)) * (rng.random((200, 6)) < 0.4)).astype(float)
    y = (X @ rng.integers(-2, 3, size=6) > 3).astype(int)
    dense, sparse = estimator(max_epochs=20, random_state=0), estimator(max_epochs=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense.fit(X, target_for(dense, y))
        sparse.fit(sp.csr_matrix(X), target_for(dense, y))
    additive = estimator in (Perceptron, AveragedPerceptron, VotedPerceptron)
    assert same_model(sparse, dense, exact=additive)
    assert sparse.score(X, y) == pytest.approx(dense.score(X, y))


# -- early stopping scores another model than it returns, and never restores the best ---------------------------------


@pytest.mark.parametrize(
    "model",
    [
        Perceptron(),
        Perceptron(learning_rate="1/sqrt(t)"),
        Perceptron(keep="average"),
        Perceptron(keep="vote"),
        Perceptron(keep="pocket"),
        Perceptron(multiclass="ovr", keep="average"),
        Perceptron(multiclass="ovo"),
        PassiveAggressive(C=0.1, keep="average"),
        AROW(),
        PassiveAggressiveRegressor(C=0.01),
        PassiveAggressiveRegressor(C=0.01, keep="average"),
    ],
    ids=str,
)
def test_early_stopping_scores_the_model_that_it_returns(model, monkeypatch):
    X, y = make_classification(300, 8, n_informative=5, n_classes=3, flip_y=0.3, random_state=3)
    y = target_for(model, y)
    model.set_params(early_stopping=True, validation_fraction=0.3, n_iter_no_change=4, max_epochs=30, random_state=0)
    seen = []
    for target in (Classes, Numbers):

        def watched(self, kept, examples, rows, score=target.score):
            seen.append(rows)
            return score(self, kept, examples, rows)

        monkeypatch.setattr(target, "score", watched)
    scored = Scores()
    model.set_callbacks(scored).fit(X, y)
    held_out = seen[0]
    assert held_out.size == pytest.approx(90, abs=3)
    assert model.report_.rows == 300 - held_out.size
    scores = [epoch.score for epoch in model.report_.epochs]
    # What was scored is the model as it would be returned: averaged, voted, in the pocket.
    assert scores == pytest.approx([fitted(X[held_out], y[held_out]) for fitted in scored.models])
    # What is returned is the best of them, the first among equals.
    best = int(np.argmax(scores))
    assert model.report_.outcome == "early"
    assert len(scores) == best + 1 + 4
    assert model.score(X[held_out], y[held_out]) == pytest.approx(max(scores))
    assert np.array_equal(model.predict(X), scored.said[best])


class Scores:
    """Keeps what the model of each epoch scores, and says of the training rows."""

    def __init__(self):
        self.models, self.said = [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        if fitted_estimator is not None:
            self.models.append(fitted_estimator.score)
            self.said.append(fitted_estimator.predict(X))


# -- float32 and then float64 is a raw TypeError ---------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_pieces_of_another_type_are_converted(estimator, form):
    X, y = make_classification(60, 4, random_state=4)
    y = target_for(estimator(), y)
    for first, then in ((np.float32, np.float64), (np.float64, np.float32)):
        model = estimator(random_state=0).partial_fit(form(X.astype(first)), y)
        model.partial_fit(form(X.astype(then)), y)
        if hasattr(model, "coef_"):
            assert model.coef_.dtype == first
        same = estimator(random_state=0).partial_fit(form(X.astype(first)), y)
        assert same_model(same.partial_fit(form(X.astype(then).astype(first)), y), model)


# -- n_jobs is slower, or nothing at all -----------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_there_is_no_n_jobs_that_does_nothing(estimator):
    assert "n_jobs" not in inspect.signature(estimator).parameters


# -- PassiveAggressive is deprecated ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "peer"), [("PA-I", "pa1"), ("PA-II", "pa2")])
def test_passive_aggressive_has_a_home(variant, peer):
    X, y = make_classification(150, 6, flip_y=0.1, random_state=5)
    knobs = {"penalty": None, "learning_rate": peer, "shuffle": False, "max_iter": 3, "tol": None, "eta0": 0.2}
    ours = {"variant": variant, "order": "cyclic", "max_epochs": 3, "fit_intercept": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PassiveAggressive(C=0.2, **ours).fit(X, y)
        numbers = PassiveAggressiveRegressor(C=0.2, epsilon=0.05, **ours).fit(X, y.astype(float))
    theirs = SGDClassifier(loss="hinge", fit_intercept=False, **knobs).fit(X, y)
    assert np.allclose(model.coef_, theirs.coef_)
    theirs = SGDRegressor(loss="epsilon_insensitive", epsilon=0.05, fit_intercept=False, **knobs).fit(
        X, y.astype(float)
    )
    assert np.allclose(numbers.coef_, theirs.coef_)


def test_an_unclipped_step_ends_at_the_margin():
    # scikit-learn moves the bias but leaves it out of the norm, so that its step goes beyond a margin of 1.
    for scale in (0.1, 1.0, 7.0):
        model = PassiveAggressive(variant="PA", order="cyclic")
        model.partial_fit([[scale, 2 * scale], [-scale, scale]], [1, 0])
        assert model.decision_function([[-scale, scale]]) == pytest.approx(-1.0)
