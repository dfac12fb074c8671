"""The key format of a result is that of its WITH clause, of its left source, or of SET."""

from __future__ import annotations

import math

import pytest

from forebay.codec import registering
from forebay.formats import no_contracts
from forebay.serde.subjects import LocalSubjects
from forebay.sql.program import program_of
from forebay.sql.schemas.topics import key_of
from tests.sql.driven import Driven

HALLS = "CREATE TABLE halls (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='halls', VALUE_FORMAT='JSON');"
VISITS = (
    "CREATE STREAM visits (id INT KEY, hall INT) WITH (KAFKA_TOPIC='visits', KEY_FORMAT='DELIMITED', "
    "VALUE_FORMAT='JSON');"
)
KEYLESS = "CREATE STREAM {0} (hall INT, {0} INT) WITH (KAFKA_TOPIC='{0}', KEY_FORMAT='NONE', VALUE_FORMAT='JSON');"
SET = "SET 'ksql.persistence.default.format.key'='JSON';"
SEVEN = b"\0\0\0\x07"


def format_of(made: Driven, name: str = "O") -> str:
    return next(source.encoding.key for source in made.program.catalog if source.name == name)


@pytest.mark.parametrize(("on", "visit"), [("id", "7"), ("hall", "1")])
def test_a_stream_joined_with_a_table_keeps_its_own_format(on: str, visit: str) -> None:
    driven = Driven(
        f"{HALLS}{VISITS}CREATE STREAM o AS SELECT v.{on}, h.name FROM visits v JOIN halls h ON v.{on} = h.id;"
    )
    driven.send("halls", SEVEN, {"NAME": "north"})
    assert driven.send("visits", visit, {"HALL": 7}) == [(7, ("north",), 0)]
    assert format_of(driven) == "DELIMITED"


def test_stream_stream_join_uses_the_declared_key_format() -> None:
    driven = Driven(
        f"{HALLS}{VISITS}CREATE STREAM o AS SELECT v.id AS id, h.name FROM visits v JOIN halls h ON v.id = h.id;"
        "CREATE STREAM p AS SELECT o.id, o.name AS name, v.hall FROM o JOIN visits v WITHIN 1 HOUR ON o.id = v.id;"
    )
    assert format_of(driven, "P") == "DELIMITED"
    for key in range(6):
        driven.send("halls", key.to_bytes(4), {"NAME": "north"})
        assert driven.send("visits", str(key), {"HALL": 1})[-1] == (key, ("north", 1), 0)


@pytest.mark.parametrize(
    ("query", "topics"),
    [
        ("CREATE TABLE o AS SELECT hall, COUNT(*) AS n FROM a GROUP BY hall;", "a"),
        ("CREATE STREAM o AS SELECT hall, a FROM a PARTITION BY hall;", "a"),
        ("CREATE STREAM o AS SELECT a.hall, a, b FROM a JOIN b WITHIN 1 HOUR ON a.hall = b.hall;", "ab"),
    ],
)
def test_keys_of_sources_without_one_have_the_format_that_set_names(query: str, topics: str) -> None:
    sources = KEYLESS.format("a") + KEYLESS.format("b")
    assert format_of(Driven(sources + query)) == "KAFKA"
    driven = Driven(SET + sources + query)
    assert format_of(driven) == "JSON"
    sent = [item for topic in topics for item in driven.send(topic, None, {"HALL": 7, topic.upper(): 1})]
    assert [key for key, _, _ in sent] == [7]


@pytest.mark.parametrize("kind", ["JSON", "PROTOBUF_NOSR", "DELIMITED"])
def test_keys_that_are_not_a_number_are_one_group(kind: str) -> None:
    driven = Driven(
        "CREATE STREAM s (a DOUBLE, b DOUBLE, c STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
        f"CREATE TABLE o WITH (KEY_FORMAT='{kind}') AS SELECT a - b AS x, c, COUNT(*) AS n FROM s GROUP BY a - b, c;"
    )
    for a, b in (("Infinity", "Infinity"), ("NaN", "0"), ("Infinity", "Infinity")):
        driven.send("s", None, {"A": a, "B": b, "C": "c"})
    sent = driven.send("s", None, {"A": "NaN", "B": "1", "C": "c"})
    assert driven.driver.errors == []
    assert [value for _, value, _ in sent] == [(4,)]


@pytest.mark.parametrize("kind", ["AVRO", "PROTOBUF", "JSON_SR", "JSON"])
@pytest.mark.parametrize("columns", ["x DOUBLE KEY", "x DOUBLE KEY, y ARRAY<DOUBLE> KEY"])
def test_every_nan_of_an_output_key_is_written_as_the_same_bytes(
    kind: str, columns: str, registry: LocalSubjects
) -> None:
    sql = f"CREATE STREAM s ({columns}, v INT) WITH (KAFKA_TOPIC='s', KEY_FORMAT='{kind}', VALUE_FORMAT='JSON');"
    source = program_of(sql, "test.sql").catalog.find("S")
    assert source is not None
    codec = key_of(source).codec(no_contracts)
    values = (math.nan, -math.nan, math.inf - math.inf)
    assert len({codec.encode((value, (value,))[: columns.count("KEY")]) for value in values}) == 1
    assert registering(codec) is not None or kind == "JSON"
