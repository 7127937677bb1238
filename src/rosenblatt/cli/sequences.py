"""Sequence models on the command line: training from CoNLL columns, tagging, evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rosenblatt.formats.byte_sources import expand_paths
from rosenblatt.formats.conll import ColumnSentences, sentence_blocks
from rosenblatt.formats.errors import FileError
from rosenblatt.registry import family
from rosenblatt.sequence.chunks import ChunkCounts, SequenceScores, sequence_scores
from rosenblatt.sequence.templates import Template


def is_sequence_model(model: Any) -> bool:
    """Whether a model tags sentences."""
    return family(model) in ("sequences", "words")


def _takes_words(model: Any) -> bool:
    return family(model) == "words"


def _wanted_columns(model: Any) -> int:
    """The columns that a model needs: those of its template, or that of the word."""
    if _takes_words(model):
        return 1
    if model.template is None:
        raise ValueError("This model takes features by name, from Python; train it with --template to tag files.")
    return Template.parse(model.template).columns


def new_tagger(template: Path, parameters: dict[str, Any]) -> Any:
    """The estimator for a template file."""
    from rosenblatt.sequence.sequence_perceptron import SequencePerceptron

    try:
        text = template.read_text(encoding="utf-8-sig")
        Template.parse(text)
    except (ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
        raise FileError(str(reason), template) from error
    return SequencePerceptron(template=text, **parameters)


def _columns(model: Any, source: Any) -> Iterator[tuple[ColumnSentences, list[list[str]]]]:
    """The sentences of a file with the tags that the model predicts."""
    wanted, path = _wanted_columns(model), expand_paths(source)[0]
    for block in sentence_blocks(source):
        if block.cells.shape[1] < wanted:
            raise FileError(f"expected at least {wanted} columns, found {block.cells.shape[1]}", path)
        yield block, model.predict(block.column(0) if _takes_words(model) else block)


def tagged_lines(model: Any, source: Any) -> Iterator[str]:
    """The lines of a file with the predicted tag as one more column, some sentences at a time."""
    for block, tags in _columns(model, source):
        sentences = []
        for sentence, said in zip(block, tags, strict=True):
            sentences.append("".join(f"{' '.join(cells)} {tag}\n" for cells, tag in zip(sentence, said, strict=True)))
        yield "\n".join(sentences) + "\n"


def evaluate_tags(model: Any, source: Any) -> SequenceScores:
    """How good a model is on a file whose last column is the tag."""
    gold: list[list[str]] = []
    found: list[list[str]] = []
    for block, tags in _columns(model, source):
        if block.cells.shape[1] < _wanted_columns(model) + 1:
            raise FileError("expected a column with the tag after those that the model needs", expand_paths(source)[0])
        gold += block.column(block.cells.shape[1] - 1)
        found += [list(map(str, said)) for said in tags]
    if not gold:
        raise FileError("expected tokens, found none", expand_paths(source)[0])
    return sequence_scores(gold, found)


def scores_as_dict(scores: SequenceScores) -> dict[str, Any]:
    """The scores as data for JSON."""

    def counts(one: ChunkCounts) -> dict[str, Any]:
        measures = {"precision": one.precision, "recall": one.recall, "f1": one.f1}
        return {"gold": one.gold, "found": one.found, "right": one.right, **measures}

    return {
        "tokens": scores.tokens,
        "accuracy": scores.accuracy,
        "sentences": scores.sentences,
        "sentence_accuracy": scores.sentence_accuracy,
        "chunks": None if scores.chunks is None else counts(scores.chunks),
        "kinds": {kind: counts(one) for kind, one in scores.kinds.items()},
    }
