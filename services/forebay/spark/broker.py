"""What the format asks the broker: topics, partitions, ends, offsets by time."""

from __future__ import annotations

import re

from confluent_kafka import Consumer, IsolationLevel, KafkaException
from confluent_kafka.admin import AdminClient

from forebay.kafka.ends import offsets_at, partition_begins, partition_ends
from forebay.kafka.errors import KafkaUnavailable, from_kafka
from forebay.kafka.settings import KafkaSettings
from forebay.spark.errors import OptionError
from forebay.spark.ranges import EARLIEST, LATEST, Positions, check_offsets
from forebay.spark.source_options import Bound, Place, SourceOptions, Timestamp
from forebay.spelling import did_you_mean

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
            names = [name for name in known if not name.startswith("__") and re.fullmatch(self._options.pattern, name)]
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

    def begins(self) -> Positions:
        """Return the first offset of each partition."""
        return partition_begins(self._admin, self.partitions(), "the topics'")

    def ends(self) -> Positions:
        """Return the last stable offset of each partition: what read_committed consumers can read up to."""
        return partition_ends(self._admin, self.partitions(), IsolationLevel.READ_COMMITTED, "the topics'")

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
                "offsets must be given for every partition: "
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
