"""An in-memory registry of OCI artefacts on the loopback address, with the requests that helm's push and pull use."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class OciRegistry:
    """Server that stores pushed artefacts. `address` is its host and port."""

    def __init__(self) -> None:
        blobs: dict[str, bytes] = {}
        manifests: dict[str, tuple[str, bytes]] = {}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                path = urlsplit(self.path).path
                if path.endswith("/tags/list"):
                    name = path.removeprefix("/v2/").removesuffix("/tags/list")
                    tags = [key.rpartition(":")[2] for key in manifests if key.startswith(f"{name}:")]
                    self._answer(200, json.dumps({"name": name, "tags": tags}).encode())
                elif "/manifests/" in path:
                    kind, body = manifests.get(_key(path), ("", b""))
                    self._answer(200 if kind else 404, body, kind or "text/plain")
                elif "/blobs/" in path:
                    body = blobs.get(path.rpartition("/")[2], b"")
                    self._answer(200 if body else 404, body, "application/octet-stream")
                else:
                    self._answer(200, b"{}")

            def do_POST(self) -> None:
                self._body()
                self._answer(202, b"", location=f"{self.path}upload")

            def do_PUT(self) -> None:
                url, body = urlsplit(self.path), self._body()
                if "/manifests/" in url.path:
                    retained = (self.headers["Content-Type"], body)
                    manifests[_key(url.path)] = manifests[_key(url.path, _digest(body))] = retained
                else:
                    (digest,) = parse_qs(url.query)["digest"]
                    assert digest == _digest(body)
                    blobs[digest] = body
                self._answer(201, b"", location=self.path, digest=_digest(body))

            def _body(self) -> bytes:
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))

            def _answer(
                self, status: int, body: bytes, kind: str = "application/json", location: str = "", digest: str = ""
            ) -> None:
                self.send_response(status)
                headers = {
                    "Content-Type": kind,
                    "Content-Length": str(len(body)),
                    "Location": location,
                    "Docker-Content-Digest": digest or _digest(body),
                }
                for name, value in headers.items():
                    if value:
                        self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def _key(path: str, reference: str = "") -> str:
    name, _, given = path.removeprefix("/v2/").partition("/manifests/")
    return f"{name}:{reference or given}"


def _digest(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"
