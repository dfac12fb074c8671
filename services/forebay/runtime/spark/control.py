"""Communication of driver and workers during leases, by the metadata of offsets in the job's control group.

It needs no topic and no open port, only the right to commit to one group. For the first input partition, the driver
commits a time in ms as an offset: leases planned before it end. For each task's partition of the internal changelog, a
worker commits the task's statistics. The driver's metadata contains whether other leases follow, and the driver's name.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
from collections.abc import Callable, Iterable, Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from forebay.runtime.changelog.topics import internal_topic
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.clock import now_ms
from forebay.runtime.task.statistics import TaskFigures
from forebay.runtime.worker.deadline import leave

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5
_REPORT_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
_FOLLOWED = "followed"
_NO_PLACE = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED)
"""Errors that concern only one place. A job may write the topic of failed records, but a broker with ACLs requires the
right to read it for an offset, which the job may not have."""

_CONSUMERS: dict[str, Consumer] = {}
"""A worker's connection, by application."""


def _places(spec: JobSpec) -> list[tuple[str, int]]:
    """Return the partitions whose offsets are the driver's command: two, because one of the topics may be deleted."""
    return [(spec.entry.inputs[0].name, 0), (spec.entry.errors.name, 0)]


def connection(spec: JobSpec) -> Consumer:
    """Return a consumer of the control group."""
    return Consumer(spec.kafka.consumer(**{"group.id": spec.control_group}))


class WorkerControl:
    """The worker's side, during one lease."""

    def __init__(
        self, spec: JobSpec, lease: Lease, consumer: Consumer, monotonic: Callable[[], float] | None = None
    ) -> None:
        self._spec = spec
        self._lease = lease
        self._topics = lease.topics
        self._consumer = consumer
        self._monotonic = monotonic or time.monotonic
        self._looked_at = self._reported_at = 0.0
        self._answered_at = self._monotonic()
        self._ended = False
        self._unconfirmed: list[TopicPartition] = []
        """The offsets of the latest report, until the broker has shown that it has a report of this lease."""
        self.is_reported = False
        """Whether the broker has a report of this lease, from which the driver knows that the lease has begun."""
        self.is_followed = False
        """Whether other leases follow, according to the driver's latest command."""

    @classmethod
    def of(cls, spec: JobSpec, lease: Lease) -> WorkerControl:
        """Return the control of a lease. All leases of a worker share one connection."""
        consumer = _CONSUMERS.get(spec.application)
        if consumer is None:
            consumer = _CONSUMERS[spec.application] = connection(spec)
        return cls(spec, lease, consumer)

    @property
    def must_end(self) -> bool:
        """Whether the driver has ended this lease, as of the latest answer. The broker is asked twice a second."""
        if not self._ended:
            self._look()
        return self._ended

    @property
    def silent_seconds(self) -> float:
        """Seconds since the broker last answered, or since this lease began."""
        self._look()
        return self._monotonic() - self._answered_at

    @property
    def must_leave(self) -> bool:
        """Whether this driver or the next one has ended this lease, and no other leases follow."""
        self._look()
        return self._ended and not self.is_followed

    def _look(self) -> None:
        now = self._monotonic()
        if now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        try:
            places = [TopicPartition(*place) for place in _places(self._spec)]
            own = [TopicPartition(report.topic, report.partition) for report in self._unconfirmed]
            answers = self._consumer.committed(places + own, _ANSWER_SECONDS)
        except KafkaException as error:
            log.debug("the control group can't be read: %s", error)
            return
        # Also if a place has an error of its own, because the broker has answered and this executor reaches it.
        self._answered_at = self._monotonic()
        if own and all(map(self._is_of_lease, answers[len(places) :])):
            self.is_reported, self._unconfirmed = True, []
        commands = [answer for answer in answers[: len(places)] if answer.error is None]
        if commands:
            # The two places are written one after the other, so they may differ for a moment. The later command is
            # used.
            command = max(commands, key=lambda answer: int(answer.offset))
            # Never reset, because the loop may have begun to end, and a lease can't be continued.
            self._ended = self._ended or command.offset >= self._lease.planned_at
            # The second line names the driver, and release 0.2 knows only the first.
            self.is_followed = (command.metadata or "").partition("\n")[0] == _FOLLOWED

    def _is_of_lease(self, answer: TopicPartition) -> bool:
        """Return whether a committed offset is this run's report of this lease."""
        if answer.error is not None or not answer.metadata:
            return False
        report = json.loads(answer.metadata)
        return bool(report.get("run") == self._spec.run and report["lease"]["planned"] == self._lease.planned_at)

    def report(
        self, figures: Iterable[TaskFigures], beat_ms: int, trouble: str = "", *, asynchronous: bool = True
    ) -> bool:
        """Report the tasks' statistics to the driver, once a second.

        Args:
            beat_ms: time of the last cycle of the tasks' loop.
            trouble: what the group waits for; "" if nothing.

        Returns:
            Whether they were sent, or with `asynchronous=False` whether they were committed.
        """
        now = self._monotonic()
        if now - self._reported_at < _REPORT_SECONDS:
            return False
        self._reported_at = now
        offsets = []
        report = {
            "run": self._spec.run,
            "trouble": trouble[:300],
            "lease": {"number": self._lease.number, "planned": self._lease.planned_at, "topics": self._topics},
        }
        for item in figures:
            item.sign(beat_ms)
            metadata = json.dumps({**report, "figures": item.to_json()})
            topic = internal_topic(self._spec.application, item.sub_topology)
            offsets.append(TopicPartition(topic, item.task, item.commits, metadata))
        # An asynchronous commit has no answer here. The next request reads the offset back instead.
        if not self.is_reported:
            self._unconfirmed = offsets
        try:
            if asynchronous:
                self._consumer.commit(offsets=offsets, asynchronous=True)
            else:
                self._consumer.commit(offsets=offsets, asynchronous=False)
            self._consumer.poll(0)
        except KafkaException as error:
            log.debug("statistics were not reported: %s", error)
            return False
        return True


