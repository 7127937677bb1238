"""The figure of the book: in chromium, from disk, its verdicts and its runs are those of the library."""

import json
import os
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from rosenblatt import PassiveAggressive, Perceptron, max_margin, mistake_bounds, separability, trace
from rosenblatt.lab.multiclass_gradient import multiclass_loss_and_gradient
from rosenblatt.lab.sharing import Snapshot
from rosenblatt.prove.exact.claims import root_below
from rosenblatt.records import Separability

STATIC = Path(__file__).parents[2] / "docs" / "_static"
CHROMIUM = os.environ.get("ROSENBLATT_CHROMIUM") or shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
PAGE = """<!doctype html><html><head><meta charset="utf-8"><link rel="stylesheet" href="playground.css">
<script defer src="playground.js"></script></head><body style="margin: 0">
<div class="playground" data-points="-2,-1,0 -1,1,0 0.5,-0.5,0 1,2,1 2,0.5,1 3,-1,1"></div></body></html>"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium, or set ROSENBLATT_CHROMIUM"),
]

# Numbers that JSON does not have: integers as text, fractions as "n/d".
PLAIN = """(what) => JSON.parse(JSON.stringify(what, (key, value) => typeof value === "bigint" ? `${value}` : value))"""
# Drags by pointer events, each with the figure's points and its verdict afterwards. Some end on another point.
DRAGS = """async ([moves]) => {
    const figure = playground.figures[0], plane = figure.plane, seen = []
    plane.setPointerCapture = () => {}
    for (const [row, x, y, onto, flip] of moves) {
        const box = plane.getBoundingClientRect(), handle = plane.querySelector(`[data-row="${row}"]`)
        const to = onto === null ? [x, y] : (() => {
            const [u, v] = figure.toScreen(figure.points[onto].x, figure.points[onto].y)
            return [u / 640, v / 480]
        })()
        const at = handle.getBoundingClientRect()
        const send = (target, name, clientX, clientY) =>
            target.dispatchEvent(new PointerEvent(name, { bubbles: true, pointerId: 1, clientX, clientY }))
        send(handle, "pointerdown", at.x + at.width / 2, at.y + at.height / 2)
        send(plane, "pointermove", box.x + to[0] * box.width, box.y + to[1] * box.height)
        send(plane, "pointerup", box.x + to[0] * box.width, box.y + to[1] * box.height)
        if (flip) figure.find("flip").click()
        seen.push({ points: figure.points.map((p) => ({ ...p })), verdicts: figure.verdicts, codes: figure.codes })
    }
    return (PLAIN)(seen)
}""".replace("PLAIN", PLAIN)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser, tmp_path):
    for name in ("playground.js", "playground.css"):
        shutil.copy(STATIC / name, tmp_path)
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    context = browser.new_context(viewport={"width": 1000, "height": 800}, has_touch=True)
    opened, complaints = context.new_page(), []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
    opened.on("request", lambda asked: None if asked.url.startswith("file:") else complaints.append(asked.url))
    opened.goto((tmp_path / "page.html").as_uri())
    yield opened
    context.close()
    assert complaints == []


def fractions(pairs):
    return None if pairs is None else tuple(Fraction(int(n), int(d)) for n, d in pairs)


def record(verdict, y):
    """The verdict of the figure as the library's certificate."""
    plane, spanning = fractions(verdict.get("plane")), verdict.get("spanning")
    proves = verdict["verdict"] != "complete"
    margin = None
    if plane is not None:  # the widest plane: the distance between the hulls is twice the margin
        margin = root_below((plane[0] ** 2 + plane[1] ** 2) / int(verdict["D"]) ** 4 / 4)
    return Separability(
        verdict=verdict["verdict"], positive=1, classes=(0, 1), fit_intercept=True, shape=(len(y), 2), names=None,
        coef=None if plane is None else np.array([float(value) for value in plane[:2]]),
        intercept=None if plane is None else float(plane[2]), plane=plane, margin=margin,
        rows=tuple(verdict["rows"]) if proves else None, weights=fractions(verdict["weights"]) if proves else None,
        spanning_rows=None if spanning is None else tuple(spanning[0]),
        spanning_weights=None if spanning is None else fractions(spanning[1]),
        rank=verdict.get("rank"), direction=fractions(verdict.get("direction")),
        infinite={} if verdict["verdict"] == "overlap" else None, aliased=None,
    )  # fmt: skip


def test_the_verdict_of_every_drag_is_verified(page):
    rng = np.random.default_rng(0)
    moves = []
    for _ in range(1000):
        row, onto = (int(number) for number in rng.choice(6, 2, replace=False))
        x, y = rng.integers(1, 12, 2) / 12  # few places, so that many points are in line
        moves.append([row, float(x), float(y), onto if rng.random() < 0.15 else None, bool(rng.random() < 0.2)])
    found = set()
    for number, seen in enumerate(page.evaluate(DRAGS, [moves])):
        X = [[p["x"], p["y"]] for p in seen["points"]]
        y = seen["codes"]
        if len(set(y)) < 2:
            assert seen["verdicts"] == []
            continue
        (verdict,) = seen["verdicts"]
        record(verdict, y).verify(X, y)
        found.add(verdict["verdict"])
        if number % 10 == 0:
            assert separability(X, y).verdict == verdict["verdict"]
            if verdict["verdict"] == "complete":
                assert max_margin(X, y).margin == pytest.approx(record(verdict, y).margin, rel=1e-9)
    assert found == {"complete", "quasi-complete", "overlap"}


