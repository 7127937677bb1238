"""Every setting that the page "Coming from another library" names exists."""

import re
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from typer.main import get_command

import rosenblatt
from rosenblatt.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "coming-from.md"
NAMES = {name: getattr(rosenblatt, name) for name in rosenblatt.__all__}
NAMES |= {"HashingVectorizer": HashingVectorizer, "TfidfVectorizer": TfidfVectorizer}


def here():
    """The code in the right columns of the tables."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [code for line in rows for code in re.findall(r"`([^`]+)`", line.rsplit(" | ", 1)[1])]


SETTINGS = sorted({code for code in here() if re.match(r"[A-Z]\w+\(", code)})
OPTIONS = sorted({option for code in here() for option in re.findall(r"--[a-z][\w-]*", code)})


@pytest.mark.parametrize("code", SETTINGS)
def test_a_setting_can_be_constructed(code):
    estimator = eval(code, dict(NAMES))
    estimator._validate_params()


def test_options_exist():
    commands = get_command(app).commands.values()
    options = {option for command in commands for one in command.params for option in one.opts}
    assert set(OPTIONS) <= options
    assert len(SETTINGS) > 60
    assert len(OPTIONS) > 5


def test_commands_exist():
    commands = {command for code in here() for command in re.findall(r"^rosenblatt ([a-z]+)", code)}
    assert commands <= set(get_command(app).commands)
    assert commands >= {"train", "predict", "evaluate"}


@pytest.mark.parametrize("name", sorted({name for code in here() for name in re.findall(r"rosenblatt\.(\w+)", code)}))
def test_public_names_exist(name):
    assert name in rosenblatt.__all__
