"""The compiled loops against their slow twin in `reference`: to the bit where the numbers are exact, else to rounding.

Small whole numbers make ties, zero rows and duplicates (with either label) common, and keep every sum of an additive
rule exact in float32 too, so that the two must agree to the last bit whatever the order of additions.
"""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import reference as twin
import rosenblatt.data.examples
import rosenblatt.learn.online.solver
from rosenblatt import (
    AROW,
    PAUM,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
)
from rosenblatt.learn.orders import Random, Shuffled

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Kinds of rows, each a compilation of its own: never drawn by hypothesis, always a parameter.
KINDS = {
    "dense32": ("dense", np.float32, None),
    "dense64": ("dense", np.float64, None),
    "csr32-int32": ("csr", np.float32, np.int32),
    "csr32-int64": ("csr", np.float32, np.int64),
    "csr64-int32": ("csr", np.float64, np.int32),
    "csr64-int64": ("csr", np.float64, np.int64),
}
FEW_KINDS = ["dense64", "csr32-int64"]
every_kind = pytest.mark.parametrize("kind", KINDS)
few_kinds = pytest.mark.parametrize("kind", FEW_KINDS)


def modest(examples: int) -> Any:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


def as_kind(X: Any, kind: str) -> Any:
    form, dtype, index = KINDS[kind]
    X = np.asarray(X, dtype=dtype)
    if form == "dense":
        return X
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)  # the constructor would narrow them
    return X


def dtype_of(kind: str) -> Any:
    return KINDS[kind][1]


# -- data ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    X: list[list[float]]
    y: list[Any]
    weights: list[float] | None
    classes: int

    @property
    def sides(self) -> list[int]:
        return [1 if code == 1 else -1 for code in self.y]

    @property
    def names(self) -> Any:
        return np.array(["ant", "bee", "cat", "dog", "elk"])[self.y]


WHOLE = st.sampled_from([0, 1, 1, 1, 2, 3])
DYADIC = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5, 2.75])


@st.composite
def whole_numbers(draw: Any, classes: int = 2, labels: bool = False, weighted: bool = True) -> Data:
    """A few distinct rows, some of them zero, drawn again and again: duplicates and contradictions are common."""
    d = draw(st.integers(1, 4))
    distinct = draw(st.lists(st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=1, max_size=6))
    n = draw(st.integers(classes, 10))
    X = [distinct[k] for k in draw(st.lists(st.integers(0, len(distinct) - 1), min_size=n, max_size=n))]
    y: list[Any]
    if labels:
        y = [draw(st.lists(st.integers(0, 1), min_size=classes, max_size=classes)) for _ in range(n)]
    else:
        more = draw(st.lists(st.integers(0, classes - 1), min_size=n - classes, max_size=n - classes))
        y = draw(st.permutations([*range(classes), *more]))
    weights = None
    if weighted and draw(st.booleans()):
        weights = draw(st.lists(draw(st.sampled_from([WHOLE, DYADIC])), min_size=n, max_size=n))
        left = {tuple(np.atleast_1d(label)) for label, weight in zip(y, weights, strict=True) if weight > 0}
        if len(left) < (1 if labels else classes):  # every class must stay, or there is less to learn
            weights = [max(weight, 0.5) for weight in weights]
    return Data(X, list(y), weights, classes)


@st.composite
def real_numbers(
    draw: Any, classes: int = 2, regression: bool = False, labels: bool = False, zeros: bool = False
) -> Data:
    """Rows where rounding has no branch to decide: the duplicate has the label of its twin, and a row of zeros, where
    biases may cancel, comes only when asked for.
    """
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, d = draw(st.integers(classes + 1, 14)), draw(st.integers(1, 5))
    X = rng.normal(size=(n, d))
    X[:, 1:] *= rng.random((n, d - 1)) < 0.7
    if zeros and draw(st.booleans()):
        X[rng.integers(n)] = 0.0
    if regression:
        y = rng.normal(size=n).tolist()
    elif labels:
        y = rng.integers(0, 2, (n, classes)).tolist()
    else:
        y = rng.permutation(np.arange(n) % classes).tolist()
    X, again = X.tolist(), int(rng.integers(n))
    X, y = [*X, X[again]], [*y, y[again]]
    weights = rng.choice([0.3, 1.0, 1.0, 2.0, 2.6], size=n + 1).tolist() if draw(st.booleans()) else None
    return Data(X, y, weights, classes)


