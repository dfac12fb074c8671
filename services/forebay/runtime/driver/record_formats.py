"""Checks before a job starts that it can read the formats of the unread records in its repartition topics.

If a version of the program sent records of another format, a partition would contain unread records of both formats,
and neither version could read it to the end. Therefore the driver checks the topics before the first lease. Each reader
checks each record again (`RepartitionPartition`), because another driver may run an earlier version at the same time.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from forebay.job import load_job, speaks_sql
from forebay.processor.messages import Message
from forebay.runtime.changelog.topics import repartition_topic
from forebay.runtime.driver.committed_records import CommittedRecords, Place, Take
from forebay.runtime.driver.restore import fence_groups
from forebay.runtime.errors import FormatChanged
from forebay.runtime.positions import Task
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.protocol.times import announced_time, sender_and_digest
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.record_formats import RecordFormat, digest_of, record_formats, topic_of
from forebay.runtime.task.repartition_queue import REMEDIES
from forebay.stores.layouts import Layout, decode_layout

log = logging.getLogger(__name__)

_EDITED = "the formats of repartition topics were edited, and groups must send no more records of the former formats"
_JOIN_OF_FORMER_RELEASE = re.compile(r"(columns-of-.+|results|select)-joined(-\d+)?")
"""Name of the repartition before a stream-table join of a SQL program in release 0.2."""
_OF_FORMER_RELEASE = "release 0.2 ran this job last, and can't read the repartition records of this release"
Layouts = dict[str, dict[str, Layout]]
"""Layouts by topic and digest."""
Unread = dict[Place, Counter[str]]
"""Number of unread records by partition and digest of their format; "" if they contain no digest."""


class Records(Protocol):
    """The committed records of a job's own topics."""

    @property
    def internal(self) -> Sequence[str]:
        """The internal changelogs, including those of sub-topologies that the job had once."""
        ...

    def read(self, offsets: Mapping[Place, int], take: Take) -> None:
        """Read partitions from offsets to their present ends."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """How far a partition has been read.

    Args:
        end: offset from which its reader resumes.
        digest: digest of the format that the reader declared; "" if none is recorded.
        used: offsets up to which records after `end` are used, by sender.
    """

    end: int = 0
    digest: str = ""
    used: Mapping[bytes, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordCheck:
    """What the unread records of a job's repartition topics mean for its start.

    Args:
        layouts: layouts of unread records that another version of the program sent, and that the job reads.
        reason: why the groups of a job that may still run must be fenced before this one starts; "": no reason.
        positions: the committed positions, which name these groups.
    """

    layouts: Layouts = field(default_factory=dict)
    reason: str = ""
    positions: Mapping[Task, TaskPosition] = field(default_factory=dict)

    def fence(self, spec: JobSpec) -> None:
        """Fence the groups of a job that may still run. Raises Unavailable."""
        log.warning(
            "%s: %s: fencing the task groups of the previous version, in case they still run",
            spec.application,
            self.reason,
        )
        fence_groups(spec.kafka, spec.application, self.positions)


def check_record_formats(spec: JobSpec) -> RecordCheck:
    """Compare the unread records of a job's repartition topics with the formats that it declares.

    Raises:
        FormatChanged: unread records would be misread. Unavailable.
    """
    job = load_job(spec.entry.job)
    formats = record_formats(spec.application, job)
    if not formats:
        return RecordCheck()
    records = CommittedRecords(spec.kafka, spec.entry, spec.application, spec.tasks, spec.former)
    positions = records.positions()
    if speaks_sql(job):
        former = former_joins(spec.application, formats, positions.values())
        _refuse_former_joins(records, records.existing(former), positions.values(), spec.tasks)
    check = compare_formats(records, formats, positions, spec.tasks)
    # The groups of 0.2 are fenced whether or not formats were edited.
    is_former = is_of_former_release(positions, spec.entry.stages)
    return replace(check, reason=_OF_FORMER_RELEASE) if is_former else check


def compare_formats(
    records: Records,
    formats: Mapping[str, RecordFormat],
    positions: Mapping[Task, TaskPosition],
    tasks: int,
    remedies: str = REMEDIES,
) -> RecordCheck:
    """Compare the unread records of repartition topics with their declared formats.

    Args:
        remedies: what to do about records that would be misread, for the error.

    Raises:
        FormatChanged: unread records would be misread. Unavailable.
    """
    places = [(topic, task) for topic, kind in formats.items() if kind.digest for task in range(tasks)]
    readings = readings_of_edited(readings_of(positions.values(), places), formats)
    if not readings:
        return RecordCheck({}, "", positions)
    unread = _count_unread(records, readings)
    former = {
        (topic, reading.digest)
        for (topic, _), reading in readings.items()
        if reading.digest not in ("", formats[topic].digest)
    }
    known: Layouts = {topic: {} for topic in formats}
    if former or has_other_formats(unread, formats):
        known = _read_layouts(records, formats, tasks)
    refuse_misread(unread, formats, known, remedies)
    is_edited = any(_refusal_of(formats[topic], digest, known) for topic, digest in former)
    return RecordCheck(layouts_to_read(unread, formats, known), _EDITED if is_edited else "", positions)


def readings_of_edited(
    readings: Mapping[Place, Reading], formats: Mapping[str, RecordFormat]
) -> Mapping[Place, Reading]:
    """Return the readings of all partitions of topics of which any reader has not declared the present format."""
    # If a version of the program was stopped before all its groups were opened, the readers of the other groups have
    # not declared its formats, but their partitions may contain its records.
    edited = {topic for (topic, _), reading in readings.items() if reading.digest != formats[topic].digest}
    return {place: reading for place, reading in readings.items() if place[0] in edited}


def is_of_former_release(positions: Mapping[Task, TaskPosition], sub_topologies: int) -> bool:
    """Return whether release 0.2 wrote the last position of any task of a job with this number of sub-topologies."""
    # During an upgrade on Kubernetes, workers of 0.2 commit until their groups are opened again. 0.2 names senders
    # differently. It would skip the records of groups that this release has already opened, and they would be lost.
    # Positions of sub-topologies that the job no longer has stay as 0.2 wrote them.
    return not all(position.sub_topology for (number, _), position in positions.items() if number < sub_topologies)


def former_joins(application: str, formats: Collection[str], positions: Iterable[TaskPosition]) -> set[str]:
    """Return the topics that a SQL program's joins read under release 0.2, until the joins have read their new topics.

    Release 0.2 named the repartition before a stream-table join after the table. Now it is named after the result.
    """
    read = {topic for position in positions for topic, _, _ in position.ends}
    if read.issuperset(formats):
        return set()
    prefix, suffix = repartition_topic(application, "\0").split("\0")
    named = {topic.removeprefix(prefix).removesuffix(suffix): topic for topic in read.difference(formats)}
    return {topic for name, topic in named.items() if _JOIN_OF_FORMER_RELEASE.fullmatch(name)}


def readings_of(positions: Iterable[TaskPosition], places: Iterable[Place]) -> dict[Place, Reading]:
    """Return how far each of these partitions is read. Those without a position are not read yet."""
    readings = dict.fromkeys(places, Reading())
    for position in positions:
        digests = dict(position.formats)
        for topic, partition, end in position.ends:
            place = topic, partition
            # The offsets of a topic stay at the place that read it last. Should there be two, the largest counts.
            if place in readings and end >= readings[place].end:
                used = {time.sender.encode(): time.next_offset for time in position.senders if time.topic == topic}
                readings[place] = Reading(end, digests.get(topic, ""), used)
    return readings


def has_other_formats(unread: Unread, formats: Mapping[str, RecordFormat]) -> bool:
    """Return whether unread records name other formats than the declared ones."""
    return any(digest not in ("", formats[topic].digest) for (topic, _), counts in unread.items() for digest in counts)


def layouts_to_read(unread: Unread, formats: Mapping[str, RecordFormat], known: Layouts) -> Layouts:
    """Return the layouts of unread records of other formats, which the readers need."""
    layouts: Layouts = {}
    for (topic, _), counts in unread.items():
        for digest in counts.keys() - {"", formats[topic].digest}:
            layouts.setdefault(topic, {})[digest] = known[topic][digest]
    return layouts


def refuse_misread(
    unread: Unread, formats: Mapping[str, RecordFormat], known: Layouts, remedies: str = REMEDIES
) -> None:
    """Refuse unread records that the declared formats would misread. Raises FormatChanged."""
    refused: dict[tuple[str, str], dict[int, int]] = {}
    for (topic, partition), counts in sorted(unread.items()):
        for digest, count in counts.items():
            if digest not in ("", formats[topic].digest):
                why = _refusal_of(formats[topic], digest, known)
                if why:
                    refused.setdefault((topic, why), {})[partition] = count
    if not refused:
        return
    reasons = "; ".join(
        f"{topic} {why}, and {_number_unread(sum(counts.values()))} unread ("
        + ", ".join(f"partition {partition}: {count}" for partition, count in counts.items())
        + ")"
        for (topic, why), counts in refused.items()
    )
    raise FormatChanged(f"{reasons}: the job would misread them. {remedies}")


def _refuse_former_joins(
    records: Records, topics: Iterable[str], positions: Collection[TaskPosition], tasks: int
) -> None:
    """Refuse unread records in topics that joins read under release 0.2. Raises FormatChanged, Unavailable."""
    readings = readings_of(positions, [(topic, task) for topic in topics for task in range(tasks)])
    counts = Counter[str]()
    for (topic, _), digests in _count_unread(records, readings).items():
        counts[topic] += digests.total()
    if counts:
        waiting = ", ".join(f"{topic} ({_number_unread(count)} unread)" for topic, count in sorted(counts.items()))
        raise FormatChanged(
            f"release 0.2 named the repartition before a join after the table, and this release names it after the "
            f"result, so nothing would read {waiting}. {REMEDIES}"
        )


def _number_unread(count: int) -> str:
    return "1 record is" if count == 1 else f"{count} records are"


def _refusal_of(declared: RecordFormat, digest: str, known: Layouts) -> str:
    layout = known[declared.topic].get(digest)
    if layout is None:
        return f"holds records of a format that no task recorded ({digest})"
    return declared.refusal_of(layout)


def _count_unread(records: Records, readings: Mapping[Place, Reading]) -> Unread:
    unread: Unread = {}

    def take(place: Place, message: Message, offset: int) -> None:
        headers = message.headers() or []
        if not headers or announced_time(message, headers) is not None:
            return
        sender, digest = sender_and_digest(headers[0][1] or b"")
        # A reader may have used records of one sender that lie behind unused ones of another.
        if offset >= readings[place].used.get(sender, -1):
            unread.setdefault(place, Counter())[digest] += 1

    records.read({place: reading.end for place, reading in readings.items()}, take)
    return unread


def _read_layouts(records: Records, topics: Collection[str], tasks: int) -> Layouts:
    """Return the layouts that tasks recorded of these topics' records."""
    layouts: Layouts = {topic: {} for topic in topics}

    def take(_place: Place, message: Message, _offset: int) -> None:
        key, value = message.key() or b"", message.value()
        topic = topic_of(key)
        if topic in layouts and value is not None:
            layouts[topic][digest_of(key)] = decode_layout(value)

    records.read({(topic, task): 0 for topic in records.internal for task in range(tasks)}, take)
    return layouts
