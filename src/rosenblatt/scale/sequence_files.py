"""Sequence learners from files of CoNLL columns, with checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

from rosenblatt.formats.byte_sources import expand_paths, refuse_overwriting_inputs
from rosenblatt.formats.conll import read_conll
from rosenblatt.scale.checkpoints import Checkpoint
from rosenblatt.scale.progress import Progress, followed
from rosenblatt.sequence.sequence_perceptron import training_steps
from rosenblatt.shell.fitting import as_it_was


def sequence_training(
    estimator: Any, source: Any, *, checkpoint: str | PathLike[str] | None = None, resume: bool = False
) -> Iterator[Progress]:
    """Train from CoNLL columns, step by step: yields the progress after each epoch."""
    if estimator.template is None:
        name = type(estimator).__name__
        raise ValueError(
            f"{name} needs a template to learn from files of CoNLL columns: use fit, in memory, or set template."
        )
    if checkpoint is not None:
        refuse_overwriting_inputs(expand_paths(source), [checkpoint])
        if estimator.early_stopping:
            raise ValueError("early_stopping compares the epochs of one run: it cannot be resumed from a checkpoint.")
    point = Checkpoint.at(checkpoint, resume)
    with point.named(), as_it_was(estimator):
        X, y = read_conll(source)
        steps = training_steps(estimator, X, y, save=point.save, resume=point.resume if resume else None)
        yield from followed(steps, lambda: (len(X), 0), point.epochs)
