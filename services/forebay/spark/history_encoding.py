"""Encoding of a history's rows as raw records, with the keys, values and partitions that they have in the topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from forebay.codec import EncodeError
from forebay.formats import key_writer, no_contracts
from forebay.job import Job, load_job
from forebay.kafka.registry import shared_registry
from forebay.partitioner import Partitioner
from forebay.runtime.launch.pandas_later import pandas_unasked
from forebay.runtime.spark.sealed import SealedSpec
from forebay.runtime.spec import JobSpec
from forebay.spark.errors import OptionError
from forebay.spark.history import OWN, RAW, check_columns, with_milliseconds
from forebay.spark.history_json import check_json_columns, json_encoder, reads_json
from forebay.spark.history_keys import sql_key
from forebay.spark.sink_encoding import Encode, Encoding, Request, choose_encoding
from forebay.spark.sink_values import ColumnMismatch, ValueMismatch, python_rows

if TYPE_CHECKING:
    from pyarrow import RecordBatch

Write = Callable[[Mapping[str, Any]], bytes | None]


@dataclass(frozen=True, slots=True)
class HistoryEncoding:
    """Encoder of the rows of one input's history as records.

    Args:
        name: Name of the input, as the job declares it.
        topic: Name of the topic at the broker.
        partitions: Number of the topic's partitions.
        key: Encoding of the key: "" if there is no key, "bytes" to copy it, "format" to encode it in the format that
            the job declares.
        value: Encoding of the value's columns by a registered schema. If it is None, `fields` are written as JSON. If
            both are None, the column `value` is copied or encoded in the format that the job declares.
        fields: The columns of the value that are written as JSON.
        is_column: Whether the value is the column `value`. If not, it consists of all columns that have no other
            meaning.
    """

    name: str
    topic: str
    partitions: int
    key: str
    value: Encoding | None
    fields: spark.StructType | None
    is_column: bool

    def encode(self, spec: JobSpec, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        """Yield batches of raw records (`RAW`).

        Raises:
            ValueMismatch: A row can't be encoded. The message identifies the row.
        """
        import pyarrow as arrow  # noqa: PLC0415 (the driver needs it not)

        job = load_job(spec.entry.job)
        write_key, write_value = self._key_writer(job), self._value_writer(job)
        partition_of = Partitioner(self.partitions)
        header = arrow.struct([("key", arrow.string()), ("value", arrow.binary())])
        numbers = [("timestamp", arrow.int64()), ("partition", arrow.int32()), ("offset", arrow.int64())]
        texts = [("key", arrow.binary()), ("value", arrow.binary()), ("headers", arrow.list_(header))]
        schema = arrow.schema([*texts, *numbers])
        for batch in batches:
            records = []
            for row in python_rows(batch, f"history of {self.topic}"):
                try:
                    key, value = write_key(row), write_value(row)
                except (ValueMismatch, EncodeError, TypeError, ValueError) as error:
                    shown = {name: row[name] for name in ("key", "timestamp") if name in row}
                    raise ValueMismatch(f"history of {self.topic}, the row with {shown}: {error}") from error
                if row["_ms"] is None:
                    raise ValueMismatch(f"history of {self.topic}: the row with the key {key!r} has no timestamp")
                partition = row.get("partition")
                records.append(
                    {
                        "key": key,
                        "value": value,
                        "headers": row.get("headers"),
                        "timestamp": row["_ms"],
                        "partition": partition_of(key or b"") if partition is None else partition,
                        "offset": row.get("offset"),
                    }
                )
            yield arrow.RecordBatch.from_pylist(records, schema=schema)

    def _key_writer(self, job: Job) -> Write:
        if not self.key:
            return lambda row: None
        if self.key == "bytes":
            return lambda row: row["key"]
        kind = job.read_format_of(self.name).key
        write = key_writer(kind)

        def encode(row: Mapping[str, Any]) -> bytes | None:
            key = row["key"]
            if key is None:
                return None
            if kind.type is tuple:
                key = sql_key(getattr(kind.wire, "columns", ()), key)
            text = kind.row(key) if kind.row is not None else key
            if not kind.is_text:
                return write(text)
            if not isinstance(text, str):
                raise ValueMismatch(f"the key {key!r} is {type(key).__name__}, the topic's keys are text: CAST it")
            return text.encode()

        return encode

    def _value_writer(self, job: Job) -> Write:
        encode: Encode | None = None
        if self.value is not None:
            encode = self.value.encoder()
        elif self.fields is not None:
            encode = json_encoder(self.fields)
        if encode is not None:
            if not self.is_column:
                return encode
            return lambda row: None if row["value"] is None else encode(row["value"])
        kind = job.read_format_of(self.name).value
        if kind is None:
            return lambda row: row["value"]
        write = kind.codec(no_contracts).encode
        return lambda row: (
            row["value"] if row["value"] is None or isinstance(row["value"], bytes) else write(row["value"])
        )


def raw_history(spec: JobSpec, name: str, topic: str, frame: DataFrame, partitions: int) -> DataFrame:
    """Return an input's history with the columns `RAW`.

    Args:
        spec: The spec of the job.
        name: Name of the input, as the job declares it.
        topic: Name of the topic at the broker.
        frame: The history, with the column `timestamp`, the column `value` or a column for each field of the value, and
            optionally `key`, `partition`, `offset` and `headers`.
        partitions: Number of the topic's partitions.

    Raises:
        OptionError: A column is missing or of the wrong type.
        RegistryUnavailable: The schema registry can't be reached.
    """
    row = frame.schema
    check_columns(topic, row)
    names, stamped = row.fieldNames(), with_milliseconds(frame)
    has_raw_value = "value" in names and isinstance(row["value"].dataType, spark.BinaryType)
    if (
        has_raw_value
        and "partition" in names
        and ("key" not in names or isinstance(row["key"].dataType, spark.BinaryType))
    ):
        return stamped.select(
            F.col("key").cast("binary") if "key" in names else F.lit(None).cast("binary").alias("key"),
            "value",
            _column(names, "headers", "array<struct<key: string, value: binary>>"),
            F.col("_ms").alias("timestamp"),
            F.col("partition").cast("int"),
            _column(names, "offset", "bigint"),
        )
    encoding = _choose(spec, name, topic, row, partitions)
    sealed = SealedSpec(spec)
    with pandas_unasked():
        return stamped.mapInArrow(lambda batches: encoding.encode(sealed.open(), batches), RAW)


def _column(names: list[str], name: str, kind: str) -> Any:
    return (F.col(name) if name in names else F.lit(None)).cast(kind).alias(name)


def _choose(spec: JobSpec, name: str, topic: str, row: spark.StructType, partitions: int) -> HistoryEncoding:
    names = row.fieldNames()
    key = ""
    if "key" in names:
        key = "bytes" if isinstance(row["key"].dataType, spark.BinaryType) else "format"
    kind = row["value"].dataType if "value" in names else None
    value = fields = None
    if kind is None or isinstance(kind, spark.StructType):
        declared = _json_columns(spec, name)
        fields = (
            kind
            if kind is not None
            else spark.StructType([f for f in row.fields if f.name not in OWN or f.name.casefold() in declared])
        )
        spare = spark.StructType([field for field in row.fields if field.name in OWN] if kind is None else [])
        try:
            value = _by_schema(spec, name, topic, fields, spare)
            if value is None:
                if declared:
                    check_json_columns(fields, declared)
                json_encoder(fields)
        except ColumnMismatch as error:
            raise OptionError(f"history of {topic}: {error}") from error
    return HistoryEncoding(name, topic, partitions, key, value, fields, kind is not None)


def _json_columns(spec: JobSpec, name: str) -> Mapping[str, str]:
    """Return the columns that SQL declares for JSON values, by lower-case name, or nothing for other values."""
    kind = load_job(spec.entry.job).read_format_of(name).value
    if kind is None or not reads_json(kind):
        return {}
    if getattr(kind.wire, "variant", ""):
        raise OptionError(
            f"history of {name}: its values have no names in JSON: give them in one column `value`, as text"
        )
    return {column.name.casefold(): column.name for column in getattr(kind.wire, "columns", ())}


def _by_schema(
    spec: JobSpec, name: str, topic: str, fields: spark.StructType, spare: spark.StructType
) -> Encoding | None:
    """Return the encoding of columns by the topic's schema, or None if the job reads JSON without a schema."""
    kind = load_job(spec.entry.job).read_format_of(name).value
    if kind is not None and reads_json(kind):
        return None
    registry, schema_id = shared_registry(spec.kafka.registry()), spec.schema_ids.get(topic, 0)
    if not schema_id and registry.newest(f"{topic}-value") is None:
        raise ColumnMismatch(
            f"the registry has no schema for the subject {topic}-value, by which columns would be written: register "
            f"it, or put the records' values into one column `value`"
        )
    return choose_encoding(Request(part="value", topic=topic, schema_id=schema_id), fields, spare, registry)
