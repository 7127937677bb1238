"""Classes in a tree: the slow twin, trees of every form, distances, scikit-learn's contract."""

import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from family import contents
from rosenblatt import HierarchicalPerceptron
from rosenblatt.online.hierarchy import make_tree

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TREE = [["a", "b"], ["c", ["d", "e"]]]


def order_dependent(estimator):
    reason = "compares fits on rows in different orders"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.compiled
@parametrize_with_checks(
    [HierarchicalPerceptron(max_epochs=100), HierarchicalPerceptron(keep="average", max_epochs=100)],
    expected_failed_checks=order_dependent,
)
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


# -- the slow twin ---------------------------------------------------------------------------------------------------


def paths_of(tree, above=()):
    """The path of every leaf of nested lists, as sets of places."""
    found = {}
    for k, part in enumerate(tree):
        place = (*above, k)
        if isinstance(part, list):
            found.update({leaf: {place, *path} for leaf, path in paths_of(part, place).items()})
        else:
            found[part] = {place}
    return found


def twin(X, y, tree, epochs, bias):
    """Dekel, Keshet and Singer, one node's vector at a time; the last W, and the average over visits."""
    paths = paths_of(tree)
    classes = sorted(paths)
    rows = [[*map(float, x), 1.0] if bias else [*map(float, x)] for x in X]
    w = {v: [0.0] * len(rows[0]) for path in paths.values() for v in path}
    sums = {v: [0.0] * len(rows[0]) for v in w}
    updates, visits = 0, 0

    def score(label, x):
        return sum(p * q for v in paths[label] for p, q in zip(w[v], x, strict=True))

    for _ in range(epochs):
        for x, true in zip(rows, y, strict=True):
            scores = [score(label, x) for label in classes]
            said = classes[max(range(len(classes)), key=lambda k: (scores[k], -k))]
            if len(classes) == 2 and scores[0] == scores[1]:
                said = classes[1 - classes.index(true)]
            if said != true:
                apart = paths[true] ^ paths[said]
                loss = score(said, x) - score(true, x) + math.sqrt(len(apart))
                tau = loss / (len(apart) * sum(p * p for p in x))
                for v in apart:
                    sign = 1 if v in paths[true] else -1
                    w[v] = [p + sign * tau * q for p, q in zip(w[v], x, strict=True)]
                updates += 1
            visits += 1
            for v in w:
                sums[v] = [p + q for p, q in zip(sums[v], w[v], strict=True)]

    def planes(vectors, scale):
        return np.array([np.sum([vectors[v] for v in paths[label]], axis=0) * scale for label in classes])

    return planes(w, 1.0), planes(sums, 1.0 / visits), updates


def draw(labels, rows=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    X[rng.random(X.shape) < 0.2] = 0.0
    y = np.array(labels)[
        np.argmax(X @ rng.normal(size=(4, len(labels))) + rng.normal(size=(rows, len(labels))), axis=1)
    ]
    y[: len(labels)] = labels
    return X, y


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("keep", ["last", "average"])
@pytest.mark.parametrize(
    "tree", [TREE, [*"abcde"], [[["a"], "b"], "c"], ["a", "b"]], ids=["deep", "flat", "odd", "two"]
)
def test_learner_is_its_slow_twin(tree, keep, bias, form):
    X, y = draw(sorted(paths_of(tree)))
    last, average, updates = twin(X, y, tree, 4, bias)
    model = HierarchicalPerceptron(tree, keep=keep, fit_intercept=bias, order="cyclic", max_epochs=4).fit(form(X), y)
    found = np.column_stack([model.coef_, model.intercept_]) if bias else model.coef_
    expected = last if keep == "last" else average
    if len(expected) == 2:
        expected = expected[1:] - expected[:1]
    assert model.report_.updates == updates
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)
    paths = [path for _, path in sorted(paths_of(tree).items())]
    assert model.distances_.tolist() == [[len(one ^ other) for other in paths] for one in paths]


def test_flat_tree_of_two_steps_apart_is_multiclass_passive_aggressive():
    """γ = 2 for every pair: τ = ℓ/(2‖x‖²), with √2 in the place of margin 1, on mistakes only."""
    X, y = draw([0, 1, 2])
    model = HierarchicalPerceptron(order="cyclic", max_epochs=1, fit_intercept=False).fit(X, y)
    W = np.zeros((3, 4))
    for x, k in zip(X, y, strict=True):
        r = int(np.argmax(W @ x))
        if r != k:
            tau = ((W[r] - W[k]) @ x + math.sqrt(2)) / (2 * x @ x)
            W[k] += tau * x
            W[r] -= tau * x
    assert np.allclose(model.coef_, W)


