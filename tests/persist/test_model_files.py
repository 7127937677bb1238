"""Model files: every estimator comes back whole, and nothing else is let in."""

import json
from dataclasses import is_dataclass
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from model_file_cases import (
    EVERY,
    NAMES,
    X,
    Y,
    _quiet,  # noqa: F401 (fixtures)
    any_fitted,
    fitted,
    opened,
    said,
    sealed,
)

import rosenblatt
from rosenblatt import FileError, load, save
from rosenblatt.learn.models import Planes
from rosenblatt.model_files.encoding import RECORDS, Arrays, decode, encode, record_class
from rosenblatt.model_files.save_and_load import from_bytes, to_bytes

CLASSIFIERS = ["Perceptron", "AveragedPerceptron", "VotedPerceptron", "PAUM", "PassiveAggressive", "AROW"]
CLASSIFIERS += ["SecondOrderPerceptron"]


def come_back(model, rows=X):
    """The model from its file, which must be the one that was saved."""
    data = to_bytes(model)
    again = from_bytes(data)
    assert to_bytes(again) == data
    for one, other in zip(said(model, rows), said(again, rows), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert vars(again).keys() == vars(model).keys()
    assert again.get_params() == model.get_params()
    if hasattr(model, "report_"):
        assert again.report_ == model.report_
        assert str(again.report_) == str(model.report_)
    return again


def same(a, b):
    """Equal to the bit: what they say, and what they say after one more epoch."""
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    a.partial_fit(X, NAMES)
    b.partial_fit(X, NAMES)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    assert a.get_params() == b.get_params()


@pytest.mark.parametrize("rows", [X, sp.csr_matrix(X), sp.csr_array(X.astype(np.float32))], ids=["dense", "csr", "f32"])
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_comes_back_to_the_bit(name, multiclass, rows):
    model = getattr(rosenblatt, name)(max_epochs=2, random_state=1, multiclass=multiclass).fit(rows, NAMES)
    data = to_bytes(model)
    again = from_bytes(data)
    assert to_bytes(again) == data
    assert again.report_ == model.report_
    same(model, again)


@pytest.mark.parametrize("rows", [X, sp.csr_matrix(X), X.astype(np.float32)], ids=["dense", "csr", "f32"])
@pytest.mark.parametrize("name", EVERY)
def test_every_estimator_comes_back_to_the_bit(name, rows):
    if name == "LinearProbe" and sp.issparse(rows):
        pytest.skip("LinearProbe takes dense rows only")
    model = any_fitted(name, rows)
    again = come_back(model, rows)
    if hasattr(model, "partial_fit"):
        labels = X[:, 0] if name.endswith("Regressor") else NAMES
        for one, other in zip(
            said(model.partial_fit(rows, labels)), said(again.partial_fit(rows, labels)), strict=True
        ):
            np.testing.assert_array_equal(one, other)
    new = to_bytes(getattr(rosenblatt, name)())
    assert to_bytes(from_bytes(new)) == new


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("KernelPerceptron", {"keep": "average", "fit_intercept": True, "multiclass": "ovo"}),
        ("KernelPerceptron", {"keep": "vote", "multiclass": "ovr"}),
        ("KernelPerceptron", {"keep": "vote", "kernel": "poly"}),
        ("KernelPerceptron", {"max_support": 9, "multiclass": "ovr"}),
        ("KernelPerceptron", {"max_support": 9, "multiclass": "ovo", "when_full": "forgetron"}),
        ("KernelSVM", {"multiclass": "ovo", "kernel": "linear"}),
        ("HierarchicalPerceptron", {"keep": "average", "tree": ["setosa", ["versicolor", "virginica"]]}),
        ("HierarchicalPerceptron", {"tree": {"setosa": None, "versicolor": "v", "virginica": "v"}}),
        ("MultilayerPerceptron", {"solver": "sgd", "loss": "squared", "early_stopping": True}),
        ("MultilayerPerceptron", {"hidden_layer_sizes": rosenblatt.Layer(5, "log-square", gain_control=True)}),
        ("MarkI", {"keep": "vote"}),
        ("MarkI", {"keep": "average", "multiclass": "ovo", "threshold": "median"}),
        ("MaxMargin", {"fit_intercept": False}),
        ("LinearClassifier", {"penalty": "l1", "loss": "hinge"}),
        ("LinearSVM", {"multiclass": "crammer_singer"}),
        ("Pegasos", {"project": True}),
    ],
)
def test_the_settings_of_every_estimator_come_back(name, settings):
    for labels in (NAMES, Y == 0):
        if "max_support" in settings or not isinstance(settings.get("tree"), list | dict) or labels is NAMES:
            model = any_fitted(name, labels=labels, **settings)
            again = come_back(model)
            if hasattr(model, "partial_fit") and not settings.get("early_stopping"):
                model.partial_fit(X, labels)
                again.partial_fit(X, labels)
                np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))


