"""Reading the `.errors` and `.late` topics of an application, whose headers become a column with typed fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from confluent_kafka import Message
from pyspark.sql import types as spark

from forebay.processor.messages import Headers
from forebay.spark.errors import OptionError
from forebay.spark.source_options import SideTopic, SourceOptions, read_source_options
from forebay.spark.store_columns import microseconds

_APPLICATION, _RECORDS = "application", "records"
_TOPICS = ("subscribe", "subscribepattern")
_OF_STORES = ("store", "service")

Parse = Callable[[str], Any]


def _number(bits: int) -> Parse:
    """Return a function that converts a header's text to a number of at most `bits` bits, or to None.

    The record of a timer has the partition and offset -1, which become None.
    """

    def parse(text: str) -> int | None:
        return int(text) if text.isdecimal() and int(text) < 2 ** (bits - 1) else None

    return parse


def _time(text: str) -> int | None:
    return microseconds(_number(64)(text))


def _text(text: str) -> str | None:
    return text or None


_PLACE: Mapping[str, tuple[spark.DataType, Parse]] = {
    "topic": (spark.StringType(), _text),
    "partition": (spark.IntegerType(), _number(32)),
    "offset": (spark.LongType(), _number(64)),
    "timestamp": (spark.TimestampType(), _time),
}
_LEFT_OUT: Mapping[str, tuple[spark.DataType, Parse]] = {
    "shortened": (spark.StringType(), _text),
    "headers": (spark.StringType(), _text),
}
_FIELDS: Mapping[SideTopic, Mapping[str, tuple[spark.DataType, Parse]]] = {
    SideTopic.ERRORS: {
        "class": (spark.StringType(), _text),
        "message": (spark.StringType(), _text),
        "stage": (spark.StringType(), _text),
        **_PLACE,
        "service": (spark.StringType(), _text),
        "timer": (spark.StringType(), _text),
        **_LEFT_OUT,
    },
    SideTopic.LATE: {
        "by_ms": (spark.LongType(), _number(64)),
        "stream_time": (spark.TimestampType(), _time),
        **_PLACE,
        **_LEFT_OUT,
    },
}
_COLUMNS: Mapping[SideTopic, str] = {SideTopic.ERRORS: "error", SideTopic.LATE: "late"}
_FIRST: Mapping[SideTopic, str] = {SideTopic.ERRORS: "error.class", SideTopic.LATE: "late.by_ms"}
"""The first header that the job adds after the headers of the original record (forebay.processor.side_topics)."""


def names_side_topic(options: Mapping[str, str]) -> bool:
    """Return whether the options name the `.errors` or `.late` topic of an application."""
    return any(name.lower() == _RECORDS for name in options)


def read_side_options(options: Mapping[str, str]) -> SourceOptions:
    """Return the options of a read of `.errors` or `.late`. By default, keys and values are bytes.

    Raises:
        OptionError: An option is unknown, missing or invalid, or does not apply to these topics.
    """
    given = {name.lower(): text for name, text in options.items()}
    named = given[_RECORDS].strip().lower()
    if named not in tuple(SideTopic):
        raise OptionError(
            f"records is {given[_RECORDS]}: write errors for records that could not be processed, or late for records "
            "that arrived too late"
        )
    if not given.get(_APPLICATION, "").strip():
        raise OptionError(f'records={named} needs the application: add option("application", "user-sessions")')
    for name in (*_TOPICS, *_OF_STORES):
        if name in given:
            raise OptionError(f"the option {name} does not apply to records={named}: leave one of them out")
    rest = {name: text for name, text in given.items() if name not in (_APPLICATION, _RECORDS)}
    topic = f"{given[_APPLICATION].strip()}.{named}"
    formats = {f"{part}format": "bytes" for part in ("key", "value") if not _names_schema(given, part)}
    return replace(read_source_options({**formats, **rest, "subscribe": topic}), side=SideTopic(named))


def _names_schema(given: Mapping[str, str], part: str) -> bool:
    return any(f"{part}{name}" in given for name in ("format", "subject", "schemaid", "message"))


def side_column(side: SideTopic) -> tuple[str, spark.StructType]:
    """Return the name and the type of the column that explains a record."""
    fields = spark.StructType()
    for name, (kind, _) in _FIELDS[side].items():
        fields.add(name, kind)
    return _COLUMNS[side], fields


def split_headers(side: SideTopic, message: Message) -> tuple[Headers, dict[str, Any] | None]:
    """Return the original record's headers, and the fields of the column that explains the record.

    The fields are None if the job did not write the record.
    """
    headers: Headers = list(message.headers() or ())  # type: ignore[arg-type]
    at = max((place for place, (name, _) in enumerate(headers) if name == _FIRST[side]), default=-1)
    if at < 0:
        return headers, None
    original, own = headers[:at], headers[at:]
    if ("error.topic", b"") in own:
        # A timer failed. It has no headers of its own, so the header before `error.class` is the timer's name and
        # belongs to the fields.
        original, own = [], headers
    prefix = f"{_COLUMNS[side]}."
    facts = {name.removeprefix(prefix): (value or b"").decode(errors="replace") for name, value in own}
    return original, {name: parse(facts.get(name, "")) for name, (_, parse) in _FIELDS[side].items()}
