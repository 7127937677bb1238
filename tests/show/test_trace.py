"""Traces: the worked cases in fractions, and every learner's run as the learner itself makes it."""

import json
import math
import warnings
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from rosenblatt import (
    AROW,
    PAUM,
    AveragedPerceptron,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
    trace,
)
from rosenblatt.plot import verdict
from rosenblatt.shell.online_learner import plan_of
from rosenblatt.tracing.trace import Trace

KTH = [[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]]
KTH_SIDES = [1, 1, 1, -1, -1, -1]
MONS = [[3, 1], [1, -3], [-1, 3], [2.5, -1]], [1, -1, 1, 1]
XOR = [[0, 0], [1, 1], [0, 1], [1, 0]], [-1, -1, 1, 1]


def planes(run):
    return [(*step.coef[0], *step.intercept) for step in run.updates]


def exactly(*numbers):
    return tuple(F(str(number)) for number in numbers)


# -- the worked cases, in fractions ----------------------------------------------------------------------------------


def test_cuhk_uses_the_whole_bound():
    run = trace([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], fit_intercept=False, exact=True)
    assert [(step.row, *step.coef[0]) for step in run.updates] == [(0, 1, 0), (1, 1, 1)]
    assert all(isinstance(value, F) for step in run for value in step.coef[0])
    assert (run.outcome, run.bound, len(run.updates), len(run)) == ("separated", 2, 2, 8)
    assert run.angles()[[0, 1]] == pytest.approx([45, 0], abs=1e-9)
    assert run.angles("widest")[-1] == pytest.approx(0, abs=1e-3)
    for k, step in enumerate(run.updates, 1):  # after update k: w·u ≥ kγ and ‖w‖² ≤ kR²
        assert sum(step.coef[0]) >= k
        assert sum(value**2 for value in step.coef[0]) <= k


@pytest.mark.parametrize("last", [[-2, -2], [-2, -1]])
def test_kth_picks_rows(last):
    way = [exactly(0.6, 0.9, -0.2), exactly(0.2, 1.1, 0), exactly(0.5, 1.0, 0.2)]
    options = {"learning_rate": 0.2, "coef_init": [[1, 0.5]], "exact": True}
    run = trace([*KTH[:5], last], KTH_SIDES, order=[4, 2, 0], **options)
    assert [step.row for step in run.updates] == [4, 2, 0]
    assert planes(run) == way
    assert (run.outcome, run.bound) == ("separated", None)
    in_order = trace([*KTH[:5], last], KTH_SIDES, **options)
    assert [step.row for step in in_order.updates] == [2, 4, 0]
    assert planes(in_order) == [exactly(0.6, 0.7, 0.2), exactly(0.2, 1.1, 0), exactly(0.5, 1.0, 0.2)]
    text = str(run)
    for number in ("(0.6, 0.9), −0.2", "(0.2, 1.1), 0", "(0.5, 1), 0.2", "−0.25 ≤ 0", "w = (1, 0.5), b = 0"):
        assert number in text


def test_mons_exercise_two():
    run = trace(*MONS, coef_init=[[1, 1]], intercept_init=[-3], exact=True)
    assert [(step.row, *step.intercept, *step.coef[0]) for step in run.updates] == [
        (2, -2, 0, 4),
        (3, -1, F(5, 2), 3),
    ]
    assert (run.outcome, run.steps[-1].epoch) == ("separated", 2)


def test_mons_problem_1_2_is_one_line_from_both_sides():
    run = trace([[0, 0], [1, -2]], [1, -1], coef_init=[[2, 3]], intercept_init=[1], exact=True)
    turned = trace([[0, 0], [1, -2]], [-1, 1], coef_init=[[-2, -3]], intercept_init=[-1], exact=True)
    assert not run.updates
    assert not turned.updates
    x = F(7)
    assert 2 * x + 3 * (-F(2, 3) * x - F(1, 3)) + 1 == 0
    assert [step.scores[0] for step in run] == [-step.scores[0] for step in turned] == [1, -3]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.fractions(-5, 5, max_denominator=9), min_size=5, max_size=5), st.sampled_from([1, -1]))
