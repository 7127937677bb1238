"""LinearProbe: choice, calibration, report, rows wherever they are, refusals."""

import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt import FileError, LinearProbe, export_onnx, load, save
from rosenblatt.learn.calibration import temperature
from rosenblatt.objective.minibatch import MiniBatchDescent
from rosenblatt.objective.minibatch_settings import Settings
from rosenblatt.objective.minibatch_solver import default_passes
from rosenblatt.objective.probe import ALPHAS, split

NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])


def embeddings(n=600, d=12, K=5, far=0.8, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    return (rng.standard_normal((n, d)) + far * rng.standard_normal((K, d))[y]).astype(np.float32), y


def probe(**how):
    return LinearProbe(**{"random_state": 0, **how})


def quick():
    return probe(alphas=(1e-4, 1e-2), max_epochs=4)


def scored_by_halves(X, y):
    """The accuracy of each half of the held-out rows, by the penalty that is best on the other half."""
    seed = int(check_random_state(0).randint(np.iinfo(np.int32).max))
    K, epochs = int(y.max()) + 1, default_passes(len(X))
    learned, held = split(y, np.arange(len(X)), 0.1, seed)
    kind, columns = ("softmax", K) if K > 2 else ("log", 1)
    target = y if K > 2 else 2.0 * y - 1.0
    settings = Settings(kind, columns, ALPHAS, standardised=True, epochs=epochs, seed=seed)
    descent = MiniBatchDescent(X, target, settings, None, learned)
    for _ in range(epochs):
        descent.epoch()
    W, b = descent.planes(*descent.point())
    right, loss = [], []
    for w, c in zip(W, b, strict=True):
        f = X[held] @ w.T + c
        f = f if K > 2 else np.column_stack([0.0 * f, f])
        right.append(f.argmax(axis=1) == y[held])
        loss.append(-log_softmax(f, axis=1)[np.arange(held.size), y[held]])
    right, loss, found = np.array(right), np.array(loss), []
    for one, other in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        best = np.lexsort((loss[:, other].mean(axis=1), -right[:, other].mean(axis=1)))[0]
        found += right[best, one].tolist()
    return np.mean(found)


def test_the_best_of_ten_penalties_is_not_scored_by_the_rows_that_chose_it():
    """On noise the accuracy of the chosen penalty was 0.524 where 0.5 is true."""
    found, chosen, covered = [], [], 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, 20)).astype(np.float32), rng.permutation(np.arange(100) % 2)
        report = LinearProbe(random_state=seed, validation_fraction=0.3, max_epochs=10).fit(X, y).report_
        found.append(report.accuracy)
        chosen.append(max(report.accuracies))
        covered += report.interval[0] <= 0.5 <= report.interval[1]
    error = np.std(found) / np.sqrt(300)
    assert np.mean(found) - 0.5 < 3.0 * error < np.mean(chosen) - 0.5
    assert covered >= 0.93 * 300


# -- choice and report -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 5])
def test_it_chooses_on_held_out_rows_and_reports_them(K):
    X, y = embeddings(K=K)
    T, u = X[500:], NAMES[y][500:]
    model = probe().fit(X[:500], NAMES[y][:500])
    report = model.report_
    assert report.alphas == ALPHAS
    assert report.accuracy <= max(report.accuracies) == report.accuracies[ALPHAS.index(model.alpha_)]
    assert report.accuracy == pytest.approx(scored_by_halves(X[:500], y[:500]))
    assert report.interval[0] < report.accuracy < report.interval[1]
    assert report.rows == 500
    assert 50 <= report.held_out <= 55
    assert report.errors == (model.predict(X[:500]) != NAMES[y][:500]).sum()
    assert model.score(T, u) == (model.predict(T) == u).mean()
    best = max(
        LogisticRegression(C=C, max_iter=500).fit(X[:500], NAMES[y][:500]).score(T, u) for C in (0.001, 0.01, 0.1, 1.0)
    )
    assert model.score(T, u) >= best - 0.04
    assert model.coef_.shape == (1 if K == 2 else K, 12)
    text = str(report)
    assert re.search(r"accuracy 0\.\d+ on 5\d held-out rows \(95 %", text)
    assert text.count("alpha") >= 10
    assert "← chosen" in text


def test_the_path_of_the_choice_is_that_of_single_penalties():
    X, y = embeddings()
    path = probe(alphas=(1e-4, 1e-2, 1.0), max_epochs=3).fit(X, y).report_
    for k, alpha in enumerate((1e-4, 1e-2, 1.0)):
        one = probe(alphas=(alpha,), max_epochs=3).fit(X, y).report_
        assert one.accuracies[0] == path.accuracies[k]
        assert one.losses[0] == pytest.approx(path.losses[k], rel=1e-5)


