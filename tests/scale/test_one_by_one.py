"""A stream row by row: the same bits as `partial_fit`, names and classes in any order, bad rows, journals and kills."""

import os
import signal
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import rosenblatt
from rosenblatt import (
    AROW,
    PAUM,
    AveragedPerceptron,
    FileError,
    KernelPerceptron,
    OneByOne,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
)

RNG = np.random.default_rng(0)
D, N = 12, 60
LEARNERS = {
    "last": Perceptron(),
    "average": AveragedPerceptron(),
    "radius": Perceptron(bias_step="radius", multiclass="ovr"),
    "rates": AveragedPerceptron(learning_rate=lambda epoch: 1 / epoch, multiclass="ovr"),
    "PA": PassiveAggressive(),
    "AROW": AROW(),
    "second order": SecondOrderPerceptron(),
    "PAUM": PAUM(margin=(0.5, 2.0), multiclass="ovr"),
    "numbers": PassiveAggressiveRegressor(),
    "class weights": Perceptron(class_weight={0: 2.5, 1: 1.0}),
}


def rows(kind, dtype):
    X = RNG.normal(size=(N, D)).astype(dtype)
    if kind == "dense":
        return list(X)
    X = np.where(RNG.random((N, D)) < 0.4, X, 0)
    return [sp.csr_matrix(x) for x in X]


def labels(name, classes):
    return RNG.normal(size=N).tolist() if name == "numbers" else [0, 1, *RNG.integers(0, classes, N - 2).tolist()]


def assert_same_state(a, b):
    assert np.array_equal(a.coef_, b.coef_)
    assert np.array_equal(a.intercept_, b.intercept_)
    first, second = (vars(one)["_state"] for one in (a, b))
    for one, other in zip(first.machines, second.machines, strict=True):
        pairs = zip((*one.arrays, one.tally, one.moves), (*other.arrays, other.tally, other.moves), strict=True)
        assert all(np.array_equal(x, y) for x, y in pairs)
    names = ("epoch", "bias", "radius2", "whole", "classes", "scheme")
    assert [getattr(first, name) for name in names] == [getattr(second, name) for name in names]


@pytest.mark.parametrize(
    ("kind", "dtype", "classes"), [("dense", np.float64, 2), ("csr", np.float64, 4), ("csr", np.float32, 2)]
)
@pytest.mark.parametrize("name", LEARNERS)
def test_rows_one_by_one_are_partial_fit_row_by_row_to_the_bit(name, kind, dtype, classes):
    model = LEARNERS[name]
    if name == "class weights":
        classes = 2
    slow = type(model)(**model.get_params()).set_params(random_state=0)
    door = OneByOne(type(model)(**model.get_params()).set_params(random_state=0))
    weigh = name == "average"
    for k, (x, y) in enumerate(zip(rows(kind, dtype), labels(name, classes), strict=True)):
        weight = [1.0, 2.5, 3.0][k % 3] if weigh else 1.0
        block = x if sp.issparse(x) else x.reshape(1, -1)
        said = door.learn_one(x, y, weight)
        if k:
            before = slow.predict(block)[0]
            assert said == before if name != "numbers" else np.isclose(said, before, rtol=1e-4)
        else:
            assert said is None
        if name == "class weights" and k == 0:  # its classes must be known from the first call
            slow.partial_fit(block, [y], classes=[0, 1])
            door = OneByOne(slow)
        else:
            slow.partial_fit(block, [y], sample_weight=[weight])
    assert_same_state(door.estimator(), slow)
    x = rows(kind, dtype)[0]
    block = x if sp.issparse(x) else x.reshape(1, -1)
    score = door.score_one(x)
    expected = slow.predict(block) if name == "numbers" else slow.decision_function(block)
    found = list(score.values()) if isinstance(score, dict) else score
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-5)


value = st.one_of(st.integers(-3, 3), st.booleans(), st.sampled_from(["red", "blue", "a=b"]))
mapping = st.dictionaries(st.sampled_from(["age", "size", "hue", "old", "x=y"]), value, min_size=1)


