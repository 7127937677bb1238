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


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr"])
def test_three_classes_have_a_line_and_an_arrow_each(multiclass):
    X, y = [[0, 2], [2, 0], [-2, -2], [1, 3], [3, 1]], ["a", "b", "c", "a", "b"]
    run = trace(X, y, multiclass=multiclass)
    shown = plot.run(run)
    W, b = run.planes()
    assert shown.coef.shape == (len(run.updates) + 1, 3, 2)
    lines = shown.ax_.get_lines()
    assert len(lines) == 3 * len(W)
    for j in range(3):
        last = lines[(j + 1) * len(W) - 1]
        assert on_line(last, W[-1, j], b[-1, j])
        assert lines[j * len(W)].get_color() == last.get_color()
    quivers = [one for one in shown.ax_.collections if hasattr(one, "U")]
    drawn = np.array([[one.U[0], one.V[0]] for one in quivers], dtype=float)
    norms = np.linalg.norm(W[-1], axis=1)
    assert np.allclose(np.linalg.norm(drawn, axis=1) / np.linalg.norm(drawn[0]), norms / norms[0])
    assert np.allclose(drawn / np.linalg.norm(drawn, axis=1)[:, None], W[-1] / norms[:, None])
    assert plot.run(run).plot(until=1).ax_.get_title() == f"update 1 of {len(run.updates)}"


def test_training_and_test_errors():
    X, y, _ = teaching.teacher(300, 5, margin=0.1, random_state=0)
    model = rb.Perceptron(random_state=0)
    passes = plot.learning(model, X[:150], y[:150], X[150:], y[150:], passes=3)
    assert passes.counts.tolist() == [1, 2, 3]
    again = rb.Perceptron(random_state=0)
    for k in range(3):
        again.partial_fit(X[:150], y[:150])
        assert passes.training[k] == pytest.approx(1 - again.score(X[:150], y[:150]))
        assert passes.test[k] == pytest.approx(1 - again.score(X[150:], y[150:]))
    assert "classes_" not in vars(model)
    rows = plot.learning(model, X[:150], y[:150], X[150:], y[150:], against="rows", passes=2)
    assert rows.counts.tolist() == [3, 8, 15, 30, 45, 60, 75, 90, 105, 120, 135, 150]
    few = rb.Perceptron(random_state=0).partial_fit(X[:15], y[:15]).partial_fit(X[:15], y[:15])
    assert rows.test[2] == pytest.approx(1 - few.score(X[150:], y[150:]))
    assert rows.ax_.get_xlabel() == "training rows"
    with pytest.raises(ValueError, match="against"):
        plot.learning(model, X, y, X, y, against="time")


def test_units_layers_and_networks():
    unit = plot.network(rb.Perceptron.from_weights([3, 4], -12), ["age", "dose"])
    texts = [text.get_text() for text in unit.ax_.texts]
    assert {"age", "dose", "3", "4", "−12", "class 1"} <= set(texts)
    widths = [line.get_linewidth() for line in unit.ax_.get_lines()]
    assert widths == [pytest.approx(3.3), pytest.approx(4.3)]
    layer = plot.network(rb.Perceptron.from_weights([[1, -2], [0, 1], [3, 1]], classes=list("abc")))
    assert [len(places) for places in layer.places] == [2, 3]
    colours = {line.get_color() for line in layer.ax_.get_lines()}
    assert len(colours) == 2  # positive and negative
    net = rb.MultilayerPerceptron((4,), activation="tanh", max_epochs=2, random_state=0).fit(*XOR)
    deep = plot.network(net)
    assert [W.shape for W in deep.weights] == [W.shape for W in net.coefs_]
    assert len(deep.ax_.get_lines()) == sum(W.size for W in net.coefs_)
    with pytest.raises(ValueError, match="3 names for 2"):
        plot.network(net, ["a", "b", "c"])
    with pytest.raises(ValueError, match="at most 24"):
        plot.network(rb.MultilayerPerceptron((40,), max_epochs=1, random_state=0).fit(*XOR))


def test_the_loss_in_three_dimensions():
    rows = [[-2, 3], [-1, -1], [2, -3]], [1, -1, 1]
    flat = plot.surface(*rows, "zero_one", in_3d=True)
    assert flat.ax_.name == "3d"
    assert set(np.unique((3 * flat.values).round(9))) <= {1, 2, 3}
    assert flat.ax_.get_zlim() == (0, 1)
    walked = plot.surface(trace=trace(*CUHK, fit_intercept=False), in_3d=True)
    (path,) = walked.ax_.get_lines()
    assert np.allclose(np.column_stack(path.get_data_3d())[:, :2], [[0, 0], [1, 0], [1, 1]])
    assert plot.surface(*rows, in_3d=True, ax=flat.ax_).ax_ is flat.ax_
