"""Who the lab answers: real requests over real sockets, with forged names, origins and tokens."""

import base64
import json
import logging
import re
import socket

import pytest

from rosenblatt import lab
from rosenblatt.lab import access
from rosenblatt.lab import server as lab_server

SLOW = 60  # seconds: the first page compiles


@pytest.fixture(scope="module")
def server():
    running = lab.serve(open_browser=False, block=False)
    yield running
    running.stop()


class Answer:
    """The status, the headers by name in lower case, and the start of the body of an answer."""

    def __init__(self, data):
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.body = body.decode(errors="replace")


def ask(server, path, *, host=None, method="GET", version="1.1", **headers):
    """Send a request as it stands; a websocket's answer is read up to its headers."""
    host = f"127.0.0.1:{server.port}" if host is None else host
    lines = [f"{method} {path} HTTP/{version}", *([f"Host: {host}"] if host else [])]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += [] if "Upgrade" in headers else ["Connection: close"]
    data = b""
    with socket.create_connection(("127.0.0.1", server.port), SLOW) as line:
        line.sendall("".join(f"{one}\r\n" for one in [*lines, ""]).encode())
        while chunk := line.recv(65536):
            data += chunk
            if "Upgrade" in headers and b"\r\n\r\n" in data:
                break
    return Answer(data)


def shake(server, path, session, **more):
    """Ask for a websocket."""
    key = base64.b64encode(b"0123456789abcdef").decode()
    headers = {"Sec_WebSocket_Version": 13, "Sec_WebSocket_Key": key, "Sec_WebSocket_Protocol": f"bokeh, {session}"}
    return ask(server, path, Upgrade="websocket", Connection="Upgrade", **headers, **more)


def session_of(page):
    return re.search(r'"token":"([^"]+)"', page.body)[1]


@pytest.fixture(scope="module")
def page(server):
    return ask(server, f"/?token={server.token}")


def needed(page):
    """A script that the page loads."""
    return "/" + re.search(r'src="/?(static/[^"?]+)', page.body)[1]


def foreign(port):
    return [
        "evil.example",
        f"evil.example:{port}",
        f"evil.example.:{port}",
        f"127.0.0.1.evil.example:{port}",
        f"localhost.evil.example:{port}",
        f"localhost.:{port}",
        f"user@127.0.0.1:{port}",
        f"127.0.0.1:{port}, evil.example",
        f"127.0.0.1:{port}\r\nHost: evil.example",
        f"evil.example\r\nHost: 127.0.0.1:{port}",
        f"evil.example\r\nX-Forwarded-Host: 127.0.0.1:{port}",
        "127.0.0.1",
        "localhost",
        f"127.0.0.1:{port + 1}",
        f"127.0.0.1:0{port}",
        f"[::1]:{port}",
        f"[::ffff:127.0.0.1]:{port}",
        f"0.0.0.0:{port}",
        f"192.168.0.1:{port}",
        "",
    ]


def test_no_request_to_another_host_name_is_answered(server, page):
    for host in foreign(server.port):
        for path in (f"/?token={server.token}", f"{needed(page)}?token={server.token}"):
            assert ask(server, path, host=host).status in (400, 403), (host, path)
        assert shake(server, f"/ws?token={server.token}", session_of(page), host=host).status in (400, 403), host
    assert ask(server, f"/?token={server.token}", host="", version="1.0").status == 403
    refused = ask(server, f"/?token={server.token}", host=f"evil.example:{server.port}")
    assert "requests from this machine only" in refused.body
    assert server.token not in str(vars(refused))


def test_requests_to_this_machine_are_answered(server, page):
    for host in (f"127.0.0.1:{server.port}", f"localhost:{server.port}", f"LocalHost:{server.port}"):
        assert ask(server, f"{needed(page)}?token={server.token}", host=host).status == 200
    hosts = access.AccessFilter(80, "", set).hosts
    assert "localhost" in hosts  # a browser leaves the port 80 out


