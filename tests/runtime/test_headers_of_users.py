"""Users' headers pass through a job unchanged, even if they have the names of Forebay's internal headers."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

from forebay.builder import Topology
from forebay.processor import Context, Processor
from forebay.processor.messages import Headers
from forebay.processor.repartition_headers import SENDER, SEPARATOR, forwarded_headers, own_headers
from forebay.runtime.protocol.times import TIME, TaskTime, announced_time, data_headers, time_headers
from forebay.runtime.task.error_rate import describe_error
from forebay.runtime.task.repartition_queue import RepartitionPartition
from forebay.time import tumbling
from tests.dsl.driving import Driven
from tests.ksml.running import driver as ksml
from tests.runtime.records import REPARTITION
from tests.runtime.simulator.broker import Record
from tests.sql.driven import Driven as Statements

ANNOUNCEMENT = TaskTime(5, caught_up=True).to_json()
OWN: list[Headers] = [
    [(TIME, b"x")],
    [(TIME, ANNOUNCEMENT)],
    [(TIME, None)],
    [(SENDER, b"0-0")],
    [(SENDER, b"0-0"), (TIME, ANNOUNCEMENT)],
    [(SEPARATOR, None)],
    [(SEPARATOR, b""), (SEPARATOR, None), (TIME, ANNOUNCEMENT)],
    [("forebay.", b"1"), ("trace", b"2"), ("trace", b"3")],
    [("trace", b"1"), (SENDER, b"2"), (TIME, ANNOUNCEMENT)],
    [("error.class", b"E"), ("error.topic", b"t"), ("error.timer", b"x"), ("late.by_ms", b"y")],
]


class Seen(Processor[str, str]):
    """Forwards the record's headers, both as text and as headers. Fails on the value `fail`."""

    def process(self, event: str, ctx: Context[str]) -> None:
        if event == "fail":
            raise ValueError("as asked")
        ctx.forward(json.dumps([(name, (data or b"").decode()) for name, data in ctx.headers]), headers=ctx.headers)


def header_text(headers: Headers) -> str:
    return json.dumps([(name, (data or b"").decode()) for name, data in headers])


def twice(t: Topology) -> None:
    first = t.stream("in", str).process(Seen, str, name="first")
    second = first.select_key(lambda key, _: f"{key}'", str)
    second.process(Seen, str, name="second").to("out")


@pytest.mark.parametrize("headers", OWN)
@pytest.mark.parametrize("tasks", [1, 3])
def test_they_pass_through_repartitions(headers: Headers, tasks: int) -> None:
    driven = Driven(twice, tasks)
    for number in range(4):
        sent = driven.pipe("in", f"k{number}", "v", number, headers=headers)
        assert sent == [(f"k{number}'", header_text(headers), number)]
    assert {tuple(sent.headers) for sent in driven.driver.outputs} == {tuple(headers)}
    driven.driver.restart()
    assert driven.pipe("in", "k", "v", 9, headers=headers) == [("k'", header_text(headers), 9)]


@pytest.mark.parametrize("headers", OWN)
def test_they_are_kept_on_records_that_fail_behind_a_repartition_or_come_too_late(headers: Headers) -> None:
    def topology(t: Topology) -> None:
        moved = t.stream("in", str).select_key(lambda key, _: f"{key}'", str)
        moved.process(Seen, str, name="seen").to("out")
        moved.group_by_key().windowed_by(tumbling(10)).count(store="counts").to_stream().to("counts")

    driven = Driven(topology).driver
    driven.pipe("k", "fail", "in", 5, headers)
    driven.pipe("k", "v", "in", 500, headers)
    driven.pipe("k", "v", "in", 5, headers)
    (failed,), (late,) = driven.errors, driven.late
    assert own(failed.headers, "error.") == own({name: (text or b"").decode() for name, text in headers}, "error.")
    assert own(late.headers, "late.") == own({name: (text or b"").decode() for name, text in headers}, "late.")
    assert failed.headers["error.topic"].endswith("-repartition")
    assert describe_error(failed.key, failed.headers).startswith(f"{failed.headers['error.topic']}-0 offset ")


def own(headers: dict[str, str], prefix: str) -> dict[str, str]:
    """Return the headers without those that explain why the record failed or was late."""
    return {name: text for name, text in headers.items() if not name.startswith(prefix)}


@pytest.mark.parametrize("headers", OWN)
def test_statements_see_them_behind_a_repartition(headers: Headers) -> None:
    sql = """
        CREATE STREAM s (k STRING KEY, v INT, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS)
            WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');
        CREATE STREAM moved AS SELECT v + 1 AS w, k, v FROM s PARTITION BY v + 1;
        CREATE STREAM counted AS SELECT w, v, CAST(v AS STRING) AS text FROM moved PARTITION BY v EMIT CHANGES;
    """
    statements = Statements(sql)
    statements.driver.pipe_bytes(b"k", b'{"V":7}', 1, "in", headers)
    assert not statements.driver.errors
    assert {sent.topic: sent.headers for sent in statements.driver.outputs} == {
        "MOVED": tuple(headers),
        "COUNTED": tuple(headers),
    }


def test_ksml_sees_them_behind_a_repartition() -> None:
    run = ksml(
        """
        streams:
          numbers: {topic: numbers, keyType: string, valueType: json}
          results: {topic: results, keyType: string, valueType: json}
        pipelines:
          main:
            from: numbers
            via:
              - {type: repartition}
              - type: transformMetadata
                mapper:
                  code: |
                    metadata["headers"] = metadata["headers"] + [{"key": "by", "value": key}]
                  expression: metadata
            to: results
        """
    )
    for headers in OWN:
        run.driver.pipe("a", 1, "numbers", 3, headers)
        assert run.driver.outputs[-1].headers == (*headers, ("by", b"a"))
    assert not run.driver.errors


@pytest.mark.parametrize("own", [*permutations([(TIME, ANNOUNCEMENT), (SENDER, b"0-0"), (SEPARATOR, None)]), ()])
def test_an_inserted_sub_topology_can_be_removed_again(own: tuple[Any, ...]) -> None:
    for count in range(len(own) + 1):
        headers = list(own[:count])
        sent = forwarded_headers(data_headers("0-0"), headers)
        assert own_headers(sent) == headers
        assert announced_time(record(sent, None, None), sent) is None


def record(headers: Headers, key: bytes | None = b"k", value: bytes | None = b"v") -> Record:
    return Record((REPARTITION, 0), 0, key, value, 1, headers, None, 0)


def test_only_a_control_record_announces_a_time() -> None:
    headers = time_headers("0-0", TaskTime(5, caught_up=True))
    assert announced_time(record(headers, None, None), headers) == TaskTime(5, caught_up=True)


@pytest.mark.parametrize(
    ("data", "key", "value"),
    [
        (b"x", b"k", b"v"),
        (b"x", None, None),
        (b"[1, 0, 0]", None, None),
        (b'[1, 0, 0, "4"]', None, None),
        (b"[" * 9_999, None, None),
        (None, None, None),
        (ANNOUNCEMENT, b"k", None),
        (ANNOUNCEMENT, None, b"v"),
    ],
)
def test_records_that_release_0_2_left_in_a_repartition_topic_are_read(
    data: bytes | None, key: bytes | None, value: bytes | None
) -> None:
    part = RepartitionPartition(REPARTITION, 0, ["0-0"], (), 0)
    headers: Headers = [*data_headers("0-0"), (TIME, data)]
    part.take(record(headers, key, value), 0)
    (stream,) = part.senders.values()
    assert len(stream.queue) == 1
    assert own_headers(headers) == [(TIME, data)]
