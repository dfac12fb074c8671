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
import threading
import time
from collections.abc import Callable, Container, Iterator, MutableMapping
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

from forebay.private import make_socket_directory

log = logging.getLogger(__name__)

FOLDER = "FOREBAY_WORKERS"
"""The variable that names the directory; without it a worker has no siblings, and groups move with their leases."""

_SECONDS = 5.0
"""How long a sibling may take to answer, and to be reached: one that does not is frozen, or starved."""
_WAITING = 64
_PAUSE_SECONDS = 1.0

_MADE: list[str] = []


def make_folder(environment: MutableMapping[str, str]) -> None:
    """Have workers started with the environment find each other, in a directory that ends with this process."""
    if not _MADE:
        _MADE.append(make_socket_directory("forebay-workers-"))
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
            connection = Connection(peer.detach())
            threading.Thread(target=answer, args=(connection,), name="sibling", daemon=True).start()
        except (OSError, RuntimeError) as error:  # such as too many open files, or threads
            log.warning("other workers of this executor can't reach this one: %s: trying again", error)
            time.sleep(_PAUSE_SECONDS)


def connections(but: Container[str] = ()) -> Iterator[tuple[str, Connection]]:
    """Connect to one sibling after the other that listens; who takes a connection closes it.

    Args:
        but: names of those that are left out.
    """
    folder = os.environ.get(FOLDER)
    if folder is None:
        return
    for place in sorted(Path(folder).glob(f"{_parent()}-*")):
        if place == _own(folder) or place.name in but:
            continue
        peer = socket.socket(socket.AF_UNIX)
        # One that is frozen accepts nothing: then its queue is full at some time, and who connects waits.
        peer.settimeout(_SECONDS)
        try:
            peer.connect(str(place))
            peer.settimeout(None)
        except OSError as error:
            peer.close()
            if isinstance(error, ConnectionRefusedError):  # it was killed
                place.unlink(missing_ok=True)
            continue
        yield place.name, Connection(peer.detach())


def answered(connection: Connection, question: object) -> bool | None:
    """Ask a question that is answered with yes or no; None where there is no answer in time."""
    try:
        connection.send(question)
        return connection.recv() is True if connection.poll(_SECONDS) else None
    except (EOFError, OSError):
        return False
