"""Opens a job's session of Spark, in its own Spark or in one that several jobs share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from forebay.runtime.driver.interrupt import kept_interrupt
from forebay.runtime.driver.session import SparkOptions, build_session

Sessions = Callable[[str, str], AbstractContextManager[SparkSession]]
"""Opens a session for an application and its checkpoint, for the duration of a block."""


def own_session(options: SparkOptions) -> Sessions:
    """Return a function that starts Spark for one job, and stops it after the block. It raises RefusedSetting."""

    @contextmanager
    def open_session(application: str, checkpoint: str) -> Iterator[SparkSession]:
        with kept_interrupt():
            session = build_session(application, checkpoint, options)
        try:
            yield session
        finally:
            _stop(session)

    return open_session


class SharedSpark:
    """One Spark for several jobs, started when the first of them opens its session.

    Each job has a session with its own settings and data sources. `close` stops Spark.
    """

    def __init__(self, options: SparkOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._first: SparkSession | None = None

    @contextmanager
    def session(self, application: str, checkpoint: str) -> Iterator[SparkSession]:
        """Open a job's session (see Sessions). Raises RefusedSetting."""
        with self._lock:
            if self._first is None:
                with kept_interrupt():
                    self._first = build_session("forebay", checkpoint, self._options)
            session = self._first.newSession()
        yield session

    def close(self) -> None:
        """Stop Spark, if it runs."""
        with self._lock:
            if self._first is not None:
                _stop(self._first)
                self._first = None


def _stop(session: SparkSession) -> None:
    with suppress(Py4JError, OSError):
        session.stop()
