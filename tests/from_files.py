"""What the tests of training from files share: small files, and models compared to the bit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets

import rosenblatt
from rosenblatt import fit, read
from rosenblatt.learn.counters import Count

RNG = np.random.default_rng(0)


def settled(patch):
    """A file that was just written is taken for settled."""
    patch.setattr("rosenblatt.scale.row_cache.RACY", 0)


def small_blocks(patch):
    """Blocks and pools so small that a small file has many."""
    patch.setattr("rosenblatt.learn.orders.BLOCK", 64)
    for home in ("rosenblatt.learn.orders.POOL", "rosenblatt.scale.file_source.AT_ONCE"):
        patch.setattr(home, 5)
    for home in ("rosenblatt.scale.fit_from_files.CHUNK_BYTES", "rosenblatt.scale.fit_from_files.PIECE"):
        patch.setattr(home, 2000)


def dump_svmlight_file(X, y, path, **settings):
    datasets.dump_svmlight_file(X, y, str(path), **settings)


def rows(n=250, d=30, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, 0.2, format="csr", random_state=rng, data_rvs=lambda k: rng.normal(size=k).round(3))
    W = rng.normal(size=(classes, d))
    return X, np.argmax(X @ W.T + rng.normal(size=(n, classes)) * 0.3, axis=1)


def same(a, b):
    if isinstance(a, rosenblatt.MultilayerPerceptron):
        for name in ("flat", "first", "second", "steps", "epoch"):
            np.testing.assert_array_equal(getattr(a._state, name), getattr(b._state, name), err_msg=name)
        np.testing.assert_array_equal(a.classes_, b.classes_)
        return
    parts = [getattr(model._state, "machines", [model._state]) for model in (a, b)]
    for mine, other in zip(*parts, strict=True):
        assert type(mine) is type(other)
        held = []
        for one in (mine, other):  # a tree has its sums in fields of its own
            held.append(one.arrays if hasattr(one, "arrays") else (one.coef, one.intercept, one.total, one.total_b))
        for here, there in zip(*held, strict=True):
            np.testing.assert_array_equal(here, there)
        lasting = [Count.CLOCK, Count.UPDATES, Count.RUN]  # the rest of the tally is that of a pass
        np.testing.assert_array_equal(mine.tally[lasting], other.tally[lasting])
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    np.testing.assert_array_equal(getattr(a, "classes_", 0), getattr(b, "classes_", 0))


def check_same(make, path, **settings):
    X, y = read(path, **settings)
    whole, streamed = make(), make()
    whole.fit(X, y)
    fit(streamed, path, **settings)
    same(whole, streamed)
    for name in ("outcome", "updates", "errors", "margin", "bound", "rows", "radius"):
        assert getattr(whole.report_, name) == getattr(streamed.report_, name), name
    for one, other in zip(whole.report_.epochs, streamed.report_.epochs, strict=True):
        assert (one.updates, one.errors, one.converged) == (other.updates, other.errors, other.converged)
        assert one.loss == pytest.approx(other.loss)
    return streamed
