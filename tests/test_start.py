"""How a process starts: names come when they are used, machine code is never stale, and a fit copies nothing."""

import ast
import errno
import hashlib
import importlib
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import typing
import warnings
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from numba.core import caching

import rosenblatt
from rosenblatt.compiled.machine_code import MachineCode, imported_files, imports, private_folder

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


def test_pictures_are_found_beside_their_modules():
    """Whatever module of the room is imported first, and whatever the names in it are."""
    homes = sorted(f"rosenblatt.plot.{source.stem}" for source in (PACKAGE / "plot").glob("[a-z]*.py"))
    assert not {home.rpartition(".")[2] for home in homes} & set(rosenblatt.plot.__all__)
    for home in homes:
        importlib.import_module(home)
    assert dir(rosenblatt.plot) == sorted(rosenblatt.plot.__all__)
    for name in rosenblatt.plot.__all__:
        assert getattr(rosenblatt.plot, name).__name__ == name
        assert getattr(rosenblatt.plot, name).__module__ in homes


def test_records_are_found_in_their_room():
    assert dir(rosenblatt.records) == sorted(rosenblatt.records.__all__)
    assert {"Report", "Separability", "Trace"} <= set(rosenblatt.records.__all__)
    for name in rosenblatt.records.__all__:
        record = getattr(rosenblatt.records, name)
        assert (record.__name__, record.__module__.partition(".")[0]) == (name, "rosenblatt")
        assert not hasattr(rosenblatt, name), "the room would put its records among the names of rosenblatt"
    with pytest.raises(AttributeError, match=r"'rosenblatt\.records' has no attribute 'Rapport'"):
        rosenblatt.records.Rapport  # noqa: B018
    before, after = python(
        "import json, sys; from rosenblatt import records; dir(records); before = list(sys.modules);"
        "from rosenblatt.records import Separability; print(json.dumps([before, list(sys.modules)]))"
    )
    assert not {"numpy", "rosenblatt.prove.exact.separability_certificate"} & set(before)
    assert "rosenblatt.prove.exact.separability_certificate" in after
    assert not {"sklearn", "rosenblatt.tracing.trace"} & set(after)  # of other records


def test_the_names_of_pictures_load_no_matplotlib():
    loaded = python("import json, sys; from rosenblatt import plot; dir(plot); print(json.dumps(sorted(sys.modules)))")
    assert not {"matplotlib", "numpy", "rosenblatt.plot.drawing"} & set(loaded)
    loaded = python("import json, sys; from rosenblatt.plot import regions; print(json.dumps(sorted(sys.modules)))")
    assert "rosenblatt.plot.drawing" in loaded
    assert "matplotlib" not in loaded


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


def test_the_public_face_is_small():
    assert len(rosenblatt.__all__) <= 60


PICTURES = [
    "regions",
    "epochs",
    "search",
    "hulls",
    "lattice",
    "logistic",
    "losses",
    "surface",
    "margins",
    "mistakes",
    "normalised",
    "run",
    "words",
]
RECORDS = [
    "ChunkCounts",
    "EpochRecord",
    "GeneralisationBound",
    "Lattice",
    "Margins",
    "MistakeBound",
    "PAUMBounds",
    "Progress",
    "Reading",
    "Report",
    "SentenceStep",
    "Separability",
    "SeparabilityByClass",
    "SequenceScores",
    "SequenceTrace",
    "Sharding",
    "Step",
    "Trace",
    "WidestPlane",
]
PLACES = {
    "animate": ("rosenblatt.plot.animate", "animate is rosenblatt.plot.animate"),
    **{f"plot_{name}": (f"rosenblatt.plot.{name}", f"plot_{name} is rosenblatt.plot.{name}") for name in PICTURES},
    **{
        f"{name.title()}Display": (
            f"rosenblatt.plot.{name}",
            f"{name.title()}Display is what rosenblatt.plot.{name} returns",
        )
        for name in PICTURES
    },
    **{name: (f"rosenblatt.records.{name}", f"{name} is rosenblatt.records.{name}") for name in RECORDS},
}


