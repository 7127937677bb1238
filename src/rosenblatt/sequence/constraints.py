"""Which tags may follow each other when chunks are written as IOB1, IOB2 or IOBES.

A chunk tag is a letter and a kind, such as B-NP, or O outside of all chunks.

IOB2    a chunk begins with B: I-X follows only B-X or I-X.
IOB1    a chunk begins with I, and with B only right after a chunk of the same kind: B-X follows only B-X or I-X.
IOBES   a chunk is S alone, or B, any number of I, and E; B and I are followed only by I or E of the same kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.sequence.vector_rows import padded

Array = np.ndarray[Any, Any]
LETTERS = {"iob1": "IOB", "iob2": "IOB", "iobes": "IOBES"}
BOUNDARY = ("", "")  # the label before the first and after the last token


def split_tag(tag: str) -> tuple[str, str]:
    """The letter and the kind of a chunk tag, divided at the first hyphen."""
    letter, _, kind = tag.partition("-")
    return letter, kind


def forbidden_moves(tags: list[Any], scheme: str | None) -> Array:
    """−∞ where one tag may not follow another, else 0; the last two rows are the start and the end."""
    K = len(tags)
    moves = np.zeros((K + 2, padded(K)), dtype=np.float32)
    if scheme is None:
        return moves
    parts = [_chunk_tag(tag, scheme) for tag in tags]
    for k, tag in enumerate(parts):
        for j, before in enumerate(parts):
            if not _may_follow(before, tag, scheme):
                moves[j, k] = -np.inf
        if not _may_follow(BOUNDARY, tag, scheme):
            moves[K, k] = -np.inf
        if not _may_follow(tag, BOUNDARY, scheme):
            moves[K + 1, k] = -np.inf
    return moves


def lengths_without_path(moves: Array, longest: int) -> Array:
    """Whether no path is allowed through a sentence of 0, 1, … `longest` tokens."""
    tags = moves.shape[0] - 2
    allowed = moves[:, :tags] > -np.inf
    reached, found = allowed[tags], [False]
    seen: dict[bytes, int] = {}  # tags that can be reached, and after how many tokens
    while len(found) <= longest and reached.tobytes() not in seen:
        seen[reached.tobytes()] = len(found)
        found.append(not (reached & allowed[tags + 1]).any())
        reached = (reached[:, None] & allowed[:tags]).any(axis=0)
    if len(found) <= longest:  # from here on it repeats itself
        again = found[seen[reached.tobytes()] :]
        found += again * (1 + (longest - len(found)) // len(again))
    return np.array(found[: longest + 1])


def _chunk_tag(tag: Any, scheme: str) -> tuple[str, str]:
    letter, kind = split_tag(tag) if isinstance(tag, str) else ("", "")
    if letter not in tuple(LETTERS[scheme]):
        raise ValueError(
            f'constraints="{scheme}" needs tags such as {", ".join(LETTERS[scheme])} with a kind, as in B-NP, or O '
            f"alone; found {tag!r}."
        )
    return letter, kind


def _may_follow(before: tuple[str, str], tag: tuple[str, str], scheme: str) -> bool:
    """Whether a tag may follow another, or the boundary of the sentence."""
    letter, kind = tag
    same = before[1] == kind and before[0] in ("B", "I")  # inside a chunk of this kind, which may continue
    if scheme == "iob2":
        return letter != "I" or same
    if scheme == "iob1":
        return letter != "B" or same
    if before[0] in ("B", "I"):  # an open chunk must continue
        return letter in ("I", "E") and same
    return letter not in ("I", "E")


def check_paths(target: Array, bounds: Array, classes: list[Any], moves: Array, scheme: str | None) -> None:
    """Refuse gold tags that the constraints forbid, naming the first."""
    if scheme is None or not target.size:
        return
    K = len(classes)
    first = bounds[:-1].astype(np.int64)[np.diff(bounds.astype(np.int64)) > 0]
    before = np.empty(target.size, dtype=np.int64)
    before[1:] = target[:-1]
    before[first] = K
    bad = moves[before, target] < 0
    last = np.append(first[1:], target.size) - 1
    bad_end = moves[K + 1, target[last]] < 0
    if not bad.any() and not bad_end.any():
        return
    at = int(np.flatnonzero(bad)[0]) if bad.any() else int(last[np.flatnonzero(bad_end)[0]])
    sentence = int(np.searchsorted(bounds.astype(np.int64), at, side="right")) - 1
    where = f"Sentence {sentence}, token {at - int(bounds[sentence])}"
    told = repr(classes[target[at]])
    if not bad.any():
        told += " at the end of a sentence"
    else:
        told += " at the start of a sentence" if before[at] == K else f" after {classes[before[at]]!r}"
    raise ValueError(f'{where}: {told} is not {scheme.upper()}, which constraints="{scheme}" requires.')
