"""A small HTTP server: uvicorn reads requests and sends responses, threads compute the responses."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import uvicorn

from forebay.http.connections import HEALTH, BoundedServer, Connections, affordable
from forebay.http.messages import Answer, Limits, Request, Tls, refusal

log = logging.getLogger(__name__)

_LENGTH_DIGITS = 19
"""Maximum digits of a length. Python converts no more than 4,300."""
_PORT = re.compile(r":\d+$")
_IDLE_SECONDS = 60
"""Time after which a connection without a request is closed, in seconds."""
_END_SECONDS = 2
"""Time limit for responses that are being sent when the server is closed, in seconds."""
MAX_BODY = 1 << 16
"""Maximum bytes of a POST's body."""
_LIMITS = Limits()


class PortInUse(OSError):
    """The HTTP port is in use. The message names the option."""


class _Application:
    """An ASGI application that reads requests and sends responses."""

    def __init__(self, answer: Callable[[Request], Answer], limits: Limits, local: bool) -> None:
        self._answer = answer
        self._answering = 0
        self._local = local
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.answers, "http")
        self._health = ThreadPoolExecutor(2, "http-health")
        # Separate threads, because two servers that forward to each other could wait for each other's threads.
        self._forwarded = ThreadPoolExecutor(2 * limits.answers, "http-forwarded")
        self._followers = ThreadPoolExecutor(limits.streams, "http-stream")
        self._followed = 0
        self.is_over = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._answering += 1
        try:
            answer = await self._respond(scope, receive)
            if isinstance(answer.body, bytes):
                await self._begin(answer, send, len(answer.body))
                await send({"type": "http.response.body", "body": answer.body})
            else:
                await self._follow(answer, answer.body, receive, send)
        finally:
            self._answering -= 1

    async def _respond(self, scope: Any, receive: Any) -> Answer:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        method = scope["method"]
        if self._local and not _is_loopback(_PORT.sub("", headers.get("host", "localhost"))):
            return refusal(421, "this server answers this machine alone: ask for 127.0.0.1 or localhost")
        if method not in ("GET", "POST"):
            return refusal(405, "send GET, or POST with a body")
        body = b""
        if method == "POST":
            length = headers.get("content-length", "")
            if not length.isdecimal():
                return refusal(411, "send the body's length: Content-Length")
            if len(length) > _LENGTH_DIGITS or int(length) > MAX_BODY:
                return refusal(413, f"the body is larger than {MAX_BODY} bytes: send less at once")
            try:
                body = await asyncio.wait_for(_body(receive), self._limits.seconds)
            except TimeoutError:
                return refusal(408, f"the body did not arrive within {self._limits.seconds:g} s")
        target = scope["raw_path"].decode("latin-1") + "?" + scope["query_string"].decode("latin-1")
        more = {"method": method, "body": body, "accept": headers.get("accept", "")}
        more["forwarded"] = headers.get("forebay-forwarded", "")
        try:
            request = Request.of(target, headers.get("authorization", ""), **more)
        except ValueError as error:
            return refusal(400, f"the request's target is not a URL: {error}")
        is_health = request.path in HEALTH
        if self._answering > self._limits.connections and not is_health:
            return refusal(503, f"{self._limits.connections} requests are being answered: ask later")
        threads = self._health if is_health else self._forwarded if request.forwarded else self._threads
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, self._answer, request)
        except Exception:
            log.exception("a request for %s could not be answered", "/".join(request.path))
            return refusal(500, "this request could not be answered: the reason is in the server's log")

    async def _begin(self, found: Answer, send: Any, length: int | None) -> None:
        headers = {"Content-Type": found.content_type, **found.headers}
        if length is None:
            headers |= {"Cache-Control": "no-store", "Connection": "close"}
        else:
            headers["Content-Length"] = str(length)
        sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": found.status, "headers": sent})

    async def _follow(self, found: Answer, pieces: Iterator[bytes], receive: Any, send: Any) -> None:
        """Send chunks as they arrive, until they end, the client is gone, or the server is closed."""
        if self._followed >= self._limits.streams:
            _end(pieces)
            busy = refusal(503, f"{self._limits.streams} answers are being followed: end one, or ask another server")
            assert isinstance(busy.body, bytes)
            await self._begin(busy, send, len(busy.body))
            await send({"type": "http.response.body", "body": busy.body})
            return
        self._followed += 1
        loop = asyncio.get_running_loop()
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await self._begin(found, send, None)
            while not gone.done() and not self.is_over:
                piece = await loop.run_in_executor(self._followers, next, pieces, None)
                if piece is None:
                    break
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._followed -= 1
            gone.cancel()
            self._followers.submit(_end, pieces)

    def close(self) -> None:
        """Stop computing responses."""
        for threads in (self._threads, self._health, self._forwarded, self._followers):
            threads.shutdown(wait=False, cancel_futures=True)


def _is_loopback(host: str) -> bool:
    """Return whether a host is this machine. An attacker may make other names resolve to it (DNS rebinding)."""
    return host in ("localhost", "::1", "[::1]") or re.fullmatch(r"127(\.\d+){3}", host) is not None


async def _body(receive: Any) -> bytes:
    parts = []
    while True:
        event = await receive()
        parts.append(event.get("body", b""))
        if not event.get("more_body", False):
            return b"".join(parts)


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _end(pieces: Iterator[bytes]) -> None:
    with suppress(Exception):
        pieces.close()  # type: ignore[attr-defined]


class HttpServer:
    """An HTTP server with its own threads.

    Args:
        port: port to listen on; 0: a free port, which is the attribute `port`.
        tls: certificate and key; None: no encryption.

    Raises:
        PortInUse: the port can't be opened. OSError: certificate or key can't be read.
    """

    def __init__(
        self,
        answer: Callable[[Request], Answer],
        host: str,
        port: int,
        limits: Limits = _LIMITS,
        tls: Tls | None = None,
    ) -> None:
        limits = replace(limits, connections=affordable(limits.connections))
        self._application = _Application(answer, limits, _is_loopback(host))
        config = uvicorn.Config(
            self._application,
            http=Connections(limits.connections, limits.seconds).protocol(),
            ws="none",
            lifespan="off",
            loop="asyncio",
            interface="asgi3",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_END_SECONDS,
            ssl_certfile=None if tls is None else str(tls.certificate),
            ssl_keyfile=None if tls is None else str(tls.key),
        )
        config.load()
        self._socket = _listening(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._server = BoundedServer(config, 0.0 if tls is None else limits.seconds)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), name="http", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._application.is_over = True
        self._server.should_exit = True
        self._thread.join(2 * _END_SECONDS)
        self._application.close()
        self._socket.close()


def _listening(host: str, port: int) -> socket.socket:
    if host == "::" and not socket.has_dualstack_ipv6():
        host = "0.0.0.0"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets that are created with IPPROTO_TCP. Without it, the body of each response
    # would wait 40 ms for the client's delayed acknowledgement of its head.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if host == "::":
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise PortInUse(
            f"port {port} on {host} can't be opened ({error.strerror}): choose another port with --http-port"
        ) from error
    return listener
