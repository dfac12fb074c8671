"""A Kubernetes API of a few objects, for tests of its clients."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FakeApi:
    """Objects by path. A PUT needs the object's current resourceVersion; `refused` paths are answered with 403."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.created: list[tuple[str, dict[str, Any]]] = []
        self.refused: set[str] = set()
        self.events: dict[str, list[dict[str, Any]]] = {}
        """The events that a watch of a path yields."""
        self.address = ""

    def put(self, path: str, **content: Any) -> None:
        """Create an object."""
        self.objects[path] = {"metadata": {"name": path.rpartition("/")[2], "resourceVersion": "1"}, **content}

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Answer a request."""
        path, _, query = path.partition("?")
        if path in self.refused:
            return 403, b"{}"
        if method == "POST":
            self.created.append((path, json.loads(body)))
            return 201, body
        if "watch=True" in query:
            lines = self.events.get(path, [])
            return 200, b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        before = self.objects.get(path)
        if before is None:
            return 404, b"{}"
        if method == "PUT":
            after = json.loads(body)
            version = before["metadata"]["resourceVersion"]
            if after["metadata"]["resourceVersion"] != version:
                return 409, b"{}"
            after["metadata"]["resourceVersion"] = str(int(version) + 1)
            self.objects[path] = after
        return 200, json.dumps(self.objects[path]).encode()


@contextmanager
def fake_api() -> Iterator[FakeApi]:
    """Serve an API on a free port."""
    api = FakeApi()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, answer = api.answer(self.command, self.path, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_PUT = do_POST = handle_any

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
