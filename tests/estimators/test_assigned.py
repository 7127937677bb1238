"""Attributes that a user sets by hand fit the model, or are refused when the model is next used."""

import functools
import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt

rng = np.random.default_rng(3)
X = rng.normal(size=(30, 4))
two = (X[:, 0] > 0).astype(int)
three = np.digitize(X[:, 0], [-0.5, 0.5])

MODELS = {
    "Perceptron": (rosenblatt.Perceptron, two),
    "Perceptron, 3": (rosenblatt.Perceptron, three),
    "Perceptron, ovo": (lambda **how: rosenblatt.Perceptron(multiclass="ovo", **how), three),
    "Perceptron, labels": (rosenblatt.Perceptron, np.eye(3, dtype=int)[three]),
    "VotedPerceptron": (rosenblatt.VotedPerceptron, two),
    "VotedPerceptron, 3": (rosenblatt.VotedPerceptron, three),
    "AROW": (rosenblatt.AROW, three),
    "AROW, full": (lambda **how: rosenblatt.AROW(covariance="full", **how), two),
    "PassiveAggressiveRegressor": (rosenblatt.PassiveAggressiveRegressor, X[:, 0]),
    "LinearClassifier": (rosenblatt.LinearClassifier, three),
    "LinearRegressor": (rosenblatt.LinearRegressor, X[:, 0]),
    "LinearSVM": (rosenblatt.LinearSVM, two),
    "Pegasos": (rosenblatt.Pegasos, two),
    "HierarchicalPerceptron": (rosenblatt.HierarchicalPerceptron, three),
    "KernelPerceptron": (rosenblatt.KernelPerceptron, three),
    "KernelPerceptron, vote": (lambda **how: rosenblatt.KernelPerceptron(keep="vote", **how), two),
    "KernelSVM": (rosenblatt.KernelSVM, two),
    "MultilayerPerceptron": (lambda **how: rosenblatt.MultilayerPerceptron((5,), **how), three),
    "MarkI": (lambda **how: rosenblatt.MarkI(16, n_connections=3, random_state=0, **how), three),
    "RandomWiring": (lambda **how: rosenblatt.RandomWiring(16, n_connections=3), None),
    "MaxMargin": (lambda **how: rosenblatt.MaxMargin(), two),
}


@functools.cache
def learned(name):
    make, y = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pickle.dumps(make(max_epochs=2).fit(X, y))


def fitted(name):
    return pickle.loads(learned(name))


def uses(name):
    """Every call that reads the model, with dense and sparse rows, of its own width and of another."""
    model, y = fitted(name), MODELS[name][1]
    wide = np.hstack([X, X, X[:, :1]])
    forms = (X, sp.csr_array(X), wide, sp.csr_array(wide))
    for method in ("predict", "decision_function", "predict_proba", "transform"):
        if hasattr(model, method):
            yield from ((method, (rows,)) for rows in forms)
    if hasattr(model, "partial_fit"):
        yield from (("partial_fit", (rows, y)) for rows in forms)
    if hasattr(model, "tree_distance"):
        yield "tree_distance", (X, y)


def garbage(value):
    """What has another shape or type than this value."""
    yield from (None, "words", object(), np.zeros(0), np.zeros((1, 1)), np.zeros((2, 3, 4)), [[]], 7.5)
    if isinstance(value, np.ndarray):
        yield from (value[..., :-1], np.concatenate([value, value], axis=-1), value[:0], value.astype(object))
        yield np.broadcast_to(value, (2, *value.shape))


def learned_attributes(name):
    found = [attribute for attribute in vars(fitted(name)) if attribute.endswith("_")]
    return [attribute for attribute in found if attribute != "intercept_"]  # a number is one intercept


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_what_does_not_fit_is_refused_or_not_read(name):
    for attribute, (method, args) in itertools.product(learned_attributes(name), uses(name)):
        for value in garbage(getattr(fitted(name), attribute)):
            model = fitted(name)
            setattr(model, attribute, value)
            try:
                found = getattr(model, method)(*args)
            except (ValueError, TypeError, AttributeError):
                continue
            assert args[0].shape[1] == 4, attribute
            assert attribute not in ("coef_", "n_features_in_") or method == "partial_fit"
            assert method == "partial_fit" or np.array_equal(found, getattr(fitted(name), method)(*args)), attribute


# Named here, because every process that collects the tests would compile what it takes to fit the models.
LINEAR = [
    *("Perceptron", "Perceptron, 3", "Perceptron, ovo", "Perceptron, labels", "AROW", "AROW, full"),
    *("PassiveAggressiveRegressor", "LinearClassifier", "LinearRegressor", "LinearSVM", "Pegasos"),
    *("HierarchicalPerceptron", "MarkI", "MaxMargin"),
]


def test_every_model_with_planes_is_named():
    assert [name for name in MODELS if hasattr(fitted(name), "coef_")] == LINEAR


