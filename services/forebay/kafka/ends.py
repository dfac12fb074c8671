"""Where partitions end, and begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from forebay.codec import Unavailable
from forebay.kafka.errors import failure_of

_SECONDS = 10.0
_STALE = (
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError._NOENT,
)
"""What is said where leaders are not those an admin client knows."""

Place = tuple[str, int]
"""Topic and partition."""


def partition_ends(
    admin: AdminClient, places: Iterable[Place], isolation: IsolationLevel, whose: str, seconds: float = _SECONDS
) -> dict[Place, int]:
    """Return the end of each partition: the high watermark, or for READ_COMMITTED the last stable offset.

    Args:
        whose: names the topics in errors.
        seconds: for each question.

    Raises:
        Unavailable: the broker can't be reached, or refuses.
    """
    specs = {TopicPartition(*place): OffsetSpec.latest() for place in places}
    return _request_offsets(admin, specs, isolation, f"can't ask for {whose} ends", seconds)


def partition_begins(
    admin: AdminClient, places: Iterable[Place], whose: str, seconds: float = _SECONDS
) -> dict[Place, int]:
    """Return the first offset of each partition. Arguments and errors as of `partition_ends`."""
    specs = {TopicPartition(*place): OffsetSpec.earliest() for place in places}
    return _request_offsets(admin, specs, IsolationLevel.READ_COMMITTED, f"can't ask for {whose} begins", seconds)


def readable_ends(
    admin: AdminClient, places: Iterable[Place], whose: str, seconds: float = _SECONDS
) -> dict[Place, int]:
    """Return where read_committed consumers stop in each partition: at its last stable offset, or at its first offset.

    If records of an open transaction were deleted, the last stable offset lies before the first offset, as if the
    partition had become shorter. Arguments and errors as of `partition_ends`.
    """
    places = list(places)
    stable = partition_ends(admin, places, IsolationLevel.READ_COMMITTED, whose, seconds)
    begins = partition_begins(admin, places, whose, seconds)
    return {place: max(end, begins[place]) for place, end in stable.items()}


def offsets_at(consumer: Consumer, times: Mapping[Place, int], seconds: float = _SECONDS) -> dict[Place, int | None]:
    """Return the first offset at or after a time (ms) in each partition; None: the partition has no such record.

    Args:
        consumer: Asks the broker. It needs no group and no assignment.
        times: The time for each partition.
        seconds: For each question.

    Raises:
        KafkaException: The broker can't be reached, or has no answer for a partition.
    """
    partitions = [TopicPartition(*place, ms) for place, ms in times.items()]
    # A client keeps the leaders that it knew. The refused request makes it look them up, so the second one finds them.
    answers = consumer.offsets_for_times(partitions, seconds)
    if any(answer.error is not None and answer.error.code() in _STALE for answer in answers):
        answers = consumer.offsets_for_times(partitions, seconds)
    for answer in answers:
        if answer.error is not None:
            # Its offset is negative, as if the partition had no record at or after the time.
            raise KafkaException(answer.error)
    return {(answer.topic, answer.partition): answer.offset if answer.offset >= 0 else None for answer in answers}


def watermarks(consumer: Consumer, place: TopicPartition, seconds: float = _SECONDS) -> tuple[int, int]:
    """Return the first offset and the end of a partition, with one retry if the leaders have changed.

    Raises:
        KafkaException: the broker can't be reached, or refuses.
    """
    try:
        return _watermarks(consumer, place, seconds)
    except KafkaException as error:
        if error.args[0].code() not in _STALE:
            raise
        # It makes the client look up the leaders.
        consumer.list_topics(place.topic, seconds)
        return _watermarks(consumer, place, seconds)


def _watermarks(consumer: Consumer, place: TopicPartition, seconds: float) -> tuple[int, int]:
    # If records of an open transaction were deleted, the last stable offset lies before the first offset. The client
    # returns the smaller of the two as the first offset. A reader that began there would find its records missing.
    [first] = consumer.offsets_for_times([TopicPartition(place.topic, place.partition, OFFSET_BEGINNING)], seconds)
    if first.error is not None:
        raise KafkaException(first.error)
    _, high = consumer.get_watermark_offsets(place, seconds)
    return first.offset, max(first.offset, high)


def _request_offsets(
    admin: AdminClient, asked: dict[TopicPartition, OffsetSpec], isolation: IsolationLevel, doing: str, seconds: float
) -> dict[Place, int]:
    try:
        try:
            return _answers(admin, asked, isolation, seconds)
        except KafkaException as error:
            if error.args[0].code() not in _STALE:
                raise
            # An admin client keeps the leaders it knew before a broker was started again, until it is made to look.
            admin.list_topics(timeout=seconds)
            return _answers(admin, asked, isolation, seconds)
    except KafkaException as error:
        raise failure_of(error.args[0], doing) from error
    except TimeoutError as error:
        raise Unavailable(f"{doing}: no answer within {seconds:.0f} s") from error


def _answers(
    admin: AdminClient, asked: dict[TopicPartition, OffsetSpec], isolation: IsolationLevel, seconds: float
) -> dict[Place, int]:
    futures = admin.list_offsets(asked, isolation_level=isolation, request_timeout=seconds)
    offsets = {(place.topic, place.partition): future.result(seconds).offset for place, future in futures.items()}
    # An answer without an offset must not be taken for an empty partition: a merge would begin without its records.
    if min(offsets.values(), default=0) < 0:
        raise KafkaException(KafkaError(KafkaError.OFFSET_NOT_AVAILABLE))
    return offsets
