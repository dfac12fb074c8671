"""A job's HTTP door: /healthz, /readyz, /metrics."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer and its reason."""

    ok: bool
    reason: str


class Health:
    """Alive while batches (or looks for new records) go on; ready once the first batch is through.

    Args:
        stuck_seconds: time without progress after which the job counts as dead.
    """

    def __init__(self, stuck_seconds: float = 300.0) -> None:
        self._stuck_seconds = stuck_seconds
        self._progress = time.monotonic()
        self._ready = False
        self._trouble = ""

    def progressed(self) -> None:
        """Note that a batch is through, or that the source was asked and had nothing."""
        self._progress = time.monotonic()

    def batch_done(self) -> None:
        """Note that a batch is through."""
        self._ready, self._trouble = True, ""
        self.progressed()

    def idle(self) -> None:
        """Note that the source has nothing and the broker answers: without ticks no batch would tell."""
        self.batch_done()

    def failing(self, reason: str) -> None:
        """Note that the job waits for something outside, such as the broker: alive, but not ready."""
        self._ready, self._trouble = False, reason
        self.progressed()

    def alive(self) -> Verdict:
        """Tell whether the job makes progress."""
        silent = time.monotonic() - self._progress
        if silent > self._stuck_seconds:
            return Verdict(False, f"no progress for {silent:.0f} s: see the log; a restart is safe")
        return Verdict(True, f"progress {silent:.1f} s ago")

    def ready(self) -> Verdict:
        """Tell whether the job reads and writes."""
        if self._trouble:
            return Verdict(False, self._trouble)
        return Verdict(self._ready, "batches go through" if self._ready else "starting: no batch is through yet")


class PortInUse(OSError):
    """The HTTP port is taken; the message names the option."""


class HealthServer:
    """Serves health and metrics on a thread of its own.

    Args:
        port: 0 takes a free one; `port` tells which.
    """

    def __init__(self, health: Health, registry: CollectorRegistry, host: str, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/metrics":
                    self._answer(200, CONTENT_TYPE_LATEST, generate_latest(registry))
                elif self.path in ("/healthz", "/readyz"):
                    verdict = health.alive() if self.path == "/healthz" else health.ready()
                    body = json.dumps({"ok": verdict.ok, "reason": verdict.reason}).encode()
                    self._answer(200 if verdict.ok else 503, "application/json", body)
                else:
                    self._answer(404, "text/plain", b"try /healthz, /readyz or /metrics\n")

            def _answer(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                return

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise PortInUse(
                f"port {port} on {host} can't be opened ({error.strerror}): give another one with --http-port"
            ) from error
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="health", daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