def test_verdicts_of_points_in_line_in_one_place_and_of_any_doubles(page):
    rng = np.random.default_rng(1)
    cases = [(rng.integers(-2, 3, (n, 2)) / 2.0, rng.integers(0, 2, n)) for n in rng.integers(2, 12, 150)]
    cases += [(np.outer(rng.integers(-3, 4, n), [1.0, 0.5]), rng.integers(0, 2, n)) for n in rng.integers(2, 7, 60)]
    cases += [
        (np.full((3, 2), 0.1), np.array([0, 1, 1])),
        (np.array([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]]), np.array([0, 1, 0])),
    ]
    cases += [
        (rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-6, 7), rng.integers(0, 2, n)) for n in rng.integers(3, 9, 60)
    ]
    cases += [
        (np.array([[-1, -1], [1, 1], [-1, 1], [1, -1], [0, 0.0]]), np.array([0, 0, 0, 0, 1]))
    ]  # one in the middle
    cases = [(X, y) for X, y in cases if len(set(y.tolist())) == 2]
    assert len(cases) > 200
    given = [[[{"x": a, "y": b} for a, b in X.tolist()], (y == 1).tolist()] for X, y in cases]
    verdicts = page.evaluate(f"(cases) => ({PLAIN})(cases.map(([p, y]) => playground.decide(p, y)))", given)
    for (X, y), verdict in zip(cases, verdicts, strict=True):
        record(verdict, y).verify(X, y)
        assert separability(X, y).verdict == verdict["verdict"]


def runs(page, name, X, y, classes, extra=""):
    points = [{"x": a, "y": b} for a, b in X.tolist()]
    code = f"([p, y, K]) => {{ const run = playground.{name}(p, y, K); {extra}; return ({PLAIN})(run) }}"
    return page.evaluate(code, [points, y.tolist(), classes])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("keep", ["last", "average"])
def test_perceptrons_are_the_exact_traces(page, classes, keep):
    rng = np.random.default_rng(classes)
    for _ in range(8):
        X, y = rng.integers(-8, 9, (7, 2)) / 4, np.append(np.arange(classes), rng.integers(0, classes, 7 - classes))
        model = Perceptron(keep=keep, order="cyclic", max_epochs=20)
        run = trace(X, y, model, exact=True)
        average = "true" if keep == "average" else "false"
        own = runs(
            page, "perceptron", X, y, classes, f"run.end = playground.exactPlanes(run, run.steps.length - 1, {average})"
        )
        updates, D = [step for step in own["steps"][1:] if step["epoch"] <= 20], int(own["D"])
        assert [step["row"] for step in updates] == [step.row for step in run.updates]
        for mine, theirs in zip(updates, run.updates, strict=True):
            W = np.array([[Fraction(int(value), D) for value in w] for w in mine["W"]])
            assert W.tolist() == [[*w, b] for w, b in zip(theirs.coef, theirs.intercept, strict=True)]
            assert Fraction(int(mine["margin"]), D * D) == theirs.margin
        if run.outcome == "separated":
            assert own["outcome"] == "separated"
            assert [fractions(w) for w in own["end"]] == [(*w, b) for w, b in zip(run.coef, run.intercept, strict=True)]


