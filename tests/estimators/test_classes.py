"""Classes that come later, long streams, labels by indicator, one plane or many."""

import pickle
import tracemalloc
from copy import copy, deepcopy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings
from sklearn.svm import SVC

from contracts import EVERY, cases, draw, make
from family import CLASSIFIERS, answers, same_model
from rosenblatt import (
    PAUM,
    AveragedPerceptron,
    Perceptron,
    VotedPerceptron,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:y has exactly one 1 in every row"
)
PROPERTY = settings(max_examples=25, deadline=None, derandomize=True)


# -- new classes -----------------------------------------------------------------------------------------------------


def one_class_then_two(estimator, X, y, first, **knobs):
    """A model that met its first class alone, and one that knew of both."""
    later, told = estimator(order="cyclic", **knobs), estimator(order="cyclic", **knobs)
    rows = y == first
    later.partial_fit(X[rows], y[rows])
    told.partial_fit(X[rows], y[rows], classes=np.unique(y))
    return later, told


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_second_class_may_come_later(estimator, multiclass, first):
    X, y = draw("binary")
    later, told = one_class_then_two(estimator, X, y, first, multiclass=multiclass)
    assert later.classes_.tolist() == [first]
    assert set(later.predict(X)) == {first}
    for _ in range(2):
        later.partial_fit(X, y)
        told.partial_fit(X, y)
        assert same_model(later, told)
        assert np.array_equal(answers(later, X), answers(told, X))


@pytest.mark.parametrize("keep", ["last", "average", "vote", "pocket"])
@pytest.mark.parametrize("first", [0, 1])
def test_second_class_may_come_later_whatever_is_kept(keep, first):
    X, y = draw("binary")
    later, told = one_class_then_two(Perceptron, X, y, first, keep=keep)
    later.partial_fit(X, y)
    told.partial_fit(X, y)
    assert same_model(later, told)


GROWING = {
    name: EVERY[name]
    for name in (
        *("last", "no bias", "average", "vote", "1/t", "batch", "PA", "AROW", "AROW full", "second order"),
        "second order full",
    )
}


