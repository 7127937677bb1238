"""The house: no room reads what another keeps to itself, and nothing guesses what an object of ours is."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import rosenblatt
from rosenblatt.shell.online_learner import OnlineLearner
from rosenblatt.tables.model import TableModel

PACKAGE = Path(rosenblatt.__file__).parent
# Names of other libraries: of NamedTuple, of scikit-learn, of numba, of matplotlib, Tornado and Bokeh, of Dask.
FOREIGN = {
    *("_replace", "_asdict", "_fields", "_make"),
    *("_validate_params", "_get_param_names", "_parameter_constraints", "_init_callback_context", "_scorers"),
    *("_cache", "_reduce", "_rebuild", "_get_jit_decorator", "_can_compile"),
    *("_draw_was_started", "_tornado", "_sessions", "_pending_sessions", "_getframe", "_name"),
}


def room(file):
    """The folder of a module below the package; a module of the package itself is a room of its own."""
    return file.relative_to(PACKAGE).parts[0]


def parsed():
    for file in sorted(PACKAGE.rglob("*.py")):
        yield file, ast.parse(file.read_text(encoding="utf-8"))


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def named_by(tree):
    """The private names that a module defines: functions, classes, variables, and attributes of its own objects."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and is_private(node.value):
            yield node.value  # of a dict that becomes an object's


def test_no_room_reads_private_names_of_another():
    defined = defaultdict(set)
    for file, tree in parsed():
        defined[room(file)] |= set(named_by(tree))
    found = []
    for file, tree in parsed():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rosenblatt."):
                other = node.module.split(".")[1]
                found += [f"{file.relative_to(PACKAGE)}: {one.name}" for one in node.names
                          if is_private(one.name) and one.name != "_version" and other != room(file)]  # fmt: skip
            if not isinstance(node, ast.Attribute) or not is_private(node.attr) or node.attr in FOREIGN:
                continue
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            parent = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "super"
            if not (own or parent) and node.attr not in defined[room(file)]:
                found.append(f"{file.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")
    assert not found, "\n".join(found)


def test_no_test_patches_private_names():
    """What a test replaces is a name that others may use too."""
    found = []
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr":
                names = [one.value.split(".") for one in node.args if isinstance(one, ast.Constant)
                         and isinstance(one.value, str)]  # fmt: skip
                if any(is_private(part) and part not in FOREIGN for name in names for part in name):
                    found.append(f"{file.name}:{node.lineno}: {ast.unparse(node)}")
    assert not found, "\n".join(found)


def subclasses(kind):
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


@pytest.mark.parametrize("shell", [OnlineLearner, TableModel], ids=lambda one: one.__name__)
def test_shells_are_thin(shell):
    """An estimator is parameters and a plan: few methods of a shell are its learners' to override."""
    for name in rosenblatt.__all__:
        getattr(rosenblatt, name)  # imports every learner
    own = {name for kind in shell.__mro__ if kind.__module__.startswith("rosenblatt.") for name in vars(kind)}
    learners = [one for one in subclasses(shell) if one.__module__.startswith("rosenblatt.")]
    assert len(learners) >= 2
    overridden = {
        name for learner in learners for name, value in vars(learner).items()
        if name in own and is_private(name) and (callable(value) or isinstance(value, property))
    }  # fmt: skip
    assert len(overridden) <= 5, overridden
