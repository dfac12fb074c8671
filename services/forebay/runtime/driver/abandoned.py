"""Records in repartition topics that no sub-topology of this release reads."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from forebay.codec import Unavailable
from forebay.job import Job
from forebay.kafka.errors import NotAuthorized, failure_of
from forebay.kafka.identities import marker_group
from forebay.kafka.rewinding import read_from_beginning
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.changelog.topics import repartition_topic
from forebay.runtime.protocol.times import announced_time
from forebay.runtime.task.reads import repartition_topics

log = logging.getLogger(__name__)

_SECONDS = 10.0
_MOST = 100_000
"""Largest number of records of a topic that is counted exactly."""


def count_abandoned(kafka: KafkaSettings, application: str, job: Job) -> Counter[str]:
    """Count, by topic, the records that an earlier release forwarded and this one does not read; log a warning.

    Raises:
        Unavailable: the broker does not answer.
    """
    try:
        counts = _look(kafka, application, set(repartition_topics(application, job).values()))
    except NotAuthorized as error:
        log.warning("%s: can't check whether records of an earlier release are left: %s", application, error)
        return Counter()
    for topic, count in counts.items():
        log.warning(
            "%s: the repartition topic %s has %s unread records of an earlier release, and no sub-topology of this "
            "release reads it. The records are kept. To process them, run the earlier release with `--trigger "
            "available-now`, then start this release again. To discard them, delete the topic",
            application,
            topic,
            f"more than {_MOST}" if count > _MOST else count,
        )
    return counts


def _look(kafka: KafkaSettings, application: str, read: Collection[str]) -> Counter[str]:
    consumer = Consumer(kafka.consumer(**{"group.id": marker_group(application)}))
    try:
        return _count(consumer, _places(consumer, application, read))
    except KafkaException as error:
        raise failure_of(
            error.args[0], "can't check repartition topics for unread records of an earlier release"
        ) from error
    finally:
        consumer.close()


def _places(consumer: Consumer, application: str, read: Collection[str]) -> list[TopicPartition]:
    """Return the offsets up to which an earlier release has read its repartition topics, as its marker group knows."""
    prefix, suffix = repartition_topic(application, "\0").split("\0")
    topics = consumer.list_topics(timeout=_SECONDS).topics
    asked = [
        TopicPartition(name, partition)
        for name, topic in topics.items()
        if name.startswith(prefix) and name.endswith(suffix) and name not in read
        for partition in topic.partitions
    ]
    known = consumer.committed(asked, _SECONDS) if asked else []
    return [place for place in known if place.error is None and place.offset >= 0]


def _count(consumer: Consumer, places: list[TopicPartition]) -> Counter[str]:
    counts: Counter[str] = Counter()
    left = {(place.topic, place.partition) for place in places}
    consumer.assign([TopicPartition(place.topic, place.partition, place.offset) for place in places])
    while left:
        message = consumer.poll(_SECONDS)
        if message is None:
            raise Unavailable(f"no answer from {', '.join(sorted({topic for topic, _ in left}))} for {_SECONDS:.0f} s")
        place, error = (message.topic() or "", message.partition() or 0), message.error()
        if error is None:
            headers = message.headers()
            is_record = not headers or announced_time(message, headers) is None  # type: ignore[arg-type]
            counts[place[0]] += is_record
            if counts[place[0]] > _MOST:
                consumer.incremental_unassign([TopicPartition(*gone) for gone in left if gone[0] == place[0]])
                left = {other for other in left if other[0] != place[0]}
        elif error.code() == KafkaError._PARTITION_EOF:
            left.discard(place)
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            read_from_beginning(consumer, *place)
        else:
            raise failure_of(error, f"can't read {place[0]}")
    return +counts
