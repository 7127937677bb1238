"""Numbers that leave the range of floats end a fit with an error that names the largest value, and no report lies."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_regressor

import rosenblatt
from family import contents
from rosenblatt import (
    AROW,
    PAUM,
    AveragedPerceptron,
    HierarchicalPerceptron,
    KernelPerceptron,
    KernelSVM,
    LinearClassifier,
    LinearRegressor,
    LinearSVM,
    MarkI,
    MaxMargin,
    MultilayerPerceptron,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Pegasos,
    Perceptron,
    RandomWiring,
    SecondOrderPerceptron,
    VotedPerceptron,
)
from rosenblatt.compiled.row_arrays import Dense, read_only
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.learn.epochs import InMemory
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.overflow import all_finite, largest_entry
from rosenblatt.online.rules import AROWRule
from rosenblatt.online.solver import OnlinePlan, OnlineSolver
from rosenblatt.planes.mixing import one_pass
from rosenblatt.prove.margins import Margins
from rosenblatt.prove.mistake_formula import Separator, mistake_bound

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # numpy tells of overflow, too
]

HUGE = np.float32(3.4e38)
LEARNERS = [
    Perceptron(),
    Perceptron(multiclass="ovr", bias_step="radius", learning_rate="1/t"),
    Perceptron(multiclass="ovo", keep="average"),
    Perceptron(update="batch", learning_rate="line-search"),
    Perceptron(order="worst"),
    Perceptron(keep="pocket"),
    AveragedPerceptron(),
    VotedPerceptron(),
    PAUM(),
    PassiveAggressive(),
    PassiveAggressive(variant="PA", multiclass="ovr"),
    AROW(),
    AROW(covariance="full"),
    SecondOrderPerceptron(),
    SecondOrderPerceptron(covariance="full"),
    LinearClassifier(solver="stochastic"),
    LinearClassifier(solver="stochastic", penalty="l1", loss="hinge", learning_rate=0.1),
    LinearClassifier(solver="stochastic", penalty=None, loss="exponential"),
    LinearClassifier(solver="batch"),
    LinearClassifier(solver="batch", loss="hinge", penalty="elasticnet"),
    Pegasos(),
    Pegasos(project=True, batch_size=3),
    LinearSVM(),
    LinearSVM(loss="squared_hinge"),
    LinearSVM(multiclass="crammer_singer"),
    KernelPerceptron(),
    KernelPerceptron("linear", keep="vote"),
    KernelPerceptron("linear", max_support=4, multiclass="ovr"),
    KernelPerceptron("poly", max_support=4, multiclass="ovo", when_full="forgetron"),
    KernelSVM(),
    KernelSVM(kernel="linear"),
    HierarchicalPerceptron(),
    HierarchicalPerceptron(keep="average"),
    MultilayerPerceptron((3,)),
    MultilayerPerceptron((3,), solver="sgd", loss="squared"),
    MarkI(20),
    MarkI(20, threshold=0.5),
    MaxMargin(),
    PassiveAggressiveRegressor(),
    LinearRegressor(),
    LinearRegressor(solver="batch", loss="absolute"),
]


def named(learner):
    return repr(learner).replace("\n", "").replace(" ", "")


every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=named)


def prepared(learner, epochs=4):
    known = learner.get_params()
    wanted = {"max_epochs": epochs, "random_state": 0}
    return clone(learner).set_params(**{name: value for name, value in wanted.items() if name in known})


def refused(call, X):
    """The call tells of an overflow, with the place of the largest value of X."""
    dense = X.toarray() if sp.issparse(X) else X
    row, column = np.unravel_index(np.argmax(np.abs(dense)), dense.shape)
    with pytest.raises(ValueError, match=r"(?i)scale the features") as caught:
        call()
    assert f"{dense[row, column]:.6g}, at row {row}, column {column}." in str(caught.value)
    return str(caught.value)


def weights_of(model):
    found = [vars(model).get(name, 0.0) for name in ("coef_", "intercept_", "dual_coef_")]
    return [*found, *vars(model).get("coefs_", []), *vars(model).get("intercepts_", [])]


MINIMISERS = ("LinearClassifier", "LinearSVM", "Pegasos", "KernelSVM", "MaxMargin")


def truthful(model, X, y):
    """The weights are finite, and the errors of the report are those of `predict`.

    Of two classes a tie is one, but for learners that minimise an objective and make no update on it.
    """
    assert all(np.isfinite(weights).all() for weights in weights_of(model))
    assert all(np.isfinite(record.loss) for record in model.report_.epochs)
    if is_regressor(model) or model.report_.errors is None:
        return
    wrong = model.predict(X) != y
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    if scores.ndim == 1 and type(model).__name__ not in MINIMISERS:
        wrong |= scores == 0
    assert model.report_.errors == np.count_nonzero(wrong)
    if model.report_.outcome == "separated":
        assert model.report_.errors == 0 or getattr(model, "keep", "last") != "last"


def error_or_truth(learner, rows, X, y, epochs=4):
    """A fit is refused, or what its report says is so."""
    model = prepared(learner, epochs)
    before = contents(model)
    try:
        model.fit(rows, y)
    except ValueError:
        refused(lambda: model.fit(rows, y), X)
        assert contents(model) == before
    else:
        truthful(model, rows, y)


# -- what was seen ---------------------------------------------------------------------------------------------------


@every_learner
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_rows_as_long_as_single_precision_allows(learner, form):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(40, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    y = y.astype(np.float32) if is_regressor(learner) else y
    X *= HUGE
    error_or_truth(learner, form(X), X, y)


@pytest.mark.parametrize("learner", [Perceptron(), AveragedPerceptron(), VotedPerceptron(), PAUM()], ids=named)
def test_infinite_weights_are_refused(learner):
    rng = np.random.default_rng(0)
    X = (rng.uniform(-1.0, 1.0, size=(40, 3)) * HUGE).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    assert "overflowed" in refused(lambda: prepared(learner, 50).fit(X, y), X)


@pytest.mark.parametrize("learner", [SecondOrderPerceptron(), Perceptron(), HierarchicalPerceptron()], ids=named)
@pytest.mark.parametrize("classes", [2, 3])
def test_cells_without_data(learner, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    y = np.argmax(X[:, :classes], axis=1)
    X[[17, 90, 140], 2] = -HUGE
    if isinstance(learner, HierarchicalPerceptron):  # its steps are short where rows are long
        error_or_truth(learner, X, X, y, 20)
        return
    refused(lambda: prepared(learner, 20).fit(X, y), X)
    fitted = prepared(learner, 2).fit(np.delete(X, [17, 90, 140], axis=0), np.delete(y, [17, 90, 140]))
    before = contents(fitted)
    twice = np.repeat(X, 2, axis=0)  # the row that makes weights long is met again
    refused(lambda: fitted.partial_fit(twice, np.repeat(y, 2)), twice)
    assert contents(fitted) == before


LONG = "np.random.default_rng(0).normal(size=(20, 3)) * 1e300"
FITS = [
    f"{kind}(solver={solver!r})"
    for kind in ("LinearClassifier", "LinearRegressor")
    for solver in ("stochastic", "batch")
]


@pytest.fixture(scope="module")
def fits_of_long_rows():
    """Their tracebacks, from a process of its own: a line search without a bound would never come back."""
    code = (
        "import json, sys, traceback, numpy as np; from rosenblatt import LinearClassifier, LinearRegressor\n"
        f"told = {{}}\nfor fit in {FITS}:\n"
        f"    try: eval(fit).set_params(max_epochs=5).fit({LONG}, np.arange(20) % 2)\n"
        "    except Exception: told[fit] = traceback.format_exc()\n"
        "print(json.dumps(told))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("fit", FITS)
def test_linear_models_of_values_whose_squares_overflow(fits_of_long_rows, fit):
    X = eval(LONG)
    row, column = np.unravel_index(np.argmax(np.abs(X)), X.shape)
    assert f"at row {row}, column {column}. Scale the features." in fits_of_long_rows[fit]
    assert "ZeroDivisionError" not in fits_of_long_rows[fit]


def test_line_search_that_finds_no_step_ends(monkeypatch):
    from rosenblatt.objective import proximal_gradient as batch

    real = batch.SmoothedObjective.point

    def overflowing(self, W, c):  # every point but the first one scores some row as NaN
        found = real(self, W, c)
        if W.any() or c.any():
            found.scores[0] = np.nan
        return found

    monkeypatch.setattr(batch.SmoothedObjective, "point", overflowing)
    with pytest.raises(NotFiniteError, match="No step size is small enough to decrease the loss"):
        LinearClassifier(solver="batch").fit([[0.0], [1.0], [3.0]], [0, 1, 1])


# -- the property ----------------------------------------------------------------------------------------------------

scales = st.one_of(
    st.integers(-300, 300).map(lambda power: 10.0**power),
    st.sampled_from([1.0, 1e-300, 1e-160, 1e150, 1e160, 1e300]),
)


@st.composite
def scaled_rows(draw):
    """Rows of one magnitude, of one for each column, or with a few cells that stand out."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    X = rng.normal(size=(14, 3))
    kind = draw(st.sampled_from(["all", "columns", "cells", "single"]))
    if kind == "single":
        X = (X / np.abs(X).max() * draw(st.sampled_from([3e38, 1e30, 1e19, 1e-30, 1e-44]))).astype(np.float32)
    elif kind == "all":
        X *= draw(scales)
    elif kind == "columns":
        X *= [draw(scales) for _ in range(3)]
    else:
        for _ in range(3):
            X[draw(st.integers(0, 13)), draw(st.integers(0, 2))] = draw(scales) * draw(st.sampled_from([-1.0, 1.0]))
    classes = draw(st.integers(2, 3))
    y = rng.integers(0, classes, size=14)
    y[:classes] = np.arange(classes)
    return X, y, draw(st.sampled_from([np.asarray, sp.csr_matrix]))