def test_an_update_raises_the_margin_by_the_squared_length(numbers, side):
    """Mons, exercise III, and NPFL: by exactly 1 + ‖x‖²."""
    x, w, b = numbers[:2], numbers[2:4], numbers[4]
    if side * (w[0] * x[0] + w[1] * x[1] + b) > 0:
        side = -side
    run = trace([x, [0, 0]], [side, -side], order=[0], max_epochs=1, coef_init=[w], intercept_init=[b], exact=True)
    (step,) = run.updates
    assert step.margin_after - step.margin == 1 + x[0] ** 2 + x[1] ** 2
    assert step.change == ((side * x[0], side * x[1]),)
    assert step.shift == (side,)


def test_shanahan_quiz():
    W, x = [[1, 2, -2], [3, -2, -1], [-1, 2, 4]], [1, -0.5, 3]
    run = trace([x, [0] * 3, [0] * 3], [2, 1, 3], fit_intercept=False, order=[0], max_epochs=1, coef_init=W, exact=True)
    (step,) = run.steps
    assert step.scores == (-6, 1, 10)
    assert step.margin == -9
    assert step.coef == ((1, 2, -2), (4, F(-5, 2), 2), (-2, F(5, 2), 1))
    assert "(−6, 1, 10)" in str(run)


@pytest.mark.parametrize("exact", [False, True])
def test_the_quiz_is_one_row_from_given_weights(exact):
    W = [[1, 2, -2], [3, -2, -1], [-1, 2, 4]]
    quiz = Perceptron.from_weights(W, classes=(1, 2, 3), fit_intercept=False)
    run = trace([[1, -0.5, 3]], [2], quiz, exact=exact, first=1, max_epochs=1)
    (step,) = run.steps
    assert (step.scores, step.margin, step.updated) == ((-6, 1, 10), -9, True)
    assert step.coef == ((1, 2, -2), (4, -2.5, 2), (-2, 2.5, 1))
    assert run.classes == (1, 2, 3)
    assert Trace.from_json(run.to_json()) == run
    assert str(run).endswith("after 1 update in 1 step")
    one = trace([[1, 2]], [-1], Perceptron.from_weights([1, 2], 0.5), exact=exact)  # of two classes, one row of one
    assert one.steps[0].coef == ((0, 0),)
    assert (one.outcome, Trace.from_json(one.to_json())) == ("separated", one)


def test_rows_are_numbered_as_on_slides():
    model = Perceptron(learning_rate=0.2, order=[4, 2, 0], max_epochs=1)
    plain, slides = (trace(KTH, KTH_SIDES, model, coef_init=[[1, 0.5]], exact=True, first=first) for first in (0, 1))
    rows = [[line.split()[2] for line in str(run).splitlines()[3:6]] for run in (plain, slides)]
    assert rows == [["4", "2", "0"], ["5", "3", "1"]]
    assert [step.row for step in slides.steps] == [4, 2, 0]  # an index
    assert Trace.from_json(slides.to_json()) == slides
    batch = trace(KTH, KTH_SIDES, update="batch", exact=True, first=1).steps[0]
    assert batch.rows == (0, 1, 2, 3, 4, 5)
    assert "1, 2, 3, 4, 5, 6" in str(trace(KTH, KTH_SIDES, update="batch", exact=True, first=1))


def test_shanahan_distances():
    run = trace([[0, 4], [0, 0]], [1, -1], coef_init=[[3, 4]], intercept_init=[-12], exact=True)
    assert not run.updates
    squares = [step.scores[0] * abs(step.scores[0]) / 25 for step in run]  # f|f|/‖w‖²: the square, with its sign
    assert squares == [F(4, 5) ** 2, -(F(12, 5) ** 2)]
    assert F(1) ** 2 + F(2) ** 2 == 5


