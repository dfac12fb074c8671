"""A group's snapshots in the state that Spark hands a task, and as another worker of the executor asks for it."""

from __future__ import annotations

import pickle
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Protocol

from forebay.runtime.errors import Unavailable
from forebay.runtime.spark.holder import States
from forebay.runtime.stateformat import TaskSnapshot, decode_state, encode_state
from forebay.runtime.task.snapshot import GroupStorage, Place

_BROKEN = (EOFError, OSError)
"""What a connection raises whose other end has gone."""

_HEARD_SECONDS = 5.0
_SILENT_SECONDS = 60.0
"""How long the other end may say nothing: it is frozen, and with it a Spark task that would wait for ever."""


class LeaseStorage(GroupStorage, Protocol):
    """The storage of one lease."""

    @property
    def is_gone(self) -> bool:
        """Whether nobody waits any more for what is written with this lease."""
        ...


class SparkBlocks:
    """One task's blocks (implements `BlockStorage`)."""

    def __init__(self, state: Any, place: Place) -> None:
        self._state = state
        self._place = place

    def get_block(self, number: int) -> bytes:
        row = self._state.getValue((*self._place, number))
        if row is None:
            raise KeyError(number)
        return bytes(row[0])

    def put_block(self, number: int, data: bytes) -> None:
        self._state.updateValue((*self._place, number), (data,))

    def delete_block(self, number: int) -> None:
        self._state.removeKey((*self._place, number))


class SparkStorage:
    """A group's snapshots in Spark's state (implements `LeaseStorage`)."""

    is_gone = False

    def __init__(self, states: States) -> None:
        self._tasks, self._blocks = states

    def read(self, place: Place) -> TaskSnapshot | None:
        row = self._tasks.getValue(place)
        return None if row is None else decode_state(bytes(row[0]))

    def write(self, place: Place, snapshot: TaskSnapshot) -> None:
        self._tasks.updateValue(place, (encode_state(snapshot),))

    def blocks(self, place: Place) -> SparkBlocks:
        return SparkBlocks(self._blocks, place)


class WorkerGone(Unavailable):
    """The worker at the other end has ended."""


class RemoteStorage:
    """The storage that another worker was given with its lease (implements `LeaseStorage`; see `pass_on`)."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    @property
    def is_gone(self) -> bool:
        """Whether the other end has gone: it says nothing that it was not asked."""
        if not self._lock.acquire(blocking=False):
            return False  # the loop asks it something
        try:
            return self._connection.poll(0)
        except _BROKEN:
            return True
        finally:
            self._lock.release()

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Say every few seconds meanwhile that this end is there."""
        ended = threading.Event()

        def say() -> None:
            while not ended.wait(_HEARD_SECONDS):
                self._say("here", None)

        threading.Thread(target=say, name="heard", daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def read(self, place: Place) -> TaskSnapshot | None:
        found: TaskSnapshot | None = self.ask("read", place)
        return found

    def write(self, place: Place, snapshot: TaskSnapshot) -> None:
        self.ask("write", place, snapshot)

    def blocks(self, place: Place) -> RemoteBlocks:
        return RemoteBlocks(self, place)

    def ask(self, what: str, place: Place, *arguments: Any) -> Any:
        """Have the other end do it; return what it gives. Raises WorkerGone, and whatever it raises."""
        with self._lock:
            try:
                self._connection.send((what, (place, *arguments)))
                failure, value = _next(self._connection)
            except _BROKEN as error:
                raise WorkerGone(f"the worker that was given the lease has ended{_why(error)}") from error
        if failure is not None:
            raise _raisable(failure)
        return value

    def end(self, reports: list[str]) -> None:
        """Say that the lease is over."""
        self._say("end", reports)

    def fail(self, error: BaseException) -> None:
        """Say what ended the lease."""
        self._say("fail", _portable(error, "in the worker that has the loop"))

    def _say(self, what: str, value: Any) -> None:
        with self._lock:
            try:
                self._connection.send((what, (value,)))
            except _BROKEN:
                return  # nobody waits for it


class RemoteBlocks:
    """One task's blocks, by way of another worker (implements `BlockStorage`)."""

    def __init__(self, storage: RemoteStorage, place: Place) -> None:
        self._storage = storage
        self._place = place

    def get_block(self, number: int) -> bytes:
        data: bytes = self._storage.ask("get_block", self._place, number)
        return data

    def put_block(self, number: int, data: bytes) -> None:
        self._storage.ask("put_block", self._place, number, data)

    def delete_block(self, number: int) -> None:
        self._storage.ask("delete_block", self._place, number)


def pass_on(connection: Connection, lease: object, storage: GroupStorage) -> list[str]:
    """Have the other end hold a lease with a `RemoteStorage`; return the reports.

    Raises:
        WorkerGone: the other end has ended. Whatever ended the lease there.
    """
    try:
        connection.send(lease)
        while True:
            what, arguments = _next(connection)
            if what in ("end", "fail"):
                break
            if what != "here":
                connection.send(_answer(storage, what, arguments))
    except _BROKEN as error:
        raise WorkerGone(f"the worker that has the group's loop has ended{_why(error)}") from error
    if what == "fail":
        raise _raisable(arguments[0])
    reports: list[str] = arguments[0]
    return reports


def _next(connection: Connection) -> Any:
    """Return what the other end says next. Raises TimeoutError, an OSError: it says nothing for too long."""
    if not connection.poll(_SILENT_SECONDS):
        raise TimeoutError(f"it says nothing for {_SILENT_SECONDS:.0f} s")
    return connection.recv()


def _why(error: OSError | EOFError) -> str:
    return f", or hangs: {error}" if isinstance(error, TimeoutError) else ""


def _answer(storage: GroupStorage, what: str, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    place, *rest = arguments
    try:
        if what in ("read", "write"):
            return None, getattr(storage, what)(place, *rest)
        return None, getattr(storage.blocks(place), what)(*rest)
    except Exception as error:
        return _portable(error, "in the worker that was given the lease"), None


_Failure = tuple[type[BaseException], tuple[Any, ...], str]


def _portable(error: BaseException, where: str) -> _Failure:
    """Return an exception as it can be sent: type, arguments, and where it came from."""
    kind, arguments = type(error), error.args
    try:
        there: _Failure = (*pickle.loads(pickle.dumps((kind, arguments))), where)
        is_same = str(_raisable(there)) == str(error)
    except Exception:  # whatever an exception raises that can't be sent, or says nothing without its __init__
        is_same = False
    if not is_same:
        kind, arguments = RuntimeError, (f"{type(error).__name__}: {error}",)
    return kind, arguments, f"{where}:\n{''.join(traceback.format_exception(error))}"


def _raisable(failure: _Failure) -> BaseException:
    """Return the exception. Its own __init__ may add to the text: it has run already."""
    kind, arguments, note = failure
    error = kind.__new__(kind, *arguments)
    error.add_note(note)
    return error
