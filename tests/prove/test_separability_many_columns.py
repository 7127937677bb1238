"""Separability of rows with very many columns."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from verdicts import checked

# -- very many columns -----------------------------------------------------------------------------------------------


def text_like(n, d, noise=0.0, seed=0, words=12):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, d, (n, words))
    X = sp.csr_matrix((np.ones(n * words), columns.ravel(), np.arange(0, n * words + 1, words)), shape=(n, d))
    X.sum_duplicates()
    y = (X @ rng.standard_normal(d) > 0).astype(int)
    return X, y ^ (rng.random(n) < noise)


def test_wide_sparse_core_of_many_columns(monkeypatch):
    from rosenblatt.prove.separation import many_columns

    X, y = text_like(500, 3000, words=60)
    easy = sp.csr_matrix((np.ones(1500), (np.arange(1500), 3000 + np.arange(1500))), shape=(1500, 4500))
    X = sp.vstack([sp.hstack([X, sp.csr_matrix((500, 1500))]), easy], format="csr")
    y = np.append(y, np.arange(1500) % 2)
    found = many_columns.dual_descent_plane
    monkeypatch.setattr(
        "rosenblatt.prove.separation.search.dual_descent_plane", lambda z, i: found(z, i) if i.size < z.n else None
    )
    assert checked(X, y).verdict == "complete"


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_wide_sparse_rows(fit_intercept):
    X, y = text_like(900, 6000)
    verdict = checked(X, y, fit_intercept=fit_intercept)
    assert verdict.verdict == "complete"
    assert verdict.aliased is None
    assert checked(X, np.ones(900, int), fit_intercept=True).margin == math.inf


@pytest.mark.compiled
@pytest.mark.parametrize("n", [3000, 4000])
def test_sparse_rows_are_given_the_epochs_that_they_are_worth(n):
    X = sp.random(n, 2500, density=0.01, random_state=0, format="csr")
    assert checked(X, np.random.default_rng(0).integers(0, 2, n)).verdict == "complete"


@pytest.mark.compiled
def test_sparse_rows_that_are_not_very_many_are_given_the_corral(monkeypatch):
    monkeypatch.setattr("rosenblatt.prove.separation.many_columns.MIN_EPOCHS", 1)
    monkeypatch.setattr("rosenblatt.prove.separation.many_columns.VALUE_VISITS", 0)
    X = sp.random(3000, 1600, density=0.01, random_state=0, format="csr")
    f = X @ np.random.default_rng(1).standard_normal(1600)
    keep = np.abs(f) > 0.05
    assert checked(X[keep], f[keep] > 0).verdict == "complete"


@pytest.mark.compiled
def test_wide_sparse_twins():
    X, y = text_like(900, 6000)
    X, y = sp.vstack([X, X[:1]], format="csr"), np.append(y, 1 - y[0])
    verdict = checked(X, y)
    assert (verdict.verdict, verdict.rows) == ("quasi-complete", (0, 900))
    assert verdict.separable is False
    assert "…" in str(verdict)


@pytest.mark.parametrize("epochs", [28, 0])
def test_wide_sparse_with_a_core(monkeypatch, epochs):
    from rosenblatt.prove.separation import many_columns

    monkeypatch.setattr(many_columns, "MIN_EPOCHS", epochs)
    monkeypatch.setattr(many_columns, "VALUE_VISITS", 0)
    rng = np.random.default_rng(0)
    core = rng.integers(0, 2, (2500, 6)).astype(float)
    core_labels = core[:, 0].astype(int)
    X = sp.lil_matrix((2600, 4000))
    X[:2500, :6] = core
    for i in range(100):
        X[2500 + i, 2000 + i] = 1.0
    y = np.append(core_labels, rng.integers(0, 2, 100))
    assert checked(X.tocsr(), y).verdict == "complete"
    y[:6] ^= 1
    assert checked(X.tocsr(), y).verdict == "quasi-complete"


def test_wide_sparse_undecided(monkeypatch):
    from rosenblatt.prove.separation import many_columns

    monkeypatch.setattr(many_columns, "MIN_EPOCHS", 1)
    monkeypatch.setattr(many_columns, "VALUE_VISITS", 0)
    X, y = text_like(9000, 1600, noise=0.3, words=40)
    verdict = checked(X, y)
    assert (verdict.verdict, verdict.separable, verdict.rows) == ("undecided", None, None)
    assert "neither" in str(verdict)
    X, y = sp.vstack([X, X[:1]], format="csr"), np.append(y, 1 - y[0])
    known = checked(X, y)
    assert (known.verdict, known.separable, len(known.rows)) == ("undecided", False, 2)
    assert "strictly" in str(known)
