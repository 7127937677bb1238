"""The dual variables of the lectures, α of each row, on the four machines that have them."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

import rosenblatt
from rosenblatt import KernelPerceptron, KernelSVM, LinearSVM, MaxMargin, max_margin

KTH = np.array([[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]]), np.array([1, 1, 1, -1, -1, -1])
XOR = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]), np.array([-1, -1, 1, 1])
MACHINES = [
    MaxMargin(),
    MaxMargin(fit_intercept=False),
    LinearSVM(tol=1e-9, random_state=0),
    KernelSVM(kernel="linear", tol=1e-9),
    KernelPerceptron("linear", fit_intercept=True, random_state=0),
    KernelPerceptron("linear", keep="average", random_state=2),
]


def draw(classes, n=30):
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, n)
    angle = 2 * np.pi * y / classes
    return 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.uniform(-0.7, 0.7, (n, 2)), y


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_planes_are_made_of_the_support(machine, classes, form):
    X, y = draw(classes)
    model = copy.deepcopy(machine).fit(form(X), y)
    planes = 1 if classes == 2 else 3
    assert (np.diff(model.support_) > 0).all()
    assert model.dual_coef_.shape == (planes, model.support_.size)
    assert model.support_.size < len(y)
    w, b = model.dual_coef_ @ X[model.support_], model.intercept_
    scores = X @ w.T + b
    assert np.allclose(scores[:, 0] if planes == 1 else scores, model.decision_function(X), atol=1e-5)
    if hasattr(model, "coef_"):
        assert np.allclose(w, model.coef_, atol=1e-6)
    else:
        vectors = model.support_vectors_
        assert np.array_equal(vectors.toarray() if sp.issparse(vectors) else vectors, X[model.support_])


def test_the_mistakes_on_each_row():
    """The dual perceptron: α counts the mistakes on each row, whatever the order of the visits."""
    X, y = KTH
    for seed in range(10):
        dual = KernelPerceptron("linear", fit_intercept=True, random_state=seed).fit(X, y)
        primal = rosenblatt.Perceptron(random_state=seed).fit(X, y)
        steps = rosenblatt.trace(X, y, order="shuffle", random_state=seed).updates
        counts = np.bincount([step.row for step in steps], minlength=6)
        assert dual.support_.tolist() == np.flatnonzero(counts).tolist()
        assert dual.dual_coef_[0].tolist() == (y * counts)[dual.support_].tolist()
        assert np.allclose(dual.dual_coef_ @ X[dual.support_], primal.coef_)


def test_the_widest_plane_has_the_multipliers_of_a_hard_svm():
    X, y = KTH
    model, hard = MaxMargin().fit(X, y), SVC(kernel="linear", C=1e9, tol=1e-9).fit(X, y)
    order = np.argsort(hard.support_)  # scikit-learn puts the rows of one class after those of the other
    assert model.support_.tolist() == hard.support_[order].tolist()
    assert model.dual_coef_ == pytest.approx(hard.dual_coef_[:, order], rel=1e-5)
    assert model.dual_coef_.sum() == pytest.approx(0, abs=1e-12)  # Σ α_i y_i = 0, of the intercept
    margin = max_margin(X, y).margin
    assert np.abs(model.dual_coef_).sum() == pytest.approx(1 / margin**2)  # Σ α_i = ‖w‖² = 1/γ²


def test_rows_that_no_plane_separates_have_multipliers_too():
    X, y = XOR
    with pytest.warns(match="No plane separates"):
        model = MaxMargin().fit(X, y)
    assert model.support_.tolist() == [0, 1, 2, 3]
    assert model.dual_coef_.tolist() == [[-2, -2, 2, 2]]  # 2·C·ξ, ξ = 1: the best plane is w = 0


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_rows_of_weight_zero_are_counted(machine):
    X, y = draw(2)
    weight = np.ones(30)
    weight[[0, 3, 4, 11]] = 0
    model = copy.deepcopy(machine).fit(X, y, sample_weight=weight)
    assert (weight[model.support_] > 0).all()
    assert np.allclose(X @ (model.dual_coef_ @ X[model.support_])[0] + model.intercept_, model.decision_function(X))


@pytest.mark.parametrize("rule", ["projectron++", "forgetron"])
@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_a_budget_keeps_the_numbers_of_its_rows(rule, multiclass):
    X, y = draw(3, 60)
    how = {"max_support": 5, "when_full": rule, "multiclass": multiclass, "projection_tol": 0.0, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelPerceptron(**how, max_epochs=3).fit(X, y)
    assert (np.diff(model.support_) >= 0).all()
    assert np.array_equal(model.support_vectors_, X[model.support_])
    assert (np.count_nonzero(model.dual_coef_, axis=1) <= 5).all()


def test_learning_on_numbers_rows_by_their_call():
    X, y = KTH
    whole, calls = KernelPerceptron(random_state=0, max_epochs=3), KernelPerceptron(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole.fit(X, y)
    for _ in range(3):
        calls.partial_fit(X, y)
    assert calls.support_.tolist() == whole.support_.tolist()
    assert calls.dual_coef_.tolist() == whole.dual_coef_.tolist()


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_they_survive_a_file_and_cannot_be_written_to(machine, tmp_path):
    model = copy.deepcopy(machine).fit(*KTH)
    rosenblatt.save(model, tmp_path / "model")
    for same in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model), rosenblatt.load(tmp_path / "model")):
        assert same.support_.tolist() == model.support_.tolist()
        assert same.dual_coef_.tolist() == model.dual_coef_.tolist()
        for name in ("coef_", "intercept_", "support_", "dual_coef_"):
            if name in vars(model) or name in ("support_", "dual_coef_"):
                with pytest.raises(ValueError, match="read-only"):
                    getattr(same, name)[...] = 7


def test_of_given_weights_there_are_none():
    assert not hasattr(MaxMargin.from_weights([1, 2]), "dual_coef_")
    assert not hasattr(LinearSVM.from_weights([1, 2]), "support_")


def test_multipliers_that_no_double_holds_are_not_published():
    X, y = np.array([[1.0, 0], [2, 1], [-1, 0], [-2, 0.5]]), np.array([1, 1, -1, -1])
    model = MaxMargin().fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, [[0.5, -0.5]])
    model.fit(X * 1e-155, y)  # α grows with the square of 1/length
    assert model.score(X * 1e-155, y) == 1
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(model, "support_")
