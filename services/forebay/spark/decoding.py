"""The decoding of keys and values. The driver chooses it once, and the tasks use it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import types as spark

from forebay.formats import BOOLEAN, BYTES, DOUBLE, FLOAT, INT, LONG, TEXT, Format, no_contracts
from forebay.kafka.registry import SchemaRegistry, shared_registry
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.subject_schemas import SubjectSchemas
from forebay.serde.framing import HEADER_BYTES, schema_id_of
from forebay.serde.generic import GenericDecoder
from forebay.serde.subjects import AVRO, JSON_SCHEMA, PROTOBUF
from forebay.spark.avro_columns import avro_column
from forebay.spark.columns import MOST_LEVELS, Column, has_too_many_levels
from forebay.spark.errors import OptionError, SchemaNotSupported
from forebay.spark.json_columns import json_column, json_reader
from forebay.spark.protobuf_columns import ProtobufDecoder, protobuf_column
from forebay.spark.source_options import PartOptions

_KINDS: Mapping[str, str] = {AVRO: "avro", JSON_SCHEMA: "json_schema", PROTOBUF: "protobuf"}
_REMEDY = "name its subject with the option valueSubject or keySubject"
PRIMITIVES: Mapping[str, tuple[Format[Any], spark.DataType]] = {
    "string": (TEXT, spark.StringType()),
    "bytes": (BYTES, spark.BinaryType()),
    "int": (INT, spark.IntegerType()),
    "long": (LONG, spark.LongType()),
    "float": (FLOAT, spark.FloatType()),
    "double": (DOUBLE, spark.DoubleType()),
    "boolean": (BOOLEAN, spark.BooleanType()),
}


@dataclass(frozen=True, slots=True)
class Decoding:
    """The decoding of the keys or the values of records. It can be pickled.

    Args:
        format: The format, which is not `auto`.
        text: The schema with which data is read, if the format has schemas.
        subject: The subject under which the schema is registered.
        message: Name of the Protobuf message.
        schema_id: Id of `text`.
        writers: `key` or `value` if the writers' schemas are registered under `<topic>-<writers>`. If it is empty, they
            are registered under `subject`.
    """

    format: str
    text: str = ""
    subject: str = ""
    message: str = ""
    schema_id: int = 0
    writers: str = ""

    def column(self) -> Column:
        """Return the column of the DataFrame. Raises SchemaNotSupported."""
        try:
            column = self._column()
        except RecursionError:
            column = None
        if column is None or has_too_many_levels(column.kind):
            raise SchemaNotSupported(
                f"the schema of {self.subject} has types within types more than {MOST_LEVELS} levels deep: read it "
                "with valueFormat=bytes (or keyFormat=bytes), and decode what you need"
            )
        return column

    def _column(self) -> Column:
        match self.format:
            case "avro":
                return avro_column(self.text)
            case "json_schema":
                return json_column(self.text)
            case "protobuf":
                return protobuf_column(self.text, self.message)
            case _:
                return Column(PRIMITIVES[self.format][1])

    def reader(self, settings: KafkaSettings, topic: str) -> Callable[[bytes], Any]:
        """Return a function that converts bytes of a topic to values of the column. It raises DecodeError."""
        read = self._read(settings, f"{topic}-{self.writers}" if self.writers else self.subject)
        convert = self.column().convert
        return read if convert is None else lambda data: convert(read(data))

    def _read(self, settings: KafkaSettings, subject: str) -> Callable[[bytes], Any]:
        match self.format:
            case "avro":
                schemas = SubjectSchemas(shared_registry(settings.registry()), subject, _REMEDY)
                return GenericDecoder(schemas, plain=True, reader=json.loads(self.text)).decode
            case "json_schema":
                read_json = json_reader(self.text)
                return lambda data: read_json(_body(data))
            case "protobuf":
                registry = shared_registry(settings.registry())
                own = {self.schema_id: self.text}
                return ProtobufDecoder(
                    self.text,
                    self.message,
                    lambda number: own.get(number) or registry.schema(number).text,
                    lambda number: registry.holds(subject, number),
                ).decode
            case _:
                return PRIMITIVES[self.format][0].codec(no_contracts).decode


def _body(data: bytes) -> bytes:
    schema_id_of(data)
    return data[HEADER_BYTES:]


def choose_decoding(registry: SchemaRegistry, topics: tuple[str, ...], part: str, options: PartOptions) -> Decoding:
    """Return the decoding of the keys or the values of topics.

    Args:
        registry: The registry in which subjects are looked up, if the format has schemas.
        topics: All topics that are read. Unless the options name a schema, the topics must have the same schema.
        part: `key` or `value`.
        options: The options of the key or the value.

    Raises:
        OptionError: There is no schema, or the topics have different schemas. The message says what to write.
        SchemaNotSupported: Spark can't express the schema.
    """
    if options.format in PRIMITIVES:
        return Decoding(options.format)
    subjects = (options.subject,) if options.subject else tuple(f"{topic}-{part}" for topic in topics)
    chosen = {_of_subject(registry, subject, part, options) for subject in subjects}
    texts = {(decoding.format, decoding.text) for decoding in chosen}
    if len(texts) > 1:
        raise OptionError(
            f"the topics {', '.join(topics)} have different schemas of their {part}s: read them one by one, or name "
            f'the schema to read them as, with option("{part}SchemaId", ...)'
        )
    decoding = min(chosen, key=lambda item: item.subject)
    decoding.column()
    return decoding if options.subject else replace(decoding, writers=part)


def _of_subject(registry: SchemaRegistry, subject: str, part: str, options: PartOptions) -> Decoding:
    if options.schema_id:
        schema_id, text = options.schema_id, registry.schema(options.schema_id).text
    else:
        newest = registry.newest(subject)
        if newest is None:
            raise OptionError(
                f'the schema registry has no subject {subject}: name it with option("{part}Subject", ...), or read '
                f'without a schema with option("{part}Format", "string") or "bytes"'
            )
        schema_id, text = newest.schema_id, newest.schema.text
    kind = _KINDS.get(registry.kind(schema_id), "")
    if options.format not in ("auto", kind):
        raise OptionError(f"the subject {subject} has a schema of {kind}, not {options.format}: leave {part}Format out")
    if options.message and kind and kind != "protobuf":
        raise OptionError(f"{part}Message is for Protobuf, but {subject} has a schema of {kind}: leave it out")
    if not kind:
        raise SchemaNotSupported(
            f"the subject {subject} has a schema of an unknown type: set {part}Format, for example to bytes"
        )
    return Decoding(kind, text, subject, options.message, schema_id)
