"""What is said of rows that no plane through the origin separates."""

import json
from dataclasses import replace

import pytest

import rosenblatt
from rosenblatt import CertificateError, InseparableError, max_margin, separability
from rosenblatt.plot.verdict import separability_verdict
from rosenblatt.prove.exact.records import document_digest
from rosenblatt.records import Separability

CASE_8 = [[-2, 3], [-1, -1], [2, -3]], [1, -1, 1]


def test_two_rows_of_a_class_in_opposite_directions():
    """Shanahan, 0/1 loss: rows 1 and 3 of the slide are each other's negatives."""
    X, y = CASE_8
    verdict = separability(X, y, fit_intercept=False)
    assert (verdict.rows, [str(one) for one in verdict.weights], verdict.sides) == ((0, 2), ["1/2", "1/2"], (1, 1))
    first, second, *_ = str(verdict).splitlines()
    assert first == "quasi-complete: a plane through the origin separates 1 from the rest only weakly, with rows on it"
    assert second == "  rows 0 and 2, both positive, point in opposite directions"
    verdict.verify(X, y)
    assert "rows 0 and 2, both positive" in str(separability_verdict(X, y, fit_intercept=False))
    with pytest.raises(InseparableError, match="both positive, point in opposite directions"):
        max_margin(X, y, fit_intercept=False)
    with pytest.warns(match="No plane separates"):
        model = rosenblatt.MaxMargin(fit_intercept=False).fit(X, y)
    assert "both positive" in str(model.report_.witness)
    assert separability(X, y).verdict == "complete"


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        ([[1, 2], [3, 1], [-2, -4]], [1, 1, 1], "rows 0 and 2, both positive, point in opposite directions"),
        ([[1, 2], [3, 1], [-2, -4]], [0, 1, 0], "rows 0 and 2, both negative, point in opposite directions"),
        ([[1, 2], [2, 4]], [0, 1], "rows 0 and 1, one positive and one negative, point in the same direction"),
        ([[1, 2], [0, 0]], [0, 1], "row 1 proves it: it is zero"),
        ([[1, 0], [0, 1], [-1, -1], [5, 5]], [1, 1, 1, 0], "a sum of y·x over them, with positive weights, is 0"),
    ],
)
def test_other_witnesses_through_the_origin(X, y, says):
    verdict = separability(X, y, fit_intercept=False)
    assert says in verdict.why()
    assert says in str(verdict)
    assert "mean" not in str(verdict)
    verdict.verify(X, y)
    assert Separability.from_json(verdict.to_json()) == verdict


def test_with_a_bias_the_hulls_meet():
    xor = [[0, 0], [1, 1], [0, 1], [1, 0]], [-1, -1, 1, 1]
    verdict = separability(*xor)
    assert verdict.why() == (
        "rows 0, 1, 2, 3 prove it: a weighted mean of one class equals a weighted mean of the other"
    )
    assert str(separability(*CASE_8, fit_intercept=True)).startswith("complete: a plane separates 1")
    assert separability(*CASE_8).why() == ""


def test_sides_are_checked_and_may_be_missing():
    X, y = CASE_8
    verdict = separability(X, y, fit_intercept=False)
    with pytest.raises(CertificateError, match="sides"):
        replace(verdict, sides=(1, -1)).verify(X, y)
    old = json.loads(verdict.to_json())
    del old["sides"]  # as version 0.1 wrote it
    old["sha256"] = document_digest(old)
    read = Separability.from_json(json.dumps(old))
    read.verify(X, y)
    assert read.sides is None
    assert "rows 0, 2 prove it: a sum of y·x over them" in str(read)
