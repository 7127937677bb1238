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


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def start(pn: Any, build: Callable[[], Any], *, port: int, open_browser: bool, block: bool) -> Any:
    """Serve a page a visitor."""
    port = port or free_port()
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
