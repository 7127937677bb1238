"""The lab's server: bound to 127.0.0.1, and open to pages from there only."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

HOST = "127.0.0.1"
LARGEST = 150 * 1024 * 1024  # bytes of a file that is dropped on the page


@dataclass(frozen=True)
class Served:
    """A lab that is running beside the caller."""

    port: int
    thread: Any

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://{HOST}:{self.port}/"

    def stop(self) -> None:
        """End it."""
        self.thread.stop()


def open_port(port: int) -> int:
    """The port if nobody listens there, or for 0 one that is free."""
    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, port))
        except OSError:
            raise OSError(f"Port {port} cannot be listened on: choose another, or none for a free one.") from None
        return int(found.getsockname()[1])


def start(pn: Any, build: Callable[[], Any], *, port: int, open_browser: bool, block: bool) -> Any:
    """Serve a page a visitor."""
    port = open_port(port)
    if block:
        print(f"The lab is at http://{HOST}:{port} (Ctrl-C ends it)", flush=True)
    running = pn.serve(
        build,
        address=HOST,
        port=port,
        websocket_origin=[f"{HOST}:{port}", f"localhost:{port}"],
        show=open_browser,
        title="rosenblatt lab",
        threaded=not block,
        websocket_max_message_size=LARGEST,
        verbose=False,
    )
    return Served(port, running)
