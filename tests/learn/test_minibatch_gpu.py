"""Mini-batches on a GPU, with torch and with CuPy; skipped where there is none. The core alone is imported here."""

import numpy as np
import pytest
from tests.minibatch_path import fit_path

from rosenblatt.formats.errors import NonFiniteInputError
from rosenblatt.objective.minibatch_settings import Settings
from rosenblatt.objective.row_reader import on_gpu, to_host

SETTINGS = Settings("softmax", 5, (1e-3, 1e-1), standardised=True, batch=256)


@pytest.fixture(params=["torch", "cupy"])
def place(request):
    """A function that copies an array to the GPU, as the array of a library."""
    library = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    if request.param == "torch":
        if not library.cuda.is_available():
            pytest.skip("no GPU")
        return lambda array: library.asarray(array).cuda()
    try:
        library.cuda.runtime.getDeviceCount()
    except library.cuda.runtime.CUDARuntimeError:
        pytest.skip("no GPU")
    return library.asarray


def blobs(n=8000, d=20, K=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    return (rng.standard_normal((n, d)) + rng.standard_normal((K, d))[y]).astype(np.float32), y


def said(X, W, b):
    return (X.astype(np.float32) @ to_host(W).T + to_host(b)).argmax(axis=1)


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int8"])
@pytest.mark.parametrize("d", [20, 200])  # from 128 features on the covariance of all rows is used
@pytest.mark.parametrize("shift", [0.0, 30.0])  # far from 0 rows are standardised before they are multiplied
def test_models_stay_on_the_gpu_and_agree_with_the_cpu(place, kind, d, shift):
    X, y = blobs(d=d)
    X = (8 * X + shift).clip(-128, 127).astype(kind)
    W, b = fit_path(X, y, SETTINGS)
    V, c = fit_path(place(X), place(y), SETTINGS)
    assert on_gpu(V)
    assert on_gpu(c)
    for k in range(2):
        assert (said(X, V[k], c[k]) == said(X, W[k], b[k])).mean() >= 0.98


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_the_same_seed_gives_the_same_bits(place, kind):
    X, y = blobs(d=200)
    X, y = place(X.astype(kind)), place(y)
    first, again = (to_host(fit_path(X, y, SETTINGS)[0]) for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("loss", ["log", "squared_hinge", "hinge", "squared", "absolute"])
def test_other_losses_and_weights(place, loss):
    X, y = blobs(d=200)
    numbers = loss in ("squared", "absolute")
    y = X[:, 0] - X[:, 1] if numbers else y
    s = np.random.default_rng(1).random(len(y)).astype(np.float32) + 0.5
    settings = Settings(loss, 1 if numbers else 5, (1e-3,), standardised=True)
    W, b = fit_path(X, y, settings, s)
    V, c = (to_host(each) for each in fit_path(place(X), place(y), settings, place(s)))
    if numbers:
        assert np.corrcoef(X @ W[0, 0] + b[0, 0], X @ V[0, 0] + c[0, 0])[0, 1] > 0.999
    else:
        assert (said(X, V[0], c[0]) == said(X, W[0], b[0])).mean() >= 0.95


@pytest.mark.parametrize("row", [0, 7999])
def test_a_value_that_is_not_finite_is_refused_with_its_row(place, row):
    X, y = blobs()
    X[row, 3] = np.nan
    for kind in ("float32", "float16"):
        with pytest.raises(NonFiniteInputError, match=f"contains NaN at row {row}, column 3"):
            fit_path(place(X.astype(kind)), place(y), SETTINGS)


def test_a_single_large_value_of_16_bits_is_no_reason_to_overflow(place):
    X, y = blobs()
    X = X.astype(np.float16)
    X[17, 3] = 60_000.0
    W, _ = fit_path(place(X), place(y), SETTINGS)
    assert np.isfinite(to_host(W)).all()


@pytest.mark.parametrize(
    ("size", "value", "weight"), [(1.0, 60_000.0, 1.0), (100.0, 1.0, 1000.0), (1.0, 30_000.0, 30.0)]
)
def test_a_weight_times_a_value_of_16_bits_does_not_overflow(place, size, value, weight):
    X, y = blobs(d=200)
    X = (size * X).astype(np.float16)
    X[17, 3] = value
    s = np.random.default_rng(1).random(len(y)).astype(np.float32) + 0.5
    s[:10] *= weight
    V, c = (to_host(each) for each in fit_path(place(X), place(y), SETTINGS, place(s)))
    assert (said(X, V[0], c[0]) == y).mean() > 0.9


def test_estimators_answer_where_the_rows_are(place, monkeypatch):
    pytest.importorskip("numba", reason="the estimators need numba")
    from sklearn import config_context

    from rosenblatt import LinearClassifier, LinearProbe

    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    X, y = blobs(n=2000)
    rows, labels = place(X.astype(np.float16)), place(y)
    with config_context(array_api_dispatch=True):
        for model in (LinearProbe(random_state=0), LinearClassifier(solver="minibatch", max_epochs=3, random_state=0)):
            model.fit(rows, labels)
            for answer in (model.predict(rows), model.predict_proba(rows), model.decision_function(rows)):
                assert on_gpu(answer)
            assert isinstance(model.coef_, np.ndarray)
            assert (to_host(model.predict(rows)) == y).mean() > 0.9
