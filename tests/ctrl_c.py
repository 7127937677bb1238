"""Ctrl-C in tests: it is heard, even if Python drops the exception, and never in the test that comes after."""

import _thread
import signal
import sys
import threading
import time

import pytest

AGAIN = 0.05  # seconds


class CtrlC:
    """A block that `press`, called by any thread, ends with a KeyboardInterrupt in the main thread.

    Python drops an exception that is raised while garbage is collected or a weak reference is cleared, and tells
    `sys.unraisablehook`: a KeyboardInterrupt that was dropped there is raised again. What is pressed after the block
    has ended, in whatever way, raises nothing.
    """

    def __enter__(self):
        self.open, self.timers = True, []
        self.pressed = None  # the processor's time of the press that was heard
        self.hook, sys.unraisablehook = sys.unraisablehook, self._dropped
        self.handler = signal.signal(signal.SIGINT, self._heard)
        return self

    def __exit__(self, kind, error, traceback):
        self.open = False
        for timer in self.timers:
            timer.cancel()
            timer.join()
        sys.unraisablehook = self.hook
        signal.signal(signal.SIGINT, self.handler)  # one that is pending was heard, by us, before this
        if kind is None:
            pytest.fail("The block ended without a KeyboardInterrupt.")
        return kind is KeyboardInterrupt

    def press(self):
        """Ctrl-C."""
        if self.open:
            self.pressed = time.process_time()
            _thread.interrupt_main()

    def press_in(self, seconds):
        """Ctrl-C, so many seconds from now."""
        self.timers.append(threading.Timer(seconds, self.press))
        self.timers[-1].start()

    def _heard(self, number, frame):
        if self.open:
            raise KeyboardInterrupt

    def _dropped(self, unraisable):
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            self.press_in(AGAIN)  # from a thread: here it would be dropped as well
        else:
            self.hook(unraisable)