@every_learner
@settings(max_examples=8, deadline=None)
@given(drawn=scaled_rows())
def test_error_or_truth(learner, drawn):
    X, y, form = drawn
    y = y.astype(X.dtype) if is_regressor(learner) else y
    rows = form(X)
    error_or_truth(learner, rows, X, y, 3)
    if hasattr(learner, "partial_fit"):
        model = prepared(learner, 3)
        try:
            model.partial_fit(rows, y)
        except ValueError:
            refused(lambda: model.partial_fit(rows, y), X)
        else:
            assert all(np.isfinite(weights).all() for weights in weights_of(model))


# -- from files and in shards ----------------------------------------------------------------------------------------

FROM_FILES = [
    Perceptron(),
    AveragedPerceptron(),
    PAUM(),
    SecondOrderPerceptron(),
    LinearClassifier(solver="stochastic"),
    Pegasos(alpha=1e-300),
    MultilayerPerceptron((3,)),
]


def huge_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    y = (X[:, 0] > 0).astype(int)
    X[4:24] *= 1e300
    X[21, 1] = -1e307
    return X, y


@pytest.mark.parametrize("learner", FROM_FILES, ids=named)
@pytest.mark.parametrize("order", ["shuffle", "cyclic"])
def test_from_a_file(learner, order, tmp_path, monkeypatch):
    monkeypatch.setenv("ROSENBLATT_CACHE", str(tmp_path / "cache"))
    X, y = huge_rows()
    path = tmp_path / "rows.csv"
    lines = [",".join([str(label), *map(repr, row)]) for label, row in zip(y.tolist(), X.tolist(), strict=True)]
    path.write_text("\n".join(["label,a,b,c", *lines]) + "\n")
    model = prepared(learner, 6).set_params(order=order)
    before = contents(model)
    refused(lambda: rosenblatt.fit(model, path, label="label"), X)
    assert contents(model) == before