@pytest.mark.parametrize("name", PLACES)
def test_a_name_that_moved_says_where_it_is(name):
    place, sentence = PLACES[name]
    with pytest.raises(AttributeError) as told:
        getattr(rosenblatt, name)
    assert str(told.value) == sentence
    assert not hasattr(rosenblatt, name)
    with pytest.raises(ImportError, match=name):
        exec(f"from rosenblatt import {name}")
    room, _, there = place.rpartition(".")
    found = getattr(importlib.import_module(room), there)
    if name.endswith("Display"):
        assert typing.get_type_hints(found)["return"].__name__ == name
    else:
        assert found.__name__ == there


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
from rosenblatt.learn.examples import Dense
from rosenblatt.learn.models import score_one

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
    rows = path / "rosenblatt" / "compiled" / "rows.py"
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


# A kernel, what it inlines, and a constant that reaches it through a second file: one of each kind of import.
CHAIN = {
    "learn/chain_kernel.py": """
from rosenblatt.compiled.machine_code import compiled
from rosenblatt.learn import chain_middle
from .chain_step import step

@compiled
def kernel(x):
    return step(x) + chain_middle.OFFSET
""",
    "learn/chain_step.py": """
from rosenblatt.compiled.machine_code import compiled
import rosenblatt.learn.chain_middle as middle

@compiled
def step(x):
    return middle.FACTOR * x
""",
    "learn/chain_middle.py": """
from rosenblatt.compiled.chain_constants import (  # (two)
    FACTOR,
    OFFSET,
)
""",
    "compiled/chain_constants.py": "FACTOR, OFFSET = 2.0, 1.0\n",
}
CHAINED = """
import json
from rosenblatt.learn.chain_kernel import kernel

result = kernel(3.0)
print(json.dumps({"result": result, "hits": sum(kernel.stats.cache_hits.values())}))
"""


@pytest.mark.compiled
@pytest.mark.exhaustive
def test_edit_of_an_imported_constant_is_seen_and_one_elsewhere_is_not(copied):
    path, cache = copied
    for name, text in CHAIN.items():
        (path / "rosenblatt" / name).write_text(text)
    assert python(CHAINED, path=path, cache=cache) == {"result": 7.0, "hits": 0}
    kept = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in cache.rglob("*.nb*")}
    assert kept
    for name in ("online/perceptron.py", "plot/verdict.py", "formats/svmlight.py", "compiled/rows.py"):
        other = path / "rosenblatt" / name
        other.write_text(other.read_text().replace('"""', '"""Edited. ', 1) + "\nEDITED = 1\n")
    assert python(CHAINED, path=path, cache=cache) == {"result": 7.0, "hits": 1}
    assert {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in cache.rglob("*.nb*")} == kept
    constants = path / "rosenblatt" / "compiled" / "chain_constants.py"
    constants.write_text("FACTOR, OFFSET = 2.0, 5.0\n")
    assert python(CHAINED, path=path, cache=cache) == {"result": 11.0, "hits": 0}
    constants.write_text("FACTOR, OFFSET = 4.00, 5.0\n")  # of another size: Python's own cache knows size and second
    assert python(CHAINED, path=path, cache=cache) == {"result": 17.0, "hits": 0}
    step = path / "rosenblatt" / "learn" / "chain_step.py"
    step.write_text(step.read_text().replace("* x", "* x * x"))
    assert python(CHAINED, path=path, cache=cache) == {"result": 41.0, "hits": 0}


