"""Models as plain data: a tree for JSON, and a set of numeric arrays.

Only the types listed here can be written or read: numbers, text, lists, mappings, arrays, CSR and CSC matrices, and the
records in `RECORDS` (dataclasses and named tuples), by their tags, and estimators, by their public names. Reading
builds these and runs nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import rosenblatt
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.kernel.functions import GrowingRows
from rosenblatt.learn.epochs import EpochRecords
from rosenblatt.learn.schemes import SCHEMES, Scheme

UNSTORED = "GridSearchCV"  # which holds a model, its best_estimator_


def is_stored(model: Any) -> bool:
    """Whether this is an estimator of this package that a file can hold."""
    kind = type(model)
    name = kind.__name__
    return issubclass(kind, BaseEstimator) and name != UNSTORED and getattr(rosenblatt, name, None) is kind


def estimator_class(name: str) -> Any:
    """The class of the estimator that is stored under this name."""
    kind = getattr(rosenblatt, name) if name in rosenblatt.__all__ else None
    if not isinstance(kind, type) or not issubclass(kind, BaseEstimator) or name == UNSTORED:
        raise ValueError(f"{name!r} is not an estimator of rosenblatt that is stored")
    return kind


RECORDS = {
    "average": "planes.average.Average",
    "budget-machine": "kernel.budgets.BudgetedMachine",
    "budget-state": "kernel.budgets.BudgetState",
    "calibration": "learn.calibration.Calibration",
    "column-encoding": "tables.columns.encoding.ColumnEncoding",
    "contents": "formats.contents.Contents",
    "date-encoding": "tables.columns.dates.DateEncoding",
    "diagonal-correlation": "planes.covariance.DiagonalCorrelation",
    "diagonal-covariance": "planes.covariance.DiagonalCovariance",
    "epoch": "learn.epochs.EpochRecord",
    "fourier-features": "tables.columns.fourier.FourierFeatures",
    "full-covariance": "planes.covariance.FullCovariance",
    "greedy-model": "sequence.greedy.GreedyModel",
    "item-features": "sequence.token_features.ItemFeatures",
    "kernel": "kernel.functions.Kernel",
    "kernel-model": "kernel.perceptron.KernelModel",
    "kernel-state": "kernel.perceptron.KernelState",
    "l1-debt": "planes.penalty_debt.L1Debt",
    "layer": "network.backpropagation.Layer",
    "layout": "formats.table_layout.Layout",
    "layout-column": "formats.table_layout.Column",
    "linear-state": "planes.state.State",
    "logged-updates": "planes.votes.LoggedUpdates",
    "machine": "planes.state.Machine",
    "name-encoding": "tables.columns.one_hot_categories.NameEncoding",
    "network": "network.backpropagation.Architecture",
    "network-model": "network.backpropagation.NetworkModel",
    "network-report": "network.backpropagation.NetworkReport",
    "network-state": "network.backpropagation.NetworkState",
    "number-encoding": "tables.columns.numbers.NumberEncoding",
    "path-model": "sequence.solver.PathModel",
    "planes": "learn.models.Planes",
    "pocket": "planes.pocket.Pocket",
    "probe-report": "learn.report.ProbeReport",
    "reading": "formats.reading.Reading",
    "report": "learn.report.Report",
    "separability": "prove.exact.separability_certificate.Separability",
    "sequence-state": "sequence.solver.SequenceState",
    "sharding": "learn.sharding.Sharding",
    "spline-encoding": "tables.columns.numbers.SplineEncoding",
    "table-setting": "tables.settings.TableSetting",
    "table-summary": "tables.summary.TableSummary",
    "target-scale": "tables.targets.TargetScale",
    "template-features": "sequence.templates.TemplateFeatures",
    "text-encoding": "tables.columns.text.TextEncoding",
    "tree": "online.hierarchy.Tree",
    "tree-report": "online.hierarchy.TreeReport",
    "tree-state": "online.hierarchy.TreeState",
    "update-history": "learn.models.UpdateHistory",
    "update-log": "planes.update_log.UpdateLog",
    "vocabulary": "formats.vocabulary.Vocabulary",
    "voted-planes": "learn.models.VotedPlanes",
    "votes": "planes.votes.Votes",
    "widest-plane": "prove.exact.max_margin_certificate.WidestPlane",
}
_TAGS = {home: tag for tag, home in RECORDS.items()}


def record_tag(value: Any) -> str | None:
    """The tag under which a record is stored; None if it is none of these."""
    kind = type(value)
    return _TAGS.get(f"{kind.__module__.removeprefix('rosenblatt.')}.{kind.__name__}")


@cache
def record_class(tag: str) -> Any:
    """The class of the record that is stored under this tag."""
    if tag not in RECORDS:
        raise ValueError(f"{tag!r} is not a record of rosenblatt that is stored")
    home, _, name = RECORDS[tag].rpartition(".")
    return getattr(import_module(f"rosenblatt.{home}"), name)


@cache
def record_fields(kind: Any) -> tuple[str, ...]:
    """The names of a record's fields."""
    return tuple(one.name for one in fields(kind)) if is_dataclass(kind) else tuple(kind._fields)


