"""The reference has every public name once, each with an example, and learners and bounds with their paper."""

import inspect
import re
from itertools import pairwise
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
WITHOUT_PAPER = {"GridSearchCV", "TableClassifier", "TableEncoder", "TableRegressor", "TextEncoder"}


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


def entries(text, heading):
    """The entries of a section of a docstring, each with whether a description is below it."""
    lines = inspect.cleandoc(text or "").splitlines()
    if heading not in lines:
        return {}
    found, entry = {}, ""
    for line, below in pairwise([*lines[lines.index(heading) + 2 :], ""]):
        if below.startswith("---"):
            break
        if line and not line.startswith(" "):
            entry, found[line] = line, False
        elif line.strip():
            found[entry] = True
    return found


def documented(name):
    """A public name and its own methods and properties, with their docstrings."""
    public = attrgetter(name)(rosenblatt)
    yield name, public.__doc__
    for member in dir(public) if isinstance(public, type) else ():
        it = inspect.getattr_static(public, member)
        it = getattr(it, "fget", None) or getattr(public, member, it)
        if not member.startswith("_") and (getattr(it, "__module__", None) or "").startswith("rosenblatt"):
            yield f"{name}.{member}", it.__doc__


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_and_attribute_is_described(name):
    bare = [
        f"{where}: {entry}"
        for where, text in documented(name)
        for heading in ("Parameters", "Attributes")
        for entry, described in entries(text, heading).items()
        if not described
    ]
    assert bare == []


def test_an_entry_without_a_description_is_found():
    text = "A function.\n\nParameters\n----------\nX : array\n    Rows.\ny : array\n\nReturns\n-------\nfloat\n"
    assert entries(text, "Parameters") == {"X : array": True, "y : array": False}


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
