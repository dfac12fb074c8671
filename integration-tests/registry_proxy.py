"""A proxy in a pod that adds TLS and a password (HTTP basic authentication) to a registry without them.

    DOOR_LOGIN=user:password python registry_proxy.py PORT STORE BEHIND

PORT is the port of the proxy, STORE the file with its key and certificate chain, and BEHIND the registry's port on the
loopback address.
"""

from __future__ import annotations

import os
import ssl
import sys
from base64 import b64encode
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PASSED_ON = ("Accept", "Content-Type")


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    expected: str
    behind: int

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != self.expected:
            self.answer(401, "application/json", b'{"error_code": 401, "message": "Unauthorized"}')
            return
        behind = HTTPConnection("127.0.0.1", self.behind, timeout=30)
        headers = {name: self.headers[name] for name in PASSED_ON if name in self.headers}
        behind.request(self.command, self.path, body or None, headers)
        response = behind.getresponse()
        self.answer(response.status, response.headers.get("Content-Type", "application/json"), response.read())
        behind.close()

    do_GET = do_POST = do_PUT = do_DELETE = handle_any

    def answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(port: str, store: str, behind: str) -> None:
    Door.expected = f"Basic {b64encode(os.environ['DOOR_LOGIN'].encode()).decode()}"
    Door.behind = int(behind)
    server = ThreadingHTTPServer(("0.0.0.0", int(port)), Door)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(store)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
