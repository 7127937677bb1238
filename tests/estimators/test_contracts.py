"""The design's contracts, over every estimator to which each applies."""

import warnings
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from contracts import ADDITIVE, EVERY, ROUNDED, TASKS, cases, draw, learned, make, tables
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
PROPERTY = settings(max_examples=25, deadline=None, derandomize=True)


# -- sparse = dense --------------------------------------------------------------------------------------------------


def sparse_forms(X):
    yield sp.csr_matrix(X)
    yield sp.csr_array(X)
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield wide
    yield sp.coo_array(X)


@cases(ADDITIVE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_dense_to_the_bit_on_whole_numbers(estimator, parameters, task, dtype):
    X, y = draw(task)
    X = X.astype(dtype)
    dense = make(estimator, parameters, task).fit(X, y)
    sparse = make(estimator, parameters, task).fit(sp.csr_array(X), y)
    assert same_model(sparse, dense)
    assert sparse.report_.errors == dense.report_.errors
    # An average is a quotient, and its scores are rounded sums.
    compare = np.allclose if estimator is AveragedPerceptron else np.array_equal
    assert compare(sparse.report_.margin or 0, dense.report_.margin or 0)
    assert compare(sparse.decision_function(sp.csr_matrix(X)), dense.decision_function(X))


@cases(ROUNDED)
def test_sparse_is_dense_to_rounding(estimator, parameters, task):
    X, y = draw(task, integer=False)
    dense = learned(make(estimator, parameters, task), X, y)
    sparse = learned(make(estimator, parameters, task), sp.csr_array(X), y)
    assert same_model(sparse, dense, exact=False)
    assert np.allclose(answers(sparse, X), answers(dense, sp.csr_array(X)))


@pytest.mark.parametrize("task", ["binary", "multinomial", "ovo"])
def test_every_sparse_form_is_the_same(task):
    X, y = draw(task)
    dense = make(Perceptron, {}, task).fit(X, y)
    for form in sparse_forms(X):
        assert same_model(make(Perceptron, {}, task).fit(form, y), dense)
        assert np.array_equal(dense.predict(form), dense.predict(X))


@cases(EVERY)
def test_a_dense_model_learns_on_from_sparse_rows(estimator, parameters, task):
    X, y = draw(task)
    mixed, dense = make(estimator, parameters, task), make(estimator, parameters, task)
    for form in (X, sp.csr_array(X), X, sp.csr_array(X)):
        mixed.partial_fit(form, target_for(mixed, y))
        dense.partial_fit(X, target_for(mixed, y))
    additive = (estimator, parameters) in ADDITIVE.values()
    assert same_model(mixed, dense, exact=additive)


@PROPERTY
@given(
    table=tables(),
    keep=st.sampled_from(["last", "average", "vote", "pocket"]),
    multiclass=st.sampled_from(["multinomial", "ovr", "ovo"]),
    order=st.sampled_from(["shuffle", "cyclic", "random", "first", "worst"]),
)
def test_sparse_is_dense_on_any_small_table(table, keep, multiclass, order):
    X, y = table
    knobs = {"keep": keep, "multiclass": multiclass, "order": order, "max_epochs": 4, "random_state": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense = Perceptron(**knobs).fit(X, y)
        sparse = Perceptron(**knobs).fit(sp.csr_array(X), y)
    assert same_model(sparse, dense)
    assert sparse.report_.outcome == dense.report_.outcome
    assert np.array_equal(sparse.predict(X), dense.predict(X))


# -- dtype -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("task", ["binary", "multinomial", "ovo"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_dtype_is_kept(estimator, task, form):
    if estimator is PassiveAggressiveRegressor and task != "binary":
        pytest.skip("numbers have no classes")
    X, y = draw(task)
    for dtype, other in ((np.float32, np.float64), (np.float64, np.float32)):
        model = make(estimator, {}, task)
        y = target_for(model, y)
        model.fit(form(X.astype(dtype)), y)
        if hasattr(model, "coef_"):
            assert model.coef_.dtype == model.intercept_.dtype == dtype
        converted = deepcopy(model).partial_fit(form(X.astype(other)), y)
        assert same_model(converted, model.partial_fit(form(X.astype(dtype)), y))
        if hasattr(model, "coef_"):
            assert converted.coef_.dtype == dtype
        # Rows are scored in their own type.
        assert np.allclose(answers(model, form(X.astype(other))), answers(model, form(X.astype(dtype))), atol=1e-4)


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint16, bool, object])
def test_whole_numbers_are_learned_from_as_doubles(kind):
    X, y = draw("binary")
    X = np.abs(X).clip(0, 1)
    model = Perceptron(max_epochs=3, random_state=0).fit(X.astype(kind), y)
    assert model.coef_.dtype == np.float64
    assert same_model(model, Perceptron(max_epochs=3, random_state=0).fit(X, y))


