"""The lab without a browser: its points, runs, arithmetic and pages, driven as the browser would."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import rosenblatt
from dragging import moved
from rosenblatt.lab import app, network_figure, rules_page
from rosenblatt.lab import multiclass_gradient as classes
from rosenblatt.lab.multiclass_gradient import LECTURE_WEIGHTS, multiclass_loss_and_gradient
from rosenblatt.lab.points import GENERATORS, LECTURES, THREE_CLASSES, CSVError, parse_csv, separable
from rosenblatt.lab.runs import RunSettings, run_perceptron
from rosenblatt.lab.step_arithmetic import bound_text, step_lines
from rosenblatt.plot.verdict import separability_verdict
from rosenblatt.registry import IN_LAB


@pytest.fixture(scope="module", autouse=True)
def prepared():
    app.configure_panel()


@pytest.fixture
def page():
    return app.Lab()


def test_the_pages_use_nothing_deprecated():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        app.Lab()


# -- points ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GENERATORS)
def test_generators(name):
    points = GENERATORS[name](50, 0.3, 1)
    assert points.X.shape == (50, 2)
    assert set(points.y) == {0, 1}
    assert separability_verdict(points.X, points.y).separable == (name == "separable")
    assert np.array_equal(points.X, GENERATORS[name](50, 0.3, 1).X)


@pytest.mark.parametrize("margin", [0.0, 0.25, 1.0])
def test_separable_points_have_their_margin(margin):
    for seed in range(5):
        points = separable(30, margin, seed)
        assert separability_verdict(points.X, points.y).margin >= margin * (1 - 1e-4)


def test_tables():
    table = parse_csv("a, b ,c\n1,2,x\n3,4,y\n")
    assert table.names == ("a", "b")
    points = table.points("b", "a")
    assert (points.X.tolist(), points.y.tolist(), points.classes) == ([[2, 1], [4, 3]], [0, 1], ("x", "y"))
    assert parse_csv("c,a\nx,1\ny,2\n", target="c").values.tolist() == [[1], [2]]
    shown, mean, directions = table.projected()
    assert mean.tolist() == [2, 3]
    assert np.allclose(np.abs(directions[0]), np.sqrt(0.5))
    assert shown.axes == ("component 1", "component 2")
    alone, _, directions = parse_csv("a,c\n1,x\n2,y\n").projected()
    assert alone.X.shape == (2, 2)
    assert directions.shape == (2, 1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("a,b\n", "no rows"),
        ("a\n1\n", "one column"),
        ("a,b\n1,x\n", "only one label"),
        ("a,b\n1,x\ntwo,y\n", "Line 3, column 'a': 'two' is not a number"),
        ("a,b\n1,x\ninf,y\n", "not finite"),
        ("a,b\n1,x\n1,2,y\n", "Line 3 has 3 values"),
        ("a,b\n" + "".join(f"1,{k}\n" for k in range(9)), "9 different labels"),
    ],
)
def test_bad_tables_are_explained(text, sentence):
    with pytest.raises(CSVError, match=sentence):
        parse_csv(text)


def test_a_table_of_a_million_rows_is_sampled():
    text = "a,b,c\n" + "\n".join(f"{k},{k % 7},{'xy'[k % 2]}" for k in range(1_000_000))
    table = parse_csv(text)
    assert len(table.labels) == 500
    assert table.values[-1, 0] == 999_999
    assert "1,000,000 rows: 500 of them" in table.note
    with pytest.raises(CSVError, match="no column 'd'"):
        parse_csv("a,b\n1,x\n2,y\n", target="d")


# -- runs and arithmetic ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LECTURES)
def test_a_run_of_the_lab_equals_a_trace(name):
    points = LECTURES[name]
    settings = replace(RunSettings(), **points.settings)
    run = run_perceptron(points.X, points.y, settings)
    told = rosenblatt.trace(points.X, points.y, **settings.parameters(len(points.y)), **settings.initial_plane(2))
    assert [step.row for step in told.updates] == run.rows.tolist()
    assert np.allclose(told.planes()[0][:, 0], run.W)
    assert run.converged == (told.outcome == "separated")
    assert run.bound == told.bound


@pytest.mark.parametrize("order", ["shuffle", "random", "first", "worst"])
@pytest.mark.parametrize("bias", ["unit", "radius"])
def test_runs_with_other_settings(order, bias):
    points = separable(20, 0.3, 2)
    settings = RunSettings(order=order, bias=bias, seed=3, margin=0.1)
    run = run_perceptron(points.X, points.y, settings)
    assert run.converged
    assert (np.where(points.y, 1, -1) * (points.X @ run.W[-1] + run.b[-1])).min() > 0.1
    radius2 = (points.X**2).sum(axis=1).max()
    for k in range(1, run.updates + 1):
        side = 1 if points.y[run.rows[k - 1]] else -1
        assert np.allclose(run.W[k] - run.W[k - 1], side * points.X[run.rows[k - 1]])
        assert f"Update {k} of" in step_lines(run, k, points.X, points.y, settings, radius2)


def test_the_arithmetic_has_the_numbers_of_the_lecture():
    points = LECTURES["KTH: from any start"]
    settings = replace(RunSettings(), **points.settings)
    run = run_perceptron(points.X, points.y, settings)
    text = step_lines(run, 1, points.X, points.y, settings, 0.0)
    for line in (
        "row 5, x = (2, −2), y = −1",
        "f = w·x + b = 1·2 + 0.5·(−2) + 0 = 1",
        "y·f = −1 ≤ 0: a mistake",
        "w ← (1, 0.5) + 0.2·(−1)·(2, −2) = <b>(0.6, 0.9)</b>",
        "b ← 0 + 0.2·(−1) = <b>−0.2</b>",
    ):
        assert line in text
    assert "correct side: separated" in step_lines(run, 3, points.X, points.y, settings, 0.0)
    assert "no bound" in bound_text(run, 1)
    wide = separable(10, 0.3).X @ np.ones((2, 6))
    y = (wide[:, 0] > np.median(wide[:, 0])).astype(int)
    many = run_perceptron(wide, y, RunSettings(margin=5.0))
    assert "f = w·x + b = " in step_lines(many, many.updates, wide, y, RunSettings(margin=5.0), 1.0)
    assert "less than the required margin" in "".join(
        step_lines(many, k, wide, y, RunSettings(margin=5.0), 1.0) for k in range(9)
    )


def test_these_rows():
    assert RunSettings(order="these rows", rows="4; 2, 0, 99").visiting_order(6) == [4, 2, 0]
    assert RunSettings(order="these rows", rows="none").visiting_order(6) == "cyclic"


# -- many classes ----------------------------------------------------------------------------------------------------


def test_the_classes_page_has_the_numbers_of_the_lecture():
    seen = multiclass_loss_and_gradient(*LECTURE_WEIGHTS, THREE_CLASSES.X, THREE_CLASSES.y, "softmax", "L2", 0.1)
    assert seen.losses.round(2).tolist() == [0.70, 0.63, 0.64, 0.66, 0.63, 0.53, 0.58, 0.45, 0.67]
    assert (round(seen.data_loss, 2), round(seen.penalty, 3), seen.errors) == (0.61, 0.308, 0)
    data = multiclass_loss_and_gradient(*LECTURE_WEIGHTS, THREE_CLASSES.X, THREE_CLASSES.y, "softmax", "none", 0.1)
    assert data.dW.round(3).tolist() == [[-0.097, -0.076], [0.118, -0.046], [-0.021, 0.121]]
    assert data.db.round(3).tolist() == [0.008, 0.008, -0.016]


@pytest.mark.parametrize("loss", classes.LOSSES)
@pytest.mark.parametrize("penalty", classes.PENALTIES)
def test_gradients_are_those_of_the_loss(loss, penalty):
    rng = np.random.default_rng(4)
    W, b = rng.normal(size=(3, 2)), rng.normal(size=3)

    def total(W, b):
        seen = multiclass_loss_and_gradient(W, b, THREE_CLASSES.X, THREE_CLASSES.y, loss, penalty, 0.3)
        return seen.data_loss + seen.penalty

    seen, tiny = multiclass_loss_and_gradient(W, b, THREE_CLASSES.X, THREE_CLASSES.y, loss, penalty, 0.3), 1e-6
    for place in np.ndindex(3, 2):
        step = np.zeros((3, 2))
        step[place] = tiny
        assert (total(W + step, b) - total(W - step, b)) / (2 * tiny) == pytest.approx(seen.dW[place], abs=1e-5)
    for k in range(3):
        step = np.eye(3)[k] * tiny
        assert (total(W, b + step) - total(W, b - step)) / (2 * tiny) == pytest.approx(seen.db[k], abs=1e-5)


def test_the_page_shows_what_the_notes_show(page):
    many = page.classes

    def cells():
        return [[many.cells[k, j].object.split("∇ ")[1].split("<")[0] for j in range(3)] for k in range(3)]

    assert "W[0,1]</span><br><b>0.68</b>" in many.cells[0, 1].object
    assert "b[2]</span><br><b>−0.06</b>" in many.cells[2, 2].object
    assert cells()[0] == ["0.007", "0.060", "0.008"]  # data + 0.2·W
    many.gradient.value = classes.DATA
    assert cells() == [["−0.097", "−0.076", "0.008"], ["0.118", "−0.046", "0.008"], ["−0.021", "0.121", "−0.016"]]
    many.gradient.value = classes.NOTES  # printed: −0.07 −0.04 0.01, 0.08 −0.02 0.01, −0.01 0.06 −0.02
    printed = [[round(float(cell.replace("−", "-")), 2) for cell in row] for row in cells()]
    assert printed == [[-0.07, -0.04, 0.01], [0.08, -0.02, 0.01], [-0.01, 0.06, -0.02]]
    assert "0.2·W" in many.sentence.object
    assert "<td colspan='6'>mean:</td><td><b>0.61</b></td>" in many.rows.object
    arrows = many.canvas.arrows.data
    lengths = [np.hypot(xs[1] - xs[0], ys[1] - ys[0]) for xs, ys in zip(arrows["xs"], arrows["ys"], strict=True)]
    assert np.allclose(np.array(lengths) / lengths[0], np.linalg.norm(many.W, axis=1) / np.linalg.norm(many.W[0]))
    kept = many.state()
    assert kept["gradient"] == classes.NOTES
    del kept["gradient"]  # a link from before there was a choice
    assert many.read(kept)["gradient"] == classes.OBJECTIVE


def test_weights_are_changed_by_hand_and_by_descent(page, monkeypatch):
    many = page.classes
    many.nudge(0, 0, 0.1)
    many.buttons[1, 2, -1].clicks += 1
    assert many.W[0, 0] == pytest.approx(0.62)
    assert many.b[1] == pytest.approx(-0.15)
    assert "0.62" in many.cells[0, 0].object
    before = many.result.data_loss + many.result.penalty
    for _ in range(20):
        many.once.clicks += 1
    assert many.result.data_loss + many.result.penalty < before
    many.loss.value, many.penalty.value = "perceptron", "none"
    assert "penalty <b>0.0000</b>" in many.losses.object
    many.shuffle.clicks += 1
    many.W[1] = 0
    many.draw()
    assert len(many.canvas.lines.data["xs"]) == 2
    many.reset.clicks += 1
    assert np.array_equal(many.W, LECTURE_WEIGHTS[0])
    data = {name: list(values) for name, values in many.source.data.items()}
    data["x"][0] = -0.9
    many._moved(data)
    assert "−0.90" in many.rows.object
    many.source.data = {"x": [], "y": [], "label": []}
    assert "add points" in many.rows.object
    many.label.value = "2"
    assert many.canvas.tool.empty_value == "2"
    many.restart()
    assert len(many.state()["x"]) == 9
    played(monkeypatch, many.toggle, many.start, "Stop", "Run gradient descent")


class Ticker:
    def __init__(self):
        self.stopped = False

    def stop(self):
        self.stopped = True


def played(monkeypatch, toggle, button, on, off):
    import panel as pn

    tickers = []
    monkeypatch.setattr(
        pn.state, "add_periodic_callback", lambda *rest, **more: tickers.append(Ticker()) or tickers[-1]
    )
    toggle()
    assert button.label == on
    toggle()
    assert button.label == off
    assert tickers[-1].stopped


# -- undo and redo ---------------------------------------------------------------------------------------------------


def test_every_change_can_be_undone_and_redone(page):
    one, many = page.perceptron, page.classes
    assert page.undo.disabled
    assert page.redo.disabled
    states = [page.snapshot()]
    changes = [
        lambda: setattr(one.example, "value", "KTH: from any start"),
        lambda: setattr(one.step, "clicks", one.step.clicks + 1),
        lambda: setattr(one.rate, "value", 0.5),
        lambda: page._key({"key": ["End"]}),
        lambda: setattr(page.session.source, "data", {**page.session.source.data, "x": [3.0] * 6}),
        lambda: setattr(many.buttons[0, 0, 1], "clicks", 1),
        lambda: setattr(many.loss, "value", "one-vs-all"),
        lambda: setattr(page.rules.choice, "value", ["Perceptron"]),
    ]
    for change in changes:
        change()
        assert page.snapshot() != states[-1]
        states.append(page.snapshot())
    for state in states[-2::-1]:
        page.undo.clicks += 1
        assert page.snapshot() == state
    assert page.undo.disabled
    assert one.example.value == "CUHK: through the origin"
    page._key({"key": ["undo"]})  # nothing is left to undo
    for state in states[1:]:
        page._key({"key": ["redo"]})
        assert page.snapshot() == state
    assert page.redo.disabled
    page._key({"key": ["undo"]})
    many.buttons[1, 1, -1].clicks += 1  # a new change: what was undone is gone
    assert page.redo.disabled
    assert not page.undo.disabled


def test_undo_shows_the_page_of_the_change(page):
    page.tabs.active = 2
    page.classes.once.clicks += 1
    page.tabs.active = 0
    page.go_back()
    assert page.tabs.active == 2
    assert np.array_equal(page.classes.W, LECTURE_WEIGHTS[0])


# -- the perceptron page ---------------------------------------------------------------------------------------------


def test_stepping_through_cuhk(page):
    one = page.perceptron
    assert "Start" in one.board.object
    one.step.clicks += 1
    assert "(1, 0)" in one.board.object
    assert len(one.canvas.lines.data["xs"]) == 1  # a row is on the line: no band
    one.key("ArrowRight")
    assert "(1, 1)" in one.board.object
    assert one.bound.object == "2 updates of at most 2 by the bound."
    assert len(one.canvas.lines.data["xs"]) == 3
    line = np.array([one.canvas.lines.data["xs"][0], one.canvas.lines.data["ys"][0]])
    assert np.allclose(line.sum(axis=0), 0)
    assert (one.canvas.marks.data["x"], one.canvas.marks.data["y"]) == ([0], [-1])
    one.back.clicks += 1
    assert page.session.step == 1
    one.end.clicks += 1
    one.rewind.clicks += 1
    assert page.session.step == 0
    one.slider.value = 2
    assert page.session.step == 2
    for key, step in (("Home", 0), ("End", 2), ("ArrowLeft", 1), ("x", 1)):
        page._key({"key": [key]})
        assert page.session.step == step
    page.tabs.active = 2
    page._key({"key": ["Home"]})
    assert page.session.step == 1


def test_playing(page, monkeypatch):
    one = page.perceptron
    played(monkeypatch, lambda: one.key(" "), one.play, "Pause", "▶ Play")
    one.key(" ")
    for _ in range(4):
        one.tick()
    assert page.session.step == 2
    assert one.playing is None
    one.toggle()  # from the end it begins anew
    assert page.session.step == 0
    one.toggle()


def test_dragging_changes_the_verdict(page):
    one, session = page.perceptron, page.session
    assert "<b>Separable</b> through the origin" in one.verdict.object
    session.go(2)
    assert (one.example.value, one.hint.object[:7]) == ("CUHK: through the origin", "No bias")
    session.moved(moved(session, 1, 0.9, 0.1))
    assert (one.example.value, one.hint.object) == ("own points", "")  # what was said of the lecture's no longer holds
    assert "Not separable" in one.verdict.object
    assert "a convex combination of their y·x" in one.verdict.object
    assert one.canvas.marks.data["colour"].count("black") == len(session.verdict.rows)
    one.bias.value = "unit"
    session.moved(moved(session, 1, 0.5, 0.5))
    assert session.verdict.separable is False
    assert "their hulls touch" in one.verdict.object
    session.moved(moved(session, 1, 0.9, 0.9))
    assert "their hulls cross" in one.verdict.object
    assert len(one.canvas.cross.data["x"]) == 1
    assert len(one.canvas.hulls.data["xs"]) == 2
    steps = len(session.listeners)
    session.moved(dict(session.source.data) | {"x": list(session.X[:, 0]), "y": list(session.X[:, 1])})
    assert len(session.listeners) == steps


def test_editing_points(page):
    one, session = page.perceptron, page.session
    one.delete.clicks += 1
    assert "select it first" in one.message.object
    session.source.selected.indices = [0, 2]
    one.key("r")
    assert session.y.tolist() == [0, 0, 0, 0]
    assert "one class" in one.hint.object
    assert one.verdict.object == "No verdict yet."
    session.source.selected.indices = [0]
    one.key("Delete")
    assert len(session.y) == 3
    one.clear.clicks += 1
    assert "canvas is empty" in one.hint.object
    session.go(1)
    assert session.step == 0
    one.toggle()
    one.tick()
    session.source.data = {"x": [1.0, -1.0], "y": [0.0, 0.0], "label": ["1", ""]}
    assert session.y.tolist() == [1, 0]
    assert "Separable" in one.verdict.object
    one.label.value = "0"
    assert one.canvas.tool.empty_value == "0"


def test_settings_and_generators(page):
    one, session = page.perceptron, page.session
    one.example.value = "KTH: from any start"
    assert (one.rate.value, one.order.value, one.rows.value) == (0.2, "these rows", "5, 3, 1")
    assert session.run.rows.tolist() == [4, 2, 0]
    one.rows.value = "3"
    assert session.run.rows[0] == 2
    one.order.value = "cyclic"
    assert session.run.rows.tolist() == [2, 4, 0]
    one.generator.value = "rings"
    one.make.clicks += 1
    assert one.example.value == "own points"
    assert len(session.y) == 40
    assert one.gap.visible
    one.margin.value = 0.5
    assert session.settings.margin == 0.5


def test_own_csv(page):
    one, session = page.perceptron, page.session
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    lines = "".join(f"{a},{b},{c},{'yes' if a + c > 0 else 'no'}\n" for a, b, c in X)
    one.upload.value = f"a,b,c,d\n{lines}".encode()
    assert session.classes == ("no", "yes")
    assert session.axes == ("a", "b")
    one.first.value = "first two principal components"
    assert session.projection is not None
    assert session.run.W.shape[1] == 3
    assert "in front of or behind" in one.hint.object
    session.go(10**9)
    w, b = session.plane()
    _, mean, directions = session.projection
    cut = mean + np.array([0.3, -0.2]) @ directions
    assert w @ [0.3, -0.2] + b == pytest.approx(session.run.W[-1] @ cut + session.run.b[-1])
    where = session.X.copy()
    session.moved(moved(session, 0, 9.0, 9.0))
    assert np.array_equal(session.X, where)
    session.source.selected.indices = [0]
    assert "cannot be edited" in session.edit("delete")
    one.target.value = "c"
    assert "Line 2, column 'd': 'yes' is not a number" in one.message.object
    one.first.value, one.second.value = "a", "c"
    assert session.axes == ("a", "c")
    one.upload.value = b"\xff\xfe"
    assert "UTF-8" in one.message.object
    one.upload.value = b""
    assert "empty" in one.message.object
    one.upload.value = None
    three = app.Lab("a,b,c\n0,0,x\n1,0,y\n0,1,z\n3,3,x\n")
    assert len(three.perceptron.label.options) == 3
    three.view.get_root()  # drawn, a change of options takes the value away for a moment
    three.perceptron.example.value = "KTH: XOR"
    assert three.perceptron.canvas.tool.empty_value == "1"
    three.perceptron.scaled.value = True
    assert np.allclose(three.session.X.mean(axis=0), 0)
    assert np.allclose(three.session.X.std(axis=0), 1)
    assert "mean 0 and standard deviation 1" in three.perceptron.hint.object
    assert "Each axis" not in three.perceptron.hint.object
    wide = app.Lab("income,age,c\n20000,18,x\n50000,40,y\n90000,70,x\n")
    assert "Each axis has its own scale" in wide.perceptron.hint.object
    two = app.Lab("a,c\n0,x\n1,y\n")
    assert two.session.axes == ("a", "a")


# -- other pages -----------------------------------------------------------------------------------------------------


def test_the_canvases_of_learners_are_made_when_they_are_first_shown(page):
    assert page.rules.canvases == {}
    page.rules.choice.value = ["SVM", "AROW"]
    assert (page.rules.canvases, page.rules.box.objects) == ({}, [])
    page.tabs.active = 1
    assert list(page.rules.canvases) == ["SVM", "AROW"]
    figures = [column[0].object for column in page.rules.box]
    assert figures == [canvas.figure for canvas in page.rules.canvases.values()]


@pytest.mark.parametrize("name", IN_LAB)
def test_every_learner_of_the_rules_page(page, name):
    page.tabs.active = 1
    page.rules.choice.value = [name]
    text = page.rules.words[name].object
    assert text.startswith("<b>0 of 4</b>")
    canvas = page.rules.canvases[name]
    if name == "Voted":
        assert set(np.unique(canvas.image.data["image"][0])) == {0, 1}
        return
    model = rules_page.fit_learner(name, page.session)
    ends = np.column_stack([canvas.lines.data["xs"][0], canvas.lines.data["ys"][0]])
    assert np.allclose(ends @ model.coef_[0] + model.intercept_[0], 0, atol=1e-6 * np.abs(ends).max())


@pytest.mark.parametrize("order", ["shuffle", "first", "worst", "these rows"])
def test_learners_with_other_orders(page, order):
    page.session.load(separable(20, 0.3, 2))
    page.session.set(order=order, rows=", ".join(map(str, range(20))))
    page.tabs.active = 1
    page.rules.choice.value = list(IN_LAB)
    assert all("points wrong" in words.object for words in page.rules.words.values())
    page.session.load(GENERATORS["noise"](60))
    assert "not finished after 50 epochs" in page.rules.words["Perceptron"].object


def test_rows_are_numbered_from_one(page):
    one = page.perceptron
    one.example.value = "KTH: from any start"
    assert one.rows.value == "5, 3, 1"
    assert one.canvas.numbers.data["text"] == ["1", "2", "3", "4", "5", "6"]
    assert page.session.settings.rows == "4, 2, 0"  # as in links and code
    one.rows.value = "1; 3, 5"
    assert page.session.settings.visiting_order(6) == [0, 2, 4]
    one.example.value = "KTH: XOR"
    assert "rows 1, 2, 3, 4 show it" in one.verdict.object


def test_the_rules_page_says_who_visits_which_rows(page):
    page.perceptron.example.value = "KTH: from any start"
    page.tabs.active = 1
    assert page.rules.hint.object == (
        "Learners that go row by row visit rows 5, 3, 1 only; the others (SVM) learn from all rows."
    )
    page.perceptron.order.value = "cyclic"
    assert page.rules.hint.object == ""


def test_points_loaded_on_another_page_are_fitted(page):
    one = page.perceptron
    one.example.value = "KTH: from any start"
    kth = one.canvas.window
    page.network.xor.clicks += 1
    assert one.canvas.window == page.network.canvas.window != kth
    one.example.value = "KTH: from any start"
    assert one.canvas.window == kth


def test_rules_follow_the_points(page):
    page.tabs.active = 1
    before = page.rules.canvases["Perceptron"].window
    page.session.moved(moved(page.session, 1, 0.9, 9.0))
    assert page.rules.canvases["Perceptron"].window == before  # it stays as it is while a point is dragged
    page.session.moved(moved(page.session, 1, 0.9, 0.1))
    assert "<b>0 of 4</b>" not in page.rules.words["Perceptron"].object
    page.perceptron.clear.clicks += 1
    assert "empty" in page.rules.hint.object
    assert page.rules.words["Perceptron"].object == ""
    assert page.rules.canvases["Perceptron"].lines.data["xs"] == []


def test_the_points_lie_on_the_loss_curves(page):
    page.session.go(2)
    page.tabs.active = 3
    dots = page.losses.dots.data
    assert dots["x"][:4] == [1, 1, 1, 1]
    assert "after 2 updates" in page.losses.hint.object
    page.losses.choice.value = ["log"]
    assert page.losses.dots.data["y"] == pytest.approx([np.log1p(np.exp(-1))] * 4)
    page.losses.scale.value = "geometric"
    assert page.losses.dots.data["x"] == pytest.approx([np.sqrt(0.5)] * 4)
    assert (page.losses.figure.x_range.start, page.losses.figure.x_range.end) == (-4, 4)
    page.session.load(replace(LECTURES["CUHK: through the origin"], X=LECTURES["CUHK: through the origin"].X * 3))
    page.session.go(2)
    page.losses.scale.value = "functional"
    assert page.losses.dots.data["x"] == [9, 9, 9, 9]
    assert (page.losses.figure.x_range.start, page.losses.figure.x_range.end) == (-16, 16)
    page.perceptron.clear.clicks += 1
    assert page.losses.dots.data["x"] == []


def test_the_network_learns_xor(page, monkeypatch):
    net = page.network
    page.tabs.active = 4
    net.xor.clicks += 1
    assert page.session.settings.order == "cyclic"
    assert "Not trained" in net.words.object
    for _ in range(60):
        net.tick()
        if "Solved" in net.words.object:
            break
    assert "<b>0 of 4</b>" in net.words.object
    assert set(np.unique(net.canvas.image.data["image"][0])) == {0, 1}
    net.units.value = 3
    assert net.network is None
    played(monkeypatch, net.toggle, net.start, "Pause", "Learn")
    page.perceptron.clear.clicks += 1
    net.tick()
    assert "empty" in net.hint.object


def test_the_mark_one_learns_the_same_points(page):
    page.tabs.active = 4
    page.network.xor.clicks += 1
    assert page.network.mark_words.object.startswith("<b>0 of 4</b>")
    assert set(np.unique(page.network.mark_canvas.image.data["image"][0])) == {0, 1}


def test_margins_of_four_learners(page):
    """KTH's rows: the widest plane has 0.6987 and rows 1, 4, 5; the machine of the slide has w = (17, 102)/74."""
    page.session.load(LECTURES[next(name for name in LECTURES if name.startswith("KTH"))])
    page.tabs.active = app.PAGES.index("Margins")
    margins, words = page.margins, {name: pane.object for name, pane in page.margins.words.items()}
    assert "0.6987" in words["Widest plane"]
    assert "rows 1, 4, 5" in words["Widest plane"]
    assert "0.7156" in words["SVM"]  # 74/√(17² + 102²)
    assert "after" in words["Perceptron"]
    for name in ("SVM", "Widest plane"):
        assert len(margins.canvases[name].lines.data["xs"]) == 3
        assert len(margins.canvases[name].marks.data["x"]) >= 3
    wide = words["PAUM"]
    margins.tau.value = 0.0
    assert margins.words["PAUM"].object != wide
    margins.cost.value = "0.01"
    assert "Support: rows 1, 2, 3, 4, 5, 6" in margins.words["SVM"].object
    kept = page.snapshot()
    page.undo.clicks += 1
    assert margins.cost.value == "1"
    page.redo.clicks += 1
    assert margins.cost.value == "0.01"
    margins.tau.value = 7.5
    page.restore(kept)
    assert margins.tau.value == 0.0
    page.session.load(LECTURES[next(name for name in LECTURES if "XOR" in name)])
    assert "No plane separates" in margins.words["Widest plane"].object
    assert "no margin" in margins.words["Perceptron"].object
    page.session.clear()
    assert not any(pane.object for pane in margins.words.values())


