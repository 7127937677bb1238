"""What the tests of contracts share: learners in many variants, tasks, small tables."""

import numpy as np
import pytest
from hypothesis import strategies as st

from family import target_for
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

# Rules that add whole numbers to whole numbers: nothing is ever rounded.
ADDITIVE = {
    "last": (Perceptron, {}),
    "rate": (Perceptron, {"learning_rate": 0.5}),
    "by epoch": (Perceptron, {"learning_rate": lambda epoch: 2.0**-epoch}),
    "margin": (Perceptron, {"margin": 3.0}),
    "radius": (Perceptron, {"bias_step": "radius"}),
    "bias step": (Perceptron, {"bias_step": 0.25}),
    "no bias": (Perceptron, {"fit_intercept": False}),
    "average": (AveragedPerceptron, {}),
    "vote": (VotedPerceptron, {}),
    "pocket": (Perceptron, {"keep": "pocket"}),
    "first": (Perceptron, {"order": "first"}),
    "worst": (Perceptron, {"order": "worst"}),
    "random": (Perceptron, {"order": "random"}),
    "PAUM": (PAUM, {"margin": (2.0, 5.0), "multiclass": "ovr"}),
}
ROUNDED = {
    "1/t": (Perceptron, {"learning_rate": "1/t"}),
    "1/sqrt(t)": (Perceptron, {"learning_rate": "1/sqrt(t)", "keep": "average"}),
    "batch": (Perceptron, {"update": "batch"}),
    "batch average": (AveragedPerceptron, {"update": "batch"}),
    "batch pocket": (Perceptron, {"update": "batch", "keep": "pocket"}),
    "line search": (Perceptron, {"update": "batch", "learning_rate": "line-search"}),
    "PA": (PassiveAggressive, {"variant": "PA"}),
    "PA-I": (PassiveAggressive, {"C": 0.5}),
    "PA-II": (PassiveAggressive, {"variant": "PA-II", "keep": "average"}),
    "AROW": (AROW, {}),
    "AROW full": (AROW, {"covariance": "full"}),
    "second order": (SecondOrderPerceptron, {}),
    "second order full": (SecondOrderPerceptron, {"covariance": "full"}),
    "regression": (PassiveAggressiveRegressor, {"C": 0.1}),
    "regression average": (PassiveAggressiveRegressor, {"variant": "PA-II", "keep": "average"}),
}
EVERY = {**ADDITIVE, **ROUNDED}
TASKS = ["binary", "multinomial", "ovr", "ovo", "labels"]


def cases(variants, tasks=tuple(TASKS)):
    """Each variant with each task that it can do."""
    found = []
    for name, (estimator, parameters) in variants.items():
        for task in tasks:
            if estimator is PassiveAggressiveRegressor and task != "binary":
                continue
            if name == "PAUM" and task == "multinomial":  # two margins are of two classes
                continue
            found.append(pytest.param(estimator, parameters, task, id=f"{name}-{task}"))
    return pytest.mark.parametrize(("estimator", "parameters", "task"), found)


def make(estimator, parameters, task, **more):
    settings = {"max_epochs": 3, "random_state": 7, **parameters, **more}
    if task in ("multinomial", "ovr", "ovo"):
        settings["multiclass"] = task
    return estimator(**settings)


def draw(task, rows=40, features=5, seed=0, integer=True):
    """Rows that no plane separates, whole numbers if asked for, and a target for the task."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(rows, features)).astype(float)
    if not integer:
        X = rng.normal(size=(rows, features))
    X[rng.random(X.shape) < 0.3] = 0.0
    classes = 2 if task == "binary" else 4
    scores = X @ rng.normal(size=(features, classes)) + rng.normal(size=(rows, classes))
    if task == "labels":
        return X, (scores[:, :3] > 0).astype(int)
    y = np.argmax(scores, axis=1)
    y[:classes] = np.arange(classes)
    return X, y


def learned(model, X, y, **more):
    return model.fit(X, target_for(model, y), **more)


@st.composite
def tables(draw_from, classes=3):
    n, d = draw_from(st.integers(2, 9)), draw_from(st.integers(1, 4))
    whole = st.integers(-3, 3)
    X = np.array(draw_from(st.lists(st.lists(whole, min_size=d, max_size=d), min_size=n, max_size=n)), dtype=float)
    y = np.array(draw_from(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n)))
    y[:2] = [0, classes - 1]
    return X, y
