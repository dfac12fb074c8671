"""The HTTP server enforces limits, supports TLS, and handles clients that disconnect."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forebay.http.messages import Answer, Limits, Request, Tls
from forebay.http.server import HttpServer, PortInUse

pytestmark = pytest.mark.long

HOST = "127.0.0.1"
Start = Callable[..., HttpServer]


@pytest.fixture
def start() -> Iterator[Start]:
    servers: list[HttpServer] = []

    def start_server(answer: Callable[[Request], Answer], limits: Limits = Limits()) -> HttpServer:  # noqa: B008
        servers.append(HttpServer(answer, HOST, 0, limits))
        return servers[-1]

    yield start_server
    for server in servers:
        server.close()


def exchange(server: HttpServer, request: bytes) -> bytes:
    """Send raw bytes. Return everything that the server sends until it closes the connection."""
    with socket.create_connection((HOST, server.port), timeout=30) as raw:
        raw.sendall(request)
        received = b""
        while data := raw.recv(65_536):
            received += data
        return received


def fine(_request: Request) -> Answer:
    return Answer(200, "text/plain", b"fine\n")


def test_a_body_that_does_not_arrive_ends_the_connection(start: Start) -> None:
    server = start(fine, Limits(seconds=0.2))
    assert (
        b" 408 "
        in exchange(server, b"POST / HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 100\r\n\r\nhalf").split(b"\r\n")[0]
    )


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"127.0.0.1", b"200"),
        (b"127.0.0.1:7080", b"200"),
        (b"localhost:7080", b"200"),
        (b"[::1]:7080", b"200"),
        (b"127.evil.test", b"421"),
        (b"evil.test:7080", b"421"),
        (b"[", b"421"),
    ],
)
def test_a_request_with_a_foreign_host_header_is_refused(start: Start, host: bytes, status: bytes) -> None:
    answer = exchange(start(fine), b"GET / HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")
    assert answer.split(b" ")[1] == status


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"POST / HTTP/1.1\r\nHost: [::1]\r\n\r\n", b"411"),
        (b"POST / HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 65537\r\n\r\n", b"413"),
        (b"PUT / HTTP/1.1\r\nHost: [::1]\r\n\r\n", b"405"),
        (b"rubbish\r\n\r\n", b"400"),
    ],
)
def test_invalid_requests_are_refused_and_later_requests_are_answered(
    request_: bytes, status: bytes, start: Start
) -> None:
    server = start(fine)
    with contextlib.suppress(ConnectionError):  # the server may close the connection before it has read all of this
        exchange(server, b"GET /" + b"x" * 2_000_000 + b" HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n")
    assert exchange(server, request_).split(b" ")[1] == status
    connection = http.client.HTTPConnection(HOST, server.port, timeout=30)
    connection.request("GET", "/")
    assert connection.getresponse().read() == b"fine\n"
    connection.close()


def test_streams_above_the_limit_are_refused_until_another_stream_ends(start: Start) -> None:
    go_on, ended = threading.Event(), threading.Event()

    def pieces() -> Iterator[bytes]:
        try:
            yield b"first\n"
            go_on.wait(30)
            yield b"last\n"
        finally:
            ended.set()

    server = start(lambda _: Answer(200, "text/plain", pieces()), Limits(streams=1))
    first = http.client.HTTPConnection(HOST, server.port, timeout=30)
    first.request("GET", "/")
    following = first.getresponse()
    assert following.readline() == b"first\n"
    second = http.client.HTTPConnection(HOST, server.port, timeout=30)
    second.request("GET", "/")
    refused = second.getresponse()
    assert refused.status == 503
    assert "1 answers are being followed" in json.loads(refused.read())["error"]
    go_on.set()
    assert following.read() == b"last\n"
    assert ended.wait(30)
    second.close()
    third = http.client.HTTPConnection(HOST, server.port, timeout=30)
    third.request("GET", "/")
    assert third.getresponse().status == 200
    third.close()


def test_a_stream_ends_if_its_client_disconnects(start: Start) -> None:
    ended = threading.Event()

    def pieces() -> Iterator[bytes]:
        try:
            while True:
                yield b"again\n" * 1_000
        finally:
            ended.set()

    server = start(lambda _: Answer(200, "text/plain", pieces()))
    with socket.create_connection((HOST, server.port), timeout=30) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n")
        assert raw.recv(100)
    assert ended.wait(30)


def test_an_unexpected_exception_is_logged_and_answered_with_status_500(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_request: Request) -> Answer:
        raise KeyError("ours")

    server = start(broken)
    assert (
        b" 500 " in exchange(server, b"GET /a HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n").split(b"\r\n")[0]
    )
    assert "a request for a could not be answered" in caplog.text


def test_a_port_in_use_is_reported(start: Start) -> None:
    server = start(fine)
    with pytest.raises(PortInUse, match="choose another port with --http-port"):
        HttpServer(fine, HOST, server.port)


@pytest.mark.parametrize("client", ["127.0.0.1", "::1"])
def test_the_wildcard_address_accepts_ipv4_and_ipv6(client: str) -> None:
    server = HttpServer(fine, "::", 0)
    try:
        connection = http.client.HTTPConnection(client, server.port, timeout=30)
        connection.request("GET", "/", headers={"Host": "localhost"})
        assert connection.getresponse().read() == b"fine\n"
        connection.close()
    finally:
        server.close()


def test_the_wildcard_address_accepts_ipv4_if_ipv6_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    server = HttpServer(fine, "::", 0)
    try:
        socket.create_connection((HOST, server.port), 30).close()
    finally:
        server.close()


def test_requests_are_answered_over_tls(tmp_path: Path) -> None:
    options = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "certificate.pem")]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *options, *files, *names], check=True, capture_output=True)
    server = HttpServer(fine, HOST, 0, tls=Tls(tmp_path / "certificate.pem", tmp_path / "key.pem"))
    try:
        trusting = ssl.create_default_context(cafile=str(tmp_path / "certificate.pem"))
        connection = http.client.HTTPSConnection(HOST, server.port, timeout=30, context=trusting)
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"fine\n"
        connection.close()
    finally:
        server.close()


def test_an_unreadable_certificate_is_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.pem").write_text("no certificate")
    with pytest.raises((OSError, ssl.SSLError)):
        HttpServer(fine, HOST, 0, tls=Tls(tmp_path / "a.pem", tmp_path / "missing.pem"))


def test_answers_are_sent_at_once(start: Start) -> None:
    """An answer's body must not wait for the acknowledgement of its head."""
    server = start(fine)
    assert server._socket.proto == socket.IPPROTO_TCP, "asyncio sets TCP_NODELAY on such alone"
