"""ONNX: what onnxruntime says is what the model says."""

import sys
import warnings

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import load_iris

import rosenblatt
from rosenblatt import FileError, export_onnx

X, Y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def ran(path, rows):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, {"X": rows}), strict=True))


NAMES = np.array(["a", "b", "c"])[Y]
CASES = [("AveragedPerceptron", labels, np.float64) for labels in (Y, Y == 0, NAMES, Y * 1.0, NAMES == "a")]
CASES += [("AveragedPerceptron", NAMES.astype("S"), np.float64)]
CASES += [
    (name, labels, np.float64)
    for name in ("MaxMargin", "Pegasos", "LinearClassifier", "LinearSVM", "HierarchicalPerceptron")
    for labels in (NAMES, Y == 0)
]
CASES += [("AveragedPerceptron", Y, np.float32), ("PAUM", NAMES, np.float64), ("AROW", Y, np.float64)]


@pytest.mark.parametrize(("name", "labels", "dtype"), CASES)
def test_classes(tmp_path, name, labels, dtype):
    rows = X.astype(dtype)
    settings = {} if name == "MaxMargin" else {"max_epochs": 5, "random_state": 0}
    model = getattr(rosenblatt, name)(**settings).fit(rows, labels)
    export_onnx(model, tmp_path / "m.onnx")
    said = ran(tmp_path / "m.onnx", rows)
    np.testing.assert_allclose(said["scores"], model.decision_function(rows), rtol=1e-4, atol=1e-4)
    names = model.predict(rows)
    names = names.astype("U") if names.dtype.kind == "S" else names
    assert (said["label"] == names).mean() > 0.99  # a tie may be rounded either way


@pytest.mark.parametrize("name", ["PassiveAggressiveRegressor", "LinearRegressor"])
def test_regression(tmp_path, name):
    model = getattr(rosenblatt, name)(max_epochs=5, random_state=0).fit(X, X[:, 0])
    export_onnx(model, tmp_path / "m.onnx")
    assert list(ran(tmp_path / "m.onnx", X)) == ["scores"]
    np.testing.assert_allclose(ran(tmp_path / "m.onnx", X)["scores"], model.predict(X))


def test_what_has_no_form(tmp_path, monkeypatch):
    path = tmp_path / "m.onnx"
    for model, match in [
        (rosenblatt.Perceptron(), "no coef_"),
        (rosenblatt.VotedPerceptron(max_epochs=1).fit(X, Y), "no coef_"),
        (rosenblatt.MaxMargin(), "MaxMargin has no coef_"),
        (rosenblatt.MultilayerPerceptron(max_epochs=1).fit(X, Y), "MultilayerPerceptron has no coef_"),
        (rosenblatt.KernelSVM().fit(X, Y), "KernelSVM has no coef_"),
        (rosenblatt.MarkI(8, max_epochs=1).fit(X, Y), "MarkI has no ONNX form"),
        (rosenblatt.Perceptron(multiclass="ovo", max_epochs=1).fit(X, Y), "one-vs-one"),
        (rosenblatt.Perceptron(max_epochs=1).fit(X, np.eye(3, dtype=int)[Y]), "multilabel models"),
        (
            rosenblatt.Perceptron(max_epochs=1).fit(X, np.array([(1,), (2,), (3,)], dtype="i,")[Y].astype(object)),
            "classes of",
        ),
    ]:
        with pytest.raises(FileError, match=match):
            export_onnx(model, path)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(FileError, match="pip install"):
        export_onnx(rosenblatt.Perceptron(max_epochs=1).fit(X, Y), path)
    assert not path.exists()
