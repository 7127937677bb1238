"""Public names, signatures, commands and exit codes are those that were stored: a change of one is a decision.

docs/compatibility.md says what is promised. python tests/public_face.py > tests/public_face.json stores a new list.
"""

import json
from pathlib import Path

import pytest

from public_face import public_face

STORED = json.loads(Path(__file__).with_name("public_face.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("part", STORED)
def test_what_users_rely_on_is_what_was_stored(part):
    assert json.loads(json.dumps(public_face()[part])) == STORED[part]


def test_nothing_public_is_left_out():
    assert public_face().keys() == STORED.keys()
