"""The pictures that carry an argument of the lectures, by the numbers of their worked cases."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt import plot, teaching, trace

KTH = [[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]], [1, 1, 1, -1, -1, -1]
CUHK = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
XOR = [[0, 0], [1, 1], [0, 1], [1, 0]], [-1, -1, 1, 1]


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture
def picks():
    return trace(*KTH, learning_rate=0.2, coef_init=[[1, 0.5]], order=[4, 2, 0], max_epochs=1, exact=True, first=1)


def on_line(line, w, b):
    """Whether the points of a drawn line lie on w·x + b = 0."""
    return np.allclose(np.column_stack(line.get_data()) @ w + b, 0)


def arrows(ax):
    """The arrows of the axes, by their labels: where they begin, and their vectors."""
    quivers = [shown for shown in ax.collections if hasattr(shown, "U")]
    return {one.get_label(): (one.get_offsets()[0].tolist(), [float(one.U[0]), float(one.V[0])]) for one in quivers}


def test_an_update_is_the_addition_of_vectors(picks):
    shown = plot.update(picks)  # the first pick of the lecture: row 5 gives (0.6, 0.9), −0.2
    assert (shown.rows, shown.intercepts) == ([4], (0.0, -0.2))
    assert np.allclose(shown.before + shown.step, shown.after)
    drawn = arrows(shown.ax_)
    assert drawn["w"] == ([0, 0], [1, 0.5])
    assert drawn["step η·y·x"] == ([1, 0.5], [-0.4, 0.4])
    assert drawn["w + η·y·x"] == ([0, 0], [0.6, 0.9])
    lines = {line.get_label(): line for line in shown.ax_.get_lines()}
    assert on_line(lines["plane before"], [1, 0.5], 0)
    assert on_line(lines["change of direction"], [0.6, 0.9], 0)
    assert on_line(lines["then parallel shift"], [0.6, 0.9], -0.2)
    assert shown.ax_.get_title() == "update 1, row 5: (1, 0.5) + (−0.4, 0.4) = (0.6, 0.9), b = 0 → −0.2"
    assert plot.update(picks, 3, ax=shown.ax_).ax_ is shown.ax_


def test_an_update_from_zero_and_one_through_the_origin():
    run = trace(*CUHK, fit_intercept=False)
    begun = plot.update(run)
    assert set(arrows(begun.ax_)) == {"step η·y·x", "w + η·y·x"}  # w = 0 has no arrow and no plane
    labels = [line.get_label() for line in plot.update(run, 2).ax_.get_lines()]
    assert labels[:2] == ["plane before", "plane after"]
    batch = plot.update(trace(*KTH, update="batch"))
    assert batch.rows == [0, 1, 2, 3, 4, 5]
    for number in (0, 3):
        with pytest.raises(ValueError, match="from 1 to 2"):
            plot.update(run, number)
    with pytest.raises(ValueError, match="one plane"):
        plot.update(trace([[0, 0], [3, 0], [0, 3]], [0, 1, 2]))


def test_the_two_quantities_meet_at_the_bound():
    shown = plot.convergence(trace(*CUHK, fit_intercept=False))
    assert shown.table.bound == 2
    assert np.allclose(shown.table.along, [0, 0.5**0.5, 2**0.5])
    assert np.allclose(shown.table.squares, [0, 1, 2])
    lower, upper = np.interp(2, shown.at, shown.lower), np.interp(2, shown.at, shown.upper)
    assert lower == pytest.approx(upper, rel=1e-4)
    assert shown.ax_.get_lines()[-1].get_xdata() == [2, 2]


@pytest.mark.parametrize("settings", [{}, {"bias_step": "radius"}, {"bias_step": 2.0}, {"fit_intercept": False}])
@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_the_table_of_the_proof_by_hand(settings, rate):
    run = trace(*KTH, learning_rate=rate, **settings)
    table = teaching.proof(run)
    X, y = np.array(KTH[0]), np.array(KTH[1])
    step = settings.get("bias_step", 1.0)
    c = 8**0.5 if step == "radius" else step**0.5  # R² = 8
    rows = X if "fit_intercept" in settings else np.column_stack([X, np.full(6, c)])
    assert table.radius == pytest.approx(np.linalg.norm(rows, axis=1).max())
    assert table.gamma == pytest.approx((y * (rows @ table.u)).min(), rel=1e-6)
    assert np.linalg.norm(table.u) == pytest.approx(1)
    w = np.zeros(rows.shape[1])
    for k, step in enumerate(run.updates, 1):
        w = w + y[step.row] * rows[step.row]
        assert (table.along[k], table.squares[k]) == (pytest.approx(w @ table.u), pytest.approx(w @ w))
    assert table.updates == len(run.updates) <= table.bound
    assert table.holds
    assert str(table).splitlines()[0].split() == ["k", "w·u", "kγ", "‖w‖²", "kR²"]
    assert len(str(table).splitlines()) == table.updates + 4


def test_what_the_proof_is_not_about():
    for settings, why in [
        ({"coef_init": [[1, 0]]}, "start at zero"),
        ({"margin": 1.0}, "margin=0"),
        ({"learning_rate": "1/t"}, "constant"),
        ({"update": "batch"}, "one row at a time"),
    ]:
        with pytest.raises(ValueError, match=why):
            teaching.proof(trace(*KTH, **settings))
    with pytest.raises(ValueError, match="No plane separates"):
        teaching.proof(trace(*XOR, max_epochs=2))


def test_signed_distances_of_the_lecture():
    shown = plot.plane(rb.Perceptron.from_weights([3, 4], -12), [[0, 4]])
    assert np.allclose(shown.distances, [-2.4, 0.8])
    assert np.allclose(shown.feet @ [3, 4], 12)
    assert np.allclose(shown.X - shown.feet, np.outer(shown.distances, [0.6, 0.8]))
    assert on_line(shown.ax_.get_lines()[0], [3, 4], -12)
    assert np.allclose(arrows(shown.ax_)["w/‖w‖, the unit normal"][1], [0.6, 0.8])
    assert {text.get_text() for text in shown.ax_.texts} == {"−2.4", "+0.8"}
    assert shown.ax_.get_title().endswith("r₀ = b/‖w‖ = −2.4")
    with pytest.raises(ValueError, match="One plane"):
        plot.plane(rb.Perceptron.from_weights([[1, 0], [0, 1], [1, 1]], classes=list("abc")))


def test_residuals():
    X, y = [[0], [1], [2]], [1, 3, 4]
    shown = plot.residuals(rb.LinearRegressor(penalty=None, solver="batch").fit(X, y), X, y)
    assert np.allclose(shown.residuals, [-1 / 6, 1 / 3, -1 / 6])
    assert np.allclose(shown.line[1], 7 / 6 + 1.5 * shown.line[0])
    assert shown.ax_.get_title() == "mean squared residual 0.05556"
    with pytest.raises(ValueError, match="one feature"):
        plot.residuals(None, [[1, 2]], [1])
