"""The batch reader of a store's entries, with one Spark task per partition of the store's changelog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from forebay.runtime.changelog.topics import changelog_topic
from forebay.spark.broker import Broker
from forebay.spark.errors import OffsetsDeleted, OptionError
from forebay.spark.metrics import Measures
from forebay.spark.ranges import Range, ranges_between
from forebay.spark.records import BATCH_ROWS, Row, committed_messages, record_batches
from forebay.spark.source_options import SourceOptions
from forebay.spark.store_declaration import StoreName, declared_store
from forebay.spark.store_entries import Record, StoreEntries, compact
from forebay.utils.spelling import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa


def check_changelog(options: SourceOptions, name: StoreName) -> None:
    """Check that the changelog of a store exists.

    Raises:
        OptionError: There is no such application, or it has no such store.
        Unavailable: The broker can't be reached.
    """
    known = Broker(options).known_topics()
    (topic,) = options.topics
    if topic in known:
        return
    suffix = changelog_topic("", name.store)
    others = sorted(other.removesuffix(suffix) for other in known if other.endswith(suffix) and other != suffix)
    choice = f": applications with this store are {', '.join(others)}" if others else ""
    raise OptionError(
        f"{options.settings.bootstrap_servers} has no topic {topic}, the changelog of the store {name.store} of the "
        f"application {name.application}{did_you_mean(name.application, others) or choice}. It exists once the "
        "application's topics are created"
    )


class StoreReader(DataSourceReader):
    """Reader of a store's rows as of the last commit of each task. Executors need the package of the job's service.

    Args:
        options: Options of the read. Their topic is the store's changelog.
        name: The store.
        schema: Columns of the DataFrame.
        measures: The sums to which the numbers of changelog records and bytes are added.
    """

    def __init__(self, options: SourceOptions, name: StoreName, schema: StructType, measures: Measures) -> None:
        self._options, self._name, self._schema, self._measures = options, name, schema, measures

    def partitions(self) -> Sequence[InputPartition]:
        """Return the offset range of each Spark task: a changelog partition up to the last committed record."""
        broker = Broker(self._options)
        ranges = ranges_between(broker.begins(), broker.ends())
        if declared_store(self._name).store.is_global:
            # Each task of the job has all rows of a global table, so every partition of the changelog contains the
            # same rows.
            ranges = [item for item in ranges if item.partition == 0]
        return [InputPartition(item) for item in ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the entries of one partition. If there are no ranges, Spark calls this once with the value None."""
        item: Range | None = partition.value
        if item is None:
            return
        declared = declared_store(self._name)
        entries = StoreEntries(declared, declared.codec(self._options.settings), self._options.mode)
        arrow = to_arrow_schema(self._schema, timezone="UTC")
        rows: list[Row] = []
        for row in entries.read(compact(self._records(item)), item.partition):
            rows.append(row)
            if len(rows) >= BATCH_ROWS:
                yield from record_batches(rows, arrow, entries.without_misfit)
                rows = []
        yield from record_batches(rows, arrow, entries.without_misfit)

    def _records(self, item: Range) -> Iterator[Record]:
        try:
            for message in committed_messages(self._options.settings, item, self._measures):
                yield message.key() or b"", message.value(), message.timestamp()[1]
        except OffsetsDeleted as error:
            raise OffsetsDeleted(
                f"{item.topic}-{item.partition} changed while it was being read (retention, `forebay rescale` or "
                "`forebay reset`): read the store again"
            ) from error
