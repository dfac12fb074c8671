"""Reports of records that failed or were late."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from forebay.codec import EncodeError, Unavailable
from forebay.limits.room import Rooms
from forebay.processor.arrivals import fails_everywhere
from forebay.processor.batch import BatchResult
from forebay.processor.context import TaskContext
from forebay.processor.engine_settings import UNBOUNDED, Bounds
from forebay.processor.messages import ErrorStage, Message
from forebay.processor.repartition_headers import as_received
from forebay.processor.side_topics import error_record, late_record

FAILURES = (Exception, SystemExit)
"""Exceptions that fail a record. A call of `sys.exit` fails the record and does not end the worker."""


class Reports:
    """The reports of a task, which are added to a commit's result for `.errors` and `.late`.

    Args:
        handed: Repartition topics that are read. Their records are reported as they were before the repartition.
        elsewhere: Topics whose failed records another task reports.

    Attributes:
        own: Offsets by topic and partition of `elsewhere` before which this task itself reports failed records.
    """

    def __init__(
        self,
        service: str,
        rooms: Rooms,
        context: TaskContext,
        handed: Collection[str],
        elsewhere: Collection[str],
        result: BatchResult,
    ) -> None:
        self._service = service
        self._rooms = rooms
        self._context = context
        self._handed = handed
        self.elsewhere = elsewhere
        self.own: Mapping[tuple[str, int], int] = {}
        self._bounds = UNBOUNDED
        self.result = result

    def begin(self, result: BatchResult, bounds: Bounds) -> None:
        """Begin to add reports to the result of a new commit."""
        self.result, self._bounds = result, bounds

    def blame(self, message: Message, error: BaseException, clock: int) -> None:
        """Report a record or timer that failed. If it did not cause the failure, raise the error again."""
        if isinstance(error, Unavailable) or (isinstance(error, MemoryError) and not self._bounds.blames_memory):
            raise error
        self.report(message, error, clock)

    def report(self, message: Message, error: BaseException, clock: int, stage: str = ErrorStage.PROCESS) -> None:
        """Report a record or timer that failed."""
        # Every task reads all records of a global table. Only one task reports a record that fails in all of them.
        if self.elsewhere and self._is_reported_elsewhere(message) and fails_everywhere(error):
            return
        if isinstance(error, EncodeError):
            stage = ErrorStage.ENCODE
        record = as_received(message, self._handed)
        self.result.errors.append(error_record(record, self._service, stage, error, clock, self._rooms.errors))

    def _is_reported_elsewhere(self, message: Message) -> bool:
        topic = message.topic()
        return topic in self.elsewhere and message.offset() >= self.own.get((topic, message.partition()), 0)

    def report_late(self, message: Message, by_ms: int, clock: int) -> None:
        """Report a record that arrived too late."""
        record = as_received(message, self._handed)
        self.result.late.append(late_record(record, by_ms, self._context.stream_time, clock, self._rooms.late))
