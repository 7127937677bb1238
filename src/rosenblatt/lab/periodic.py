"""Work that a page repeats while it is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn


def toggled(running: Any, work: Callable[[], Any], period: int, stop: Callable[[], Any], most: int) -> Any:
    """Stop what is running, or `repeat` the work; returns what is running then."""
    if running is None:
        return repeat(work, period, stop, most)
    running.stop()
    return None


def repeat(work: Callable[[], Any], period: int, stop: Callable[[], Any], most: int) -> Any:
    """Call `work` every `period` milliseconds; after `most` calls, or once the page is closed, call `stop` instead.

    Bokeh keeps the session of a closed page for a while, in case the browser reconnects; no work is needed meanwhile.
    """
    context: Any = pn.state.curdoc.session_context if pn.state.curdoc is not None else None
    left = most

    def tick() -> None:
        nonlocal left
        closed = context is not None and context.session is not None and context.session.connection_count == 0
        left -= 1
        if closed or left < 0:
            stop()
        else:
            work()

    return pn.state.add_periodic_callback(tick, period=period)
