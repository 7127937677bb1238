"""Docstrings of public classes say what every parameter is, in the class's own words."""

import inspect
import re
from typing import Any, get_type_hints

import pytest

import rosenblatt
from rosenblatt import plot, records
from rosenblatt.plot.drawing import Display

CLASSES = {name: one for name in rosenblatt.__all__ if inspect.isclass(one := getattr(rosenblatt, name))}
RECORDS = {name: getattr(records, name) for name in records.__all__}
PICTURES = {name: getattr(plot, name) for name in plot.__all__}
DISPLAYS = {name: kind for name in PICTURES if (kind := get_type_hints(PICTURES[name])["return"]) is not Any}


def listed(text):
    """The names under "Parameters" and "Attributes"."""
    names = set()
    for section in re.findall(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.M | re.S):
        for line in re.findall(r"^(\w[\w, ]*)(?: :|$)", section, re.M):
            names |= {name.strip() for name in line.split(",")}
    return names


@pytest.mark.parametrize(
    "kind", [*CLASSES.values(), *RECORDS.values(), *DISPLAYS.values(), *PICTURES.values()], ids=lambda one: one.__name__
)
def test_every_parameter_is_listed(kind):
    if inspect.isclass(kind) and issubclass(kind, Exception):
        return
    parameters = [one for one in inspect.signature(kind).parameters if one not in ("args", "kwargs")]
    missing = [one for one in parameters if one not in listed(inspect.cleandoc(kind.__doc__))]
    assert not missing, f"{kind.__name__} does not say what these are: {', '.join(missing)}"


LEARNERS = [name for name, kind in CLASSES.items() if "n_iter_" in listed(inspect.cleandoc(kind.__doc__))]


@pytest.mark.parametrize("name", LEARNERS)
def test_n_iter_counts_epochs(name):
    entry = re.search(r"\bn_iter_(?=[ ,\n])[^\n]*\n        ([^\n]*)", CLASSES[name].__doc__)[1]
    same = re.match(r"As in `(\w+)`", entry)
    counted = "Steps of Wolfe's" if name == "MaxMargin" else "Epochs that were run"
    assert same[1] in LEARNERS if same else entry.startswith(counted)


def test_every_picture_returns_a_display_of_its_own():
    assert set(PICTURES) - set(DISPLAYS) == {"animate"}  # a film, of matplotlib
    assert len(set(DISPLAYS.values())) == len(DISPLAYS)
    assert all(issubclass(kind, Display) and kind is not Display for kind in DISPLAYS.values())
