"""Cases worked out by hand in lectures, and integers counted by others: each must come out exactly.

A case whose numbers are rational is first worked in fractions, by the slow twin, and then by the compiled learners.
"""

import gzip
import itertools
import math
import os
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import reference as twin
from rosenblatt import PAUM, AveragedPerceptron, Perceptron, VotedPerceptron

FORMS = {
    "dense32": lambda X: np.asarray(X, dtype=np.float32),
    "dense64": lambda X: np.asarray(X, dtype=np.float64),
    "csr32": lambda X: sp.csr_matrix(np.asarray(X, dtype=np.float32)),
    "csr64": lambda X: sp.csr_array(np.asarray(X, dtype=np.float64)),
}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def fractions(rows):
    return [[Fraction(value) for value in row] for row in rows]


def quietly(model, *args, **kwargs):
    """Fit where the budget is meant to run out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def plane(w, b):
    """A model that stands at this plane: rows on its right sides leave it there."""
    w = np.asarray(w, dtype=np.float64)
    away = (1.0 + abs(b)) * w / (w @ w)
    model = Perceptron().fit([away, -away], [1, -1], coef_init=[w], intercept_init=[b])
    assert model.report_.updates == 0
    return model


# -- the perceptron through the origin (CUHK) ------------------------------------------------------------------------


@forms
def test_four_rows_through_the_origin_use_the_whole_bound(form):
    X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    slow = twin.train(fractions(X), y, twin.Perceptron(), bias="none", epochs=5)
    assert (slow.coef, slow.updates, slow.converged) == ([[1, 1]], [2, 0], True)

    model = Perceptron(fit_intercept=False, order="cyclic").fit(form(X), y)
    assert model.coef_.tolist() == [[1.0, 1.0]]
    assert model.intercept_.tolist() == [0.0]
    report = model.report_
    assert report.outcome == "separated"
    assert [record.updates for record in report.epochs] == [2, 0]
    assert report.radius == 1.0
    assert report.margin == pytest.approx(1 / math.sqrt(2), rel=1e-7)
    assert report.bound == pytest.approx(2, rel=1e-6)
    assert report.updates == 2

    way = VotedPerceptron(fit_intercept=False, order="cyclic").fit(form(X), y)
    assert way.vectors_.tolist() == [[0, 0], [1, 0], [1, 1]]


# -- any start, rows picked by hand (KTH) ----------------------------------------------------------------------------

KTH = [[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]]
KTH_SIDES = [1, 1, 1, -1, -1, -1]
KTH_PICKS = [([4], (0.6, 0.9, -0.2)), ([4, 2], (0.2, 1.1, 0.0)), ([4, 2, 0], (0.5, 1.0, 0.2))]
KTH_START = {"coef_init": [[1, 0.5]], "intercept_init": [0]}
last_row = pytest.mark.parametrize("last_row", [[-2, -2], [-2, -1]])  # the notes print row 6 both ways


@last_row
def test_picked_rows_in_fractions(last_row):
    X = fractions([*KTH[:5], last_row])
    start = [[Fraction(1), Fraction(1, 2)]], [Fraction(0)]
    rule = twin.Perceptron(rate=Fraction(1, 5))
    for picks, (w1, w2, b) in KTH_PICKS:
        slow = twin.train(X, KTH_SIDES, rule, order=twin.explicit(picks), start=start)
        assert slow.updates == [len(picks)]
        exact = [Fraction(str(value)) for value in (w1, w2, b)]
        assert [*slow.coef[0], *slow.intercept] == exact
    assert slow.machines[0].clean()


@forms
@last_row
def test_picked_rows(form, last_row):
    X = form([*KTH[:5], last_row])
    for picks, (w1, w2, b) in KTH_PICKS:
        model = quietly(Perceptron(learning_rate=0.2, order=picks, max_epochs=1), X, KTH_SIDES, **KTH_START)
        assert model.report_.updates == len(picks)
        np.testing.assert_allclose([*model.coef_[0], *model.intercept_], [w1, w2, b], atol=1e-6)
    assert (model.report_.outcome, model.report_.errors) == ("separated", 0)
    assert model.report_.bound is None  # no bound of this form holds from another start than zero


@forms
@last_row
def test_file_order_updates_rows_3_5_and_1(form, last_row):
    """After row 3 the plane goes through row 5, a tie: the case is worked in units of 1/5, which are exact."""
    X, start = [*KTH[:5], last_row], ([[5, 2.5]], [0])
    way = [(5, 2.5, 0), (3, 3.5, 1), (1, 5.5, 0), (2.5, 5, 1)]
    slow = twin.train(fractions(X), KTH_SIDES, twin.Perceptron(), keep="vote", start=start, epochs=9)
    assert [(*s.planes[0][0], *s.planes[1]) for s in slow.machines[0].ballots[0]] == way
    assert slow.converged

    model = VotedPerceptron(order="cyclic").fit(form(X), KTH_SIDES, coef_init=start[0], intercept_init=start[1])
    assert np.column_stack([model.vectors_, model.intercepts_]).tolist() == [list(step) for step in way]
    assert model.report_.outcome == "separated"
    last = Perceptron(order="cyclic").fit(form(X), KTH_SIDES, coef_init=start[0], intercept_init=start[1])
    assert [*last.coef_[0] / 5, *last.intercept_ / 5] == pytest.approx([0.5, 1.0, 0.2], rel=1e-6)


# -- PLA from a given w(0) (Mons) ------------------------------------------------------------------------------------

MONS = [[3, 1], [1, -3], [-1, 3], [2.5, -1]], [1, -1, 1, 1]


@forms
def test_exercise_two_in_order(form):
    X, y = MONS
    way = [(-3, 1, 1), (-2, 0, 4), (-1, 2.5, 3)]  # x0 = 1 first, as the notes write it
    slow = twin.train(fractions(X), y, twin.Perceptron(), keep="vote", start=([[1, 1]], [-3]), epochs=9)
    assert [(*s.planes[1], *s.planes[0][0]) for s in slow.machines[0].ballots[0]] == way
    assert slow.updates == [2, 0]

    model = VotedPerceptron(order="cyclic").fit(form(X), y, coef_init=[[1, 1]], intercept_init=[-3])
    assert np.column_stack([model.intercepts_, model.vectors_]).tolist() == [list(step) for step in way]
    assert [record.updates for record in model.report_.epochs] == [2, 0]
    assert model.report_.outcome == "separated"


@pytest.mark.parametrize("order", ["first", "worst"])
def test_exercise_two_by_any_choice_of_a_wrong_row(order):
    X, y = MONS
    model = Perceptron(order=order).fit(X, y, coef_init=[[1, 1]], intercept_init=[-3])
    assert (model.report_.outcome, model.report_.errors) == ("separated", 0)
    slow = twin.train(X, y, twin.Perceptron(), order=order, start=([[1, 1]], [-3]), epochs=99)
    assert model.coef_.tolist() == slow.coef
    assert [record.updates for record in model.report_.epochs] == slow.updates


def test_problem_1_2_a_line_and_the_same_line_turned_round():
    w, b = np.array([2.0, 3.0]), 1.0
    on_the_line = [[x, -2 / 3 * x - 1 / 3] for x in (-4.0, 0.0, 0.5, 7.0)]
    beside = [[0.0, 0.0], [1.0, -2.0]]
    model, turned = plane(w, b), plane(-w, -b)
    np.testing.assert_allclose(model.decision_function(on_the_line), 0, atol=1e-14)
    np.testing.assert_allclose(turned.decision_function(on_the_line), 0, atol=1e-14)
    assert model.predict(beside).tolist() == [1, -1]
    assert turned.predict(beside).tolist() == [-1, 1]


@forms
@pytest.mark.parametrize("side", [1, -1])
def test_an_update_raises_the_margin_by_the_squared_length(form, side):
    """Mons, exercise III, and NPFL: y·f of the row grows by exactly 1 + ‖x‖², the constant feature included."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        x, w, b = rng.integers(-5, 6, 3), rng.integers(-5, 6, 3), int(rng.integers(-5, 6))
        before = int(x @ w + b)
        label = side if before == 0 else -int(np.sign(before))  # so that the row is wrong
        X, y = form([x, np.zeros(3)]), [label, -label]
        model = quietly(Perceptron(order=[0], max_epochs=1), X, y, coef_init=[w], intercept_init=[b])
        assert model.report_.updates == 1
        after = model.decision_function(X)[0]
        assert label * (after - before) == 1 + x @ x


