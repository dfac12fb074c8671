"""Records of `.errors` and `.late` become rows with typed fields for the engine's headers, and the original headers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import Message
from pyspark.sql.pandas.types import to_arrow_schema

from forebay.limits.room import Room
from forebay.limits.topics import TopicLimits
from forebay.processor.api import Timer
from forebay.processor.arrivals import TimerMessage
from forebay.processor.messages import Headers, SideRecord
from forebay.processor.side_topics import error_record, late_record
from forebay.spark.decoding import Decoding
from forebay.spark.errors import OptionError
from forebay.spark.records import record_batch
from forebay.spark.side_records import names_side_topic, read_side_options, split_headers
from forebay.spark.source import ForebayDataSource
from forebay.spark.source_options import Bound, Mode, SideTopic
from forebay.spark.store_options import names_store

GIVEN = {
    "application": "sums",
    "records": "errors",
    "bootstrapServers": "localhost:1",
    "schemaRegistryUrl": "http://localhost:2",
}


def create_message(**fields: Any) -> Any:
    """Return a message of a consumer. This bypasses the client's annotation of headers, which is too narrow."""
    return Message(**fields)


RECORD = create_message(
    topic="orders", partition=3, offset=7, key=b"k", value=b"\xff", headers=[("trace", b"x")], timestamp=(1, 5_000)
)


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def consumed_message(side: SideRecord, topic: str = "sums.errors") -> Any:
    """Return the message with which a consumer receives a record of a side topic."""
    return create_message(
        topic=topic,
        partition=0,
        offset=11,
        key=side.key,
        value=side.value,
        headers=side.headers,
        timestamp=(1, side.timestamp),
    )


def error_message(record: Any = RECORD, room: Room | None = None) -> Any:
    return consumed_message(error_record(record, "sums", "decode", ValueError("bad magic"), 9_000, room))


def rows(messages: list[Message], **options: str) -> list[dict[str, Any]]:
    """Return rows as Spark receives them. Keys and values are bytes."""
    source = ForebayDataSource({**GIVEN, **options})
    source.__dict__["_decodings"] = Decoding("bytes"), Decoding(options.get("valueFormat", "bytes"))
    reader = source._records(source.schema())
    row_of = reader._rows("orders.errors")
    result = [row for message in messages if (row := row_of(message)) is not None]
    batch = record_batch(result, to_arrow_schema(reader.schema, timezone="UTC"))
    return list(batch.to_pylist())


def test_an_error_has_its_facts_as_typed_fields_and_the_record_as_it_came() -> None:
    (row,) = rows([error_message()], includeHeaders="true")
    assert row["error"] == {
        "class": "ValueError",
        "message": "bad magic",
        "stage": "decode",
        "topic": "orders",
        "partition": 3,
        "offset": 7,
        "timestamp": at(5),
        "service": "sums",
        "timer": None,
        "shortened": None,
        "headers": None,
    }
    assert (row["key"], row["value"]) == (b"k", b"\xff")
    assert row["headers"] == [{"key": "trace", "value": b"x"}]
    assert (row["topic"], row["partition"], row["offset"], row["timestamp"]) == ("sums.errors", 0, 11, at(5))


def test_late_record_has_its_lateness() -> None:
    side = late_record(RECORD, 250, 6_000, 9_000)
    (row,) = rows([consumed_message(side, "sums.late")], records="late")
    assert row["late"] == {
        "by_ms": 250,
        "stream_time": at(6),
        **dict.fromkeys(("topic", "partition", "offset", "timestamp", "shortened", "headers")),
    }
    assert row["value"] == b"\xff"


def test_failed_timer_has_a_name_but_no_offset() -> None:
    (row,) = rows([error_message(TimerMessage(Timer(4_000, "close", "k")))], includeHeaders="true")
    place = ("topic", "partition", "offset")
    assert [row["error"][name] for name in ("timer", *place)] == ["close", None, None, None]
    assert row["error"]["timestamp"] == at(4)
    assert row["headers"] == []


