"""A time limit for functions, which ends endless loops so that their record can go to `.errors`."""

from __future__ import annotations

import ctypes
import os
import threading
import time
import weakref

_LOOK_SECONDS = 0.05


class TimeOver(BaseException):
    """Raised inside a function that takes too long. It is no Exception, so that the function's handlers let it pass."""


class Watch:
    """Watches the calls of one thread at a time.

    A call into native code (a sleep, a request) is ended only when it returns to Python.

    Args:
        limit_ms: longest time of a call; 0: no limit.
    """

    def __init__(self, limit_ms: int) -> None:
        self.limit_ms = limit_ms
        self._lock = threading.Lock()
        self._begun = 0.0
        self._thread = 0
        self._fired = False
        self._watched_by: object = None

    @property
    def is_open(self) -> bool:
        """Whether a call is running."""
        return self._begun != 0.0

    def begin(self) -> None:
        """Record the begin of a call."""
        self._thread = threading.get_ident()
        self._fired = False
        self._begun = time.monotonic()
        if self._watched_by is not WATCHERS[0]:
            self._watched_by = WATCHERS[0]
            WATCHERS[0].watch(self)

    def end(self) -> bool:
        """Record the end of the call. Return whether it was ended by the time limit. Nothing is raised in it later."""
        while True:
            try:
                with self._lock:
                    self._begun = 0.0
                    if self._fired:
                        _raise_in(self._thread, None)
                    return self._fired
            # The watcher may fire between the end of the call and the lock. The error then arrives here and is
            # swallowed.
            except TimeOver:
                continue

    def look(self, now: float) -> None:
        """End the call if its time is over. If the call continues nevertheless, it is ended again later."""
        begun = self._begun
        if not begun or now - begun < self.limit_ms / 1_000:
            return
        with self._lock:
            # Look again under the lock. The call may have ended and the next one begun since the first look.
            if self._begun == begun:
                self._fired = True
                # Count from now, so that a function that catches the error is ended again after another limit.
                self._begun = now
                _raise_in(self._thread, TimeOver)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise an error in a thread at its next bytecode. None withdraws an error that was not raised yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error)
    )


class _Watcher:
    """The thread that watches all calls of a process, started with the first one.

    Its references to watches are weak, so that those of a task that left the process are freed.
    """

    def __init__(self) -> None:
        self._watches: list[weakref.ref[Watch]] = []
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def watch(self, watch: Watch) -> None:
        with self._lock:
            self._watches.append(weakref.ref(watch))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ksml-watch", daemon=True)
                self._thread.start()

    def count(self) -> int:
        """Return the number of existing watches, and drop the references to others."""
        with self._lock:
            self._watches = [reference for reference in self._watches if reference() is not None]
            return len(self._watches)

    def look(self) -> None:
        """End the calls whose time is over."""
        self.count()
        now = time.monotonic()
        for reference in self._watches:
            watch = reference()
            if watch is not None:
                watch.look(now)

    def _run(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            self.look()


WATCHERS = [_Watcher()]
"""The watcher of the process. A fork has no watcher thread, so it gets a new watcher, with which watches register."""
os.register_at_fork(after_in_child=lambda: WATCHERS.__setitem__(0, _Watcher()))