def test_origins(server, page):
    session, port = session_of(page), server.port
    for name in ("127.0.0.1", "localhost"):
        where = {"host": f"{name}:{port}", "Origin": f"http://{name}:{port}"}
        assert shake(server, f"/ws?token={server.token}", session, **where).status == 101
    others = ("http://evil.example", f"http://evil.example:{port}", "null", "", f"https://127.0.0.1:{port}")
    for origin in (
        *others,
        "http://127.0.0.1",
        f"http://127.0.0.1:{port + 1}",
        f"http://127.0.0.1:{port}.evil.example",
    ):
        assert shake(server, f"/ws?token={server.token}", session, Origin=origin).status == 403, origin
        assert ask(server, f"/?token={server.token}", Origin=origin).status == 403, origin


def test_the_environment_does_not_open_the_websocket(server, page, monkeypatch):
    monkeypatch.setenv("BOKEH_ALLOW_WS_ORIGIN", "evil.example")
    answer = shake(server, f"/ws?token={server.token}", session_of(page), Origin="http://evil.example")
    assert answer.status == 403


def test_the_token_is_required(server, page):
    paths = ["/", "/?state=nonsense", needed(page), "/metadata", "/favicon.ico", "/nothing", "/autoload.js"]
    wrong = [server.token[:-1], server.token + "x", server.token.swapcase(), "", "%00", "%ff", "é"]
    for path in paths:
        assert ask(server, path).status == 403, path
    for token in wrong:
        assert ask(server, f"/?token={token}").status in (400, 403), token
        assert ask(server, "/", Cookie=f"rosenblatt-lab-{server.port}={token}").status == 403, token
    assert ask(server, "/", Cookie=f"token={server.token}").status == 403
    assert shake(server, "/ws", session_of(page)).status == 403
    refused = ask(server, "/")
    assert "the address that the lab printed" in refused.body
    assert "set-cookie" not in refused.headers


def test_the_cookie_admits_the_page_and_what_it_loads(server, page):
    assert page.status == 200
    cookie, *flags = page.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(flags)
    assert cookie == f"rosenblatt-lab-{server.port}={server.token}"
    assert ask(server, needed(page), Cookie=f"other=1; {cookie}").status == 200
    assert shake(server, "/ws", session_of(page), Cookie=cookie).status == 101
    assert ask(server, "/", Cookie=cookie).status == 200  # a link that was shared has no token
    assert ask(server, needed(page), Cookie=cookie, host=f"evil.example:{server.port}").status == 403


def test_no_other_origin_may_read_anything(server, page):
    answers = [page, ask(server, f"{needed(page)}?token={server.token}"), ask(server, "/")]
    for method in ("GET", "OPTIONS", "HEAD", "POST", "PUT"):
        answers += [ask(server, f"/autoload.js?token={server.token}&bokeh-autoload-element=1", method=method)]
    assert [answer.headers for answer in answers if "access-control-allow-origin" in answer.headers] == []
    assert {answer.status for answer in answers[3:]} == {404}


def test_the_number_of_sessions_is_limited(server, page, monkeypatch):
    assert access.MOST_SESSIONS == 32
    monkeypatch.setattr(access, "MOST_SESSIONS", 1)
    page = ask(server, f"/?token={server.token}") if page.status != 200 else page
    crowded = ask(server, f"/?token={server.token}")
    assert crowded.status == 503
    assert "close some of them" in crowded.body
    for forged in ({"session_id": "new"}, {"session_id": ["new"]}, [], {}):
        session = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode().rstrip("=")
        assert shake(server, f"/ws?token={server.token}", session).status == 503
    assert shake(server, f"/ws?token={server.token}", "[" * 1000).status == 503
    assert ask(server, f"{needed(page)}?token={server.token}").status == 200


def test_eighty_requests_at_once_open_no_more_sessions_than_the_limit():
    import panel as pn

    small = lab_server.start(pn, lambda: pn.pane.HTML("small"), port=0, open_browser=False, block=False)
    text = f"GET /?token={small.token} HTTP/1.1\r\nHost: 127.0.0.1:{small.port}\r\nConnection: close\r\n\r\n".encode()
    lines = [socket.create_connection(("127.0.0.1", small.port), SLOW) for _ in range(80)]
    try:
        for line in lines:
            line.sendall(text)
        found = [int(line.makefile("rb").readline().split()[1]) for line in lines]
    finally:
        for line in lines:
            line.close()
        small.stop()
    assert (found.count(200), found.count(503)) == (access.MOST_SESSIONS, 80 - access.MOST_SESSIONS)


