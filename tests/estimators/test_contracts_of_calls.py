"""Contracts of calls: same seed, same bits; starts, explicit orders, all or nothing."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from contract_cases import PROPERTY
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from contracts import EVERY, TASKS, cases, draw, learned, make, tables
from family import CLASSIFIERS, ESTIMATORS, answers, contents, same_model, target_for
from rosenblatt import (
    AROW,
    AveragedPerceptron,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# -- the same bits ---------------------------------------------------------------------------------------------------


@cases(EVERY)
def test_same_seed_same_bits(estimator, parameters, task):
    X, y = draw(task, integer=False)
    one = learned(make(estimator, parameters, task), X, y)
    assert same_model(learned(make(estimator, parameters, task), X, y), one)
    assert same_model(
        learned(make(estimator, parameters, task, random_state=np.random.RandomState(3)), X, y),
        learned(make(estimator, parameters, task, random_state=np.random.RandomState(3)), X, y),
    )


@pytest.mark.parametrize("order", ["shuffle", "random"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_another_seed_is_another_order(estimator, order):
    X, y = draw("binary", integer=False)
    models = [learned(estimator(order=order, max_epochs=1, random_state=seed), X, y) for seed in range(4)]
    said = {answers(model, X).tobytes() for model in models}
    assert len(said) == 4


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_seed_is_a_fresh_order_each_time(estimator):
    X, y = draw("binary", integer=False)
    said = {answers(learned(estimator(max_epochs=1), X, y), X).tobytes() for _ in range(4)}
    assert len(said) > 1


# -- where to start --------------------------------------------------------------------------------------------------

FIRST_ORDER = [e for e in ESTIMATORS if e not in (AROW, SecondOrderPerceptron)]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("estimator", FIRST_ORDER)
def test_start_where_told(estimator, task):
    if estimator is PassiveAggressiveRegressor and task != "binary":
        pytest.skip("numbers have no classes")
    X, y = draw(task, integer=False)
    planes = {"binary": 1, "multinomial": 4, "ovr": 4, "ovo": 6, "labels": 3}[task]
    rng = np.random.default_rng(6)
    coef, intercept = rng.normal(size=(planes, X.shape[1])), rng.normal(size=planes)
    model = make(estimator, {}, task, order="cyclic", max_epochs=1)
    y = target_for(model, y)
    model.fit(X[:0:-1], y[:0:-1], coef_init=coef, intercept_init=intercept)
    assert model.report_.bound is None  # bounds are for a start at zero
    # Nothing to learn from a row that is right by far: the start is what is kept.
    zero = make(estimator, {}, task, order="cyclic", max_epochs=1).fit(
        X, y, coef_init=0 * coef, intercept_init=0 * intercept
    )
    assert same_model(zero, make(estimator, {}, task, order="cyclic", max_epochs=1).fit(X, y))
    if planes == 1:
        flat = make(estimator, {}, task, order="cyclic", max_epochs=1)
        flat.fit(X[:0:-1], y[:0:-1], coef_init=coef[0], intercept_init=float(intercept[0]))
        assert same_model(flat, model)
    for wrong in (coef[:, :-1], np.vstack([coef, coef]), coef[0, 0]):
        with pytest.raises(ValueError, match=r"coef_init has shape .* expected"):
            make(estimator, {}, task).fit(X, y, coef_init=wrong)
    with pytest.raises(ValueError, match="intercept_init has shape"):
        make(estimator, {}, task).fit(X, y, intercept_init=np.zeros(planes + 1))


def test_start_is_felt_to_the_bit():
    X, y = draw("binary")
    start = np.array([[1.0, -2.0, 3.0, 0.5, 0.25]])
    model = Perceptron(order="cyclic", max_epochs=1).fit(X, y, coef_init=start, intercept_init=[-4.0])
    w, b = start[0].copy(), -4.0
    for x, side in zip(X, np.where(y == 1, 1, -1), strict=True):
        if side * (w @ x + b) <= 0:
            w, b = w + side * x, b + side
    assert np.array_equal(model.coef_[0], w)
    assert model.intercept_[0] == b


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
@pytest.mark.parametrize("keep", ["last", "average", "vote", "pocket"])
def test_a_separating_start_is_kept(keep, multiclass):
    """No row moves it: the model is the start, also where there is no update at all."""
    centres = np.array([[4.0, 0.0], [-4.0, 1.0], [0.0, -5.0]])
    X, y = np.repeat(centres, 3, axis=0), np.repeat(np.arange(3), 3)
    done = Perceptron(multiclass=multiclass, order="cyclic").fit(X, y)
    for form in (X, sp.csr_array(X)):
        model = Perceptron(multiclass=multiclass, keep=keep).fit(
            form, y, coef_init=done.coef_, intercept_init=done.intercept_
        )
        assert (model.report_.outcome, model.report_.updates, model.n_iter_) == ("separated", 0, 1)
        assert np.array_equal(model.predict(form), y)
        if keep != "vote":
            assert np.array_equal(model.coef_, done.coef_)


@cases({name: v for name, v in EVERY.items() if v[0] in FIRST_ORDER and name not in ("1/t", "1/sqrt(t)", "by epoch")})
def test_warm_start_begins_at_the_last_iterate(estimator, parameters, task):
    X, y = draw(task, integer=False)
    model = make(estimator, parameters, task, warm_start=True, max_epochs=2)
    y = target_for(model, y)
    model.fit(X, y)
    last = model._state.last()
    told = make(estimator, parameters, task, max_epochs=2)
    told.fit(X, y, coef_init=last.coef, intercept_init=last.intercept)
    assert same_model(model.fit(X, y), told)
    cold = make(estimator, parameters, task, max_epochs=2).fit(X, y)
    model.set_params(warm_start=False)
    assert same_model(model.fit(X, y), cold)


def test_warm_start_needs_a_model_of_the_same_shape():
    X, y = draw("multinomial")
    model = Perceptron(warm_start=True, max_epochs=2).fit(X, y)
    before = contents(model)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X[y < 3], y[y < 3])
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X[:, :3], y)
    assert contents(model) == before


@pytest.mark.parametrize("estimator", [AROW, SecondOrderPerceptron])
def test_second_order_learners_have_no_warm_start(estimator):
    """It would forget the covariance; they start from given weights with the covariance of the first row."""
    X, y = draw("binary")
    assert "warm_start" not in estimator().get_params()
    with pytest.raises(ValueError, match="through the origin"):
        estimator(fit_intercept=False).fit(X, y, intercept_init=1)


# -- explicit orders -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda rows: np.array(rows, dtype=np.uint8)])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_explicit_order_is_visited_as_it_stands(estimator, form):
    X, y = draw("binary")
    y = y.astype(float)
    rows = [4, 0, 4, 4, 11, 1, 30, 2, 1]
    model = estimator(order=form(rows), max_epochs=3).fit(X, y)
    plain = estimator(order="cyclic", max_epochs=3)
    for _ in range(3):
        plain.partial_fit(X[rows], y[rows], **({} if estimator is PassiveAggressiveRegressor else {"classes": [0, 1]}))
    assert same_model(model, plain)


def test_convergence_in_an_explicit_order_is_confirmed_on_every_row():
    X = np.array([[2.0], [-2.0], [-1.0]])
    y = np.array([1, 0, 1])  # the order below never shows row 2, which is wrong
    model = Perceptron(order=[0, 1], max_epochs=5)
    with pytest.warns(ConvergenceWarning, match="1 of 3"):
        model.fit(X, y)
    assert model.report_.outcome == "budget"


@PROPERTY
@given(
    table=tables(),
    estimator=st.sampled_from([e for e in CLASSIFIERS if e not in (AveragedPerceptron, VotedPerceptron)]),
    multiclass=st.sampled_from(["multinomial", "ovr", "ovo"]),
    order=st.sampled_from(["shuffle", "cyclic", "random", "first", "worst"]),
)
@example(
    # The diagonal second-order perceptron learns by (A + xxᵀ)⁻¹v and predicts by A⁻¹v, whose signs may differ.
    table=(
        np.array([[0.0, 0], [0, -1], [0, 0], [-1, 1], [1, -1], [0, 0], [0, 0], [0, 0], [0, 0]]),
        np.array([0, 2, 0, 0, 0, 0, 0, 0, 0]),
    ),
    estimator=SecondOrderPerceptron,
    multiclass="ovr",
    order="shuffle",
)
def test_converged_is_every_row_right(table, estimator, multiclass, order):
    X, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = estimator(multiclass=multiclass, order=order, max_epochs=200, random_state=0).fit(X, y)
    if model.report_.outcome == "separated":
        assert model.report_.errors == 0
        assert np.array_equal(model.predict(X), y)
    else:
        assert model.report_.errors > 0 or multiclass != "multinomial"


# -- all or nothing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_call_that_raises_leaves_the_model(estimator, task):
    if estimator is PassiveAggressiveRegressor and task != "binary":
        pytest.skip("numbers have no classes")
    X, y = draw(task)
    spoilt = X.copy()
    spoilt[7, 2] = np.nan
    model = make(estimator, {}, task)
    y = target_for(model, y)
    fresh = contents(model)
    failing = [
        lambda m: m.fit(spoilt, y),
        lambda m: m.fit(X, y[:-1]),
        lambda m: m.fit(X, y, sample_weight=-np.ones(len(y))),
        lambda m: m.fit(X[:0], y[:0]),
        lambda m: m.fit(X, None),
        lambda m: m.fit(X, y, coef_init=np.ones((9, 9))),
        lambda m: m.set_params(order="sideways").fit(X, y),
        lambda m: m.set_params(order=[len(y)]).fit(X, y),
        lambda m: m.partial_fit(spoilt, y),
        lambda m: m.partial_fit(sp.csr_array(spoilt), y),
        lambda m: m.partial_fit(X, y[:-1]),
        lambda m: m.partial_fit(X, y, sample_weight=np.full(len(y), np.nan)),
        lambda m: m.set_params(order=[len(y)]).partial_fit(X, y),
        lambda m: m.set_params(max_epochs=0).partial_fit(X, y),
    ]
    for fail in failing:
        with pytest.raises(ValueError):  # noqa: PT011 - which message is for test_bad_input
            fail(model)
        model.set_params(order="shuffle", max_epochs=3)
        assert contents(model) == fresh
    model.fit(X, y)
    fitted = contents(model)
    later = [
        *failing,
        lambda m: m.partial_fit(X[:, :-1], y),
        lambda m: m.partial_fit(sp.csr_array(X[:, :1]), y),
    ]
    for fail in later:
        with pytest.raises(ValueError):  # noqa: PT011
            fail(model)
        model.set_params(order="shuffle", max_epochs=3)
        assert contents(model) == fitted


def test_a_rate_that_fails_in_the_middle_leaves_the_model():
    X, y = draw("multinomial")

    def rate(epoch):
        if epoch > 2:
            raise ArithmeticError("no rate")
        return 1.0

    model = Perceptron(learning_rate=rate, random_state=0, bias_step="radius")
    with pytest.raises(ArithmeticError):
        model.fit(X, y)
    assert set(vars(model)) == set(model.get_params())
    model.partial_fit(X, y).partial_fit(X, y)
    before = contents(model.set_params(learning_rate=1.0))
    with pytest.raises(ArithmeticError):
        model.set_params(learning_rate=rate).partial_fit(100 * X, y)
    with pytest.raises(ArithmeticError):
        # New classes, larger rows and fractions of weights are forgotten too.
        model.partial_fit(100 * X, y + 1, sample_weight=np.full(len(y), 0.5))
    assert contents(model.set_params(learning_rate=1.0)) == before


@pytest.mark.parametrize("form", [np.array, sp.csr_array, "zeros stored"])
@pytest.mark.parametrize("order", ["first", "worst"])
@pytest.mark.parametrize(
    "model",
    [PassiveAggressive(variant="PA"), PassiveAggressive(), PassiveAggressive(variant="PA-II"), Perceptron(), AROW()],
    ids=["PA", "PA-I", "PA-II", "perceptron", "AROW"],
)
def test_an_empty_row_is_passed_over(model, order, form):
    """Without an intercept no step moves a row of zeros: the rows after it are learned, and it stays wrong."""
    X, y = np.array([[0.0, 0.0], [2.0, 1.0], [-1.0, -2.0], [1.0, 2.0]]), [1, 1, 0, 1]
    if form == "zeros stored":
        rows = sp.csr_array(X + 7)
        rows.data -= 7
    else:
        rows = form(X)
    model = clone(model).set_params(order=order, fit_intercept=False, max_epochs=40)
    with pytest.warns(ConvergenceWarning, match="1 of 4 training rows wrong"):
        model.fit(rows, y)
    assert model.predict(X).tolist() == [0, 1, 0, 1]
    assert (model.report_.outcome, model.report_.errors) == ("budget", 1)
    # With an intercept it is a row like any other. (AROW comes ever nearer to its margin, and stays with the row.)
    if not isinstance(model, AROW):
        assert model.set_params(fit_intercept=True, max_epochs=200).fit(rows, y).report_.errors == 0
