"""Links and files that nobody's lab made: each ends in a state that can be shown, or in one sentence."""

import base64
import copy
import functools
import json
import math
import os
import zlib

import numpy as np
import pytest

from rosenblatt.lab import app, network_page, rules_page, state_limits
from rosenblatt.lab.periodic import repeat
from rosenblatt.lab.points import CSVError, parse_csv
from rosenblatt.lab.runs import RunSettings, run_perceptron
from rosenblatt.lab.sharing import LONGEST_LINKED, Snapshot
from rosenblatt.registry import IN_LAB

MUTANTS = int(os.environ.get("ROSENBLATT_FUZZ", "100"))


@pytest.fixture(scope="module", autouse=True)
def prepared():
    app.configure_panel()


@pytest.fixture(scope="module")
def page():
    return app.Lab()


@pytest.fixture(scope="module")
def good(page):
    """A valid state, as JSON gives it."""
    return json.loads(page.snapshot().to_json())


def link(data):
    return base64.urlsafe_b64encode(zlib.compress(data)).decode().rstrip("=")


def changed(good, where, value):
    found = copy.deepcopy(good)
    node = found
    for name in where[:-1]:
        node = node[name]
    node[where[-1]] = value
    return found


def sentence(error):
    """The one line that a person reads."""
    text = str(error.value if hasattr(error, "value") else error)
    kinds = ("This is not a lab state: ", "This is not a lab link: ", "The lab cannot show this state: ")
    assert text.startswith(kinds), text
    assert len(text) < 400
    assert "\n" not in text
    return text


# -- work that a link may ask for ------------------------------------------------------------------------------------


def test_a_short_link_with_many_rows_is_refused_before_any_work(good):
    for count in (6_001, 200_000, 800_000):
        settings = {**good["settings"], "order": "these rows", "rows": ",".join(["0"] * count)}
        packed = link(json.dumps({**good, "settings": settings}).encode())
        assert len(packed) < 4_000
        with pytest.raises(ValueError, match="lab") as error:
            Snapshot.from_link(packed)
        sentence(error)


def test_a_run_is_limited_in_visits_whatever_its_order():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1])
    for count in (1, 3, 100, 6_000):
        settings = RunSettings(order="these rows", rows=",".join(map(str, np.arange(count) % 4)))
        assert settings.parameters(4)["max_epochs"] * count <= state_limits.MOST_RUN_VISITS
        assert run_perceptron(X, y, settings).updates <= state_limits.MOST_RUN_VISITS


def test_every_learner_is_limited_in_visits(page):
    page.session.set(order="these rows", rows=",".join(["0", "1"] * 3_000))
    for name in IN_LAB:
        model = rules_page.new_learner(name, page.session)
        assert name == "SVM" or model.max_epochs * 6_000 <= rules_page.MOST_VISITS
    with pytest.raises(ValueError, match="rows: 7,000 rows are given"):
        page.session.set(rows=",".join(["0"] * 7_000))
    page.perceptron.rows.value = ",".join(["0"] * 7_000)
    assert "7,000 rows are given" in page.perceptron.message.object


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (["x"], [0.0] * 1_001),
        (["x"], [1e101, 1.0, 1.0, 1.0]),
        (["x"], [10**400] * 4),
        (["x"], ["1"] * 4),
        (["x"], [True] * 4),
        (["labels"], [0, 1, 0, 2]),
        (["labels"], [0, 1, 0, -1]),
        (["labels"], [0, 1, 0, 0.5]),
        (["classes"], ["a"]),
        (["classes"], ["a"] * 7),
        (["classes"], ["a", "b" * 10_001]),
        (["step"], -1),
        (["step"], 10**10),
        (["step"], 1.0),
        (["page"], -1),
        (["page"], 7),
        (["axes"], ["a", "b", "c"]),
        (["axes"], "ab"),
        (["note"], None),
        (["note"], "\ud800"),
        (["columns"], [[1.0]] * 3),
        (["columns"], [[]] * 4),
        (["columns"], [[0] * 1_001] * 4),
        (["columns"], [[1.0, 2.0]] * 3 + [[1.0]]),
        (["settings", "rate"], 0),
        (["settings", "rate"], 1e10),
        (["settings", "margin"], -1),
        (["settings", "seed"], -1),
        (["settings", "seed"], 2**32),
        (["settings", "start"], [0.0] * 4),
        (["settings", "rows"], "0" * 60_001),
        (["settings", "order"], ["cyclic"]),
        (["pages"], {"unknown": {}}),
        (["pages"], []),
        (["pages", "network", "units"], 25),
        (["pages", "network", "units"], -1),
        (["pages", "network", "epochs"], -1),
        (["pages", "network", "epochs"], 10**9),
        (["pages", "network", "rate"], -1.0),
        (["pages", "network", "seed"], 1.5),
        (["pages", "classes", "x"], [0.0] * 1_001),
        (["pages", "classes", "W"], [[1e200, 0], [0, 0], [0, 0]]),
        (["pages", "classes", "labels"], [0] * 8 + [6]),
        (["pages", "classes", "strength"], -1),
        (["pages", "losses", "losses"], ["hinge"] * 100),
        (["pages", "rules", "learners"], ["SVM"] * 1_000),
        (["pages", "rules", "learners"], None),
    ],
)  # fmt: skip
def test_forged_values_are_named(page, good, where, value):
    before = page.snapshot()
    with pytest.raises(ValueError, match=f"{where[-1]}|unknown") as error:
        page.restore(Snapshot.from_json(json.dumps(changed(good, where, value))))
    sentence(error)
    assert page.snapshot() == before