@pytest.mark.parametrize("learner", FROM_FILES[:-1], ids=named)
def test_in_shards(learner):
    X, y = huge_rows()
    model = prepared(learner, 6)
    before = contents(model)
    refused(lambda: rosenblatt.fit(model, (X, y), shards=3, n_jobs=2), X)
    refused(lambda: rosenblatt.fit(model, (sp.csr_matrix(X), y), shards=2), X)
    assert contents(model) == before


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_variances_too_small_to_be_mixed(covariance):
    X, y = huge_rows()
    X = np.where(np.abs(X) > 1e200, X / 1e290, X)
    model = prepared(AROW(covariance=covariance), 3)
    try:
        rosenblatt.fit(model, (X, y), shards=2)
    except ValueError:  # it depends on the last bit whether one comes to 0
        assert "variance" in refused(lambda: rosenblatt.fit(model, (X, y), shards=2), X)
    else:
        truthful(model, X, y)


def test_variance_of_zero_is_not_mixed():
    examples = Examples(Dense(read_only(np.ones((2, 1)))), 1, np.array([0, 1]), np.array([0, 1]), None, None, 1.0)
    plan = OnlinePlan(rule=AROWRule(), order="cyclic")
    state = plan.new_state(InMemory(examples), seed=0)
    state.machines[0].covariance.coef[:] = 0.0
    with pytest.raises(NotFiniteError, match="variance was rounded to 0"):
        one_pass(OnlineSolver(plan, state), examples, 0)