@given(st.lists(st.tuples(mapping, st.sampled_from(["no", "yes", "perhaps"])), min_size=1, max_size=25))
@settings(max_examples=30, deadline=None)
def test_mappings_are_the_csr_rows_of_the_final_width(stream):
    """On whole numbers to the bit, whatever the order in which features and classes appear."""
    door = OneByOne(AveragedPerceptron(random_state=0))
    for x, y in stream:
        door.learn_one(x, y)
    found = door.estimator()
    names = {name: k for k, name in enumerate(found.feature_names_in_.tolist())}
    slow = AveragedPerceptron(random_state=0)
    for x, y in stream:
        row = np.zeros((1, len(names)))
        for name, one in x.items():
            row[0, names[f"{name}={one}" if isinstance(one, str) else name]] += 1.0 if isinstance(one, str) else one
        slow.partial_fit(sp.csr_matrix(row), [y])
    assert found.classes_.tolist() == slow.classes_.tolist() == door.classes
    assert np.array_equal(found.coef_, slow.coef_)
    assert np.array_equal(found.intercept_, slow.intercept_)


def mixed(n, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        x = {f"n{k}": float(rng.normal()) for k in rng.permutation(6)[:3]}
        x |= {"colour": f"c{rng.integers(30)}", "flag": bool(rng.integers(2))}
        yield x, ["a", "b", "c"][int(rng.integers(3))]


def test_weights_grow_and_go_on_from_a_saved_estimator(tmp_path):
    whole, first = OneByOne(AROW(random_state=0)), OneByOne(AROW(random_state=0))
    stream = list(mixed(200))
    for x, y in stream:
        whole.learn_one(x, y)
    for x, y in stream[:90]:
        first.learn_one(x, y)
    rosenblatt.save(first.estimator(), tmp_path / "half.model")
    second = OneByOne(rosenblatt.load(tmp_path / "half.model"))
    for x, y in stream[90:]:
        second.learn_one(x, y)
    assert_same_state(whole.estimator(), second.estimator())
    assert whole.rows == 200 == whole.learned
    assert 0 < whole.mistakes < 200
    assert "200 rows learned" in repr(whole)


def test_hashed_names_have_a_fixed_width_and_collide_into_sums():
    door = OneByOne(Perceptron(random_state=0), features=4)
    for x, y in mixed(50):
        door.learn_one(x, y)
    model = door.estimator()
    assert model.coef_.shape == (3, 4)
    assert not hasattr(model, "feature_names_in_")
    assert OneByOne(model, features=4).predict_one({"n1": 1.0}) in ("a", "b", "c")
    with pytest.raises(ValueError, match="features=8, and the estimator learned 4"):
        OneByOne(model, features=8)


def test_predicting_changes_nothing_and_ignores_unknown_names():
    door = OneByOne(AveragedPerceptron(random_state=0))
    assert door.predict_one({"a": 1}) is None
    assert door.score_one({"a": 1}) is None
    with pytest.raises(Exception, match="No row was learned"):
        door.estimator()
    for x, y in mixed(40):
        door.learn_one(x, y)
    before = door.estimator()
    known = {"n1": 1.0, "colour": "c1"}
    assert door.score_one(known | {f"unknown {k}": 5.0 for k in range(300)}) == door.score_one(known)
    assert_same_state(before, door.estimator())
    assert before.n_features_in_ == door.estimator().n_features_in_


BAD = {
    "NaN": ({"n0": float("nan"), "new name": 1.0}, "a", "'n0' is nan"),
    "infinity": ({"n0": float("inf")}, "a", "'n0' is inf"),
    "too large": ({"n0": 1e60}, "a", "so large"),
    "too large for a double": ({"n0": 10**400}, "a", "too large for double"),
    "None": ({"n0": None}, "a", "'n0' is None, a NoneType"),
    "a list": ({"n0": [1]}, "a", "a list"),
    "a name": ({5: 1.0}, "a", "names of features are text"),
    "a sequence": ([1.0, 2.0], "a", "a list in a stream of mappings"),
    "NaN label": ({"n0": 1.0}, float("nan"), "NaN|kind"),
    "a number as label": ({"n0": 1.0}, 3, "kind"),
    "no label": ({"n0": 1.0}, None, "None|label"),
    "a label without a hash": ({"n0": 1.0}, [1], "hash"),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_row_is_refused_with_its_number_and_changes_nothing(bad):
    x, y, message = BAD[bad]
    door, skipping = OneByOne(Perceptron(random_state=0)), OneByOne(Perceptron(random_state=0), on_error="skip")
    for one in (door, skipping):
        for row in mixed(30):
            one.learn_one(*row)
    before = door.estimator()
    with pytest.raises(ValueError, match=message) as error:
        door.learn_one(x, y)
    assert str(error.value).startswith("row 31: ")
    assert skipping.learn_one(x, y) is None
    assert (skipping.skipped, skipping.rows, skipping.learned) == (1, 31, 30)
    for one in (door, skipping):
        assert_same_state(before, one.estimator())
        assert one.estimator().feature_names_in_.tolist() == before.feature_names_in_.tolist()


def test_a_bad_first_row_leaves_the_stream_empty():
    door = OneByOne(Perceptron())
    for x in ({"a": float("nan")}, [], 5, "text"):
        with pytest.raises(ValueError, match=f"row {door.rows + 1}: "):
            door.learn_one(x, "yes")
    door.learn_one([1.0, 2.0], "yes")
    assert door.predict_one((3, 4)) == "yes"


def test_bad_rows_of_a_fixed_width():
    door = OneByOne(Perceptron())
    door.learn_one(sp.csr_matrix([[1.0, 0.0, 2.0]]), 1)
    for x, message in [
        ([1.0, 2.0], "3 features"),
        (sp.csr_matrix([[1.0, 2.0]]), "3 features"),
        (sp.csr_matrix(np.ones((2, 3))), "one CSR row"),
        ({"a": 1}, "mapping in a stream of rows of 3 numbers"),
        (np.ones((2, 3)), "one dimension"),
        ([1.0, float("nan"), 2.0], "column 1 is nan"),
    ]:
        with pytest.raises(ValueError, match=message):
            door.learn_one(x, 1)
    far = sp.csr_matrix((np.ones(1), np.array([2]), np.array([0, 1])), shape=(1, 3))
    far.indices[0] = 7
    with pytest.raises(ValueError, match="beyond the 3 features"):
        door.learn_one(far, 1)
    twice = sp.csr_matrix((np.ones(3), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    assert door.score_one(twice) == door.score_one([1, 0, 2])
    for weight in (0, -1, "heavy", 1e9, float("nan")):
        with pytest.raises(ValueError, match="weight must be"):
            door.learn_one([1.0, 2.0, 3.0], 1, weight)
    numbers = OneByOne(PassiveAggressiveRegressor())
    for y in (float("inf"), "1", None, 1e40):
        with pytest.raises(ValueError, match="finite number"):
            numbers.learn_one([1.0], y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (VotedPerceptron(), "keep='vote'"),
        (Perceptron(update="batch"), "batch"),
        (Perceptron(multiclass="ovo"), "ovo"),
        (Perceptron(order="worst"), "order='worst'"),
        (AROW(covariance="full"), "full"),
        (Perceptron(early_stopping=True), "early_stopping"),
    ],
)
def test_learners_that_need_more_than_a_row_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        OneByOne(model)


def test_wrong_settings_are_refused(tmp_path):
    with pytest.raises(TypeError, match="KernelPerceptron"):
        OneByOne(KernelPerceptron())
    with pytest.raises(ValueError, match="on_error"):
        OneByOne(Perceptron(), on_error="ignore")
    with pytest.raises(ValueError, match="features"):
        OneByOne(Perceptron(), features=0)
    with pytest.raises(ValueError, match="journal"):
        OneByOne(Perceptron()).checkpoint()
    with pytest.raises(ValueError, match="hashes names"):
        OneByOne(Perceptron(), features=8).learn_one([1.0], 1)
    plain = Perceptron().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="a mapping in a stream"):
        OneByOne(plain).learn_one({"a": 1.0}, 1)
    with pytest.raises(ValueError, match="indicator"):
        OneByOne(Perceptron(multiclass="ovr").fit([[0.0], [1.0]], [[0, 1], [1, 1]]))


def test_balanced_weights_follow_the_counts():
    door, slow = OneByOne(Perceptron(class_weight="balanced", random_state=0)), Perceptron(random_state=0)
    counts = {}
    for x, y in zip(rows("dense", float), labels("", 3), strict=True):
        counts[y] = counts.get(y, 0) + 1
        door.learn_one(x, y)
        slow.partial_fit([x], [y], sample_weight=[sum(counts.values()) / (len(counts) * counts[y])])
    assert np.array_equal(door.estimator().coef_, slow.coef_)


def test_a_refused_row_leaves_the_counts_and_the_state_alone():
    door = OneByOne(Perceptron(class_weight="balanced"), on_error="skip")
    plain = OneByOne(Perceptron(), on_error="skip")
    for one in (door, plain):
        one.learn_one([1.0, 2.0], 0)
        one.learn_one([2.0, 1.0], 1)
        one.learn_one([float("nan"), 1.0], 0, 2.5)
        assert one.skipped == 1
        assert vars(one.estimator())["_state"].whole
    door.learn_one([-1.0, 1.0], 0)
    slow = Perceptron()
    for x, y, weight in (([1.0, 2.0], 0, 1), ([2.0, 1.0], 1, 1), ([-1.0, 1.0], 0, 3 / 4)):
        slow.partial_fit([x], [y], classes=[0, 1], sample_weight=[weight])
    assert np.array_equal(door.estimator().coef_, slow.coef_)
    first = OneByOne(Perceptron())
    first.learn_one([1.0, 2.0], 0, 2.5)
    assert not vars(first.estimator())["_state"].whole


@pytest.mark.parametrize(
    "x", [[1.0, 10**400], np.array(3.0), np.array([1j, 2.0]), ["1", "2"], sp.csr_matrix([[1j, 0]])]
)
def test_rows_that_are_not_numbers_are_skipped(x):
    door = OneByOne(Perceptron(), on_error="skip")
    assert door.learn_one(x, 0) is None
    door.learn_one([1.0, 2.0], 0)
    door.learn_one([1.0, 2.0], 0)
    assert door.learn_one(x, 0) is None
    assert (door.rows, door.skipped, door.learned) == (4, 2, 2)


def test_numbers_beyond_double_precision_are_skipped():
    door = OneByOne(PassiveAggressiveRegressor(), on_error="skip")
    door.learn_one([1.0], 10**400)
    door.learn_one([1.0], 1.0, 10**400)
    assert (door.rows, door.skipped) == (2, 2)


def test_a_number_of_any_type_is_the_same_in_the_first_row_of_its_names_and_later():
    fresh, later = OneByOne(Perceptron(random_state=0)), OneByOne(Perceptron(random_state=0))
    for one, value in ((fresh, Fraction(3, 2)), (later, 1.5)):
        one.learn_one({"a": value}, 0)
        one.learn_one({"a": Fraction(-3, 2)}, 1)
    assert_same_state(fresh.estimator(), later.estimator())


def test_one_class_so_far_and_dates_as_classes():
    one = OneByOne(Perceptron())
    for x in ([1.0, 2.0], [-1.0, 2.0], [1.0, -2.0], [0.5, 0.5]):
        one.learn_one(x, "only")
    assert (one.mistakes, one.learned) == (0, 4)
    days, codes = OneByOne(Perceptron(random_state=0)), OneByOne(Perceptron(random_state=0))
    for x, y in zip(rows("dense", float), labels("", 3), strict=True):
        days.learn_one(x, np.datetime64("2020-01-01") + y)
        codes.learn_one(x, y)
    assert days.mistakes == codes.mistakes
    assert np.array_equal(days.estimator().coef_, codes.estimator().coef_)


def test_predicting_with_a_fitted_estimator_adds_no_names():
    door = OneByOne(Perceptron())
    door.learn_one({"a": 1.0}, 0)
    door.learn_one({"a": -1.0}, 1)
    again = OneByOne(door.estimator())
    again.predict_one({"new": 1.0, "a": 1.0})
    assert again.estimator().feature_names_in_.tolist() == ["a"]


@pytest.mark.parametrize("weight", [-1.0, float("inf"), float("nan"), "heavy"])
def test_weights_of_classes_are_checked(weight):
    with pytest.raises(ValueError, match="class_weight of 1 must be finite"):
        OneByOne(Perceptron(class_weight={1: weight}))
    door = OneByOne(Perceptron(class_weight={1: 1e9}))
    door.learn_one([1.0], 0)
    with pytest.raises(ValueError, match="at most 1,000,000"):
        door.learn_one([1.0], 1)


# -- the journal -------------------------------------------------------------------------------------------------------


KILLED = """
import sys
from rosenblatt import AveragedPerceptron, OneByOne
sys.path.insert(0, {tests!r})
from test_one_by_one import mixed
door = OneByOne(AveragedPerceptron(random_state=0), journal={folder!r}, every=20)
for k, (x, y) in enumerate(mixed(100)):
    door.learn_one(x, y)
    if k + 1 == {stop}:
        print("there", flush=True)
        sys.stdin.read()
"""


@pytest.mark.parametrize("stop", [7, 53])
def test_after_a_kill_the_stream_goes_on_from_its_last_checkpoint(tmp_path, stop):
    code = KILLED.format(tests=os.path.dirname(__file__), folder=str(tmp_path / "journal"), stop=stop)
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"there\n"
        process.send_signal(signal.SIGKILL)
    door = OneByOne(AveragedPerceptron(random_state=0), journal=tmp_path / "journal", every=20)
    assert door.rows == stop // 20 * 20
    assert door.replay == stop - door.rows
    stream = list(mixed(100))
    for x, y in stream[door.rows :]:
        door.learn_one(x, y)
    whole = OneByOne(AveragedPerceptron(random_state=0))
    for x, y in stream:
        whole.learn_one(x, y)
    assert_same_state(whole.estimator(), door.estimator())
    assert (door.rows, door.mistakes) == (whole.rows, whole.mistakes)


def test_a_journal_of_another_stream_or_with_damage(tmp_path):
    door = OneByOne(Perceptron(random_state=0), journal=tmp_path, every=10, on_error="skip")
    for k, (x, y) in enumerate(mixed(45)):
        door.learn_one({"n": None} if k == 12 else x, y)
    assert len(list(tmp_path.glob("*.model"))) == 2
    again = OneByOne(Perceptron(random_state=0), journal=tmp_path)
    assert (again.rows, again.skipped, again.learned, again.replay) == (40, 1, 39, 5)
    with pytest.raises(FileError, match="another folder"):
        OneByOne(Perceptron(margin=2.0, random_state=0), journal=tmp_path)
    with pytest.raises(FileError, match="names as they appear"):
        OneByOne(Perceptron(random_state=0), journal=tmp_path, features=16)
    newest = sorted(tmp_path.glob("*.model"))[-1]
    newest.write_bytes(newest.read_bytes()[:-9])
    assert OneByOne(Perceptron(random_state=0), journal=tmp_path).rows == 30
    for path in tmp_path.glob("*.json"):
        path.write_text("[]")
    with pytest.raises(FileError, match="no checkpoint of the journal can be read"):
        OneByOne(Perceptron(random_state=0), journal=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError):
        OneByOne(Perceptron(), journal=tmp_path / "file" / "folder")


def test_a_journal_removes_what_a_kill_left_and_takes_any_whole_number_of_features(tmp_path):
    (tmp_path / "0000000000000007.model").write_bytes(b"half")
    door = OneByOne(Perceptron(random_state=0), journal=tmp_path, every=2, features=np.int64(16))
    for k in range(8):
        door.learn_one({"a": float(k), "b": 1.0}, k % 2)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"{k:016d}.{kind}" for k in (6, 8) for kind in ("json", "model")] + ["rows-read"]
    assert OneByOne(Perceptron(random_state=0), journal=tmp_path, features=16).rows == 8


def test_a_first_row_without_features_is_refused_and_leaves_the_stream_open():
    door = OneByOne(AveragedPerceptron(), on_error="skip")
    assert door.learn_one({}, "a") is None
    assert door.learn_one({"x": [1]}, "a") is None
    door.learn_one([1.0, 2.0], "a")
    door.learn_one([-1.0, 2.0], "b")
    assert (door.skipped, door.learned) == (2, 2)
    assert door.estimator().n_features_in_ == 2
