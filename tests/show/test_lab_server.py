"""The lab around its pages: links that restore them, exports, the canvas, the server."""

import base64
import json
import socket
import threading
import webbrowser
import zlib
from dataclasses import replace

import numpy as np
import pytest
from bokeh.server.contexts import ApplicationContext
from tornado.web import Application

from dragging import moved
from rosenblatt import lab
from rosenblatt.lab import access, app, server
from rosenblatt.lab.canvas import Canvas, arrays
from rosenblatt.lab.sharing import Snapshot
from rosenblatt.tracing.trace import Trace


@pytest.fixture(scope="module", autouse=True)
def prepared():
    app.configure_panel()


@pytest.fixture
def page():
    return app.Lab()


# -- sharing ---------------------------------------------------------------------------------------------------------


def test_a_state_restores_exactly(page):
    page.perceptron.example.value = "KTH: from any start"
    page.session.go(2)
    page.session.moved(moved(page.session, 0, 0.1 + 0.2, -1 / 3))
    page.classes.nudge(0, 0, 0.1)
    page.classes.loss.value = "perceptron"
    page.rules.choice.value = ["Voted", "SVM"]
    page.losses.choice.value, page.losses.scale.value = ["hinge"], "geometric"
    page.network.units.value, page.network.rate.value = 5, 0.1
    page.network.learn(30)
    page.tabs.active = len(app.PAGES) - 1
    shot = page.snapshot()
    link = page.share.link.value
    other = app.Lab()
    other.restore(Snapshot.from_link(link.split("state=")[1]))
    assert other.snapshot() == shot
    assert other.session.X.tolist() == page.session.X.tolist()
    assert other.perceptron.board.object == page.perceptron.board.object
    assert (other.rules.choice.value, other.losses.scale.value) == (["Voted", "SVM"], "geometric")
    for mine, again in zip(page.network.network.coefs_, other.network.network.coefs_, strict=True):
        assert np.array_equal(mine, again)
    third = app.Lab()
    third.share.upload.value = page.share.state_file().read()
    assert third.share.message.object == "Restored."
    assert third.snapshot() == shot
    third.share.upload.value = b"{}"
    assert "not a lab state" in third.share.message.object
    third.share.upload.value = None
    broken = replace(shot, pages={"rules": {"learners": ["nobody"]}}, step=0)
    with pytest.raises(ValueError, match="not a lab state"):
        third.restore(broken)
    assert third.snapshot() == shot
    page.session.moved(moved(page.session, 0, 1.0, 1.0))
    assert page.network.state()["epochs"] == 0


def three_columns(n=30, kinds=2):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3)).round(3)
    names = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 2], [0.0, 1.0][: kinds - 1])]
    lines = "".join(f"{p},{q},{r},{name}\n" for (p, q, r), name in zip(X, names, strict=True))
    return f"height,width,depth,kind\n{lines}"


@pytest.mark.parametrize("kinds", [2, 3])
@pytest.mark.parametrize("projected", [False, True])
def test_a_table_restores_exactly_and_its_code_reproduces_the_run(kinds, projected):
    page = app.Lab(three_columns(kinds=kinds))
    assert not page.perceptron.own.collapsed
    if projected:
        page.perceptron.first.value = "first two principal components"
        assert "in all columns" in page.perceptron.verdict.object
    page.session.go(3)
    shot = page.snapshot()
    other = app.Lab()
    other.restore(Snapshot.from_json(shot.to_json()))
    assert other.snapshot() == shot
    assert other.session.axes == page.session.axes
    for name, value in vars(page.session.run).items():
        assert np.array_equal(value, getattr(other.session.run, name))
    assert np.array_equal(other.session.plane()[0], page.session.plane()[0])
    assert ("a against the rest" in page.perceptron.hint.object) == (kinds == 3)
    exec(compile(shot.code(), "lab.py", "exec"), space := {})
    assert [step.row for step in space["run"].updates] == page.session.run.rows.tolist()
    assert np.allclose(space["run"].planes()[0][:, 0], page.session.run.W)
    assert Trace.from_json(page.share.trace_file().read().decode()).steps == space["run"].steps
    page.tabs.active = 1
    assert ("not from all columns" in page.rules.hint.object) == projected
    figure = page.rules.canvases["Perceptron"].figure
    assert (figure.xaxis.axis_label, figure.yaxis.axis_label) == page.session.axes


