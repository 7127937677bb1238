"""What the tests of compiled loops share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import reference as twin
from rosenblatt import (
    SecondOrderPerceptron,
)
from rosenblatt.learn.orders import Random, Shuffled

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
FURTHER = [pytest.param(kind, marks=pytest.mark.exhaustive) for kind in KINDS if kind not in FEW_KINDS]
every_kind = pytest.mark.parametrize("kind", [*FEW_KINDS, *FURTHER])
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


SCHEMES = ["multinomial", "ovr", "labels", "ovo"]


def teach(data: Data, scheme: str) -> Any:
    """y as the model takes it."""
    return np.array(data.y) if scheme == "labels" else data.names
