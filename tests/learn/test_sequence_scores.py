"""Chunks as conlleval counts them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import sequence_scores

TAGS = ["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in ("NP", "VP"))]


def chunks_of(tags):
    """The chunks of a sentence, token by token, as the rules of conlleval have it."""
    found, open_at = [], None
    before, kind_before = "O", ""
    for place, tag in enumerate([*tags, "O"]):
        letter, _, kind = tag.partition("-")
        ends = (
            before in ("E", "S")
            or (before in ("B", "I") and letter in ("B", "S", "O"))
            or (before != "O" and kind_before != kind)
        )
        starts = (
            letter in ("B", "S")
            or (letter in ("I", "E") and before in ("E", "S", "O"))
            or (letter != "O" and kind_before != kind)
        )
        if ends and open_at is not None:
            found.append((open_at, place - 1, kind_before))
            open_at = None
        if starts:
            open_at = place
        before, kind_before = letter, kind
    return found


@st.composite
def tagged(draw):
    gold = draw(st.lists(st.lists(st.sampled_from(TAGS), max_size=6), min_size=1, max_size=4))
    said = [draw(st.lists(st.sampled_from(TAGS), min_size=len(one), max_size=len(one))) for one in gold]
    return gold, said


@settings(max_examples=200, deadline=None)
@given(tagged())
def test_chunks_are_counted_as_conlleval_counts_them(pair):
    gold, said = pair
    scores = sequence_scores(gold, said)
    there, found = ([{*chunks_of(tags)} for tags in side] for side in (gold, said))
    if scores.chunks is None:
        assert not any(map(len, [*there, *found]))
        return
    assert scores.chunks.gold == sum(map(len, there))
    assert scores.chunks.found == sum(map(len, found))
    assert scores.chunks.right == sum(len(a & b) for a, b in zip(there, found, strict=True))
    for kind, counts in scores.kinds.items():
        of = [[{one for one in sentence if one[2] == kind} for sentence in side] for side in (there, found)]
        assert counts.gold == sum(map(len, of[0]))
        assert counts.found == sum(map(len, of[1]))
        assert counts.right == sum(len(a & b) for a, b in zip(*of, strict=True))
    right = sum(a == b for one in zip(gold, said, strict=True) for a, b in zip(*one, strict=True))
    assert scores.right_tokens == right
    assert scores.right_sentences == sum(a == b for a, b in zip(gold, said, strict=True))


@pytest.mark.parametrize(
    ("tags", "chunks"),
    [
        (["I-NP", "I-NP", "B-NP", "O", "I-VP"], 3),  # IOB1
        (["B-NP", "I-NP", "B-NP", "O", "B-VP"], 3),  # IOB2
        (["B-NP", "E-NP", "S-NP", "O", "S-VP"], 3),  # IOBES
        (["I-NP", "I-VP"], 2),
        (["E-NP", "E-NP"], 2),
    ],
)
def test_one_count_for_every_scheme(tags, chunks):
    counts = sequence_scores([tags], [tags]).chunks
    assert (counts.gold, counts.found, counts.right) == (chunks, chunks, chunks)
    assert (counts.precision, counts.recall, counts.f1) == (1.0, 1.0, 1.0)


def test_nothing_found_is_zero_not_an_error():
    counts = sequence_scores([["B-NP"]], [["O"]]).chunks
    assert (counts.precision, counts.recall, counts.f1) == (0.0, 0.0, 0.0)
    assert sequence_scores([["O"]], [["B-NP"]]).chunks.recall == 0.0


def test_tags_that_are_no_chunks_have_accuracies_only():
    scores = sequence_scores([["NN", "VB"], [1]], [["NN", "NN"], [1]])
    assert (scores.chunks, scores.kinds) == (None, {})
    assert (scores.accuracy, scores.sentence_accuracy) == (2 / 3, 0.5)
    assert "chunks" not in str(scores)
    empty = sequence_scores([], [])
    assert (empty.accuracy, empty.sentence_accuracy) == (0.0, 0.0)


def test_other_sentences_are_refused():
    with pytest.raises(ValueError, match=r"same sentences.*Sentence 0 has 2 tokens and 1 tags"):
        sequence_scores([["A", "B"]], [["A"]])