# -- epochs and pieces -----------------------------------------------------------------------------------------------


@cases(EVERY)
@pytest.mark.parametrize("order", ["shuffle", "cyclic", "random", "explicit"])
def test_calls_of_partial_fit_are_the_epochs_of_fit(estimator, parameters, task, order):
    if order != "shuffle" and ("order" in parameters or parameters.get("update") == "batch"):
        pytest.skip("the variant has its own order")
    X, y = draw(task)
    if order in ("random", "explicit"):
        X = sp.csr_array(X)
    if order == "explicit":
        order = [3, 3, 0, 1, *range(39, 2, -1)]
    if "order" not in parameters:
        parameters = {**parameters, "order": order}
    whole, pieces = make(estimator, parameters, task), make(estimator, parameters, task)
    y = target_for(whole, y)
    whole.fit(X, y)
    for _ in range(whole.n_iter_):
        pieces.partial_fit(X, y)
    assert same_model(pieces, whole)
    assert pieces.n_iter_ == whole.n_iter_ == 3
    for one, other in zip(pieces.report_.epochs, whole.report_.epochs, strict=True):
        assert (one.epoch, one.updates, one.loss) == (other.epoch, other.updates, other.loss)
    # What the next epoch needs is the same too, and a fit forgets what was before.
    assert same_model(pieces.partial_fit(X, y), whole.partial_fit(X, y))
    assert same_model(pieces.fit(X, y), make(estimator, parameters, task).fit(X, y))


@cases({name: variant for name, variant in EVERY.items() if name not in ("by epoch", "radius", "pocket", "PAUM")})
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_pieces_in_file_order_are_one_epoch(estimator, parameters, task, form):
    # A pocket, a batch and PLA look at all rows at once: a piece is not what they would see.
    if "order" in parameters or parameters.get("update") == "batch":
        pytest.skip("looks at all rows at once")
    X, y = draw(task)
    parameters = {**parameters, "order": "cyclic"}
    whole, pieces = make(estimator, parameters, task), make(estimator, parameters, task)
    y = target_for(whole, y)
    classes = {} if estimator is PassiveAggressiveRegressor or task == "labels" else {"classes": np.unique(y)}
    for _ in range(2):
        whole.partial_fit(form(X), y, **classes)
        for begin, end in ((0, 1), (1, 8), (8, 9), (9, 30), (30, 40)):
            pieces.partial_fit(form(X[begin:end]), y[begin:end], **classes)
    assert same_model(pieces, whole)
    assert np.array_equal(answers(pieces, X), answers(whole, X))


# -- weights ---------------------------------------------------------------------------------------------------------


