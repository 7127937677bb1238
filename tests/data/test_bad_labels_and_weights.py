"""Labels and weights that nothing can be learned from are refused in one sentence."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from bad_input_cases import X, each_way, every_classifier, every_estimator, refused, three, y

import rosenblatt
from family import target_for
from rosenblatt import (
    PassiveAggressiveRegressor,
    Perceptron,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:y has exactly one 1 in every row"
)

# -- y ---------------------------------------------------------------------------------------------------------------


def with_value(value, at=11, dtype=object):
    labels = y.astype(dtype)
    labels[at] = value
    return labels


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (with_value(np.nan, dtype=float), ["NaN", "row 11"]),
        (with_value(np.inf, dtype=float), ["infinity", "row 11"]),
        (with_value(0.5, dtype=float), ["continuous", "0.5", "row 11"]),
        (with_value(None), ["None", "row 11"]),
        (with_value(np.nan), ["NaN", "row 11"]),
        (with_value(np.datetime64("NaT"), dtype="M8[D]"), ["NaT", "row 11"]),
        (with_value(np.timedelta64("NaT"), dtype="m8[s]"), ["NaT", "row 11"]),
        (with_value(Decimal("NaN"), dtype=object), ["NaN", "row 11"]),
        (with_value(Decimal("sNaN"), dtype=object), ["NaN", "row 11"]),
        (with_value("one"), ["one kind"]),
        (["a", *y[1:].tolist()], ["one kind"]),
        (["a\0" if label else "a" for label in y], ["NUL", r"'a\x00'"]),
        (np.array(["a\0" if label else "a" for label in y], dtype=object), ["NUL", r"'a\x00'"]),
        (y.astype(complex), ["Complex"]),
        (y[:-1], ["30", "29"]),
        (np.column_stack([y, y + 1]), ["indicator"]),
        (np.column_stack([y, y])[:-1], ["30", "29"]),
        (np.zeros((30, 2, 2)), ["dim 3"]),
        (None, ["y", "None"]),
    ],
    ids=[
        *(
            "NaN",
            "infinity",
            "fraction",
            "None",
            "NaN among objects",
            "NaT",
            "NaT of durations",
            "Decimal NaN",
            "signalling NaN",
            "mixed",
            "mixed list",
            "NUL",
            "NUL among objects",
        ),
        *("complex", "length"),
        *("no indicator", "short indicator", "3-D", "none"),
    ],
)
@every_classifier
def test_labels_that_are_none(estimator, bad, words):
    each_way(estimator, lambda m: m.fit(X, bad), lambda m: m.partial_fit(X, bad), *words)


@pytest.mark.parametrize(
    "learn",
    [
        rosenblatt.separability,
        rosenblatt.MaxMargin().fit,
        lambda X, y: rosenblatt.fit(Perceptron(), (X, y), shards=2),
        lambda X, y: Perceptron().partial_fit(X, np.zeros(30), classes=y),
    ],
    ids=["separability", "MaxMargin", "shards", "classes"],
)
def test_names_that_numpy_would_make_one(learn):
    for end in ("\0", "\0\0"):
        names = [f"a{end}" if label else "a" for label in y]
        for bad in (names, np.array(names, dtype=object), [name.encode() for name in names], pl.Series(names)):
            with pytest.raises(ValueError, match="must not end with NUL"):
                learn(X, bad)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (with_value(np.nan, dtype=float), ["row 11"]),
        (with_value(-np.inf, dtype=float), ["row 11"]),
        (with_value(np.datetime64("NaT"), dtype="M8[D]"), ["NaT", "row 11"]),
        (with_value("one"), ["numbers"]),
        (with_value(None), ["row 11"]),
        (y.astype(complex), ["Complex"]),
        (y[:-1], ["30", "29"]),
        (np.column_stack([y, y]), ["1d array"]),
        (None, ["None"]),
    ],
    ids=["NaN", "infinity", "NaT", "word", "None", "complex", "length", "2-D", "none"],
)
def test_numbers_that_are_none(bad, words):
    call = (lambda m: m.fit(X, bad), lambda m: m.partial_fit(X, bad))
    each_way(PassiveAggressiveRegressor, *call, *words)


@every_classifier
def test_one_class(estimator):
    fitted = estimator(max_epochs=2).fit(X, y)
    for model in (estimator(), fitted):
        refused(model, lambda m: m.fit(X, np.full(30, 7)), "2 classes", "7")
        # All rows of the other class are absent.
        refused(model, lambda m: m.fit(X, y, sample_weight=y.astype(float)), "2 classes")


@every_classifier
def test_labels_of_another_kind_later(estimator):
    model = estimator().partial_fit(X, y)
    refused(model, lambda m: m.partial_fit(X, np.where(y, "yes", "no")), "abels", "kind")
    named = estimator().partial_fit(X, np.where(y, "yes", "no"))
    refused(named, lambda m: m.partial_fit(X, y), "abels", "kind")
    refused(named, lambda m: m.partial_fit(X, np.where(y, "yes", "no"), classes=[1, 2]), "abels", "kind")


@every_classifier
def test_labels_where_there_were_classes(estimator):
    indicator = np.eye(3, dtype=int)[three]
    refused(estimator().partial_fit(X, three), lambda m: m.partial_fit(X, indicator), "label")
    refused(estimator().partial_fit(X, y), lambda m: m.partial_fit(X, indicator), "label")
    refused(estimator().partial_fit(X, indicator), lambda m: m.partial_fit(X, three), "label")
    refused(estimator().partial_fit(X, indicator), lambda m: m.partial_fit(X, indicator[:, :2]), "label")


@pytest.mark.parametrize(
    ("classes", "words"), [([0, np.nan], ["classes", "NaN"]), ([0, 0.5], ["classes"]), ([[0, 1], [1, 0]], ["1d"])]
)
@every_classifier
def test_classes_that_are_none(estimator, classes, words):
    for model in (estimator(), estimator(max_epochs=2).fit(X, y)):
        refused(model, lambda m: m.partial_fit(X, y, classes=classes), *words)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint64])
def test_narrow_labels_do_not_overflow(kind):
    low, high = {np.int8: (-100, 100), np.uint8: (3, 250), np.int16: (-2000, 2000), np.uint64: (2**63, 2**63 + 9)}[kind]
    labels = np.where(y, high, low).astype(kind) if kind is not np.uint64 else np.array([low, high], kind)[y]
    model = Perceptron(max_epochs=3, random_state=0).fit(X, labels)
    assert model.classes_.tolist() == [low, high]
    assert model.classes_.dtype == kind
    assert np.array_equal(model.predict(X) == high, Perceptron(max_epochs=3, random_state=0).fit(X, y).predict(X) == 1)


# -- weights ---------------------------------------------------------------------------------------------------------


def weights_with(value, at=17):
    weights = np.ones(30)
    weights[at] = value
    return weights


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (weights_with(-1.0), ["sample_weight", "negative", "row 17", "-1.0"]),
        (weights_with(np.nan), ["sample_weight", "NaN", "row 17"]),
        (weights_with(np.inf), ["sample_weight", "row 17", "inf"]),
        (np.ones(29), ["sample_weight", "(29,)", "(30,)"]),
        (np.ones((30, 1)), ["eights", "(30, 1)"]),
        (np.zeros(30), ["sample_weight", "zero"]),
        (0.0, ["sample_weight", "zero"]),
        (-2.0, ["sample_weight", "negative"]),
        (["heavy"] * 30, ["sample_weight"]),
        ([None] * 30, ["sample_weight"]),
    ],
    ids=["negative", "NaN", "infinite", "length", "2-D", "all 0", "0", "below 0", "words", "None"],
)
@every_estimator
def test_weights_that_are_none(estimator, bad, words):
    labels = target_for(estimator(), y)
    each_way(
        estimator,
        lambda m: m.fit(X, labels, sample_weight=bad),
        lambda m: m.partial_fit(X, labels, sample_weight=bad),
        *words,
    )


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({5: 1.0}, ["class_weight", "5"]),
        ({0: -1.0}, ["class_weight", "0", "-1"]),
        ({1: np.nan}, ["class_weight", "1", "nan"]),
        ({1: np.inf}, ["class_weight", "1", "inf"]),
        ({1: "heavy"}, ["class_weight", "heavy"]),
        ({0: 0.0, 1: 0.0}, ["class_weight", "zero"]),
    ],
    ids=["unknown class", "negative", "NaN", "infinite", "word", "all 0"],
)
@every_classifier
def test_class_weights_that_are_none(estimator, bad, words):
    model = estimator(class_weight=bad)
    refused(model, lambda m: m.fit(X, y), *words)
    refused(model, lambda m: m.partial_fit(X, y), *words)
    fitted = estimator(max_epochs=2).fit(X, y).set_params(class_weight=bad)
    refused(fitted, lambda m: m.partial_fit(X, y), *words)


@every_classifier
def test_classes_of_labels_have_no_weight(estimator):
    refused(estimator(class_weight={0: 2.0}), lambda m: m.fit(X, np.eye(3, dtype=int)[three]), "class_weight")
