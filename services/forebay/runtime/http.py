"""A small HTTP server: answers of a function, each given on a thread of its own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_IDLE_SECONDS = 60.0
"""After which a connection without a request is closed."""


@dataclass(frozen=True, slots=True)
class Request:
    """A GET, or a POST with a body.

    Args:
        path: parts of the path, decoded; an encoded slash stays within its part.
        parameters: what follows the question mark, decoded: every value of each name.
        authorization: the header of that name, "" without one.
        method: GET or POST.
        body: of a POST.
        accept: the header of that name, "" without one.
    """

    path: tuple[str, ...]
    parameters: Mapping[str, list[str]] = field(default_factory=dict)
    authorization: str = ""
    method: str = "GET"
    body: bytes = b""
    accept: str = ""

    @classmethod
    def of(cls, target: str, authorization: str = "", **more: Any) -> Request:
        """Read a request's target, such as `/stores/profiles/user%2F1?limit=3`."""
        url = urlsplit(target)
        path = tuple(unquote(part) for part in url.path.strip("/").split("/"))
        return cls(path, parse_qs(url.query, keep_blank_values=True), authorization, **more)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request gets.

    Args:
        body: all of it; or pieces, sent as they come until they end or the client is gone.
        headers: further ones.
    """

    status: int
    content_type: str
    body: bytes | Iterator[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)


MAX_BODY = 1 << 16
"""Bytes that a POST's body may have."""

_TOO_LARGE = Answer(413, "application/json", b'{"error": "the body is larger than 65536 bytes: send less at once"}\n')
_NO_LENGTH = Answer(411, "application/json", b'{"error": "send the body\'s length: Content-Length"}\n')


class PortInUse(OSError):
    """The HTTP port is taken; the message names the option."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let a client that went away go; print a traceback of anything else."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class HttpServer:
    """Serves on threads of its own.

    Args:
        port: 0 takes a free one; `port` tells which.
    """

    def __init__(self, answer: Callable[[Request], Answer], host: str, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = _IDLE_SECONDS
            # Header and body are two writes: without this the second waits for the client's delayed acknowledgement.
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                with suppress(ConnectionError):
                    self._send(answer(self._request()))

            def do_POST(self) -> None:
                with suppress(ConnectionError):
                    length = self.headers.get("Content-Length", "")
                    if not length.isdecimal() or int(length) > MAX_BODY:
                        self.close_connection = True
                        self._send(_TOO_LARGE if length.isdecimal() else _NO_LENGTH)
                        return
                    self._send(answer(self._request(method="POST", body=self.rfile.read(int(length)))))

            def _request(self, **more: Any) -> Request:
                sent = self.headers.get("Authorization", "")
                return Request.of(self.path, sent, accept=self.headers.get("Accept", ""), **more)

            def _send(self, found: Answer) -> None:
                self.send_response(found.status)
                self.send_header("Content-Type", found.content_type)
                for name, value in found.headers.items():
                    self.send_header(name, value)
                if isinstance(found.body, bytes):
                    self.send_header("Content-Length", str(len(found.body)))
                    self.end_headers()
                    self.wfile.write(found.body)
                    return
                self.send_header("Cache-Control", "no-store")
                self.send_header("Connection", "close")
                self.end_headers()
                with closing(found.body) as pieces:  # type: ignore[type-var]
                    for piece in pieces:
                        self.wfile.write(piece)
                        self.wfile.flush()

            def log_message(self, format: str, *args: object) -> None:
                return

        try:
            self._server = _Server((host, port), Handler)
        except OSError as error:
            raise PortInUse(
                f"port {port} on {host} can't be opened ({error.strerror}): give another one with --http-port"
            ) from error
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="http", daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
