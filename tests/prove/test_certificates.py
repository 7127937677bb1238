"""Records of separability: what was made false is refused, what is true survives."""

import dataclasses
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exact
from rosenblatt import CertificateError, separability
from rosenblatt.records import Separability, SeparabilityByClass
from verdicts import APART, QUASI, XOR, checked, refused, rows_and_labels


def test_a_false_witness_is_refused():
    X, y = XOR
    verdict = separability(X, y)
    w = verdict.weights
    refused(verdict, X, y, "rows", weights=(w[0] + Fraction(1, 10**30), w[1] - Fraction(1, 10**30), *w[2:]))
    refused(verdict, X, y, "rows", weights=(Fraction(1, 2), *w[1:]))
    refused(verdict, X, y, "rows", weights=(-w[0], *w[1:]))
    refused(verdict, X, y, "rows", weights=w[1:])
    refused(verdict, X, y, "rows", rows=(0, 1, 2, 2))
    refused(verdict, X, y, "rows", rows=(0, 1, 2, 7))
    refused(verdict, X, y, "rows", rows=(0.5, 1, 2, 3))
    refused(verdict, X, y, "rows", rows=(False, 1, 2, 3))
    refused(verdict, X, y, "rows", rows=None)
    refused(verdict, X, y, "rank", rank=2)
    refused(verdict, X, y, "spanning_rows", spanning_rows=(0, 1, 2), spanning_weights=w[1:])
    refused(verdict, X, y, "coef", coef=np.zeros(2))
    refused(verdict, X, y, "verdict", verdict="sure")
    refused(verdict, X, y, "infinite", infinite={0: 1})
    refused(verdict, X, y, "aliased", aliased=(0,))
    refused(verdict, X, y, "aliased", aliased=("no",))
    refused(verdict, X, y, "classes", positive=5)
    refused(verdict, X, y, "shape", shape=(5, 2))
    more, labels = [*X, [5, 5]], [*y, 1]
    swapped = separability(more, labels)
    refused(swapped, more, labels, "rows", rows=(0, 1, 2, 4))


