"""Hands a lease to the worker of the executor in which its group's loop runs."""

from __future__ import annotations

import pickle
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Protocol

from forebay.runtime.errors import Unavailable

_BROKEN = (EOFError, OSError)
"""What a connection raises whose other end has gone."""

_HEARTBEAT_SECONDS = 5.0
_SILENT_SECONDS = 60.0
"""How long the other end may say nothing: it is frozen, and with it a Spark task that would wait for ever."""


class Giver(Protocol):
    """The worker that Spark gave a lease."""

    @property
    def is_gone(self) -> bool:
        """Whether the worker that asked has ended, so that nothing waits for the lease any more."""
        ...


class ThisWorker:
    """This process (implements `Giver`)."""

    is_gone = False


class WorkerGone(Unavailable):
    """The worker at the other end has ended."""


class OtherWorker:
    """Another worker of the executor (implements `Giver`; see `pass_on`)."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    @property
    def is_gone(self) -> bool:
        """Whether the other end has gone: it sends nothing after the lease."""
        with self._lock:
            try:
                return self._connection.poll(0)
            except _BROKEN:
                return True

    @contextmanager
    def heartbeats(self) -> Iterator[None]:
        """Send a heartbeat every few seconds until the block ends."""
        ended = threading.Event()

        def send() -> None:
            while not ended.wait(_HEARTBEAT_SECONDS):
                self._say("here", None)

        threading.Thread(target=send, name="heartbeats", daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def end(self, reports: list[str]) -> None:
        """Say that the lease is over."""
        self._say("end", reports)

    def fail(self, error: BaseException) -> None:
        """Say what ended the lease."""
        self._say("fail", _portable(error))

    def _say(self, what: str, value: Any) -> None:
        with self._lock:
            try:
                self._connection.send((what, value))
            except _BROKEN:
                return  # the worker that asked has ended


def pass_on(connection: Connection, lease: object) -> list[str]:
    """Have the other end hold a lease; return the reports.

    Raises:
        WorkerGone: the other end has ended. Whatever ended the lease there.
    """
    try:
        connection.send(lease)
        what = "here"
        while what == "here":
            what, value = _next(connection)
    except _BROKEN as error:
        raise WorkerGone(f"the worker that has the group's loop has ended{_why(error)}") from error
    if what == "fail":
        raise _raisable(value)
    reports: list[str] = value
    return reports


def _next(connection: Connection) -> Any:
    """Return what the other end says next. Raises TimeoutError, an OSError: it says nothing for too long."""
    if not connection.poll(_SILENT_SECONDS):
        raise TimeoutError(f"it says nothing for {_SILENT_SECONDS:.0f} s")
    return connection.recv()


def _why(error: OSError | EOFError) -> str:
    return f", or hangs: {error}" if isinstance(error, TimeoutError) else ""


_Failure = tuple[type[BaseException], tuple[Any, ...], str]


def _portable(error: BaseException) -> _Failure:
    """Return an exception as it can be sent: type, arguments, and where it came from."""
    kind, arguments = type(error), error.args
    try:
        there: _Failure = (*pickle.loads(pickle.dumps((kind, arguments))), "")
        is_same = str(_raisable(there)) == str(error)
    except Exception:  # pickling an exception may raise anything, and so may its __init__
        is_same = False
    if not is_same:
        kind, arguments = RuntimeError, (f"{type(error).__name__}: {error}",)
    trace = "".join(traceback.format_exception(error))
    return kind, arguments, f"in the worker that has the loop:\n{trace}"


def _raisable(failure: _Failure) -> BaseException:
    """Return the exception. Its own __init__ may add to the text: it has run already."""
    kind, arguments, note = failure
    error = kind.__new__(kind, *arguments)
    error.add_note(note)
    return error
