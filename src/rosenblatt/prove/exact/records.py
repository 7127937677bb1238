"""Records that can be written as text and read back without loss, and that notice an edit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np


class CertificateError(ValueError):
    """A claim of a certificate is not true, or its text has been edited.

    Attributes
    ----------
    claim : str
        The name of the first claim that fails.
    row : int or None
        The row where it fails, if it is about one.
    """

    def __init__(self, claim: str, why: str, row: int | None = None) -> None:
        super().__init__(f"{claim}: {why}" + ("" if row is None else f" (row {row})"))
        self.claim, self.row = claim, row

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (self.claim, self.args[0], self.row)


def _revive(claim: str, text: str, row: int | None) -> CertificateError:
    error = CertificateError(claim, "", row)
    error.args = (text,)
    return error


@dataclass(frozen=True)
class Later:
    """A field that is found when it is first asked for."""

    find: Callable[[], Any]


# -- text ------------------------------------------------------------------------------------------------------------


def _encode(value: Any) -> Any:
    """What JSON can hold, without loss."""
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
    raise TypeError(f"A certificate cannot hold {value!r}: labels are numbers or names.")


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


def digest(document: dict[str, Any]) -> str:
    """The SHA-256 of a document whose own is left blank."""
    text = json.dumps({**document, "sha256": ""}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of two values under one key the reader would see only the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands in it twice")
    return found


def opened(text: str, kind: str) -> dict[str, Any]:
    """The document of a text, which must be of this kind and as it was written."""
    try:
        document = json.loads(text, object_pairs_hook=_once)
        told = document["sha256"]
        if document["certificate"] != kind:
            raise CertificateError("certificate", f"is a {document['certificate']!r}, not a {kind!r}")
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError("text", f"is no certificate: {error}") from error
    if told != digest(document):
        raise CertificateError("sha256", "the text has been edited")
    return dict(document)


class Record:
    """What all certificates share: text and back, equality, fields that are found later."""

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        waiting = {name: value for name, value in self.__dict__.items() if isinstance(value, Later)}
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
        return json.dumps({**document, "sha256": digest(document)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Any:
        """The record that `to_json` wrote; an edited text is refused."""
        document = opened(text, cls.kind)
        return cls(**{field.name: _decode(document[field.name]) for field in fields(cls)})  # type: ignore[arg-type]