def test_the_objective_is_that_of_scikit_learn_on_standardised_rows():
    X, y = embeddings()
    alpha = 0.01
    model = probe(alphas=(alpha,), max_epochs=60).fit(X.astype(np.float64), y)
    scaler = StandardScaler().fit(X.astype(np.float64))
    peer = LogisticRegression(C=1 / (alpha * len(y)), tol=1e-9, max_iter=2000).fit(scaler.transform(X), y)
    agree = (model.predict(X) == peer.predict(scaler.transform(X))).mean()
    assert agree > 0.99
    expected = log_loss(y, peer.predict_proba(scaler.transform(X))) + 0.5 * alpha * (peer.coef_**2).sum()
    assert expected <= model.report_.data_loss + model.report_.penalty + 1e-9 <= 1.001 * expected + 1e-9


def test_the_gradient_decides_on_the_outcome():
    X, y = embeddings(n=300)
    assert probe(alphas=(1e-4,), max_epochs=1).fit(X, y).report_.outcome == "budget"
    # No penalty holds the intercepts, however large it is: one pass has not brought them to the minimum.
    assert probe(alphas=(1e6,), max_epochs=1).fit(X, y).report_.outcome == "budget"


def test_without_a_refit_the_model_has_not_seen_the_held_out_rows():
    X, y = embeddings()
    kept, again = probe(refit=False).fit(X, y), probe().fit(X, y)
    assert kept.report_.rows + kept.report_.held_out == again.report_.rows == 600
    assert kept.alpha_ == again.alpha_
    assert (kept.coef_ != again.coef_).any()


def test_the_split_is_stratified_seeded_and_leaves_a_row_of_each_class():
    codes = np.repeat(np.arange(4), [50, 30, 2, 1])
    learned, held = split(codes, np.arange(83), 0.1, 7)
    assert sorted([*learned, *held]) == list(range(83))
    assert np.bincount(codes[held], minlength=4).tolist() == [5, 3, 1, 0]
    np.testing.assert_array_equal(held, split(codes, np.arange(83), 0.1, 7)[1])
    assert set(held) != set(split(codes, np.arange(83), 0.1, 8)[1])


def test_the_same_seed_gives_the_same_bits():
    X, y = embeddings()
    np.testing.assert_array_equal(probe().fit(X, y).coef_, probe().fit(X, y).coef_)


# -- probabilities ---------------------------------------------------------------------------------------------------


def test_the_temperature_finds_the_scale_that_scores_lack():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((20_000, 4))
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    y = (chances.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    assert temperature(5.0 * scores, y) == pytest.approx(0.2, rel=0.05)
    two = rng.standard_normal(20_000)
    on = (rng.random(20_000) < 1 / (1 + np.exp(-two))).astype(int)
    assert temperature(0.1 * two, on) == pytest.approx(10.0, rel=0.1)
    labels = np.column_stack([on, 1 - on])
    assert temperature(0.1 * np.column_stack([two, -two]), labels) == pytest.approx(10.0, rel=0.1)


def test_probabilities_are_calibrated_and_do_not_change_decisions():
    X, y = embeddings(n=4000, far=0.5)
    model = probe(alphas=(1e-6,), max_epochs=30).fit(X[:300], y[:300])  # too little penalty: too sure of itself
    chances = model.predict_proba(X[300:])
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X[300:]))
    scores = model.decision_function(X[300:])
    raw = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert log_loss(y[300:], chances) < log_loss(y[300:], raw / raw.sum(axis=1, keepdims=True))
    assert model.report_.scale < 1.0


# -- rows wherever they are ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_units_do_not_matter(scale):
    X, y = embeddings()
    model, other = probe().fit(X, y), probe().fit(np.float32(scale) * X, y)
    assert model.alpha_ == other.alpha_
    assert (model.predict(X) == other.predict(np.float32(scale) * X)).mean() > 0.995


