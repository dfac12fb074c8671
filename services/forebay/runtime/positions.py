"""Reads the positions of a job's tasks from the ends of their internal changelogs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from forebay.catalog import Service
from forebay.kafka.identities import restore_group
from forebay.kafka.rewinding import read_from_beginning
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.changelog.topics import internal_topic
from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.runtime.worker.ends import last_stable

_SECONDS = 30.0
_FIRST_LOOK = 200
"""Number of records before the end that are read first, because the position is the last record of a transaction."""

Task = tuple[int, int]
"""Number of the sub-topology, and of the task."""


def committed_positions(
    kafka: KafkaSettings, service: Service, application: str, tasks: int, former: Sequence[str] = ()
) -> dict[Task, TaskPosition]:
    """Return the position of every task that has committed.

    Args:
        former: internal changelogs of sub-topologies that the job had once; their numbers follow those of the others.

    Raises:
        Unavailable, StateConflict.
    """
    topics = [*(internal_topic(application, number) for number in range(service.stages)), *former]
    places = {(topic, task): (number, task) for number, topic in enumerate(topics) for task in range(tasks)}
    ends = last_stable(AdminClient(kafka.admin()), places)
    consumer = Consumer(kafka.consumer(**{"group.id": restore_group(application)}))
    try:
        positions: dict[Task, TaskPosition] = {}
        look, left = _FIRST_LOOK, dict(ends)
        while left:
            for place, position in _read(consumer, left, look).items():
                positions[places[place]] = position
            left = {place: end for place, end in left.items() if places[place] not in positions and look < end}
            # A commit may have more rows than were read. Few tasks need a second attempt, so it may cost more.
            look *= 20
        return positions
    except KafkaException as error:
        raise Unavailable(f"can't read the positions of {application}: {error}") from error
    finally:
        consumer.close()


def _read(consumer: Consumer, ends: Mapping[tuple[str, int], int], look: int) -> dict[tuple[str, int], TaskPosition]:
    """Return the last position among the latest `look` records of each partition."""
    reading = {place for place, end in ends.items() if end > 0}
    consumer.assign([TopicPartition(*place, max(0, ends[place] - look)) for place in reading])
    positions: dict[tuple[str, int], TaskPosition] = {}
    while reading:
        message = consumer.poll(_SECONDS)
        if message is None:
            raise Unavailable(f"no answer from the internal changelogs for {_SECONDS:.0f} s")
        place = message.topic() or "", message.partition() or 0
        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                reading.discard(place)
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                read_from_beginning(consumer, *place)
            elif error.fatal():
                raise Unavailable(f"reading {place[0]}: {error}")
            continue
        value = message.value()
        if message.key() == POSITION and value is not None:
            positions[place] = TaskPosition.from_json(value)
    return positions


def closing_times(positions: Mapping[Task, TaskPosition]) -> dict[Task, int]:
    """Return the time (ms) up to which each task's results are final, for tasks that have seen a record."""
    return {
        task: max(position.stream_time, position.closing_time)
        for task, position in positions.items()
        if position.stream_time >= 0
    }


def undelivered_tasks(positions: Mapping[Task, TaskPosition]) -> tuple[Task, ...]:
    """Return the tasks that lack records which a release without repartition topics sent to them in its last batch."""
    last = max((position.n for position in positions.values()), default=0)
    lost = set()
    for (sub_topology, _), position in positions.items():
        if position.n == last and position.handed_to:
            targets = (task for task in range(position.handed_to.bit_length()) if position.handed_to >> task & 1)
            handed = {(sub_topology + 1, task) for task in targets}
            lost |= {task for task in handed if task not in positions or positions[task].n != last}
    return tuple(sorted(lost))
