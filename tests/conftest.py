"""What every test can rely on."""

import signal
import warnings
from collections import defaultdict
from pathlib import Path

import pytest

import from_files
from from_files import dump_svmlight_file, rows

collect_ignore = ["warm.py"]  # has no examples, and fits a model when it is imported


# Files that take longest, or wait for browsers and other processes. They start first, so that at the end no process is
# left alone with one of them.
LONGEST = (
    "persist/test_golden.py",
    "show/test_lab_browser.py",
    "estimators/test_contracts.py",
    "scale/test_cluster_command_line.py",
    "scale/test_files_interrupted.py",
    "cli/test_command_line_in_a_terminal.py",
    "test_start.py",
    "scale/test_cluster_failures.py",
    "data/test_mutants.py",
    "persist/test_forged_models.py",
    "cli/test_command_line_safety.py",
    "learn/test_compiled_loops_margins.py",
    "estimators/test_grid_search_penalties.py",
    "estimators/test_grid_search.py",
    "estimators/test_svm.py",
    "docs/test_pages.py",
    "data/test_fuzz_arrow.py",
    "show/test_lab_server.py",
    "show/test_lab.py",
    "estimators/test_linear.py",
)


# The compiled loops are compared with their slow twins on the whole grid.
WHOLE_GRIDS = "learn/test_compiled_loops"


def _path(item):
    return item.path.relative_to(Path(__file__).parent.parent).as_posix().removeprefix("tests/")


def _begins(item):
    path = _path(item)
    return LONGEST.index(path) if path in LONGEST else len(LONGEST)


def _repeating(items):
    """Cases of a test all of whose parameters have values that they have in earlier cases."""
    seen = defaultdict(set)
    for item in items:
        grid = not _path(item).startswith(WHOLE_GRIDS) and not item.get_closest_marker("exhaustive")
        if grid and hasattr(item, "callspec"):
            values = {(name, repr(value)) for name, value in item.callspec.params.items()}
            test = item.nodeid.partition("[")[0]
            if values <= seen[test]:
                yield item
            seen[test] |= values


def pytest_collection_modifyitems(items):
    """Long files first. Examples are short: a budget that was spent is no news there."""
    items.sort(key=_begins)
    for item in _repeating(items):
        item.add_marker("exhaustive")
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.add_marker(pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"))


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c():
    """Ctrl-C reaches Python: a shell that starts the tests in the background has it ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _caches(tmp_path_factory):
    """Caches go to a folder of the tests, never to the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROSENBLATT_CACHE", str(tmp_path_factory.mktemp("caches")))
        yield


@pytest.fixture
def on_disk(monkeypatch, tmp_path_factory):
    """Every file is too large to hold in memory: the folder of its cache."""
    folder = tmp_path_factory.mktemp("large")
    monkeypatch.setattr("rosenblatt.scale.row_cache.HELD_SHARE", 1 << 60)
    monkeypatch.setenv("ROSENBLATT_CACHE", str(folder))
    return folder


@pytest.fixture
def quiet(monkeypatch):
    from_files.settled(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks and pools so small that a small file has many."""
    from_files.small_blocks(monkeypatch)


@pytest.fixture
def svm(tmp_path):
    def write(classes=2, name="rows.svm", seed=0, **settings):
        path = tmp_path / name
        dump_svmlight_file(*rows(classes=classes, seed=seed), path, zero_based=False, **settings)
        return path

    return write
