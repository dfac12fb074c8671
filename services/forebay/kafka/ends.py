"""Where partitions end."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from forebay.codec import Unavailable
from forebay.kafka.errors import failed

_SECONDS = 10.0
_STALE = (
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._NOENT,
)
"""What is said where leaders are not those an admin client knows."""

Place = tuple[str, int]
"""Topic and partition."""


def partition_ends(
    admin: AdminClient, places: Iterable[Place], isolation: IsolationLevel, whose: str
) -> dict[Place, int]:
    """Return the end of each partition: the high watermark, or for READ_COMMITTED the last stable offset.

    Args:
        whose: names the topics in errors.

    Raises:
        Unavailable: the broker can't be reached, or refuses.
    """
    asked = {TopicPartition(*place): OffsetSpec.latest() for place in places}
    try:
        try:
            return _answers(admin, asked, isolation)
        except KafkaException as error:
            if error.args[0].code() not in _STALE:
                raise
            # An admin client keeps the leaders it knew before a broker was started again, until it is made to look.
            admin.list_topics(timeout=_SECONDS)
            return _answers(admin, asked, isolation)
    except KafkaException as error:
        raise failed(error.args[0], f"can't ask for {whose} ends") from error
    except TimeoutError as error:
        raise Unavailable(f"can't ask for {whose} ends: no answer") from error


def _answers(
    admin: AdminClient, asked: dict[TopicPartition, OffsetSpec], isolation: IsolationLevel
) -> dict[Place, int]:
    futures = admin.list_offsets(asked, isolation_level=isolation, request_timeout=_SECONDS)
    return {(place.topic, place.partition): future.result(_SECONDS).offset for place, future in futures.items()}
