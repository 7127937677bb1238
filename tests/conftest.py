"""What every test can rely on."""

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c():
    """Ctrl-C reaches Python: a shell that starts the tests in the background has it ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
