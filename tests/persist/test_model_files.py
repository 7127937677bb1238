"""Model files: every estimator comes back whole, and nothing else is let in."""

import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import warnings
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import rosenblatt
from rosenblatt import FileError, NewerFormatError, load, save
from rosenblatt.data.safe_writing import replace_atomically
from rosenblatt.persist.encoding import Arrays, decode, encode, find
from rosenblatt.persist.model_files import BLANK, from_bytes, to_bytes

GOLDEN = Path(__file__).parent.parent / "golden"
CLASSIFIERS = ["Perceptron", "AveragedPerceptron", "VotedPerceptron", "PAUM", "PassiveAggressive", "AROW"]
CLASSIFIERS += ["SecondOrderPerceptron"]
EVERY = [name for name in rosenblatt.__all__ if hasattr(getattr(rosenblatt, name), "get_params")]
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
    return [getattr(model, what)(rows) for what in asked if hasattr(model, what)]


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
        ("KernelPerceptron", {"budget": 9, "multiclass": "ovr"}),
        ("KernelPerceptron", {"budget": 9, "multiclass": "ovo", "budget_rule": "forgetron"}),
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
        if "budget" in settings or not isinstance(settings.get("tree"), list | dict) or labels is NAMES:
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
    with pytest.raises(FileError, match="this Perceptron is not as `fit` leaves it: expected planes"):
        save(model, tmp_path / "model")
    model = fitted()
    model.Notes = "mine"
    with pytest.raises(FileError, match="Notes is no attribute of Perceptron"):
        save(model, tmp_path / "model")
    model = rosenblatt.Perceptron(class_weight=np.array([{1}], dtype=object))
    with pytest.raises(FileError, match="class_weight holds an array of set"):
        save(model, tmp_path / "model")
    model = rosenblatt.Perceptron(random_state=np.random.RandomState(np.random.PCG64(0)))
    with pytest.raises(FileError, match="random_state holds a RandomState that is no MT19937"):
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


@pytest.mark.parametrize(
    "path", ["os.system", "learn.online.state.np", "learn.online.state._linear", "cli.main.app", "State"]
)
def test_only_our_classes_are_found(path):
    with pytest.raises(ValueError, match="names no class"):
        find(path)


# -- damage ----------------------------------------------------------------------------------------------------------


