"""Scores of predicted tags: tokens, sentences, and chunks as the CoNLL shared tasks' `conlleval` counts them.

A chunk is a run of tokens of one kind. It is right if a gold chunk has the same first and last token and kind. Letters
are read as `conlleval` reads them, whatever the scheme: a chunk begins at B and S, at I and E after O, E or S, and
wherever the kind changes; it ends after E and S, before B, S and O, and wherever the kind changes. That covers IOB1,
IOB2 and IOBES.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from rosenblatt.sequence.constraints import split_tag
from rosenblatt.sequence.sentences import flat_tags

Array = np.ndarray[Any, Any]
LETTERS = "OBIES"
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)


@dataclass(frozen=True)
class ChunkCounts:
    """Chunks of one kind, or of all.

    Attributes
    ----------
    gold, found, right : int
        The gold chunks, the predicted chunks, and the predicted chunks that are right.

    Examples
    --------
    >>> from rosenblatt.records import ChunkCounts
    >>> counts = ChunkCounts(gold=10, found=8, right=6)
    >>> counts.precision, counts.recall, round(counts.f1, 3)
    (0.75, 0.6, 0.667)
    """

    gold: int
    found: int
    right: int

    @property
    def precision(self) -> float:
        """The share of predicted chunks that are right."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of gold chunks that were found."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.right / (self.gold + self.found) if self.right else 0.0

    def __str__(self) -> str:
        return f"precision {self.precision:.4f}, recall {self.recall:.4f}, F1 {self.f1:.4f} ({self.gold:,} chunks)"


@dataclass(frozen=True)
class SequenceScores:
    """The scores of predicted tags.

    Attributes
    ----------
    tokens, right_tokens : int
        The number of tokens, and of those whose tag is right.
    sentences, right_sentences : int
        A sentence is right if all of its tags are.
    chunks : ChunkCounts or None
        The counts of all kinds together; None if the tags are not those of chunks.
    kinds : dict
        From each kind of chunk to its `ChunkCounts`.

    Examples
    --------
    >>> from rosenblatt import sequence_scores
    >>> scores = sequence_scores([["B-NP", "I-NP", "O"]], [["B-NP", "O", "O"]])
    >>> scores.right_tokens, scores.tokens, scores.chunks.right
    (2, 3, 0)
    """

    tokens: int
    right_tokens: int
    sentences: int
    right_sentences: int
    chunks: ChunkCounts | None
    kinds: dict[str, ChunkCounts]

    @property
    def accuracy(self) -> float:
        """The share of tokens with the right tag."""
        return self.right_tokens / self.tokens if self.tokens else 0.0

    @property
    def sentence_accuracy(self) -> float:
        """The share of sentences with all tags right."""
        return self.right_sentences / self.sentences if self.sentences else 0.0

    def __str__(self) -> str:
        lines = [
            f"  accuracy  {self.accuracy:.4f} of {self.tokens:,} tokens, "
            f"{self.sentence_accuracy:.4f} of {self.sentences:,} sentences"
        ]
        if self.chunks is not None:
            lines.append(f"  chunks    {self.chunks}")
            width = max(map(len, self.kinds), default=0)
            lines += [f"    {kind:<{width}}  {counts}" for kind, counts in self.kinds.items()]
        return "\n".join(lines)


def sequence_scores(y_true: Sequence[Any], y_pred: Sequence[Any]) -> SequenceScores:
    """Compare predicted tags with gold tags: by token, by sentence, and by chunk as `conlleval` counts them.

    Parameters
    ----------
    y_true, y_pred : sequences of tag sequences
        The gold and the predicted tags of the same sentences. Tags such as B-NP, I-NP and O (IOB1, IOB2 or IOBES) are
        also scored as chunks.

    Returns
    -------
    SequenceScores

    Examples
    --------
    >>> from rosenblatt import sequence_scores
    >>> gold = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP"]]
    >>> print(sequence_scores(gold, [["B-NP", "O", "O", "B-VP"], ["B-NP"]]))
      accuracy  0.8000 of 5 tokens, 0.5000 of 2 sentences
      chunks    precision 0.6667, recall 0.6667, F1 0.6667 (3 chunks)
        NP  precision 0.5000, recall 0.5000, F1 0.5000 (2 chunks)
        VP  precision 1.0000, recall 1.0000, F1 1.0000 (1 chunks)
    """
    lengths = np.array([len(tags) for tags in y_true], dtype=np.int64)
    gold = list(chain.from_iterable(y_true))
    try:
        said = flat_tags(y_pred, lengths)
    except ValueError as error:
        raise ValueError(f"y_true and y_pred must be of the same sentences. {error}") from None
    names = sorted(set(gold) | set(said), key=str)
    codes = {tag: code for code, tag in enumerate(names)}
    left, right = (np.array([codes[tag] for tag in tags], dtype=np.int64) for tags in (gold, said))
    wrong = np.append(0, np.cumsum(left != right))
    ends = np.append(0, np.cumsum(lengths))
    wrong_sentences = int(np.count_nonzero(np.diff(wrong[ends])))
    chunks, kinds = _chunk_counts(names, left, right, lengths)
    return SequenceScores(
        len(gold), len(gold) - int(wrong[-1]), lengths.size, lengths.size - wrong_sentences, chunks, kinds
    )


def _chunk_counts(
    names: list[Any], gold: Array, said: Array, lengths: Array
) -> tuple[ChunkCounts | None, dict[str, ChunkCounts]]:
    """The chunks of all kinds and of each; None if the tags are not those of chunks."""
    parts = [split_tag(name) if isinstance(name, str) else ("", "") for name in names]
    if not all(letter in tuple(LETTERS) for letter, _ in parts) or all(letter == "O" for letter, _ in parts):
        return None, {}
    letters = np.array([LETTERS.index(letter) for letter, _ in parts])
    kinds = sorted({kind for letter, kind in parts if letter != "O"})
    kind_of = np.array([-1 if letter == "O" else kinds.index(kind) for letter, kind in parts])
    found = [_spans(letters[tags], kind_of[tags], lengths) for tags in (gold, said)]
    same = np.isin(_keys(found[0], len(kinds), gold.size), _keys(found[1], len(kinds), gold.size))
    counts = [np.bincount(part, minlength=len(kinds)) for part in (found[0][:, 2], found[1][:, 2], found[0][same, 2])]
    each = {kind: ChunkCounts(*(int(count[k]) for count in counts)) for k, kind in enumerate(kinds)}
    return ChunkCounts(*(int(count.sum()) for count in counts)), each


def _keys(spans: Array, kinds: int, tokens: int) -> Array:
    return (spans[:, 0] * (tokens + 1) + spans[:, 1]) * kinds + spans[:, 2]


def _spans(letters: Array, kinds: Array, lengths: Array) -> Array:
    """First token, last token and kind of each chunk."""
    first = np.zeros(letters.size, dtype=bool)
    bounds = np.append(0, np.cumsum(lengths))
    first[bounds[:-1][lengths > 0]] = True
    before, kind_before = np.append(OUTSIDE, letters[:-1]), np.append(-1, kinds[:-1])
    before[first], kind_before[first] = OUTSIDE, -1
    inside = (letters == INSIDE) | (letters == END)
    goes_on = inside & np.isin(before, (BEGIN, INSIDE)) & (kinds == kind_before)
    begins = (letters != OUTSIDE) & ~goes_on
    ends = (letters != OUTSIDE) & np.append(~goes_on[1:], True)
    return np.stack([np.flatnonzero(begins), np.flatnonzero(ends), kinds[begins]], axis=1)
