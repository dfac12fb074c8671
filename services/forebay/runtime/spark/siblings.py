"""Connections between the workers of one executor.

Each listens under its process id, in Linux' abstract namespace: nothing is left behind in a file system, whatever ends
it. Both ends look whom they talk to. Elsewhere there are no connections, and groups move with their leases.
"""

from __future__ import annotations

import logging
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing.connection import Connection

import psutil

log = logging.getLogger(__name__)

IS_POSSIBLE = sys.platform == "linux"
_SECONDS = 5.0
_WAITING = 64


@cache
def _daemon() -> int:
    """Return the process that this worker and its siblings were forked from, while it lives."""
    return os.getppid()


def _address(pid: int) -> str:
    return f"\0forebay-worker-{_daemon()}-{pid}"


def listen(answer: Callable[[Connection], None]) -> None:
    """Have `answer` called, on a thread of its own, with each connection that a sibling makes, which it closes."""
    if not IS_POSSIBLE:
        return
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(_address(os.getpid()))
        listening.listen(_WAITING)
    except OSError as error:
        listening.close()
        log.warning("this worker can't be reached by others of its executor: %s", error)
        return
    threading.Thread(target=_accept, args=(listening, answer), name="siblings", daemon=True).start()


def _accept(listening: socket.socket, answer: Callable[[Connection], None]) -> None:
    while True:
        try:
            peer = listening.accept()[0]
        except OSError as error:  # such as too many open files
            log.warning("this worker can't be reached by others of its executor: %s", error)
            return
        if _credentials(peer)[1] != os.getuid():
            peer.close()
            continue
        connection = Connection(peer.detach())
        threading.Thread(target=answer, args=(connection,), name="sibling", daemon=True).start()


def connections() -> Iterator[Connection]:
    """Connect to one sibling after the other that listens; who takes a connection closes it."""
    if not IS_POSSIBLE:
        return
    try:
        siblings = psutil.Process(_daemon()).children()
    except psutil.Error:
        return
    for pid in sorted(process.pid for process in siblings):
        if pid == os.getpid():
            continue
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.connect(_address(pid))
        except OSError:  # it holds no leases yet
            peer.close()
            continue
        if _credentials(peer) != (pid, os.getuid()):
            peer.close()
            continue
        yield Connection(peer.detach())


def _credentials(peer: socket.socket) -> tuple[int, int]:
    """Return the process id and user of a connection's other end."""
    form = struct.Struct("3i")
    pid, user, _ = form.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, form.size))
    return pid, user


def answered(connection: Connection, question: object) -> bool:
    """Ask a question that is answered with yes or no; one that does not answer in time says no."""
    try:
        connection.send(question)
        return connection.poll(_SECONDS) and connection.recv() is True
    except (EOFError, OSError):
        return False
