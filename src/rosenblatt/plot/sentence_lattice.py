"""The lattice of a sentence: all tags of all tokens, with the right and the predicted path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.learn.number_format import format_number
from rosenblatt.plot.drawing import COLOURS, Display
from rosenblatt.sequence.sentences import TokenRows
from rosenblatt.sequence.sequence_perceptron import SequencePerceptron, known_tokens
from rosenblatt.sequence.solver import PathModel
from rosenblatt.sequence.viterbi import decode_path, emit, new_scratch
from rosenblatt.shell.fitted import fitted

Array = np.ndarray[Any, Any]
MOST_TAGS, MOST_TOKENS = 60, 60


@dataclass(frozen=True)
class Lattice:
    """All tags of all tokens of a sentence, with their scores.

    Attributes
    ----------
    tokens : tuple of str
        The tokens of the sentence.
    tags : tuple
        The tags, in the order of the columns of the table.
    emissions : ndarray of shape (tokens, tags)
        The sum of the weights of a token's features.
    table : ndarray of shape (tokens, tags)
        Viterbi's table: the score of the best path to each tag of each token.
    path : tuple
        The best tags.

    Examples
    --------
    >>> from rosenblatt import SequencePerceptron, trace
    >>> sentence, tags = [["the"], ["dog"], ["barks"]], ["D", "N", "V"]
    >>> run = trace([sentence], [tags], SequencePerceptron(random_state=0))
    >>> print(run.steps[-1].lattice)
       the  dog  barks
    D   0*  −1      1
    N   0    2*     2
    V   0    1      4*
    """

    tokens: tuple[str, ...]
    tags: tuple[Any, ...]
    emissions: Array
    table: Array
    path: tuple[Any, ...]

    def __str__(self) -> str:
        """The table, a line per tag; the best path is marked by stars."""
        cells = [
            [f"{format_number(self.table[t, k])}{'*' if self.path[t] == tag else ' '}" for t in range(len(self.tokens))]
            for k, tag in enumerate(self.tags)
        ]
        first = max(len(str(tag)) for tag in self.tags)
        widths = [max(len(token), *(len(row[t]) for row in cells)) for t, token in enumerate(self.tokens)]
        head = f"{'':<{first}}  " + "  ".join(f"{token:>{w}}" for token, w in zip(self.tokens, widths, strict=True))
        rows = [
            f"{tag!s:<{first}}  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            for tag, row in zip(self.tags, cells, strict=True)
        ]
        return "\n".join(line.rstrip() for line in (head, *rows))


def lattice_of(model: SequencePerceptron, sentence: Any) -> Lattice:
    """The lattice of a sentence by a fitted model."""
    rows = known_tokens(model, [sentence])
    return decoded_lattice(fitted(model).model, rows, 0, model.classes_.tolist(), token_names(sentence))


def decoded_lattice(
    model: PathModel, rows: TokenRows, sentence: int, tags: list[Any], tokens: list[str], cost: Array | None = None
) -> Lattice:
    """The lattice of one of some sentences by given weights; `cost` is added to the scores of its tokens."""
    begin, end = rows.bounds[sentence], rows.bounds[sentence + 1]
    n, K = int(end - begin), len(tags)
    scratch = new_scratch(n, model.rows.shape[1])
    emit(rows.features, begin, end, model.slots, model.rows, scratch.emissions)
    if cost is not None and n:
        scratch.emissions[:n, :K] += cost
    decode_path(scratch.emissions, n, model.weights.moves, scratch.best, scratch.path)
    path = tuple(tags[code] for code in scratch.path[:n].tolist())
    return Lattice(tuple(tokens), tuple(tags), scratch.emissions[:n, :K].copy(), scratch.best[:n, :K].copy(), path)


def token_names(sentence: Any) -> list[str]:
    """A short name for each token: its first feature or column."""
    found = []
    for token in sentence:
        parts = list(token.items() if isinstance(token, dict) else [token] if isinstance(token, str) else token)
        first = parts[0] if parts else "∅"
        found.append(f"{first[0]}:{first[1]}" if isinstance(token, dict) and parts else str(first))
    return found


@dataclass(repr=False)
class LatticeDisplay(Display):
    """Viterbi's table of a sentence, with the best path and the gold path.

    Attributes
    ----------
    lattice : Lattice
    gold : list or None
        The gold tags.
    ax_, figure_ : set by `plot`
    """

    lattice: Lattice
    gold: list[Any] | None

    def _size(self) -> tuple[float, float]:
        return max(5.0, 0.9 * len(self.lattice.tokens) + 1.5), max(3.5, 0.35 * len(self.lattice.tags) + 1.5)

    def _draw(self, ax: Any) -> None:
        lattice = self.lattice
        n, K = lattice.table.shape
        across, up = np.meshgrid(np.arange(n), np.arange(K), indexing="ij")
        finite = np.where(np.isfinite(lattice.table), lattice.table, np.nan)
        # Along the sentence scores grow: each token's are compared with its own best.
        behind = finite - np.nanmax(finite, axis=1, keepdims=True)
        nodes = ax.scatter(across, up, c=behind, cmap="Blues", s=160, edgecolor="grey", zorder=2)
        ax.figure.colorbar(nodes, ax=ax, label="score behind the best")
        places = {tag: k for k, tag in enumerate(lattice.tags)}
        if self.gold is not None:
            heights = [places[tag] for tag in self.gold]
            ax.plot(range(n), heights, color=COLOURS[1], linewidth=5, alpha=0.7, label="gold path", zorder=1)
        heights = [places[tag] for tag in lattice.path]
        ax.plot(range(n), heights, color=COLOURS[7], linewidth=1.8, linestyle="--", label="best path", zorder=3)
        ax.set_xticks(range(n), lattice.tokens, rotation=30 if n > 6 else 0)
        ax.set_yticks(range(K), [str(tag) for tag in lattice.tags])
        ax.set(xlabel="token", ylabel="tag")
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1.01), ncols=2)


def lattice(
    model: Any, sentence: Sequence[Any], tags: Sequence[Any] | None = None, *, ax: Any = None
) -> LatticeDisplay:
    """Plot the tags of a sentence with their scores, the best path and the gold path.

    Parameters
    ----------
    model : fitted SequencePerceptron
        The model that tags the sentence.
    sentence : sequence of tokens
        The sentence to tag.
    tags : sequence of tags, optional
        The gold tags.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    LatticeDisplay

    Examples
    --------
    >>> from rosenblatt import SequencePerceptron, plot
    >>> sentence, tags = [["the"], ["dog"], ["barks"]], ["D", "N", "V"]
    >>> model = SequencePerceptron(random_state=0).fit([sentence], [tags])
    >>> display = plot.lattice(model, sentence, tags)
    >>> display.lattice.path
    ('D', 'N', 'V')
    >>> [tick.get_text() for tick in display.ax_.get_xticklabels()]
    ['the', 'dog', 'barks']
    """
    found = lattice_of(model, sentence)
    if not 0 < len(found.tokens) <= MOST_TOKENS or len(found.tags) > MOST_TAGS:
        raise ValueError(
            f"A lattice is drawn for 1 to {MOST_TOKENS} tokens and at most {MOST_TAGS} tags; this has "
            f"{len(found.tokens)} tokens and {len(found.tags)} tags."
        )
    gold = None if tags is None else list(tags)
    if gold is not None and (len(gold) != len(found.tokens) or not set(gold) <= set(found.tags)):
        raise ValueError("tags must be tags of the model, one per token.")
    return LatticeDisplay(found, gold).plot(ax=ax)