def test_omitted_parts_of_a_record_are_listed() -> None:
    room = Room(TopicLimits(max_bytes=1_000))
    large = create_message(topic="orders", partition=3, offset=7, key=b"k", value=b"v" * 2_000, timestamp=(1, 5_000))
    error, late = error_message(large, room), consumed_message(late_record(large, 1, 6_000, 9_000, room), "sums.late")
    (of_error,), (of_late,) = rows([error]), rows([late], records="late")
    assert of_error["value"] is of_late["value"] is None
    assert of_error["error"]["shortened"].startswith("value (2000 bytes) left out")
    assert [of_late["late"][name] for name in ("topic", "partition", "offset")] == ["orders", 3, 7]


@pytest.mark.parametrize("side", SideTopic)
def test_record_headers_are_not_confused_with_error_headers(side: SideTopic) -> None:
    own: Headers = [("error.class", b"x"), ("late.by_ms", b"7"), ("error.topic", b"elsewhere"), ("same", None)]
    record = create_message(topic="orders", partition=3, offset=7, value=b"v", headers=list(own), timestamp=(1, 5_000))
    message = (
        error_message(record) if side is SideTopic.ERRORS else consumed_message(late_record(record, 250, 6_000, 9_000))
    )
    headers, facts = split_headers(side, message)
    assert headers == own
    assert facts is not None
    assert facts.get("class", "ValueError") == "ValueError"
    assert facts.get("by_ms", 250) == 250


@pytest.mark.parametrize("headers", [None, [], [("error.message", b"m")], [("late.stream_time", b"1")]])
def test_record_from_another_producer_has_no_error_fields(headers: Headers | None) -> None:
    foreign = create_message(
        topic="sums.errors", partition=0, offset=1, value=b"v", headers=headers, timestamp=(1, 5_000)
    )
    (row,) = rows([foreign], includeHeaders="true")
    assert row["error"] is None
    assert len(row["headers"]) == len(headers or [])


@pytest.mark.parametrize("text", [b"", b"-1", b"x", b"9" * 30, None])
def test_invalid_numbers_in_headers_are_null(text: bytes | None) -> None:
    headers = [("error.class", b"E"), *((f"error.{name}", text) for name in ("partition", "offset", "timestamp"))]
    foreign = create_message(topic="sums.errors", partition=0, offset=1, headers=headers, timestamp=(1, 5_000))
    (row,) = rows([foreign])
    assert [row["error"][name] for name in ("partition", "offset", "timestamp")] == [None] * 3


def test_a_value_that_cannot_be_decoded_keeps_its_facts() -> None:
    (row,) = rows([error_message()], valueFormat="int", mode="column")
    assert row["value"] is None
    assert row["_error"]
    assert row["error"]["message"] == "bad magic"
    source = ForebayDataSource({**GIVEN, "mode": "skip"})
    source.__dict__["_decodings"] = Decoding("bytes"), Decoding("int")
    assert source._records(source.schema())._rows("orders.late")(error_message()) is None


def test_the_topic_follows_from_the_application() -> None:
    assert read_side_options(GIVEN).topics == ("sums.errors",)
    options = read_side_options({**GIVEN, "records": " Late", "startingOffsets": "latest", "mode": "skip"})
    assert (options.topics, options.start, options.mode) == (("sums.late",), Bound.LATEST, Mode.SKIP)


@pytest.mark.parametrize("name", ["valueFormat", "valueSubject", "valueSchemaId", "valueMessage"])
def test_a_named_schema_decodes(name: str) -> None:
    assert read_side_options(GIVEN).value.format == "bytes"
    text = {"valueFormat": "avro", "valueSchemaId": "7"}.get(name, "x")
    options = read_side_options({**GIVEN, name: text})
    assert options.value.format in ("auto", "avro")
    assert options.key.format == "bytes"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"records": "error"}, "records is error: write errors for records"),
        ({"records": "lost"}, "records is lost: write errors"),
        ({"application": " "}, r'needs the application: add option\("application"'),
        ({"subscribe": "orders"}, "subscribe does not apply to records=errors"),
        ({"store": "totals"}, "store does not apply to records=errors"),
        ({"startingOffset": "1"}, "did you mean 'startingOffsets'"),
    ],
)
def test_invalid_options_are_refused_with_a_remedy(options: dict[str, str], message: str) -> None:
    assert names_side_topic({**GIVEN, **options})
    assert not names_store({**GIVEN, **options})
    with pytest.raises(OptionError, match=message):
        read_side_options({**GIVEN, **options})