Array = np.ndarray[Any, Any]
MACHINERY = {"_skl_callbacks", "_parent_callback_ctx", "_metadata_request", "_sklearn_output_config"}
COMPRESSED = {"csr": (sp.csr_matrix, sp.csr_array), "csc": (sp.csc_matrix, sp.csc_array)}
MOST_DEPTH = 200  # of nested lists and mappings, well within Python's recursion limit
MOST_PADDING = 1 << 26  # bytes of an array of names that is wider than its longest name
MOST_POSITION = 624  # of MT19937: the number of its keys
NUMERIC = {"bool", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


@dataclass
class Arrays:
    """The arrays of a tree. Equal arrays are stored once; an array referenced twice is one object again when read."""

    stored: dict[str, Array] = field(default_factory=dict)
    _contents: dict[Any, str] = field(default_factory=dict)
    _seen: dict[int, tuple[Any, int]] = field(default_factory=dict)
    _built: dict[int, Array] = field(default_factory=dict)
    matrices: dict[Any, Any] = field(default_factory=dict)  # sparse matrices built from these arrays, each once

    def put(self, array: Array) -> dict[str, Any]:
        """Store the array; returns its reference."""
        if id(array) not in self._seen:
            self._seen[id(array)] = (array, len(self._seen))
        plain = np.ascontiguousarray(array)
        key = (str(plain.dtype), array.shape, plain.tobytes())
        name = self._contents.setdefault(key, str(len(self._contents)))
        self.stored[name] = plain.reshape(array.shape)
        return {"array": name, "object": self._seen[id(array)][1]}

    def get(self, name: str, number: int) -> Array:
        """The array with this name; the same object for the same number."""
        if number not in self._built:
            self._built[number] = self.stored[name].copy()
        return self._built[number]


def encode(value: Any, arrays: Arrays, name: str) -> Any:
    """The value as JSON, with its arrays put into `arrays`; `name` is used in errors."""
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, Scheme):
        return value.name
    if isinstance(value, list):
        return [encode(item, arrays, name) for item in value]
    if isinstance(value, np.ndarray):
        return _encode_array(value, arrays, name)
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Fraction):
        return {"fraction": [hex(value.numerator), hex(value.denominator)]}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"type": np.dtype(value).str}
    if isinstance(value, GrowingRows):
        return {"gathered": encode(value.rows, arrays, name)}
    if sp.issparse(value) and value.format in COMPRESSED:
        kind = "matrix" if isinstance(value, COMPRESSED[value.format][0]) else "array"
        parts = [arrays.put(part) for part in (value.data, value.indices, value.indptr)]
        return {value.format: kind, "parts": parts, "shape": list(map(int, value.shape))}
    if isinstance(value, dict):
        return {"dict": [[encode(key, arrays, name), encode(item, arrays, name)] for key, item in value.items()]}
    if isinstance(value, np.random.RandomState):
        return _encode_random_state(value, arrays, name)
    if is_stored(value):
        return describe(value, arrays)
    if (tag := record_tag(value)) is not None:
        inside = {one: encode(getattr(value, one), arrays, name) for one in record_fields(record_class(tag))}
        return {"record": tag, "fields": inside}
    if isinstance(value, tuple | EpochRecords):
        return {"tuple": [encode(item, arrays, name) for item in value]}
    if callable(value):
        raise FileError(f"{name} holds a function, {value!r}, and a model file holds no code: set {name} to data first")
    raise FileError(f"{name} holds a {type(value).__name__}, which a model file cannot hold")


