"""Checks of sequence models: see `state_checks`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.data.sequences.token_features import ItemFeatures
from rosenblatt.data.sequences.vocabulary import Vocabulary
from rosenblatt.estimators.base.state_checks import class_count, is_array, is_count, must
from rosenblatt.learn.sequence.greedy import GreedyModel, dynamic_features
from rosenblatt.learn.sequence.solver import PathModel, SequenceState
from rosenblatt.learn.sequence.templates import TemplateFeatures
from rosenblatt.learn.sequence.vector_rows import padded
from rosenblatt.learn.sequence.visits import SequenceCount


def check_sequence_model(model: Any) -> None:
    """Weights by feature and tag, the names of features, and the state that they were taken from."""
    kept, tags, d = model._kept, class_count(model), model.n_features_in_
    must(isinstance(kept, PathModel), "paths")
    width = padded(tags)
    _check_weights(kept, d, tags, width)
    must(is_array(kept.forbidden, (tags + 2, width)) and kept.forbidden.dtype == np.float32, "forbidden moves")
    must(not np.isnan(kept.forbidden).any() and (kept.forbidden <= 0).all(), "forbidden moves of −∞ or 0")
    if model._features is not None:
        _check_features(model._features, d)
    if "_state" in vars(model):
        _check_state(model._state, d, tags, width)


def _check_features(features: Any, d: int) -> None:
    must(isinstance(features, ItemFeatures | TemplateFeatures), "features by name")
    words = features.vocabulary if isinstance(features, ItemFeatures) else features.words
    must(isinstance(words, Vocabulary), "a vocabulary")
    words.check()
    must(features.size == d, f"the names of {d} features")
    if isinstance(features, TemplateFeatures):
        kinds = np.array([len(pieces) - 1 for pieces in features.parsed.kinds])
        keys, shape = features.keys, (d, 1 + int(kinds.max()))
        must(is_array(keys, shape, "i") and keys.dtype == np.int32, f"features of shape {shape}")
        must(keys[:, 0].min() >= 0 and keys[:, 0].max() < kinds.size, "features of the template")
        held = np.arange(shape[1] - 1) < kinds[keys[:, 0]][:, None]
        must(((keys[:, 1:] >= 0) == held).all(), "cells of features")
        must(keys[:, 1:].max(initial=-1) < len(words), "cells of its vocabulary")


def check_tagger(model: Any) -> None:
    """Weights by feature and tag, the features of words, and the words with a sure tag."""
    kept, tags, d = model._kept, class_count(model), model.n_features_in_
    must(isinstance(kept, GreedyModel) and (kept.n_features, kept.tags) == (d, tags), "a greedy model")
    must(isinstance(model._features, TemplateFeatures), "features of words")
    _check_features(model._features, d)
    size = d + dynamic_features(tags, len(model._features.words)) + 1
    must(is_array(kept.slots, (size,), "u") and kept.slots.dtype == np.uint32, f"a place for each of {size} features")
    rows = kept.rows.shape[0] if isinstance(kept.rows, np.ndarray) else 0
    must(rows > 0 and is_array(kept.rows, (rows, padded(tags))) and kept.rows.dtype == np.float32, "rows of weights")
    must(int(kept.slots.max()) < rows and kept.slots[-1] == 0 and not kept.rows[0].any(), "places within the rows")
    must(isinstance(model._sure, dict), "words with a sure tag")
    for word, code in model._sure.items():
        must(isinstance(word, str) and is_count(code) and code < tags, "words with a sure tag")


def _check_weights(held: Any, d: int, tags: int, width: int) -> None:
    rows = held.rows.shape[0] if isinstance(held.rows, np.ndarray) else 0
    must(is_array(held.slots, (d + 1,), "u") and held.slots.dtype == np.uint32, f"a place for each of {d} features")
    must(rows > 0 and is_array(held.rows, (rows, width)) and held.rows.dtype == np.float32, "rows of weights")
    must(int(held.slots.max()) < rows and held.slots[-1] == 0 and not held.rows[0].any(), "places within the rows")
    shape = (tags + 2, width)
    must(is_array(held.transitions, shape) and held.transitions.dtype == np.float32, f"transitions of shape {shape}")


def _check_state(state: Any, d: int, tags: int, width: int) -> None:
    must(isinstance(state, SequenceState) and state.keep in ("average", "last"), "a state")
    _check_weights(state, d, tags, width)
    must(is_count(state.epoch) and is_count(state.seed), "a seed and an epoch")
    must(is_array(state.tally, (len(SequenceCount),)) and state.tally.dtype == np.float64, "a tally")
    must(np.isfinite(state.tally).all() and (state.tally >= 0).all(), "a tally of counts")
    rows = state.rows.shape[0]
    must(state.used == rows, "as many rows as are in use")
    used = state.slots[state.slots > 0]
    must(used.size == rows - 1 == np.unique(used).size, "a row for each feature that has moved")
    averaged = state.keep == "average"
    for array, count in ((state.sums, rows), (state.move_sums, tags + 2)):
        shape = (count if averaged else 0, width)
        must(is_array(array, shape) and array.dtype == np.float64, f"sums of shape {shape}")
