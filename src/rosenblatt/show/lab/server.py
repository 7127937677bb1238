"""The lab's server: bound to 127.0.0.1, with a gate before everything it answers."""

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
LARGEST = 150 * 1024 * 1024  # bytes of a file that is dropped on the page
LARGEST_BODY = 64 * 1024  # bytes of a request: all the lab takes in comes through the websocket
CHECK_MS = 1_000  # how often sessions whose pages were left are looked for


@dataclass(frozen=True)
class Served:
    """A lab that is running beside the caller."""

    port: int
    token: str
    end: Callable[[], None]

    @property
    def address(self) -> str:
        """Where it is, with the token that it asks for."""
        return address(self.port, self.token)

    def stop(self) -> None:
        """End it."""
        self.end()


def address(port: int, token: str) -> str:
    """Where a lab is, with the token that it asks for."""
    return f"http://{HOST}:{port}/?token={token}"


def open_port(port: int) -> int:
    """The port if nobody listens there, or for 0 one that is free."""
    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, port))
        except OSError:
            raise OSError(f"Port {port} cannot be listened on: choose another, or none for a free one.") from None
        return int(found.getsockname()[1])


def start(pn: Any, build: Callable[[], Any], *, port: int, open_browser: bool, block: bool) -> Served:
    """Serve a page per visitor."""
    from tornado.ioloop import IOLoop

    port, token = open_port(port), secrets.token_urlsafe(24)
    if block:
        print(f"The lab is at {address(port, token)} (Ctrl-C ends it)", flush=True)
        server = _server(pn, build, port, token, IOLoop.current(), open_browser)
        with suppress(RuntimeError):  # a notebook's loop runs already, and serves the lab from now on
            server.io_loop.start()
        return Served(port, token, server.stop)
    started: Future[Any] = Future()
    thread = threading.Thread(target=_in_thread, args=(started, pn, build, port, token, open_browser))
    thread.start()
    loop = started.result()
    return Served(port, token, lambda: loop.add_callback(loop.stop))


def _in_thread(started: Future[Any], pn: Any, build: Callable[[], Any], port: int, token: str, show: bool) -> None:
    from tornado.ioloop import IOLoop

    loop = IOLoop(make_current=False)
    try:
        server = _server(pn, build, port, token, loop, show)
    except BaseException as error:
        started.set_exception(error)
        return
    started.set_result(loop)
    loop.start()
    server.stop()
    loop.close()


def _server(pn: Any, build: Callable[[], Any], port: int, token: str, loop: Any, show: bool) -> Any:
    """A server that listens and answers as soon as its loop runs."""
    from rosenblatt.show.lab.access import NAMES, Gate

    server = pn.serve(
        build,
        address=HOST,
        port=port,
        websocket_origin=[f"{name}:{port}" for name in NAMES],
        loop=loop,
        start=False,
        show=False,
        title="rosenblatt lab",
        websocket_max_message_size=LARGEST,
        http_server_kwargs={"max_body_size": LARGEST_BODY},
        check_unused_sessions_milliseconds=CHECK_MS,
        verbose=False,
    )
    Gate(port, token, lambda: {session.id for session in server.get_sessions()}).guard(server._tornado)
    server.start()
    if show:
        loop.add_callback(webbrowser.open, address(port, token))
    return server
