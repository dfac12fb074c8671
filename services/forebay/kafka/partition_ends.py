"""The first and end offsets of partitions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeVar

from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from forebay.codec import Unavailable
from forebay.kafka.errors import failure_of

_SECONDS = 10.0
_LOOKUP_SECONDS = 2.0
"""For the leaders after a request without an answer: if all brokers are away, the caller waits so much longer."""
_PATIENCE_SECONDS = 3.0
"""For partitions whose leader is not ready: a broker announces a new partition before it leads it."""
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 0.4
_NOT_READY = (
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
)
"""Errors of brokers that no longer lead a partition, or don't lead it yet."""
_ABSENT = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._NOENT)
"""Errors of partitions that don't exist, or that the client or the broker has not heard of."""

T = TypeVar("T")

Place = tuple[str, int]
"""Topic and partition."""


def partition_ends(
    admin: AdminClient, places: Iterable[Place], isolation: IsolationLevel, whose: str, seconds: float = _SECONDS
) -> dict[Place, int]:
    """Return the end of each partition: the high watermark, or for READ_COMMITTED the last stable offset.

    Args:
        whose: description of the topics, for errors.
        seconds: timeout of each request.

    Raises:
        Unavailable: the broker can't be reached, or refuses.
    """
    specs = {TopicPartition(*place): OffsetSpec.latest() for place in places}
    return _request_offsets(admin, specs, isolation, f"can't look up {whose} last offsets", seconds)


def partition_begins(
    admin: AdminClient, places: Iterable[Place], whose: str, seconds: float = _SECONDS
) -> dict[Place, int]:
    """Return the first offset of each partition. Arguments and errors as of `partition_ends`."""
    specs = {TopicPartition(*place): OffsetSpec.earliest() for place in places}
    return _request_offsets(
        admin, specs, IsolationLevel.READ_COMMITTED, f"can't look up {whose} first offsets", seconds
    )


def readable_ends(
    admin: AdminClient, places: Iterable[Place], whose: str, seconds: float = _SECONDS
) -> dict[Place, int]:
    """Return the offset at which read_committed consumers stop in each partition: its last stable or first offset.

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
        consumer: Sends the requests. It needs no group and no assignment.
        times: The time for each partition.
        seconds: Timeout of each request.

    Raises:
        KafkaException: The broker can't be reached, or has no answer for a partition.
    """
    partitions = [TopicPartition(*place, ms) for place, ms in times.items()]

    def request() -> list[TopicPartition]:
        answers: list[TopicPartition] = consumer.offsets_for_times(partitions, seconds)
        for answer in answers:
            if answer.error is not None:
                # Its offset is negative, as if the partition had no record at or after the time.
                raise KafkaException(answer.error)
        return answers

    answers = _with_current_leaders(request, partial(_refresh, consumer, {topic for topic, _ in times}), seconds)
    return {(answer.topic, answer.partition): answer.offset if answer.offset >= 0 else None for answer in answers}


def watermarks(consumer: Consumer, place: TopicPartition, seconds: float = _SECONDS) -> tuple[int, int]:
    """Return the first offset and the end of a partition.

    Raises:
        KafkaException: the broker can't be reached, or refuses.
    """
    return _with_current_leaders(
        partial(_watermarks, consumer, place, seconds), partial(_refresh, consumer, {place.topic}), seconds
    )


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
        return _with_current_leaders(
            partial(_answers, admin, asked, isolation, seconds), lambda limit: admin.list_topics(timeout=limit), seconds
        )
    except KafkaException as error:
        raise failure_of(error.args[0], doing) from error
    except TimeoutError as error:
        raise Unavailable(f"{doing}: no answer within {seconds:.0f} s") from error


def _with_current_leaders(request: Callable[[], T], look_up: Callable[[float], object], seconds: float) -> T:
    """Return what a request returns, and repeat it for a while if it was sent to a broker that is not the leader.

    Args:
        look_up: has the client look up the partitions' leaders. A client caches them, even after a broker's restart.
            The argument is a timeout in seconds.
    """
    deadline = time.monotonic() + min(seconds, _PATIENCE_SECONDS)
    pause = 0.0
    while True:
        try:
            return request()
        except TimeoutError:
            _look_up_after_silence(look_up)
            raise
        except KafkaException as error:
            code = error.args[0].code()
            if code == KafkaError._TIMED_OUT:
                _look_up_after_silence(look_up)
            if pause == 0:
                # The first request is always repeated, even if it took long.
                is_repeated = code in _NOT_READY or code in _ABSENT
            else:
                is_repeated = code in _NOT_READY and time.monotonic() < deadline
            if not is_repeated:
                raise
        time.sleep(pause)
        pause = min(2 * pause or _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        look_up(seconds)


def _look_up_after_silence(look_up: Callable[[float], object]) -> None:
    """Have the client learn the partitions' leaders again, for the next request.

    A broker that has died answers nothing, so no error shows that another one leads. The client would ask the dead one
    until it is back.
    """
    with suppress(KafkaException):
        look_up(_LOOKUP_SECONDS)


def _refresh(consumer: Consumer, topics: Iterable[str], seconds: float) -> None:
    for topic in sorted(topics):
        consumer.list_topics(topic, seconds)


def _answers(
    admin: AdminClient, asked: dict[TopicPartition, OffsetSpec], isolation: IsolationLevel, seconds: float
) -> dict[Place, int]:
    futures = admin.list_offsets(asked, isolation_level=isolation, request_timeout=seconds)
    offsets = {(place.topic, place.partition): future.result(seconds).offset for place, future in futures.items()}
    # An answer without an offset must not be taken for an empty partition: a merge would begin without its records.
    if min(offsets.values(), default=0) < 0:
        raise KafkaException(KafkaError(KafkaError.OFFSET_NOT_AVAILABLE))
    return offsets
