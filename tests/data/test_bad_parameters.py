"""Parameters that make no sense are refused in one sentence that names them."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from bad_input_cases import X, every_classifier, every_estimator, refused, three, y

import rosenblatt
from family import ESTIMATORS, target_for
from rosenblatt import (
    AROW,
    PAUM,
    AveragedPerceptron,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# -- parameters ------------------------------------------------------------------------------------------------------

WRONG = {
    "learning_rate": [0, -1.0, np.nan, np.inf, "fast", None, [1.0]],
    "fit_intercept": ["yes", None, 2],
    "bias_step": ["huge", "0.5", 0, -1.0, np.nan, np.inf, None, [1.0]],
    "margin": [-1, np.nan, np.inf, "wide", None, (1.0,), (1, 2, 3), (-1, 1), (1, np.nan), [[1, 2]], ("a", "b")],
    "update": ["now and then", None],
    "order": ["sideways", 3, None, [], [0.5, 1], [[0, 1]], [-1, 0], ["a"], [True, False]],
    "keep": ["first", None, 1],
    "multiclass": ["all", None],
    "max_epochs": [0, -3, 1.5, "many"],
    "early_stopping": ["yes", None],
    "validation_fraction": [0.0, 1.0, -0.1, 2, np.nan, "some"],
    "scoring": ["accurate", 1.5, ["accuracy"]],
    "n_iter_no_change": [0, -1, 2.5, None],
    "record_errors": ["yes", None],
    "class_weight": ["heavy", 3, [1, 2]],
    "warm_start": ["yes", None],
    "random_state": ["seed", -1, 1.5],
    "C": [0, -1, np.nan, np.inf, "x", None],
    "variant": ["PA-III", None],
    "epsilon": [-0.1, np.nan, np.inf, "x", None],
    "r": [0, -1, np.nan, np.inf, "x", None],
    "a": [0, -1, np.nan, np.inf, "x", None],
    "covariance": ["round", None],
}


@pytest.mark.parametrize(
    ("estimator", "name"),
    [(e, name) for e in ESTIMATORS for name in e().get_params()],
    ids=lambda v: getattr(v, "__name__", v),
)
def test_option_that_is_none(estimator, name):
    labels = target_for(estimator(), y)
    fitted = estimator(max_epochs=2).fit(X, labels)
    good = fitted.get_params()[name]
    for value in WRONG[name]:
        for model in (estimator(), fitted):
            model.set_params(**{name: value})
            refused(model, lambda m: m.fit(X, labels), name)
            if name not in ("max_epochs", "validation_fraction"):
                refused(model, lambda m: m.partial_fit(X, labels), name)
        fitted.set_params(**{name: good})


@every_estimator
def test_parameter_that_is_none(estimator):
    with pytest.raises(ValueError, match="shape_of_things"):
        estimator().set_params(shape_of_things="new")


@every_estimator
def test_order_that_names_rows_that_are_not_there(estimator):
    labels = target_for(estimator(), y)
    for order in ([0, 30], [2**40], np.array([31], dtype=np.uint8)):
        model = estimator(order=order)
        refused(model, lambda m: m.fit(X, labels), "order", f"row {max(order)}", "30 rows")
        refused(model, lambda m: m.partial_fit(X, labels), "order", f"row {max(order)}")
    # Rows that were there in the first call and are not in the next.
    model = estimator(order=[29, 0], max_epochs=2).fit(X, labels)
    refused(model, lambda m: m.partial_fit(X[:10], labels[:10]), "order", "row 29", "10 rows")


def test_pair_of_margins_is_for_two_classes():
    refused(Perceptron(margin=(1.0, 2.0)), lambda m: m.fit(X, three), "margin", "multinomial")
    refused(PAUM(margin=(1.0, 2.0), multiclass="multinomial"), lambda m: m.fit(X, three), "margin")
    for multiclass in ("ovr", "ovo"):
        Perceptron(margin=(1.0, 2.0), multiclass=multiclass, max_epochs=2).fit(X, three)
    model = Perceptron(margin=(1.0, 2.0)).partial_fit(X, y)
    refused(model, lambda m: m.partial_fit(X, three), "margin")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"learning_rate": "line-search"}, ["learning_rate", "line-search", "batch"]),
        ({"update": "batch", "keep": "vote"}, ["keep", "vote", "batch"]),
        *(({"update": "batch", "order": order}, ["order", "batch"]) for order in ("random", "first", "worst", [0, 1])),
    ],
)
def test_options_that_exclude_each_other(parameters, words):
    model = Perceptron(**parameters)
    refused(model, lambda m: m.fit(X, y), *words)
    refused(model, lambda m: m.partial_fit(X, y), *words)


class Rate:
    """A learning rate that can be pickled: good for some epochs, then not."""

    def __init__(self, value, good=0):
        self.value, self.good = value, good

    def __call__(self, epoch):
        return 1.0 if epoch <= self.good else self.value


@pytest.mark.parametrize("nonsense", [0.0, -1.0, np.nan, np.inf, None, "fast", [1.0, 2.0], 1j])
@pytest.mark.parametrize("estimator", [Perceptron, AveragedPerceptron, VotedPerceptron, PAUM])
def test_rate_that_is_none(estimator, nonsense):
    model = estimator(learning_rate=Rate(nonsense))
    refused(model, lambda m: m.fit(X, y), "learning_rate(1)")
    refused(model, lambda m: m.partial_fit(X, y), "learning_rate(1)")
    later = estimator(learning_rate=Rate(nonsense, good=1), max_epochs=3)
    refused(later, lambda m: m.fit(X, y), "learning_rate(2)")
    refused(later.partial_fit(X, y), lambda m: m.partial_fit(10 * X, y), "learning_rate(2)")


@every_classifier
def test_whole_data_options_are_not_for_pieces(estimator):
    refused(estimator(class_weight="balanced"), lambda m: m.partial_fit(X, y), "class_weight", "partial_fit")
    refused(estimator(early_stopping=True), lambda m: m.partial_fit(X, y), "early_stopping", "partial_fit")


def test_early_stopping_is_not_for_pieces_of_numbers_either():
    refused(PassiveAggressiveRegressor(early_stopping=True), lambda m: m.partial_fit(X, y), "early_stopping")


@every_estimator
def test_held_out_rows_leave_some_to_learn(estimator):
    model = estimator(early_stopping=True, validation_fraction=0.9)
    labels = target_for(model, y)
    chosen = [np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]
    refused(model, lambda m: m.fit(X[chosen], labels[chosen]), "validation_fraction")


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (Perceptron(), {"keep": "average"}),
        (Perceptron(keep="average"), {"keep": "last"}),
        (Perceptron(), {"keep": "vote"}),
        (PassiveAggressiveRegressor(), {"keep": "average"}),
        (PassiveAggressive(keep="average"), {"keep": "last"}),
        (Perceptron(), {"multiclass": "ovr"}),
        (Perceptron(), {"multiclass": "ovo"}),
        (Perceptron(multiclass="ovo"), {"multiclass": "multinomial"}),
        (Perceptron(multiclass="ovr"), {"multiclass": "ovo"}),
        (AROW(), {"covariance": "full"}),
        (AROW(covariance="full"), {"covariance": "diagonal"}),
        (SecondOrderPerceptron(), {"covariance": "full"}),
        (SecondOrderPerceptron(covariance="full"), {"covariance": "diagonal"}),
    ],
    ids=str,
)
def test_options_that_cannot_change_between_pieces(model, change):
    labels = target_for(model, three)
    model.partial_fit(X, labels).set_params(**change)
    refused(model, lambda m: m.partial_fit(X, labels), *change)


@pytest.mark.parametrize("name", ["coef_init", "intercept_init"])
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if e not in (AROW, SecondOrderPerceptron)])
def test_start_that_is_none(estimator, name):
    labels = target_for(estimator(), y)
    shape = (1, 4) if name == "coef_init" else (1,)
    for value in (np.full(shape, np.nan), np.full(shape, np.inf), np.ones((3, 3)), "zero"):
        refused(estimator(), partial(estimator.fit, X=X, y=labels, **{name: value}), name)


@pytest.mark.parametrize("name", ["Perceptron", "KernelPerceptron", "MaxMargin", "MarkI", "RandomWiring"])
def test_complex_numbers_are_refused_in_one_sentence(name):
    for rows in (np.eye(4) * 1j, sp.csr_matrix(np.eye(4) * 1j), [[1j], [2.0], [3.0], [4.0]]):
        with pytest.raises(ValueError, match=r"^Complex data not supported: X must hold real numbers\.$"):
            getattr(rosenblatt, name)().fit(rows, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rosenblatt.Layer(3, "relu", "no"), "bias of a layer must be True or False"),
        (lambda: rosenblatt.Layer(3, nonnegative="yes"), "nonnegative of a layer must be True or False"),
        (lambda: rosenblatt.Layer(3, ["relu"]), "activation must be one of"),
        (lambda: rosenblatt.MultilayerPerceptron((True,)).fit(X, y), "hidden_layer_sizes holds numbers of units"),
        (lambda: rosenblatt.KernelPerceptron(lambda A, B: "near").fit(X, y), "kernel must return a matrix of numbers"),
        (lambda: rosenblatt.paum_bounds(1.0, 0.5, 1.0), "tau must be two numbers"),
        (lambda: rosenblatt.paum_bounds(1.0, 0.5, ("a", "b")), "tau must be two numbers"),
        (lambda: rosenblatt.max_margin(X, y, tol="a"), "tol must be between 0 and 1"),
        (lambda: rosenblatt.max_margin(X, y, fit_intercept="no"), "fit_intercept must be True or False"),
        (lambda: rosenblatt.separability(X, y, fit_intercept="no"), "fit_intercept must be True or False"),
        (lambda: rosenblatt.HierarchicalPerceptron({0: [1], 1: None}).fit(X, y), "the name of its parent; 0 is mapped"),
    ],
)
def test_options_of_the_wrong_type(call, words):
    with pytest.raises(ValueError, match=words):
        call()
