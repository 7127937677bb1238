"""Damaged and forged model files are refused."""

import random
from contextlib import suppress

import numpy as np
import pytest
from model_file_cases import (
    EVERY,
    FUZZ,
    _quiet,  # noqa: F401 (fixtures)
    any_fitted,
    fitted,
    opened,
    said,
    sealed,
)
from sklearn.exceptions import NotFittedError

import rosenblatt
from rosenblatt import FileError, NewerFormatError, load
from rosenblatt.model_files.save_and_load import FORMAT, from_bytes, to_bytes

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
    with pytest.raises(FileError, match="thing: not a rosenblatt model file") as caught:
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
    with pytest.raises(FileError, match=r"nested deeper|describes no model"):
        from_bytes(sealed({**about, "parameters": {**about["parameters"], "class_weight": tree}}, arrays))
    model = fitted().set_params(class_weight=tree)
    with pytest.raises(FileError, match="is nested too deeply"):
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
    with pytest.raises(NewerFormatError, match=rf"format {FORMAT + 1} by rosenblatt 9\.0"):
        from_bytes(sealed({**about, "format": FORMAT + 1, "library": "9.0"}, arrays))


def test_a_format_from_before_the_first_release_is_refused_in_a_sentence():
    about, arrays = opened(to_bytes(fitted()))
    with pytest.raises(FileError, match="from before its first release: train the model again"):
        from_bytes(sealed({**about, "format": 1}, arrays))


def test_a_digest_that_is_missing():
    about, arrays = opened(to_bytes(fitted()))
    blank = sealed(about, arrays)
    text = blank.replace(b'sha256\\":\\"', b'sha256\\":\\"x', 1)
    length = int.from_bytes(text[:8], "little") + 1
    with pytest.raises(FileError, match="SHA-256 is missing"):
        from_bytes(length.to_bytes(8, "little") + text[8:])


def test_only_estimators_with_a_name_of_their_own_are_built():
    about, arrays = opened(to_bytes(fitted()))
    for kind in (
        "online.perceptron.Perceptron",
        "linear-state",
        "Report",
        "GridSearchCV",
        "read",
        "__doc__",
        "",
        [],
    ):
        with pytest.raises(FileError, match="not a model"):
            from_bytes(sealed({**about, "estimator": kind}, arrays))
    with pytest.raises(FileError, match="without a state"):
        from_bytes(sealed({**about, "attributes": {"_kept": 1}}, arrays))


@pytest.mark.parametrize("name", ["predict", "anything_", "_features", "__class__", "__dict__", "max_epochs"])
def test_attributes_that_are_not_of_the_estimator_are_refused(name):
    about, arrays = opened(to_bytes(fitted()))
    with pytest.raises(FileError, match=f"{name} is not an attribute of Perceptron"):
        from_bytes(sealed({**about, "attributes": {**about["attributes"], name: 1}}, arrays))
