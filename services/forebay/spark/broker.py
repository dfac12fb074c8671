"""What the format asks the broker: topics, partitions, ends, offsets by time."""

from __future__ import annotations

import re
from collections.abc import Collection

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from forebay.kafka.ends import offsets_at, partition_begins, readable_ends
from forebay.kafka.errors import KafkaUnavailable, from_kafka
from forebay.kafka.settings import KafkaSettings
from forebay.spark.errors import OptionError
from forebay.spark.ranges import EARLIEST, LATEST, Positions, check_offsets
from forebay.spark.source_options import Bound, Place, SourceOptions, Timestamp
from forebay.utils.spelling import did_you_mean

_SECONDS = 20.0


class Broker:
    """Answers where the topics of one read begin and end.

    Args:
        options: Those of the read.
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
            # As Kafka's own consumers do, leave out the topics in which brokers keep groups and transactions.
            matched = [n for n in known if not n.startswith("__") and re.fullmatch(self._options.pattern, n)]
            # A topic that is being created has no partitions yet. It must not end a stream that reads others.
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
            raise from_kafka(error, f"can't ask {self._settings.bootstrap_servers} for its topics") from error
        return {name: tuple(topic.partitions) for name, topic in topics.items()}

    def find_deleted(self, places: Collection[tuple[str, int]]) -> list[tuple[str, int]]:
        """Return those partitions that do not exist. Their topics are described: a list may lack some for a moment.

        Raises:
            Unavailable: The broker can't be reached.
        """
        known: dict[str, Collection[int]] = {}
        asked = TopicCollection(sorted({topic for topic, _ in places}))
        for topic, future in self._admin.describe_topics(asked, request_timeout=_SECONDS).items():
            try:
                # Without partitions, the topic is there, and the brokers do not know more yet.
                known[topic] = {item.id for item in future.result(_SECONDS).partitions} or range(1 << 31)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise from_kafka(error, f"can't ask {self._settings.bootstrap_servers} for {topic}") from error
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
        """Return the end of what read_committed consumers can read in each partition."""
        return readable_ends(self._admin, self.partitions(), "the topics'")

    def positions(self, place: Place) -> Positions:
        """Return the offsets of a place in each partition.

        Raises:
            OptionError: Offsets are given for partitions that don't exist, or not for all, or behind the end.
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
            # Records have no such times, and Kafka takes negative numbers for names: -1 is the latest offset.
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
