"""How a process starts: names come when they are used, machine code is never stale, and a fit copies nothing."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rosenblatt

PACKAGE = Path(rosenblatt.__file__).parent


def python(script, *arguments, path=None, cache=None, **environment):
    """What a fresh process prints, as JSON."""
    settings = {**os.environ, **environment}
    settings.pop("PYTHONDONTWRITEBYTECODE", None)
    if path is not None:
        settings["PYTHONPATH"] = str(path)
    if cache is not None:
        settings["NUMBA_CACHE_DIR"] = str(cache)
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# -- names -----------------------------------------------------------------------------------------------------------


def test_import_loads_nothing_heavy():
    loaded = python("import json, sys, rosenblatt; dir(rosenblatt); print(json.dumps(sorted(sys.modules)))")
    assert "rosenblatt" in loaded
    heavy = {"numba", "llvmlite", "sklearn", "scipy", "numpy", "pandas", "matplotlib", "dask"}
    assert not heavy & {name.partition(".")[0] for name in loaded}
    assert not [name for name in loaded if name.startswith("rosenblatt.") and name != "rosenblatt._version"]


def test_a_fit_loads_no_search_for_proofs():
    fit = "from rosenblatt import Perceptron; Perceptron().fit([[0.0], [1.0]], [0, 1])"
    loaded = python(f"import json, sys; {fit}; print(json.dumps(sorted(sys.modules)))")
    assert [name for name in loaded if name.startswith("rosenblatt.prove.")] == ["rosenblatt.prove.mistake_formula"]


def test_every_name_resolves():
    assert dir(rosenblatt) == sorted(rosenblatt.__all__) == sorted(set(rosenblatt.__all__))
    for name in rosenblatt.__all__:
        value = getattr(rosenblatt, name)
        if name != "__version__":
            assert value.__name__ in (name, f"rosenblatt.{name}")  # a module has its whole path for a name
            assert getattr(value, "__module__", value.__name__).startswith("rosenblatt.")
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    (told,) = [ast.literal_eval(node.value) for node in stub.body if isinstance(node, ast.Assign)]
    assert set(told) == set(rosenblatt.__all__)
    namespace = {}
    exec("from rosenblatt import *", namespace)
    assert set(rosenblatt.__all__) <= set(namespace)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Perceptrom"):
        rosenblatt.Perceptrom  # noqa: B018
    with pytest.raises(ImportError, match="Perceptrom"):
        exec("from rosenblatt import Perceptrom")
    assert not hasattr(rosenblatt, "numba")


# -- machine code ----------------------------------------------------------------------------------------------------

# The kernel stands in loops.py; what it does to a row stands in rows.py.
SCORES = """
import json
import numpy as np
import rosenblatt
from rosenblatt.data.examples import Dense
from rosenblatt.learn.compiled_loops import score_one

out = np.zeros(2)
rows = Dense(np.array([[1.0, 2.0], [3.0, 4.0]]))
score_one(rows, np.arange(2, dtype=np.uint64), np.array([10.0, 1.0]), np.array([0.5]), out)
hits = sum(score_one.stats.cache_hits.values())
print(json.dumps({"scores": out.tolist(), "hits": hits, "home": rosenblatt.__file__}))
"""


@pytest.fixture
def copied(tmp_path):
    """A package of one's own to edit, and an empty cache."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "rosenblatt", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "src", tmp_path / "cache"


@pytest.mark.compiled
def test_edit_of_an_inlined_source_is_seen(copied):
    path, cache = copied
    first = python(SCORES, path=path, cache=cache)
    assert first["home"].startswith(str(path))
    assert (first["scores"], first["hits"]) == ([12.5, 34.5], 0)
    again = python(SCORES, path=path, cache=cache)
    assert (again["scores"], again["hits"]) == ([12.5, 34.5], 1), "machine code is kept between processes"
    rows = path / "rosenblatt" / "learn" / "rows.py"
    source = rows.read_text()
    body = source.index("def _dot_dense")
    edited = source[:body] + source[body:].replace("total += x[j] * w[j]", "total += 100 * x[j] * w[j]", 1)
    assert edited != source
    rows.write_text(edited)
    changed = python(SCORES, path=path, cache=cache)
    assert (changed["scores"], changed["hits"]) == ([1200.5, 3400.5], 0)
    rows.write_text(source)
    back = python(SCORES, path=path, cache=cache)
    assert back["scores"] == [12.5, 34.5]


FINGERPRINTS = """
import json, sys
from pathlib import Path
import rosenblatt
from rosenblatt.compiling import SOURCES, _fingerprint

package, seen = Path(rosenblatt.__file__).parent, {}
for name in json.loads(sys.argv[1]):
    source = package / name
    text = source.read_bytes()
    source.write_bytes(text + b"\\n# edited\\n")
    seen[name] = _fingerprint() != SOURCES
    source.write_bytes(text)
print(json.dumps({"seen": seen, "back": _fingerprint() == SOURCES}))
"""


@pytest.mark.compiled
def test_every_compiled_source_is_part_of_the_cache_key(copied):
    path, cache = copied
    uses = re.compile(r"^\s*(from rosenblatt\.compiling import|from numba\b|import numba\b)", re.MULTILINE)
    compiled = [source for source in PACKAGE.rglob("*.py") if uses.search(source.read_text(encoding="utf-8"))]
    names = [source.relative_to(PACKAGE).as_posix() for source in compiled]
    # What they inline of each other: constants and named tuples stand in sources of the same rooms.
    names += [source.relative_to(PACKAGE).as_posix() for source in (PACKAGE / "learn").rglob("*.py")]
    assert {
        "learn/compiled_loops.py",
        "learn/rows.py",
        "learn/online/rules.py",
        "data/examples.py",
        "compiling.py",
    } <= set(names)
    told = python(FINGERPRINTS, json.dumps(names), path=path, cache=cache)
    assert told["back"]
    assert [name for name, seen in told["seen"].items() if not seen] == []


