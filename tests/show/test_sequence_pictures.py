"""Traces and lattices of sentences: what they show is what the learner did."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rosenblatt import SequencePerceptron, plot, trace
from rosenblatt.plot.sentence_lattice import lattice_of
from rosenblatt.tracing.sequence_trace import SequenceTrace

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X = [[["the"], ["dog"], ["barks"]], [["a"], ["cat"]], [], [["dog"]]]
Y = [["D", "N", "V"], ["D", "V"], [], ["N"]]


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.mark.parametrize("settings", [{}, {"rule": "pa", "C": 0.5}, {"keep": "last", "order": "cyclic"}])
def test_a_trace_is_the_run_of_fit(settings):
    model = SequencePerceptron(random_state=3, max_epochs=4, **settings)
    run = trace(X, Y, model)
    fitted = SequencePerceptron(random_state=3, max_epochs=4, **settings).fit(X, Y)
    assert isinstance(run, SequenceTrace)
    assert len(run.updates) == fitted.report_.updates
    assert len(run) == len(X) * fitted.n_iter_
    weights, moves = {}, {}
    for step in run:
        assert step.updated == (step.lattice.path != step.gold)
        assert step.gold == tuple(Y[step.sentence])
        for name, tag, by in step.moved:
            held = moves if name.endswith("→") else weights
            held[name, tag] = held.get((name, tag), 0.0) + by
    last = fitted._state.last(np.zeros(1, dtype=np.float32))
    tags = fitted.classes_.tolist()
    for number, name in enumerate(fitted.features_):
        for k, tag in enumerate(tags):
            assert last.rows[last.slots[number], k] == pytest.approx(weights.get((name, tag), 0.0), abs=1e-6)
    for j, before in enumerate([*tags, "start"]):
        for k, tag in enumerate(tags):
            assert last.transitions[j, k] == pytest.approx(moves.get((f"{before} →", tag), 0.0), abs=1e-6)


def test_a_trace_prints_what_a_hand_can_check():
    text = str(trace(X[:1], Y[:1], SequencePerceptron(order="cyclic")))
    first = """step 1, epoch 1, sentence 0
   the  dog  barks
D   0*   0*     0*
N   0    0      0
V   0    0      0
best path  D D D
gold path  D N V
moved      dog D −1, dog N +1, barks D −1, barks V +1, D → D −2, D → N +1, N → V +1"""
    assert text.startswith(first)
    assert text.endswith("separated after 1 update in 2 steps")
    long = str(trace(X * 8, Y * 8, SequencePerceptron(order="cyclic", max_epochs=2)))
    assert "more steps" in long


def test_settings_and_refusals():
    assert len(trace(X, Y, SequencePerceptron(), max_epochs=1, order="cyclic")) == len(X)
    with pytest.raises(ValueError, match="not for sequences"):
        trace(X, Y, SequencePerceptron(), exact=True)


def test_viterbis_table_is_the_best_of_all_prefixes():
    model = SequencePerceptron(random_state=0, max_epochs=3).fit(X, Y)
    lattice = lattice_of(model, X[0])
    assert list(lattice.path) == model.predict(X[:1])[0]
    total = model.start_ + lattice.emissions[0]
    assert np.allclose(lattice.table[0], total)
    for t in (1, 2):
        total = (total[:, None] + model.transitions_).max(axis=0) + lattice.emissions[t]
        assert np.allclose(lattice.table[t], total)
    assert str(lattice).count("*") == 3
    assert lattice_of(model, [{"dog": 1.0, "x": "y"}, []]).tokens == ("dog:1.0", "∅")


def test_a_lattice_shows_both_paths():
    model = SequencePerceptron(random_state=0, max_epochs=3).fit(X, Y)
    shown = plot.lattice(model, X[0], ["N", "N", "V"])
    lines = {line.get_label(): line.get_ydata() for line in shown.ax_.get_lines()}
    tags = model.classes_.tolist()
    assert [tags[k] for k in lines["gold path"]] == ["N", "N", "V"]
    assert [tags[k] for k in lines["best path"]] == model.predict(X[:1])[0]
    shown.figure_.canvas.draw()
    axes = plot.lattice(model, X[0]).ax_
    assert [line.get_label() for line in axes.get_lines()] == ["best path"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == tags
    constrained = SequencePerceptron(constraints="iob2").fit([[["a"], ["b"]]], [["B-X", "I-X"]])
    plot.lattice(constrained, [["a"], ["b"]]).figure_.canvas.draw()


def test_what_cannot_be_drawn_is_refused():
    model = SequencePerceptron(random_state=0).fit(X, Y)
    for sentence, tags, message in (
        ([], None, "1 to 60 tokens"),
        (X[0], ["D"], "one per token"),
        (X[0], ["D", "N", "NEW"], "tags of the model"),
    ):
        with pytest.raises(ValueError, match=message):
            plot.lattice(model, sentence, tags)
