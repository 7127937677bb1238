"""Model files: safetensors, with the model as JSON in its header and a SHA-256 over all of it.

Loading runs no code from the file. The digest covers every byte of the file, its own 64 digits taken as zeros, so
that no altered file is accepted; it is a seal against damage, not a signature against forgery. A forged file can
therefore hold any numbers, but only in arrays that fit together: compiled code never reads outside them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from sklearn.base import BaseEstimator

from rosenblatt._version import __version__
from rosenblatt.data.disk import cannot, replaced
from rosenblatt.data.errors import FileError, NewerFormatError
from rosenblatt.estimators.encoding import Arrays, decode, encode, find
from rosenblatt.estimators.online import OnlineLearner
from rosenblatt.learn.kept import Ballot, Planes
from rosenblatt.learn.machines import Machine, Piece, State
from rosenblatt.learn.visits import TALLY

FORMAT = 1
BLANK = "0" * 64
LONGEST_HEADER = 100_000_000  # safetensors' own limit
MACHINERY = {"_skl_callbacks", "_parent_callback_ctx", "_metadata_request", "_sklearn_output_config"}
ATTRIBUTE = re.compile(r"_?[a-z][a-z0-9_]*")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model, fitted or not, to a file that is safe to load.

    The file holds the parameters, the report and all that `partial_fit` needs to go on. It is written under another
    name and renamed when it is complete: a kill or a full disk leaves what was there before.

    Parameters
    ----------
    model : estimator of rosenblatt
        One that holds a function, such as a `learning_rate` that is called, is refused.
    path : path

    Raises
    ------
    FileError
        If the model cannot be held by a file, or the file cannot be written.

    Examples
    --------
    >>> import rosenblatt, tempfile, pathlib
    >>> model = rosenblatt.Perceptron().fit([[0.0], [1.0], [3.0]], ["no", "no", "yes"])
    >>> path = pathlib.Path(tempfile.mkdtemp(), "small.model")
    >>> rosenblatt.save(model, path)
    >>> rosenblatt.load(path).predict([[4.0]])
    array(['yes'], dtype='<U3')
    """
    with replaced(path) as file:
        file.write(to_bytes(model))


def to_bytes(model: Any) -> bytes:
    """The model file, as bytes."""
    home = type(model).__module__
    if not (isinstance(model, BaseEstimator) and home.startswith("rosenblatt.estimators.")):
        raise FileError(f"only estimators of rosenblatt are saved, and {type(model).__name__} is none")
    arrays = Arrays()
    parameters = model.get_params(deep=False)
    attributes = {k: v for k, v in vars(model).items() if k not in parameters and k not in MACHINERY}
    header = {
        "sha256": BLANK,
        "format": FORMAT,
        "library": __version__,
        "class": f"{home.removeprefix('rosenblatt.')}.{type(model).__name__}",
        "parameters": {name: encode(value, arrays, name) for name, value in parameters.items()},
        "attributes": {name: encode(value, arrays, name) for name, value in attributes.items()},
    }
    text = json.dumps(header, allow_nan=False, separators=(",", ":"))
    blank = bytes(safetensors.numpy.save(arrays.stored, metadata={"rosenblatt": text}))
    at = _digest_place(blank, BLANK)
    return blank[:at] + hashlib.sha256(blank).hexdigest().encode() + blank[at + 64 :]


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Nothing from the file is run, and a file that was altered in any byte is refused.

    Parameters
    ----------
    path : path

    Returns
    -------
    estimator

    Raises
    ------
    FileError
        If the file is missing, damaged or no model; `NewerFormatError` if a newer rosenblatt wrote it.

    Examples
    --------
    >>> import rosenblatt, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model")
    >>> _ = path.write_bytes(b"not a model")
    >>> try:
    ...     rosenblatt.load(path)
    ... except rosenblatt.FileError as error:
    ...     print(error.what)
    no model file of rosenblatt: its header is missing
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FileError(cannot("read", error), path) from error
    try:
        return from_bytes(data)
    except FileError as error:
        raise type(error)(error.what, path) from error