@pytest.mark.parametrize("kind", ["float16", "int8"])
def test_narrow_rows_and_files_give_the_same_model(kind, tmp_path):
    X, y = embeddings()
    narrow = (20 * X).astype(kind)
    np.save(tmp_path / "rows.npy", narrow)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(narrow.reshape(-1)), 12)
    table = pa.table({"id": pa.array(range(600)), "vector": lists})
    with pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=170)
    wide = quick().fit(narrow.astype(np.float32), y)
    for rows in (
        narrow,
        tmp_path / "rows.npy",
        str(tmp_path / "rows.arrow"),
        np.load(tmp_path / "rows.npy", mmap_mode="r"),
        table,
        lists,
        pa.chunked_array([lists[:100], lists[100:]]),
    ):
        model = quick().fit(rows, y)
        assert model.coef_.dtype == np.float32
        assert model.score(rows, y) == pytest.approx(wide.score(narrow.astype(np.float32), y), abs=0.02)
        assert model.report_.held_out == wide.report_.held_out
    np.testing.assert_array_equal(quick().fit(narrow, y).coef_, quick().fit(lists, y).coef_)
    np.testing.assert_array_equal(  # chunks are read as one
        quick().fit(str(tmp_path / "rows.arrow"), y).coef_, quick().fit(tmp_path / "rows.npy", y).coef_
    )


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("(6, 8)", "(6,-8)"),
        ("(6, 8)", "(1, True)"),
        ("(6, 8)", "(99999999999999999999, 8)"),
        ("<f4", "<U1"),
        ("{", "["),
    ],
)
def test_npy_files_with_a_damaged_header_are_refused(part, other, tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((6, 8), np.float32))
    data = (tmp_path / "rows.npy").read_bytes().replace(part.encode(), other.encode(), 1)
    longer = len(other) - len(part)
    (tmp_path / "rows.npy").write_bytes(data.replace(b" " * longer + b"\n", b"\n", 1))
    with pytest.raises(FileError, match=r"rows\.npy: "):
        LinearProbe().fit(tmp_path / "rows.npy", [0, 1] * 3)


TRACED = """
import sys, tracemalloc
import numpy as np
from rosenblatt import LinearProbe
rng = np.random.default_rng(0)
X, y = np.empty((40_000, 256), np.float16), rng.integers(0, 3, 40_000)
for part in range(0, 40_000, 5_000):
    X[part : part + 5_000] = rng.standard_normal((5_000, 256), dtype=np.float32)
np.save(sys.argv[1], X)
for rows in (X, sys.argv[1]):
    tracemalloc.start()
    LinearProbe(alphas=(1e-2,), max_epochs=1).fit(rows, y).predict(rows)
    print(tracemalloc.get_traced_memory()[1] / X.nbytes)
    tracemalloc.stop()
"""


def test_rows_of_16_bits_are_never_widened_as_a_whole(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", TRACED, str(tmp_path / "rows.npy")], capture_output=True, text=True, check=True
    )
    assert all(float(share) < 0.8 for share in done.stdout.split())  # a copy in 32 bits is twice as large as X
    assert len(done.stdout.split()) == 2


def test_files_that_hold_no_embeddings_are_refused_in_words(tmp_path):
    X, y = embeddings()
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    (tmp_path / "bad.arrow").write_bytes(b"nothing")
    for name, what in (("bad.npy", "npy file"), ("bad.arrow", "Arrow file"), ("rows.csv", "are read from"),
                       ("missing.npy", "npy file")):  # fmt: skip
        with pytest.raises(FileError, match=what):
            probe().fit(tmp_path / name, y)
    lists = pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2))
    with pytest.raises(ValueError, match="missing at row 1"):
        probe().fit(lists, [0, 1])
    with pytest.raises(ValueError, match="missing value at row 1"):
        probe().fit(pa.array([[1.0, 2.0], [3.0, None]], pa.list_(pa.float32(), 2)), [0, 1])
    with pytest.raises(ValueError, match="lists of fixed size, one per row, found list"):
        probe().fit(pa.array([[1.0], [2.0]]), [0, 1])
    with pytest.raises(ValueError, match="has one column of lists"):
        probe().fit(pa.table({"a": [1, 2]}), [0, 1])
    with pytest.raises(ValueError, match="empty"):
        probe().fit(lists[:0], [])
    bad = X.astype(np.float16)
    bad[321, 7] = np.nan
    np.save(tmp_path / "nan.npy", bad)
    with pytest.raises(ValueError, match="NaN at row 321, column 7"):
        probe().fit(tmp_path / "nan.npy", y)
    with pytest.raises(ValueError, match="NaN at row 321, column 7"):
        probe().fit(X, y).predict(bad)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_arrays_of_other_libraries_stay_what_they_are(library, monkeypatch):
    array = pytest.importorskip(library, reason=f"{library} is not installed").asarray
    X, y = embeddings()
    X = X.astype(np.float64)
    expected = quick().fit(X, y)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    with config_context(array_api_dispatch=True):
        model = quick().fit(array(X), array(y))
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-8, atol=1e-9)
        for method in ("predict", "decision_function", "predict_proba"):
            found = getattr(model, method)(array(X))
            assert type(found) is type(array(X))
            np.testing.assert_allclose(np.asarray(found), getattr(expected, method)(X), rtol=1e-7, atol=1e-9)
        assert model.score(array(X), array(y)) == expected.score(X, y)


