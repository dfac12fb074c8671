"""Markers, which record the batch that a partition has committed last, as an offset of a consumer group.

A marker is committed in the same transaction as the batch's records, so either both are visible or neither. Each Spark
partition of a query has its own group, `<identity>-<partition>`. The marker is the group's offset for partition 0 of
the topic. The offset is the number of the next batch. The metadata contain the run of the query that committed the
batch, and a digest of the batch's records.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from forebay.kafka.errors import KafkaUnavailable, from_kafka
from forebay.kafka.settings import KafkaSettings
from forebay.spark.sink_records import Digest

_SECONDS = 30.0
_RETRY_SECONDS = 0.2
_UNDECIDED_SECONDS = 15.0
"""Longest time that a running task needs from sending its marker to the end of its transaction."""
_SETTLE_SECONDS = 90.0
"""Longest time in which a transaction coordinator completes a commit. The marker is undecided until then."""


@dataclass(frozen=True, slots=True)
class Marker:
    """The latest batch that a partition has committed.

    Args:
        batch: Number of the batch.
        run: The run of the query that committed the batch, or the latest run that verified that it writes the same.
        rows: Number of records.
        digest: Hash of the records (`Digest.text`).
        schema_ids: Schema ids of keys and values.
    """

    batch: int
    run: str
    rows: int
    digest: str
    schema_ids: tuple[int, int]

    def holds(self, digest: Digest) -> bool:
        """Return whether the batch contained the records that the digest describes."""
        return (self.rows, self.digest) == (digest.rows, digest.text)

    def offset(self, topic: str) -> TopicPartition:
        """Return the offset and the metadata that are committed to the marker's group."""
        content = {name: value for name, value in asdict(self).items() if name != "batch"}
        return TopicPartition(topic, 0, self.batch + 1, json.dumps(content))


@dataclass(frozen=True, slots=True)
class Markers:
    """The markers of one query or batch write.

    Args:
        settings: Connection to the broker.
        topic: Topic that the sink writes.
        identity: `<prefix>-<query>`. A partition's transactional id and group are `<identity>-<partition>`.
    """

    settings: KafkaSettings
    topic: str
    identity: str

    def name(self, partition: int) -> str:
        """Return the name of a Spark partition's transactional id, which is also the name of its marker group."""
        return f"{self.identity}-{partition}"

    def consumer(self, partition: int) -> Consumer:
        """Return a consumer with which a marker group's offset is read and committed. It never subscribes."""
        return Consumer(self.settings.consumer(**{"group.id": self.name(partition)}))

    def read(self, consumer: Consumer, seconds: float = _SETTLE_SECONDS) -> Marker | None:
        """Wait until a partition's marker is decided, and return it, or None if there is no marker.

        Errors are those of `from_kafka`.
        """
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self._read(consumer, deadline - time.monotonic())
            except KafkaUnavailable:
                # For example, the group coordinator may still be loading. The client does not wait for this.
                if time.monotonic() + _RETRY_SECONDS > deadline:
                    raise
                time.sleep(_RETRY_SECONDS)

    def _read(self, consumer: Consumer, seconds: float) -> Marker | None:
        try:
            # The consumer has the isolation level read_committed. It therefore requests stable offsets, and the call
            # waits while a transaction with this offset is open.
            (position,) = consumer.committed([TopicPartition(self.topic, 0)], seconds)
        except KafkaException as error:
            raise from_kafka(error, f"can't read which batch {self.identity} has committed") from error
        if position.error is not None:
            raise from_kafka(KafkaException(position.error), f"can't read the marker of {self.identity}")
        return _marker(position)

    def read_all(self, settle: Callable[[int], object] | None = None) -> Mapping[int, Marker]:
        """Return the markers of all partitions that have committed a marker. Errors are those of `from_kafka`.

        Args:
            settle: Ends the transaction of a partition whose marker remains undecided because its task was killed.
        """
        admin = AdminClient(self.settings.admin())
        try:
            listing = admin.list_consumer_groups(request_timeout=_SECONDS).result()
        except KafkaException as error:
            raise from_kafka(error, "can't list the groups of the sink's markers") from error
        start = f"{self.identity}-"
        names = [group.group_id for group in listing.valid if group.group_id.startswith(start)]
        numbers = sorted(int(name[len(start) :]) for name in names if name[len(start) :].isdecimal())
        markers: dict[int, Marker] = {}
        for number in numbers:
            consumer = self.consumer(number)
            try:
                marker = self._read_or_settle(consumer, number, settle)
            finally:
                consumer.close()
            if marker is not None:
                markers[number] = marker
        return markers

    def _read_or_settle(
        self, consumer: Consumer, partition: int, settle: Callable[[int], object] | None
    ) -> Marker | None:
        if settle is None:
            return self.read(consumer)
        try:
            return self.read(consumer, _UNDECIDED_SECONDS)
        except KafkaUnavailable:
            # A killed task left its transaction open. A new producer of its partition aborts it, which decides the
            # marker.
            settle(partition)
            return self.read(consumer)


def _marker(position: TopicPartition) -> Marker | None:
    if position.offset < 0:
        return None
    content = json.loads(position.metadata or "{}")
    ids = content.get("schema_ids", (0, 0))
    return Marker(
        position.offset - 1,
        content.get("run", ""),
        int(content.get("rows", -1)),
        content.get("digest", ""),
        (int(ids[0]), int(ids[1])),
    )
