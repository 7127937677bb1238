"""Forged and mutated files of sequence models never crash: what is let in can be asked, or says why not."""

import os
import random

import numpy as np
import pytest
from model_file_cases import FUZZ, _quiet, opened, sealed  # noqa: F401
from test_damaged_model_files import mutated

from rosenblatt import FileError, SequencePerceptron, Tagger
from rosenblatt.formats.vocabulary import Vocabulary
from rosenblatt.model_files.save_and_load import from_bytes, to_bytes

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
