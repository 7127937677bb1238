"""Docstrings of public classes say what every parameter is, in the class's own words."""

import inspect
import re

import pytest

import rosenblatt

CLASSES = sorted(name for name in rosenblatt.__all__ if inspect.isclass(getattr(rosenblatt, name)))


def listed(text):
    """The names under "Parameters" and "Attributes"."""
    names = set()
    for section in re.findall(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.M | re.S):
        for line in re.findall(r"^(\w[\w, ]*)(?: :|$)", section, re.M):
            names |= {name.strip() for name in line.split(",")}
    return names


@pytest.mark.parametrize("name", CLASSES)
def test_every_parameter_is_listed(name):
    kind = getattr(rosenblatt, name)
    if issubclass(kind, Exception):
        return
    parameters = [one for one in inspect.signature(kind).parameters if one not in ("args", "kwargs")]
    missing = [one for one in parameters if one not in listed(inspect.cleandoc(kind.__doc__))]
    assert not missing, f"{name} does not say what these are: {', '.join(missing)}"
