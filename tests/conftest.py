"""What every test can rely on."""

import signal
import warnings

import pytest

import from_files
from from_files import dump_svmlight_file, rows

collect_ignore = ["warm.py"]  # has no examples, and fits a model when it is imported


def pytest_collection_modifyitems(items):
    """Examples are short: a budget that was spent is no news there."""
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