# -- trees -----------------------------------------------------------------------------------------------------------


def test_trees_of_every_form_are_the_same():
    labels = ["comp.sys.ibm", "comp.sys.mac", "comp.org", "rec.auto"]
    nested = [[["comp.sys.ibm", "comp.sys.mac"], "comp.org"], ["rec.auto"]]
    parents = {
        "comp.sys.ibm": "comp.sys",
        "comp.sys.mac": "comp.sys",
        "comp.sys": "comp",
        "comp.org": "comp",
        "rec.auto": "rec",
        "comp": "everything",
        "rec": "everything",
    }
    ordered = sorted(labels)
    expected = [[0, 3, 3, 4], [3, 0, 2, 5], [3, 2, 0, 5], [4, 5, 5, 0]]
    assert make_tree(None, ordered).distances().tolist() == expected
    assert make_tree(nested, ordered).distances().tolist() == expected
    assert make_tree(parents, ordered).distances().tolist() == expected
    assert make_tree({**parents, "comp": None, "rec": None}, ordered).distances().tolist() == expected
    assert make_tree(None, [1, 2, 3]).distances().tolist() == (2 * (1 - np.eye(3, dtype=int))).tolist()
    assert make_tree(None, ["a.b", "c"]).distances().tolist() == [[0, 2], [2, 0]]  # not all have dots: flat
    # A class may be an inner node; what is on no path is left out.
    inner = make_tree({"b": "a", "c": "b", "z": "a"}, ["b", "c"])
    assert inner.distances().tolist() == [[0, 1], [1, 0]]
    assert make_tree(None, ["comp.sys", "comp.sys.mac"]).distances().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"a": "b", "b": "c", "c": "a", "d": "c", "e": "c"}, "cycle: 'a' → 'b' → 'c' → 'a'"),
        ({"a": "a", "b": "a"}, "cycle: 'a' → 'a'"),
        ([["a", "b"], "c", "d"], "'e' is not in the tree"),
        ({"a": "x", "b": "x", "c": "x", "d": "y"}, "'e' is not in the tree"),
        ([["a", "b"], ["a", "c"]], "'a' occurs twice"),
        ("abc", "tree"),
        (5, "tree"),
    ],
)
def test_bad_trees_are_refused(tree, message):
    X, y = draw([*"abcde"])
    model = HierarchicalPerceptron(TREE, max_epochs=2, random_state=0).fit(X, y)
    before = contents(model.set_params(tree=tree))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert contents(model) == before
    with pytest.raises(ValueError, match="nested lists"):
        make_tree("abc", ["a"])


# -- reports and contracts -------------------------------------------------------------------------------------------


def test_report_has_the_tree_distance_beside_accuracy():
    X, y = draw([*"abcde"], rows=80)
    model = HierarchicalPerceptron(TREE, order="cyclic", max_epochs=3, record_errors=True).fit(X, y)
    P = paths_of(TREE)
    said = model.predict(X)
    distance = np.mean([len(P[a] ^ P[b]) for a, b in zip(y, said, strict=True)])
    assert model.report_.tree_distance == pytest.approx(distance)
    assert model.report_.errors == np.count_nonzero(said != y) == model.report_.epochs[-1].errors
    assert model.report_.outcome == "budget"
    assert f"accuracy {np.mean(said == y):.4f}" in str(model.report_)
    assert model.tree_distance(X, y) == pytest.approx(distance)
    assert model.tree_distance(X[said == y], y[said == y]) == 0.0
    weight = (said != y).astype(float)
    assert model.tree_distance(X, y, sample_weight=weight) >= 2.0
    with pytest.raises(ValueError, match="'z' was not in y"):
        model.tree_distance(X, np.where(y == "a", "z", y))
    margins = model.decision_function(X)
    true = np.searchsorted(model.classes_, y)
    rest = margins.copy()
    rest[np.arange(80), true] = -np.inf
    low = (margins[np.arange(80), true] - rest.max(axis=1)).min() / np.linalg.norm(model.coef_)
    assert model.report_.margin == pytest.approx(low)


