"""A minimal HTTP schema registry whose answers tests set."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class RegistryDouble(ThreadingHTTPServer):
    """Returns the `answers` to "METHOD path" in turn (the last one is repeated), and records all requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, list[tuple[int, Any]]] = {}
        self.requests: list[tuple[str, str, Any]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, what: str, *answers: tuple[int, Any]) -> None:
        self.answers[what] = list(answers)


class _Handler(BaseHTTPRequestHandler):
    server: RegistryDouble

    def _handle(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        self.server.requests.append((self.command, self.path, body))
        self.server.headers.append(dict(self.headers))
        answers = self.server.answers.get(
            f"{self.command} {self.path}", [(404, {"error_code": 40401, "message": "none"})]
        )
        status, content = answers[0] if len(answers) == 1 else answers.pop(0)
        data = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = _handle

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def running() -> Iterator[RegistryDouble]:
    server = RegistryDouble()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