def seen(X: Any) -> list[list[float]]:
    """The numbers that the model sees: float32 has fewer."""
    return (X.toarray() if sp.issparse(X) else X).astype(np.float64).tolist()


# -- comparison ------------------------------------------------------------------------------------------------------


def shuffled(seed: int) -> twin.Order:
    """The twin visits rows in the order that the model is known to have: the order itself is tested elsewhere."""
    return lambda epoch, rows: [rows[int(t)] for t in Shuffled(len(rows), seed).piece(epoch, 0, len(rows))]


def drawn(seed: int) -> twin.Order:
    return lambda epoch, rows: [rows[int(t)] for t in Random(len(rows), seed).piece(epoch, 0, len(rows))]


ORDERS: dict[str, tuple[dict[str, Any], Any]] = {
    "shuffle": ({"order": "shuffle", "random_state": 7}, shuffled(7)),
    "cyclic": ({"order": "cyclic"}, twin.cyclic),
    "random": ({"order": "random", "random_state": 3}, drawn(3)),
    "explicit": ({"order": [1, 0, 1, 1, 0]}, twin.explicit([1, 0, 1, 1, 0])),
    "first": ({"order": "first"}, "first"),
    "worst": ({"order": "worst"}, "worst"),
}
BATCH: tuple[dict[str, Any], Any] = ({"update": "batch"}, "batch")


def same(model: Any, slow: twin.Outcome, exact: bool = True, counted: bool = True) -> None:
    """The model is the twin: weights, and epochs with their updates and losses."""
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    dtype = coef.dtype
    assert intercept.dtype == dtype
    expected = np.array(slow.coef, dtype=np.float64), np.array(slow.intercept, dtype=np.float64)
    if exact:
        assert np.array_equal(coef, expected[0].astype(dtype)), (coef, slow.coef)
        assert np.array_equal(intercept, expected[1].astype(dtype)), (intercept, slow.intercept)
    else:
        near = 1e-9 if dtype == np.float64 else 2e-4
        np.testing.assert_allclose(coef, expected[0], rtol=near, atol=near)
        np.testing.assert_allclose(intercept, expected[1], rtol=near, atol=near)
    if counted:
        assert [record.updates for record in model.report_.epochs] == slow.updates
        assert model.report_.epochs[-1].converged == slow.converged
    if counted and not isinstance(model, SecondOrderPerceptron):  # whose loss is that of no one formula
        losses = [record.loss for record in model.report_.epochs]
        np.testing.assert_allclose(losses, [float(loss) for loss in slow.losses], rtol=1e-5, atol=1e-7)


def is_exact(slow: twin.Outcome, keep: str) -> bool:
    """Sums are exact; an average divides them, which is exact only by a power of two."""
    return keep != "average" or all(np.frexp(float(machine.clock))[0] in (0.0, 0.5) for machine in slow.machines)


# -- the perceptron, two classes -------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("order", ORDERS)
@modest(25)
@given(
    data=whole_numbers(),
    bias=st.sampled_from(["none", "unit", "radius"]),
    margin=st.sampled_from([(0, 0), (2, 2), (0, 5), (4, 1)]),
    rate=st.sampled_from([1.0, 0.5, 2.0]),
    keep=st.sampled_from(["last", "average", "pocket"]),
    epochs=st.sampled_from([1, 2, 4]),
)
def test_perceptron_two_classes(kind, order, data, bias, margin, rate, keep, epochs):
    options, slow_order = ORDERS[order]
    model = Perceptron(
        fit_intercept=bias != "none",
        bias_step="unit" if bias == "none" else bias,
        margin=margin,
        learning_rate=rate,
        keep=keep,
        max_epochs=epochs,
        **options,
    ).fit(as_kind(data.X, kind), data.names, sample_weight=data.weights)
    slow = twin.train(
        data.X,
        data.sides,
        twin.Perceptron(*margin, rate),
        bias=bias,
        order=slow_order,
        keep=keep,
        weights=data.weights,
        epochs=epochs,
    )
    assert model.coef_.dtype == dtype_of(kind)
    same(model, slow, exact=is_exact(slow, keep))


