"""What the tests of model files share."""

import json
import os
import warnings

import numpy as np
import pytest
import safetensors.numpy
import scipy.sparse as sp
from sklearn.datasets import load_iris

import rosenblatt
from forged_files import sealed  # noqa: F401 (for the tests that import it from here)

OTHERS = {"Tagger", "TextEncoder", "GridSearchCV"}  # which take words, not rows; which holds a model
EVERY = [name for name in rosenblatt.__all__ if hasattr(getattr(rosenblatt, name), "get_params") and name not in OTHERS]
X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
FUZZ = int(os.environ.get("ROSENBLATT_FUZZ", "300"))


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fitted(name="Perceptron", **settings):
    return getattr(rosenblatt, name)(max_epochs=3, random_state=1, **settings).fit(X, NAMES)


def any_fitted(name, rows=X, labels=NAMES, **settings):
    """An estimator of any kind, fitted to the flowers."""
    model = getattr(rosenblatt, name)(**settings)
    few = {"random_state": 1, "max_epochs": 3, "n_units": 16, "hidden_layer_sizes": (5, rosenblatt.Layer(4, "tanh"))}
    model.set_params(**{key: few[key] for key in few.keys() & model.get_params().keys() - settings.keys()})
    return model.fit(rows, X[:, 0] if name.endswith("Regressor") else labels)


def said(model, rows=X):
    """All that a model says of rows."""
    asked = ("predict", "decision_function", "predict_proba", "transform")
    answers = [getattr(model, what)(rows) for what in asked if hasattr(model, what)]
    return [answer.toarray() if sp.issparse(answer) else answer for answer in answers]


def opened(data):
    length = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["rosenblatt"]), safetensors.numpy.load(data)
