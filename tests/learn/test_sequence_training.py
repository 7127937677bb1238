"""Sequence training and decoding against the definitions: all paths, and a slow twin to the bit."""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rosenblatt import SequencePerceptron
from rosenblatt.compiled.machine_code import exactly
from rosenblatt.compiled.row_arrays import Sparse
from rosenblatt.sequence.constraints import forbidden_moves
from rosenblatt.sequence.sentences import token_rows
from rosenblatt.sequence.vector_rows import add_features, best_previous, padded
from rosenblatt.sequence.viterbi import Paths, SentenceTask, decode_path, new_scratch, smallest_lead
from sequence_reference import best_path, learn

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TAGS = ["A", "B", "C"]
few = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def lattices(draw, whole=True):
    """Emissions and moves of a short sentence; whole numbers make ties."""
    tags, n = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    number = st.integers(-2, 2) if whole else st.integers(-99, 99).map(lambda value: value / 16)
    table = draw(st.lists(st.lists(number, min_size=tags, max_size=tags), min_size=n, max_size=n))
    moves = draw(st.lists(st.lists(number, min_size=tags, max_size=tags), min_size=tags + 1, max_size=tags + 1))
    return np.array(table, dtype=np.float32), np.array(moves, dtype=np.float32)


def viterbi(table, moves, forbidden=None):
    n, tags = table.shape
    width = padded(tags)
    emissions, wide = np.full((n, width), 7, dtype=np.float32), np.zeros((tags + 2, width), dtype=np.float32)
    emissions[:, :tags], wide[: tags + 1, :tags] = table, moves
    wide = wide if forbidden is None else wide + forbidden
    scratch = new_scratch(n, width)
    decode_path(emissions, n, wide, scratch.best, scratch.path)
    return scratch.path[:n].tolist(), emissions, wide


def all_paths(table, moves, **more):
    tags = list(range(table.shape[1]))
    named = {(None if j == len(tags) else j, k): moves[j, k] for j in range(len(tags) + 1) for k in tags}
    return best_path(table.tolist(), {pair: float(move) for pair, move in named.items()}, tags, **more)


@few
@given(lattices())
def test_viterbi_is_the_best_of_all_paths_with_ties_by_the_tie_rule(lattice):
    table, moves = lattice
    assert viterbi(table, moves)[0] == all_paths(table, moves)


@few
@given(lattices(whole=False))
def test_viterbi_is_the_best_of_all_paths_for_fractions(lattice):
    table, moves = lattice
    assert viterbi(table, moves)[0] == all_paths(table, moves)


@few
@given(lattices(), st.data())
def test_the_lead_is_that_over_the_best_other_path(lattice, data):
    table, moves = lattice
    n, tags = table.shape
    gold = np.array(data.draw(st.lists(st.integers(0, tags - 1), min_size=n, max_size=n)), dtype=np.int32)
    _, _, wide = viterbi(table, moves)

    def score(path):
        befores = [tags, *path[:-1]]
        return sum(float(table[t, k]) + float(moves[j, k]) for t, (j, k) in enumerate(zip(befores, path, strict=True)))

    others = [score(path) for path in product(range(tags), repeat=n) if list(path) != gold.tolist()]
    # One feature per token, whose weights are its emissions.
    rows = np.zeros((n + 1, wide.shape[1]), dtype=np.float32)
    rows[1:, :tags] = table
    features = Sparse(np.zeros(0, dtype=np.float32), np.arange(n, dtype=np.uint32), np.arange(n + 1, dtype=np.uint64))
    task = SentenceTask(features, np.array([0, n], dtype=np.uint64), gold)
    weights = Paths(np.arange(1, n + 2, dtype=np.uint32), rows, wide)
    room = np.zeros((n, wide.shape[1]))
    found = smallest_lead(task, np.zeros(1, dtype=np.uint64), weights, room, room.copy())
    assert found == (score(gold.tolist()) - max(others) if others else np.inf)


@pytest.mark.parametrize("scheme", ["iob1", "iob2", "iobes"])
@few
@given(data=st.data())
def test_constrained_paths_are_the_best_of_those_allowed(scheme, data):
    letters = "IOB" if scheme != "iobes" else "IOBES"
    tags = [*sorted(f"{letter}-{kind}" for letter in letters if letter != "O" for kind in ("X", "Y")), "O"]
    n = data.draw(st.integers(1, 3))
    number = st.integers(-3, 3)
    table = np.array(
        data.draw(st.lists(st.lists(number, min_size=len(tags), max_size=len(tags)), min_size=n, max_size=n)),
        dtype=np.float32,
    )
    moves = np.zeros((len(tags) + 1, len(tags)), dtype=np.float32)

    def allowed(before, tag):
        """By the words of the schemes, on names of tags; None is the boundary of the sentence."""
        inside = before is not None and before[0] in "BI" and tag is not None and before[1:] == tag[1:]
        if scheme == "iob2":
            return tag is None or tag[0] != "I" or inside
        if scheme == "iob1":
            return tag is None or tag[0] != "B" or inside
        if before is not None and before[0] in "BI":
            return tag is not None and tag[0] in "IE" and inside
        return tag is None or tag[0] in "OBS"

    path = viterbi(table, moves, forbidden_moves(tags, scheme))[0]
    assert [tags[k] for k in path] == best_path(table.tolist(), {}, tags, allowed=allowed)