@cases({name: variant for name, variant in EVERY.items() if variant[1].get("order") != "random"})
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_weight_k_is_the_row_k_times_in_a_row(estimator, parameters, task, form):
    X, y = draw(task)
    weight = np.random.default_rng(3).integers(1, 5, size=len(y))
    if parameters.get("update") != "batch" and "order" not in parameters:
        parameters = {**parameters, "order": "cyclic"}
    weighted, copied = make(estimator, parameters, task), make(estimator, parameters, task)
    y = target_for(weighted, y)
    weighted.fit(form(X), y, sample_weight=weight)
    copied.fit(form(np.repeat(X, weight, axis=0)), np.repeat(y, weight, axis=0))
    if parameters.get("order") == "first" or parameters.get("order") == "worst":
        # One visit an epoch: a weight of k gives a row k visits at once, copies one each.
        assert weighted.report_.updates >= copied.report_.updates
        return
    assert same_model(weighted, copied, exact=parameters.get("update") != "batch")
    assert weighted.report_.margin == copied.report_.margin or parameters.get("update") == "batch"
    assert [e.updates for e in weighted.report_.epochs] == [e.updates for e in copied.report_.epochs]
    assert np.allclose([e.loss for e in weighted.report_.epochs], [e.loss for e in copied.report_.epochs])