@pytest.mark.parametrize(
    "text",
    [
        "[" * 500_000,
        '{"a":' * 100_000,
        "9" * 900_000,
        "-1e999",
        "NaN",
        "null",
        "[]",
        "",
        "{}",
        '{"format":1}',
        "\x00",
    ],
)
def test_forged_json_is_explained(text):
    with pytest.raises(ValueError, match="not a lab state") as error:
        Snapshot.from_json(text)
    sentence(error)
    with pytest.raises(ValueError, match="not a lab state") as error:
        Snapshot.from_link(link(text.encode()))
    sentence(error)


def test_nan_and_infinity_are_refused(good):
    for value in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="expected a number"):
            Snapshot.from_json(json.dumps(changed(good, ["settings", "margin"], value)))


def test_a_link_that_unpacks_to_too_much_is_refused(good):
    whole = json.dumps(good).encode()
    for packed in (link(whole + b" " * LONGEST_LINKED), link(b" " * 20_000_000), link(whole)[:-9], "A" * 30_001):
        with pytest.raises(ValueError, match="not a lab link") as error:
            Snapshot.from_link(packed)
        sentence(error)
    long = Snapshot((), (), (), note=" " * LONGEST_LINKED)
    assert long.to_link() is None


def test_a_network_stops_learning_at_its_limit(page, monkeypatch):
    net = app.Lab().network
    monkeypatch.setattr(network_page, "MOST_EPOCHS", 25)
    net.running = Stopped()
    for _ in range(5):
        net.tick()
    assert (net.epochs, net.running, net.start.label) == (25, None, "Learn")
    monkeypatch.setattr(network_page, "MOST_EPOCHS", 10_000)
    monkeypatch.setattr(network_page, "MOST_VISITS", 4 * 30)
    net.learn(1_000)
    assert net.epochs == 30


class Stopped:
    def stop(self):
        pass


def test_repeated_work_stops_when_its_page_is_closed(monkeypatch):
    import panel as pn

    class Context:
        class session:
            connection_count = 1

    class Document:
        session_context = Context

    ticks, done = [], []
    monkeypatch.setattr(type(pn.state), "curdoc", property(lambda self: Document))
    monkeypatch.setattr(pn.state, "add_periodic_callback", lambda tick, period: ticks.append(tick))
    repeat(lambda: done.append("work"), 100, lambda: done.append("stop"), most=3)
    ticks[0]()
    Context.session.connection_count = 0
    ticks[0]()
    assert done == ["work", "stop"]
    Context.session.connection_count = 1
    for _ in range(2):
        ticks[0]()
    assert done == ["work", "stop", "work", "stop"]


def test_tables_have_the_limits_of_states():
    wide = ",".join(f"c{k}" for k in range(1_002))
    with pytest.raises(CSVError, match=r"1,002 columns; the lab learns from up to 1,000"):
        parse_csv(f"{wide}\nX\n")
    with pytest.raises(CSVError, match="column 'a': '1e101' is too large"):
        parse_csv("a,b\n1e101,x\n2,y\n")


# -- mutants ---------------------------------------------------------------------------------------------------------

STRANGE = [
    None, True, False, 0, 1, -1, 2, 7, 1e101, 1e308, 10**25, 10**400, -(10**400), math.nan, math.inf, -math.inf,
    "", "0", "these rows", "first", "worst", "random", "none", "radius", "9999999999999999999999, 1, -3", "1;2;;3",
    "\u0000", "\ud800", "<b>", [], {}, [[]], [None], {"a": 1}, [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1],
    [1e100, -1e100, 1e-320, 0],
    [[1.0, 2.0, 3.0]] * 4, [[1e100, 1e-320, 0.0]] * 4,
]  # fmt: skip
EXTREME = [0.0, -0.0, 1e-320, 1e-160, -1e-9, 1.0, 1e9, 1e100, -1e100]


def places(node, path=()):
    """Every place in a state."""
    found = [path] if path else []
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, below in pairs:
        found += places(below, (*path, name))
    return found


def mutant(good, rng):
    """A state with some values changed: by others of their kind, which may be shown, or by anything."""
    found = copy.deepcopy(good)
    for _ in range(rng.integers(1, 4)):
        path = places(found)[rng.integers(len(places(found)))]
        kind = type(functools.reduce(lambda node, name: node[name], path, found))
        alike = EXTREME if kind is float else [0, 1, 2, 5, 20] if kind is int else STRANGE
        values = STRANGE if rng.random() < 0.1 else alike
        found = changed(found, path, copy.deepcopy(values[rng.integers(len(values))]))
    return found


@pytest.mark.compiled  # every page is drawn, with all its learners
def test_mutated_states_are_shown_or_refused(page, good):
    rng, shown = np.random.default_rng(0), 0
    for _ in range(MUTANTS):
        text = json.dumps(mutant(good, rng))
        try:
            page.restore(Snapshot.from_json(text))
        except ValueError as error:
            sentence(error)
            continue
        shown += 1
        assert Snapshot.from_json(page.snapshot().to_json()) == page.snapshot()
        page.tabs.active = int(rng.integers(len(app.PAGES)))
        page.session.go(10**9)
    assert shown > MUTANTS // 5


def test_mutated_links_are_read_or_refused(page, good):
    rng, packed = np.random.default_rng(1), page.snapshot().to_link().split("=")[1]
    for _ in range(MUTANTS):
        data = bytearray(packed.encode() if rng.random() < 0.5 else zlib.compress(json.dumps(good).encode()))
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(len(data))] = rng.integers(256)
        raw = bytes(data[: rng.integers(1, len(data) + 1)] if rng.random() < 0.3 else data)
        text = raw.decode("latin-1") if rng.random() < 0.5 else base64.urlsafe_b64encode(raw).decode()
        try:
            Snapshot.from_link(text)
        except ValueError as error:
            sentence(error)
