"""The file of a model as it is, whole or not: `save` refuses one that it could not load."""

import hashlib
import json

import safetensors.numpy

from rosenblatt.model_files.encoding import Arrays, describe
from rosenblatt.model_files.save_and_load import BLANK, FORMAT


def sealed(about, arrays):
    """A file with any content and a digest that is right."""
    text = json.dumps({"sha256": BLANK, **{k: v for k, v in about.items() if k != "sha256"}}, separators=(",", ":"))
    blank = bytes(safetensors.numpy.save(arrays, metadata={"rosenblatt": text}))
    return blank.replace(BLANK.encode(), hashlib.sha256(blank).hexdigest().encode(), 1)


def file_of(model):
    """The bytes of a model's file, unchecked."""
    arrays = Arrays()
    return sealed({"format": FORMAT, "library": "forged", **describe(model, arrays)}, arrays.stored)
