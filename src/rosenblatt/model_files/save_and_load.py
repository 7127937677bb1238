"""Model files: safetensors, with the model as JSON in its header and a SHA-256 of the whole file.

Loading runs no code from the file. The digest covers every byte of the file, with its own 64 digits as zeros, so that
any damage is detected; it is not a signature, and does not prevent forgery. A forged file can therefore hold any
numbers, but only in arrays of consistent shapes, and only counters, flags and indices that training leaves
(`formats.declared_fields`), so that compiled code never reads or writes outside them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any, BinaryIO

import safetensors.numpy

from rosenblatt._version import __version__
from rosenblatt.formats.errors import FileError, NewerFormatError
from rosenblatt.formats.safe_writing import os_error_message, replace_atomically
from rosenblatt.model_files.encoding import UNSTORED, Arrays, build, check_depth, describe, is_stored
from rosenblatt.shell.fitted import check_whole, renew

FORMAT = 2  # format 1 was never released
BLANK = "0" * 64
LONGEST_HEADER = 100_000_000  # safetensors' own limit


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model, fitted or not, to a file that is safe to load.

    The file holds the parameters, the report and everything that `partial_fit` needs to continue. It is written under
    a temporary name and renamed when it is complete: after a kill or with a full disk the old file is intact.

    Parameters
    ----------
    model : estimator of rosenblatt
        A model that holds a function, such as a callable `learning_rate`, is refused.
    path : path
        The file to write.

    Raises
    ------
    FileError
        If the model cannot be stored, or the file cannot be written.

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
    kind = type(model).__name__
    if not is_stored(model):
        if kind == UNSTORED:
            raise FileError(f"a {kind} is not stored: save the model that it found, its best_estimator_")
        raise FileError(f"only estimators of rosenblatt can be saved, got {kind}")
    arrays = Arrays()
    try:
        check_depth(model.get_params(deep=False))  # before a message that would show them
        _check_whole(model)
        header = {"sha256": BLANK, "format": FORMAT, "library": __version__, **describe(model, arrays)}
        check_depth(header)
    except (RecursionError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"this {kind} is nested too deeply: {error}") from error
    text = json.dumps(header, allow_nan=False, separators=(",", ":"))
    blank = bytes(safetensors.numpy.save(arrays.stored, metadata={"rosenblatt": text}))
    at = _digest_place(blank, BLANK)
    return blank[:at] + hashlib.sha256(blank).hexdigest().encode() + blank[at + 64 :]


def _check_whole(model: Any) -> None:
    """Refuse a model that could not be loaded again."""
    try:
        check_whole(model)
    except Exception as error:
        raise FileError(f"this {type(model).__name__} is not in a state that `fit` can produce: {error}") from error


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Nothing from the file is run, and a file that was altered in any byte is refused.

    Parameters
    ----------
    path : path
        The model file.

    Returns
    -------
    estimator

    Raises
    ------
    FileError
        If the file is missing, damaged or not a model; `NewerFormatError` if a newer rosenblatt wrote it.

    Examples
    --------
    >>> import rosenblatt, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model")
    >>> _ = path.write_bytes(b"not a model")
    >>> try:
    ...     rosenblatt.load(path)
    ... except rosenblatt.FileError as error:
    ...     print(error.what)
    not a rosenblatt model file: its header is missing
    """
    try:
        with open(path, "rb") as file:
            begin = _beginning(file)
            _header(begin)  # refuses a large file of another kind without reading it to its end
            data = begin + file.read()
        return from_bytes(data)
    except OSError as error:
        raise FileError(os_error_message("read", error), path) from error
    except FileError as error:
        raise type(error)(error.what, path) from error


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether the file has the header of a model file, complete or not."""
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
        raise FileError("not a rosenblatt model file: its header describes no model") from error
    if not isinstance(version, int) or version < 1:
        raise FileError(f"not a rosenblatt model file: its format is {version!r}")
    if version > FORMAT:
        raise NewerFormatError(
            f"written in format {version} by rosenblatt {about.get('library')}; "
            f"this is rosenblatt {__version__}, which reads formats up to {FORMAT}: update it"
        )
    if version < FORMAT:
        raise FileError("written by a rosenblatt from before its first release: train the model again")
    at = _digest_place(data, digest)
    if hashlib.sha256(data[:at] + BLANK.encode() + data[at + 64 :]).hexdigest() != digest:
        raise FileError("altered or damaged: its SHA-256 does not match")
    try:
        check_depth(about)
        arrays = Arrays(safetensors.numpy.load(data))
        model = build(about, arrays)
        renew(model)
        check_whole(model)
        return model
    except FileError:
        raise
    except Exception as error:  # a forged file may be wrong in any way; all give the same error
        raise FileError(f"not a model that rosenblatt wrote: {error}") from error


def _header(data: bytes) -> dict[str, Any]:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(len(data) - 8, LONGEST_HEADER):
        raise FileError("not a rosenblatt model file: its header is missing")
    try:
        header = json.loads(data[8 : 8 + length])
    except (ValueError, RecursionError) as error:
        raise FileError("not a rosenblatt model file: its header cannot be read") from error
    if not isinstance(header, dict):
        raise FileError("not a rosenblatt model file: its header cannot be read")
    return header


def _digest_place(data: bytes, digest: Any) -> int:
    """The offset of the 64 digits of the digest: in JSON within JSON, before any content of the model."""
    if not (isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)):
        raise FileError("not a rosenblatt model file: its SHA-256 is missing")
    before = rb"{\"sha256\":\""
    found = data.find(before + digest.encode())
    if found < 0:
        raise FileError("not a rosenblatt model file: its SHA-256 is missing")
    return found + len(before)