class DriverControl:
    """The driver's side."""

    def __init__(self, spec: JobSpec, consumer: Consumer | None = None, clock: Callable[[], int] | None = None) -> None:
        self._spec = spec
        self._consumer = connection(spec) if consumer is None else consumer
        self._clock = clock or now_ms
        self.planned = self.begun = -1
        """When (ms) the latest lease was planned that any task has reported, and the latest that all have reported."""
        self.topics = ""
        """Digest of the topics of the latest lease that tasks reported (`Lease.topics`)."""
        self.command = self.sent = -1
        """Times (ms) of the latest command, and of this driver's latest one, which may have had no answer. A command
        ends the leases that were planned until its time."""
        self._name = f"the driver on {socket.gethostname()} (process {os.getpid()}, run {spec.run})"
        self.other = ""
        """Name of another driver whose command this driver has read; "" if none, or unknown."""
        self._places = [
            TopicPartition(internal_topic(spec.application, sub_topology), task)
            for sub_topology in range(spec.entry.stages)
            for task in range(spec.tasks)
        ]

    def end_leases(self, *, is_followed: bool = False) -> int:
        """End all leases that were planned until now; return the time of the command in ms. Raises KafkaException.

        The time is never before that of a lease or command that this driver has read, even if the clock was set back.

        Args:
            is_followed: whether leases of this driver or the next one follow. Until then, loops may continue.
        """
        return self._command(max(self._clock(), self.planned, self.command), is_followed=is_followed)

    def end_reported(self, *, is_followed: bool) -> int:
        """End the latest leases that tasks have reported, but no later ones; return the time as `end_leases` does.

        Raises:
            KafkaException: the broker has not accepted the command.
        """
        return self._command(max(self.planned, self.command), is_followed=is_followed)

    def last_command(self) -> int:
        """Return the time (ms) of the latest command, until which it ends leases; -1: none. Raises KafkaException."""
        places = [TopicPartition(*place) for place in _places(self._spec)]
        return self._latest(self._consumer.committed(places, _ANSWER_SECONDS))

    def _latest(self, commands: Sequence[TopicPartition]) -> int:
        """Return the time of the latest command in ms, -1: none; record the name of another driver that sent it."""
        valid = [command for command in commands if command.error is None and command.offset >= 0]
        for command in valid:
            _, _, name = (command.metadata or "").partition("\n")
            if name and name != self._name:
                self.other = name
        return max((int(command.offset) for command in valid), default=-1)

    def _command(self, time_ms: int, *, is_followed: bool) -> int:
        self.sent = max(self.sent, time_ms)
        word = _FOLLOWED if is_followed else ""
        first, second = _places(self._spec)
        # Workers of release 0.2 read only the first place, and know only the bare word. The place with the name is
        # written first, because another driver reads it as soon as its leases end.
        metadata = {second: f"{word}\n{self._name}", first: word}
        missing: list[KafkaException] = []
        for (topic, partition), text in metadata.items():
            try:
                place = TopicPartition(topic, partition, time_ms, text)
                self._consumer.commit(offsets=[place], asynchronous=False)
            except KafkaException as error:
                # An outage must not look like an accepted command, because the driver would wait for the end of leases
                # that have not seen it.
                if error.args[0].code() not in _NO_PLACE:
                    raise
                missing.append(error)
        if len(missing) == len(metadata):
            raise missing[0]
        self.command = time_ms
        return time_ms

    def figures(self) -> tuple[list[TaskFigures], str]:
        """Return the latest statistics of this run's tasks, and what a group waits for. Raises KafkaException.

        Reports to an earlier run are ignored.
        """
        figures, trouble, leases = [], "", []
        commands = [TopicPartition(*place) for place in _places(self._spec)]
        answers = self._consumer.committed(commands + self._places, _ANSWER_SECONDS)
        self.command = max(self.command, self._latest(answers[: len(commands)]))
        for answer in answers[len(commands) :]:
            if answer.error is None and answer.offset >= 0 and answer.metadata:
                report = json.loads(answer.metadata)
                # The offsets stay in the group when a driver ends, so it may still have what tasks reported to an
                # earlier run.
                if report.get("run") != self._spec.run:
                    continue
                # Workers of release 0.2 do not report the topics.
                leases.append((int(report["lease"]["planned"]), str(report["lease"].get("topics", ""))))
                figures.append(TaskFigures.from_json(report["figures"]))
                trouble = trouble or report["trouble"]
        self.planned, self.topics = max([(self.planned, self.topics), *leases])
        # The earliest of all tasks, because a lease counts as begun only when all of its tasks have loaded their tables
        # and reported it.
        self.begun = min(leases)[0] if len(leases) == len(self._places) else -1
        return figures, trouble

    def close(self) -> None:
        """Close the connection."""
        leave(self._consumer)
