"""Where partitions end."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from forebay.codec import Unavailable
from forebay.kafka.errors import failed

_SECONDS = 30.0

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
        futures = admin.list_offsets(asked, isolation_level=isolation, request_timeout=_SECONDS)
        return {(place.topic, place.partition): future.result(_SECONDS).offset for place, future in futures.items()}
    except KafkaException as error:
        raise failed(error.args[0], f"can't ask for {whose} ends") from error
    except TimeoutError as error:
        raise Unavailable(f"can't ask for {whose} ends: no answer") from error