def test_shanahan_zero_one_loss():
    X, y = [[-2, 3], [-1, -1], [2, -3]], [1, -1, 1]
    without = trace(X, y, fit_intercept=False, max_epochs=20, exact=True)
    assert (without.outcome, without.bound) == ("budget", None)
    assert trace(X, y, exact=True).outcome == "separated"
    assert not trace(X, y, coef_init=[[3, 2]], intercept_init=[1], exact=True).updates
    seen = verdict.separability_verdict(X, y, fit_intercept=False)
    assert seen.rows == (0, 2)
    assert seen.weights == pytest.approx((0.5, 0.5))
    assert np.isnan(without.angles("widest")).all()


def test_shanahan_page_in_floats():
    """The scores of the interactive page: log losses from the trace of a run that makes no step."""
    W, b = [[0.52, 0.68], [-0.82, 0.52], [0.20, -1.17]], [-0.18, -0.05, -0.06]
    X = [
        [0.5, 0.4],
        [0.8, 0.3],
        [0.3, 0.8],
        [-0.4, 0.3],
        [-0.3, 0.7],
        [-0.7, 0.2],
        [0.7, -0.4],
        [0.5, -0.6],
        [-0.4, -0.5],
    ]
    run = trace(X, [0, 0, 0, 1, 1, 1, 2, 2, 2], coef_init=W, intercept_init=b, exact=True, max_epochs=1)
    assert not run.updates
    losses = []
    for step in run:
        scores = np.array(step.scores, dtype=float)
        losses.append(math.log(np.exp(scores).sum()) - scores[step.label])
    assert np.round(losses, 2).tolist() == [0.70, 0.63, 0.64, 0.66, 0.63, 0.53, 0.58, 0.45, 0.67]


def test_kth_xor_ends_by_budget_and_sign_units_solve_it():
    X, y = XOR
    run = trace(X, y, exact=True, max_epochs=30)
    assert (run.outcome, run.bound) == ("budget", None)
    seen = verdict.separability_verdict(X, y)
    assert (seen.separable, seen.rows) == (False, (0, 1, 2, 3))
    assert seen.weights == pytest.approx([0.25] * 4)
    hidden = [[F(a + b) - F(1, 2), F(3, 2) - a - b] for a, b in X]
    signs = [[1 if value > 0 else -1 for value in row] for row in hidden]
    assert not trace(signs, y, coef_init=[[1, 1]], intercept_init=[-1], exact=True).updates


def test_a_float_counts_as_the_number_it_prints_as():
    run = trace([[0.1], [-0.3]], [1, -1], learning_rate=0.2, exact=True)
    assert ((F(1, 10),), (F(-3, 10),)) == run.X
    assert run.updates[0].coef == ((F(1, 50),),)
    thirds = trace(
        [["1/3"], [np.float32(0.5)]], [1, -1], learning_rate=0.5, max_epochs=1, fit_intercept=False, exact=True
    )
    assert thirds.updates[0].coef == ((F(1, 6),),)


# -- what fractions refuse -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Perceptron(learning_rate="1/sqrt(t)"), "square roots"),
        (Perceptron(learning_rate="line-search", update="batch"), "searches in floating point"),
        (Perceptron(keep="pocket"), "pocket"),
        (Perceptron(early_stopping=True), "early_stopping"),
    ],
)
def test_rules_that_are_not_rational_are_refused(model, why):
    with pytest.raises(ValueError, match=why):
        trace(*MONS, model, exact=True)


def test_fractions_that_grow_without_end_are_refused():
    with pytest.raises(ValueError, match="digits"):
        trace(np.array(KTH * 4), KTH_SIDES * 4, AROW(max_epochs=9), exact=True)


def test_what_cannot_be_traced_is_refused():
    with pytest.raises(TypeError, match="not LogisticRegression"):
        trace(*MONS, LogisticRegression())
    with pytest.raises(ValueError, match="1 class"):
        trace([[1.0], [2.0]], [1, 1], exact=True)
    with pytest.raises(ValueError, match="finite"):
        trace([[float("nan")], [1.0]], [0, 1], exact=True)
    with pytest.raises(ValueError, match="not a number"):
        trace([[None], [1.0]], [0, 1], exact=True)
    with pytest.raises(ValueError, match="final"):
        trace(*MONS).angles("nowhere")


