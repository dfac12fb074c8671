"""Connections of an HTTP server: those without a request must not keep others out."""

from __future__ import annotations

import asyncio
import resource
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEALTH = frozenset({("healthz",), ("readyz",), ("metrics",)})
"""Paths that are answered however many other requests there are: who asks would kill a healthy process."""
_RESERVE = 32
"""Connections for them beyond the others."""
_FILES = 4
"""A process has as many files as this for each connection that is taken: a burst may double the connections."""


def affordable(connections: int) -> int:
    """Return how many of so many connections the process may take, by the files that it may open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(connections, files // _FILES))


class Connections:
    """The open connections of one server.

    Args:
        most: open at the same time. One without a request makes room for a new one, the oldest first.
        seconds: for a request to arrive, from its connection's beginning or from its own.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self.most = most
        self.seconds = seconds
        self.waiting: dict[Connection, None] = {}
        """Those without a request, the oldest first."""
        self._open: set[Connection] = set()

    def add(self, connection: Connection) -> None:
        """Take in a new connection; close one without a request if there are too many."""
        self._open.add(connection)
        if len(self._open) > self.most + _RESERVE and self.waiting:
            next(iter(self.waiting)).drop()
        self.waiting[connection] = None
        # All others have requests. Those beyond the limit are refused within a moment, which makes room again.
        if len(self._open) > 2 * self.most + _RESERVE:
            connection.drop()

    def discard(self, connection: Connection) -> None:
        """Forget a connection."""
        self._open.discard(connection)
        self.waiting.pop(connection, None)

    def protocol(self) -> type[Connection]:
        """Return what uvicorn makes of each connection."""
        return type("BoundConnection", (Connection,), {"connections_of": self})


class Connection(H11Protocol):
    """A connection whose next request has to arrive in time."""

    connections_of: Connections

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()
        self.connections_of.add(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._has_request:
            self._stop_waiting()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self.connections_of.discard(self)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._has_request and not self.transport.is_closing():
            self.connections_of.waiting[self] = None
            if self.conn.trailing_data[0]:  # the beginning of another request
                self._wait()

    def drop(self) -> None:
        """Close the connection without a word."""
        self._stop_waiting()
        self.connections_of.discard(self)
        self.transport.abort()

    @property
    def _has_request(self) -> bool:
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        """Begin to wait for a request. Receiving a part of it does not extend the deadline."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.connections_of.seconds, self.drop)

    def _stop_waiting(self) -> None:
        self.connections_of.waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class BoundedServer(uvicorn.Server):
    """A server whose TLS handshakes have a deadline too.

    Args:
        seconds: for a handshake; 0: there is no TLS.
    """

    def __init__(self, config: uvicorn.Config, seconds: float) -> None:
        super().__init__(config)
        self._seconds = seconds

    async def startup(self, sockets: Any = None) -> None:
        if self._seconds:
            loop: Any = asyncio.get_running_loop()
            loop.create_server = partial(loop.create_server, ssl_handshake_timeout=self._seconds)
        await super().startup(sockets)
