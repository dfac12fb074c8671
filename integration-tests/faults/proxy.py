"""A TCP proxy between a job and its broker that simulates a slow, silent or dead network."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Coroutine
from enum import Enum
from typing import Any

_CHUNK = 65_536
_RESET = struct.pack("ii", 1, 0)
"""Value of SO_LINGER with which closing a connection sends a reset."""


class Network(Enum):
    """The behaviour of the network."""

    FINE = "fine"
    SLOW = "slow"
    SILENT = "silent"
    """Connections remain, and new ones are accepted, but no byte arrives."""
    CUT = "cut"
    """Connections are reset, and new ones are refused at once."""


class Proxy:
    """Proxy that forwards connections to a port of this host, on a separate thread.

    Args:
        listen: Address and port on which it listens.
        target: Address and port to which it forwards.
        delay: Delay (s) of each chunk while the network is slow.
    """

    def __init__(self, listen: tuple[str, int], target: tuple[str, int], delay: float = 0.2) -> None:
        self._listen, self._target, self.delay = listen, target, delay
        self._mode = Network.FINE
        self._loop = asyncio.new_event_loop()
        self._flows: set[asyncio.StreamWriter] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._fine = asyncio.Event()
        self._fine.set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._server: asyncio.Server = self._run(asyncio.start_server(self._serve, *listen))

    def become(self, mode: Network) -> None:
        """Change the state of the network. This also affects data in flight."""
        self._run(self._become(mode))

    def close(self) -> None:
        """Close all connections and stop listening."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _become(self, mode: Network) -> None:
        self._mode = mode
        if mode is Network.SILENT:
            self._fine.clear()
        else:
            self._fine.set()
        if mode is Network.CUT:
            self._abort()

    async def _close(self) -> None:
        self._server.close()
        self._abort()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _abort(self) -> None:
        for writer in self._flows:
            with contextlib.suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self._flows.add(writer)
        onward = None
        try:
            if self._mode is Network.CUT:
                return
            await self._fine.wait()
            back, onward = await asyncio.open_connection(*self._target)
            self._flows.add(onward)
            await asyncio.gather(self._pump(reader, onward), self._pump(back, writer))
        except (OSError, asyncio.CancelledError):
            return
        finally:
            for flow in (writer, onward):
                if flow is not None:
                    self._flows.discard(flow)
                    flow.transport.abort()
            self._connections.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK):
            if self._mode is Network.SLOW:
                await asyncio.sleep(self.delay)
            await self._fine.wait()
            writer.write(data)
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.transport.abort()
