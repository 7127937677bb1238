"""Which requests are accepted: those to this machine's own name and port, with the token that the lab printed.

A page elsewhere can make its own name point to 127.0.0.1 (DNS rebinding) and then read whatever a server answers there,
because to the browser both are one origin. So the Host header of every request is checked, for pages, static files and
websockets alike. Other users of this machine can connect too: the token keeps them out. Once a request is checked the
token is removed from it, so that no log shows it.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Callable
from html import escape
from typing import Any
from urllib.parse import unquote
from weakref import WeakSet

from bokeh.protocol.exceptions import ProtocolError
from bokeh.server.contexts import ApplicationContext
from bokeh.util.token import get_session_id, get_token_payload
from tornado.httputil import HTTPHeaders, HTTPServerRequest, parse_cookie
from tornado.routing import Matcher, Rule
from tornado.web import Application, HTTPError, OutputTransform, RequestHandler

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
NO_SESSION = "This websocket names no session of the lab: load the page again."


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
        self.with_token: WeakSet[HTTPServerRequest] = WeakSet()  # requests whose URL had the token

    def install(self, application: Application) -> None:
        """Add the filter to an application, before all of its routes."""
        application.default_router.rules.insert(0, Rule(self, RefusalHandler))
        application.transforms.append(lambda request: TokenCookie(self, request))  # type: ignore[arg-type]

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        """The arguments of the refusal handler, or None for a request that may pass."""
        refusal = self.refusal(request)
        self._conceal(request)
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
        if not unquote(request.path).isprintable():  # no file has such a name, and the system refuses to look for it
            return 404, NOT_FOUND
        if request.path in ("/", "/ws"):  # a websocket that names no session opens a new one
            sessions = self.sessions()
            session = _session(request)
            if len(sessions) >= MOST_SESSIONS and session not in sessions:
                return 503, TOO_MANY_PAGES
            if request.path == "/ws" and session is None:
                return 400, NO_SESSION
        return None

    def _conceal(self, request: HTTPServerRequest) -> None:
        """Remove what may hold the token: logs show the URI, and Bokeh passes arguments and cookies on to the page."""
        if self.holds_token(request):
            self.with_token.add(request)
        if self.token in unquote(request.path):
            request.path = "/-"
        request.uri, request.query = request.path, ""
        for arguments in (request.arguments, request.query_arguments):
            arguments.pop("token", None)
        for name in ("Cookie", "Referer"):
            request.headers.pop(name, None)

    def holds_token(self, request: HTTPServerRequest) -> bool:
        """Whether the URL of a request has the token."""
        return any(self._same(given) for given in request.query_arguments.get("token", []))

    def _cookie(self, request: HTTPServerRequest) -> bytes:
        # `request.cookies` would remember them.
        return parse_cookie(request.headers.get("Cookie", "")).get(self.cookie, "").encode(errors="replace")

    def _same(self, given: bytes) -> bool:
        return secrets.compare_digest(given, self.token.encode())


def _session(request: HTTPServerRequest) -> str | None:
    """The ID of the session that a websocket belongs to, None if it names none."""
    token = request.headers.get("Sec-WebSocket-Protocol", "").split(",")[-1].strip()
    try:
        session = get_session_id(token)
        return session if isinstance(session, str) and "session_expiry" in get_token_payload(token) else None
    except (ValueError, LookupError, TypeError, RecursionError, zlib.error):
        return None


def limit_sessions(context: ApplicationContext) -> Callable[[], set[str]]:
    """Count sessions where they are made, so that none is made between the count and the next one.

    Parameters
    ----------
    context : ApplicationContext
        Of the page; changed.

    Returns
    -------
    callable
        Returns the IDs of the open sessions and of those that are being made.
    """
    create = context.create_session_if_needed

    def known() -> set[str]:
        return {*context._sessions, *context._pending_sessions}

    async def create_within_limit(session_id: Any, request: Any = None, token: str | None = None) -> Any:
        new = session_id not in known()
        if new and len(known()) >= MOST_SESSIONS:
            page = request is None or request.path == "/"
            raise HTTPError(503, reason=TOO_MANY_PAGES) if page else ProtocolError(TOO_MANY_PAGES)
        try:
            return await create(session_id, request, token)  # the session is pending before anything is awaited
        except BaseException:
            if new:
                context._pending_sessions.pop(session_id, None)  # one that failed would count for ever
            raise

    context.create_session_if_needed = create_within_limit  # type: ignore[method-assign]
    return known


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
        if status_code == 200 and self.request in self.filter.with_token:
            headers.add("Set-Cookie", f"{self.filter.cookie}={self.filter.token}; HttpOnly; Path=/; SameSite=Strict")
        return status_code, headers, chunk
