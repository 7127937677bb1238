"""Work that a page repeats while somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn


def repeat(work: Callable[[], Any], period: int, stop: Callable[[], Any], most: int) -> Any:
    """Call `work` every `period` milliseconds; after `most` calls, or once the page was left, call `stop` instead.

    Bokeh keeps the session of a page that was left for a while, for a browser that comes back: it need not work then.
    """
    context: Any = pn.state.curdoc.session_context if pn.state.curdoc is not None else None
    left = most

    def tick() -> None:
        nonlocal left
        gone = context is not None and context.session is not None and context.session.connection_count == 0
        left -= 1
        if gone or left < 0:
            stop()
        else:
            work()

    return pn.state.add_periodic_callback(tick, period=period)
