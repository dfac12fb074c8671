"""Fences all producers of a job's changelogs before the job restores its state from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import failure_of
from forebay.kafka.identities import marker_group, transactional_id
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.errors import StopJob
from forebay.runtime.positions import Task, undelivered_tasks
from forebay.runtime.protocol.position import TaskPosition

_SECONDS = 30.0


class Restore(Enum):
    """When a job restores its state from its changelogs: never, if it has no checkpoint, or as its only action."""

    NO = "no"
    IF_MISSING = "if missing"
    ONLY = "only"


def prepare_restore(kafka: KafkaSettings, application: str, positions: Mapping[Task, TaskPosition]) -> None:
    """Fence all groups that wrote these positions, of this release and of the previous one.

    Raises:
        StopJob: the previous release left records between two sub-topologies that are in no topic. Unavailable.
    """
    lost = undelivered_tasks(positions)
    if lost:
        names = ", ".join(f"{application}-{sub_topology}-{task}" for sub_topology, task in lost)
        raise StopJob(
            "the previous release was killed between the commits of two sub-topologies: the records that "
            f"{names} should read are in no topic. Run that release to complete them (`forebay run --trigger "
            "available-now`), then start this one"
        )
    # The groups read their changelogs after this, when no former owner can commit any more.
    fence_groups(kafka, application, positions)


def fence_groups(kafka: KafkaSettings, application: str, positions: Mapping[Task, TaskPosition]) -> None:
    """Fence off every group that wrote these positions. Raises Unavailable."""
    for name in sorted(_writers(application, positions)):
        producer = Producer(kafka.producer(**{"transactional.id": name}))
        try:
            producer.init_transactions(_SECONDS)
        except KafkaException as error:
            raise failure_of(error.args[0], f"can't fence the previous producer of the task group {name}") from error


def refuse_without_positions(kafka: KafkaSettings, application: str, inputs: Iterable[str]) -> None:
    """Refuse to begin without positions if the marker group shows that the job has committed.

    Raises:
        StopJob: an early release ran, which kept no positions. Unavailable.
    """
    # The marker group shows that the job ran, although no changelog contains its positions. A job that began at the
    # start would repeat all results.
    partitions = TopicAdmin(kafka).partitions(inputs)
    asked = [TopicPartition(topic, number) for topic, count in partitions.items() for number in range(count)]
    consumer = Consumer(kafka.consumer(**{"group.id": marker_group(application)}))
    try:
        committed = [answer for answer in consumer.committed(asked, _SECONDS) if answer.offset >= 0]
    except KafkaException as error:
        raise failure_of(error.args[0], f"can't read the offsets of the group {marker_group(application)}") from error
    finally:
        consumer.close()
    if committed:
        raise StopJob(
            f"{application} has committed offsets, but its changelogs contain no positions: an early release ran it "
            "last. Run the release before this one once, so that it writes positions (`forebay run --trigger "
            "available-now`), then this one with --restore; or start over with `forebay reset`"
        )


def _writers(application: str, positions: Mapping[Task, TaskPosition]) -> set[str]:
    groups = max((position.groups for position in positions.values()), default=0)
    names = {transactional_id(application, group) for group in range(groups)}
    return names | {
        f"{application}-{sub_topology}-{task}"
        for (sub_topology, task), position in positions.items()
        if not position.groups
    }
