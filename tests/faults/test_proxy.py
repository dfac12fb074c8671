"""The proxy forwards, delays, drops and cuts traffic, and works normally after each fault."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from faults.proxy import Network, Proxy

from forebay.platform.ports import HOST, free_port


class Echo:
    """A server that echoes what it receives."""

    def __init__(self) -> None:
        self._socket = socket.create_server((HOST, 0))
        self.port = int(self._socket.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._echo, args=(connection,), daemon=True).start()

    def _echo(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(1000):
                connection.sendall(data)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    echo, port = Echo(), free_port()
    proxy = Proxy((HOST, port), (HOST, echo.port), delay=0.3)
    proxy.port = port  # type: ignore[attr-defined]
    yield proxy
    proxy.close()
    echo.close()


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((HOST, proxy.port), 10)  # type: ignore[attr-defined]


def is_echoed(connection: socket.socket, text: bytes) -> bool:
    connection.sendall(text)
    return connection.recv(100) == text


def test_it_forwards_both_ways(proxy: Proxy) -> None:
    with connect(proxy) as first, connect(proxy) as second:
        assert is_echoed(first, b"one")
        assert is_echoed(second, b"two")


def test_a_slow_proxy_delays_both_directions(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        assert is_echoed(connection, b"fast")
        proxy.become(Network.SLOW)
        begun = time.monotonic()
        assert is_echoed(connection, b"slow")
        assert time.monotonic() - begun >= 0.6


def test_a_silent_proxy_delivers_data_only_after_it_recovers(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        assert is_echoed(connection, b"before")
        proxy.become(Network.SILENT)
        connection.sendall(b"kept")
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(100)
        proxy.become(Network.FINE)
        connection.settimeout(10)
        assert connection.recv(100) == b"kept"


def test_a_cut_proxy_closes_connections_and_accepts_new_ones_after_it_recovers(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        assert is_echoed(connection, b"before")
        proxy.become(Network.CUT)
        with pytest.raises(ConnectionResetError):
            connection.recv(100)
    with connect(proxy) as refused:
        assert is_closed(refused)
    proxy.become(Network.FINE)
    with connect(proxy) as connection:
        assert is_echoed(connection, b"after")


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:
        return True
