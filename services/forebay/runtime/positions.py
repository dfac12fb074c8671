"""Reads where a job's tasks stand: their markers, or their changelogs where the markers are gone."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaException, TopicPartition

from forebay.catalog import Service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.identities import marker_group
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.changelog import internal_topic
from forebay.runtime.changelog_reader import ChangelogRows, TopicChangelog
from forebay.runtime.committed import CommittedPosition
from forebay.runtime.errors import Unavailable
from forebay.runtime.marker import Marker
from forebay.runtime.restore import Task
from forebay.stores.table import MemoryTable

_SECONDS = 20.0


def committed_positions(
    kafka: KafkaSettings, service: Service, application: str, tasks: int
) -> dict[Task, CommittedPosition]:
    """Give the position of every task that committed anything. Raises Unavailable, StateConflict."""
    consumer = Consumer(kafka.consumer(**{"group.id": marker_group(application)}))
    try:
        found = dict(_by_marker(consumer, kafka, service, application, tasks))
    except KafkaException as error:
        raise Unavailable(f"can't read the markers of {application}: {error}") from error
    finally:
        consumer.close()
    for stage in range(service.stages):
        for task in range(tasks):
            if (stage, task) not in found:
                position = _by_changelog(kafka, application, stage, task)
                if position is not None:
                    found[stage, task] = position
    return found


def _by_marker(
    consumer: Consumer, kafka: KafkaSettings, service: Service, application: str, tasks: int
) -> Iterator[tuple[Task, CommittedPosition]]:
    inputs = TopicAdmin(kafka, _SECONDS).partitions(topic.name for topic in service.inputs)
    places: dict[Task, list[TopicPartition]] = {}
    for topic, partitions in inputs.items():
        for partition in range(partitions):
            places.setdefault((0, partition % tasks), []).append(TopicPartition(topic, partition))
    for stage in range(1, service.stages):
        for task in range(tasks):
            places[stage, task] = [TopicPartition(internal_topic(application, stage), task)]
    for place, asked in places.items():
        known = [answer for answer in consumer.committed(asked, _SECONDS) if answer.offset >= 0]
        if known:
            ends = tuple((answer.topic, answer.partition, answer.offset) for answer in known)
            yield place, CommittedPosition(Marker.from_metadata(known[0].metadata or ""), ends)


def _by_changelog(kafka: KafkaSettings, application: str, stage: int, task: int) -> CommittedPosition | None:
    group = {"group.id": marker_group(application)}
    rows = ChangelogRows({}, internal_topic(application, stage))
    name = f"{application}-{stage}-{task}"
    return TopicChangelog(name, lambda: Consumer(kafka.consumer(**group)), rows, task).restore(MemoryTable())
