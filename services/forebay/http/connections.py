"""Connections of an HTTP server, of which those without a request must not block others."""

from __future__ import annotations

import asyncio
import resource
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEALTH = frozenset({("healthz",), ("readyz",), ("metrics",)})
"""Paths that are answered under any load, so that Kubernetes does not kill a healthy process."""
_RESERVE = 32
"""Additional connections for these paths."""
_FILES = 4
"""Open files that a process needs per accepted connection. A burst may double the connections."""


def affordable(connections: int) -> int:
    """Return the number of connections that the process can accept, limited by its maximum of open files."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(connections, files // _FILES))


class Connections:
    """The open connections of one server.

    Args:
        most: maximum of open connections. Above it, the oldest connection without a request is closed for a new one.
        seconds: time for a request to arrive, from the begin of the connection or of the request.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self.most = most
        self.seconds = seconds
        self.waiting: dict[Connection, None] = {}
        """The connections without a request, oldest first."""
        self._open: set[Connection] = set()

    def add(self, connection: Connection) -> None:
        """Add a new connection. If there are too many, close one without a request."""
        self._open.add(connection)
        if len(self._open) > self.most + _RESERVE and self.waiting:
            next(iter(self.waiting)).drop()
        self.waiting[connection] = None
        # All others have requests. Those above the limit are refused at once, which frees connections.
        if len(self._open) > 2 * self.most + _RESERVE:
            connection.drop()

    def discard(self, connection: Connection) -> None:
        """Remove a connection."""
        self._open.discard(connection)
        self.waiting.pop(connection, None)

    def protocol(self) -> type[Connection]:
        """Return the protocol class that uvicorn instantiates for each connection."""
        return type("BoundConnection", (Connection,), {"connections_of": self})


class Connection(H11Protocol):
    """A connection whose next request must arrive in time."""

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
        """Close the connection without a response."""
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
    """A server whose TLS handshakes have a deadline, too.

    Args:
        seconds: time limit of a handshake; 0: no TLS.
    """

    def __init__(self, config: uvicorn.Config, seconds: float) -> None:
        super().__init__(config)
        self._seconds = seconds

    async def startup(self, sockets: Any = None) -> None:
        if self._seconds:
            loop: Any = asyncio.get_running_loop()
            loop.create_server = partial(loop.create_server, ssl_handshake_timeout=self._seconds)
        await super().startup(sockets)
