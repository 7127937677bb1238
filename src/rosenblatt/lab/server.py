"""The lab's server: bound to 127.0.0.1, with a filter in front of all its routes."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

HOST = "127.0.0.1"
MOST_MESSAGE_BYTES = 150 * 1024 * 1024  # of a websocket message: an uploaded file
MOST_BODY_BYTES = 64 * 1024  # of an HTTP request: uploads come through the websocket
CHECK_MS = 1_000  # how often Bokeh looks for sessions whose page was closed


@dataclass(frozen=True)
class RunningLab:
    """A lab that is being served."""

    port: int
    token: str
    end: Callable[[], None]

    @property
    def address(self) -> str:
        """The URL of the lab, with its token."""
        return address(self.port, self.token)

    def stop(self) -> None:
        """Stop serving."""
        self.end()


def address(port: int, token: str) -> str:
    """The URL of a lab, with its token."""
    return f"http://{HOST}:{port}/?token={token}"


def available_port(port: int) -> int:
    """The port if it is free, or for 0 any free one."""
    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, port))
        except OSError:
            raise OSError(f"Cannot listen on port {port}: choose another, or 0 for a free one.") from None
        return int(found.getsockname()[1])


def start(pn: Any, new_page: Callable[[], Any], *, port: int, open_browser: bool, block: bool) -> RunningLab:
    """Serve the lab, with a new page for each visitor."""
    from tornado.ioloop import IOLoop

    port, token = available_port(port), secrets.token_urlsafe(24)
    if block:
        print(f"The lab is at {address(port, token)} (Ctrl-C to stop)", flush=True)
        server = _server(pn, new_page, port, token, IOLoop.current(), open_browser)
        with suppress(RuntimeError):  # a notebook's loop is already running and serves the lab
            server.io_loop.start()
        return RunningLab(port, token, server.stop)
    started: Future[Any] = Future()
    thread = threading.Thread(target=_in_thread, args=(started, pn, new_page, port, token, open_browser))
    thread.start()
    loop = started.result()
    return RunningLab(port, token, lambda: loop.add_callback(loop.stop))


def _in_thread(started: Future[Any], pn: Any, new_page: Callable[[], Any], port: int, token: str, show: bool) -> None:
    from tornado.ioloop import IOLoop

    loop = IOLoop(make_current=False)
    try:
        server = _server(pn, new_page, port, token, loop, show)
    except BaseException as error:
        started.set_exception(error)
        return
    started.set_result(loop)
    loop.start()
    server.stop()
    loop.close()


def _server(pn: Any, new_page: Callable[[], Any], port: int, token: str, loop: Any, show: bool) -> Any:
    """A server that listens now, and answers once its loop runs."""
    from rosenblatt.lab.access import NAMES, AccessFilter, limit_sessions

    server = pn.serve(
        new_page,
        address=HOST,
        port=port,
        websocket_origin=[f"{name}:{port}" for name in NAMES],
        loop=loop,
        start=False,
        show=False,
        title="rosenblatt lab",
        websocket_max_message_size=MOST_MESSAGE_BYTES,
        http_server_kwargs={"max_body_size": MOST_BODY_BYTES},
        check_unused_sessions_milliseconds=CHECK_MS,
        verbose=False,
    )
    sessions = limit_sessions(server._tornado.applications["/"])
    AccessFilter(port, token, sessions).install(server._tornado)
    server.start()
    if show:
        loop.add_callback(webbrowser.open, address(port, token))
    return server
