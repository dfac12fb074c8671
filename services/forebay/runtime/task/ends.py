"""Where partitions end."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from forebay.kafka.errors import failed
from forebay.runtime.errors import Unavailable

_SECONDS = 10.0

Place = tuple[str, int]


def last_stable(admin: AdminClient, places: Iterable[Place]) -> dict[Place, int]:
    """Return the offsets up to which every transaction is decided. Raises Unavailable."""
    return _ends(admin, places, IsolationLevel.READ_COMMITTED)


def high_watermarks(admin: AdminClient, places: Iterable[Place]) -> dict[Place, int]:
    """Return the offsets behind the last record, committed or not. Raises Unavailable."""
    return _ends(admin, places, IsolationLevel.READ_UNCOMMITTED)


def _ends(admin: AdminClient, places: Iterable[Place], isolation: IsolationLevel) -> dict[Place, int]:
    asked = {TopicPartition(*place): OffsetSpec.latest() for place in places}
    try:
        futures = admin.list_offsets(asked, isolation_level=isolation, request_timeout=_SECONDS)
        return {(p.topic, p.partition): future.result(_SECONDS).offset for p, future in futures.items()}
    except KafkaException as error:
        raise failed(error.args[0], "can't ask where partitions end") from error
    except TimeoutError as error:
        raise Unavailable(f"can't ask where partitions end: no answer within {_SECONDS:.0f} s") from error