# -- trace = learner -------------------------------------------------------------------------------------------------

MODELS = [
    Perceptron(),
    Perceptron(order="cyclic", learning_rate=0.5, bias_step="radius"),
    Perceptron(order="cyclic", bias_step=0.25),
    Perceptron(order="random", learning_rate="1/t"),
    Perceptron(order="first", fit_intercept=False),
    Perceptron(order="worst"),
    Perceptron(order=[3, 1, 1, 0, 2]),
    Perceptron(update="batch"),
    Perceptron(update="batch", keep="average", learning_rate="1/t", multiclass="ovr"),
    Perceptron(learning_rate=lambda epoch: 1 / epoch, multiclass="ovr"),
    Perceptron(multiclass="ovo", margin=2.0),
    AveragedPerceptron(),
    AveragedPerceptron(multiclass="ovo"),
    VotedPerceptron(),
    PAUM(margin=(0.5, 2.0)),
    PassiveAggressive(variant="PA"),
    PassiveAggressive(variant="PA-I", C=0.25, keep="average"),
    PassiveAggressive(variant="PA-II", multiclass="ovr", bias_step=0.5),
    AROW(),
    AROW(bias_step=0.25),
    AROW(covariance="full", r=2.0, bias_step=0.5),
    SecondOrderPerceptron(),
    SecondOrderPerceptron(bias_step=0.25),
    SecondOrderPerceptron(covariance="full", multiclass="ovr"),
]
FLOATS_ONLY = [
    Perceptron(keep="pocket"),
    Perceptron(learning_rate="1/sqrt(t)"),
    Perceptron(update="batch", learning_rate="line-search"),
]


def named(model):
    return f"{type(model).__name__}-{len(repr(model.get_params()))}"


def fit(model, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **options)


def same_as_learner(run, model):
    if run.coef is None:
        assert np.array_equal(run.planes()[0][:, 0] if run.binary else run.planes()[0], model.vectors_)
    else:
        assert np.array_equal(np.array(run.coef), np.atleast_2d(model.coef_))
        assert np.array_equal(np.array(run.intercept), np.atleast_1d(model.intercept_))
    assert len(run.updates) <= model.report_.updates == (run.steps[-1].updates if run.steps else 0)
    assert (run.outcome, run.bound) == (model.report_.outcome, model.report_.bound)


rows = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4), st.integers(0, 2)), min_size=5, max_size=9).filter(
    lambda found: len({label for *_, label in found}) >= 2
)


@pytest.mark.parametrize("model", [*MODELS, *FLOATS_ONLY], ids=named)
@settings(max_examples=8, deadline=None)
@given(found=rows, seed=st.integers(0, 99))
def test_a_trace_equals_the_run_of_fit(model, found, seed):
    X = np.array([row[:2] for row in found], dtype=float)
    y = np.array([label for *_, label in found])
    model.set_params(max_epochs=6, random_state=seed)
    run = trace(X, y, model)
    same_as_learner(run, fit(model, X, y))
    assert trace(sp.csr_matrix(X), y, model).steps[0].row == run.steps[0].row if run.steps else True