def test_on_a_gpu_answers_stay_there(monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    X, y = embeddings(n=4000)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with config_context(array_api_dispatch=True):
        rows = torch.asarray(X).half().cuda()
        model = probe().fit(rows, torch.asarray(y).cuda())
        assert model.predict(rows).is_cuda
        assert model.score(rows, torch.asarray(y).cuda()) >= probe().fit(X, y).score(X, y) - 0.02


# -- labels, weights, many classes, files ----------------------------------------------------------------------------


def test_several_labels_per_row():
    X, _ = embeddings()
    Y = (X[:, :3] + 0.3 * np.random.default_rng(1).standard_normal((600, 3)) > 0).astype(int)
    model = probe().fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.85
    assert model.predict_proba(X).shape == (600, 3)
    np.testing.assert_array_equal(model.predict_proba(X) > 0.5, model.predict(X) == 1)
    assert model.report_.losses.index(min(model.report_.losses)) == ALPHAS.index(model.alpha_)
    assert model.score(X, Y) == (model.predict(X) == Y).all(axis=1).mean()
    assert model.report_.interval is None


def test_a_thousand_classes():
    rng = np.random.default_rng(0)
    centres, y = rng.standard_normal((1000, 48)), np.repeat(np.arange(1000), 8)
    X = (centres[y] + 0.4 * rng.standard_normal((8000, 48))).astype(np.float16)
    model = probe(alphas=(1e-6, 1e-4), max_epochs=3, refit=False).fit(X, y)
    assert model.report_.held_out == 1000
    assert model.report_.accuracy > 0.9


def test_weights_and_class_weights():
    X, y = embeddings()
    s = np.ones(600)
    s[::5] = 0.0
    weighed = probe(alphas=(1e-2,)).fit(X, y, sample_weight=s)
    assert weighed.report_.rows == 480
    heavy = probe(alphas=(1e-2,), class_weight={0: 50.0}).fit(X, y)
    assert (heavy.predict(X) == 0).sum() > (probe(alphas=(1e-2,)).fit(X, y).predict(X) == 0).sum()
    assert weighed.score(X, y, sample_weight=s) == weighed.score(X[s > 0], y[s > 0])


def test_few_rows_and_wrong_calls():
    X, y = embeddings(n=6, K=3)
    one_each = probe().fit(X[:3], [0, 1, 2])  # nothing can be held out
    assert one_each.report_.accuracy is None
    assert one_each.report_.held_out == 0
    assert "held-out" not in str(one_each.report_)
    with pytest.raises(ValueError, match="two classes or more"):
        probe().fit(X, np.zeros(6))
    with pytest.raises(ValueError, match="y is None"):
        probe().fit(X, None)
    with pytest.raises(ValueError, match="multiplies dense rows"):
        probe().fit(sp.csr_matrix(X), y)
    with pytest.raises(ValueError, match="alphas must be"):
        probe(alphas=(-1.0,)).fit(X, [0, 1, 2, 0, 1, 2])


def test_ctrl_c_leaves_the_probe_as_it_was(monkeypatch):
    X, y = embeddings()
    model = probe().fit(X, y)
    before = model.coef_.copy()

    def interrupted(self, *how):
        raise KeyboardInterrupt

    monkeypatch.setattr(MiniBatchDescent, "by_variables", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:100], y[:100])
    np.testing.assert_array_equal(model.coef_, before)


def test_it_is_saved_loaded_and_exported(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = embeddings()
    model = probe().fit(X, NAMES[y])
    save(model, tmp_path / "probe.model")
    again = load(tmp_path / "probe.model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.report_ == model.report_
    export_onnx(model, tmp_path / "probe.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "probe.onnx", providers=["CPUExecutionProvider"])
    label, _ = session.run(None, {"X": X})
    assert (label == model.predict(X)).mean() > 0.995


@parametrize_with_checks(
    [LinearProbe(alphas=(1e-4, 1e-2), max_epochs=20, random_state=0)],
    expected_failed_checks=lambda probe: dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "repeated rows are shuffled and held out otherwise than weighted ones",
    ),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