def test_bad_states_are_explained():
    good = json.loads(Snapshot((1.0,), (2.0,), (1,)).to_json())
    changes = [
        {"format": 2},
        {"labels": [7]},
        {"x": [1, 2]},
        {"x": [float("nan")]},
        {"settings": {"no": 1}},
        {"more": 1},
        {"settings": {"bias": "heavy"}},
        {"settings": {"rate": -1.0}},
        {"settings": {"start": [0.0]}},
        {"columns": [[1.0], [2.0]]},
        {"step": "two"},
        {"axes": ["x"]},
    ]
    for change in changes:
        with pytest.raises(ValueError, match="not a lab state"):
            Snapshot.from_json(json.dumps({**good, **change}))
    with pytest.raises(ValueError, match="not a lab link"):
        Snapshot.from_link("nonsense")
    bomb = base64.urlsafe_b64encode(zlib.compress(b" " * 50_000_000)).decode()
    with pytest.raises(ValueError, match="not a lab link"):
        Snapshot.from_link(bomb)
    rng = np.random.default_rng(0)
    many = Snapshot(tuple(rng.normal(size=4000)), tuple(rng.normal(size=4000)), (0,) * 4000)
    assert many.to_link() is None


def test_exports(page, monkeypatch):
    page.perceptron.example.value = "Mons: exercise II"
    page.session.go(1)
    run = Trace.from_json(page.share.trace_file().read().decode())
    assert [step.row for step in run.updates] == [2, 3]
    picture = page.share.picture().read()
    assert picture.startswith(b"\x89PNG")
    code = page.share.code_file().read().decode()
    space = {}
    exec(compile(code, "lab.py", "exec"), space)
    assert space["run"].steps == run.steps
    page.perceptron.clear.clicks += 1
    assert b"empty" in page.share.trace_file().read()
    assert page.share.picture().read().startswith(b"\x89PNG")
    monkeypatch.setattr(Snapshot, "to_link", lambda self: None)
    page.share.draw()
    assert "use the file" in page.share.link.value


# -- canvas and server -----------------------------------------------------------------------------------------------


def test_a_canvas_keeps_its_window():
    canvas = Canvas(app.ColumnDataSource({"x": [], "y": [], "label": []}))
    canvas.fit_window(np.zeros((0, 2)))
    assert canvas.window == (-3, 3, -3, 3)
    canvas.fit_window(np.array([[0.0, 0.0], [4.0, 0.0]]))
    left, right, bottom, top = canvas.window
    assert left < 0
    assert right > 4
    assert right - left == top - bottom
    canvas.show_row_numbers(np.zeros((41, 2)), 1)
    assert canvas.numbers.data["text"] == []
    X, y = arrays({"x": [], "y": [], "label": []})
    assert X.shape == (0, 2)
    assert y.size == 0


def test_columns_of_very_different_ranges_get_separate_scales():
    canvas = Canvas(app.ColumnDataSource({"x": [], "y": [], "label": []}))
    X = np.array([[20_000.0, 18.0], [90_000.0, 70.0]])
    canvas.fit_window(X)
    assert canvas.separate_scales
    left, right, bottom, top = canvas.window
    assert right - left == pytest.approx(1.35 * 70_000)
    assert top - bottom == pytest.approx(1.35 * 52)
    w, b = np.array([1e-3, -1.0]), -11.0
    canvas.show_half_planes(w, b, 2.0)
    ends = np.column_stack([canvas.lines.data["xs"][0], canvas.lines.data["ys"][0]])
    assert np.allclose(ends @ w + b, 0, atol=1e-6 * np.abs(ends).max())
    assert ends[:, 0].min() < left
    assert ends[:, 0].max() > right
    arrow = np.column_stack([canvas.arrows.data["xs"][0], canvas.arrows.data["ys"][0]])
    assert abs(arrow[0] @ w + b) < 1e-9
    assert arrow[1] @ w + b > 0
    sizes = np.array([right - left, top - bottom])
    seen, along = (arrow[1] - arrow[0]) / sizes, (ends[1] - ends[0]) / sizes
    assert abs(seen @ along) < 1e-9 * np.linalg.norm(along)  # square to its line, as it is seen
    canvas.show_regions(lambda grid: grid[:, 1] > 40)
    assert (canvas.image.data["x"], canvas.image.data["dw"]) == ([left], [right - left])
    canvas.fit_window(X[:1])
    assert not canvas.separate_scales
    assert canvas.window[1] - canvas.window[0] > 0


def inside(polygon, place):
    """Whether a convex polygon, its corners in order, has this point."""
    if not len(polygon):
        return False
    edges, to = np.roll(polygon, -1, axis=0) - polygon, place - polygon
    turns = edges[:, 0] * to[:, 1] - edges[:, 1] * to[:, 0]
    return (turns >= 0).all() or (turns <= 0).all()


def test_class_regions_are_where_a_class_scores_highest():
    canvas, rng = Canvas(app.ColumnDataSource({"x": [], "y": [], "label": []})), np.random.default_rng(3)
    for _ in range(10):
        W, b = rng.normal(size=(3, 2)), rng.normal(size=3)
        canvas.show_class_regions(W, b)
        cells = [
            np.column_stack(pair) for pair in zip(*(canvas.regions.data[name] for name in ("xs", "ys")), strict=True)
        ]
        for place in rng.uniform(-3, 3, (40, 2)):
            winner = int((W @ place + b).argmax())
            assert [k for k in range(3) if inside(cells[k], place)] == [winner]
    canvas.show_class_regions(np.zeros((3, 2)), np.array([0.0, 1.0, 1.0]))
    assert [len(xs) for xs in canvas.regions.data["xs"]] == [0, 4, 0]


