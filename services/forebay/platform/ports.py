"""TCP ports on the loopback address: find free ports, refuse used ports."""

from __future__ import annotations

import contextlib
import random
import socket
import time

import psutil

from forebay.platform.errors import PlatformError

HOST = "127.0.0.1"
# Below the ephemeral range, so that the kernel can't assign a stopped broker's port to a client that reconnects to it.
_CANDIDATES = range(20000, 32768)
_ATTEMPTS = 200
_RELEASE_SECONDS = 10.0


def is_free(port: int) -> bool:
    """Return whether a server could listen on `port` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def free_port(taken: frozenset[int] = frozenset()) -> int:
    """Return a free port that is not in `taken`.

    Raises:
        PlatformError: no free port was found.
    """
    for port in random.SystemRandom().sample(_CANDIDATES, _ATTEMPTS):
        if port not in taken and is_free(port):
            return port
    raise PlatformError(f"no free port found between {_CANDIDATES.start} and {_CANDIDATES.stop}: end some servers.")


def require_free(port: int, component: str, option: str) -> None:
    """Raise PlatformError if another process listens on a port.

    A process that was killed keeps its ports until its last thread has ended. Wait for a port that no visible process
    holds, or only such a process.

    Raises:
        PlatformError: the port is in use. The message contains the process, if it is visible, and the option to change.
    """
    deadline = time.monotonic() + _RELEASE_SECONDS
    while not is_free(port):
        holder = _holder(port)
        if holder or time.monotonic() > deadline:
            raise PlatformError(
                f"port {port}, wanted for the {component}, is in use{holder}: "
                f"end that process, or choose another port with {option}."
            )
        time.sleep(0.05)


def _holder(port: int) -> str:
    with contextlib.suppress(psutil.Error, OSError):
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
            if listens and connection.pid:
                process = psutil.Process(connection.pid)
                # A killed process releases its memory, and with it its command line, before its ports.
                is_ending = process.status() == psutil.STATUS_ZOMBIE or not process.cmdline()
                return "" if is_ending else f" by {process.name()} (pid {connection.pid})"
    return ""