@pytest.mark.compiled
def test_an_index_that_names_classes_of_another_version_counts_as_empty(copied):
    path, cache = copied
    first = python(SCORES, path=path, cache=cache)
    indices = sorted(Path(cache).rglob("*score_one*.nbi"))
    assert indices
    for index in indices:
        written = index.read_bytes()
        assert b"Dense" in written
        index.write_bytes(written.replace(b"Dense", b"Sense"))  # as long: only the name is another
    again = python(SCORES, path=path, cache=cache)
    assert (again["scores"], again["hits"]) == (first["scores"], 0)


# -- memory ----------------------------------------------------------------------------------------------------------

MEMORY = """
import ctypes, json, re, sys, warnings
import numpy as np
import scipy.sparse as sp
from rosenblatt import Perceptron

warnings.simplefilter("ignore")


def status(name):
    return int(re.search(rf"{name}:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) << 10


def dense(n, dtype, rng):
    X = np.empty((n, 64), dtype)
    for begin in range(0, n, 10_000):
        X[begin : begin + 10_000] = rng.standard_normal((min(10_000, n - begin), 64))
    return X, X.nbytes


def sparse(n, dtype, places, each, rng):
    d = 40_000
    values, columns = np.empty(n * each, dtype), np.empty(n * each, places)
    starts = np.arange(0, n * each + 1, each, dtype=places)
    gaps = np.arange(each) * (d // each)
    for begin in range(0, n, 10_000):
        end = min(begin + 10_000, n)
        values[begin * each : end * each] = rng.random((end - begin) * each)
        columns[begin * each : end * each] = (gaps + rng.integers(0, d // each, size=(end - begin, each))).ravel()
    X = sp.csr_array((values, columns, starts), shape=(n, d), copy=False)
    assert X.indices.dtype == X.indptr.dtype == places
    return X, values.nbytes + columns.nbytes + starts.nbytes


def measured(kind, dtype, index, classes, keep):
    dtype, places, rng = np.dtype(dtype), np.dtype(index), np.random.default_rng(0)
    each = {"dense": 64, "csr": 60, "short": 2}[kind]
    make = (lambda n: dense(n, dtype, rng)) if kind == "dense" else (lambda n: sparse(n, dtype, places, each, rng))
    model = Perceptron(keep=keep, max_epochs=2, random_state=0)
    X, _ = make(10_000)  # compiles, and loads what is loaded once
    model.fit(X, np.arange(10_000) % classes)
    n = 200_000_000 // (each * (dtype.itemsize + (0 if kind == "dense" else places.itemsize)))
    X, size = make(n)
    y = rng.integers(0, classes, size=n)
    ctypes.CDLL(None).malloc_trim(0)  # nothing that was freed above is there to be used again
    open("/proc/self/clear_refs", "w").write("5")  # the peak begins here
    before = status("VmRSS")
    model.fit(X, y)
    grown = status("VmHWM") - before
    held = model.coef_.nbytes
    return {"X": size, "grown": grown, "model": held, "share": grown / (size + held), "rows": n}


print(json.dumps([measured(*case) for case in json.loads(sys.argv[1])]))
"""
LARGE = [
    ("dense", "float32", "int32", 2, "last"),
    ("dense", "float64", "int32", 2, "last"),
    ("dense", "float32", "int32", 10, "average"),
    ("csr", "float32", "int32", 2, "last"),
    ("csr", "float32", "int64", 2, "last"),
    ("csr", "float64", "int32", 2, "average"),
    ("csr", "float64", "int64", 2, "last"),
]
SHORT = [("short", "float32", index, 2, "last") for index in ("int32", "int64")]


@pytest.fixture(scope="module")
def memory():
    """What each fit took beside its rows, one after another in a process of their own."""
    if not sys.platform.startswith("linux"):
        pytest.skip("reads the peak of memory from /proc")
    return dict(zip(LARGE + SHORT, python(MEMORY, json.dumps(LARGE + SHORT)), strict=True))


@pytest.mark.compiled
@pytest.mark.parametrize("case", LARGE, ids=lambda case: "-".join(map(str, case)))
def test_fit_copies_nothing(memory, case):
    told = memory[case]
    print(f"grew by {told['grown'] / 1e6:.1f} MB, {100 * told['share']:.1f} % of X and the model")
    assert told["X"] > 190e6
    assert told["share"] < 0.10


@pytest.mark.compiled
@pytest.mark.parametrize("case", SHORT, ids=lambda case: case[2])
def test_fit_on_short_rows_copies_nothing(memory, case):
    """Two values per row: beside them y is much, 4 bytes per row for codes and 1 each for signs and a mask."""
    told = memory[case]
    each = told["grown"] / told["rows"]
    print(f"grew by {told['grown'] / 1e6:.1f} MB, {each:.1f} bytes per row of {told['X'] / told['rows']:.0f}")
    assert told["X"] > 190e6
    assert told["grown"] < 0.10 * (told["X"] + told["model"]) + 6 * told["rows"]
