"""Records that can be written as text and read back without loss, and that detect edits to the text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np


class CertificateError(ValueError):
    """A claim of a certificate is false, or its text has been edited.

    Attributes
    ----------
    claim : str
        The first claim that fails.
    row : int or None
        The row for which it fails, if the claim is about rows.

    Examples
    --------
    >>> from rosenblatt import CertificateError, separability
    >>> verdict = separability([[0.0], [1.0]], [0, 1])
    >>> try:
    ...     verdict.verify([[1.0], [0.0]], [0, 1])  # other rows than those of the proof
    ... except CertificateError as error:
    ...     print(error)
    coef: puts this row on the plane or on the wrong side (row 0)
    """

    def __init__(self, claim: str, why: str, row: int | None = None) -> None:
        super().__init__(f"{claim}: {why}" + ("" if row is None else f" (row {row})"))
        self.claim, self.row = claim, row

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_error, (self.claim, self.args[0], self.row)


def _rebuild_error(claim: str, text: str, row: int | None) -> CertificateError:
    error = CertificateError(claim, "", row)
    error.args = (text,)
    return error


@dataclass(frozen=True)
class LazyField:
    """A field that is computed when it is first accessed."""

    find: Callable[[], Any]


# -- text ------------------------------------------------------------------------------------------------------------


def _encode(value: Any) -> Any:
    """The value in a form that JSON can hold without loss."""
    if isinstance(value, Fraction):
        return {"fraction": [hex(value.numerator), hex(value.denominator)]}
    if isinstance(value, float):
        return {"double": value.hex()}
    if isinstance(value, np.ndarray):
        return {"doubles": [float(entry).hex() for entry in value]}
    if isinstance(value, Mapping):
        return {"map": [[_encode(key), _encode(entry)] for key, entry in value.items()]}
    if isinstance(value, tuple):
        return {"list": [_encode(entry) for entry in value]}
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"A certificate cannot store {value!r}: labels must be numbers or text.")


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, held),) = value.items()
    if kind == "fraction":
        return Fraction(int(held[0], 16), int(held[1], 16))
    if kind == "double":
        return float.fromhex(held)
    if kind == "doubles":
        return np.array([float.fromhex(entry) for entry in held])
    if kind == "map":
        return {_decode(key): _decode(entry) for key, entry in held}
    return tuple(_decode(entry) for entry in held)


def document_digest(document: dict[str, Any]) -> str:
    """The SHA-256 of a document, computed with its own sha256 field left blank."""
    text = json.dumps({**document, "sha256": ""}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; refuses duplicate keys, of which a reader would see only the last value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it contains a key twice")
    return found


def parse_certificate(text: str, kind: str) -> dict[str, Any]:
    """Parse the text of a certificate, which must be of this kind and unedited."""
    try:
        document = json.loads(text, object_pairs_hook=_unique_keys)
        told = document["sha256"]
        if document["certificate"] != kind:
            raise CertificateError("certificate", f"is a {document['certificate']!r}, not a {kind!r}")
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError("text", f"is not a certificate: {error}") from error
    if told != document_digest(document):
        raise CertificateError("sha256", "the text has been edited")
    return dict(document)


class CertificateRecord:
    """What all certificates share: conversion to text and back, equality, lazily computed fields."""

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        waiting = {name: value for name, value in self.__dict__.items() if isinstance(value, LazyField)}
        for name in waiting:
            del self.__dict__[name]
        self.__dict__["_waiting"] = waiting

    def __getattr__(self, name: str) -> Any:
        waiting = self.__dict__.get("_waiting", {})
        if name not in waiting:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__[name] = value = waiting[name].find()
        del waiting[name]
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {**{field.name: getattr(self, field.name) for field in fields(self)}, "_waiting": {}}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def to_json(self) -> str:
        """The record as text, with a SHA-256 over it."""
        held = {field.name: _encode(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        document = {"certificate": self.kind, "format": 1, **held}
        return json.dumps({**document, "sha256": document_digest(document)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Any:
        """Read the record that `to_json` wrote; refuse text that was edited."""
        document = parse_certificate(text, cls.kind)
        declared = fields(cls)  # type: ignore[arg-type]
        known = [field.name for field in declared if field.name in document or field.default is MISSING]
        return cls(**{name: _decode(document[name]) for name in known})
