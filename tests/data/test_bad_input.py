"""What cannot be learned from is refused, by name of row, column or parameter, and the model stays what it was."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import rosenblatt
from family import CLASSIFIERS, ESTIMATORS, contents, same_model, target_for
from rosenblatt import (
    AROW,
    PAUM,
    AveragedPerceptron,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X = np.random.default_rng(0).normal(size=(30, 4))
y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
three = np.arange(30) % 3


def refused(model, call, *words):
    """The call raises a ValueError that has these words, and changes nothing."""
    before = contents(model)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are looked for below
        call(model)
    message = str(caught.value)
    for word in words:
        assert str(word) in message, f"{word!r} is not in {message!r}"
    assert contents(model) == before, "the call changed the model"


def each_way(estimator, call_fit, call_partial, *words):
    """The call is refused by a new model and by a fitted one, by `fit` and by `partial_fit`."""
    fitted = estimator(max_epochs=2)
    fitted.fit(X, target_for(fitted, y))
    for model in (estimator(max_epochs=2), fitted):
        refused(model, call_fit, *words)
        refused(model, call_partial, *words)


def spoilt(estimator, bad, *words):
    """These rows are refused by `fit`, by `partial_fit` and by `predict`."""
    labels = target_for(estimator(), y)
    each_way(estimator, lambda m: m.fit(bad, labels), lambda m: m.partial_fit(bad, labels), *words)
    refused(estimator(max_epochs=2).fit(X, labels), lambda m: m.predict(bad), *words)


every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)
every_classifier = pytest.mark.parametrize("estimator", CLASSIFIERS)


# -- X ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array])
@every_estimator
def test_value_that_is_not_finite(estimator, form, dtype, value, name):
    for row, column in ((0, 0), (13, 2), (29, 3)):
        bad = X.astype(dtype)
        bad[row, column] = value
        spoilt(estimator, form(bad), name, f"row {row}", f"column {column}")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_first_of_many_is_named_wherever_it_stands(form, value):
    # Rows are read in pieces: the number of a row counts from the beginning of X, not of the piece.
    tall = np.ones((70_000, 2))
    tall[66_001, 1] = value
    tall[69_000, 0] = value
    refused(Perceptron(), lambda m: m.fit(form(tall), np.arange(70_000) % 2), "row 66001", "column 1")


@pytest.mark.filterwarnings("ignore:overflow")  # where compilation is off, numpy tells
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_large_values_are_no_infinity(form):
    large = X.copy()
    large[3] = [1e200 * (2 * y[3] - 1), 0, 0, 0]  # its square overflows, it does not, nor does its score
    Perceptron(max_epochs=1).fit(form(large), y, coef_init=[[2.0, 1.0, 0.0, 0.0]])
    large[20, 1] = np.nan
    refused(Perceptron(), lambda m: m.fit(form(large), y), "NaN", "row 20", "column 1")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (X[:0], ["0 sample"]),
        (X[:, :0], ["0 feature"]),
        (sp.csr_array((0, 4)), ["0 sample"]),
        (X[:, 0], ["1D array"]),
        (X[None], ["dim 3"]),
        (X.astype(complex), ["Complex"]),
        ([["a", "b"]] * 30, ["string"]),
        ([[1.0, 2.0]] * 29 + [[1.0]], []),
    ],
    ids=["no rows", "no columns", "no sparse rows", "1-D", "3-D", "complex", "words", "ragged"],
)
@every_estimator
def test_table_that_is_none(estimator, bad, words):
    labels = target_for(estimator(), y)[: 0 if words == ["0 sample"] else 30]
    each_way(estimator, lambda m: m.fit(bad, labels), lambda m: m.partial_fit(bad, labels), *words)


@pytest.mark.parametrize("bad", [X[:, :3], np.hstack([X, X]), sp.csr_array(X[:, :3])], ids=["less", "more", "sparse"])
@every_estimator
def test_other_number_of_features_later(estimator, bad):
    model = estimator(max_epochs=2)
    labels = target_for(model, y)
    model.fit(X, labels)
    words = (f"{bad.shape[1]} features", "4 features")
    refused(model, lambda m: m.partial_fit(bad, labels), *words)
    refused(model, lambda m: m.predict(bad), *words)


@every_estimator
def test_model_that_has_learned_nothing(estimator):
    with pytest.raises(NotFittedError):
        estimator().predict(X)


# -- CSR -------------------------------------------------------------------------------------------------------------


def broken(change, kind):
    """A CSR matrix whose arrays were changed behind its back."""
    matrix = sp.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(kind), matrix.indptr.astype(kind)
    change(matrix)
    return matrix


def swap_in(name, place, value):
    def change(matrix):
        getattr(matrix, name)[place] = value

    return change


def unsort_and_spoil(matrix):
    matrix.indices[40:44] = [3, 1, 9, 0]


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (swap_in("indices", 43, 4), ["index 4", "row 10", "4 columns"]),
        (swap_in("indices", 41, -1), ["index -1", "row 10"]),
        (swap_in("indices", 119, 2**31 - 1), ["index 2147483647", "row 29"]),
        (unsort_and_spoil, ["index 9", "row 10"]),
        (swap_in("indptr", 5, 30), ["indptr", "row 5", "30"]),
        (swap_in("indptr", 5, -4), ["indptr", "row 4"]),
        (swap_in("indptr", 30, 121), ["indptr", "row 29", "121"]),
        (swap_in("indptr", 0, 1), ["indptr"]),
    ],
    ids=["beyond", "negative", "far", "unsorted", "falls", "below 0", "past the end", "start"],
)
@every_estimator
def test_broken_csr(estimator, change, words, kind):
    spoilt(estimator, broken(change, kind), *words)


@pytest.mark.filterwarnings("ignore:overflow")
def test_broken_csr_behind_a_row_whose_square_overflows():
    bad = sp.csr_array(X)
    bad.data[0] = 1e200
    bad.indices[-1] = 77
    refused(Perceptron(), lambda m: m.fit(bad, y), "index 77", "row 29")


def test_indptr_of_the_wrong_length():
    bad = sp.csr_array(X)
    bad.indptr = bad.indptr[:-1]
    refused(Perceptron(), lambda m: m.fit(bad, y), "indptr")


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@every_estimator
def test_duplicates_are_summed_and_order_does_not_matter(estimator, kind):
    whole = np.random.default_rng(1).integers(-3, 4, size=(30, 4)).astype(float)
    labels = target_for(estimator(), y)
    # Each value as two stored ones, columns falling, and a stored zero.
    indices = np.tile(np.array([3, 3, 2, 2, 1, 1, 0, 0, 0], dtype=kind), 30)
    parts = np.stack([whole[:, ::-1] - 1, np.ones((30, 4))], axis=2).reshape(30, 8)
    data = np.hstack([parts, np.zeros((30, 1))]).ravel()
    matrix = sp.csr_array((data, indices, np.arange(0, 271, 9, dtype=kind)), shape=(30, 4))
    kept = matrix.data.copy()
    model = estimator(max_epochs=3, random_state=0).fit(matrix, labels)
    plain = estimator(max_epochs=3, random_state=0).fit(sp.csr_array(whole), labels)
    # A stored zero adds nothing, but may shift what is summed with what.
    assert same_model(model, plain, exact=estimator in (Perceptron, AveragedPerceptron, VotedPerceptron, PAUM))
    assert np.allclose(model.predict(matrix), plain.predict(whole))
    assert model.report_.radius == plain.report_.radius
    assert np.array_equal(matrix.data, kept)  # the caller's matrix is not sorted in place
    assert matrix.indices[0] == 3


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
        for bad in (names, np.array(names, dtype=object), [name.encode() for name in names]):
            with pytest.raises(ValueError, match="must not end with NUL"):
                learn(X, bad)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (with_value(np.nan, dtype=float), ["row 11"]),
        (with_value(-np.inf, dtype=float), ["row 11"]),
        (with_value("one"), ["numbers"]),
        (with_value(None), ["row 11"]),
        (y.astype(complex), ["Complex"]),
        (y[:-1], ["30", "29"]),
        (np.column_stack([y, y]), ["1d array"]),
        (None, ["None"]),
    ],
    ids=["NaN", "infinity", "word", "None", "complex", "length", "2-D", "none"],
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


# -- parameters ------------------------------------------------------------------------------------------------------

WRONG = {
    "learning_rate": [0, -1.0, np.nan, np.inf, "fast", None, [1.0]],
    "fit_intercept": ["yes", None, 2],
    "bias_step": ["huge", 1, None],
    "margin": [-1, np.nan, np.inf, "wide", None, (1.0,), (1, 2, 3), (-1, 1), (1, np.nan), [[1, 2]], ("a", "b")],
    "update": ["now and then", None],
    "order": ["sideways", 3, None, [], [0.5, 1], [[0, 1]], [-1, 0], ["a"], [True, False]],
    "keep": ["first", None, 1],
    "multiclass": ["all", None],
    "max_epochs": [0, -3, 1.5, "many"],
    "early_stopping": ["yes", None],
    "validation_fraction": [0.0, 1.0, -0.1, 2, np.nan, "some"],
    "n_iter_no_change": [0, -1, 2.5, None],
    "record_errors": ["yes", None],
    "class_weight": ["heavy", 3, [1, 2]],
    "warm_start": ["yes", None],
    "random_state": ["seed", -1, 1.5],
    "C": [0, -1, np.nan, np.inf, "x", None],
    "variant": ["PA-III", None],
    "epsilon": [-0.1, np.nan, np.inf, "x", None],
    "r": [0, -1, np.nan, np.inf, "x", None],
    "a": [0, -1, np.nan, np.inf, "x", None],
    "covariance": ["round", None],
}


@pytest.mark.parametrize(
    ("estimator", "name"),
    [(e, name) for e in ESTIMATORS for name in e().get_params()],
    ids=lambda v: getattr(v, "__name__", v),
)
def test_option_that_is_none(estimator, name):
    labels = target_for(estimator(), y)
    fitted = estimator(max_epochs=2).fit(X, labels)
    good = fitted.get_params()[name]
    for value in WRONG[name]:
        for model in (estimator(), fitted):
            model.set_params(**{name: value})
            refused(model, lambda m: m.fit(X, labels), name)
            if name not in ("max_epochs", "validation_fraction"):
                refused(model, lambda m: m.partial_fit(X, labels), name)
        fitted.set_params(**{name: good})


@every_estimator
def test_parameter_that_is_none(estimator):
    with pytest.raises(ValueError, match="shape_of_things"):
        estimator().set_params(shape_of_things="new")


@every_estimator
def test_order_that_names_rows_that_are_not_there(estimator):
    labels = target_for(estimator(), y)
    for order in ([0, 30], [2**40], np.array([31], dtype=np.uint8)):
        model = estimator(order=order)
        refused(model, lambda m: m.fit(X, labels), "order", f"row {max(order)}", "30 rows")
        refused(model, lambda m: m.partial_fit(X, labels), "order", f"row {max(order)}")
    # Rows that were there in the first call and are not in the next.
    model = estimator(order=[29, 0], max_epochs=2).fit(X, labels)
    refused(model, lambda m: m.partial_fit(X[:10], labels[:10]), "order", "row 29", "10 rows")


def test_pair_of_margins_is_for_two_classes():
    refused(Perceptron(margin=(1.0, 2.0)), lambda m: m.fit(X, three), "margin", "multinomial")
    refused(PAUM(margin=(1.0, 2.0), multiclass="multinomial"), lambda m: m.fit(X, three), "margin")
    for multiclass in ("ovr", "ovo"):
        Perceptron(margin=(1.0, 2.0), multiclass=multiclass, max_epochs=2).fit(X, three)
    model = Perceptron(margin=(1.0, 2.0)).partial_fit(X, y)
    refused(model, lambda m: m.partial_fit(X, three), "margin")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"learning_rate": "line-search"}, ["learning_rate", "line-search", "batch"]),
        ({"update": "batch", "keep": "vote"}, ["keep", "vote", "batch"]),
        *(({"update": "batch", "order": order}, ["order", "batch"]) for order in ("random", "first", "worst", [0, 1])),
    ],
)
def test_options_that_exclude_each_other(parameters, words):
    model = Perceptron(**parameters)
    refused(model, lambda m: m.fit(X, y), *words)
    refused(model, lambda m: m.partial_fit(X, y), *words)


class Rate:
    """A learning rate that can be pickled: good for some epochs, then not."""

    def __init__(self, value, good=0):
        self.value, self.good = value, good

    def __call__(self, epoch):
        return 1.0 if epoch <= self.good else self.value


@pytest.mark.parametrize("nonsense", [0.0, -1.0, np.nan, np.inf, None, "fast", [1.0, 2.0], 1j])
@pytest.mark.parametrize("estimator", [Perceptron, AveragedPerceptron, VotedPerceptron, PAUM])
def test_rate_that_is_none(estimator, nonsense):
    model = estimator(learning_rate=Rate(nonsense))
    refused(model, lambda m: m.fit(X, y), "learning_rate(1)")
    refused(model, lambda m: m.partial_fit(X, y), "learning_rate(1)")
    later = estimator(learning_rate=Rate(nonsense, good=1), max_epochs=3)
    refused(later, lambda m: m.fit(X, y), "learning_rate(2)")
    refused(later.partial_fit(X, y), lambda m: m.partial_fit(10 * X, y), "learning_rate(2)")


@every_classifier
def test_whole_data_options_are_not_for_pieces(estimator):
    refused(estimator(class_weight="balanced"), lambda m: m.partial_fit(X, y), "class_weight", "partial_fit")
    refused(estimator(early_stopping=True), lambda m: m.partial_fit(X, y), "early_stopping", "partial_fit")


def test_early_stopping_is_not_for_pieces_of_numbers_either():
    refused(PassiveAggressiveRegressor(early_stopping=True), lambda m: m.partial_fit(X, y), "early_stopping")


@every_estimator
def test_held_out_rows_leave_some_to_learn(estimator):
    model = estimator(early_stopping=True, validation_fraction=0.9)
    labels = target_for(model, y)
    chosen = [np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]
    refused(model, lambda m: m.fit(X[chosen], labels[chosen]), "validation_fraction")


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (Perceptron(), {"keep": "average"}),
        (Perceptron(keep="average"), {"keep": "last"}),
        (Perceptron(), {"keep": "vote"}),
        (PassiveAggressiveRegressor(), {"keep": "average"}),
        (PassiveAggressive(keep="average"), {"keep": "last"}),
        (Perceptron(), {"multiclass": "ovr"}),
        (Perceptron(), {"multiclass": "ovo"}),
        (Perceptron(multiclass="ovo"), {"multiclass": "multinomial"}),
        (Perceptron(multiclass="ovr"), {"multiclass": "ovo"}),
        (AROW(), {"covariance": "full"}),
        (AROW(covariance="full"), {"covariance": "diagonal"}),
        (SecondOrderPerceptron(), {"covariance": "full"}),
        (SecondOrderPerceptron(covariance="full"), {"covariance": "diagonal"}),
    ],
    ids=str,
)
def test_options_that_cannot_change_between_pieces(model, change):
    labels = target_for(model, three)
    model.partial_fit(X, labels).set_params(**change)
    refused(model, lambda m: m.partial_fit(X, labels), *change)


@pytest.mark.parametrize("name", ["coef_init", "intercept_init"])
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if e not in (AROW, SecondOrderPerceptron)])
def test_start_that_is_none(estimator, name):
    labels = target_for(estimator(), y)
    shape = (1, 4) if name == "coef_init" else (1,)
    for value in (np.full(shape, np.nan), np.full(shape, np.inf), np.ones((3, 3)), "zero"):
        refused(estimator(), partial(estimator.fit, X=X, y=labels, **{name: value}), name)


@pytest.mark.parametrize("name", ["Perceptron", "KernelPerceptron", "MaxMargin", "MarkI", "RandomWiring"])
def test_complex_numbers_are_refused_in_one_sentence(name):
    for X in (np.eye(4) * 1j, sp.csr_matrix(np.eye(4) * 1j), [[1j], [2.0], [3.0], [4.0]]):
        with pytest.raises(ValueError, match=r"^Complex data not supported: X must hold real numbers\.$"):
            getattr(rosenblatt, name)().fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rosenblatt.Layer(3, "relu", "no"), "bias of a layer is True or False"),
        (lambda: rosenblatt.Layer(3, nonnegative="yes"), "nonnegative of a layer is True or False"),
        (lambda: rosenblatt.Layer(3, ["relu"]), "activation must be one of"),
        (lambda: rosenblatt.MultilayerPerceptron((True,)).fit(X, y), "hidden_layer_sizes holds numbers of units"),
        (lambda: rosenblatt.KernelPerceptron(lambda A, B: "near").fit(X, y), "kernel must return a matrix of numbers"),
        (lambda: rosenblatt.paum_bounds(1.0, 0.5, 1.0), "tau must be two numbers"),
        (lambda: rosenblatt.paum_bounds(1.0, 0.5, ("a", "b")), "tau must be two numbers"),
        (lambda: rosenblatt.max_margin(X, y, tol="a"), "tol must be between 0 and 1"),
        (lambda: rosenblatt.max_margin(X, y, fit_intercept="no"), "fit_intercept must be True or False"),
        (lambda: rosenblatt.separability(X, y, fit_intercept="no"), "fit_intercept must be True or False"),
        (lambda: rosenblatt.HierarchicalPerceptron({0: [1], 1: None}).fit(X, y), "the name of its parent; 0 is mapped"),
    ],
)
def test_options_of_the_wrong_type(call, words):
    with pytest.raises(ValueError, match=words):
        call()
