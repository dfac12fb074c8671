"""A client of another part's query server, with persistent connections and short timeouts."""

from __future__ import annotations

import json
import queue
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import SHUT_RDWR, socket
from urllib.parse import urlsplit

from forebay.queries.parts.share import Identity
from forebay.queries.parts.wire import CONTENT

AT_ONCE = 16
"""Maximum concurrent requests to one part, and so connections."""
_WAITS_AT_ONCE = 8
"""Maximum concurrent requests to one part that wait for an offset. Each occupies a thread of the part meanwhile.

The part has `2 * Limits.answers` (64) threads for forwarded requests, so it takes eight servers to occupy all of them.
"""
_REST_SECONDS = 1.0
"""Pause of requests to a part that did not answer in time, so that not all our threads wait for it."""
_OK = 200


class PeerFailed(Exception):
    """A part did not answer. The message contains the reason."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A response that arrives as a stream, and its connection."""

    answer: HTTPResponse
    socket: socket

    def end(self) -> None:
        """Close the connection. A thread that waits for the next chunk then reads the end."""
        with suppress(OSError):
            self.socket.shutdown(SHUT_RDWR)

    def __iter__(self) -> Iterator[bytes]:
        with self.answer:
            yield from self.answer


class Peer:
    """A part's query server.

    Args:
        url: URL of the server.
        identity: its expected identity.
        seconds: timeout of a request.
        context: TLS context, for https.
    """

    def __init__(self, url: str, identity: Identity, seconds: float, context: ssl.SSLContext | None = None) -> None:
        self.url = url.rstrip("/")
        self.identity = identity
        address = urlsplit(self.url)
        self._host, self._port = address.hostname or "", address.port
        self._is_https = address.scheme == "https"
        self._seconds = seconds
        self._context = context
        self._kept: queue.LifoQueue[HTTPConnection] = queue.LifoQueue()
        self._used: set[HTTPConnection] = set()
        self._reads = ThreadPoolExecutor(AT_ONCE, f"part-{identity.part}")
        self._waits = ThreadPoolExecutor(_WAITS_AT_ONCE, f"part-{identity.part}-waits")
        self._rests_until = 0.0

    def ask(self, path: str, body: bytes, authorization: str, longer: float = 0.0) -> Future[bytes]:
        """Send a request. The future raises PeerFailed. `longer`: seconds to add to the timeout."""
        threads = self._waits if longer else self._reads
        if time.monotonic() < self._rests_until:
            failed: Future[bytes] = Future()
            failed.set_exception(PeerFailed("it did not answer in time just now"))
            return failed
        return threads.submit(self._sent, path, body, authorization, self._seconds + longer)

    def answer(self, asked: Future[bytes], deadline: float) -> bytes:
        """Return an answer. Raise PeerFailed if it failed or did not arrive before `deadline` (monotonic seconds)."""
        try:
            return asked.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            if not asked.cancel():  # it was sent, and did not only wait for its turn
                self._rests_until = time.monotonic() + _REST_SECONDS
            raise PeerFailed("no answer in time") from None

    def look(self) -> str:
        """Return why the server at the URL is not this part; "" if it is. Raises PeerFailed if it does not answer."""
        connection = self._connection(self._seconds)
        try:
            connection.request("GET", "/part")
            document = json.loads(_content(connection.getresponse()))
            identity = Identity(*(document[name] for name in ("service", "application", "part", "parts")))
        except (OSError, HTTPException) as error:
            raise PeerFailed(str(error) or type(error).__name__) from error
        except (ValueError, KeyError, TypeError, PeerFailed) as error:
            return f"{self.url} is not a query server of parts ({error}): {self.identity} is expected there"
        finally:
            connection.close()
        return "" if identity == self.identity else f"{self.url} is {identity}: {self.identity} is expected there"

    def follow(self, target: str, authorization: str, silent_seconds: float) -> Future[Stream]:
        """Open a stream of changes. The future raises PeerFailed. `silent_seconds`: longest silence of the server."""
        return self._reads.submit(self._follow, target, authorization, silent_seconds)

    def close(self) -> None:
        """Close all connections and cancel pending requests."""
        for threads in (self._reads, self._waits):
            threads.shutdown(wait=False, cancel_futures=True)
        for used in list(self._used):
            # A thread that waits for an offset, for up to a minute, would keep this process from ending.
            with suppress(OSError, AttributeError):
                used.sock.shutdown(SHUT_RDWR)
        with suppress(queue.Empty):
            while True:
                self._kept.get_nowait().close()

    def _headers(self, authorization: str) -> dict[str, str]:
        given = {"Authorization": authorization} if authorization else {}
        return {"Forebay-Forwarded": self.identity.sent, "Content-Type": CONTENT, **given}

    def _connection(self, seconds: float) -> HTTPConnection:
        if self._is_https:
            return HTTPSConnection(self._host, self._port, timeout=seconds, context=self._context)
        return HTTPConnection(self._host, self._port, timeout=seconds)

    def _follow(self, target: str, authorization: str, silent_seconds: float) -> Stream:
        connection = self._connection(self._seconds)
        try:
            connection.connect()
            held = connection.sock
            connection.request("GET", target, headers=self._headers(authorization))
            answer = connection.getresponse()
            if answer.status != _OK:
                _content(answer)
            held.settimeout(self._seconds + silent_seconds)
        except (OSError, HTTPException) as error:
            connection.close()
            raise PeerFailed(str(error) or type(error).__name__) from error
        except PeerFailed:
            connection.close()
            raise
        return Stream(answer, held)

    def _sent(self, path: str, body: bytes, authorization: str, seconds: float) -> bytes:
        headers = self._headers(authorization)
        try:
            connection = self._kept.get_nowait()
        except queue.Empty:
            return self._over(self._connection(seconds), path, body, headers, seconds)
        try:
            return self._over(connection, path, body, headers, seconds)
        except PeerFailed as error:
            # A server that was stopped, or that closes idle connections, has closed its side of the connection.
            if not isinstance(error.__cause__, HTTPException | ConnectionError):
                raise
            return self._over(self._connection(seconds), path, body, headers, seconds)

    def _over(
        self, connection: HTTPConnection, path: str, body: bytes, headers: dict[str, str], seconds: float
    ) -> bytes:
        self._used.add(connection)
        try:
            connection.timeout = seconds  # used if the connection was closed and is opened again
            if connection.sock is not None:
                connection.sock.settimeout(seconds)
            connection.request("POST", path, body, headers)
            content = _content(connection.getresponse())
        except (OSError, HTTPException) as error:
            connection.close()
            if isinstance(error, TimeoutError):
                self._rests_until = time.monotonic() + _REST_SECONDS
            raise PeerFailed(str(error) or type(error).__name__) from error
        except PeerFailed:
            connection.close()
            raise
        finally:
            self._used.discard(connection)
        self._kept.put(connection)
        return content


def _content(answer: HTTPResponse) -> bytes:
    """Return the body of a response. Raises PeerFailed with the response's error unless its status is 200."""
    content = answer.read()
    if answer.status == _OK:
        return content
    try:
        said = str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        said = answer.reason
    raise PeerFailed(f"HTTP {answer.status}: {said}")