# -- many classes, distances, 0/1 loss (Shanahan) --------------------------------------------------------------------


@forms
def test_quiz_raises_the_true_class_and_lowers_the_predicted_one(form):
    W, x = [[1, 2, -2], [3, -2, -1], [-1, 2, 4]], [1, -0.5, 3]
    slow = twin.train(
        fractions([x]), [1], twin.Perceptron(), scheme="multinomial", classes=3, bias="none", start=(W, [0] * 3)
    )
    assert slow.coef == [[1, 2, -2], [4, Fraction(-5, 2), 2], [-2, Fraction(5, 2), 1]]

    X, y = form([x, [0, 0, 0], [0, 0, 0]]), [2, 1, 3]
    model = quietly(Perceptron(fit_intercept=False, order=[0], max_epochs=1), X, y, coef_init=W)
    assert model.coef_.tolist() == [[1, 2, -2], [4, -2.5, 2], [-2, 2.5, 1]]
    model.coef_ = np.array(W, dtype=model.coef_.dtype)
    assert model.decision_function(X)[0].tolist() == [-6, 1, 10]
    assert model.predict(X)[0] == 3


def test_signed_distances_to_a_plane():
    model = plane([3, 4], -12)
    assert (model.decision_function([[0, 4], [0, 0]]) / np.linalg.norm(model.coef_)).tolist() == pytest.approx(
        [0.8, -2.4]
    )


