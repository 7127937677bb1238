"""What the tests of mixing share."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn import datasets

from rosenblatt.scale import row_cache as cache


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    monkeypatch.setattr(cache, "RACY", 0)  # a file that was just written is taken for settled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def rows(n=90, d=6, classes=2, seed=0):
    """Numbers of few digits, and so many that no margin but the first is 0: there a twin in fractions may differ."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3000, 3001, (n, d)) / 1024
    W = rng.normal(size=(classes, d))
    return X, np.argmax(X @ W.T + rng.normal(size=(n, classes)) * 0.5, axis=1)


@pytest.fixture
def parts(tmp_path):
    """Files of rows; the pattern of their names."""

    def write(X, y, count=4, **settings):
        bounds = [len(y) * k // count for k in range(count + 1)]
        for k, (a, b) in enumerate(itertools.pairwise(bounds)):
            datasets.dump_svmlight_file(X[a:b], y[a:b], str(tmp_path / f"part-{k}.svm"), zero_based=False, **settings)
        return str(tmp_path / "part-*.svm")

    return write
