"""Forged model files are refused, or are models that stay within their arrays, whatever they are asked.

They are loaded and used by a process of their own, whose crash is a failure.
"""

import os
import subprocess
import sys

import forged_models
import numba
import numpy as np
import pytest
from forged_models import CASES, CLASSES, FILES, ROWS, SPARSE, TAGS, TWO, WORDS, on, run
from model_file_cases import EVERY, FUZZ, _quiet, opened, sealed  # noqa: F401 (fixtures)

import rosenblatt
from rosenblatt import FileError
from rosenblatt.formats.reading import make_reading
from rosenblatt.learn.counters import Count
from rosenblatt.model_files.save_and_load import from_bytes, to_bytes
from written import refused_by_kind

COUNT = FUZZ if FUZZ > 1000 else max(FUZZ // 6, 40)


@pytest.fixture(scope="module")
def refused():
    """How many files of each kind the process refuses: a few without compilation, many with compiled bounds checks.

    Without compilation NumPy checks the bounds of every access, and nothing has to be compiled with checks first.
    """
    checked = {"NUMBA_BOUNDSCHECK": "1"} if COUNT > 1000 else {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, forged_models.__file__, str(COUNT), *CASES]
    run = subprocess.run(command, env={**os.environ, **checked}, capture_output=True, text=True)
    return refused_by_kind(run)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", CASES)
def test_forged_models_are_refused_or_stay_within_their_arrays(kind, request):
    if numba.config.DISABLE_JIT:
        assert 0 < run(kind, COUNT) < COUNT
        return
    assert 0 < request.getfixturevalue("refused")(kind) < COUNT


def test_every_estimator_is_forged():
    assert {case.args[0] for cases in CASES.values() for case in cases} == {*EVERY, "Tagger", "TextEncoder"}


# -- what crashed ------------------------------------------------------------------------------------------------------


def compressed(node):
    """The CSR and CSC matrices of a tree."""
    if isinstance(node, dict) and "parts" in node:
        yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from compressed(each)


def with_last(array, value):
    return np.append(array[:-1], np.array(value, array.dtype))


INDICES = {
    "a row ends beyond the values": ("indptr", lambda starts: np.where(np.arange(starts.size) == 2, 1 << 20, starts)),
    "the last row ends at 0": ("indptr", lambda starts: with_last(starts, 0)),
    "all rows but the first end at 0": ("indptr", lambda starts: starts * (np.arange(starts.size) == 1)),
    "the first row starts at 1": ("indptr", lambda starts: starts + (starts == 0)),
    "a row ends before it starts": ("indptr", lambda starts: np.where(np.arange(starts.size) == 2, 0, starts)),
    "rows start below 0": ("indptr", lambda starts: -starts),
    "one row fewer": ("indptr", lambda starts: starts[:-1]),
    "a column is the number of columns": ("indices", lambda columns: with_last(columns, 1 << 10)),
    "a column is below 0": ("indices", lambda columns: with_last(columns, -1)),
    "fewer columns than values": ("indices", lambda columns: columns[:-1]),
}


@pytest.mark.parametrize("fault", INDICES)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("KernelSVM", {}),
        ("KernelPerceptron", {}),
        ("KernelPerceptron", {"keep": "vote"}),
        ("VotedPerceptron", {}),
        ("MarkI", {}),
        ("RandomWiring", {}),
    ],
)
def test_forged_index_arrays_are_refused(name, settings, fault):
    model, X, y = on(name, SPARSE, **settings)
    about, arrays = opened(to_bytes(model.fit(X, y)))
    which, change = INDICES[fault]
    for part in compressed(about["attributes"]):
        place = part["parts"][2 if which == "indptr" else 1]["array"]
        with pytest.raises(FileError):
            from_bytes(sealed(about, {**arrays, place: change(arrays[place])}))
    assert isinstance(from_bytes(sealed(about, arrays)), type(model))


def machines_of(about):
    return about["attributes"]["_state"]["fields"]["machines"]


def forged_tally(name, counter, value, y=CLASSES, **settings):
    """A model with another value of one counter in its tallies."""
    model, X, y = on(name, ROWS, y, **settings)
    about, arrays = opened(to_bytes(model.fit(X, y)))
    for machine in machines_of(about):
        place = machine["fields"]["tally"]["array"]
        tally = arrays[place].copy()
        tally[counter] = value
        arrays = {**arrays, place: tally}
    return sealed(about, arrays)


@pytest.mark.parametrize("value", [-1e9, -1.0, 1.0, 1e9, np.nan, np.inf])
@pytest.mark.parametrize("counter", [Count.LOGGED, Count.LEFT])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("VotedPerceptron", {}),
        ("Perceptron", {"keep": "average"}),
        ("KernelPerceptron", {"max_support": 3, "multiclass": "ovr", "when_full": "forgetron"}),
        ("KernelPerceptron", {"max_support": 3, "multiclass": "ovo"}),
    ],
)
def test_forged_counters_are_refused(name, settings, counter, value):
    with pytest.raises(FileError, match="tally"):
        from_bytes(forged_tally(name, counter, value, **settings))