@every_kind
@modest(25)
@given(data=whole_numbers(), epochs=st.sampled_from([1, 3]), scheme=st.sampled_from(["last", "average", "pocket"]))
def test_perceptron_starts_anywhere(kind, data, epochs, scheme):
    d = len(data.X[0])
    start = [[2, -1, 1, 3][:d]], [-2]
    model = Perceptron(order="cyclic", keep=scheme, max_epochs=epochs)
    model.fit(as_kind(data.X, kind), data.y, data.weights, coef_init=start[0], intercept_init=start[1])
    slow = twin.train(
        data.X, data.sides, twin.Perceptron(), keep=scheme, weights=data.weights, start=start, epochs=epochs
    )
    same(model, slow, exact=is_exact(slow, scheme))


@few_kinds
@pytest.mark.parametrize(
    ("rate", "order"),
    [*itertools.product(["1/t", "1/sqrt(t)", "callable"], ["shuffle", "cyclic", "batch"]), ("line-search", "batch")],
)
@modest(25)
@given(data=real_numbers(), keep=st.sampled_from(["last", "average"]))
def test_rates(kind, order, rate, data, keep):
    given_rate = (lambda epoch: 3 / (epoch + 1)) if rate == "callable" else rate
    options, slow_order = BATCH if order == "batch" else ORDERS[order]
    model = Perceptron(learning_rate=given_rate, keep=keep, max_epochs=4, **options)
    X = as_kind(data.X, kind)
    model.fit(X, data.y, data.weights)
    slow = twin.train(
        seen(X),
        data.sides,
        twin.Perceptron(rate=given_rate),
        order=slow_order,
        keep=keep,
        weights=data.weights,
        epochs=4,
    )
    same(model, slow, exact=False)


@few_kinds
@pytest.mark.parametrize("scheme", ["one", "multinomial", "ovr", "labels", "ovo"])
@modest(15)
@given(
    rows=st.data(),
    bias=st.sampled_from(["none", "unit", "radius"]),
    margin=st.sampled_from([0, 1]),
    keep=st.sampled_from(["last", "average", "pocket"]),
)
def test_batch(kind, scheme, rows, bias, margin, keep):
    """Real numbers: a batch divides by the number of rows that lack margin, which is rarely a power of two."""
    classes = 2 if scheme == "one" else 3
    data = rows.draw(real_numbers(classes=classes, labels=scheme == "labels"))
    X, one_each = as_kind(data.X, kind), {"labels": "ovr", "one": "ovr"}.get(scheme, scheme)
    model = Perceptron(update="batch", multiclass=one_each, margin=margin, keep=keep, max_epochs=4)
    model.set_params(fit_intercept=bias != "none", bias_step="unit" if bias == "none" else bias)
    model.fit(X, teach(data, scheme), data.weights)
    slow = twin.train(
        seen(X),
        data.sides if scheme == "one" else data.y,
        twin.Perceptron(margin, margin),
        scheme="one" if scheme == "one" else one_each,
        classes=classes,
        bias=bias,
        order="batch",
        keep=keep,
        weights=data.weights,
        epochs=4,
    )
    same(model, slow, exact=False)


# -- many classes ----------------------------------------------------------------------------------------------------

SCHEMES = ["multinomial", "ovr", "labels", "ovo"]


def teach(data: Data, scheme: str) -> Any:
    """y as the model takes it."""
    return np.array(data.y) if scheme == "labels" else data.names