def test_a_session_that_could_not_be_made_is_not_counted(monkeypatch):
    import asyncio

    from bokeh.application import Application
    from bokeh.protocol.exceptions import ProtocolError
    from bokeh.server.contexts import ApplicationContext
    from tornado.web import HTTPError

    def fails(document):
        raise ArithmeticError

    context = ApplicationContext(Application())
    monkeypatch.setattr(context.application, "initialize_document", fails)
    known = access.limit_sessions(context)
    for k in range(3):
        with pytest.raises(ArithmeticError):
            asyncio.run(context.create_session_if_needed(f"page {k}"))
    assert known() == set()
    monkeypatch.setattr(access, "MOST_SESSIONS", 0)
    with pytest.raises(HTTPError, match="close some of them"):
        asyncio.run(context.create_session_if_needed("page"))
    socket_request = type("Request", (), {"path": "/ws"})
    with pytest.raises(ProtocolError, match="close some of them"):
        asyncio.run(context.create_session_if_needed("page", socket_request))


ODD_PATHS = [
    "/static/%00",
    "/static/js/%00.js",
    "/static/%0a%0d",
    "/%00",
    "/nothing",
    "/static/nothing",
    "/static/",
    "/static/js",
    "/static/%ff",
    "/static/%ED%A0%80",
    "/static//etc/passwd",
    "/static/../../etc/passwd",
    "/static/%2e%2e/%2e%2e/etc/passwd",
    "/static/" + "x" * 5000,
    "/static/extensions/%00",
    "/static/extensions/panel/%00",
    "/static/extensions/nothing/x",
    "/components/%00",
    "/components/os/path/x/y",
    "/components/panel.widgets/Button/%00/x",
    "/metadata/%00",
    "//",
    "/ws",
    "/ws/",
]


def test_odd_requests_log_neither_a_traceback_nor_the_token(server, page, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    for name in ("tornado", "tornado.access"):  # whatever another test, or what it imported, has set
        caplog.set_level(logging.INFO, logger=name)
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
        monkeypatch.setattr(logging.getLogger(name), "disabled", False)
    cookie = f"rosenblatt-lab-{server.port}={server.token}"
    referer = f"http://127.0.0.1:{server.port}/?token={server.token}"
    for path in ODD_PATHS:
        for method in ("GET", "HEAD", "POST"):
            for target, headers in ((f"{path}?token={server.token}&x=%00", {}), (path, {"Cookie": cookie})):
                answer = ask(server, target, method=method, Referer=referer, **headers)
                assert 400 <= answer.status < 500, (method, target, answer.status)
    ask(server, f"/?token={server.token}", host="evil.example")
    ask(server, f"/{server.token}?token={server.token}")
    for forged in ({"session_id": "new"}, {"session_id": ["new"], "session_expiry": 1e12}, [], {}, "x"):
        session = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode().rstrip("=")
        assert shake(server, f"/ws?token={server.token}", session).status == 400
    for session in ("", "[" * 1000, "a.b.c", "\xff"):
        assert shake(server, f"/ws?token={server.token}", session, Cookie=cookie).status == 400
    said = [logging.Formatter().format(record) for record in caplog.records]
    assert any("404 GET /nothing" in line for line in said)
    assert [line for line in said if "Traceback" in line or server.token in line or "?" in line.split("(")[0]] == []


def test_the_page_is_given_no_token(server, page):
    from bokeh.util.token import get_token_payload

    cookie = f"rosenblatt-lab-{server.port}={server.token}"
    for answer in (
        page,
        ask(server, "/?state=nonsense", Cookie=f"other=1; {cookie}", Referer=f"/?token={server.token}"),
    ):
        assert answer.status == 200
        assert server.token not in answer.body
        assert server.token not in str(get_token_payload(session_of(answer)))
    assert get_token_payload(session_of(answer))["arguments"] == {"state": [b"nonsense"]}
