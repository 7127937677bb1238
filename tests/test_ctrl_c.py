"""The block of tests that press Ctrl-C: no press is lost, and none is heard outside."""

import gc
import signal
import sys
import time

import pytest

from ctrl_c import CtrlC


def test_a_press_that_is_dropped_while_garbage_is_collected_is_heard_all_the_same():
    dropping = []

    def callback(phase, info):
        if not dropping:
            dropping.append(phase)
            signal.raise_signal(signal.SIGINT)

    gc.callbacks.append(callback)
    try:
        with CtrlC():
            gc.collect()
            assert dropping
            while True:
                time.sleep(0.01)
    finally:
        gc.callbacks.remove(callback)


def test_nothing_is_heard_after_the_block():
    before = signal.getsignal(signal.SIGINT), sys.unraisablehook
    keys = CtrlC()

    def failing():
        with keys:
            keys.press_in(0.05)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    keys.press()
    time.sleep(0.1)
    assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == before


def test_a_block_that_hears_nothing_fails():
    with pytest.raises(pytest.fail.Exception, match="without a KeyboardInterrupt"), CtrlC():
        pass
