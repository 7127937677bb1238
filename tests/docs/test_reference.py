"""The reference has every public name once, each with an example, and learners and bounds with their paper."""

import re
from operator import attrgetter
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import rosenblatt

INDEX = Path(__file__).parents[2] / "docs" / "reference" / "index.md"
ROOMS = {"plot", "records"}  # whose names are listed, not they
NAMES = {f"{room}.{name}" for room in ROOMS for name in getattr(rosenblatt, room).__all__}
NAMES = sorted(NAMES | set(rosenblatt.__all__) - ROOMS - {"__version__"})
# Named after no paper: what they do stands in their words.
WITHOUT_PAPER = {"GridSearchCV", "TableClassifier", "TableEncoder", "TableRegressor"}


def test_the_reference_lists_every_public_name_once():
    listed = re.findall(r"^   ([\w.]+)$", INDEX.read_text(encoding="utf-8"), re.MULTILINE)
    returned = {get_type_hints(getattr(rosenblatt.plot, name))["return"] for name in rosenblatt.plot.__all__} - {Any}
    displays = [f"{kind.__module__}.{kind.__name__}".removeprefix("rosenblatt.") for kind in returned]
    assert sorted(listed) == sorted(NAMES + displays)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example_of_its_own(name):
    public = attrgetter(name)(rosenblatt)
    text = (vars(public).get("__doc__") if isinstance(public, type) else public.__doc__) or ""  # not an inherited one
    assert ">>>" in text, f"{name} has no example"


@pytest.mark.parametrize(
    "name", [one for one in NAMES if hasattr(attrgetter(one)(rosenblatt), "get_params") and one not in WITHOUT_PAPER]
)
def test_every_learner_names_its_paper(name):
    assert re.search(r"^ *References\n *-+\n.*\b(19|20)\d\d\b", getattr(rosenblatt, name).__doc__, re.M | re.S)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("at most |w| of them", r"at most \|w\| of them"),
        ("X·coef_ᵀ + intercept_.", r"X·coef\_ᵀ + intercept\_."),
        ("A. Novikoff, 1962.", r"A\. Novikoff, 1962."),
        ("`coef_` stays, and a_b too", "`coef_` stays, and a_b too"),
    ],
)
def test_prose_of_docstrings_is_no_markup(line, shown, monkeypatch):
    pytest.importorskip("sphinx", reason="the tools of the book are installed by make docs")
    monkeypatch.syspath_prepend(INDEX.parents[1] / "_ext")
    import docstrings

    assert docstrings.escaped(line) == shown