@pytest.mark.parametrize("name", ["Perceptron", "KernelPerceptron", "KernelSVM", "MarkI"])
@pytest.mark.parametrize(
    "labels",
    [NAMES.astype("S"), NAMES.astype("S").astype(object), Y.astype(np.uint8), Y == 1, NAMES.astype(object)],
    ids=["S", "bytes", "uint8", "bool", "object"],
)
def test_names_of_every_kind_come_back(name, labels):
    assert come_back(any_fitted(name, labels=labels)).classes_.dtype == labels.dtype


def test_the_widest_planes_of_classes_named_by_bytes_come_back():
    model = any_fitted("MaxMargin", labels=NAMES.astype("S"))
    again = from_bytes(to_bytes(model))
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_names_that_are_tuples_come_back():
    labels = np.empty(Y.size, dtype=object)
    labels[:] = [("flower", int(k)) for k in Y]
    model = rosenblatt.Perceptron(max_epochs=2, random_state=0).fit(X, labels)
    assert come_back(model).classes_.tolist() == model.classes_.tolist()


def test_a_label_by_indicator_comes_back():
    for name in ("Perceptron", "KernelPerceptron", "KernelSVM", "LinearSVM"):
        come_back(any_fitted(name, labels=np.eye(3, dtype=int)[Y]))


def test_the_layers_of_a_network_are_parts_of_its_weights():
    model = from_bytes(to_bytes(any_fitted("MultilayerPerceptron")))
    assert all(np.shares_memory(part, model._state.flat) for part in model.coefs_)
    assert model._kept.flat is model._state.flat


def test_proofs_come_back_and_hold():
    model = any_fitted("MaxMargin")
    again = from_bytes(to_bytes(model))
    assert again.certificates_ == model.certificates_
    assert again.report_.outcome == "inseparable"
    again.report_.witness.verify(X, NAMES)


def test_a_copy_that_only_answers_comes_back():
    """What a callback is given: the model of an epoch, without the state of its training."""
    for name in ("Perceptron", "PassiveAggressiveRegressor", "MarkI", "HierarchicalPerceptron", "KernelPerceptron"):
        model = any_fitted(name)
        del model._state
        again = from_bytes(to_bytes(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_classes_cannot_be_left_out():
    about, arrays = opened(to_bytes(rosenblatt.Perceptron().partial_fit(X[:3], NAMES[:3])))
    attributes = {name: value for name, value in about["attributes"].items() if name != "classes_"}
    with pytest.raises(FileError, match="classes"):
        from_bytes(sealed({**about, "attributes": attributes}, arrays))


def test_what_cannot_be_loaded_is_not_saved(tmp_path):
    model = fitted()
    model.coef_ = model.coef_[:, :2]
    with pytest.raises(FileError, match="this Perceptron is not in a state that `fit` can produce: expected planes"):
        save(model, tmp_path / "model")
    model = fitted()
    model.Notes = "mine"
    with pytest.raises(FileError, match="Notes is not an attribute of Perceptron"):
        save(model, tmp_path / "model")
    model = fitted()
    model.notes_ = "mine"
    with pytest.raises(FileError, match="notes_ is not an attribute of Perceptron"):
        save(model, tmp_path / "model")
    model = rosenblatt.Perceptron(class_weight=np.array([{1}], dtype=object))
    with pytest.raises(FileError, match="class_weight holds an array of set"):
        save(model, tmp_path / "model")
    model = rosenblatt.Perceptron(random_state=np.random.RandomState(np.random.PCG64(0)))
    with pytest.raises(FileError, match="random_state holds a RandomState that does not use MT19937"):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"keep": "pocket"},
        {"keep": "vote", "order": "cyclic"},
        {"class_weight": {"setosa": 2.0, "virginica": 0.5}},
        {"class_weight": "balanced", "early_stopping": True},
        {"margin": (1.0, 1.0), "order": [5, 6, 7, 100]},
        {"margin": np.array([1.0, 1.0])},
        {"learning_rate": "1/t"},
        {"learning_rate": np.float64(0.5), "fit_intercept": np.bool_(True)},
    ],
    ids=str,
)
def test_every_setting_comes_back(settings, tmp_path):
    model = rosenblatt.Perceptron(max_epochs=3, random_state=0, **settings).fit(X, NAMES)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    for name, value in model.get_params().items():
        np.testing.assert_array_equal(getattr(again, name), value)


