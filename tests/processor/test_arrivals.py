"""How a task orders its records, and how it handles ties, nulls, keys in other formats and headers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forebay.formats import LONG, TEXT
from forebay.processor import Context, Processor
from forebay.processor.codecs import Codecs
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.processor.messages import Headers, Output
from forebay.stores.memory import MemoryTable
from forebay.testing.shown import PipedRecord

WORDS = TEXT.codec(lambda _: pytest.fail("text has no contract"))
CODECS = Codecs({"a-stream": WORDS, "b-table": WORDS}, {}, {"out": WORDS}, tables=frozenset({"b-table"}))


class Seen(Processor[str, str]):
    """Forwards a text of its arguments: key, value and record metadata."""

    def timestamp(self, event: str) -> int:
        return int(event)

    def event_id(self, event: str) -> str | None:
        return None

    def process(self, event: str, ctx: Context[str]) -> None:
        ctx.forward(f"{ctx.key}={event} of {ctx.topic}[{ctx.partition}]@{ctx.offset}", headers=ctx.headers)

    def on_delete(self, topic: str, ctx: Context[str]) -> None:
        ctx.forward(f"{ctx.key} is null in {topic}")


def record(topic: str, key: bytes | None, value: bytes | None, at: int = 0, headers: Headers | None = None) -> Any:
    return PipedRecord(topic, at, key, value, at, headers or [])


def run(codecs: Codecs, *streams: list[Any]) -> list[Output]:
    engine = TaskEngine(Seen(), codecs, MemoryTable(), EngineSettings("seen"))
    engine.run(streams, 1 << 40)
    return engine.finish(1).outputs


def texts(outputs: list[Output]) -> list[str]:
    return [(output.value or b"").decode() for output in outputs]


def test_at_equal_times_a_table_comes_first_regardless_of_its_name() -> None:
    stream, table = [record("a-stream", b"k", b"5", 5)], [record("b-table", b"k", b"5", 5)]
    assert texts(run(CODECS, stream, table)) == ["k=5 of b-table[0]@5", "k=5 of a-stream[0]@5"]


def test_a_null_is_a_record_where_the_topic_may_hold_one() -> None:
    codecs = replace(CODECS, nullable=frozenset({"a-stream"}))
    assert texts(run(codecs, [record("a-stream", None, b"5"), record("a-stream", b"k", None)])) == [
        "None=5 of a-stream[0]@0",
        "k is null in a-stream",
    ]
    assert run(CODECS, [record("a-stream", None, b"5"), record("a-stream", b"k", None)]) == []


class Timeless(Seen):
    """Forwards with an explicit timestamp, because records of a global table have none."""

    def process(self, event: str, ctx: Context[str]) -> None:
        ctx.forward(f"{ctx.key}={event} at {ctx.timestamp}", timestamp=int(event))


def test_a_record_of_a_global_table_does_not_advance_stream_time() -> None:
    engine = TaskEngine(
        Timeless(), replace(CODECS, timeless=frozenset({"b-table"})), MemoryTable(), EngineSettings("seen")
    )
    engine.run([[record("a-stream", b"k", b"5")], [record("b-table", b"k", b"900")]], 1 << 40)
    assert engine.position.stream_time == 5
    assert texts(engine.finish(1).outputs) == ["k=900 at -1", "k=5 at 5"]


def test_keys_are_read_and_written_in_their_topics_format() -> None:
    codecs = replace(CODECS, keys={"a-stream": LONG, "out": LONG})
    key = (-7).to_bytes(8, "big", signed=True)
    (output,) = run(codecs, [record("a-stream", key, b"5")])
    assert output.key == key
    assert texts([output]) == ["7ffffffffffffff9=5 of a-stream[0]@0"]


def test_a_key_of_another_format_is_an_error() -> None:
    engine = TaskEngine(Seen(), replace(CODECS, keys={"a-stream": LONG}), MemoryTable(), EngineSettings("seen"))
    engine.run([[record("a-stream", b"short", b"5")]], 1 << 40)
    (error,) = engine.finish(1).errors
    assert (error.key, dict(error.headers)["error.stage"]) == (b"short", b"decode")
    assert b"5 bytes are not a valid long" in (dict(error.headers)["error.message"] or b"")


def test_forwarded_headers_are_sent_with_the_output() -> None:
    (output,) = run(CODECS, [record("a-stream", b"k", b"5", headers=[("trace", b"1"), ("trace", None)])])
    assert output.headers == [("trace", b"1"), ("trace", None)]
