"""Runs a push query's own topology: the engine of a job with topics in memory, dropped when the response ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from forebay.in_memory.loop import Loop, Time, errors, late
from forebay.in_memory.records import Failure, Forwarded, show_failure, show_output
from forebay.in_memory.sub_topologies import SubTopologyTasks
from forebay.job import Job
from forebay.processor.engine_settings import EngineSettings
from forebay.processor.messages import Message
from forebay.queries.reads import WrongQuery
from forebay.runtime.task.error_rate import describe_error
from forebay.sql.limits import LimitReached
from forebay.sql.service import NoSettings
from forebay.sql.transient import ANSWER

STATE_BYTES = 64 << 20
"""Maximum bytes of rows that a push query holds for its joins and groups."""
_NAME = "query"
_DECODE = "decode"
_FAR_AHEAD_MS = 1 << 52
"""The clock of a query, so that no event time is in the future."""


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row of the result with its key. A value of None is a deleted row."""

    key: Any
    value: Any


class TransientRun:
    """Runs the topology of a push query, with topics and stores in this process only.

    Args:
        partitions: the largest number of partitions of a source.
    """

    def __init__(self, job: Job, partitions: int) -> None:
        time = Time(_FAR_AHEAD_MS)
        engine = EngineSettings(_NAME)
        self._sub_topologies = [
            SubTopologyTasks(job, number, NoSettings(), 1, engine, no_contract, time.monotonic)
            for number in range(len(job.topology))
        ]
        self._rows: list[ChangedRow] = []
        self._failures: list[Failure] = []
        codecs = self._sub_topologies[0].codecs
        sinks = {
            ANSWER: show_output(ANSWER, codecs, self._add),
            errors(_NAME): show_failure(self._failures.append),
            late(_NAME): show_failure(_drop),
        }
        self._loop = Loop(job, _NAME, self._sub_topologies, 1, partitions, time, sinks)

    def process(self, messages: Iterable[Message]) -> list[ChangedRow]:
        """Process records, and return the rows that they change. Raises LimitReached, WrongQuery."""
        self._rows.clear()
        for message in messages:
            partition = self._loop.topics.partition(message.topic(), message.partition())
            timestamp, headers = message.timestamp()[1], message.headers() or []
            partition.append(message.key(), message.value(), timestamp, headers, message.offset())
        self._loop.run()
        self._loop.forget_used()
        # The changelogs are never read again, and would keep every key that was ever deleted.
        for changelog in self._loop.topics.changelogs.values():
            changelog.forget()
        self._check()
        return list(self._rows)

    def _check(self) -> None:
        """Check for failed records and too much state. Raises LimitReached, WrongQuery."""
        # A record that does not match its declaration is no row, as in a push query of one source.
        failures = [failure for failure in self._failures if failure.headers.get("error.stage") != _DECODE]
        self._failures.clear()
        if failures:
            raise LimitReached(f"the query fails for a record: {describe_error(failures[0].key, failures[0].headers)}")
        size = sum(table.footprint_bytes for sub_topology in self._sub_topologies for table in sub_topology.tables)
        if size > STATE_BYTES:
            raise WrongQuery(
                f"the query holds more than {STATE_BYTES} bytes of rows (limit STATE_BYTES): make its windows shorter, "
                "add WHERE, or compute it in a TABLE or STREAM ... AS SELECT"
            )

    def _add(self, output: Forwarded[Any]) -> None:
        self._rows.append(ChangedRow(output.key, output.value))


def no_contract(_name: str, record: type[Any]) -> Any:
    """Refuse a record with a contract, which SQL's rows do not have."""
    raise AssertionError(f"{record.__name__} has no contract here")


def _drop(_failure: Failure) -> None:
    """Drop a record that arrived after its window was closed."""