def mutated(data, rng):
    """A copy with bytes changed, lost, doubled or moved."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at, kind = rng.randrange(len(data) + 1), rng.randrange(6)
        length = rng.choice([1, 1, 2, 8, 64])
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = rng.randbytes(length)
        elif kind == 3:
            data[at : at + length] = rng.randbytes(length)
        elif kind == 4:
            data[at:at] = data[at : at + length]
        else:
            del data[at:]
        if not data:
            break
    return bytes(data)


def test_mutated_files_are_refused():
    whole = [to_bytes(any_fitted(name)) for name in EVERY] + [to_bytes(rosenblatt.AROW())]
    rng = random.Random(0)
    for turn in range(FUZZ):
        data = whole[turn % len(whole)]
        other = mutated(data, rng)
        if other != data:
            with pytest.raises(FileError):
                from_bytes(other)


def sealed(about, arrays):
    """A file with any content and a digest that is right."""
    text = json.dumps({"sha256": BLANK, **{k: v for k, v in about.items() if k != "sha256"}}, separators=(",", ":"))
    blank = bytes(safetensors.numpy.save(arrays, metadata={"rosenblatt": text}))
    return blank.replace(BLANK.encode(), hashlib.sha256(blank).hexdigest().encode(), 1)


def opened(data):
    length = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["rosenblatt"]), safetensors.numpy.load(data)


def scramble(node, rng):
    """Change one thing somewhere in a tree."""
    if isinstance(node, dict) and node and rng.random() < 0.95:
        key = rng.choice(sorted(node))
        if rng.random() < 0.05:
            return {k: v for k, v in node.items() if k != key}
        return {**node, key: scramble(node[key], rng)}
    if isinstance(node, list) and node and rng.random() < 0.95:
        at = rng.randrange(len(node))
        return [*node[:at], scramble(node[at], rng), *node[at + 1 :]]
    return rng.choice([None, -1, 0, 1, 7, 1 << 40, 1.5, "one", "", [], {}, {"array": "0", "object": 0}, {"tuple": []}])


FORGED = [(name, {}) for name in EVERY]
FORGED += [("KernelPerceptron", {"keep": "vote"}), ("KernelPerceptron", {"keep": "average", "multiclass": "ovo"})]
FORGED += [("KernelPerceptron", {"budget": 9, "multiclass": "ovr"}), ("MarkI", {"keep": "vote"})]
FORGED += [("HierarchicalPerceptron", {"keep": "average"}), ("Perceptron", {"multiclass": "ovo"})]


@pytest.mark.parametrize(("name", "settings"), FORGED)
def test_forged_files_never_crash(name, settings):
    """What is let in can be asked, and goes on to learn or says why not."""
    rng = random.Random(1)
    whole, all_arrays = opened(to_bytes(any_fitted(name, **settings)))
    accepted, turns = 0, max(FUZZ // 5, 40)
    for _ in range(turns):
        about, arrays = whole, all_arrays
        if rng.random() < 0.5:
            about = {**whole, "attributes": scramble(whole["attributes"], rng)}
        else:
            which = rng.choice(sorted(arrays))
            array = arrays[which]
            array = rng.choice([array[:-1], array.astype(np.int64), array.ravel(), np.zeros((0, 3)), array * 100])
            arrays = {**arrays, which: np.ascontiguousarray(array)}
        try:
            model = from_bytes(sealed(about, arrays))
        except FileError:
            continue
        accepted += 1
        try:
            said(model)
        except NotFittedError:
            continue
        if hasattr(model, "partial_fit"):
            labels = X[:, 0] if name.endswith("Regressor") else model.classes_[Y]
            with suppress(ValueError, TypeError, AttributeError, IndexError):
                model.partial_fit(X, labels)  # numbers that fit may still make a model that cannot go on
    assert accepted < turns


def test_forged_headers_never_crash():
    rng = random.Random(2)
    trees = [opened(to_bytes(any_fitted(name))) for name in ("Perceptron", "MarkI", "MaxMargin")]
    for turn in range(FUZZ):
        about, arrays = trees[turn % len(trees)]
        key = rng.choice(sorted(about))
        try:
            model = from_bytes(sealed({**about, key: scramble(about[key], rng)}, arrays))
        except FileError:
            continue
        with suppress(NotFittedError):  # a model without its attributes
            said(model)


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 8, b"\xff" * 100, (2).to_bytes(8, "little") + b"{}", (2).to_bytes(8, "little") + b"[]"],
    ids=["empty", "zeros", "ones", "no metadata", "list"],
)
def test_what_is_no_model(data, tmp_path):
    path = tmp_path / "thing"
    path.write_bytes(data)
    with pytest.raises(FileError, match="thing: no model file") as caught:
        load(path)
    assert caught.value.path == path


def test_deep_headers_are_refused():
    deep = b"[" * 200_000
    with pytest.raises(FileError, match="cannot be read"):
        from_bytes(len(deep).to_bytes(8, "little") + deep)


@pytest.mark.parametrize("depth", [200, 450, 900])
def test_models_nested_too_deep_are_refused(depth):
    about, arrays = opened(to_bytes(fitted()))
    tree = []
    for _ in range(depth):
        tree = [tree]
    with pytest.raises(FileError, match=r"nested deeper|says nothing of one"):
        from_bytes(sealed({**about, "parameters": {**about["parameters"], "class_weight": tree}}, arrays))
    model = fitted().set_params(class_weight=tree)
    with pytest.raises(FileError, match="too much within itself"):
        to_bytes(model)


def test_a_forged_random_state_stays_within_its_keys():
    model = rosenblatt.Perceptron(random_state=np.random.RandomState(3))
    about, arrays = opened(to_bytes(model))
    state = about["parameters"]["random_state"]["RandomState"]
    for position in (-1, 625, 1 << 30):
        state[1] = position
        with pytest.raises(FileError, match=f"a RandomState at position {position}"):
            from_bytes(sealed(about, arrays))


def test_forged_names_take_no_more_room_than_they_need():
    about, arrays = opened(to_bytes(fitted()))
    about["attributes"]["classes_"]["dtype"] = "<U100000000"
    with pytest.raises(FileError, match="for names of at most"):
        from_bytes(sealed(about, arrays))


@pytest.mark.parametrize("version", [0, "1", None, 1.5])
def test_a_version_that_never_was(version):
    about, arrays = opened(to_bytes(fitted()))
    with pytest.raises(FileError, match="its format is"):
        from_bytes(sealed({**about, "format": version}, arrays))


def test_a_newer_format_is_named():
    about, arrays = opened(to_bytes(fitted()))
    with pytest.raises(NewerFormatError, match=r"format 2 by rosenblatt 9\.0"):
        from_bytes(sealed({**about, "format": 2, "library": "9.0"}, arrays))


def test_a_digest_that_is_missing():
    about, arrays = opened(to_bytes(fitted()))
    blank = sealed(about, arrays)
    text = blank.replace(b'sha256\\":\\"', b'sha256\\":\\"x', 1)
    length = int.from_bytes(text[:8], "little") + 1
    with pytest.raises(FileError, match="SHA-256 is missing"):
        from_bytes(length.to_bytes(8, "little") + text[8:])


def test_other_classes_are_refused():
    about, arrays = opened(to_bytes(fitted()))
    for kind in ("learn.online.state.State", "estimators.nowhere.X", "estimators.perceptron.checked_order"):
        with pytest.raises(FileError, match="not a model"):
            from_bytes(sealed({**about, "class": kind}, arrays))
    with pytest.raises(FileError, match="is no attribute"):
        from_bytes(sealed({**about, "attributes": {"predict": 1}}, arrays))
    with pytest.raises(FileError, match="without a state"):
        from_bytes(sealed({**about, "attributes": {"_kept": 1}}, arrays))


# -- disks -----------------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        load(tmp_path / "nothing")
    with pytest.raises(FileError, match="cannot write"):
        save(fitted(), tmp_path / "no" / "folder")


def _small_disk():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_a_full_disk_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "model"
    save(fitted(), path)
    before = path.read_bytes()
    script = (
        "import sys, numpy as np, rosenblatt\n"
        "model = rosenblatt.Perceptron(max_epochs=3).fit(np.eye(50), np.arange(50) % 3)\n"
        "try: rosenblatt.save(model, sys.argv[1])\n"
        "except rosenblatt.FileError as error: print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(path)],
        preexec_fn=_small_disk,
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert "no space left on the disk" in run.stdout, run.stderr
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["model"]


def test_what_a_killed_writer_left_is_swept_up(tmp_path):
    child = "import os, sys\nfrom rosenblatt.data.safe_writing import replace_atomically\n"
    child += "with replace_atomically(sys.argv[1]) as file:\n"
    child += "    file.write(b'half'); file.flush(); os.kill(os.getpid(), 9)\n"
    subprocess.run([sys.executable, "-c", child, str(tmp_path / "x")], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    (tmp_path / f".x.{os.uname().nodename}-1.tmp").touch()
    with replace_atomically(tmp_path / "x") as file:
        file.write(b"whole")
    assert (tmp_path / "x").read_bytes() == b"whole"
    assert len(list(tmp_path.iterdir())) <= 2  # a file of a process that lives, or of another machine, is left alone


def test_the_mode_of_a_file_stays(tmp_path):
    path = tmp_path / "model"
    for mode in (0o600, 0o664, 0o444):
        path.touch()
        path.chmod(mode)
        save(fitted(), path)
        assert path.stat().st_mode & 0o7777 == mode
        path.unlink()
    path.touch()
    path.chmod(0o600)
    with replace_atomically(path):  # and nobody else reads what is not yet there
        (temporary,) = tmp_path.glob(".rosenblatt-*")
        assert temporary.stat().st_mode & 0o777 == 0o600
    before = os.umask(0o027)
    try:
        save(fitted(), tmp_path / "new")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_link_leads_to_the_file_that_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("model", "not-yet"):
        link, target = tmp_path / f"link-to-{name}", tmp_path / "there" / name
        link.symlink_to(target)
        if name == "model":
            target.touch()
        save(fitted(), link)
        assert link.is_symlink()
        load(target)
    assert {one.name for one in (tmp_path / "there").iterdir()} == {"model", "not-yet"}
    planted, victim = tmp_path / "cache", tmp_path / "victim"
    victim.write_bytes(b"precious")
    planted.symlink_to(victim)
    with replace_atomically(planted) as file:  # a name that the user did not choose
        file.write(b"rows")
    assert victim.read_bytes() == b"precious"
    assert planted.read_bytes() == b"rows"


def test_the_longest_names(tmp_path):
    for name in ("m" * 255, "ü" * 127):
        save(fitted(), tmp_path / name)
        load(tmp_path / name)
    assert len(list(tmp_path.iterdir())) == 2


def test_stray_temporary_names(tmp_path):
    with replace_atomically(tmp_path / "x"):
        (temporary,) = tmp_path.iterdir()
    start = temporary.name.split(f"{os.getpid()}.")[0]
    strays = {f"{start}{pid}.{end}.tmp" for pid in ("9" * 40, "²", "", "-1", "0x1") for end in ("00000000", "0", "..")}
    strays |= {f".x.{os.uname().nodename}-{'9' * 30}.1.tmp", f".x.{os.uname().nodename}-².tmp"}
    for name in strays:
        (tmp_path / name).touch()
    save(fitted(), tmp_path / "x")
    assert {one.name for one in tmp_path.iterdir()} == {"x", *strays}


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="it is a device, a pipe or a socket"):
        save(fitted(), tmp_path / "pipe")
    with pytest.raises(FileError, match="is a directory"):
        save(fitted(), tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["pipe"]


def test_a_large_file_of_another_kind_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "rows"
    path.touch()
    os.truncate(path, 1 << 40)  # zeros that take no room on the disk, and would in memory
    with pytest.raises(FileError, match="no model file"):
        load(path)


def test_golden_files():
    for path in sorted(GOLDEN.glob("*.model")):
        expected = np.load(path.with_suffix(".npy"))
        np.testing.assert_allclose(load(path).decision_function(X), expected, rtol=1e-12)
    assert len(list(GOLDEN.glob("*.model"))) >= 3