@pytest.mark.parametrize("value", [-1.0, 0.0, 2.5, 1e12, np.nan])
def test_a_forged_size_of_a_support_is_refused(value):
    with pytest.raises(FileError, match=r"tally|support"):
        from_bytes(forged_tally("KernelPerceptron", Count.SUPPORT, value, TWO, max_support=5, kernel="linear"))


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
def test_full_covariances_stored_by_feature_are_refused(multiclass):
    model, X, y = on("AROW", covariance="full", multiclass=multiclass)
    about, arrays = opened(to_bytes(model.fit(X, y)))
    for machine in machines_of(about):
        machine["fields"]["by_feature"] = True
    with pytest.raises(FileError, match="full covariances"):
        from_bytes(sealed(about, arrays))


def test_paths_that_are_equal_are_refused():
    """Between two classes on the same path there is no step to make."""
    model, X, y = on("HierarchicalPerceptron")
    about, arrays = opened(to_bytes(model.fit(X, y)))
    place = about["attributes"]["_state"]["fields"]["tree"]["fields"]["on"]["array"]
    for paths in (np.ones_like(arrays[place]), arrays[place] * 2):
        with pytest.raises(FileError, match="a path of its own"):
            from_bytes(sealed(about, {**arrays, place: paths}))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("n_features", -1), ("n_features", 1 << 40), ("ngrams", [1, 10**6]), ("ngrams", [0, 1]), ("format", "arrays")],
)
def test_forged_readings_are_refused(tmp_path, setting, value):
    source = tmp_path / "rows.txt"
    source.write_text(FILES["rows.txt"])
    model = rosenblatt.fit(rosenblatt.Perceptron(), source, like=make_reading(source, n_features=64))
    about, arrays = opened(to_bytes(model))
    fields = about["attributes"]["reading_"]["fields"]
    fields[setting] = {"tuple": value} if isinstance(value, list) else value
    with pytest.raises(FileError, match="not a model that rosenblatt wrote"):
        from_bytes(sealed(about, arrays))


def test_a_checkpoint_of_other_features_is_refused_though_it_says_that_its_rows_are_the_same(tmp_path):
    narrow, wide = tmp_path / "narrow.svm", tmp_path / "wide.svm"
    narrow.write_text("0 1:1\n1 2:1\n" * 5)
    wide.write_text("0 1:1\n1 2:1 4000:1\n" * 5)
    saved = [tmp_path / "a", tmp_path / "b"]
    for source, place in zip((narrow, wide), saved, strict=True):
        rosenblatt.fit(rosenblatt.Perceptron(max_epochs=1, random_state=0), source, checkpoint=place)
    (about, arrays), (other, _) = (opened(place.read_bytes()) for place in saved)
    about["attributes"]["_contents"] = other["attributes"]["_contents"]
    saved[0].write_bytes(sealed(about, arrays))
    with pytest.raises(FileError, match="other features or classes"):
        rosenblatt.fit(rosenblatt.Perceptron(max_epochs=2, random_state=0), wide, checkpoint=saved[0], resume=True)


@pytest.mark.parametrize(
    ("fact", "value"), [("rows", -1), ("counts", [1]), ("dense", 1), ("how", "svmlight"), ("most", -2)]
)
def test_forged_contents_of_a_checkpoint_are_refused(tmp_path, fact, value):
    source, saved = tmp_path / "rows.svm", tmp_path / "saved"
    source.write_text(FILES["rows.svm"])
    rosenblatt.fit(rosenblatt.Perceptron(max_epochs=1), source, checkpoint=saved)
    about, arrays = opened(saved.read_bytes())
    about["attributes"]["_contents"]["fields"][fact] = {"tuple": value} if isinstance(value, list) else value
    with pytest.raises(FileError, match="not a model that rosenblatt wrote: expected"):
        from_bytes(sealed(about, arrays))


@pytest.mark.parametrize(
    ("name", "X", "y", "attribute"),
    [("Tagger", WORDS, TAGS, "_state"), ("Tagger", WORDS, TAGS, "coef_"), ("KernelPerceptron", ROWS, TWO, "coef_")],
)
def test_attributes_of_other_estimators_are_refused(name, X, y, attribute):
    model = getattr(rosenblatt, name)(random_state=0).fit(X, y)
    about, arrays = opened(to_bytes(model))
    with pytest.raises(FileError, match=f"{attribute} is not an attribute of {name}"):
        from_bytes(sealed({**about, "attributes": {**about["attributes"], attribute: 1}}, arrays))


def test_a_network_has_a_record_of_each_epoch():
    """The loss of an epoch without a record was read from `report_` as partial_fit ended."""
    about, arrays = opened(to_bytes(on("MultilayerPerceptron", hidden_layer_sizes=(3,))[0].fit(ROWS, CLASSES)))
    assert about["attributes"]["_state"]["fields"]["epoch"] == 3
    about["attributes"]["_state"]["fields"]["epoch"] = 4
    with pytest.raises(FileError, match="a record of each epoch"):
        from_bytes(sealed(about, arrays))


@pytest.mark.parametrize("names", [["yes", "so", "no"], ["no", "no", "yes"]])
def test_a_tree_looks_labels_up_in_sorted_classes(names):
    about, arrays = opened(to_bytes(on("HierarchicalPerceptron", tree=[["no", "so"], "yes"])[0].fit(ROWS, CLASSES)))
    about["attributes"]["classes_"]["items"] = names
    with pytest.raises(FileError, match="sorted classes"):
        from_bytes(sealed(about, arrays))
