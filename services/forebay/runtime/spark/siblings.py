"""Connections between the workers of one executor: sockets in a directory that is theirs alone.

A socket's name begins with the process that the workers were forked from: those of an executor that has ended, which
may outlive it, are nobody's siblings.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, MutableMapping
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

log = logging.getLogger(__name__)

FOLDER = "FOREBAY_WORKERS"
"""The variable that names the directory; without it a worker has no siblings, and groups move with their leases."""

_SECONDS = 5.0
_WAITING = 64

_MADE: list[str] = []


def make_folder(environment: MutableMapping[str, str]) -> None:
    """Have workers started with the environment find each other, in a directory that ends with this process."""
    if not _MADE:
        _MADE.append(tempfile.mkdtemp(prefix="forebay-workers-"))
        atexit.register(shutil.rmtree, _MADE[0], ignore_errors=True)
    environment[FOLDER] = _MADE[0]


@cache
def _parent() -> int:
    """Return the process that this worker and its siblings were forked from, also once it has ended."""
    return os.getppid()


def _own(folder: str) -> Path:
    return Path(folder) / f"{_parent()}-{os.getpid()}"


def listen(answer: Callable[[Connection], None]) -> None:
    """Have `answer` called, on a thread of its own, with each connection that a sibling makes, which it closes."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return
    listening = socket.socket(socket.AF_UNIX)
    place = _own(folder)
    unready = place.with_name(f".{place.name}")
    try:
        unready.unlink(missing_ok=True)
        listening.bind(str(unready))
        listening.listen(_WAITING)
        # Who found one that does not listen yet would take it for one that a killed worker left.
        unready.replace(place)
    except OSError as error:  # such as a name that is too long for a socket
        listening.close()
        log.warning("other workers of this executor can't reach this one: %s: %s", place, error)
        return
    threading.Thread(target=_accept, args=(listening, answer), name="siblings", daemon=True).start()


def _accept(listening: socket.socket, answer: Callable[[Connection], None]) -> None:
    while True:
        try:
            peer, _ = listening.accept()
        except OSError as error:  # such as too many open files
            log.warning("other workers of this executor can't reach this one: %s", error)
            return
        connection = Connection(peer.detach())
        threading.Thread(target=answer, args=(connection,), name="sibling", daemon=True).start()


def connections() -> Iterator[Connection]:
    """Connect to one sibling after the other that listens; who takes a connection closes it."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return
    for place in sorted(Path(folder).glob(f"{_parent()}-*")):
        if place == _own(folder):
            continue
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.connect(str(place))
        except OSError as error:
            peer.close()
            if isinstance(error, ConnectionRefusedError):  # it was killed
                place.unlink(missing_ok=True)
            continue
        yield Connection(peer.detach())


def answered(connection: Connection, question: object) -> bool:
    """Ask a question that is answered with yes or no; one that does not answer in time says no."""
    try:
        connection.send(question)
        return connection.poll(_SECONDS) and connection.recv() is True
    except (EOFError, OSError):
        return False
