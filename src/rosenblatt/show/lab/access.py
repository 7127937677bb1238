"""Who is let in: requests to this machine by name and port, with the token that was printed where the lab started.

A page elsewhere can make its own name point to 127.0.0.1 (DNS rebinding) and then read whatever a server answers there,
because to the browser both are one origin. So the name that a request asks for is checked, on pages, static files and
websockets alike. Other users of this machine can connect too: the token keeps them out.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from html import escape
from typing import Any

from bokeh.util.token import get_session_id
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.routing import Matcher, Rule
from tornado.web import Application, OutputTransform, RequestHandler

NAMES = ("127.0.0.1", "localhost")  # the lab does not listen on [::1]
MOST_SESSIONS = 32
FOREIGN = "The lab answers only requests from this machine, to the address that was printed where it was started."
NO_TOKEN = (
    "Open the address that was printed where the lab was started: it ends with a token, which this request lacks. "
    "To open a shared link while the lab is open in this browser, paste the link into the address bar."
)
CROWDED = f"{MOST_SESSIONS} pages of this lab are open: close some of them, wait a few seconds and load this one again."
NOT_FOUND = "There is no such page in the lab."


class Gate(Matcher):
    """Matches every request that is to be refused; the rest goes on to the routes of the lab.

    Parameters
    ----------
    port : int
        Where the lab listens.
    token : str
        What a request must bring, as the parameter `token` of its address or in the cookie that was set for it.
    sessions : callable
        Returns the names of the sessions that there are.
    """

    def __init__(self, port: int, token: str, sessions: Callable[[], set[str]]) -> None:
        self.token, self.sessions = token, sessions
        self.hosts = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())
        self.cookie = f"rosenblatt-lab-{port}"  # cookies are shared by all ports of a host

    def guard(self, application: Application) -> None:
        """Stand before all routes of an application."""
        application.default_router.rules.insert(0, Rule(self, Refusal))
        application.transforms.append(lambda request: Admission(self, request))  # type: ignore[arg-type]

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        """What the refusal says, or None for a request that may pass."""
        refused = self.refused(request)
        return None if refused is None else {"target_kwargs": {"status": refused[0], "sentence": refused[1]}}

    def refused(self, request: HTTPServerRequest) -> tuple[int, str] | None:
        """The status and the sentence of a refusal, or None."""
        origin = request.headers.get("Origin")
        if request.headers.get("Host", "").lower() not in self.hosts:  # request.host invents one where none is sent
            return 403, FOREIGN
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self.hosts}:
            return 403, FOREIGN
        if not (self.holds_token(request) or self._same(self._cookie(request))):
            return 403, NO_TOKEN
        if request.path.endswith("/autoload.js"):  # for pages elsewhere: Bokeh lets every origin read it
            return 404, NOT_FOUND
        if request.path in ("/", "/ws"):  # a websocket without its session makes a new one
            sessions = self.sessions()
            if len(sessions) >= MOST_SESSIONS and _session(request) not in sessions:
                return 503, CROWDED
        return None

    def holds_token(self, request: HTTPServerRequest) -> bool:
        """Whether the address of a request has the token."""
        return any(self._same(given) for given in request.query_arguments.get("token", []))

    def _cookie(self, request: HTTPServerRequest) -> bytes:
        found = request.cookies.get(self.cookie)
        return b"" if found is None else found.value.encode(errors="replace")

    def _same(self, given: bytes) -> bool:
        return secrets.compare_digest(given, self.token.encode())


def _session(request: HTTPServerRequest) -> str | None:
    """The session that a websocket belongs to, None where it names none."""
    try:
        return str(get_session_id(request.headers.get("Sec-WebSocket-Protocol", "").split(",")[-1].strip()))
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


class Refusal(RequestHandler):
    """A page with one sentence."""

    def initialize(self, status: int, sentence: str) -> None:
        """What to answer."""
        self.status, self.sentence = status, sentence

    def prepare(self) -> None:
        """Answer, whatever was asked."""
        self.set_status(self.status)
        self.set_header("Cache-Control", "no-store")
        self.finish(f"<!DOCTYPE html><title>rosenblatt lab</title><p>{escape(self.sentence, quote=False)}</p>\n")


class Admission(OutputTransform):
    """Sets the cookie where a page was asked for with the token, so that what the page loads is let in too."""

    def __init__(self, gate: Gate, request: HTTPServerRequest) -> None:
        self.gate, self.request = gate, request

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Add the cookie; the token in the address is told to nobody else."""
        headers["Referrer-Policy"] = "no-referrer"
        if status_code == 200 and self.gate.holds_token(self.request):
            headers.add("Set-Cookie", f"{self.gate.cookie}={self.gate.token}; HttpOnly; Path=/; SameSite=Strict")
        return status_code, headers, chunk