@PROPERTY
@given(
    table=tables(),
    weight=st.lists(st.integers(1, 4), min_size=9, max_size=9),
    keep=st.sampled_from(["last", "average", "vote", "pocket"]),
    multiclass=st.sampled_from(["multinomial", "ovr", "ovo"]),
)
def test_weight_is_copies_on_any_small_table(table, weight, keep, multiclass):
    X, y = table
    weight = weight[: len(y)]
    knobs = {"keep": keep, "multiclass": multiclass, "order": "cyclic", "max_epochs": 4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighted = Perceptron(**knobs).fit(X, y, sample_weight=weight)
        copied = Perceptron(**knobs).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert same_model(weighted, copied)
    assert weighted.report_.outcome == copied.report_.outcome


def test_weights_in_an_explicit_order_are_copies_too():
    X, y = draw("binary")
    weight = np.random.default_rng(3).integers(1, 5, size=len(y))
    order = np.random.default_rng(4).permutation(len(y))
    first = np.concatenate([[0], np.cumsum(weight)])
    long = np.concatenate([np.arange(first[row], first[row + 1]) for row in order])
    for estimator, parameters in ((Perceptron, {}), (AveragedPerceptron, {}), (AROW, {}), (PassiveAggressive, {})):
        weighted = make(estimator, parameters, "binary", order=order).fit(X, y, sample_weight=weight)
        copied = make(estimator, parameters, "binary", order=long).fit(
            np.repeat(X, weight, axis=0), np.repeat(y, weight)
        )
        assert same_model(weighted, copied)


@cases(EVERY)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_weight_zero_is_the_row_absent(estimator, parameters, task, form):
    X, y = draw(task, integer=False)
    # A row that would change everything, and a class that only absent rows have.
    weight = (np.random.default_rng(5).random(len(y)) < 0.7).astype(float)
    weight[:4] = 1.0
    X[10], weight[10] = 1e6, 0.0
    present = weight > 0
    without, absent = make(estimator, parameters, task), make(estimator, parameters, task)
    y = target_for(without, y)
    without.fit(form(X[present]), y[present])
    absent.fit(form(X), y, sample_weight=weight)
    assert same_model(absent, without)
    for name in ("outcome", "updates", "errors", "margin", "radius", "bound", "rows"):
        assert getattr(absent.report_, name) == getattr(without.report_, name), name


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weight_zero_is_absent_where_rows_are_held_out(estimator):
    X, y = draw("binary", integer=False)
    weight = np.where(np.arange(len(y)) % 4 == 2, 0.0, 1.0)
    knobs = {"early_stopping": True, "validation_fraction": 0.3, "max_epochs": 6, "random_state": 0}
    without, absent = estimator(**knobs), estimator(**knobs)
    y = target_for(without, y)
    without.fit(X[weight > 0], y[weight > 0])
    absent.fit(X, y, sample_weight=weight)
    assert same_model(absent, without)
    assert [epoch.score for epoch in absent.report_.epochs] == [epoch.score for epoch in without.report_.epochs]


def test_rows_are_held_out_by_class():
    X, y = draw("multinomial")
    X, y = np.vstack([X, X[:1]]), np.append(y, 9)  # a class of one row, which stays to be learned
    model = Perceptron(early_stopping=True, validation_fraction=0.5, max_epochs=3, random_state=0).fit(X, y)
    counts = np.bincount(y)
    assert model.report_.rows == sum(n - min(-(-n // 2), n - 1) for n in counts if n)
    assert model.coef_[4].any()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_any_layout_of_memory_is_the_same(estimator):
    X, y = draw("binary", integer=False)
    y = target_for(estimator(), y)
    plain = estimator(max_epochs=3, random_state=0).fit(X, y)
    wide = np.zeros((len(y), 10))
    wide[:, ::2] = X
    for form in (np.asfortranarray(X), wide[:, ::2], np.vstack([X, X])[: len(y)], X[::-1].copy()[::-1]):
        assert same_model(estimator(max_epochs=3, random_state=0).fit(form, y), plain)
        assert np.array_equal(plain.predict(form), plain.predict(X))


def test_weight_zero_is_absent_from_an_explicit_order():
    X, y = draw("binary")
    order = [5, 1, 0, 2, 5, 9, 3, 4]
    weight = np.ones(len(y))
    weight[[1, 5]] = 0.0
    absent = Perceptron(order=order, max_epochs=3).fit(X, y, sample_weight=weight)
    without = Perceptron(order=[0, 2, 9, 3, 4], max_epochs=3).fit(X, y)
    assert np.array_equal(absent.coef_, without.coef_)


def test_a_class_that_only_absent_rows_have_is_no_class():
    X, y = draw("multinomial")
    model = Perceptron(max_epochs=3, random_state=0).fit(X, y, sample_weight=(y != 3).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert same_model(model, Perceptron(max_epochs=3, random_state=0).fit(X[y != 3], y[y != 3]))


@cases({name: variant for name, variant in EVERY.items() if not name.startswith("regression")}, TASKS[:-1])
def test_class_weight_weighs_the_rows_of_the_class(estimator, parameters, task):
    X, y = draw(task)
    share = {0: 2, 1: 3}
    weight = np.array([share.get(label, 1) for label in y], dtype=float)
    by_class = make(estimator, parameters, task, class_weight=share).fit(X, y)
    by_row = make(estimator, parameters, task).fit(X, y, sample_weight=weight)
    assert same_model(by_class, by_row)
    both = make(estimator, parameters, task, class_weight=share).fit(X, y, sample_weight=weight)
    assert same_model(both, make(estimator, parameters, task).fit(X, y, sample_weight=weight**2))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_class_weight_zero_is_the_rows_absent(estimator):
    X, y = draw("multinomial", integer=False)
    with_zero = make(estimator, {}, "multinomial", class_weight={2: 0.0})
    without = make(estimator, {}, "multinomial")
    for _ in range(2):
        with_zero.partial_fit(X, y)
        without.partial_fit(X[y != 2], y[y != 2], classes=[0, 1, 2, 3])
    assert same_model(with_zero, without)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_balanced_classes_count_absent_rows_not(estimator):
    X, y = draw("multinomial")
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    balanced = make(estimator, {}, "multinomial", class_weight="balanced").fit(X, y, sample_weight=weight)
    X, y = X[weight > 0], y[weight > 0]
    counts = np.bincount(y)
    by_hand = make(estimator, {}, "multinomial").fit(X, y, sample_weight=len(y) / (counts.size * counts[y]))
    assert same_model(balanced, by_hand)


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
        assert (model.report_.outcome, model.report_.updates, model.n_iter_) == ("converged", 0, 1)
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
def test_second_order_learners_start_from_zero(estimator):
    X, y = draw("binary")
    with pytest.raises(ValueError, match="starts from zero"):
        estimator().fit(X, y, coef_init=np.ones((1, 5)))
    assert "warm_start" not in estimator().get_params()


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
    if model.report_.outcome == "converged":
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