# -- the parts -------------------------------------------------------------------------------------------------------


def test_rows_of_weight_zero_are_not_to_blame():
    X = np.array([[1e300], [2e200], [-1e200], [3e200]])
    with pytest.raises(ValueError, match="3e\\+200, at row 3, column 0"):
        PAUM().fit(X, [0, 1, 0, 1], sample_weight=[0.0, 1.0, 1.0, 1.0])


def test_wiring_whose_sums_overflow():
    X = np.full((4, 5), 1e308)
    X[2, 3] = 1.5e308
    refused(lambda: RandomWiring(3, inhibitory=0.0).fit(X), X)
    fitted = RandomWiring(3, inhibitory=0.0, threshold=1.0).fit(np.ones((2, 5)))
    refused(lambda: fitted.transform(X), X)


def test_error_survives_a_process_boundary():
    error = NotFiniteError("The loss overflowed in epoch 3", remedy="Wait.").at((1, 2, -5e300))
    again = pickle.loads(pickle.dumps(error))
    assert (
        str(again)
        == str(error)
        == ("The loss overflowed in epoch 3: the largest value is -5e+300, at row 1, column 2. Wait.")
    )
    assert again.place == (1, 2, -5e300)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_array, np.ndarray.tolist])
def test_largest_value(form):
    X = np.zeros((9000, 3))
    X[8123, 1], X[40, 2] = -7.0, 6.0
    assert largest_entry(form(X)) == (8123, 1, -7.0)
    assert largest_entry(form(X), np.arange(9000) != 8123) == (40, 2, 6.0)
    assert largest_entry(form(0 * X)) == (0, 0, 0.0)


def test_margin_that_is_not_a_number_is_an_error():
    functional = np.array([np.nan, 1.0, 0.0])
    seen = Margins(functional, functional, functional, np.nan, np.ones((1, 1)), np.zeros(1))
    assert seen.errors == 2


@pytest.mark.parametrize("scale", [1e-155, 1.0, 1e70, 1e150])
def test_margin_and_bound_of_weights_whose_squares_overflow(scale):
    X, y = np.array([[3.0], [1.0], [-2.0]]), np.array([1, 1, 0])
    report = Perceptron(fit_intercept=False).fit(X * scale, y).report_
    assert report.outcome == "separated"
    assert report.margin == pytest.approx(scale)
    assert report.bound is None or report.bound == pytest.approx(9.0)
    assert (report.bound is None) == (scale not in (1.0, 1e70))


@pytest.mark.parametrize("low", [1e-300, 1e-200, 1e200, 1e300])
def test_mistake_bound_in_doubles_or_none(low):
    for norm2 in (1e-300, 1.0, 1e300):
        for radius2 in (1e-300, 1.0, 1e300):
            for bias in ("none", "unit", "radius"):
                bound = mistake_bound(Separator(low, norm2, 1.0), radius2, bias=bias)
                assert bound is None or 0 < bound < np.inf


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e30), (np.float64, 1e200), (np.float64, 1e-200)])
def test_finite_numbers_whose_squares_are_out_of_range_cause_no_warning(dtype, size):
    numbers = np.full((10, 20), size, dtype)
    with np.errstate(all="raise"):
        assert all_finite(numbers, numbers.T, numbers[::2])
    numbers[3, 4] = np.nan
    assert not all_finite(numbers)