@pytest.mark.parametrize("model", MODELS, ids=named)
@settings(max_examples=8, deadline=None)
@given(found=rows, seed=st.integers(0, 99))
def test_exact_runs_match_float_runs_up_to_rounding(model, found, seed):
    X = np.array([row[:2] for row in found], dtype=float)
    y = np.array([label for *_, label in found])
    model.set_params(max_epochs=3, random_state=seed)
    if isinstance(model, AROW | SecondOrderPerceptron):  # their fractions double in length with every update
        model.set_params(max_epochs=1)
    floats, exact = trace(X, y, model), trace(X, y, model, exact=True)
    # Where rates are no sums of powers of 2, rounding may turn a tie, and the runs part there.
    whole = isinstance(model, Perceptron) and model.update == "online" and isinstance(model.learning_rate, float)
    for mine, other in zip(floats.steps, exact.steps, strict=False):
        near = np.allclose(np.array(mine.coef, float), np.array(other.coef, float), atol=1e-7)
        alike = all(getattr(mine, name) == getattr(other, name) for name in ("row", "epoch", "updated", "updates"))
        if not whole and not (near and alike):
            return
        assert alike
        assert near
        assert np.allclose(np.array(mine.intercept, float), np.array(other.intercept, float), atol=1e-7)
    if not whole:
        return
    assert len(floats) == len(exact)
    if floats.coef is not None:
        assert np.allclose(np.array(floats.coef), np.array(exact.coef, dtype=float), atol=1e-7)
    if model.keep == "last":
        assert floats.outcome == exact.outcome
        if exact.bound is not None:
            assert float(exact.bound) == pytest.approx(floats.bound)


