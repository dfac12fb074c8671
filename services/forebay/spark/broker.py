"""Broker requests of the format `forebay`: topics, partitions, first and last offsets, offsets by time."""

from __future__ import annotations

import re
from collections.abc import Collection

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from forebay.kafka.errors import KafkaUnavailable, from_kafka
from forebay.kafka.partition_ends import offsets_at, partition_begins, readable_ends
from forebay.kafka.settings import KafkaSettings
from forebay.spark.errors import OptionError
from forebay.spark.ranges import EARLIEST, LATEST, Positions, check_offsets
from forebay.spark.source_options import Bound, Place, SourceOptions, Timestamp
from forebay.utils.spelling import did_you_mean

_SECONDS = 20.0


class Broker:
    """Client that looks up the partitions and offsets of the topics of one read.

    Args:
        options: Options of the read.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._settings: KafkaSettings = options.settings
        self._admin = AdminClient(self._settings.admin())

    def topics(self) -> tuple[str, ...]:
        """Return the names of the topics that are read.

        Raises:
            OptionError: There is no such topic.
            Unavailable: The broker can't be reached, or a topic is being created.
        """
        return tuple(sorted({topic for topic, _ in self.partitions()}))

    def partitions(self) -> list[tuple[str, int]]:
        """Return all partitions of the topics. Errors are those of `topics`."""
        known = self.known_topics()
        if self._options.pattern:
            # Skip the internal topics in which brokers store groups and transactions, as Kafka's consumers do.
            matched = [n for n in known if not n.startswith("__") and re.fullmatch(self._options.pattern, n)]
            # A topic that is being created has no partitions yet. It must not end a stream that reads other topics.
            names = [name for name in matched if known[name]] or matched
            if not names:
                raise OptionError(
                    f"no topic of {self._settings.bootstrap_servers} matches subscribePattern "
                    f"{self._options.pattern}: the pattern must match whole names"
                )
        else:
            names = list(self._options.topics)
        for name in names:
            if name not in known:
                raise OptionError(f"{self._settings.bootstrap_servers} has no topic {name}{did_you_mean(name, known)}")
            if not known[name]:
                raise KafkaUnavailable(f"{self._settings.bootstrap_servers} does not know the partitions of {name} yet")
        return sorted((name, partition) for name in names for partition in known[name])

    def known_topics(self) -> dict[str, tuple[int, ...]]:
        """Return the partitions of every topic of the cluster. Raises Unavailable if the broker can't be reached."""
        try:
            topics = self._admin.list_topics(timeout=_SECONDS).topics
        except KafkaException as error:
            raise from_kafka(error, f"can't list the topics of {self._settings.bootstrap_servers}") from error
        return {name: tuple(topic.partitions) for name, topic in topics.items()}

    def find_deleted(self, places: Collection[tuple[str, int]]) -> list[tuple[str, int]]:
        """Return those of the partitions that do not exist.

        Topics are described one by one, because the list of all topics may temporarily lack some of them.

        Raises:
            Unavailable: The broker can't be reached.
        """
        known: dict[str, Collection[int]] = {}
        asked = TopicCollection(sorted({topic for topic, _ in places}))
        for topic, future in self._admin.describe_topics(asked, request_timeout=_SECONDS).items():
            try:
                # A description without partitions means that the topic exists, but that the broker does not know its
                # partitions yet. No partition may be reported as deleted then.
                known[topic] = {item.id for item in future.result(_SECONDS).partitions} or range(1 << 31)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise from_kafka(
                        error, f"can't describe the topic {topic} at {self._settings.bootstrap_servers}"
                    ) from error
                known[topic] = ()
            except TimeoutError as error:
                message = (
                    f"{self._settings.bootstrap_servers} does not say within {_SECONDS:.0f} s whether it has {topic}"
                )
                raise KafkaUnavailable(message) from error
        return sorted((topic, partition) for topic, partition in places if partition not in known[topic])

    def begins(self) -> Positions:
        """Return the first offset of each partition."""
        return partition_begins(self._admin, self.partitions(), "the topics'")

    def ends(self) -> Positions:
        """Return the last stable offset of each partition, which is the end for read_committed consumers."""
        return readable_ends(self._admin, self.partitions(), "the topics'")

    def positions(self, place: Place) -> Positions:
        """Return the offset in each partition that an option specifies.

        Raises:
            OptionError: Offsets are specified for partitions that don't exist, not for all partitions, or after the
                end.
        """
        match place:
            case Bound.EARLIEST:
                return self.begins()
            case Bound.LATEST:
                return self.ends()
            case Timestamp(ms):
                return self._at(ms)
        begins, ends = self.begins(), self.ends()
        given = {(topic, number): offset for topic, offsets in place.items() for number, offset in offsets.items()}
        if given.keys() != ends.keys():
            missing = ", ".join(f"{topic}-{number}" for topic, number in sorted(ends.keys() - given.keys()))
            unknown = ", ".join(f"{topic}-{number}" for topic, number in sorted(given.keys() - ends.keys()))
            raise OptionError(
                "specify an offset for every partition: "
                + "; ".join(
                    text for text in (missing and f"add {missing}", unknown and f"{unknown} don't exist") if text
                )
            )
        check_offsets(given, ends)
        named = {EARLIEST: begins, LATEST: ends}
        return {place: named[offset][place] if offset in named else offset for place, offset in given.items()}

    def _at(self, ms: int) -> Positions:
        if ms < 0:
            # No record has a negative timestamp, and Kafka interprets negative numbers as special values. For example,
            # -1 is the latest offset.
            return self.begins()
        ends = self.ends()
        consumer = Consumer(self._settings.consumer())
        try:
            offsets = offsets_at(consumer, dict.fromkeys(ends, ms), _SECONDS)
        except KafkaException as error:
            raise from_kafka(error, "can't look up offsets by time") from error
        finally:
            consumer.close()
        return {place: end if (offset := offsets[place]) is None else min(offset, end) for place, end in ends.items()}