def from_bytes(data: bytes) -> Any:
    """The model in the bytes of a model file."""
    header = _header(data)
    try:
        about = json.loads(header["__metadata__"]["rosenblatt"])
        version, digest = about["format"], about["sha256"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise FileError("no model file of rosenblatt: its header says nothing of one") from error
    if not isinstance(version, int) or version < 1:
        raise FileError(f"no model file of rosenblatt: its format is {version!r}")
    if version > FORMAT:
        raise NewerFormatError(
            f"written in format {version} by rosenblatt {about.get('library')}; "
            f"this is rosenblatt {__version__}, which reads formats up to {FORMAT}: update it"
        )
    at = _digest_place(data, digest)
    if hashlib.sha256(data[:at] + BLANK.encode() + data[at + 64 :]).hexdigest() != digest:
        raise FileError("altered or damaged: its SHA-256 is not the one it was written with")
    try:
        arrays = Arrays(safetensors.numpy.load(data))
        model = _build(about, arrays)
        if isinstance(model, OnlineLearner):
            _renew(model)
            _check(model)
        return model
    except FileError:
        raise
    except Exception as error:  # a forged file may be wrong in any way: each is the same error to the user
        raise FileError(f"not a model that rosenblatt wrote: {error}") from error


def _header(data: bytes) -> dict[str, Any]:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(len(data) - 8, LONGEST_HEADER):
        raise FileError("no model file of rosenblatt: its header is missing")
    try:
        header = json.loads(data[8 : 8 + length])
    except (ValueError, RecursionError) as error:
        raise FileError("no model file of rosenblatt: its header cannot be read") from error
    if not isinstance(header, dict):
        raise FileError("no model file of rosenblatt: its header cannot be read")
    return header


def _digest_place(data: bytes, digest: Any) -> int:
    """Where the 64 digits of the digest stand: in JSON within JSON, before anything that the model holds."""
    if not (isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)):
        raise FileError("no model file of rosenblatt: its SHA-256 is missing")
    before = rb"{\"sha256\":\""
    found = data.find(before + digest.encode())
    if found < 0:
        raise FileError("no model file of rosenblatt: its SHA-256 is missing")
    return found + len(before)


def _build(about: dict[str, Any], arrays: Arrays) -> Any:
    kind = find(about["class"])
    if not issubclass(kind, BaseEstimator):
        raise ValueError(f"{about['class']} is no estimator")
    parameters = {name: decode(value, arrays) for name, value in about["parameters"].items()}
    attributes = {name: decode(value, arrays) for name, value in about["attributes"].items()}
    model = kind(**parameters)
    for name, value in attributes.items():
        if not ATTRIBUTE.fullmatch(name) or name in parameters or hasattr(kind, name):
            raise ValueError(f"{name} is no attribute of {kind.__name__}")
        vars(model)[name] = value
    return model


def _renew(model: Any) -> None:
    """Votes as they were written at first: one bias step for all updates, that of the state."""
    state, kept = getattr(model, "_state", None), getattr(model, "_kept", None)
    if isinstance(state, State):
        for machine in state.machines:
            machine.log = tuple(
                one if isinstance(one, Piece) else Piece(*one, bias=float(state.bias)) for one in machine.log
            )
    if isinstance(kept, Ballot):
        histories = [
            one if isinstance(one.bias, np.ndarray) else replace(one, bias=np.full(one.which.size, float(one.bias)))
            for one in kept.histories
        ]
        model._kept = replace(kept, histories=tuple(histories))


# -- arrays that fit together ----------------------------------------------------------------------------------------


