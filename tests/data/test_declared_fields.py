"""Fields of records hold what their declarations say."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from rosenblatt.formats.declared_fields import (
    AMOUNT,
    at_least,
    doubles,
    floats,
    instance,
    integers,
    matrix,
    must,
    one_of,
    singles,
    size,
    verify,
)

Array = np.ndarray


class Steps(NamedTuple):
    which: Annotated[Array, integers("steps", below="n")]
    sizes: Annotated[Array, doubles("steps")]


@dataclass
class Log:
    rows: Annotated[Any, matrix("n", "d")]
    steps: Steps


@dataclass
class Model:
    shared: ClassVar[Any] = "not a field"
    coef: Annotated[Array, floats("K", "d")]
    matrices: Annotated[Array, singles("K", "d+1", "d+1")]
    logs: tuple[Log, ...]
    classes: Annotated[int, size("K")]
    keep: Annotated[str, one_of("last", "vote")] = "last"
    budget: Annotated[int, at_least(1)] = 1
    errors: Annotated[float, AMOUNT] = np.inf
    bias: float = 0.5
    epoch: int = 0
    whole: bool = True
    name: str = ""
    first: Log | None = None
    places: Annotated[Array | None, integers("places", dtype=np.int32)] = None
    names: Annotated[dict, instance(dict)] = field(default_factory=dict)
    anything: Any = None

    def check(self, K, d):
        must(K == 2 and d == 3, "two planes over three features")


def log(n=4, **changes):
    made = Log(np.ones((n, 3)), Steps(np.array([0, n - 1]), np.zeros(2)))
    return replace(made, **changes)


def model(**changes):
    made = Model(np.zeros((2, 3)), np.zeros((2, 4, 4), np.float32), (log(4), log(7)), 2, first=log(5))
    return replace(made, **changes)


GOOD = [
    {},
    {"coef": np.zeros((2, 3), np.float32)},
    {"logs": ()},
    {"logs": (log(rows=sp.csr_matrix(np.eye(4, 3))), log(rows=(np.ones((1, 3)), np.ones((3, 3), np.float32))))},
    {"logs": (log(steps=Steps(np.zeros(0, int), np.zeros(0))),)},
    {"first": None, "places": np.zeros(9, np.int32)},
    {"keep": "vote", "bias": 2, "errors": 0, "epoch": np.int64(3), "anything": object()},
]


@pytest.mark.parametrize("changes", GOOD)
def test_records_as_they_are_declared(changes):
    verify(model(**changes), Model, d=3)
    verify(model(**changes), Model | Log)


BAD = {
    "coef: 2 × 3 of float64 or float32, found 2 × 4 of float64": {"coef": np.zeros((2, 4))},
    "coef: any × 3 of float64 or float32, found 2 × 3 of int64": {"coef": np.zeros((2, 3), int)},
    "coef: any × 3 of float64 or float32, found list": {"coef": [[0.0] * 3] * 2},
    "coef: any × 3 .*, found 3 of float64": {"coef": np.zeros(3)},
    "matrices: 2 × 4 × 4 of float32, found 2 × 4 × 5": {"matrices": np.zeros((2, 4, 5), np.float32)},
    "matrices: 2 × 4 × 4 of float32, found 2 × 4 × 4 of float64": {"matrices": np.zeros((2, 4, 4))},
    "logs: a tuple, found list": {"logs": [log()]},
    "logs: a Log, found str": {"logs": ("log",)},
    "first: a Log, found dict": {"first": {}},
    "rows: rows of 3 features": {"logs": (log(rows=np.ones((4, 2))),)},
    "rows: rows of float32 or float64": {"logs": (log(rows=np.ones((4, 3), int)),)},
    "rows: rows in an array or a CSR matrix": {"logs": (log(rows=sp.csc_matrix(np.eye(4, 3))),)},
    "rows: None rows": {"logs": (log(rows=()),)},
    "steps: a Steps, found tuple": {"logs": (log(steps=(np.zeros(2, int), np.zeros(2))),)},
    "which below 4": {"logs": (log(), log(steps=Steps(np.array([0, 4]), np.zeros(2))))},
    "which below 5": {"first": log(5, steps=Steps(np.array([0, -1]), np.zeros(2)))},
    "which: any of int64 or .*, found 2 of uint64": {"logs": (log(steps=Steps(np.zeros(2, np.uint64), np.zeros(2))),)},
    "sizes: 2 of float64, found 3 of float64": {"logs": (log(steps=Steps(np.zeros(2, int), np.zeros(3))),)},
    "classes: a number that fits": {"classes": 3},
    "keep: one of": {"keep": "average"},
    "budget: a whole number, at least 1": {"budget": 0},
    "errors: a number, at least 0": {"errors": np.nan},
    "bias: a finite number": {"bias": np.inf},
    "epoch: a whole number, at least 0": {"epoch": -1},
    "whole: True or False": {"whole": 1},
    "name: text": {"name": b"x"},
    "places: any of int32": {"places": np.zeros(2, int)},
    "names: a .*dict": {"names": []},
    "two planes over three features": {
        "coef": np.zeros((2, 1)),
        "matrices": np.zeros((2, 2, 2), np.float32),
        "logs": (),
        "first": None,
    },
}


@pytest.mark.parametrize("what", BAD)
def test_anything_else_is_refused(what):
    with pytest.raises(ValueError, match=f"^expected {what}"):
        verify(model(**BAD[what]), Model, **({} if "two planes" in what else {"d": 3}))


@pytest.mark.parametrize("epoch", [1 << 63, True, 1.0, "1", None])
def test_counts_fit_into_compiled_code(epoch):
    with pytest.raises(ValueError, match="expected epoch: a whole number"):
        verify(model(epoch=epoch), Model)


def test_the_sizes_of_the_caller_bind():
    with pytest.raises(ValueError, match="expected coef: 2 × 5 of"):
        verify(model(), Model, d=5)
    with pytest.raises(ValueError, match="expected Model or Log, found str"):
        verify("model", Model | Log)


def test_a_field_that_says_too_little_is_an_error_of_the_program():
    @dataclass
    class Vague:
        coef: np.ndarray[Any, Any]

    with pytest.raises(TypeError, match="does not say what a field may hold"):
        verify(Vague(np.zeros(3)), Vague)
