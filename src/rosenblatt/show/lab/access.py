"""Which requests are accepted: those to this machine's own name and port, with the token that the lab printed.

A page elsewhere can make its own name point to 127.0.0.1 (DNS rebinding) and then read whatever a server answers there,
because to the browser both are one origin. So the Host header of every request is checked, for pages, static files and
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
FOREIGN = "The lab accepts requests from this machine only, at the address that it printed when it started."
NO_TOKEN = (
    "Open the address that the lab printed when it started: it ends with a token, which this request lacks. "
    "To open a shared link while the lab is open in this browser, paste the link into the address bar."
)
TOO_MANY_PAGES = (
    f"{MOST_SESSIONS} pages of this lab are open: close some of them, wait a few seconds and load this one again."
)
NOT_FOUND = "There is no such page in the lab."


class AccessFilter(Matcher):
    """Matches every request that must be refused; the others reach the routes of the lab.

    Parameters
    ----------
    port : int
        The port that the lab listens on.
    token : str
        What a request must carry, as the query parameter `token` or in the cookie that was set for it.
    sessions : callable
        Returns the IDs of the open sessions.
    """

    def __init__(self, port: int, token: str, sessions: Callable[[], set[str]]) -> None:
        self.token, self.sessions = token, sessions
        self.hosts = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())
        self.cookie = f"rosenblatt-lab-{port}"  # cookies are shared by all ports of a host

    def install(self, application: Application) -> None:
        """Add the filter to an application, before all of its routes."""
        application.default_router.rules.insert(0, Rule(self, RefusalHandler))
        application.transforms.append(lambda request: TokenCookie(self, request))  # type: ignore[arg-type]

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        """The arguments of the refusal handler, or None for a request that may pass."""
        refusal = self.refusal(request)
        return None if refusal is None else {"target_kwargs": {"status": refusal[0], "sentence": refusal[1]}}

    def refusal(self, request: HTTPServerRequest) -> tuple[int, str] | None:
        """The status and the message of a refusal, or None."""
        origin = request.headers.get("Origin")
        if request.headers.get("Host", "").lower() not in self.hosts:  # request.host has a default, the header has none
            return 403, FOREIGN
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self.hosts}:
            return 403, FOREIGN
        if not (self.holds_token(request) or self._same(self._cookie(request))):
            return 403, NO_TOKEN
        if request.path.endswith("/autoload.js"):  # for embedding in other sites: Bokeh lets every origin read it
            return 404, NOT_FOUND
        if request.path in ("/", "/ws"):  # a websocket that names no session opens a new one
            sessions = self.sessions()
            if len(sessions) >= MOST_SESSIONS and _session(request) not in sessions:
                return 503, TOO_MANY_PAGES
        return None

    def holds_token(self, request: HTTPServerRequest) -> bool:
        """Whether the URL of a request has the token."""
        return any(self._same(given) for given in request.query_arguments.get("token", []))

    def _cookie(self, request: HTTPServerRequest) -> bytes:
        found = request.cookies.get(self.cookie)
        return b"" if found is None else found.value.encode(errors="replace")

    def _same(self, given: bytes) -> bool:
        return secrets.compare_digest(given, self.token.encode())


def _session(request: HTTPServerRequest) -> str | None:
    """The ID of the session that a websocket belongs to, None if it names none."""
    try:
        return str(get_session_id(request.headers.get("Sec-WebSocket-Protocol", "").split(",")[-1].strip()))
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


class RefusalHandler(RequestHandler):
    """Answers a refused request with a page of one sentence."""

    def initialize(self, status: int, sentence: str) -> None:
        """Store the answer."""
        self.status, self.sentence = status, sentence

    def prepare(self) -> None:
        """Answer, whatever the method of the request."""
        self.set_status(self.status)
        self.set_header("Cache-Control", "no-store")
        self.finish(f"<!DOCTYPE html><title>rosenblatt lab</title><p>{escape(self.sentence, quote=False)}</p>\n")


class TokenCookie(OutputTransform):
    """Sets the cookie when a page is requested with the token, so that what the page loads is accepted too."""

    def __init__(self, filter: AccessFilter, request: HTTPServerRequest) -> None:
        self.filter, self.request = filter, request

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Add the cookie, and keep the token in the URL out of Referer headers."""
        headers["Referrer-Policy"] = "no-referrer"
        if status_code == 200 and self.filter.holds_token(self.request):
            headers.add("Set-Cookie", f"{self.filter.cookie}={self.filter.token}; HttpOnly; Path=/; SameSite=Strict")
        return status_code, headers, chunk
