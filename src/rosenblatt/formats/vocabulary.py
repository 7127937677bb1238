"""`Vocabulary`: names, numbered; a dictionary while it is used, two arrays in a model file."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from rosenblatt.formats.declared_fields import integers, must

Array = np.ndarray[Any, Any]


class Vocabulary:
    """Distinct names, numbered from 0.

    Model files store it as `text`, all names in UTF-8 without separators, and `ends`, where each name ends. The arrays
    and the dictionary are computed from each other on first use.

    Examples
    --------
    >>> from rosenblatt.formats.vocabulary import Vocabulary
    >>> words = Vocabulary.of(["the", "dog"])
    >>> words.index["dog"], words.ends.tolist(), bytes(words.text)
    (1, [3, 6], b'thedog')
    """

    text: Annotated[Array, integers("bytes", dtype=np.uint8)]
    ends: Annotated[Array, integers("names", dtype=np.int64)]
    _fields = ("text", "ends")

    def __init__(self, text: Array, ends: Array) -> None:
        self.text, self.ends = text, ends

    @classmethod
    def of(cls, names: Iterable[str]) -> Vocabulary:
        """These names, numbered in order; a dictionary from names to numbers, in order, is used without a copy."""
        made = cls.__new__(cls)
        made.index = names if isinstance(names, dict) else {name: number for number, name in enumerate(names)}
        return made

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """The number of each name."""
        return {name: number for number, name in enumerate(self.names)}

    @functools.cached_property
    def names(self) -> list[str]:
        """All names, by number."""
        if "index" in vars(self):
            return list(self.index)
        whole, bounds = self.text.tobytes(), [0, *self.ends.tolist()]
        if whole.isascii():
            text = whole.decode()
            return [text[begin:end] for begin, end in pairwise(bounds)]
        return [whole[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(bounds)]

    @functools.cached_property
    def _arrays(self) -> tuple[Array, Array]:
        encoded = [name.encode("utf-8", "surrogatepass") for name in self.index]
        ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, count=len(encoded)))
        return np.frombuffer(b"".join(encoded), dtype=np.uint8).copy(), ends

    def __getattr__(self, name: str) -> Any:
        if name in Vocabulary._fields and "index" in vars(self):
            return self._arrays[Vocabulary._fields.index(name)]
        raise AttributeError(name)

    def __len__(self) -> int:
        return len(self.index) if "index" in vars(self) else int(self.ends.size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.names == other.names

    __hash__ = None  # type: ignore[assignment]

    def check(self) -> None:
        """Refuse arrays that are not the names of a vocabulary."""
        ends = self.ends
        ordered = (ends >= 0).all() and (ends[1:] >= ends[:-1]).all()  # without a subtraction, which could overflow
        must(ordered and int(ends[-1] if ends.size else 0) == self.text.size, "the names of a vocabulary")
        must(len(set(self.names)) == ends.size, "distinct names in a vocabulary")