@every_kind
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("order", ORDERS)
@modest(12)
@given(
    rows=st.data(),
    bias=st.sampled_from(["none", "unit", "radius"]),
    margin=st.sampled_from([(0, 0), (3, 3), (1, 4)]),
    keep=st.sampled_from(["last", "average", "pocket"]),
    epochs=st.sampled_from([1, 2, 4]),
)
def test_perceptron_many_classes(kind, scheme, order, rows, bias, margin, keep, epochs):
    if scheme == "multinomial":
        margin = (margin[0], margin[0])  # it lies between two classes: there are no sides
    data = rows.draw(whole_numbers(classes=3, labels=scheme == "labels"))
    options, slow_order = ORDERS[order]
    X = as_kind(data.X, kind)
    model = Perceptron(
        multiclass="ovr" if scheme == "labels" else scheme,
        fit_intercept=bias != "none",
        bias_step="unit" if bias == "none" else bias,
        margin=margin,
        keep=keep,
        max_epochs=epochs,
        **options,
    ).fit(X, teach(data, scheme), sample_weight=data.weights)
    slow = twin.train(
        data.X,
        data.y,
        twin.Perceptron(*margin),
        scheme="ovr" if scheme == "labels" else scheme,
        classes=3,
        bias=bias,
        order=slow_order,
        keep=keep,
        weights=data.weights,
        epochs=epochs,
    )
    same(model, slow, exact=is_exact(slow, keep))
    if is_exact(slow, keep):
        assert answers(model, X) == [answer(slow, x, scheme) for x in data.X]


def answers(model: Any, X: Any) -> list[Any]:
    said = model.predict(X)
    return said.tolist() if said.ndim == 2 else np.searchsorted(model.classes_, said).tolist()


def answer(slow: twin.Outcome, x: Any, scheme: str) -> Any:
    """The class that the twin's planes stand for: the first of the largest score, or all labels above 0."""
    scores = slow.scores(x)
    if scheme == "ovo":
        return twin.pair_winner(scores, 3)
    if scheme == "labels":
        return [int(score > 0) for score in scores]
    return max(range(len(scores)), key=lambda k: (scores[k], -k))


@few_kinds
@pytest.mark.parametrize("rate", [1.0, "1/t"])
@modest(15)
@given(data=whole_numbers(classes=3))
def test_one_vs_rest_in_one_pass_is_a_fit_for_each_class(kind, rate, data):
    X, options = as_kind(data.X, kind), {"order": "cyclic", "max_epochs": 1, "learning_rate": rate}
    model = Perceptron(multiclass="ovr", **options).fit(X, data.y, data.weights)
    for k in range(3):
        alone = Perceptron(**options).fit(X, np.array(data.y) == k, data.weights)
        assert np.array_equal(model.coef_[k], alone.coef_[0])
        assert model.intercept_[k] == alone.intercept_[0]


# -- votes -----------------------------------------------------------------------------------------------------------


@every_kind
@modest(25)
@given(
    data=whole_numbers(), bias=st.sampled_from(["none", "unit", "radius"]), epochs=st.sampled_from([1, 3]), start=...
)
def test_votes_two_classes(kind, data, bias, epochs, start: bool):
    X = as_kind(data.X, kind)
    model = VotedPerceptron(
        fit_intercept=bias != "none", bias_step="unit" if bias == "none" else bias, order="cyclic", max_epochs=epochs
    )
    first = ([[1, -2, 3, 1][: len(data.X[0])]], [0 if bias == "none" else -1]) if start else None
    model.fit(X, data.y, data.weights, *(first or (None, None)))
    slow = twin.train(
        data.X,
        data.sides,
        twin.Perceptron(),
        bias=bias,
        keep="vote",
        weights=data.weights,
        start=first,
        epochs=epochs,
    )
    ballot = slow.machines[0].ballots[0]
    assert np.array_equal(model.vectors_, [survivor.planes[0][0] for survivor in ballot])
    assert np.array_equal(model.intercepts_, [survivor.planes[1][0] for survivor in ballot])
    assert np.array_equal(model.votes_, [survivor.votes for survivor in ballot])
    assert np.array_equal(model.decision_function(X), [slow.votes(x)[0] for x in data.X])


