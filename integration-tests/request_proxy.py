"""A TCP proxy that parses Kafka's requests, and can hold, drop, delay, repeat and reorder some of them."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

from faults.broker import ProxiedBroker

from forebay.platform import Platform
from forebay.platform.ports import HOST, free_port

_SIZE = struct.Struct(">i")
_HEADER = struct.Struct(">hhi")
_ANSWER_SECONDS = 10.0


class Api(IntEnum):
    """The requests of a transactional producer, by their API keys."""

    PRODUCE = 0
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    TXN_OFFSET_COMMIT = 28


class Fate(Enum):
    """The fate of a request."""

    PASS = "passes"
    HOLD = "is kept by the proxy, its connection is cut"
    LOSE_ANSWER = "passes, its connection is cut before the answer; a copy is kept"
    DELAY = "passes after a while"


@dataclass(frozen=True, eq=False)
class Request:
    """A request of a client, with its API key, its version and all of its bytes."""

    api: int
    version: int
    frame: bytes


Plan = Callable[[Request], Fate]


def pass_all(_: Request) -> Fate:
    """Let every request pass."""
    return Fate.PASS


class RequestProxy:
    """Proxy that forwards connections to a broker, on a separate thread.

    Args:
        listen: Port on which it listens.
        target: Port of the broker.
    """

    def __init__(self, listen: int, target: int) -> None:
        self._target = target
        self.plan: Plan = pass_all
        """Function that returns the fate of a transactional request. It is called on the proxy's thread."""
        self.before: Callable[[Request], Awaitable[None]] | None = None
        """Called on the proxy's thread before a transactional request passes."""
        self.after: Callable[[Request], Awaitable[None]] | None = None
        """Called on the proxy's thread after the response to a transactional request, before this is forwarded."""
        self.kept: list[Request] = []
        """Requests that were held, in the order in which they arrived."""
        self.delay_seconds = 0.3
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="request-proxy", daemon=True)
        self._thread.start()
        self._server: asyncio.Server = self._run(asyncio.start_server(self._serve, HOST, listen))

    def deliver(self, request: Request) -> int:
        """Send a held request to the broker on a new connection, and wait for the response."""
        return int(self._run(self.sent(request)))

    async def sent(self, request: Request) -> int:
        """Send a held request on the proxy's thread, and return the size of the response."""
        reader, writer = await asyncio.open_connection(HOST, self._target)
        try:
            writer.write(request.frame)
            return len(await asyncio.wait_for(_frame(reader), _ANSWER_SECONDS))
        finally:
            writer.transport.abort()

    def close(self) -> None:
        """Close all connections and stop listening."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_ANSWER_SECONDS + 5)

    async def _close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        onward = None
        try:
            back, onward = await asyncio.open_connection(HOST, self._target)
            await self._pump(reader, onward, back, writer)
        except (OSError, EOFError, asyncio.CancelledError):
            return
        finally:
            for flow in (writer, onward):
                if flow is not None:
                    flow.transport.abort()
            self._tasks.discard(task)

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        onward: asyncio.StreamWriter,
        back: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Forward requests and responses. A broker responds to the requests of a connection in order."""
        unanswered: asyncio.Queue[tuple[Request, bool]] = asyncio.Queue()
        answering = asyncio.ensure_future(self._answer(back, writer, unanswered))
        # Without the responses, the client would send no further requests.
        answering.add_done_callback(lambda _: reader.feed_eof())
        try:
            while True:
                frame = await _frame(reader)
                api, version, _ = _HEADER.unpack_from(frame, _SIZE.size)
                request = Request(api, version, frame)
                fate = self.plan(request) if request.api in list(Api) else Fate.PASS
                if fate in (Fate.HOLD, Fate.LOSE_ANSWER):
                    self.kept.append(request)
                if fate is Fate.HOLD:
                    return
                if fate is Fate.DELAY:
                    await asyncio.sleep(self.delay_seconds)
                if request.api in list(Api) and self.before is not None:
                    await self.before(request)
                unanswered.put_nowait((request, fate is Fate.LOSE_ANSWER))
                onward.write(frame)
                await onward.drain()
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)

    async def _answer(
        self, back: asyncio.StreamReader, writer: asyncio.StreamWriter, unanswered: asyncio.Queue[tuple[Request, bool]]
    ) -> None:
        while True:
            frame = await _frame(back)
            request, is_lost = await unanswered.get()
            if request.api in list(Api) and self.after is not None:
                await self.after(request)
            if is_lost:
                return
            writer.write(frame)
            await writer.drain()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    """Return the next request or response including its size. Raises EOFError at the end of the connection."""
    size = await reader.readexactly(_SIZE.size)
    return size + await reader.readexactly(*_SIZE.unpack(size))


class RequestPlatform(Platform):
    """Broker and registry, with a request proxy between the job under test and the broker."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        broker = ProxiedBroker(self.home, self._state)
        broker.behind = free_port()
        broker.proxied = free_port(frozenset({broker.behind}))
        self.broker = broker
        self.proxy = RequestProxy(broker.proxied, broker.behind)
        self.proxied_servers = f"{HOST}:{broker.proxied}"

    def down(self) -> None:
        self.proxy.close()
        super().down()