def test_a_drag_is_answered_even_if_it_fails():
    canvas, seen = Canvas(app.ColumnDataSource({"x": [], "y": [], "label": []})), []
    canvas.on_drag(seen.append)
    canvas.live.data = {"x": [1.0], "y": [2.0], "label": ["0"]}
    assert seen[0]["x"] == [1.0]
    assert canvas.answers.data["count"] == [1]

    def fails(data):
        raise RuntimeError

    other = Canvas(app.ColumnDataSource({"x": [], "y": [], "label": []}))
    other.on_drag(fails)
    with pytest.raises(RuntimeError):
        other.live.data = {"x": [1.0], "y": [2.0], "label": ["0"]}
    assert other.answers.data["count"] == [1]


class FakeServer:
    """What Panel returns, without a socket."""

    def __init__(self, loop):
        self.io_loop, self.stopped, self._tornado = loop, threading.Event(), Application()
        self._tornado.applications = {"/": ApplicationContext(None)}

    def start(self):
        self.rules = list(self._tornado.default_router.rules)  # that stand when it starts to answer

    def stop(self):
        self.stopped.set()


class FakeLoop:
    """A loop that ends at once."""

    def start(self):
        pass

    def add_callback(self, work, *arguments):
        work(*arguments)


def test_the_server_accepts_this_machine_only(monkeypatch, tmp_path, capsys):
    import panel as pn

    asked, opened = {}, []

    def serve(build, **options):
        asked.update(options, build=build, server=FakeServer(options["loop"]))
        return asked["server"]

    monkeypatch.setattr(pn, "serve", serve)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    running = lab.serve(port=4321, open_browser=False, block=False)
    assert (asked["address"], asked["port"], asked["show"]) == ("127.0.0.1", 4321, False)
    assert asked["websocket_origin"] == ["127.0.0.1:4321", "localhost:4321"]
    assert isinstance(asked["server"].rules[0].matcher, access.AccessFilter)
    assert running.address == f"http://127.0.0.1:4321/?token={running.token}"
    assert len(running.token) >= 32
    running.stop()
    assert asked["server"].stopped.wait(30)
    monkeypatch.setattr("tornado.ioloop.IOLoop.current", FakeLoop)
    capsys.readouterr()
    served = lab.serve(port=4321)
    assert opened == [served.address]
    assert served.address in capsys.readouterr().out
    assert served.token != running.token
    asked["build"]()
    own = tmp_path / "own.csv"
    own.write_text("a,b,c\n1,2,x\n3,4,y\n")
    lab.serve(own, port=4322, open_browser=False)
    assert "http://127.0.0.1:4322/?token=" in capsys.readouterr().out
    assert len(opened) == 1
    saved = tmp_path / "state.json"
    saved.write_text(Snapshot((0.0, 1.0), (0.0, 1.0), (0, 1), page=4).to_json())
    lab.serve(saved, port=4323, open_browser=False)
    assert asked["build"]()[1].active == 4  # the page Network
    saved.write_text("{}")
    with pytest.raises(ValueError, match="not a lab state"):
        lab.serve(saved)
    with pytest.raises(FileNotFoundError, match=r"no file 'nothing\.csv'"):
        lab.serve("nothing.csv")
    own.write_text("a,b\n1,x\ntwo,y\n")
    with pytest.raises(ValueError, match="'two' is not a number"):
        lab.serve(own)
    own.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="UTF-8"):
        lab.serve(own)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="Cannot listen on port"):
            server.available_port(taken.getsockname()[1])
    assert server.available_port(0) > 1023


def test_a_link_is_read_when_the_page_is_built(monkeypatch):
    import panel as pn

    link = Snapshot((1.0, -1.0), (0.0, 0.5), (1, 0), page=1).to_link().split("=")[1]
    seen = []
    monkeypatch.setattr(app, "Lab", lambda text: seen.append(Real(text)) or seen[-1])
    for packed, page in ((link, 1), ("nonsense", 0)):
        monkeypatch.setattr(type(pn.state), "session_args", property(lambda self, p=packed: {"state": [p.encode()]}))
        app.new_page()
        assert seen[-1].tabs.active == page
    assert "not a lab link" in seen[-1].perceptron.message.object


Real = app.Lab


def test_the_address_is_that_of_the_page(page, monkeypatch):
    import panel as pn

    class Location:
        href = "http://127.0.0.1:5000/?state=abc#x"

    monkeypatch.setattr(type(pn.state), "location", property(lambda self: Location))
    assert page.address() == "http://127.0.0.1:5000/"


def test_without_panel_the_error_says_how_to_install_it(monkeypatch):
    import builtins

    real = builtins.__import__

    def missing(name, *rest):
        if name == "panel":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"rosenblatt\[lab\]"):
        lab.serve()
