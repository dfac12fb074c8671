"""Reactions to the failure of a job's query: a retry after a pause, smaller commits, or the end of the job."""

from __future__ import annotations

import logging
from collections.abc import Callable

from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException, StreamingQueryException

from forebay.runtime.driver.causes import cause_of, is_out_of_memory, stop_message
from forebay.runtime.driver.query_retries import Retries, RetriesExhausted
from forebay.runtime.driver.remedies import explain

log = logging.getLogger(__name__)

_JVM_GONE = (Py4JNetworkError, ConnectionError)
QUERY_ERRORS = (*_JVM_GONE, StreamingQueryException, PySparkException)
"""Errors by which a query ends."""


class JobStopped(Exception):
    """The job ended because it cannot continue. The message names the remedy."""


class QueryFailures:
    """The failures of a job's queries.

    Args:
        on_memory: called if a worker seems to have died for lack of memory.
        failed: called with the reason of a failure; returns it with the remedy.
    """

    def __init__(self, application: str, on_memory: Callable[[], None], failed: Callable[[str], str]) -> None:
        self._application = application
        self._on_memory = on_memory
        self._failed = failed
        self._retries = Retries()

    def pause_after(self, error: Exception, *, has_progressed: bool) -> float:
        """Return the seconds until the query starts again.

        Args:
            has_progressed: whether the query made progress before it failed.

        Raises:
            JobStopped: the job can't continue, or its query failed too often.
        """
        # Python can't start another JVM in this process, because the session belongs to the lost gateway.
        if isinstance(error, _JVM_GONE):
            raise JobStopped(
                "Spark's JVM is gone (killed, or out of memory: see --memory): start the job again, nothing is lost"
            ) from error
        text = str(error)
        fatal = stop_message(text)
        if fatal is not None:
            raise JobStopped(fatal) from error
        if is_out_of_memory(text):
            self._on_memory()
        try:
            pause = self._retries.next_pause(text, has_progressed=has_progressed)
        except RetriesExhausted as exhausted:
            raise JobStopped(str(exhausted)) from error
        cause = self._failed(explain(cause_of(text), text))
        log.warning("%s: the query failed: %s: restarting it in %.0f s", self._application, cause, pause)
        return pause
