"""Model of the part of Spark's session that a driver uses, which starts a streaming query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import StreamingQueryException

from tests.runtime.simulator.cluster.query import Query, QueryFailed

OnBatch = Callable[[Any, int], None]


class Session:
    """Spark's session, and its readers and writers for a query.

    Args:
        start: Starts a query that calls the passed function at the end of each Spark batch.
    """

    def __init__(self, start: Callable[[OnBatch], StreamingQuery]) -> None:
        self._start = start
        self._on_batch: OnBatch = lambda frame, batch: None

    def __getattr__(self, name: str) -> Any:
        return self if name in ("readStream", "writeStream") else lambda *_args, **_kwargs: self

    def foreachBatch(self, call: OnBatch) -> Session:
        self._on_batch = call
        return self

    def start(self) -> StreamingQuery:
        return self._start(self._on_batch)


class StreamingQuery:
    """Spark's handle of a query.

    Args:
        query: Plans leases and runs their tasks.
        wait: Lets the scheduler continue for a number of seconds.
        stop: Ends the query's tasks.

    Attributes:
        failure: Exception that ended the query.
    """

    def __init__(self, query: Query, wait: Callable[[float], None], stop: Callable[[], None]) -> None:
        self.query = query
        self._wait = wait
        self._stop = stop
        self.isActive = True
        self.failure: Exception | None = None

    @property
    def status(self) -> dict[str, bool]:
        return {"isTriggerActive": self.isActive, "isDataAvailable": True}

    def awaitTermination(self, seconds: float) -> bool:
        """Wait for at most `seconds`, and return whether the query has ended. Raises StreamingQueryException."""
        self._wait(seconds)
        if self.failure is not None:
            cause = self.failure.__cause__ if isinstance(self.failure, QueryFailed) else None
            failure = cause or self.failure
            raise StreamingQueryException(message=f"{type(failure).__name__}: {failure}")
        return not self.isActive

    def fail(self, failure: Exception) -> None:
        """End with a failure."""
        self.failure = failure
        self.stop()

    def stop(self) -> None:
        if self.isActive:
            self.isActive = False
            self._stop()
