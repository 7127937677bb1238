"""Model files: safetensors, with the model as JSON in its header and a SHA-256 over all of it.

Loading runs no code from the file. The digest covers every byte of the file, its own 64 digits taken as zeros, so
that no altered file is accepted; it is a seal against damage, not a signature against forgery. A forged file can
therefore hold any numbers, but only in arrays that fit together (`consistency`): compiled code never reads outside
them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any, BinaryIO

import safetensors.numpy

from rosenblatt._version import __version__
from rosenblatt.data.errors import FileError, NewerFormatError
from rosenblatt.data.safe_writing import os_error_message, replace_atomically
from rosenblatt.persist.encoding import Arrays, build, check_depth, describe, is_ours

FORMAT = 1
BLANK = "0" * 64
LONGEST_HEADER = 100_000_000  # safetensors' own limit


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
    with replace_atomically(path, follow=True) as file:
        file.write(to_bytes(model))


def to_bytes(model: Any) -> bytes:
    """The model file, as bytes."""
    if not is_ours(model):
        raise FileError(f"only estimators of rosenblatt are saved, and {type(model).__name__} is none")
    try:
        model._check_whole()  # what could not be loaded is not saved
    except Exception as error:
        raise FileError(f"this {type(model).__name__} is not as `fit` leaves it: {error}") from error
    arrays = Arrays()
    try:
        header = {"sha256": BLANK, "format": FORMAT, "library": __version__, **describe(model, arrays)}
        check_depth(header)
    except (RecursionError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"this {type(model).__name__} holds too much within itself: {error}") from error
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
        with open(path, "rb") as file:
            begin = _beginning(file)
            _header(begin)  # a large file of another kind is not read to its end
            data = begin + file.read()
        return from_bytes(data)
    except OSError as error:
        raise FileError(os_error_message("read", error), path) from error
    except FileError as error:
        raise type(error)(error.what, path) from error


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether the file says of itself that it is a model file, whole or not."""
    try:
        with open(path, "rb") as file:
            return "rosenblatt" in _header(_beginning(file))["__metadata__"]
    except (OSError, FileError, KeyError, TypeError):
        return False


def _beginning(file: BinaryIO) -> bytes:
    """The length of the header, and the header, of a model file."""
    length = file.read(8)
    return length + file.read(min(int.from_bytes(length, "little"), LONGEST_HEADER))


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
        check_depth(about)
        arrays = Arrays(safetensors.numpy.load(data))
        model = build(about["class"], about, arrays)
        model._renew()
        model._check_whole()
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
