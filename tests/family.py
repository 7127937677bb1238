"""The estimators, and what the tests of several files ask of all of them."""

import pickle

import numpy as np

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

CLASSIFIERS = [
    Perceptron,
    AveragedPerceptron,
    VotedPerceptron,
    PAUM,
    PassiveAggressive,
    AROW,
    SecondOrderPerceptron,
]
ESTIMATORS = [*CLASSIFIERS, PassiveAggressiveRegressor]


def target_for(estimator, y):
    """Labels as they are for a classifier, as numbers for the regressor."""
    return np.asarray(y, dtype=float) if isinstance(estimator, PassiveAggressiveRegressor) else y


def answers(model, X):
    """What the model says of rows, as finely as it can."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def contents(model):
    """All that a model is, as bytes: equal before and after a call that changed nothing."""
    return {name: pickle.dumps(value) for name, value in vars(model).items()}


def same_model(one, other, exact=True):
    """Whether two models are the same, to the bit or to rounding: what they say of themselves, and what they learned."""
    compare = np.array_equal if exact else lambda a, b: np.allclose(a, b, rtol=1e-4, atol=1e-5)
    names = [name for name in ("classes_", "coef_", "intercept_") if hasattr(one, name) or hasattr(other, name)]
    if hasattr(one, "votes_") if not hasattr(one, "coef_") else False:
        names += ["vectors_", "intercepts_", "votes_"]
    for name in names:
        a, b = getattr(one, name), getattr(other, name)
        if isinstance(a, list):
            assert len(a) == len(b)
        pairs = zip(a, b, strict=True) if isinstance(a, list) else [(a, b)]
        for left, right in pairs:
            assert np.shape(left) == np.shape(right), (name, np.shape(left), np.shape(right))
            same = np.array_equal(left, right) if name == "classes_" else compare(left, right)
            assert same, (name, left, right)
    assert one.report_.updates == other.report_.updates
    return True
