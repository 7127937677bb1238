"""The lattice of a sentence: all tags of all tokens, with the right and the predicted path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.show.pictures.drawing import COLOURS, Display
from rosenblatt.show.sequence_trace import Lattice, lattice_of

MOST_TAGS, MOST_TOKENS = 60, 60


@dataclass
class LatticeDisplay(Display):
    """Viterbi's table of a sentence, with the best path and the gold path.

    Use `from_estimator`.

    Attributes
    ----------
    lattice : Lattice
    gold : list or None
        The gold tags.
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from rosenblatt import LatticeDisplay, SequencePerceptron
    >>> sentence, tags = [["the"], ["dog"], ["barks"]], ["D", "N", "V"]
    >>> model = SequencePerceptron(random_state=0).fit([sentence], [tags])
    >>> LatticeDisplay.from_estimator(model, sentence, tags).lattice.path
    ('D', 'N', 'V')
    """

    lattice: Lattice
    gold: list[Any] | None

    @classmethod
    def from_estimator(
        cls, model: Any, sentence: Sequence[Any], tags: Sequence[Any] | None = None, *, ax: Any = None
    ) -> LatticeDisplay:
        """Draw the lattice of a sentence.

        Parameters
        ----------
        model : fitted SequencePerceptron
        sentence : sequence of tokens
        tags : sequence of tags, optional
            The gold tags.
        ax : matplotlib axes, optional

        Returns
        -------
        LatticeDisplay
        """
        lattice = lattice_of(model, sentence)
        if not 0 < len(lattice.tokens) <= MOST_TOKENS or len(lattice.tags) > MOST_TAGS:
            raise ValueError(
                f"A lattice is drawn for 1 to {MOST_TOKENS} tokens and at most {MOST_TAGS} tags; this has "
                f"{len(lattice.tokens)} tokens and {len(lattice.tags)} tags."
            )
        gold = None if tags is None else list(tags)
        if gold is not None and (len(gold) != len(lattice.tokens) or not set(gold) <= set(lattice.tags)):
            raise ValueError("tags must be tags of the model, one per token.")
        return cls(lattice, gold).plot(ax=ax)

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


def plot_lattice(model: Any, sentence: Sequence[Any], tags: Sequence[Any] | None = None, *, ax: Any = None) -> Any:
    """Plot the tags of a sentence with their scores, the best path and the gold path.

    Parameters
    ----------
    model : fitted SequencePerceptron
    sentence : sequence of tokens
    tags : sequence of tags, optional
    ax : matplotlib axes, optional
        All as in `LatticeDisplay.from_estimator`.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from rosenblatt import SequencePerceptron, plot_lattice
    >>> sentence, tags = [["the"], ["dog"], ["barks"]], ["D", "N", "V"]
    >>> model = SequencePerceptron(random_state=0).fit([sentence], [tags])
    >>> [tick.get_text() for tick in plot_lattice(model, sentence, tags).get_xticklabels()]
    ['the', 'dog', 'barks']
    """
    return LatticeDisplay.from_estimator(model, sentence, tags, ax=ax).ax_