def fewest_errors(X, y, bias):
    """Errors, ties included, over a grid of planes fine enough for these rows: the smallest and the largest count."""
    axis = np.arange(-4, 4.5, 0.5)
    planes = np.array(list(itertools.product(axis, axis, axis if bias else [0.0])))
    f = np.column_stack([X, np.ones(len(X))]) @ planes.T
    wrong = (np.asarray(y)[:, None] * f <= 0).sum(axis=0)
    return wrong.min(), wrong.max()


@forms
def test_zero_one_loss_without_bias_cannot_be_zero(form):
    X, y = [[-2, 3], [-1, -1], [2, -3]], [1, -1, 1]
    assert fewest_errors(X, y, bias=False) == (1, 3)
    with pytest.warns(ConvergenceWarning, match=r"with [123] of 3 training rows wrong"):
        model = Perceptron(fit_intercept=False, max_epochs=40, random_state=0).fit(form(X), y)
    assert model.report_.outcome == "budget"
    assert 1 <= model.report_.errors <= 3
    assert model.report_.bound is None
    with pytest.warns(ConvergenceWarning, match="with 1 of 3 training rows wrong"):
        best = Perceptron(fit_intercept=False, keep="pocket", max_epochs=40, random_state=0).fit(form(X), y)
    assert best.report_.errors == 1


@forms
def test_zero_one_loss_with_bias_reaches_zero(form):
    X, y = [[-2, 3], [-1, -1], [2, -3]], [1, -1, 1]
    assert (plane([3, 2], 1).decision_function(X) * y > 0).all()
    report = Perceptron(random_state=0).fit(form(X), y).report_
    assert (report.outcome, report.errors) == ("separated", 0)
    assert report.updates <= report.bound


# -- XOR (KTH) -------------------------------------------------------------------------------------------------------

XOR = [[0, 0], [1, 1], [0, 1], [1, 0]], [-1, -1, 1, 1]


@forms
@pytest.mark.parametrize("update", ["online", "batch"])
def test_xor_ends_by_budget_with_one_row_wrong_at_best(form, update):
    X, y = XOR
    assert fewest_errors(X, y, bias=True)[0] == 1
    with pytest.warns(ConvergenceWarning, match="budget of 60 epochs") as caught:
        model = Perceptron(update=update, max_epochs=60, random_state=0).fit(form(X), y)
    wrong = int((model.decision_function(form(X)) * y <= 0).sum())
    assert (model.report_.outcome, model.report_.errors) == ("budget", wrong)
    assert wrong >= 1
    assert f"with {wrong} of 4 training rows wrong" in str(caught[0].message)
    assert model.report_.bound is None


@forms
def test_the_pocket_keeps_the_best_plane_for_xor(form):
    """x1 + x2 > ½ has one row wrong; from there the perceptron wanders to planes with more."""
    X, y = XOR
    start = {"coef_init": [[2, 2]], "intercept_init": [-1]}
    last = quietly(Perceptron(order="cyclic", max_epochs=60), form(X), y, **start)
    assert last.report_.errors > 1
    model = quietly(Perceptron(keep="pocket", order="cyclic", max_epochs=60), form(X), y, **start)
    assert model.report_.errors == 1


def test_xor_by_planes_that_are_learned_one_on_the_other():
    """h1 = x1 or x2, h2 = not both, out = h1 and h2: each can be separated, so the perceptron finds each."""
    X, y = np.array(XOR[0]), np.array(XOR[1])
    either, both = X.any(axis=1), X.all(axis=1)
    units = [Perceptron(random_state=0).fit(X, target) for target in (either, ~both)]
    hidden = np.column_stack([unit.predict(X) for unit in units]).astype(np.float64)
    out = Perceptron(random_state=0).fit(hidden, y)
    assert {model.report_.outcome for model in (*units, out)} == {"separated"}
    assert out.predict(hidden).tolist() == y.tolist()