def _encode_array(value: Array, arrays: Arrays, name: str) -> Any:
    if value.dtype.name in NUMERIC and value.dtype.isnative:
        return arrays.put(value)
    items = value.ravel().tolist() if value.dtype.kind in "USO" else [value.dtype]
    other = [item for item in items if not _is_name(item)]
    if other:
        what = value.dtype if value.dtype.kind not in "USO" else type(other[0]).__name__
        raise FileError(f"{name} holds an array of {what}, which a model file cannot hold")
    held = [encode(item, arrays, name) for item in items]
    return {"items": held, "dtype": value.dtype.str, "shape": list(value.shape)}


def _is_name(item: Any) -> bool:
    """Whether an item may be a class label."""
    if isinstance(item, tuple):
        return all(_is_name(part) for part in item)
    return item is None or isinstance(item, str | bytes | int | float | np.bool_ | np.integer | np.floating)


def _encode_random_state(value: np.random.RandomState, arrays: Arrays, name: str) -> Any:
    state = value.get_state(legacy=False)
    if not isinstance(state, dict) or state["bit_generator"] != "MT19937":
        raise FileError(f"{name} holds a RandomState that does not use MT19937, which a model file cannot hold")
    keys, position = state["state"]["key"], int(state["state"]["pos"])
    return {"RandomState": [arrays.put(np.asarray(keys)), position, int(state["has_gauss"]), float(state["gauss"])]}


def check_depth(tree: Any) -> None:
    """Refuse a tree that is nested deeper than any that `fit` creates."""
    level = [tree]
    for _ in range(MOST_DEPTH):
        level = [item for node in level for item in _inside(node)]
    if level:
        raise ValueError(f"lists and mappings are nested deeper than {MOST_DEPTH} levels")


def _inside(node: Any) -> Iterable[Any]:
    """The lists and mappings in a list or a mapping."""
    items = node.values() if isinstance(node, dict) else node
    return (item for item in items if isinstance(item, dict | list))


