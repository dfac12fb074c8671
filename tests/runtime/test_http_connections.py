"""Idle connections and unfinished requests do not delay the answers to other clients."""

from __future__ import annotations

import contextlib
import http.client
import resource
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forebay.http.connections import affordable
from forebay.http.messages import Answer, Limits, Request, Tls
from forebay.http.server import HttpServer

pytestmark = pytest.mark.long

HOST = "127.0.0.1"
KINDS = {
    "nothing": b"",
    "half a line": b"GET /heal",
    "half a head": b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "half of a second request": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /again HTT",
}
Start = Callable[..., HttpServer]


@pytest.fixture
def start() -> Iterator[Start]:
    servers: list[HttpServer] = []

    def start_server(answer: Callable[[Request], Answer], limits: Limits, tls: Tls | None = None) -> HttpServer:
        servers.append(HttpServer(answer, HOST, 0, limits, tls))
        return servers[-1]

    yield start_server
    for server in servers:
        server.close()


@pytest.fixture
def sockets() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


def certificate(folder: Path) -> Tls:
    """Create a certificate for localhost."""
    tls = Tls(folder / "certificate.pem", folder / "key.pem")
    what = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    files = ["-keyout", str(tls.key), "-out", str(tls.certificate), "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(["openssl", *what, *files], check=True, capture_output=True)
    return tls


def path_of(request: Request) -> Answer:
    return Answer(200, "text/plain", "/".join(request.path).encode())


def get(server: HttpServer, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(HOST, server.port, timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def idle(server: HttpServer, stack: contextlib.ExitStack, count: int, sent: bytes) -> list[socket.socket]:
    connections = [stack.enter_context(socket.create_connection((HOST, server.port), timeout=30)) for _ in range(count)]
    for connection in connections:
        connection.sendall(sent)
    return connections


@pytest.mark.parametrize("kind", KINDS)
def test_idle_connections_make_room_for_requests(start: Start, sockets: contextlib.ExitStack, kind: str) -> None:
    server = start(path_of, Limits(connections=50, seconds=600))
    idle(server, sockets, 120, KINDS[kind])
    for path in ("/healthz", "/metrics", "/stores/profiles"):
        assert get(server, path) == (200, path[1:].encode())


@pytest.mark.parametrize("kind", KINDS)
def test_idle_connections_are_closed_after_a_while(start: Start, sockets: contextlib.ExitStack, kind: str) -> None:
    server = start(path_of, Limits(seconds=0.3))
    (connection,) = idle(server, sockets, 1, KINDS[kind])
    with contextlib.suppress(ConnectionError):
        while connection.recv(65_536):
            pass


def test_a_client_that_sends_single_bytes_gets_no_more_time(start: Start, sockets: contextlib.ExitStack) -> None:
    server = start(path_of, Limits(seconds=0.5))
    (connection,) = idle(server, sockets, 1, b"GET /")
    connection.settimeout(0.05)
    for _ in range(500):
        try:
            connection.sendall(b"x")
            assert connection.recv(1) == b""
        except TimeoutError:
            continue
        except ConnectionError:
            break
    else:
        pytest.fail("it is still open")


@pytest.mark.parametrize("sent", [b"", b"\x16\x03"])
def test_a_connection_without_a_tls_handshake_is_closed(
    start: Start, sockets: contextlib.ExitStack, tmp_path: Path, sent: bytes
) -> None:
    tls = certificate(tmp_path)
    server = start(path_of, Limits(seconds=0.3), tls)
    (raw,) = idle(server, sockets, 1, sent)
    with contextlib.suppress(ConnectionError):
        while raw.recv(65_536):
            pass
    context = ssl.create_default_context(cafile=str(tls.certificate))
    connection = http.client.HTTPSConnection("localhost", server.port, timeout=30, context=context)
    connection.request("GET", "/healthz")
    assert connection.getresponse().status == 200
    connection.close()


def test_health_is_answered_while_all_others_are_busy(start: Start, sockets: contextlib.ExitStack) -> None:
    may_end, begun = threading.Event(), threading.Semaphore(0)

    def answer(request: Request) -> Answer:
        if request.path == ("slow",):
            begun.release()
            assert may_end.wait(30)
        return path_of(request)

    server = start(answer, Limits(connections=10, answers=4, seconds=30))
    busy = idle(server, sockets, 11, b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for _ in range(4):
        assert begun.acquire(timeout=30)
    for path in ("/healthz", "/readyz", "/metrics"):
        assert get(server, path) == (200, path[1:].encode())
    assert get(server, "/other")[0] == 503
    may_end.set()
    assert busy[0].recv(100).startswith(b"HTTP/1.1 200")


def test_a_connection_that_is_used_again_and_again_stays(start: Start) -> None:
    server = start(path_of, Limits(seconds=0.3))
    connection = http.client.HTTPConnection(HOST, server.port, timeout=30)
    until = time.monotonic() + 0.9
    while time.monotonic() < until:
        connection.request("GET", "/again")
        assert connection.getresponse().read() == b"again"
    connection.close()


def test_the_number_of_connections_respects_the_file_limit_of_the_process() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert affordable(10) == 10
    assert affordable(1 << 40) < soft // 2
