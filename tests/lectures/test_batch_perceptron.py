"""The lectures worked through with the public names, as a student would: their numbers must come out as printed."""

from fractions import Fraction

import numpy as np
import pytest

import rosenblatt
from rosenblatt import Perceptron, mistake_bounds, trace

KTH = [[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]], [1, 1, 1, -1, -1, -1]


# -- the batch perceptron --------------------------------------------------------------------------------------------


def test_batch_perceptron_of_the_slide():
    """w += (η/N)·Σ over the wrong rows, worked out by hand on KTH's rows."""
    X, y = KTH
    model = Perceptron(update="batch").fit(X, y)
    assert model.report_.updates == 2
    assert model.coef_[0] == pytest.approx([1 / 2, 13 / 12], rel=1e-14)
    assert model.intercept_[0] == pytest.approx(1 / 6, rel=1e-14)
    steps = trace(X, y, update="batch", exact=True).updates
    assert [step.coef[0] for step in steps] == [
        (Fraction(1, 4), Fraction(7, 6)),
        (Fraction(1, 2), Fraction(13, 12)),
    ]
    assert [step.intercept for step in steps] == [(0,), (Fraction(1, 6),)]


def test_a_rate_of_n_is_the_fixed_increment_rule():
    X, y = KTH
    rows = np.column_stack([X, np.ones(6)]) * np.array(y)[:, None]
    w = np.zeros(3)
    while (wrong := rows @ w <= 0).any():
        w += rows[wrong].sum(axis=0)
    model = Perceptron(update="batch", learning_rate=6).fit(X, y)
    assert [*model.coef_[0], *model.intercept_] == w.tolist()


def test_weights_count_into_n():
    """A row of weight 2 is that row twice: N is the sum of the weights."""
    X, y = np.array(KTH[0]), np.array(KTH[1])
    weighted = Perceptron(update="batch").fit(X, y, sample_weight=[1, 2, 1, 1, 1, 3])
    copied = Perceptron(update="batch").fit(np.repeat(X, [1, 2, 1, 1, 1, 3], axis=0), np.repeat(y, [1, 2, 1, 1, 1, 3]))
    assert weighted.coef_[0] == pytest.approx(copied.coef_[0], rel=1e-14)
    assert (weighted.report_.moved, weighted.report_.bound) == pytest.approx(
        (copied.report_.moved, copied.report_.bound)
    )


def test_one_vs_one_divides_by_the_rows_of_its_pair():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [-1.0, -1.0], [-2.0, 0.0]])
    y = np.array([0, 1, 1, 2, 2])
    pairs = Perceptron(update="batch", multiclass="ovo").fit(X, y)
    for k, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        mine = (y == a) | (y == b)
        alone = Perceptron(update="batch").fit(X[mine], y[mine])
        assert pairs.coef_[k] == pytest.approx(alone.coef_[0], rel=1e-13), (a, b)


def test_the_bound_of_a_batch_counts_rows_that_move_w():
    """200 equal rows and one at an angle: 200 updates, where (R/γ)² = 10 bounds the online rule."""
    X, y = [[1.0, 0.0]] * 199 + [[-1.0, 0.0], [-0.5, 0.5]], [1] * 199 + [-1, 1]  # (−1, 0)− is (1, 0)+
    how = {"fit_intercept": False, "margin": 1e-9}  # by rounding the last row may come to lie on the plane
    model = Perceptron(update="batch", **how).fit(X, y)
    report = model.report_
    moved = len([row for step in trace(X, y, update="batch", max_epochs=300, **how) for row in step.rows])
    assert report.updates in (200, 201)
    assert report.updates <= moved == report.moved <= report.bound
    widest = rosenblatt.max_margin(X, y, fit_intercept=False).margin
    assert 1 / widest**2 == pytest.approx(10)
    assert 201 / widest**2 <= report.bound * (1 + 1e-9)
    assert Perceptron(**how).fit(X, y).report_.updates <= 1 / widest**2
    assert f"{report.bound:,.0f} rows that move w at most" in str(report)
    assert all(one.share is None for one in mistake_bounds(model, X, y))


@pytest.mark.parametrize("bias", ["none", "unit", "radius", 0.1])
@pytest.mark.parametrize(("rate", "margin"), [(1.0, 0.0), (0.5, 1.0), (20.0, 0.25)])
@pytest.mark.parametrize("multiclass", ["two", "multinomial", "ovr", "ovo"])
def test_the_bound_of_a_batch_holds(bias, rate, margin, multiclass):
    rng = np.random.default_rng(3)
    many = multiclass != "two"
    centres = np.array([[3.0, 0.0], [-2.0, 2.5], [-1.5, -3.0]])[: 3 if many else 2]
    y = np.repeat(np.arange(len(centres)), 7)
    X = centres[y] + rng.uniform(-0.6, 0.6, (y.size, 2))
    model = Perceptron(
        update="batch",
        learning_rate=rate,
        margin=margin,
        fit_intercept=bias != "none",
        bias_step="unit" if bias == "none" else bias,
        multiclass=multiclass if many else "multinomial",
    )
    report = model.fit(X, y).report_
    assert report.updates <= report.moved <= report.bound


def test_no_bound_is_said_of_a_line_search():
    report = Perceptron(update="batch", learning_rate="line-search").fit(*KTH).report_
    assert (report.bound, report.moved) == (None, None)


@pytest.mark.parametrize("exact", [False, True])
def test_the_trace_of_a_batch_names_the_rows_that_were_wrong(exact):
    X, y = KTH
    run = trace(X, y, update="batch", exact=exact)
    assert [step.rows for step in run] == [(0, 1, 2, 3, 4, 5), (0,), ()]
    assert [step.row for step in run] == [None, None, None]
    assert "0, 1, 2, 3, 4, 5" in str(run)
    assert "rows that move w" in str(run)
    assert rosenblatt.records.Trace.from_json(run.to_json()) == run
    weighted = trace(X, y, update="batch", exact=exact, sample_weight=[2, 1, 1, 1, 1, 1])
    assert weighted.steps[0].rows == (0, 1, 2, 3, 4, 5)


def test_the_trace_of_a_batch_of_many_classes_names_each_row_once():
    X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [-1.0, -1.0]], [0, 1, 1, 2]
    for multiclass in ("ovr", "multinomial"):
        for exact in (False, True):
            rows = trace(X, y, update="batch", multiclass=multiclass, exact=exact).steps[0].rows
            assert rows == ((0, 1, 2, 3) if multiclass == "ovr" else (1, 2, 3)), (multiclass, exact)
