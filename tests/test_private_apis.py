"""A version of Numba or scikit-learn that lacks a private name which is used is named; arrays need no PyArrow."""

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
import sklearn

import rosenblatt

PACKAGE = Path(rosenblatt.__file__).parent


def private_imports(path):
    """What a file imports that is private in Numba or scikit-learn: (module, name)."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            found = [(node.module, one.name) for one in node.names]
        elif isinstance(node, ast.Import):
            found = [(one.name, "") for one in node.names]
        else:
            continue
        for module, name in found:
            library = module.partition(".")[0]
            hidden = any(part.startswith("_") for part in [*module.split("."), name])
            if (library == "numba" and module.startswith("numba.core")) or (library == "sklearn" and hidden):
                yield module, name


@pytest.mark.parametrize(
    ("module", "name"),
    sorted({(module, name) for path in PACKAGE.rglob("*.py") for module, name in private_imports(path)}),
)
def test_this_version_has_the_private_names(module, name):
    versions = f"Numba {numba.__version__}, scikit-learn {sklearn.__version__}"
    try:
        found = hasattr(importlib.import_module(module), name) or importlib.import_module(f"{module}.{name}")
    except ImportError:
        found = False
    assert found, f"{module}.{name} is gone in {versions}"


def test_fitting_arrays_imports_neither_pandas_nor_pyarrow():
    script = """
import json, sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
sys.meta_path.insert(0, Without())
from scipy.sparse import csr_array
from rosenblatt import Perceptron
rows = [[0.0, 1.0], [1.0, 0.0]]
for X in (rows, csr_array(rows)):
    model = Perceptron().fit(X, [0, 1])
    model.predict(X), model.score(X, [0, 1])
print(json.dumps([name for name in ("pandas", "pyarrow") if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