def _check(model: Any) -> None:
    """Refuse a model whose arrays do not fit together: compiled code would read outside them."""
    if not hasattr(model, "_state"):
        _must("_kept" not in vars(model), "weights without a state")
        return
    state, kept, d = model._state, model._kept, model.n_features_in_
    _must(isinstance(state, State) and isinstance(d, int) and d >= 1, "a state")
    classes = model.classes_.size if hasattr(model, "classes_") else 1
    _must(state.scheme in ("one", "multinomial", "ovr", "ovo") and state.classes == classes, "as many classes as names")
    K = classes if state.scheme in ("multinomial", "ovr") else 1
    count = classes * (classes - 1) // 2 if state.scheme == "ovo" else 1
    _must(len(state.machines) == count, f"{count} machines")
    for machine in state.machines:
        _check_machine(machine, K, d, model._plan().rule.order == 2)
    _must(
        isinstance(kept, Planes | Ballot) and kept.scheme == state.scheme and kept.classes == classes, "its own scheme"
    )
    if isinstance(kept, Planes):
        _check_planes(kept.coef, kept.intercept, K * count, d)
        coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
        _check_planes(coef, intercept, K * count, d)
    else:
        _must(len(kept.histories) == count, f"{count} histories")
        for history in kept.histories:
            _check_planes(history.coef, history.intercept, K, d)
            parts = history.support if isinstance(history.support, tuple) else (history.support,)
            n = sum(part.shape[0] for part in parts)
            _must(parts and all(part.shape[1] == d for part in parts), f"support of {d} features")
            _check_log(
                history.which, history.columns, (history.steps, history.clocks, history.shares, history.bias), n, K
            )


def _check_machine(machine: Machine, K: int, d: int, second: bool) -> None:
    full, turned = machine.spread.ndim == 3, machine.by_feature
    shape = (K, d + 1) if full else (d, K) if turned else (K, d)
    dtype = machine.coef.dtype
    _must(isinstance(turned, bool) and dtype.name in ("float32", "float64"), "weights of float32 or float64")
    _must(machine.coef.shape == shape and machine.intercept.shape == (K,), f"weights of shape {shape}")
    _must(machine.intercept.dtype == dtype, "one dtype")
    _must(machine.moves.shape == (K,) and machine.moves.dtype == np.float64, "updates of each plane")
    _must(machine.tally.shape == (TALLY,) and machine.tally.dtype == np.float64, "a tally")
    if machine.total_b.size:
        _must(machine.total.shape == shape and machine.total_b.shape == (K,), f"sums of shape {shape}")
        _must(machine.total.dtype == machine.total_b.dtype == np.float64, "sums of float64")
    if second:
        wanted = (K, d + 1, d + 1) if full else shape
        _must(machine.spread.shape == wanted and machine.spread.dtype == dtype, f"a spread of shape {wanted}")
        _must(full or (machine.spread_b.shape == (K,) and machine.spread_b.dtype == dtype), "a spread of the bias")
    for pair in (machine.start, machine.pocket):
        if pair is not None:
            _check_planes(pair[0], pair[1], K, d)
    for support, log, bias in machine.log:
        _must(support.shape[1] == d and isinstance(bias, float), f"a log of {d} features")
        _check_log(log.rows, log.columns, (log.steps, log.clocks, log.shares), support.shape[0], K)


def _check_planes(coef: Any, intercept: Any, planes: int, d: int) -> None:
    _must(coef.shape == (planes, d) and intercept.shape == (planes,), f"planes of shape {(planes, d)}")
    _must(coef.dtype.kind == "f" and intercept.dtype.kind == "f", "planes of numbers")


def _check_log(rows: Any, columns: Any, others: tuple[Any, ...], n: int, K: int) -> None:
    for array in (rows, columns, *others):
        _must(array.shape == (rows.size,), "a log of one length")
    for array, most in ((rows, n), (columns, K)):
        _must(array.dtype.kind in "iu" and (not array.size or (array.min() >= 0 and array.max() < most)), "log entries")
    _must(all(array.dtype == np.float64 for array in others), "a log of float64")


def _must(holds: Any, what: str) -> None:
    if not holds:
        raise ValueError(f"expected {what}")