def imports_by_parsing(file):
    """The oracle: import statements as Python parses them, those for type checkers apart."""
    found, waiting = set(), [ast.parse(file.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        elif isinstance(node, ast.Import):
            found |= {PACKAGE.parent.joinpath(*one.name.split(".")) for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            steps = node.module.split(".") if node.module else []
            origin = (file.parents[node.level - 1] if node.level else PACKAGE.parent).joinpath(*steps)
            found |= {origin, *(origin / one.name for one in node.names)}
        else:
            waiting += ast.iter_child_nodes(node)
    ends = (".py", "/__init__.py", "/__init__.pyi")
    return {f"{place}{end}" for place in found if PACKAGE in (place, *place.parents) for end in ends}


def test_imports_are_found_as_python_parses_them():
    files = sorted(file for end in ("py", "pyi") for file in PACKAGE.rglob(f"*.{end}"))
    assert len(files) > 200
    for file in files:
        expected = {one for one in imports_by_parsing(file) if Path(one).is_file()}
        assert imports(file.read_text(encoding="utf-8"), str(file)) == expected, file


def test_the_key_of_a_loop_covers_the_files_it_is_made_of():
    """Every file that holds compiled code and is loaded by the loop's module takes part in the loop's key."""
    for module, others in (
        ("online.visits", {"online/rules.py", "online/second_order.py", "compiled/rows.py"}),
        ("objective.stochastic_visits", {"objective/compiled_losses.py", "compiled/rows.py"}),
    ):
        loops = f"import json, sys, rosenblatt.{module}; print(json.dumps(sorted(sys.modules)))"
        loaded = {name for name in python(loops) if name.startswith("rosenblatt.")}
        files = {PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py") for name in loaded}
        compiled = {
            file for file in files if file.is_file() and "rosenblatt.compiled.machine_code import" in file.read_text()
        }
        names = {file.relative_to(PACKAGE).as_posix() for file in compiled}
        assert {"learn/sweep.py", "compiled/row_arrays.py"} | others <= names
        assert compiled <= {
            Path(file) for file in imported_files(str(PACKAGE.joinpath(*module.split(".")).with_suffix(".py")))
        }


@pytest.mark.compiled
@pytest.mark.exhaustive
def test_a_loop_made_with_a_verb_is_keyed_by_the_file_of_the_verb(copied):
    """The sweep is written once; an edit of what a visit does in another file compiles it again."""
    path, cache = copied
    fit = """
import json
import numpy as np
from rosenblatt import Perceptron
from rosenblatt.online.visits import sweep

model = Perceptron(fit_intercept=False, order="cyclic", max_epochs=1)
model.fit(np.array([[1.0], [-1.0]]), np.array([1, 0]))
print(json.dumps({"coef": model.coef_.tolist(), "hits": sum(sweep.stats.cache_hits.values())}))
"""
    assert python(fit, path=path, cache=cache) == {"coef": [[1.0]], "hits": 0}
    assert python(fit, path=path, cache=cache) == {"coef": [[1.0]], "hits": 1}
    rules = path / "rosenblatt" / "online" / "rules.py"
    text = rules.read_text()
    assert text.count("        return rule.eta\n") == 1
    rules.write_text(text.replace("        return rule.eta\n", "        return 3.0 * rule.eta\n"))
    assert python(fit, path=path, cache=cache) == {"coef": [[3.0]], "hits": 0}


@pytest.mark.compiled
def test_machine_code_that_names_classes_of_another_version_counts_as_missing(copied):
    path, cache = copied
    first = python(SCORES, path=path, cache=cache)
    files = sorted(Path(cache).rglob("*score_one*.nbc"))
    assert files
    for file in files:
        body = file.read_bytes()[32:]
        assert b"Dense" in body
        other = body.replace(b"Dense", b"Sense")  # as long: only the name is another
        file.write_bytes(hashlib.sha256(other).digest() + other)
    again = python(SCORES, path=path, cache=cache)
    assert (again["scores"], again["hits"]) == (first["scores"], 0)


KERNELS = """
from rosenblatt.compiled.machine_code import compiled

@compiled
def add(x):
    return x + 1

@compiled
def double(x):
    return 2 * x
"""


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """Loads two functions as a fresh process would, whose machine code is kept in a folder of their own."""
    source = tmp_path / "kernels.py"
    source.write_text(KERNELS)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(MachineCode, "told", False)

    def load():
        spec = importlib.util.spec_from_file_location("kernels", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def hits(kernel):
    return sum(kernel.stats.cache_hits.values())


@pytest.mark.compiled
def test_damaged_machine_code_is_compiled_again(kernels, tmp_path):
    assert (kernels().add(1), kernels().add(1.5)) == (2, 2.5)
    files = sorted((tmp_path / "cache").rglob("*.nbc"))
    assert len(files) == 2
    sound = [file.read_bytes() for file in files]
    size, rng = min(map(len, sound)), random.Random(0)
    damages = [
        lambda content, length=length: content[:length]
        for length in (0, 1, 31, 32, 33, 64, size // 2, -1)  # cut off, by a full disk or a loss of power
    ]
    damages += [lambda content: content + b"\0", lambda content: b"\0" * len(content), lambda content: content[32:]]
    damages += [lambda content: sound[1] if content == sound[0] else sound[0]]  # whole, but of the other signature
    for place in [0, 31, 32, size - 1, *(rng.randrange(size) for _ in range(12))]:
        flipped = 1 << rng.randrange(8)
        damages.append(
            lambda content, place=place, flipped=flipped: (
                content[:place] + bytes([content[place] ^ flipped]) + content[place + 1 :]
            )
        )
    for damage in damages:
        for file, content in zip(files, sound, strict=True):
            file.write_bytes(damage(content))
        kernel = kernels().add
        assert (kernel(1), kernel(1.5), hits(kernel)) == (2, 2.5, 0)
        kernel = kernels().add
        assert (kernel(1), kernel(1.5), hits(kernel)) == (2, 2.5, 2), "what was damaged has been written anew"


@pytest.mark.compiled
@pytest.mark.parametrize("step", ["makedirs", "open", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.EIO])
def test_machine_code_that_cannot_be_written_is_done_without(kernels, tmp_path, monkeypatch, step, code):
    """Simulated: a disk that is full only now and then cannot be had, and permissions do not stop root."""
    module = kernels()
    assert module.add.stats.cache_path  # the folder was chosen while it could be written

    def refuse(*arguments, **named):
        raise OSError(code, os.strerror(code))

    place, name = {"makedirs": (os, "makedirs"), "open": (Path, "write_bytes"), "replace": (os, "replace")}[step]
    monkeypatch.setattr(place, name, refuse)
    if step == "makedirs":
        monkeypatch.setattr(caching.UserProvidedCacheLocator, "ensure_cache_path", lambda self: None)
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR") as told:
        assert (module.add(1), module.add(1.5), module.double(3)) == (2, 2.5, 6)
    assert len(told) == 1
    assert os.strerror(code) in str(told[0].message)
    assert [file for file in (tmp_path / "cache").rglob("*") if file.is_file()] == []


@pytest.mark.compiled
def test_machine_code_may_vanish_at_any_time(kernels, tmp_path):
    stop = threading.Event()

    def remove():
        while not stop.is_set():
            shutil.rmtree(tmp_path / "cache", ignore_errors=True)

    thread = threading.Thread(target=remove)
    thread.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(10):
                assert kernels().double(3) == 6
    finally:
        stop.set()
        thread.join()


def refuse_writing(monkeypatch, tmp_path, *names):
    """As on a read-only disk: the folders of these locators can be read, but not written."""

    def refuse(self):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in names:
        monkeypatch.setattr(getattr(caching, name), "ensure_cache_path", refuse)
    monkeypatch.setattr(caching, "AppDirs", lambda **names: SimpleNamespace(user_cache_dir=str(tmp_path / "home")))
    shared = tmp_path / "shared"
    shared.mkdir(exist_ok=True)
    shared.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    return shared / f"rosenblatt-{os.geteuid()}"


EVERYWHERE = ("UserProvidedCacheLocator", "InTreeCacheLocator", "UserWideCacheLocator")


@pytest.mark.compiled
@pytest.mark.skipif(os.name == "nt", reason="users share no temporary folder there")
def test_where_nothing_can_be_written_a_private_temporary_folder_is_used(kernels, tmp_path, monkeypatch):
    private = refuse_writing(monkeypatch, tmp_path, *EVERYWHERE)
    module = kernels()
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR") as told:
        assert (module.add(1), module.double(3)) == (2, 6)
    assert len(told) == 1
    assert str(private) in str(told[0].message)
    assert private.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(MachineCode, "told", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = kernels().add
        assert (kernel(1), hits(kernel)) == (2, 1)


def planted_link(private):
    (private.parent / "elsewhere").mkdir(0o700)
    private.symlink_to(private.parent / "elsewhere")


def planted_by_another(private):
    if os.geteuid() != 0:
        pytest.skip("only root gives folders away")
    private.mkdir(0o700)
    os.chown(private, 12345, 12345)


def planted_around_by_another(private):
    private.mkdir(0o700)
    private.parent.chmod(0o1777)
    if os.geteuid() != 0:
        pytest.skip("only root gives folders away")
    os.chown(private.parent, 12345, 12345)


PLANTED = {
    "open to all": lambda private: (private.mkdir(), private.chmod(0o777)),
    "open to the group": lambda private: (private.mkdir(), private.chmod(0o720)),
    "readable by all": lambda private: (private.mkdir(), private.chmod(0o755)),
    "a link": planted_link,
    "a file": lambda private: private.write_bytes(b""),
    "of another user": planted_by_another,
    "in a folder of another user": planted_around_by_another,
    "where others may rename": lambda private: (private.mkdir(0o700), private.parent.chmod(0o777)),
}


@pytest.mark.compiled
@pytest.mark.skipif(os.name == "nt", reason="users share no temporary folder there")
@pytest.mark.parametrize("how", PLANTED)
def test_a_planted_temporary_folder_is_not_used(kernels, tmp_path, monkeypatch, how):
    private = refuse_writing(monkeypatch, tmp_path, *EVERYWHERE)
    PLANTED[how](private)
    assert private_folder() is None
    assert private not in Path(kernels().add.stats.cache_path).parents


@pytest.mark.compiled
def test_machine_code_compiled_ahead_is_read_where_it_cannot_be_written(kernels, tmp_path, monkeypatch):
    assert kernels().add(1) == 2
    refuse_writing(monkeypatch, tmp_path, "UserProvidedCacheLocator")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = kernels().add
        assert (kernel(1), hits(kernel)) == (2, 1)


READ_ONLY = """
mount --make-rprivate / || exit 77
for place in $(awk '{print $2}' /proc/mounts | grep -vE '^/(proc|sys|dev)'); do
    mount -o remount,ro,bind "$place" 2>/dev/null
done
touch "$1" 2>/dev/null && exit 77
shift
exec "$@"
"""
PREDICTION = """
import json, sys, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    from rosenblatt import Perceptron, load
    labels = load(sys.argv[1]).predict([[3.0, 1.0], [1.0, 3.0]]).tolist()
print(json.dumps({"labels": labels, "told": [str(one.message) for one in told if "compiled code" in str(one.message)]}))
"""


@pytest.mark.compiled
def test_a_model_predicts_on_a_read_only_disk_without_a_home(copied, tmp_path):
    """Every disk is mounted read-only, which only root can do: permissions alone would not stop root."""
    path, _ = copied
    model = rosenblatt.Perceptron.from_weights([[1.0, -1.0]], [0.0], classes=["b", "a"])
    rosenblatt.save(model, tmp_path / "a.model")
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    words = ["unshare", "-m", "bash", "-c", READ_ONLY, "bash", str(tmp_path / "writable")]
    command = [*words, sys.executable, "-c", PREDICTION, str(tmp_path / "a.model")]
    home = {"PATH": os.environ["PATH"], "PYTHONPATH": str(path)}
    done = subprocess.run(command, env=home, capture_output=True, text=True, check=False)
    if done.returncode in (1, 77) and "Traceback" not in done.stderr:
        pytest.skip("needs the right to mount")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["labels"] == ["a", "b"]
    (told,) = result["told"]
    assert "Read-only file system" in told
    assert "NUMBA_CACHE_DIR" in told


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
