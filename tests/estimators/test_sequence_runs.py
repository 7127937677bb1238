"""Sequence training as a run: Ctrl-C, overflow, and CoNLL-2000 where it is there."""

import os
from pathlib import Path

import numpy as np
import pytest

from rosenblatt import SequencePerceptron, Tagger, read_conll, sequence_scores
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.sequence import solver

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# The same word has other tags in other sentences: nothing separates them, and only the budget or Ctrl-C ends a fit.
X = [[["a"], ["b"]], [["a"], ["b"]], [["b"], ["a"]]] * 4
Y = [["A", "B"], ["B", "A"], ["A", "A"]] * 4


def interrupted(monkeypatch, epoch):
    """Ctrl-C in the middle of an epoch."""
    visit, seen = solver.visit_sentences, []

    def press(*arguments):
        seen.append(1)
        visit(*arguments)
        if len(seen) == epoch:
            raise KeyboardInterrupt

    monkeypatch.setattr(solver, "visit_sentences", press)


@pytest.mark.parametrize("keep", ["average", "last"])
def test_ctrl_c_leaves_the_last_whole_epoch(monkeypatch, keep):
    two = SequencePerceptron(random_state=0, max_epochs=2, keep=keep).fit(X, Y)
    interrupted(monkeypatch, 3)
    model = SequencePerceptron(random_state=0, max_epochs=9, keep=keep)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert (model.report_.outcome, model.n_iter_) == ("interrupted", 2)
    assert np.array_equal(model.coef_, two.coef_)
    monkeypatch.undo()
    assert np.array_equal(model.partial_fit(X, Y).coef_, two.partial_fit(X, Y).coef_)


def test_ctrl_c_in_the_first_epoch_leaves_nothing(monkeypatch):
    interrupted(monkeypatch, 1)
    model = SequencePerceptron(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")


def test_ctrl_c_in_partial_fit_leaves_the_model_as_it_was(monkeypatch):
    model = SequencePerceptron(random_state=0).partial_fit(X, Y)
    before = model.coef_.copy(), model._state.sums.copy(), model._state.tally.copy()
    interrupted(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit([[["new"], ["a"]]], [["NEW", "A"]])
    assert model.features_ == ["a", "b"]
    for now, then in zip((model.coef_, model._state.sums, model._state.tally), before, strict=True):
        assert np.array_equal(now, then)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_overflow_is_an_error_with_the_largest_value():
    model = SequencePerceptron(random_state=0, max_epochs=50)
    huge = [[{"a": 3e38}, {"a": 3e38}], [{"a": 3e38}, {"a": 3e38}], [{"a": 2.0}, {"b": 1.0}]]
    with pytest.raises(NotFiniteError, match="the largest value is 3e"):
        model.fit(huge, [["A", "B"], ["B", "A"], ["A", "A"]])
    assert not hasattr(model, "classes_")
    model.fit([[["a"], ["b"]]], [["B", "A"]])
    with pytest.raises(NotFiniteError, match="The score of a sentence overflowed"):
        model.predict([[{"a": 3e38}, {"a": 3e38}]])


def conll(name):
    found = Path(os.environ.get("ROSENBLATT_DATA", "/nonexistent")) / "conll2000" / f"{name}.txt.gz"
    if not found.exists():
        pytest.skip("ROSENBLATT_DATA names no folder with conll2000")
    return read_conll(found)


@pytest.mark.compiled
def test_chunks_of_conll_2000():
    (X, y), (Xt, yt) = conll("train"), conll("test")
    assert (len(X), sum(map(len, y)), len(Xt)) == (8936, 211727, 2012)
    words = [f"U0{place}:%x[{place - 2},0]" for place in range(5)]
    tags = [f"U1{place}:%x[{place - 2},1]" for place in range(5)]
    template = "\n".join([*words, *tags, "U20:%x[-1,1]/%x[0,1]", "U21:%x[0,1]/%x[1,1]", "B"])
    model = SequencePerceptron(template=template, constraints="iob2", max_epochs=3, random_state=0).fit(X, y)
    scores = sequence_scores(yt, model.predict(Xt))
    assert scores.chunks.gold == 23852
    assert scores.chunks.f1 > 0.925


@pytest.mark.compiled
def test_parts_of_speech_of_conll_2000():
    (X, _), (Xt, _) = conll("train"), conll("test")
    model = Tagger(max_epochs=3, random_state=0).fit(X.column(0)[:4000], X.column(1)[:4000])
    assert model.score(Xt.column(0), Xt.column(1)) > 0.96
