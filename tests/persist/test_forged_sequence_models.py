"""Forged and mutated files of sequence models never crash: what is let in can be asked, or says why not."""

import os
import random
from contextlib import suppress

import numpy as np
import pytest
from model_file_cases import FUZZ, _quiet, opened, sealed  # noqa: F401
from test_damaged_model_files import mutated, scramble

from rosenblatt import FileError, SequencePerceptron, Tagger
from rosenblatt.data.sequences.vocabulary import Vocabulary
from rosenblatt.persist.model_files import from_bytes, to_bytes

NAMED = [[["the", "x"], {"dog": 2.0, "end": "g"}], [["a"], ["cat"], []]]
COLUMNS = [[("the", "DT"), ("dog", "NN")], [("a", "DT"), ("cat", "NN"), ("runs", "VB")]]
WORDS = [["the", "dog"], ["a", "cat", "runs"]]
TAGS = [["B-NP", "I-NP"], ["B-NP", "I-NP", "O"]]
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB"
CASES = {
    "named": (lambda: SequencePerceptron(random_state=0), NAMED),
    "last": (lambda: SequencePerceptron(random_state=0, keep="last", constraints="iob2"), NAMED),
    "template": (lambda: SequencePerceptron(random_state=0, template=TEMPLATE), COLUMNS),
    "tagger": (lambda: Tagger(random_state=0, sure_count=1), WORDS),
}


@pytest.mark.parametrize("name", CASES)
def test_forged_files_never_crash(name):
    rng = random.Random(3)
    make, X = CASES[name]
    whole, all_arrays = opened(to_bytes(make().fit(X, TAGS)))
    accepted, turns = 0, max(FUZZ // 3, 60)
    for _ in range(turns):
        about, arrays = whole, all_arrays
        if rng.random() < 0.5:
            about = {**whole, "attributes": scramble(whole["attributes"], rng)}
        else:
            which = rng.choice(sorted(arrays))
            array = arrays[which]
            array = rng.choice(
                [
                    array[:-1],
                    array.astype(np.int64),
                    array.ravel(),
                    np.zeros((0, 3)),
                    array * 100,
                    array[::-1],
                    array + 1,
                ]
            )
            arrays = {**arrays, which: np.ascontiguousarray(array)}
        try:
            model = from_bytes(sealed(about, arrays))
        except FileError:
            continue
        accepted += 1
        with suppress(AttributeError):  # without its attributes it is not fitted
            assert [len(tags) for tags in model.predict(X)] == [2, 3]
        if hasattr(model, "partial_fit"):
            with suppress(ValueError, TypeError, AttributeError, IndexError):
                model.partial_fit(X, TAGS)  # numbers that fit may still make a model that cannot go on
    assert accepted < turns


def test_mutated_files_are_refused():
    rng = random.Random(4)
    whole = [to_bytes(make().fit(X, TAGS)) for make, X in CASES.values()]
    for turn in range(min(FUZZ, int(os.environ.get("ROSENBLATT_FUZZ", "120")))):
        data = whole[turn % len(whole)]
        other = mutated(data, rng)
        if other != data:
            with pytest.raises(FileError):
                from_bytes(other)


@pytest.mark.parametrize("ends", [[2**63 - 1, -(2**63), -1, 3], [-1, 3], [2, 1, 3], [4, 3], [1, 2]])
def test_names_that_end_outside_their_text_are_refused(ends):
    with pytest.raises(ValueError, match="the names of a vocabulary"):
        Vocabulary(np.frombuffer(b"abc", np.uint8), np.array(ends)).check()
    Vocabulary(np.frombuffer(b"abc", np.uint8), np.array([1, 3])).check()