def test_errors_weigh_by_distance():
    """Where classes of one branch look alike, the tree sends errors to the near class more often than the flat one."""
    rng = np.random.default_rng(0)
    labels = np.array(["a.1", "a.2", "a.3", "b.1", "b.2", "b.3"])
    codes = rng.integers(0, 6, 900)
    X = np.eye(2)[codes // 3] @ rng.normal(size=(2, 8)) * 0.7 + np.eye(6)[codes] @ rng.normal(size=(6, 8)) * 0.3
    X += 0.5 * rng.normal(size=X.shape)
    y = labels[codes]
    deep = HierarchicalPerceptron(keep="average", max_epochs=5, random_state=0).fit(X[:600], y[:600])
    flat = HierarchicalPerceptron([*labels], keep="average", max_epochs=5, random_state=0).fit(X[:600], y[:600])
    flat.distances_ = deep.distances_
    assert deep.tree_distance(X[600:], y[600:]) < flat.tree_distance(X[600:], y[600:])


def test_clean_rows_converge():
    X = np.repeat(np.eye(5), 3, axis=0)
    y = np.repeat([*"abcde"], 3)
    for order in ("shuffle", "cyclic", "random", list(range(15))):
        model = HierarchicalPerceptron(TREE, order=order, random_state=0).fit(X, y)
        assert (model.report_.outcome, model.report_.errors, model.report_.tree_distance) == ("separated", 0, 0.0)
        assert model.report_.margin > 0
    short = HierarchicalPerceptron(TREE, order="cyclic", fit_intercept=False, max_epochs=2).fit(X, y)
    assert short.report_.outcome == "separated"
    with pytest.warns(ConvergenceWarning):
        HierarchicalPerceptron(order=[0, 1, 2], max_epochs=3).fit(X, y)


@pytest.mark.parametrize("keep", ["last", "average"])
def test_contracts(keep):
    X, y = draw([*"abcde"])
    make = HierarchicalPerceptron(TREE, keep=keep, max_epochs=3, random_state=5)
    whole, pieces = clone(make).fit(X, y), clone(make)
    for _ in range(3):
        pieces.partial_fit(X, y)
    assert np.array_equal(whole.coef_, pieces.coef_)
    assert whole.report_.updates == pieces.report_.updates
    ordered = clone(make).set_params(order="cyclic", max_epochs=1)
    parts = clone(ordered).partial_fit(X[:20], y[:20], classes=[*"abcde"])
    parts.partial_fit(sp.csr_array(X[20:45]), y[20:45]).partial_fit(X[45:], y[45:])
    assert np.allclose(parts.coef_, clone(ordered).fit(X, y).coef_, rtol=1e-12)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    weighed = clone(ordered).fit(X, y, sample_weight=weight)
    copied = clone(ordered).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    # A visit that changes nothing ends the row's turn, as it would for its copies.
    assert np.allclose(weighed.coef_, copied.coef_, rtol=1e-12)
    absent = clone(make).fit(X, y, sample_weight=(weight > 0).astype(float))
    assert np.array_equal(absent.coef_, clone(make).fit(X[weight > 0], y[weight > 0]).coef_)
    copy = pickle.loads(pickle.dumps(whole))
    assert np.array_equal(copy.partial_fit(X, y).coef_, whole.partial_fit(X, y).coef_)
    assert clone(make).fit(X.astype(np.float32), y).coef_.dtype == np.float32
    with pytest.raises(ValueError, match="new classes"):
        whole.partial_fit(X, np.where(y == "a", "f", y))
    with pytest.raises(ValueError, match="keep"):
        whole.set_params(keep="last" if keep == "average" else "average").partial_fit(X, y)


def test_empty_rows_and_bad_orders():
    X, y = load_iris(return_X_y=True)
    model = HierarchicalPerceptron(fit_intercept=False, max_epochs=2, order="cyclic").fit(
        np.zeros((4, 2)), [0, 1, 2, 0]
    )
    assert not model.coef_.any()
    with pytest.raises(ValueError, match="order names row 150"):
        HierarchicalPerceptron(order=[0, 150]).fit(X, y)
    with pytest.raises(ValueError, match="order"):
        HierarchicalPerceptron(order="worst").fit(X, y)
    with pytest.raises(ValueError, match="order"):
        HierarchicalPerceptron(order=[0.5]).fit(X, y)
    with pytest.raises(ValueError, match="multilabel"):
        HierarchicalPerceptron().fit(X, np.eye(3, dtype=int)[y])
    early = HierarchicalPerceptron(early_stopping=True, n_iter_no_change=2, random_state=0).fit(X, y)
    assert early.report_.outcome in ("early", "separated")