def test_a_projector_has_large_figures(page):
    small = page.perceptron.canvas.figure.height
    page.projector.value = True
    assert page.perceptron.canvas.figure.height > small
    assert page.classes.canvas.figure.xaxis[0].axis_label_text_font_size == "18pt"
    page.projector.value = False
    assert page.perceptron.canvas.figure.height == small


def test_the_network_page_shows_the_network(page):
    net = page.network
    page.tabs.active = app.PAGES.index("Network")
    net.xor.clicks += 1
    net.units.value = 3
    assert net.diagram.weights.data["xs"] == []
    net.once.clicks += 1
    assert net.epochs == 1
    W, out = net.network.coefs_
    weights = np.concatenate([W.ravel(), out.ravel()])
    found = net.diagram.weights.data
    assert len(found["xs"]) == weights.size == 12
    assert [colour == network_figure.POSITIVE for colour in found["colour"]] == (weights > 0).tolist()
    assert np.argmax(found["width"][:6]) == np.abs(W).argmax()
    assert net.diagram.units.data["text"] == ["x₁", "x₂", "1", "2", "3", "−", "+"]
    for j, (xs, ys) in enumerate(zip(*(net.canvas.lines.data[name] for name in ("xs", "ys")), strict=True)):
        f = np.column_stack([xs, ys]) @ W[:, j] + net.network.intercepts_[0][j]
        assert np.allclose(f, 0, atol=1e-8 * np.abs(xs).max())
    assert net.diagram.curve.data["loss"] == [net.network.loss_]
    assert "δ2" in net.numbers.object
    net.units.value = 8
    net.tick()
    assert len(net.diagram.curve.data["loss"]) == net.epochs
    assert "hidden units" in net.numbers.object
    net.restart.clicks += 1
    assert net.diagram.units.data["text"] == net.canvas.lines.data["xs"] == []
    page.perceptron.clear.clicks += 1
    assert net.numbers.object == ""
