"""What the tests of bad input share."""

import numpy as np
import pytest

from family import CLASSIFIERS, ESTIMATORS, contents, target_for

X = np.random.default_rng(0).normal(size=(30, 4))
y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
three = np.arange(30) % 3


def refused(model, call, *words):
    """The call raises a ValueError that has these words, and changes nothing."""
    before = contents(model)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are looked for below
        call(model)
    message = str(caught.value)
    for word in words:
        assert str(word) in message, f"{word!r} is not in {message!r}"
    assert contents(model) == before, "the call changed the model"


def each_way(estimator, call_fit, call_partial, *words):
    """The call is refused by a new model and by a fitted one, by `fit` and by `partial_fit`."""
    fitted = estimator(max_epochs=2)
    fitted.fit(X, target_for(fitted, y))
    for model in (estimator(max_epochs=2), fitted):
        refused(model, call_fit, *words)
        refused(model, call_partial, *words)


every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)
every_classifier = pytest.mark.parametrize("estimator", CLASSIFIERS)