@pytest.mark.parametrize("width", [8, 16, 24, 32, 40, 72])
def test_vector_sums_are_those_of_plain_python(width):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(6, width)).astype(np.float32)
    slots, columns = np.array([0, 3, 5, 2], dtype=np.uint32), np.array([1, 2, 3, 1, 0], dtype=np.uint32)
    for values in (np.zeros(0, dtype=np.float32), rng.normal(size=5).astype(np.float32)):
        out, plain = np.empty(width, dtype=np.float32), np.zeros(width, dtype=np.float32)
        _sum(columns, values, slots, W, out)
        for j in range(1, 5):
            row = W[slots[columns[j]]]
            plain = plain + (row if not values.size else values[j] * row)
        assert np.array_equal(out, plain)
    before, moves, emitted = (rng.normal(size=shape).astype(np.float32) for shape in ((width,), (9, width), (width,)))
    _best(before, moves, emitted, out)
    assert np.array_equal(out, (before[:7, None] + moves[:7]).max(axis=0) + emitted)


@exactly
def _sum(columns, values, slots, W, out):
    add_features(columns, values, np.uint64(1), np.uint64(5), slots, W, out)


@exactly
def _best(before, moves, emitted, out):
    best_previous(before, moves, 7, emitted, out)


# -- the slow twin ---------------------------------------------------------------------------------------------------

names = st.sampled_from(["a", "b", "c", "d"])


@st.composite
def corpora(draw, values=None):
    """Sentences of few tokens, empty ones among them, and their tags."""
    values = st.just(1.0) if values is None else values
    token = st.lists(st.tuples(names, values), max_size=3)
    sentences = draw(st.lists(st.lists(token, max_size=3), min_size=1, max_size=4))
    tags = [draw(st.lists(st.sampled_from(TAGS), min_size=len(one), max_size=len(one))) for one in sentences]
    sentences.append([[("a", 1.0)], [("b", 1.0)], []])
    tags.append(["C", "A", "B"])  # every tag is there
    return sentences, tags


def fitted(sentences, tags, **settings):
    """A model of sentences whose tokens are pairs of features and values; a feature may be there twice."""
    rows, columns, values, order = [], [], [], ["a", "b", "c", "d"]
    flat = [token for sentence in sentences for token in sentence]
    for place, token in enumerate(flat):
        for feature, value in token:
            rows.append(place)
            columns.append(order.index(feature))
            values.append(value)
    lengths = [len(sentence) for sentence in sentences]
    made = token_rows(
        np.array(columns, dtype=np.uint32),
        np.zeros(0, dtype=np.float32) if all(value == 1 for value in values) else np.array(values, dtype=np.float32),
        np.bincount(np.array(rows, dtype=np.int64), minlength=len(flat)),
        np.array(lengths),
    )
    with pytest.MonkeyPatch.context() as patch:  # the rows themselves, duplicates and all
        patch.setattr("rosenblatt.sequence.sequence_perceptron.token_rows", lambda *_: made)
        return SequencePerceptron(**settings).fit(np.zeros((len(flat), 4)), [t for one in tags for t in one], lengths)


def same_weights(model, weights):
    for number, feature in enumerate("abcd"):
        for k, tag in enumerate(TAGS):
            assert model.coef_[k, number] == weights.get((feature, tag), 0.0), (feature, tag)
    for j, before in enumerate(TAGS):
        for k, tag in enumerate(TAGS):
            assert model.transitions_[j, k] == weights.get(("->", before, tag), 0.0), (before, tag)
    for k, tag in enumerate(TAGS):
        assert model.start_[k] == weights.get(("->", None, tag), 0.0)


@pytest.mark.parametrize("keep", ["last", "average"])
@pytest.mark.parametrize(
    "rule", [{}, {"aggressive": True, "C": 0.3}, {"chained": False}], ids=["perceptron", "pa", "no transitions"]
)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_training_is_its_slow_twin_to_the_bit(keep, rule, data):
    values = data.draw(st.sampled_from([None, st.floats(-2, 2, width=32)]))
    sentences, tags = data.draw(corpora(values))
    asked = {"order": "cyclic"} if data.draw(st.booleans()) else {}
    last, averages, updates, radius2 = learn(sentences, tags, TAGS, epochs=2, seed=5, **asked, **rule)
    model = fitted(
        sentences,
        tags,
        keep=keep,
        max_epochs=2,
        random_state=5,
        rule="pa" if rule.get("aggressive") else "perceptron",
        C=rule.get("C", 1.0),
        transitions=rule.get("chained", True),
        **asked,
    )
    assert model.report_.updates == updates
    assert model.report_.radius == np.sqrt(radius2)
    same_weights(model, last if keep == "last" else averages)