def decode(value: Any, arrays: Arrays) -> Any:
    """The value that was passed to `encode`; KeyError, TypeError or ValueError if `encode` did not make the tree."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    kinds = _DECODERS.keys() & value.keys()
    if len(kinds) != 1:
        raise ValueError(f"an entry of unknown kind: {sorted(value)}")
    return _DECODERS[kinds.pop()](value, arrays)


def _items(value: Any, arrays: Arrays) -> Array:
    dtype = np.dtype(value["dtype"])
    if dtype.kind not in "USO":
        raise ValueError(f"items of {dtype}")
    items = [decode(item, arrays) for item in value["items"]]
    if not all(_is_name(item) for item in items):
        raise ValueError("items that are not scalars")
    longest = max((len(item) for item in items if isinstance(item, str | bytes)), default=0)
    if dtype.itemsize > 4 * longest and dtype.itemsize * len(items) > MOST_PADDING:
        raise ValueError(f"{dtype} for names of at most {longest} characters")
    array = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):  # one by one, because NumPy would take tuples as rows
        array[place] = item
    return array.astype(dtype).reshape(value["shape"])


def _compressed(value: Any, arrays: Arrays) -> Any:
    (form,) = [form for form in COMPRESSED if form in value]
    kind = COMPRESSED[form][["matrix", "array"].index(value[form])]
    rows, columns = map(int, value["shape"])
    numbers = tuple(int(part["object"]) for part in value["parts"])
    if (kind, numbers, rows, columns) not in arrays.matrices:
        matrix = kind(tuple(decode(part, arrays) for part in value["parts"]), shape=(rows, columns))
        well_formed(matrix, "a matrix")  # SciPy checks no index of a matrix whose indptr ends in 0
        arrays.matrices[kind, numbers, rows, columns] = matrix
    return arrays.matrices[kind, numbers, rows, columns]


def _random_state(value: Any, arrays: Arrays) -> np.random.RandomState:
    keys, position, has_gauss, gauss = value["RandomState"]
    if not 0 <= int(position) <= MOST_POSITION:  # NumPy does not check it, and would read beyond the keys
        raise ValueError(f"a RandomState at position {position}")
    state = np.random.RandomState()
    state.set_state(("MT19937", decode(keys, arrays), int(position), int(has_gauss), float(gauss)))
    return state


def _gathered(value: Any, arrays: Arrays) -> GrowingRows:
    return GrowingRows.of(decode(value["gathered"], arrays))


def _record(value: Any, arrays: Arrays) -> Any:
    kind = record_class(value["record"])
    fields = {name: decode(item, arrays) for name, item in value["fields"].items()}
    if not set(fields) <= set(record_fields(kind)):  # fields added later have defaults
        raise ValueError(f"{value['record']} is not a record with the fields {sorted(fields)}")
    if "scheme" in fields:
        fields["scheme"] = SCHEMES[fields["scheme"]]
    return kind(**fields)


_DECODERS: dict[str, Callable[[Any, Arrays], Any]] = {
    "float": lambda value, arrays: float(value["float"]),
    "tuple": lambda value, arrays: tuple(decode(item, arrays) for item in value["tuple"]),
    "dict": lambda value, arrays: {decode(key, arrays): decode(item, arrays) for key, item in value["dict"]},
    "array": lambda value, arrays: arrays.get(value["array"], int(value["object"])),
    "items": _items,
    "csr": _compressed,
    "csc": _compressed,
    "bytes": lambda value, arrays: bytes.fromhex(value["bytes"]),
    "fraction": lambda value, arrays: Fraction(*(int(part, 16) for part in value["fraction"])),
    "type": lambda value, arrays: np.dtype(str(value["type"])),
    "gathered": _gathered,
    "RandomState": _random_state,
    "record": _record,
    "estimator": lambda value, arrays: build(value, arrays),
}


# -- estimators ------------------------------------------------------------------------------------------------------


def describe(model: Any, arrays: Arrays) -> dict[str, Any]:
    """An estimator: its public name, its parameters and its attributes."""
    kind, parameters = type(model), model.get_params(deep=False)
    attributes = {name: value for name, value in vars(model).items() if name not in {*parameters, *MACHINERY}}
    for name in attributes:
        if name not in kind.STORED:
            raise FileError(
                f"{name} is not an attribute of {kind.__name__}: a model file holds only those that `fit` sets"
            )
    return {
        "estimator": kind.__name__,
        "parameters": {name: encode(value, arrays, name) for name, value in parameters.items()},
        "attributes": {name: encode(value, arrays, name) for name, value in attributes.items()},
    }


def build(about: Any, arrays: Arrays) -> Any:
    """The estimator that was passed to `describe`."""
    kind = estimator_class(about["estimator"])
    model = kind(**{name: decode(value, arrays) for name, value in about["parameters"].items()})
    for name, value in about["attributes"].items():
        if name not in kind.STORED:
            raise ValueError(f"{name} is not an attribute of {kind.__name__}")
        vars(model)[name] = decode(value, arrays)
    return model
