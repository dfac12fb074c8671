"""Takes back a planned batch that is too large, so that it is read in smaller ones."""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from confluent_kafka import KafkaException, Producer
from pyspark.sql import SparkSession

from forebay.catalog import find_service
from forebay.runtime.errors import Unavailable
from forebay.runtime.offsets import SourceOffset
from forebay.runtime.positions import committed_positions
from forebay.runtime.spec import JobSpec

_SIGNS = ("MemoryError", "Python worker exited unexpectedly", "Python worker exited abnormally", "TransactionTooLong")
"""What Spark says of a Python worker without memory, or killed for it; and of a batch that takes too long."""

_SECONDS = 30.0


def size_failure(text: str) -> str:
    """Give what says in a query's failure that a batch may need too much memory or time; "" where nothing does."""
    return next((sign for sign in _SIGNS if sign in text), "")


def take_back(session: SparkSession, checkpoint: str, spec: JobSpec) -> int:
    """Take the batch that is planned but not through out of Spark's offset log; give its number of records.

    Every task's producer is fenced off first, so that none can commit it any more. Where tasks of the first stage have
    committed it, it keeps its number and what they read, and is shortened for the others.

    Returns:
        0 where nothing was changed: no batch is planned, it has no two records, or too much of it is committed.

    Raises:
        Unavailable: the broker can't be asked.
    """
    log_files = _Log(session, checkpoint)
    planned = max(log_files.numbers("offsets"), default=-1)
    if planned < 1 or planned in log_files.numbers("commits"):
        return 0
    begin, end = log_files.offset(planned - 1), log_files.offset(planned)
    if begin is None or end is None:
        return 0
    records = _records(begin, end)
    if records < 2:
        return 0
    _fence(spec)
    positions = committed_positions(spec.kafka, find_service(spec.service), spec.application, spec.tasks)
    committed = {place for place, position in positions.items() if position.marker.batch >= end.batch}
    if not committed:
        log_files.delete_offset(planned)
        return records
    smaller = shortened(begin, end, {task for stage, task in committed if stage == 0})
    if smaller is None or any(stage for stage, _ in committed):
        return 0
    log_files.replace_offset(planned, smaller)
    return records


def shortened(begin: SourceOffset, end: SourceOffset, committed: AbstractSet[int]) -> SourceOffset | None:
    """Give the end of a batch that reads half as much for every task but those that have committed it.

    Only for tasks of one partition each: partitions of one task must end at the same time (ARCHITECTURE.md, rule 6).

    Returns:
        None where that can't be done.
    """
    if sum(map(len, end.ends.values())) != end.tasks or begin.ends.keys() != end.ends.keys():
        return None
    ends = {
        topic: tuple(
            at if partition in committed else start + (at - start + 1) // 2
            for partition, (start, at) in enumerate(zip(begin.ends[topic], ends, strict=True))
        )
        for topic, ends in end.ends.items()
    }
    return None if ends == end.ends else replace(end, ends=ends, caught_up=False)


def _records(begin: SourceOffset, end: SourceOffset) -> int:
    start = {(topic, number): at for topic, ends in begin.ends.items() for number, at in enumerate(ends)}
    return sum(at - start.get((topic, number), 0) for topic, ends in end.ends.items() for number, at in enumerate(ends))


def _fence(spec: JobSpec) -> None:
    for stage in range(find_service(spec.service).stages):
        for task in range(spec.tasks):
            identity = {"transactional.id": spec.transactional_id(stage, task)}
            producer = Producer(spec.kafka.producer(**identity))
            try:
                producer.init_transactions(_SECONDS)
            except KafkaException as error:
                raise Unavailable(f"can't fence off {spec.transactional_id(stage, task)}: {error}") from error


class _Log:
    """Spark's logs in a checkpoint, wherever it is."""

    def __init__(self, session: SparkSession, checkpoint: str) -> None:
        context: Any = session.sparkContext
        self._jvm = context._jvm
        self._root = checkpoint
        self._files = self._path("").getFileSystem(context._jsc.hadoopConfiguration())

    def numbers(self, kind: str) -> set[int]:
        """Give the numbers of the entries."""
        path = self._path(f"/{kind}")
        if not self._files.exists(path):
            return set()
        names = [status.getPath().getName() for status in self._files.listStatus(path)]
        return {int(name) for name in names if name.isdecimal()}

    def offset(self, number: int) -> SourceOffset | None:
        """Give the source's offset of a batch."""
        return SourceOffset.from_json(json.loads(self._text(number).rpartition("\n")[2]))

    def delete_offset(self, number: int) -> None:
        """Forget that a batch was planned."""
        self._files.delete(self._path(f"/offsets/{number}"), False)

    def replace_offset(self, number: int, offset: SourceOffset) -> None:
        """Let a batch end elsewhere."""
        text = f"{self._text(number).rpartition(chr(10))[0]}\n{json.dumps(offset.to_json())}"
        stream = self._files.create(self._path(f"/offsets/{number}"), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def _text(self, number: int) -> str:
        stream = self._files.open(self._path(f"/offsets/{number}"))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")).rstrip("\n")
        finally:
            stream.close()

    def _path(self, below: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root + below)