def test_full_covariance_and_regression_and_two_classes(tmp_path):
    for model in (
        rosenblatt.AROW(covariance="full", max_epochs=2, random_state=0).fit(X, NAMES),
        rosenblatt.SecondOrderPerceptron(covariance="full", max_epochs=2, random_state=0).fit(X, NAMES),
        rosenblatt.PassiveAggressiveRegressor(keep="average", max_epochs=2, random_state=0).fit(X, X[:, 0]),
        rosenblatt.VotedPerceptron(max_epochs=2, random_state=0).fit(X, Y == 0),
        rosenblatt.Perceptron(random_state=0, max_epochs=2).fit(X, np.eye(3, dtype=int)[Y]),
        rosenblatt.Perceptron(random_state=0, max_epochs=2).fit(X, NAMES.astype(object)),
    ):
        save(model, tmp_path / "model")
        again = load(tmp_path / "model")
        np.testing.assert_array_equal(model.predict(X), again.predict(X))
        assert getattr(again, "classes_", np.zeros(0)).dtype == getattr(model, "classes_", np.zeros(0)).dtype


def test_an_unfitted_model_and_a_random_state(tmp_path):
    model = rosenblatt.Perceptron(random_state=np.random.RandomState(3))
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.random_state.randint(1 << 30) == model.random_state.randint(1 << 30)
    assert not hasattr(again, "coef_")


def test_weights_and_published_weights_stay_apart():
    model = from_bytes(to_bytes(fitted()))
    before = model.coef_.copy()
    model._state.machines[0].coef += 1
    np.testing.assert_array_equal(model.coef_, before)


def test_a_function_is_refused_by_name(tmp_path):
    model = rosenblatt.Perceptron(learning_rate=lambda epoch: 1.0, max_epochs=2).fit(X, NAMES)
    with pytest.raises(FileError, match="learning_rate holds a function"):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def repr_of_kind(value):
    """A name that is the same in every process."""
    return str(getattr(value, "dtype", type(value).__name__))


@pytest.mark.parametrize(
    "value", [1j, {1, 2}, np.array([1j]), np.array(["2020-01-01"], "M8[D]"), object()], ids=repr_of_kind
)
def test_what_a_file_cannot_hold_is_refused_by_name(value):
    with pytest.raises(FileError, match="thing holds"):
        encode(value, Arrays(), "thing")


def test_only_our_estimators_are_saved():
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(FileError, match="LogisticRegression"):
        to_bytes(LogisticRegression())


def test_plain_values_come_back():
    for value in (
        None,
        True,
        3,
        2.5,
        float("inf"),
        "text",
        [1, [2]],
        (1, ("a", None)),
        {"a": 1, 2: (3,)},
        b"\0\xff",
        Fraction(-1, 3 << 90),
    ):
        again = decode(json.loads(json.dumps(encode(value, Arrays(), "x"))), Arrays())
        assert again == value
        assert type(again) is type(value)
    assert np.isnan(decode(encode(float("nan"), Arrays(), "x"), Arrays()))


def test_every_tag_is_of_a_record_of_its_own():
    kinds = [record_class(tag) for tag in RECORDS]
    assert all(is_dataclass(kind) or hasattr(kind, "_fields") for kind in kinds)
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize(
    "tag", ["os.system", "planes.state.State", "planes.state.np", "State", "Perceptron", "", "__class__"]
)
def test_a_file_names_no_class_but_by_its_tag(tag):
    with pytest.raises(ValueError, match="is not a record of rosenblatt"):
        decode({"record": tag, "fields": {}}, Arrays())


def test_a_record_that_moves_keeps_its_files(monkeypatch):
    """Its home changes in the table, and nothing else."""
    data = to_bytes(fitted())
    moved = type("Moved", (Planes,), {"__module__": "rosenblatt.learn.schemes"})
    monkeypatch.setattr("rosenblatt.learn.schemes.Moved", moved, raising=False)
    monkeypatch.setitem(RECORDS, "planes", "learn.schemes.Moved")
    record_class.cache_clear()
    try:
        assert type(from_bytes(data)._kept) is moved
    finally:
        record_class.cache_clear()


def test_every_tag_names_the_home_of_its_record():
    """A record that moved, and whose tag did not follow, would be written as if it were a plain tuple."""
    for tag, home in RECORDS.items():
        kind = record_class(tag)
        assert f"{kind.__module__.removeprefix('rosenblatt.')}.{kind.__name__}" == home