@few_kinds
@pytest.mark.parametrize("scheme", SCHEMES)
@modest(25)
@given(rows=st.data(), epochs=st.sampled_from([1, 3]))
def test_votes_many_classes(kind, scheme, rows, epochs):
    data = rows.draw(whole_numbers(classes=3, labels=scheme == "labels"))
    X = as_kind(data.X, kind)
    one_each = "ovr" if scheme == "labels" else scheme
    model = VotedPerceptron(multiclass=one_each, order="cyclic", max_epochs=epochs)
    model.fit(X, teach(data, scheme), data.weights)
    slow = twin.train(
        data.X,
        data.y,
        twin.Perceptron(),
        scheme=one_each,
        classes=3,
        keep="vote",
        weights=data.weights,
        epochs=epochs,
    )
    ballots = [ballot for machine in slow.machines for ballot in machine.ballots]
    vectors, votes = model.vectors_, model.votes_
    if scheme == "multinomial":
        vectors, votes = [vectors], [votes]
    for ballot, mine, count in zip(ballots, vectors, votes, strict=True):
        written = [s.planes[0] if scheme == "multinomial" else s.planes[0][0] for s in ballot]
        assert np.array_equal(mine, written)
        assert np.array_equal(count, [survivor.votes for survivor in ballot])
    if scheme == "ovo":
        duels = [[slow.votes(x, machine)[0] for machine in range(3)] for x in data.X]
        assert answers(model, X) == [twin.pair_winner(duel, 3) for duel in duels]
    else:
        assert np.array_equal(model.decision_function(X), [slow.votes(x) for x in data.X])


# -- passive-aggressive ----------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@modest(25)
@given(
    data=real_numbers(zeros=True),
    C=st.sampled_from([0.05, 1.0, 8.0]),
    keep=st.sampled_from(["last", "average"]),
    bias=st.sampled_from(["none", "unit"]),
)
def test_passive_aggressive(kind, variant, data, C, keep, bias):
    X = as_kind(data.X, kind)
    model = PassiveAggressive(
        variant=variant, C=C, keep=keep, fit_intercept=bias == "unit", max_epochs=3, random_state=7
    ).fit(X, data.y, data.weights)
    slow = twin.train(
        seen(X),
        data.sides,
        twin.PassiveAggressive(variant, C),
        bias=bias,
        order=shuffled(7),
        keep=keep,
        weights=data.weights,
        epochs=3,
    )
    # An unclipped step ends at margin 1 but for rounding, so a second visit may or may not count as an update.
    same(model, slow, exact=False, counted=False)
    assert model.n_iter_ == len(slow.updates)


@few_kinds
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@pytest.mark.parametrize("scheme", SCHEMES)
@modest(15)
@given(rows=st.data(), keep=st.sampled_from(["last", "average"]), bias=st.sampled_from(["none", "unit"]))
def test_passive_aggressive_many_classes(kind, variant, scheme, rows, keep, bias):
    data = rows.draw(real_numbers(classes=3, labels=scheme == "labels", zeros=True))
    X, one_each = as_kind(data.X, kind), "ovr" if scheme == "labels" else scheme
    model = PassiveAggressive(
        variant=variant,
        C=0.3,
        keep=keep,
        fit_intercept=bias == "unit",
        multiclass=one_each,
        order="cyclic",
        max_epochs=3,
    ).fit(X, teach(data, scheme), data.weights)
    slow = twin.train(
        seen(X),
        data.y,
        twin.PassiveAggressive(variant, 0.3),
        scheme=one_each,
        classes=3,
        bias=bias,
        keep=keep,
        weights=data.weights,
        epochs=3,
    )
    same(model, slow, exact=False, counted=False)