@pytest.mark.parametrize("seed", range(6))
def test_the_diagonal_second_order_perceptron_in_fractions(seed):
    """Both predict by the plane v/a, so that the same rows are wrong."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, (8, 2)).astype(float), np.arange(8) % 2
    model = SecondOrderPerceptron(order="cyclic", max_epochs=2)
    floats, exact = trace(X, y, model), trace(X, y, model, exact=True)
    assert [step.row for step in floats.updates] == [step.row for step in exact.updates]


@pytest.mark.parametrize("exact", [False, True])
def test_regression_and_weights(exact):
    X, y = [[1.0], [2.0], [-1.0]], [3.0, 6.5, -3.0]
    model = PassiveAggressiveRegressor(epsilon=0.25, order="cyclic", max_epochs=4)
    run = trace(X, y, model, exact=exact)
    assert np.allclose(np.array(run.coef, dtype=float), fit(model, X, y).coef_)
    assert not run.binary
    assert "solved after" in str(run)
    weights = [2, 0.5, 0]
    X, y = [[1.0, 1.0], [-1.0, 2.0], [2.0, 2.0]], [1, 0, 0]
    for other in (Perceptron(order="cyclic", max_epochs=5), Perceptron(update="batch", max_epochs=5)):
        run = trace(X, y, other, sample_weight=weights, exact=exact)
        learner = fit(other, X, y, sample_weight=weights)
        assert np.allclose(np.array(run.coef, dtype=float), learner.coef_)
        assert len(run.updates) == learner.report_.updates
        assert 2 not in {step.row for step in run}
        again = Trace.from_json(run.to_json())
        assert again == run


def test_labels_by_indicator():
    X, Y = [[1, 0], [0, 1], [1, 1], [-1, 0]], [[1, 0], [0, 1], [1, 1], [0, 0]]
    model = Perceptron(order="cyclic", max_epochs=9)
    for exact in (False, True):
        run = trace(X, np.array(Y), model, exact=exact)
        assert np.allclose(np.array(run.coef, dtype=float), fit(model, X, np.array(Y)).coef_)
        assert run.steps[0].label == (1, 0)
        assert Trace.from_json(run.to_json()) == run


def test_tracing_leaves_the_model_unwatched():
    model = Perceptron(random_state=0)
    before = dict(vars(model))
    trace(*MONS, model)
    assert vars(model) == before
    assert plan_of(model).watch is None


# -- files, frames, tables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("y", [[1, -1, 1, 1], ["no", "yes", "no", "no"], [0, 1, 2, 2]], ids=["sides", "names", "three"])
def test_json_and_back(y, exact):
    run = trace(MONS[0], y, order="shuffle", exact=exact, max_epochs=4)
    assert Trace.from_json(run.to_json()) == run


def test_a_changed_file_is_refused():
    run = trace(*MONS, coef_init=[[1, 1]], intercept_init=[-3], exact=True)
    document = json.loads(run.to_json())

    def refused(match, **changes):
        with pytest.raises(ValueError, match=match):
            Trace.from_json(json.dumps({**document, **changes}))

    step = {**document["steps"][2], "margin": {"fraction": "7"}}
    refused("Step 3", steps=[*document["steps"][:2], step, *document["steps"][3:]])
    refused("7 steps, the run 8", steps=document["steps"][:7])
    refused("outcome", outcome="budget")
    refused("does not support", learner="os")
    refused("does not support", learner="Pegasos")
    refused("format", format=99)
    refused("not a trace", steps=3)
    for text in ("[]", "{", "3"):
        with pytest.raises(ValueError, match="not a trace"):
            Trace.from_json(text)
    with pytest.raises(ValueError, match="learning_rate"):
        trace(*MONS, learning_rate=lambda epoch: 1.0).to_json()


def test_frame():
    run = trace(*MONS, coef_init=[[1, 1]], intercept_init=[-3])
    frame = run.frame()
    assert frame["row"].tolist() == [0, 1, 2, 3] * 2
    assert frame["w1"].tolist()[-1] == 2.5
    assert frame["updated"].sum() == 2
    assert frame["angle_final"].iloc[-1] == pytest.approx(0, abs=1e-5)
    assert frame.loc[2, "change2"] == 3
    many = trace(MONS[0], [0, 1, 2, 2], max_epochs=2).frame()
    assert {"score_0", "score_2", "w2_1", "b_2"} <= set(many.columns)
    assert many["angle_widest"].isna().all()
    batch = trace(*MONS, update="batch", max_epochs=3).frame()
    assert batch["row"].isna().all()


def test_tables():
    assert "all" in str(trace(*MONS, update="batch", max_epochs=2))
    assert "of the pair that was updated" in str(trace(MONS[0], [0, 1, 2, 2], multiclass="ovo"))
    assert "more steps" in str(trace(*XOR, max_epochs=99))
    assert "1 > 0.5" not in str(trace(*MONS, PAUM(margin=(0.5, 2.0), order="cyclic")))
    assert "≤ 2" in str(trace(*MONS, PAUM(margin=(0.5, 2.0), order="cyclic")))
    assert "≤ 1" in str(trace(*MONS, PassiveAggressive(order="cyclic")))
    assert "margin" in str(trace(MONS[0], [0, 1, 2, 2], PAUM(order="cyclic", max_epochs=2)))
    assert "stopped early" in str(trace(np.tile(XOR[0], (5, 1)), XOR[1] * 5, early_stopping=True, n_iter_no_change=1))


# -- the verdict -----------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(rows, st.booleans())
def test_the_verdict_carries_its_proof(found, bias):
    X = np.array([row[:2] for row in found], dtype=float)
    y = np.array([label == found[0][2] for *_, label in found])
    seen = verdict.separability_verdict(X, y, bias)
    signs = np.where(y, 1.0, -1.0)
    if seen.separable:
        assert (signs * (X @ seen.coef + seen.intercept)).min() == pytest.approx(seen.margin, rel=1e-4)
        assert seen.margin > 0
        assert "margin" in str(seen)
        assert len(seen.support) >= 1
    else:
        picked = np.array(seen.rows)
        mixed = (np.array(seen.weights) * signs[picked]) @ np.column_stack([X, np.full(len(X), float(bias))])[picked]
        assert np.allclose(mixed, 0, atol=1e-6)
        meet = "touch" if seen.touching else "cross"
        assert (meet if bias else f"through the origin: {seen.proof.why()}") in str(seen)
    seen.proof.verify(X, y)


def test_verdicts_touching_and_undecided():
    touching = verdict.separability_verdict([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])
    assert str(touching) == "not separable: the hulls of rows 1, 2 touch"
    assert (touching.margin, touching.coef, touching.intercept, touching.support) == (None, None, None, ())
    unknown = verdict.Verdict(replace(touching.proof, verdict="undecided", rows=None, weights=None))
    assert unknown.separable is None
    assert (unknown.rows, unknown.weights, unknown.touching) == ((), (), False)
    assert str(unknown).startswith("not decided")
    assert verdict.separability_verdict([[0.0], [1.0]], [0, 1]).weights == ()
