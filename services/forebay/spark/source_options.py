"""Options of `spark.read.format("forebay")`. They have the same names as the options of Spark's own Kafka source."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from forebay.kafka.settings import KafkaSettings
from forebay.spark.errors import OptionError
from forebay.spark.option_values import (
    CLIENT,
    OF_SCHEMAS,
    check_schema_options,
    choice,
    connection,
    number,
    schema_options,
)
from forebay.time.moments import parse_moment
from forebay.utils.spelling import did_you_mean

_NAMES = (
    *("subscribe", "subscribePattern", "bootstrapServers", "schemaRegistryUrl"),
    *("startingOffsets", "endingOffsets", "startingTimestamp", "endingTimestamp"),
    *("maxOffsetsPerTrigger", "failOnDataLoss", "mode", "includeHeaders"),
    *(f"{part}{name}" for part in ("key", "value") for name in ("Format", *OF_SCHEMAS)),
)
_OF_SPARK = frozenset(("checkpointlocation",))
_WITH_SCHEMA = ("auto", "avro", "json_schema", "protobuf")
FORMATS = (*_WITH_SCHEMA, "string", "bytes", "int", "long", "float", "double", "boolean")
_LAST_MS = 2**63 - 1

Offsets = Mapping[str, Mapping[int, int]]
"""Offsets by topic and partition."""


class Bound(StrEnum):
    """A named place in a topic."""

    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Timestamp:
    """The first record whose timestamp (ms) is not earlier."""

    ms: int


Place = Bound | Timestamp | Offsets
"""Where to start or to end. In offsets, -2 is the earliest and -1 the latest."""


class Mode(StrEnum):
    """The handling of a record that can't be decoded."""

    FAIL = "fail"
    SKIP = "skip"
    COLUMN = "column"


class SideTopic(StrEnum):
    """A topic of an application with records that failed or arrived too late."""

    ERRORS = "errors"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class PartOptions:
    """The options of a record's key or value.

    Args:
        format: A format of FORMATS.
        subject: Subject of the schema. If it is empty, the subject is `<topic>-key` or `<topic>-value`.
        schema_id: Id of the schema with which data is read, or 0 for the subject's newest schema.
        message: Name of the Protobuf message. If it is empty, the first message is used.
    """

    format: str
    subject: str
    schema_id: int
    message: str

    @property
    def has_schema(self) -> bool:
        """Whether the format has registered schemas."""
        return self.format in _WITH_SCHEMA


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceOptions:
    """The options of one read.

    Args:
        settings: Connection to the broker and the registry.
        topics: Names of the topics. If there is a pattern, they are empty.
        pattern: Regular expression that must match the whole name of a topic.
        key: Options of keys.
        value: Options of values.
        start: Start of the read. None is the earliest offset in a batch, and the latest in a stream.
        end: End of a batch. None is the latest offset.
        max_offsets: Largest number of offsets in a micro-batch, or 0 if it is not limited.
        fails_on_loss: Whether the read fails if offsets were deleted.
        mode: Handling of a record that can't be decoded.
        with_headers: Whether there is a column with headers.
        side: The kind of topic, if it is the `.errors` or `.late` topic of an application.
    """

    settings: KafkaSettings
    topics: tuple[str, ...]
    pattern: str
    key: PartOptions
    value: PartOptions
    start: Place | None
    end: Place | None
    max_offsets: int
    fails_on_loss: bool
    mode: Mode
    with_headers: bool
    side: SideTopic | None = None


def read_source_options(options: Mapping[str, str]) -> SourceOptions:
    """Return the options of a read. Names are case-insensitive, as in all of Spark's sources.

    Raises:
        OptionError: An option is unknown, missing or invalid.
        KafkaSettingsError: An option of librdkafka (`kafka.<option>`) is invalid.
    """
    given = {name.lower(): text for name, text in options.items()}
    names = {name.lower(): name for name in _NAMES}
    if "path" in given:
        raise OptionError(f'topics have no path {given["path"]}: name them with option("subscribe", ...)')
    for name in given.keys() - names.keys() - _OF_SPARK:
        if not name.startswith(CLIENT):
            raise OptionError(f"there is no option {name}{did_you_mean(name, names.values())}")
    topics = tuple(topic.strip() for topic in given.get("subscribe", "").split(",") if topic.strip())
    pattern = _pattern(given.get("subscribepattern", ""))
    if bool(topics) == bool(pattern):
        raise OptionError(
            'name the topics with option("subscribe", "orders") or option("subscribePattern", "o.*"), or a store with '
            'option("application", "user-sessions") and option("store", "user-profiles"), or its failed records with '
            'option("application", "user-sessions") and option("records", "errors")'
        )
    key, value = _part(given, "key", "string"), _part(given, "value", "auto")
    start, end = _place(given, "starting"), _place(given, "ending")
    if isinstance(start, Timestamp) and isinstance(end, Timestamp) and start.ms > end.ms:
        raise OptionError(
            f"startingTimestamp {given['startingtimestamp']} is after endingTimestamp {given['endingtimestamp']}: "
            "exchange them, or leave one out"
        )
    return SourceOptions(
        settings=connection(given, needs_registry=key.has_schema or value.has_schema),
        topics=topics,
        pattern=pattern,
        key=key,
        value=value,
        start=start,
        end=end,
        max_offsets=number(given, "maxOffsetsPerTrigger"),
        fails_on_loss=choice(given, "failOnDataLoss", ("true", "false")) == "true",
        mode=Mode(choice(given, "mode", tuple(Mode))),
        with_headers=choice(given, "includeHeaders", ("false", "true")) == "true",
    )


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise OptionError(f"subscribePattern is {text}: {error}. Write a regular expression of Python's") from None
    return text


def _part(given: Mapping[str, str], part: str, default: str) -> PartOptions:
    default = "auto" if schema_options(given, part) else default
    form = choice(given, f"{part}Format", (default, *(name for name in FORMATS if name != default)))
    check_schema_options(given, part, form, has_schema=form in _WITH_SCHEMA)
    return PartOptions(
        format=form,
        subject=given.get(f"{part}subject", ""),
        schema_id=number(given, f"{part}SchemaId"),
        message=given.get(f"{part}message", ""),
    )


def _place(given: Mapping[str, str], end: str) -> Place | None:
    offsets, timestamp = given.get(f"{end}offsets"), given.get(f"{end}timestamp")
    if offsets is not None and timestamp is not None:
        raise OptionError(f"{end}Offsets and {end}Timestamp contradict each other: use one of them")
    if timestamp is not None:
        return Timestamp(_milliseconds(timestamp, f"{end}Timestamp"))
    if offsets is None:
        return None
    if offsets.lower() in tuple(Bound):
        return Bound(offsets.lower())
    try:
        return {
            str(topic): {int(partition): _offset(offset) for partition, offset in partitions.items()}
            for topic, partitions in json.loads(offsets).items()
        }
    except (ValueError, AttributeError, TypeError):
        raise OptionError(
            f"{end}Offsets is {offsets}: write earliest, latest, or JSON such as "
            '{"orders": {"0": 23, "1": -2}} (-2: earliest, -1: latest)'
        ) from None


def _offset(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _milliseconds(text: str, name: str) -> int:
    with suppress(ValueError):
        moment = parse_moment(text)
        if moment <= _LAST_MS:
            return moment
    raise OptionError(f"{name} is {text}: write milliseconds since the epoch, or a time such as 2026-01-31T12:00:00Z")
