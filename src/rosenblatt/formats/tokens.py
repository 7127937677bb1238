"""The words of texts: which characters belong to words, and a text cut into words in lower case."""

from __future__ import annotations

import functools
import unicodedata
from typing import Any

import numpy as np

from rosenblatt.compiled.machine_code import exactly

Array = np.ndarray[Any, Any]
UNSPACED = r"\p{Han}|\p{Hiragana}|\p{Katakana}"
LETTERS_END = 0x40000  # beyond it Unicode has no letters, and these marks
VARIATION_SELECTORS = slice(0xE0100, 0xE01F0)
LEAST_LENGTH = 2  # characters of a word
SPACE, WIDE = 32, 1
BETWEEN, WITHIN, ALONE = 0, 1, 2  # a character that separates words, belongs to a word, or is one


@exactly
def split_words(
    data: Array, at: Any, stop: int, characters: tuple[Array, Array], words: Array, ends: Array, count: Any
) -> Any:
    """Append the words of a text that ends with the byte `stop` to `words`, with a space after each.

    Returns the number of words, of which there were `count` before, and where the text ends. The first array of
    `characters` has for each byte itself in lower case, BETWEEN, or WIDE if it starts a character of several bytes;
    the second has the class of each wide character. Words of a single character are left out.
    """
    kinds, wide = characters
    begin = ends[count - 1] + 1 if count > 0 else 0
    used, length = begin, 0
    while True:
        c = data[at]
        kind, size, alone = kinds[c], 1, False
        if kind > WIDE:
            words[used] = kind
            used += 1
            length += 1
            at += 1
            continue
        if kind == WIDE:
            size = 2 if c < 0xE0 else 3 if c < 0xF0 else 4
            point = np.int64(c) & (0xFF >> (size + 1))
            for j in range(1, size):
                point = (point << 6) | (np.int64(data[at + j]) & 0x3F)
            if wide[point] == WITHIN:
                for j in range(size):
                    words[used + j] = data[at + j]
                used += size
                length += 1
                at += size
                continue
            alone = wide[point] == ALONE
        if length >= LEAST_LENGTH:
            ends[count] = used
            count += 1
            words[used] = SPACE
            used += 1
            begin = used
        used, length = begin, 0
        if alone:
            for j in range(size):
                words[used + j] = data[at + j]
            ends[count] = used + size
            count += 1
            words[used + size] = SPACE
            used += size + 1
            begin = used
        if c == stop:
            return count, at
        at += size


def characters_of(tokens: str, ascii_only: bool = False) -> tuple[Array, Array]:
    r"""The classes of characters that `split_words` uses.

    "sklearn": words are of letters, digits and underscores as \w matches them. "unicode": marks belong to words too,
    as vowels and accents of many scripts are marks; a character of Chinese and Japanese, which are written without
    spaces, is a word.
    """
    return _bytes(), _NO_WIDE if ascii_only else _wide(tokens)


_NO_WIDE = np.zeros(1, np.uint8)


@functools.cache
def _bytes() -> Array:
    kinds = np.zeros(256, np.uint8)
    for c in range(128):
        if chr(c).isalnum() or c == ord("_"):
            kinds[c] = ord(chr(c).lower())
    kinds[0xC0:0xF8] = WIDE
    return kinds


@functools.cache
def _wide(tokens: str) -> Array:
    table = np.zeros(0x110000, np.uint8)
    every = [chr(c) if not 0xD800 <= c < 0xE000 else " " for c in range(LETTERS_END)]
    if tokens == "sklearn":
        table[:LETTERS_END] = np.fromiter(map(str.isalnum, every), np.uint8, LETTERS_END)
        return table
    import pyarrow as pa
    import pyarrow.compute as pc

    table[:LETTERS_END] = np.fromiter((one[0] in "LNM" for one in map(unicodedata.category, every)), np.uint8)
    alone = pc.match_substring_regex(pa.array(every), UNSPACED).to_numpy(zero_copy_only=False)
    table[:LETTERS_END][alone] = ALONE
    table[VARIATION_SELECTORS] = WITHIN
    return table
