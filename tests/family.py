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
    """Hold two models against each other, to the bit or to rounding: classes, planes or votes, updates."""
    names = ["classes_", "coef_", "intercept_"]
    if not hasattr(one, "coef_"):
        names = ["classes_", "vectors_", "intercepts_", "votes_"]
    for name in names:
        if name == "classes_" and not hasattr(one, name):
            continue
        left, right = getattr(one, name), getattr(other, name)
        if not isinstance(left, list):  # a vote of many planes has a list, one a plane
            left, right = [left], [right]
        assert len(left) == len(right), name
        for a, b in zip(left, right, strict=True):
            assert np.shape(a) == np.shape(b), name
            if exact or name == "classes_":
                assert np.array_equal(a, b), (name, a, b)
            else:
                assert np.allclose(a, b, rtol=1e-4, atol=1e-5), (name, a, b)
    # A row at its margin but for rounding may be worth an update here and none there.
    assert not exact or one.report_.updates == other.report_.updates
    return True