@pytest.mark.parametrize("name", LINEAR)
def test_planes_of_another_shape_or_type_are_refused_by_name(name):
    planes = np.atleast_2d(fitted(name).coef_).shape
    for attribute, wrong in [
        ("coef_", np.ones((planes[0], planes[1] - 1))),
        ("coef_", np.ones((planes[0], planes[1] + 1))),
        ("coef_", np.ones((planes[0] + 1, planes[1]))),
        ("coef_", np.full(planes, "a")),
        ("coef_", np.full(planes, 1j)),
        ("coef_", np.ones(planes).astype(object)),
        ("coef_", sp.csr_array(np.ones(planes))),
        ("coef_", None),
        ("intercept_", np.ones(planes[0] + 1)),
        ("intercept_", np.ones((planes[0], 2))),
        ("intercept_", np.ones(0)),
        ("intercept_", "zero"),
    ]:
        model = fitted(name)
        setattr(model, attribute, wrong)
        for rows in (X, sp.csr_array(X), X[:1].astype(np.float32)):
            with pytest.raises(ValueError, match=f"{attribute} is now .*: assign real numbers of shape"):
                model.predict(rows)


@pytest.mark.parametrize("name", LINEAR)
def test_planes_that_fit_are_used(name):
    model = fitted(name)
    shape = np.shape(model.coef_)
    for coef in (np.zeros(shape), np.zeros(shape, int), np.zeros(shape, ">f4"), np.zeros(shape).tolist()):
        model.coef_, model.intercept_ = coef, np.ones(np.shape(model.intercept_), np.float16)
        scores = getattr(model, "decision_function", model.predict)(X)
        assert (scores == (scores[0] if scores.ndim > 1 else 1.0)).all()


@pytest.mark.parametrize("name", [name for name, (make, _) in MODELS.items() if hasattr(make(), "partial_fit")])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_learning_goes_on_only_with_the_features_and_classes_that_were_learned(name, form):
    wide, y = form(rng.normal(size=(30, 9))), MODELS[name][1]
    model = fitted(name)
    model.n_features_in_ = 9
    for call in (model.predict, lambda rows: model.partial_fit(rows, y)):
        with pytest.raises(ValueError, match="features"):
            call(wide)
    model = fitted(name)
    if hasattr(model, "classes_") and np.ndim(y) == 1:
        model.classes_ = np.arange(5)
        for call in (model.predict, lambda rows: model.partial_fit(rows, np.arange(30) % 5)):
            with pytest.raises(ValueError, match="classes_ is now an array of shape"):
                call(form(X))


@pytest.mark.parametrize("name", LINEAR)
def test_planes_that_do_not_fit_are_not_written_to_a_file(name, tmp_path):
    model = fitted(name)
    model.intercept_ = np.zeros(7)
    for write in (rosenblatt.save, rosenblatt.export_onnx):
        if write is rosenblatt.export_onnx:
            pytest.importorskip("onnx")
        with pytest.raises(rosenblatt.FileError):
            write(model, tmp_path / "model")
    assert not any(tmp_path.iterdir())


def test_what_is_only_shown_cannot_be_assigned():
    for name, attributes in {
        "KernelPerceptron": ("support_vectors_", "dual_coef_", "intercept_"),
        "KernelSVM": ("support_vectors_", "dual_coef_", "intercept_"),
        "MultilayerPerceptron": ("coefs_", "intercepts_"),
        "VotedPerceptron": ("vectors_", "votes_", "intercepts_"),
    }.items():
        model = fitted(name)
        for attribute in attributes:
            with pytest.raises(AttributeError):
                setattr(model, attribute, getattr(model, attribute))


def test_tree_distances_of_another_shape_are_refused():
    model = fitted("HierarchicalPerceptron")
    model.distances_ = np.zeros((1, 1))
    with pytest.raises(ValueError, match="distances_ is now"):
        model.tree_distance(X, three)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("wiring_", sp.csc_array((4, 8))),
        ("wiring_", np.ones((4, 16))),
        ("thresholds_", np.zeros(1)),
        ("thresholds_", "low"),
    ],
)
def test_wiring_of_another_shape_is_refused(attribute, value):
    units, machine = fitted("RandomWiring"), fitted("MarkI")
    setattr(units, attribute, value)
    setattr(machine.wiring_, attribute, value)
    for call in (units.transform, machine.predict, lambda rows: machine.partial_fit(rows, three)):
        with pytest.raises(ValueError, match=attribute):
            call(X)


def test_broken_wiring_is_refused():
    units = fitted("RandomWiring")
    units.wiring_.indices[3] = 10**8
    with pytest.raises(ValueError, match="ind"):
        units.transform(X)


def test_other_wiring_of_the_mark_i_is_refused():
    machine = fitted("MarkI")
    machine.wiring_ = rosenblatt.RandomWiring(64, n_connections=2).fit(X)
    for call in (machine.predict, lambda rows: machine.partial_fit(rows, three)):
        with pytest.raises(ValueError, match="features"):
            call(X)
