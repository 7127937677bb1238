"""What every test can rely on."""

import signal
import warnings

import pytest

from from_files import dump_svmlight_file, rows


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c():
    """Ctrl-C reaches Python: a shell that starts the tests in the background has it ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def quiet(monkeypatch):
    monkeypatch.setattr("rosenblatt.scale.cache.RACY", 0)  # a file that was just written is taken for settled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks and pools so small that a small file has many."""
    monkeypatch.setattr("rosenblatt.learn.orders.BLOCK", 64)
    for home in ("rosenblatt.learn.orders.POOL", "rosenblatt.scale.rows.AT_ONCE"):
        monkeypatch.setattr(home, 5)
    for home in ("rosenblatt.scale.files.CHUNK", "rosenblatt.scale.files.PIECE"):
        monkeypatch.setattr(home, 2000)


@pytest.fixture
def svm(tmp_path):
    def write(classes=2, name="rows.svm", seed=0, **settings):
        path = tmp_path / name
        dump_svmlight_file(*rows(classes=classes, seed=seed), path, zero_based=False, **settings)
        return path

    return write