# -- integers counted on scikit-learn's digits -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    assert (X**2).sum(axis=1).max() == 5913
    return X, y


@pytest.mark.compiled
@forms
@pytest.mark.parametrize(("digit", "unit", "radius"), [(0, 70, 280), (2, 113, 384), (4, 198, 554)])
def test_mistakes_to_convergence_on_digits(digits, form, digit, unit, radius):
    X, y = digits
    for bias_step, mistakes in (("unit", unit), ("radius", radius)):
        model = Perceptron(bias_step=bias_step, order="cyclic").fit(form(X), y == digit)
        assert (model.report_.outcome, model.report_.errors) == ("separated", 0)
        assert model.report_.updates == mistakes
        assert mistakes <= model.report_.bound


PER_EPOCH = [315, 147, 108, 116, 91, 87, 81, 74, 81, 59]


@pytest.mark.compiled
@forms
def test_multinomial_mistakes_on_digits(digits, form):
    X, y = digits
    options = {"fit_intercept": False, "order": "cyclic", "max_epochs": 10}
    last = quietly(Perceptron(**options), form(X), y)
    assert [record.updates for record in last.report_.epochs] == PER_EPOCH
    assert last.report_.errors == np.count_nonzero(last.predict(form(X)) != y) == 92
    averaged = quietly(AveragedPerceptron(**options), form(X), y)
    assert [record.updates for record in averaged.report_.epochs] == PER_EPOCH
    assert averaged.report_.errors == np.count_nonzero(averaged.predict(form(X)) != y) == 42


def test_first_multinomial_epoch_on_digits(digits):
    """One epoch only, so that it also runs with compilation off."""
    X, y = digits
    model = quietly(Perceptron(fit_intercept=False, order="cyclic", max_epochs=1), X, y)
    assert model.report_.updates == PER_EPOCH[0]


@pytest.mark.compiled
@pytest.mark.parametrize(("units", "updates"), [(0, 280), (1, 928), (10, 6077)])
def test_updates_of_paum_on_digits(digits, units, updates):
    X, y = digits
    tau = units * 5913.0
    model = PAUM(margin=(tau, tau), order="cyclic").fit(X, y == 0)
    assert (model.report_.outcome, model.report_.updates) == ("separated", updates)
    assert (np.where(y == 0, 1, -1) * model.decision_function(X)).min() > tau


# -- integers counted on MNIST ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mnist():
    folder = os.environ.get("ROSENBLATT_DATA")
    if not folder:
        pytest.skip("ROSENBLATT_DATA names no folder of data sets")
    home = Path(folder) / "mnist"
    if not home.is_dir():
        pytest.skip("the folder that ROSENBLATT_DATA names has no mnist")

    def read(name, header):
        return np.frombuffer(gzip.decompress((home / f"{name}-ubyte.gz").read_bytes()), np.uint8)[header:]

    def half(name):
        X = read(f"{name}-images-idx3", 16).reshape(-1, 784).astype(np.float64)
        return X, read(f"{name}-labels-idx1", 8)

    return *half("train"), *half("t10k")


@pytest.mark.compiled
def test_one_vs_rest_mistakes_on_mnist(mnist):
    X, y, X_test, y_test = mnist
    mistakes = [1084, 966, 2209, 2785, 1833, 2947, 1480, 1663, 4991, 3799]
    options = {"order": "cyclic", "max_epochs": 1}
    for digit, expected in enumerate(mistakes):
        assert quietly(Perceptron(**options), X, y == digit).report_.updates == expected
    for keep, wrong in (("last", 1675), ("average", 863)):
        model = quietly(Perceptron(multiclass="ovr", keep=keep, **options), X, y)
        assert model.report_.updates == sum(mistakes)
        assert np.count_nonzero(model.predict(X_test) != y_test) == wrong


@pytest.mark.compiled
def test_multinomial_mistakes_on_mnist(mnist):
    X, y, X_test, y_test = mnist
    for keep, wrong in (("last", 1260), ("average", 807)):
        model = quietly(Perceptron(fit_intercept=False, keep=keep, order="cyclic", max_epochs=1), X, y)
        assert model.report_.updates == 8696
        assert np.count_nonzero(model.predict(X_test) != y_test) == wrong