def test_the_bound_is_that_of_the_library(page):
    X, y = np.array([[-2, -1], [-1, 1], [1, 2], [2, 0.5]]), np.array([0, 0, 1, 1])
    model = Perceptron(order="cyclic").fit(X, y)
    (own,) = [b for b in mistake_bounds(model, X, y) if b.form == "unit" and b.source == "achieved"]
    extra = "run.bound = playground.bound(p, y, playground.exactPlanes(run, run.steps.length - 1, false)[0])"
    assert runs(page, "perceptron", X, y, 2, extra)["bound"]["value"] == pytest.approx(own.value, rel=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_passive_aggressive_within_1e_9(page, classes):
    rng = np.random.default_rng(5)
    for _ in range(6):
        X, y = rng.normal(size=(8, 2)), np.append(np.arange(classes), rng.integers(0, classes, 8 - classes))
        run = trace(X, y, PassiveAggressive(C=1.0, order="cyclic", max_epochs=6))
        updates = [step for step in runs(page, "passiveAggressive", X, y, classes)["steps"][1:] if step["epoch"] <= 6]
        assert [step["row"] for step in updates] == [step.row for step in run.updates]
        for mine, theirs in zip(updates, run.updates, strict=True):
            np.testing.assert_allclose(
                mine["W"], np.column_stack([theirs.coef, theirs.intercept]), rtol=1e-9, atol=1e-9
            )


def test_softmax_within_1e_9(page):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 3
    W, b = np.zeros((3, 2)), np.zeros(3)
    for step in runs(page, "softmax", X, y, 3)["steps"]:
        np.testing.assert_allclose(step["W"], np.column_stack([W, b]), rtol=1e-9, atol=1e-9)
        seen = multiclass_loss_and_gradient(W, b, X, y, "softmax", "none", 0.0)
        assert step["loss"] == pytest.approx(seen.data_loss, rel=1e-9)
        W, b = W - seen.dW, b - seen.db


def points(page):
    return page.evaluate("playground.figures[0].points")


def test_by_mouse_keyboard_and_touch(page):
    says = lambda text: page.locator(".pg-verdict", has_text=text).wait_for()  # noqa: E731
    says("Separated.")
    box = page.locator("[data-row='5'] path").bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()
    target = page.locator("[data-row='1'] path").bounding_box()
    page.mouse.move(target["x"] + 4, target["y"] + 40, steps=5)
    says("Not separated")  # the button is still down
    page.mouse.up()
    page.get_by_role("button", name="Undo").click()
    says("Separated.")

    before = points(page)
    page.locator("[data-row='2']").focus()
    page.keyboard.press("ArrowRight")
    grid = page.evaluate("playground.figures[0].grid")
    assert points(page)[2]["x"] == before[2]["x"] + grid
    page.keyboard.press("Enter")
    assert points(page)[2]["label"] == 1
    page.keyboard.press("n")
    assert len(points(page)) == 7
    page.keyboard.press("Delete")
    assert len(points(page)) == 6
    for _ in range(4):
        page.keyboard.press("u")
    assert points(page) == before

    last = int(page.locator(".pg-slider").get_attribute("max"))
    assert last > 0
    page.keyboard.press("[")
    page.locator(".pg-step", has_text=f"Update {last - 1} of" if last > 1 else "Start").wait_for()
    page.keyboard.press("]")
    page.locator(".pg-step", has_text=f"Update {last} of {last}").wait_for()

    page.locator(".pg-plane").tap(position={"x": 30, "y": 30})
    assert len(points(page)) == 7


def test_a_finger_drags_a_point_on_a_phone(page):
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box, before = page.locator("[data-row='3'] path").bounding_box(), points(page)
    touch = page.context.new_cdp_session(page)
    at = [box["x"] + box["width"] / 2 + 9, box["y"] + box["height"] / 2]  # beside the point, as a finger is

    def send(kind, down):
        places = [] if kind == "touchEnd" else [{"x": at[0], "y": at[1] + down}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    send("touchStart", 0)
    for down in (10, 20, 30, 40):
        send("touchMove", down)
    send("touchEnd", 40)
    page.wait_for_function("before => playground.figures[0].points[3].y < before", arg=before[3]["y"])
    assert page.evaluate("window.scrollY") == 0
    assert len(points(page)) == len(before)


def test_points_from_text(page):
    page.get_by_text("Paste your own points").click()
    area, use = page.locator(".pg-data textarea"), page.get_by_role("button", name="Use these points")
    area.fill("height,weight,kind\n0.1,0.1,a\n0.2,0.2,b\n0.3,0.3,a\n")
    use.click()
    assert [p["label"] for p in points(page)] == [0, 1, 0]
    X, y = [[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]], [0, 1, 0]
    assert f"({separability(X, y).verdict})" in page.locator(".pg-verdict").inner_text()
    area.fill("1,2,a\n3,four,b")
    use.click()
    page.get_by_text('Point 1: expected x, y, class, found "3, four, b".').wait_for()
    assert len(points(page)) == 3


def test_what_the_figure_shows_opens_in_the_lab(page):
    page.keyboard.press("[")
    page.locator("[data-row='2']").focus()
    page.keyboard.press("[")
    page.get_by_text("Paste your own points").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save points.json").click()
    assert saved.value.suggested_filename == "points.json"
    shot = Snapshot.from_json(Path(saved.value.path()).read_text(encoding="utf-8"))
    number, shown = page.evaluate("[playground.figures[0].number, playground.figures[0].points]")
    assert [{"x": x, "y": y, "label": k} for x, y, k in zip(shot.x, shot.y, shot.labels, strict=True)] == shown
    run = trace(np.column_stack([shot.x, shot.y]), shot.labels, **shot.settings.parameters(len(shot.x)))
    assert shot.step == number < len(run.updates)
    assert len(run.updates) == int(page.locator(".pg-slider").get_attribute("max"))


def test_the_script_is_short_and_loads_nothing():
    text = (STATIC / "playground.js").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 1500
    assert not [
        word
        for word in ("import ", "fetch(", "XMLHttpRequest", "http://", "https://")
        if word in text.replace("http://www.w3.org/2000/svg", "")
    ]
    assert json.dumps(text)  # no lone surrogates