@every_kind
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@modest(20)
@given(
    data=real_numbers(regression=True, zeros=True),
    keep=st.sampled_from(["last", "average"]),
    epsilon=st.sampled_from([0.0, 0.2]),
)
def test_passive_aggressive_regression(kind, variant, data, keep, epsilon):
    X = as_kind(data.X, kind)
    model = PassiveAggressiveRegressor(
        variant=variant, C=0.5, epsilon=epsilon, keep=keep, order="cyclic", max_epochs=3
    ).fit(X, data.y, data.weights)
    slow = twin.train(
        seen(X),
        np.asarray(data.y, dtype=dtype_of(kind)).astype(np.float64).tolist(),
        twin.PassiveAggressive(variant, 0.5, epsilon),
        scheme="regression",
        keep=keep,
        weights=data.weights,
        # A step ends on the edge of the tube, but for rounding, which so decides whether the model has converged.
        epochs=model.n_iter_,
        stop=False,
    )
    same(model, slow, exact=False, counted=False)
    np.testing.assert_allclose(model.predict(X), [slow.scores(x)[0] for x in seen(X)], rtol=1e-3, atol=1e-3)


SIGNS = st.sampled_from([-1, 1])


@pytest.mark.parametrize("kind", ["dense64", "csr64-int32"])
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@pytest.mark.parametrize("scheme", ["one", "multinomial", "ovr"])
@modest(20)
@given(rows=st.lists(st.tuples(SIGNS, SIGNS, SIGNS), min_size=3, max_size=6), codes=st.permutations(range(6)))
def test_passive_aggressive_on_the_kink(kind, variant, scheme, rows, codes):
    """Rows of ±1 with a bias have ‖x̂‖² = 4, so every step is a binary fraction: margins are exactly 0 and 1."""
    classes = 2 if scheme == "one" else 3
    y = [code % classes for code in codes[: len(rows)] if code < len(rows)]
    rows = rows[: len(y)]
    if len(set(y)) < classes:
        return
    X = [list(row) for row in rows]
    C = {"PA-I": 0.125, "PA-II": 0.125}.get(variant, 1.0)
    model = PassiveAggressive(
        variant=variant, C=C, order="cyclic", max_epochs=2, multiclass=scheme if classes > 2 else "ovr"
    ).fit(as_kind(X, kind), y)
    truth = [2 * code - 1 for code in y] if scheme == "one" else y
    slow = twin.train(X, truth, twin.PassiveAggressive(variant, C), scheme=scheme, classes=classes, epochs=2)
    if variant == "PA-II" and scheme == "multinomial":  # 2·4 + 4 is no power of two
        same(model, slow, exact=False, counted=False)
    else:
        same(model, slow)


# -- second order ----------------------------------------------------------------------------------------------------

SECOND_ORDER: dict[str, tuple[Any, Any]] = {
    "AROW": (AROW(r=0.7), twin.AROW(r=0.7)),
    "second-order": (SecondOrderPerceptron(a=0.5), twin.SecondOrder(a=0.5)),
}


def second_order(name: str, covariance: str, bias: str) -> tuple[Any, Any]:
    model, rule = SECOND_ORDER[name]
    model = clone(model).set_params(covariance=covariance, fit_intercept=bias == "unit", max_epochs=2)
    return model, replace(rule, full=covariance == "full")


@pytest.mark.parametrize("kind", ["dense32", "dense64", "csr32-int64", "csr64-int32"])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("name", SECOND_ORDER)
@modest(20)
@given(rows=st.data(), bias=st.sampled_from(["none", "unit"]))
def test_second_order(kind, covariance, name, rows, bias):
    data = rows.draw(real_numbers(zeros=bias == "none"))
    model, rule = second_order(name, covariance, bias)
    X = as_kind(data.X, kind)
    model.set_params(random_state=7).fit(X, data.y, data.weights)
    slow = twin.train(
        seen(X),
        data.sides,
        rule,
        bias=bias,
        order=shuffled(7),
        weights=data.weights,
        epochs=2,
    )
    same(model, slow, exact=False)


