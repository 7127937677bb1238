"""A record of every visit of a sequence perceptron to a sentence: scores, Viterbi's table, paths, and what moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from rosenblatt.learn.epochs import InMemory, Training
from rosenblatt.learn.number_format import counted, format_number
from rosenblatt.plot.sentence_lattice import Lattice, decoded_lattice, token_names
from rosenblatt.sequence.sequence_perceptron import SequencePerceptron, begun
from rosenblatt.sequence.solver import PathModel, SequenceSolver

MOST_VISITS = 1000  # about where a trace ends
MOST_SHOWN = 20  # steps that are printed


@dataclass(frozen=True)
class SentenceStep:
    """One visit to a sentence.

    Attributes
    ----------
    number, epoch : int
        Counted from 1.
    sentence : int
        The sentence visited, from 0.
    lattice : Lattice
        Before the visit, by the weights that decode; with rule="pa" a wrong tag costs 1.
    gold : tuple
        The tags it should have.
    moved : tuple of (str, tag, float)
        Each feature, or "tag before →", with the tag and the change of the weight; empty if the path was right.

    Examples
    --------
    >>> from rosenblatt import SequencePerceptron, trace
    >>> sentence, tags = [["the"], ["dog"], ["barks"]], ["D", "N", "V"]
    >>> step = trace([sentence], [tags], SequencePerceptron(random_state=0)).steps[0]
    >>> step.lattice.path, step.gold, len(step.moved)
    (('D', 'D', 'D'), ('D', 'N', 'V'), 7)
    """

    number: int
    epoch: int
    sentence: int
    lattice: Lattice
    gold: tuple[Any, ...]
    moved: tuple[tuple[str, Any, float], ...]

    @property
    def updated(self) -> bool:
        """Whether weights moved."""
        return bool(self.moved)

    def __str__(self) -> str:
        lines = [f"step {self.number}, epoch {self.epoch}, sentence {self.sentence}", str(self.lattice)]
        lines.append(f"best path  {' '.join(map(str, self.lattice.path))}")
        if self.lattice.path != self.gold:
            lines.append(f"gold path  {' '.join(map(str, self.gold))}")
        moved = ", ".join(f"{name} {tag} {'+' if by > 0 else ''}{format_number(by)}" for name, tag, by in self.moved)
        lines.append(f"moved      {moved}" if moved else "nothing moved")
        return "\n".join(lines)


@dataclass(frozen=True)
class SequenceTrace:
    """Every visit of a training run. Made by `trace`; prints as tables that can be checked by hand.

    Attributes
    ----------
    steps : tuple of SentenceStep
        The visits, in order.
    outcome : str
        As in `Report`.

    Examples
    --------
    >>> from rosenblatt import SequencePerceptron, trace
    >>> sentence, tags = [["the"], ["dog"], ["barks"]], ["D", "N", "V"]
    >>> run = trace([sentence], [tags], SequencePerceptron(random_state=0))
    >>> len(run), run.outcome
    (2, 'separated')
    """

    steps: tuple[SentenceStep, ...]
    outcome: str

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[SentenceStep]:
        return iter(self.steps)

    @property
    def updates(self) -> tuple[SentenceStep, ...]:
        """The steps that moved weights."""
        return tuple(step for step in self.steps if step.updated)

    def __str__(self) -> str:
        shown = [str(step) for step in self.steps[:MOST_SHOWN]]
        if len(self.steps) > MOST_SHOWN:
            shown.append(f"… and {len(self.steps) - MOST_SHOWN:,} more steps")
        count = len(self.updates)
        how = "not separated" if self.outcome == "budget" else self.outcome
        shown.append(f"{how} after {counted(count, 'update')} in {counted(len(self.steps), 'step')}")
        return "\n\n".join(shown)


def trace_sentences(X: Any, y: Any, model: SequencePerceptron) -> SequenceTrace:
    """Every visit of `model.fit(X, y)`, which is run on a copy."""
    learner = clone(model)
    solver, sentences, names = begun(learner, X, y)
    plan, tags, given = solver.plan, sentences.classes.tolist(), [token_names(sentence) for sentence in X]
    steps: list[SentenceStep] = []

    def watch(solver: SequenceSolver, sentence: int, before: PathModel | None) -> PathModel | None:
        """Called before a visit, to copy the weights, and after it, with them."""
        now = solver.state.last(plan.forbidden)
        if before is None:
            return PathModel(now.slots.copy(), now.rows.copy(), now.transitions.copy(), now.forbidden)
        begin, end = int(sentences.bounds[sentence]), int(sentences.bounds[sentence + 1])
        gold = sentences.target[begin:end]
        wrong = (np.arange(len(tags)) != gold[:, None]).astype(np.float32)
        cost = wrong if plan.rule.aggressive else None
        lattice = decoded_lattice(before, sentences.token_rows, sentence, tags, given[sentence], cost)
        moved = tuple(_moved(before, now, names, tags))
        right = tuple(tags[code] for code in gold.tolist())
        steps.append(SentenceStep(len(steps) + 1, solver.state.epoch + 1, sentence, lattice, right, moved))
        return None

    solver.watch = watch
    source: Any = InMemory(sentences)  # type: ignore[arg-type]
    limit = min(learner.max_epochs, max(1, MOST_VISITS // sentences.size))
    run = Training(solver, source, limit)
    for _ in run:
        pass
    return SequenceTrace(tuple(steps), run.outcome)


def _moved(before: PathModel, now: PathModel, names: list[str], tags: list[Any]) -> Iterator[tuple[str, Any, float]]:
    """What a visit added to each weight."""
    K = len(tags)
    change = now.rows[now.slots[:-1], :K].astype(np.float64) - before.rows[before.slots[:-1], :K]
    for feature, k in np.argwhere(change):
        yield names[feature], tags[k], float(change[feature, k])
    pairs = (now.transitions - before.transitions)[: K + 1, :K]
    for j, k in np.argwhere(pairs):
        yield f"{tags[j] if j < K else 'start'} →", tags[k], float(pairs[j, k])
