"""Options of the sink, which `docs/spark.md` documents."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from forebay.kafka.settings import KafkaSettings
from forebay.spark.errors import OptionError
from forebay.spark.option_values import CLIENT, OF_SCHEMAS, check_schema_options, choice, connection, number
from forebay.spark.sink_encoding import AUTO, KINDS, PRIMITIVES, Request

_NAMES = (
    "topic",
    "bootstrapServers",
    "schemaRegistryUrl",
    "keyColumns",
    "headersColumn",
    "timestampColumn",
    "partitionColumn",
    *(f"{part}{name}" for part in ("key", "value") for name in ("Format", *OF_SCHEMAS)),
    "registerSchema",
    "transactionalIdPrefix",
    "transactionTimeoutMs",
    "repeatTimeoutMs",
    "missingMarkers",
    "idempotencyKey",
)
_SPARK = ("checkpointlocation", "querystartid")
"""Options that Spark reads and that the sink ignores."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SinkOptions:
    """The options of one write.

    Args:
        transaction_seconds: Longest time for which a task's transaction may be open.
        repeat_seconds: Longest time for which a task waits until other tasks have verified the partitions that an
            earlier run committed.
        writes_unmarked: Whether a batch is written although the markers of earlier batches no longer exist.
        idempotency_key: Key of a batch write, or "".
    """

    settings: KafkaSettings
    topic: str
    key: Request
    value: Request
    key_columns: tuple[str, ...] = ()
    headers_column: str = ""
    timestamp_column: str = ""
    partition_column: str = ""
    prefix: str = "forebay-sink"
    transaction_seconds: float = 300.0
    repeat_seconds: float = 300.0
    writes_unmarked: bool = False
    idempotency_key: str = ""

    @property
    def columns(self) -> dict[str, str]:
        """The columns that options name, by name of the option."""
        keys = {f"keyColumns ({name})": name for name in self.key_columns}
        return {
            **keys,
            "headersColumn": self.headers_column,
            "timestampColumn": self.timestamp_column,
            "partitionColumn": self.partition_column,
        }


def read_options(options: Mapping[str, str]) -> SinkOptions:
    """Return the options of a write.

    Args:
        options: Options as Spark passes them. Names are case-insensitive. `kafka.<option>` are options of librdkafka.

    Raises:
        OptionError: An option is unknown, missing or invalid.
        KafkaSettingsError: An option of librdkafka is invalid.
    """
    given = {name.lower(): text for name, text in options.items()}
    names = {name.lower(): name for name in _NAMES}
    if "path" in given:
        raise OptionError(f'a topic has no path {given["path"]}: name it with option("topic", "orders")')
    for name in given:
        if name not in names and name not in _SPARK and not name.startswith(CLIENT):
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {names[near[0]]}?" if near else f"there are {', '.join(_NAMES)}, and kafka.<option>"
            raise OptionError(f"the sink has no option {name}: {hint}")
    topic = given.get("topic", "")
    if not topic:
        raise OptionError('the sink needs a topic: write option("topic", "orders")')
    registers = _flag(given, "registerSchema")
    key, value = (_request(given, part, topic, registers=registers) for part in ("key", "value"))
    key_columns = tuple(name.strip() for name in given.get("keycolumns", "").split(",") if name.strip())
    parts = (key, value) if key_columns else (value,)
    for name in () if key_columns else ("Format", *OF_SCHEMAS):
        if given.get(f"key{name}".lower()):
            raise OptionError(f'key{name} needs the columns of the key: add option("keyColumns", "order_id")')
    return SinkOptions(
        settings=connection(given, needs_registry=any(part.format not in PRIMITIVES for part in parts)),
        topic=topic,
        key=key,
        value=value,
        key_columns=key_columns,
        headers_column=given.get("headerscolumn", ""),
        timestamp_column=given.get("timestampcolumn", ""),
        partition_column=given.get("partitioncolumn", ""),
        prefix=given.get("transactionalidprefix") or "forebay-sink",
        transaction_seconds=number(given, "transactionTimeoutMs", 300_000) / 1_000,
        repeat_seconds=number(given, "repeatTimeoutMs", 300_000) / 1_000,
        writes_unmarked=choice(given, "missingMarkers", ("refuse", "write")) == "write",
        idempotency_key=given.get("idempotencykey", ""),
    )


def _request(given: Mapping[str, str], part: str, topic: str, *, registers: bool) -> Request:
    form = choice(given, f"{part}Format", (AUTO, *KINDS, *PRIMITIVES))
    check_schema_options(given, part, form, has_schema=form not in PRIMITIVES)
    return Request(
        part=part,
        topic=topic,
        format=form,
        subject=given.get(f"{part}subject", ""),
        schema_id=number(given, f"{part}SchemaId", 0),
        message=given.get(f"{part}message", ""),
        registers=registers,
    )


def _flag(given: Mapping[str, str], name: str) -> bool:
    return choice(given, name, ("false", "true")) == "true"