@few_kinds
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("name", SECOND_ORDER)
@pytest.mark.parametrize("scheme", SCHEMES)
@modest(15)
@given(rows=st.data(), bias=st.sampled_from(["none", "unit"]))
def test_second_order_many_classes(kind, covariance, name, scheme, rows, bias):
    data = rows.draw(real_numbers(classes=3, labels=scheme == "labels", zeros=bias == "none"))
    model, rule = second_order(name, covariance, bias)
    X, one_each = as_kind(data.X, kind), "ovr" if scheme == "labels" else scheme
    model.set_params(multiclass=one_each, order="cyclic").fit(X, teach(data, scheme), data.weights)
    slow = twin.train(
        seen(X),
        data.y,
        rule,
        scheme=one_each,
        classes=3,
        bias=bias,
        weights=data.weights,
        epochs=2,
    )
    same(model, slow, exact=False)


# -- the loop in pieces ----------------------------------------------------------------------------------------------


@few_kinds
@pytest.mark.parametrize(
    ("update", "keep"),
    [*itertools.product(["online", "batch"], ["last", "average", "pocket"]), ("online", "vote")],
)
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
@modest(8)
@given(data=whole_numbers(classes=3))
def test_pieces_make_the_whole(monkeypatch, kind, keep, update, multiclass, data):
    """An epoch is cut into short calls of compiled code, so that Ctrl-C is heard: where it is cut must not matter."""
    X = as_kind(data.X, kind)

    def fit() -> Any:
        model = Perceptron(keep=keep, update=update, multiclass=multiclass, max_epochs=3, random_state=1)
        return model.fit(X, data.y, data.weights)

    whole = fit()
    with monkeypatch.context() as patch:
        patch.setattr(rosenblatt.data.examples, "VALUES_AT_ONCE", 1)  # one row a call
        patch.setattr(rosenblatt.learn.online.solver, "LOG_ROOM", 2)  # the log of updates fills up at every row
        pieces = fit()
        assert np.array_equal(whole.decision_function(X), pieces.decision_function(X))
    for mine, other in zip(whole.report_.epochs, pieces.report_.epochs, strict=True):
        assert (mine.updates, mine.loss) == (other.updates, other.loss)
    if keep != "vote":
        assert np.array_equal(whole.coef_, pieces.coef_)
        assert np.array_equal(whole.intercept_, pieces.intercept_)


def test_paum_is_the_perceptron_with_uneven_margins():
    X, y = [[1, 2], [-1, 0], [0, -3], [2, 2]], [0, 1, 0, 1]
    model = PAUM(margin=(1, 7), order="cyclic", max_epochs=5).fit(X, y)
    slow = twin.train(X, [-1, 1, -1, 1], twin.Perceptron(1, 7), bias="radius", epochs=5)
    same(model, slow)


# -- what the loops are given ----------------------------------------------------------------------------------------


@every_kind
def test_rows_reach_the_loops_as_they_are(kind):
    """No copy, and the type of the values and indices kept: else the tests above would compare less than they say."""
    form, dtype, index = KINDS[kind]
    X = as_kind([[1, 0], [0, 2], [3, 0]], kind)
    rows = Perceptron()._rows(X, reset=True)[0]
    assert rows.values.dtype == dtype
    assert np.shares_memory(rows.values, X if form == "dense" else X.data)
    if form == "csr":
        assert rows.columns.dtype.itemsize == np.dtype(index).itemsize
        assert np.shares_memory(rows.columns, X.indices)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows_need_not_be_canonical(form):
    """Columns out of order, a column twice in a row, zeros that are stored: the same model, and the input untouched."""
    X = form((np.array([2.0, 1.0, 5.0, -3.0, 0.0, 1.0]), np.array([2, 0, 1, 1, 0, 2]), np.array([0, 2, 4, 6])))
    before = X.data.copy(), X.indices.copy()
    dense, y = np.array([[1.0, 0.0, 2.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]), [0, 1, 1]
    for model in (Perceptron(bias_step="radius"), PassiveAggressive(), AROW()):
        model.set_params(max_epochs=5, order="cyclic")
        sparse = clone(model).fit(X, y)
        assert np.array_equal(sparse.coef_, clone(model).fit(dense, y).coef_)
        assert np.array_equal(sparse.decision_function(X), sparse.decision_function(dense))
    assert np.array_equal(X.data, before[0])
    assert np.array_equal(X.indices, before[1])