@cases(GROWING, ["multinomial", "ovr", "ovo"])
@pytest.mark.parametrize("old", [(0, 2), (1, 3), (0, 1, 3), (1, 2, 3)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_new_classes_leave_decisions_between_old_ones(estimator, parameters, task, old, form):
    X, y = draw(task, integer=False)
    rows = np.isin(y, old)
    parameters = {**parameters, "fit_intercept": False}
    model = make(estimator, parameters, task)
    for _ in range(3):
        model.partial_fit(form(X[rows]), y[rows])
    # A row of zeros without a bias teaches nothing: what differs is only that the classes are known.
    nothing, label = form(np.zeros((1, X.shape[1]))), [old[0]]
    same, grown = deepcopy(model), deepcopy(model)
    same.partial_fit(nothing, label)
    grown.partial_fit(nothing, label, classes=[0, 1, 2, 3])
    assert grown.classes_.tolist() == [0, 1, 2, 3]
    before, after = same.decision_function(X), grown.decision_function(X)
    assert after.shape == (len(y), 4)
    if before.ndim == 1:
        chosen = np.where(after[:, old[1]] > after[:, old[0]], old[1], old[0])
        clear = np.abs(before) > 1e-9
    else:
        if task == "ovo":
            assert np.array_equal(after[:, old], before)  # pairs with a new class abstain
        chosen = np.array(old)[np.argmax(after[:, old], axis=1)]
        top = np.sort(before, axis=1)
        clear = top[:, -1] - top[:, -2] > 1e-9
    assert np.array_equal(chosen[clear], same.predict(X)[clear])


@cases({name: v for name, v in GROWING.items() if name not in ("no bias", "1/t")}, ["multinomial", "ovr", "ovo"])
def test_new_classes_are_learned(estimator, parameters, task):
    centres = np.array([[6.0, 0.0], [0.0, 6.0], [-6.0, 0.0], [0.0, -6.0]])
    y = np.random.default_rng(0).integers(0, 4, size=60)
    X = centres[y] + np.random.default_rng(1).uniform(-1, 1, size=(60, 2))
    model = make(estimator, parameters, task)
    for known in ([2], [0, 2], [0, 1, 2]):
        rows = np.isin(y, known)
        model.partial_fit(X[rows], y[rows])
        assert model.classes_.tolist() == known
        assert set(model.predict(X)) <= set(known)
    for _ in range(40):
        model.partial_fit(X, y)
    assert np.array_equal(model.predict(X), y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("bias_step", ["unit", "radius", 0.25])
def test_the_last_of_all_votes_is_the_last_iterate(bias_step, form, multiclass, classes):
    X, y = draw("ovo")
    X, y = X[y < classes], y[y < classes]
    knobs = {"bias_step": bias_step, "multiclass": multiclass, "order": "cyclic"}
    voted, last = VotedPerceptron(**knobs), Perceptron(**knobs)
    for scale in (1, 2, 5):  # R² grows, and a bias step of R² with it
        voted.partial_fit(form(scale * X), y)
        last.partial_fit(form(scale * X), y)
        vectors, intercepts = voted.vectors_, voted.intercepts_
        if isinstance(vectors, list):
            ends = np.array([w[-1].ravel() for w in vectors]), np.array([b[-1].ravel()[0] for b in intercepts])
        else:
            ends = np.atleast_2d(vectors[-1]), np.atleast_1d(intercepts[-1])
        assert np.array_equal(ends[0], last.coef_)
        assert np.array_equal(ends[1], last.intercept_)


def least_allocated(calls):
    """The bytes that the most modest of these calls asks for: what grows by doubling is left out."""
    asked = []
    for call in calls:
        tracemalloc.start()
        call()
        asked.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return min(asked)


@pytest.mark.compiled
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("estimator", [Perceptron, AveragedPerceptron, VotedPerceptron])
def test_a_long_stream_of_single_rows_copies_nothing_of_its_past(estimator, form):
    X, y = draw("binary", rows=50)
    model = estimator(margin=1e9, random_state=0)  # every visit is an update
    calls = [partial(model.partial_fit, form(X[i : i + 1]), y[i : i + 1]) for i in range(50)]
    model.partial_fit(X[:1], y[:1], classes=[0, 1])
    for call in calls:
        call()
    early = least_allocated(calls[:10])
    for t in range(4_000):
        calls[t % 50]()
    late = least_allocated(calls[:10])
    assert model.n_iter_ == len(model.report_.epochs) == 4_071
    assert late < early + 4_000  # a byte of each update would be more


@pytest.mark.compiled
def test_a_long_past_is_not_copied():
    X, y = draw("binary", rows=50)
    model = Perceptron(random_state=0).partial_fit(X, y)
    model.report_ = replace(model.report_, epochs=model.report_.epochs[:1] * 3_000_000)
    model.partial_fit(X[:1], y[:1])
    assert least_allocated([partial(model.partial_fit, X[i : i + 1], y[i : i + 1]) for i in range(9)]) < 100_000
    assert model.n_iter_ == 3_000_010


def test_reports_of_a_stream_do_not_change():
    X, y = draw("binary")
    model = Perceptron().partial_fit(X, y)
    first = model.report_
    copied = copy(model)  # a shallow one: both go on from the same records
    model.partial_fit(X, y)
    copied.partial_fit(-X, y)
    model.partial_fit(X, y)
    assert [len(report.epochs) for report in (first, copied.report_, model.report_)] == [1, 2, 3]
    assert model.report_.epochs[:1] == copied.report_.epochs[:1] == first.epochs == tuple(first.epochs)
    assert model.report_.epochs[1] != copied.report_.epochs[1]
    assert pickle.loads(pickle.dumps(model.report_)) == model.report_
    assert hash(model.report_.epochs) == hash(tuple(model.report_.epochs))
    assert repr(first.epochs) == repr(tuple(first.epochs))
    with pytest.raises(IndexError):
        first.epochs[1]
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)
    assert len(model.partial_fit(X, y).report_.epochs) == 4


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_every_vote_has_the_intercept_it_had(form):
    """Two classes, rows one at a time: the ballot is that of all models there were, each as long as it lived."""
    X, y = draw("binary", rows=12)
    X *= 1 + np.arange(12)[:, None]
    voted, last = (one(bias_step="radius") for one in (VotedPerceptron, Perceptron))
    ballot = np.zeros(len(X))
    for i in range(len(X)):
        before = last.report_.updates if i else 0
        voted.partial_fit(form(X[i : i + 1]), y[i : i + 1], classes=[0, 1])
        last.partial_fit(form(X[i : i + 1]), y[i : i + 1], classes=[0, 1])
        if last.report_.updates == before:
            ballot += np.where(last.decision_function(X) > 0, 1, -1)
        assert np.array_equal(voted.decision_function(X), ballot)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
def test_a_pocket_is_judged_on_the_rows_of_the_call(multiclass, form):
    rng = np.random.default_rng(0)
    centres = np.array([[6.0, 0.0], [-3.0, 5.0], [-3.0, -5.0]])
    y = np.arange(60) % 3
    early = centres[y] + rng.normal(size=(60, 2))
    late = centres[(y + 1) % 3] + rng.normal(size=(60, 2))  # the classes have changed places
    model = Perceptron(keep="pocket", multiclass=multiclass, random_state=0)
    for _ in range(9):
        model.partial_fit(form(early), y)
    assert model.score(early, y) == 1.0
    before = model.score(late, y)
    assert before < 0.1
    for _ in range(9):
        model.partial_fit(form(late), y)
        after = model.score(late, y)
        assert multiclass == "ovo" or after >= before  # of pairs each has its own pocket
        before = after
    assert before == 1.0


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_pair_learned_alone_is_the_pair_learned_among_others(estimator):
    X, y = draw("ovo")
    rows = y < 2
    knobs = {"order": "cyclic", "multiclass": "ovo", "keep": "last"} if estimator is Perceptron else {"order": "cyclic"}
    if estimator is VotedPerceptron:
        pytest.skip("a ballot has no planes to hold side by side")
    model = estimator(**{**knobs, "multiclass": "ovo"})
    alone = deepcopy(model)
    model.partial_fit(X[rows], y[rows]).partial_fit(X, y)
    alone.partial_fit(X[rows], y[rows]).partial_fit(X[rows], y[rows])
    assert model.coef_.shape == (6, X.shape[1])
    assert np.array_equal(model.coef_[0], alone.coef_[0])
    assert np.array_equal(model.intercept_[:1], alone.intercept_)


def test_names_of_new_classes_stand_in_order():
    X, y = draw("multinomial")
    names = np.array(["pear", "apple", "quince", "fig"])[y]
    model = Perceptron(random_state=0)
    for label in ("pear", "apple", "quince", "fig"):
        model.partial_fit(X[names == label], names[names == label])
    assert model.classes_.tolist() == ["apple", "fig", "pear", "quince"]
    for _ in range(20):
        model.partial_fit(X, names)
    assert model.score(X, names) > 0.5


def test_longer_names_of_new_classes_are_whole():
    X, y = draw("binary")
    model = Perceptron().partial_fit(X[y == 0], np.full((y == 0).sum(), "a"))
    model.partial_fit(X, np.where(y == 0, "a", "a long name"))
    assert set(model.predict(X)) <= {"a", "a long name"}
    assert model.classes_.tolist() == ["a", "a long name"]


# -- labels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_indicator_is_a_two_class_problem_a_column(estimator, multiclass, form):
    X, Y = draw("labels")
    model = estimator(order="cyclic", max_epochs=3, multiclass=multiclass).fit(form(X), Y)
    assert model.predict(X).shape == Y.shape
    assert set(np.unique(model.predict(X))) <= {0, 1}
    exact = estimator in (Perceptron, AveragedPerceptron, VotedPerceptron)
    for k in range(Y.shape[1]):
        column = estimator(order="cyclic", max_epochs=3).fit(form(X), Y[:, k])
        compare = np.array_equal if exact else np.allclose
        assert compare(model.decision_function(X)[:, k], column.decision_function(X))
        if exact:
            assert np.array_equal(model.predict(X)[:, k], column.predict(X))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_sparse_indicator_is_the_dense_one(estimator):
    X, Y = draw("labels")
    dense = estimator(order="cyclic", max_epochs=3).fit(X, Y)
    for form in (
        sp.csr_array,
        sp.csc_matrix,
        lambda a: a.astype(bool),
        lambda a: a.astype(float),
        lambda a: a.tolist(),
    ):
        assert same_model(estimator(order="cyclic", max_epochs=3).fit(X, form(Y)), dense)
    assert dense.score(X, Y) == np.mean((dense.predict(X) == Y).all(axis=1))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_one_vs_rest_is_a_two_class_problem_a_class(estimator):
    X, y = draw("ovr")
    model = estimator(order="cyclic", max_epochs=3, multiclass="ovr").fit(X, y)
    by_label = estimator(order="cyclic", max_epochs=3).fit(X, np.eye(4, dtype=int)[y])
    assert np.array_equal(model.decision_function(X), by_label.decision_function(X))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_one_vs_one_has_the_shapes_of_svc(estimator):
    X, y = draw("ovo")
    model, peer = estimator(max_epochs=3, multiclass="ovo").fit(X, y), SVC(kernel="linear").fit(X, y)
    if hasattr(model, "coef_"):
        assert model.coef_.shape == peer.coef_.shape == (6, 5)
        assert model.intercept_.shape == peer.intercept_.shape
    assert model.decision_function(X).shape == peer.decision_function(X).shape == (len(y), 4)
    assert np.array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_one_vs_one_is_a_vote_of_pairs_learned_alone(estimator):
    X, y = draw("ovo")
    knobs = {"order": "cyclic", **({"bias_step": "unit"} if estimator is PAUM else {})}  # R² is of all rows
    whole, votes = estimator(multiclass="ovo", **knobs), np.zeros((len(y), 4))
    for _ in range(3):
        whole.partial_fit(X, y)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    for number, (a, b) in enumerate(pairs):
        rows, pair = np.isin(y, (a, b)), estimator(**knobs)
        for _ in range(3):
            pair.partial_fit(X[rows], y[rows])
        if hasattr(pair, "coef_"):
            assert np.array_equal(whole.coef_[number], pair.coef_[0])
            assert whole.intercept_[number] == pair.intercept_[0]
        said = pair.decision_function(X)  # a pair at 0 abstains
        votes[:, a] += said < 0
        votes[:, b] += said > 0
    # Confidences only break ties between votes.
    assert np.array_equal(np.round(whole.decision_function(X)), votes)


@pytest.mark.parametrize(
    ("planes", "said"),
    [
        ([0, 0, 0], 0),  # nobody knows anything: the lowest of equals
        ([-1, 0, 0], 0),
        ([1, 0, 0], 1),
        ([0, 1, 0], 2),
        ([0, 0, -1], 1),
        ([0, -9, 1], 0),  # a vote and the sum 9 against a vote and the sum −8
        ([1, -1, 1], 0),  # one vote and the sum 0 for each
        ([0, 1, 1], 2),
    ],
)
def test_a_pair_at_zero_abstains(planes, said):
    model = Perceptron(multiclass="ovo", max_epochs=1).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    model.coef_, model.intercept_ = np.zeros((3, 1)), np.array(planes, dtype=float)
    assert model.predict([[5.0]]).tolist() == [said]


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
@pytest.mark.parametrize("estimator", [e for e in CLASSIFIERS if e is not VotedPerceptron])
def test_two_classes_are_one_plane(estimator, multiclass):
    X, y = draw("binary")
    model = estimator(max_epochs=3, multiclass=multiclass, random_state=0).fit(X, y)
    assert model.coef_.shape == (1, X.shape[1])
    assert model.intercept_.shape == (1,)
    assert model.decision_function(X).shape == (len(y),)
    assert same_model(model, estimator(max_epochs=3, random_state=0).fit(X, y))


@pytest.mark.parametrize(
    "names",
    [
        np.array(["no", "yes"]),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([-1.0, 1.0]),
        np.array([3, 2**40]),
        np.array(["no", "yes"], dtype=object),
        np.array([0, 255], dtype=np.uint8),
    ],
    ids=["str", "bool", "int", "float", "large", "object", "uint8"],
)
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_labels_of_any_kind(estimator, names):
    X, y = draw("binary")
    model = estimator(max_epochs=3, random_state=0).fit(X, names[y])
    plain = estimator(max_epochs=3, random_state=0).fit(X, y)
    assert model.classes_.dtype == names.dtype
    assert model.classes_.tolist() == names.tolist()
    assert np.array_equal(model.predict(X), names[plain.predict(X)])
    assert model.predict(X).dtype == names.dtype
    assert np.array_equal(answers(model, X), answers(plain, X))
    assert same_model(estimator(max_epochs=3, random_state=0).fit(X.tolist(), names[y].tolist()), model)
