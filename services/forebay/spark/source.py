"""The data source `forebay`, which provides the schema, readers and writers for batch and streaming."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from pyspark.sql import types as spark
from pyspark.sql.datasource import DataSource

from forebay.kafka.registry import SchemaRegistry
from forebay.spark.broker import Broker
from forebay.spark.decoding import Decoding, choose_decoding
from forebay.spark.errors import OptionError
from forebay.spark.metrics import Measures, NoMeasures
from forebay.spark.records import RecordReader
from forebay.spark.side_records import names_side_topic, read_side_options, side_column
from forebay.spark.sink import SinkStreamWriter, SinkWriter, create_stream_writer, create_writer
from forebay.spark.source_options import Mode, SourceOptions, read_source_options
from forebay.spark.store_columns import store_schema
from forebay.spark.store_declaration import StoreName, declared_store
from forebay.spark.store_options import names_store, read_store_options
from forebay.spark.store_reader import StoreReader, check_changelog
from forebay.spark.topic_readers import TopicReader, TopicStreamReader

ERROR_COLUMN = "_error"


class ForebayDataSource(DataSource):
    """Data source for topics with decoded keys and values, an application's failed and late records, and stores.

    The columns of topics are those of Spark's own Kafka source.
    """

    measures: ClassVar[Measures] = NoMeasures()
    """The sums to which tasks add numbers."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "forebay"

    @cached_property
    def _options(self) -> SourceOptions:
        return read_side_options(self.options) if names_side_topic(self.options) else read_source_options(self.options)

    @cached_property
    def _store(self) -> tuple[StoreName, SourceOptions]:
        return read_store_options(self.options)

    @cached_property
    def _decodings(self) -> tuple[Decoding, Decoding]:
        topics = Broker(self._options).topics()
        registry = SchemaRegistry(self._options.settings.registry())
        return (
            choose_decoding(registry, topics, "key", self._options.key),
            choose_decoding(registry, topics, "value", self._options.value),
        )

    def schema(self) -> spark.StructType:
        """Return the columns of the topics or the store that the options name."""
        if names_store(self.options):
            name, options = self._store
            declared = declared_store(name)
            check_changelog(options, name)
            errors = ERROR_COLUMN if options.mode is Mode.COLUMN else ""
            return store_schema(declared.store, declared.key()[0], declared.value().kind, errors)
        key, value = (decoding.column() for decoding in self._decodings)
        schema = (
            spark.StructType()
            .add("key", key.kind)
            .add("value", value.kind)
            .add("topic", spark.StringType(), False)
            .add("partition", spark.IntegerType(), False)
            .add("offset", spark.LongType(), False)
            .add("timestamp", spark.TimestampType(), False)
        )
        if self._options.with_headers:
            header = spark.StructType().add("key", spark.StringType(), False).add("value", spark.BinaryType())
            schema.add("headers", spark.ArrayType(header, False))
        if self._options.side is not None:
            schema.add(*side_column(self._options.side))
        return schema.add(ERROR_COLUMN, spark.StringType()) if self._options.mode is Mode.COLUMN else schema

    def reader(self, schema: spark.StructType) -> TopicReader | StoreReader:
        """Return the reader of a batch. Raises OptionError if the user specified a schema with other columns."""
        self._check_columns(schema)
        if names_store(self.options):
            name, options = self._store
            return StoreReader(options, name, schema, self.measures)
        if self._options.max_offsets:
            raise OptionError("maxOffsetsPerTrigger is for spark.readStream: leave it out, or set endingOffsets")
        return TopicReader(self._options, self._records(schema))

    def streamReader(self, schema: spark.StructType) -> TopicStreamReader:
        """Return the reader of a stream.

        Raises:
            OptionError: The options name a store or an end, or the user specified a schema with other columns.
        """
        if names_store(self.options):
            _, options = self._store
            raise OptionError(
                "a store can be read by spark.read only: to follow its changes, read the topic that the job writes "
                f'them to, or its changelog with option("subscribe", "{options.topics[0]}") and valueFormat=bytes'
            )
        if self._options.end is not None:
            raise OptionError(
                "a stream has no end: leave endingOffsets and endingTimestamp out, or use spark.read. "
                "trigger(availableNow=True) ends a stream at the latest record"
            )
        self._check_columns(schema)
        return TopicStreamReader(self._options, self._records(schema))

    def writer(self, schema: spark.StructType, overwrite: bool) -> SinkWriter:
        """Return the writer of a DataFrame."""
        return create_writer(self.options, schema, overwrite, self.measures)

    def streamWriter(self, schema: spark.StructType, overwrite: bool) -> SinkStreamWriter:
        """Return the writer of a stream."""
        return create_stream_writer(self.options, schema, overwrite, self.measures)

    def _check_columns(self, schema: spark.StructType) -> None:
        own = self.schema().simpleString()
        if schema.simpleString() != own:
            raise OptionError(
                f"the columns are {own}, from the registered schemas: leave .schema(...) out, and choose columns with "
                'select. Another version of a schema is read with option("valueSchemaId", ...)'
            )

    def _records(self, schema: Any) -> RecordReader:
        key, value = self._decodings
        return RecordReader(self._options, key, value, schema, self.measures)