def test_a_witness_of_too_many_rows_is_refused():
    X, y = [[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1]
    refused(separability(X, y), X, y, "rows", rows=(0, 1, 2, 3), weights=(Fraction(1, 4),) * 4)


def test_a_false_rank_is_found_where_rows_do_not_span():
    X, y = [[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1]
    half = (Fraction(1, 2),) * 2
    refused(separability(X, y), X, y, "spanning_rows", spanning_rows=(0, 1), spanning_weights=half)


def test_a_false_plane_is_refused():
    X, y = APART
    verdict = separability(X, y)
    assert verdict.verdict == "complete"
    up = math.nextafter(verdict.margin, math.inf)
    refused(verdict, X, y, "margin", margin=up)
    refused(verdict, X, y, "margin", margin=math.nextafter(verdict.margin, 0))
    refused(verdict, X, y, "coef", coef=-verdict.coef)
    refused(verdict, X, y, "coef", coef=None)
    refused(verdict, X, y, "coef", coef=np.array([np.nan, 1.0]))
    refused(verdict, X, y, "plane", plane=(Fraction(1), Fraction(1), Fraction(1)))
    refused(verdict, X, y, "direction", direction=None)
    refused(verdict, X, y, "direction", direction=verdict.direction[:-1])
    refused(verdict, X, y, "direction", direction=tuple(-value for value in verdict.direction))
    refused(verdict, X, y, "direction", direction=(Fraction(0),) * 3)
    refused(verdict, X, y, "rows", rows=(0,))
    assert separability(X, y).coef @ [3.0, 3.0] + verdict.intercept > 0
    moved = [[10.0, 10.0], *X[1:]]
    with pytest.raises(CertificateError) as caught:
        verdict.verify(moved, y)
    assert (caught.value.claim, caught.value.row) == ("coef", 0)
    through = separability([[1.0], [2.0]], [1, 1], fit_intercept=False)
    refused(through, [[1.0], [2.0]], [1, 1], "intercept", intercept=1.0)


def test_a_false_direction_is_refused():
    X, y = QUASI
    verdict = separability(X, y)
    assert verdict.infinite == {0: 1, "intercept": -1}
    refused(verdict, X, y, "direction", direction=(Fraction(-1), Fraction(1)))
    refused(verdict, X, y, "infinite", infinite={0: -1, "intercept": -1})
    refused(verdict, X, y, "verdict", verdict="quasi")


def test_a_coefficient_that_is_falsely_finite_is_refused():
    X = np.array([[0.0, 0], [0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]])
    y = [0, 1, 1, 1, 0, 0]
    verdict = checked(X, y)
    assert verdict.infinite == {0: 1, 1: 1}
    one = {"direction": (Fraction(1), Fraction(0), Fraction(0)), "infinite": {0: 1}}
    refused(verdict, X, y, "infinite", **one)
    refused(verdict, X, y, "spanning_rows", spanning_rows=None)
    refused(verdict, X, y, "spanning_rows", spanning_rows=(2, 4))
    refused(verdict, X, y, "spanning_rows", infinite=None)
    dataclasses.replace(verdict, infinite=None, spanning_rows=None, spanning_weights=None).verify(X, y)
    apart = checked(X[2:], y[2:])
    assert set(apart.infinite) == {0, 1, "intercept"}
    refused(apart, X[2:], y[2:], "infinite", direction=(Fraction(1), Fraction(1), Fraction(0)), infinite={0: 1, 1: 1})


@settings(max_examples=80, deadline=None)
@given(rows_and_labels(), st.booleans())
def test_what_can_be_infinite_is(data, fit_intercept):
    X, y = data
    verdict = separability(X, y, fit_intercept=fit_intercept)
    z = exact.signed_rows(X, y, fit_intercept)
    covered = sorted({i for circuit in exact.circuits(z) for i in circuit})
    names = [*range(len(X[0])), "intercept"]
    kept = [j for j in range(len(z[0])) if names[j] not in verdict.aliased]
    columns = [[z[i][j] for i in covered] or [Fraction(0)] for j in kept]
    moved = (
        {names[j] for v in exact.null_space(columns) for j, value in zip(kept, v, strict=True) if value}
        if kept
        else set()
    )
    assert set(verdict.infinite) == moved


def test_an_edited_text_is_refused():
    verdict = separability(*QUASI)
    text = verdict.to_json()
    for old, new in (("quasi-complete", "overlap"), ('"0x1"', '"0x2"'), ("sha256", "sha257")):
        assert old in text
        with pytest.raises(CertificateError):
            Separability.from_json(text.replace(old, new, 1))
    doubled = text.replace('"verdict": "quasi', '"verdict": "overlap",\n "verdict": "quasi', 1)
    assert doubled != text
    with pytest.raises(CertificateError, match="twice"):
        Separability.from_json(doubled)
    document = json.loads(text)
    document["shape"] = {"list": [4, 2]}
    with pytest.raises(CertificateError, match="edited"):
        Separability.from_json(json.dumps(document))
    with pytest.raises(CertificateError, match="not a"):
        SeparabilityByClass.from_json(text)
    with pytest.raises(TypeError, match="labels must be numbers or text"):
        dataclasses.replace(verdict, positive=object()).to_json()
    with pytest.raises(CertificateError, match="not a certificate"):
        Separability.from_json("[")


def test_by_class():
    X, y = [[0.0], [1.0], [2.0]], ["a", "b", "c"]
    verdicts = checked(X, y)
    assert isinstance(verdicts, SeparabilityByClass)
    assert (len(verdicts), list(verdicts), verdicts.separable) == (3, ["a", "b", "c"], False)
    assert "overlap" in str(verdicts)
    with pytest.raises(KeyError):
        verdicts["d"]
    with pytest.raises(CertificateError, match="classes"):
        verdicts.verify(X, ["a", "b", "b"])
    assert pickle.loads(pickle.dumps(verdicts)) == verdicts
    assert separability([[0.0], [1.0], [2.0]], [0, 1, 1]).separable is True
    assert hash(verdicts) == hash(SeparabilityByClass.from_json(verdicts.to_json()))


def test_what_is_found_later_survives():
    verdict = separability(*APART)
    assert "infinite" not in verdict.__dict__
    again = pickle.loads(pickle.dumps(verdict))
    assert again == verdict
    assert again.infinite == verdict.infinite != {}
    with pytest.raises(AttributeError):
        verdict.nothing  # noqa: B018
