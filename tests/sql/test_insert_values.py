"""INSERT INTO ... VALUES sends one record in the declared formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from forebay.cli import initial_inserts
from forebay.kafka.settings import KafkaSettings
from forebay.queries import sending
from forebay.queries.sql_pages import SqlPages
from forebay.serde.subjects import LocalSubjects, connect, connected_subjects
from forebay.sql.errors import SqlError
from forebay.sql.inserting import Inserted, record_of
from forebay.sql.program import program_of
from forebay.sql.queryable import queryable
from tests.sql.driven import Driven
from tests.sql.test_queries import ask

HEAD = """
CREATE STREAM s (k STRING KEY, n INT, d DECIMAL(4, 2), a ARRAY<INT>, t TIMESTAMP)
  WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');
CREATE TABLE t (k INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='rows', FORMAT='DELIMITED');
CREATE STREAM keyless (v DOUBLE) WITH (KAFKA_TOPIC='keyless', VALUE_FORMAT='JSON');
CREATE STREAM h (k INT KEY, v INT, x BYTES HEADER('x')) WITH (KAFKA_TOPIC='h', VALUE_FORMAT='JSON');
CREATE STREAM w (k INT KEY, v INT)
  WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION');
CREATE STREAM o AS SELECT k, n FROM s;
"""
EMPTY = b'{"N":null,"D":null,"A":null,"T":null}'
SENT: dict[str, Inserted] = {
    "INTO s VALUES ('x', 1, 1.5, ARRAY[1, 2], '1970-01-01T00:00:01')": Inserted(
        "in", b"x", b'{"N":1,"D":1.50,"A":[1,2],"T":1000}', None
    ),
    "INTO s (n, k, ROWTIME) VALUES (1 + 2, UCASE('x'), 77)": Inserted(
        "in", b"X", b'{"N":3,"D":null,"A":null,"T":null}', 77
    ),
    "INTO s (k, n) VALUES ('x', -2147483648)": Inserted(
        "in", b"x", b'{"N":-2147483648,"D":null,"A":null,"T":null}', None
    ),
    "INTO s (k) VALUES ('x')": Inserted("in", b"x", EMPTY, None),
    "INTO s (n) VALUES (NULL)": Inserted("in", None, EMPTY, None),
    "INTO s (n) VALUES (CAST(NULL AS INT))": Inserted("in", None, EMPTY, None),
    "INTO t VALUES (-7, 'a,b')": Inserted("rows", b'"-7"', b'"a,b"', None),
    "INTO keyless VALUES (1)": Inserted("keyless", None, b'{"V":1.0}', None),
}
REFUSED = {
    "INTO nothing VALUES (1)": "NOTHING does not exist",
    "INTO s VALUES ('x', 1)": "2 values for 5 columns",
    "INTO s (k, nothing) VALUES ('x', 1)": "there is no column NOTHING",
    "INTO s (k, k) VALUES ('x', 'y')": "K occurs twice",
    "INTO s (n) VALUES (3000000000)": "3000000000 does not fit the column N INTEGER",
    "INTO s (n) VALUES ('many')": "'many' does not fit the column N INTEGER",
    "INTO s (d) VALUES (1000.0)": "the column D DECIMAL",
    "INTO s (n) VALUES (1 / 0)": "can't be computed for the column N INTEGER: write another value",
    "INTO s (n) VALUES (CAST('x' AS INT))": "can't be computed for the column N INTEGER",
    "INTO s (a) VALUES (ARRAY[1, 1 / 0])": "can't be computed for the column A ARRAY<INTEGER>",
    "INTO s (t) VALUES (PARSE_TIMESTAMP('x', 'yyyy'))": "can't be computed for the column T TIMESTAMP",
    "INTO s (n) VALUES (k)": "can't be used here",
    "INTO t (v) VALUES ('a')": "give K a value",
    "INTO t VALUES (NULL, 'a')": "give K a value",
    "INTO h VALUES (1, 2)": "columns of headers",
    "INTO h (x) VALUES ('a')": "columns of headers",
    "INTO w VALUES (1, 2)": "has windows",
    "INTO s (k, ROWTIME) VALUES ('x', 0)": "ROWTIME is 0: write a time in ms since 1970, from 1 on",
    "INTO s (k, ROWTIME) VALUES ('x', -5)": "ROWTIME is -5",
    "INTO o VALUES ('x', 1)": "is computed by a query",
}


@pytest.mark.parametrize("statement", SENT)
def test_a_record_has_the_declared_formats(statement: str) -> None:
    program = program_of(f"{HEAD}INSERT {statement};")
    assert [record_of(insert, program.catalog) for insert in program.inserts] == [SENT[statement]]


@pytest.mark.parametrize("statement", REFUSED)
def test_values_that_do_not_fit_are_refused_when_they_are_read(statement: str) -> None:
    with pytest.raises(SqlError, match=REFUSED[statement]):
        program_of(f"{HEAD}INSERT {statement};")


@pytest.mark.parametrize("kind", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_a_record_of_a_registry_is_read_back(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.testing.driver.connect_nowhere", lambda: None)
    connect(LocalSubjects())
    driven = Driven(
        f"CREATE STREAM s (k STRING KEY, m MAP<STRING, INT>) WITH (KAFKA_TOPIC='in', FORMAT='{kind}');"
        "CREATE STREAM o WITH (FORMAT='JSON') AS SELECT k, m['a'] AS a FROM s;"
        "INSERT INTO s VALUES ('x', MAP('a' := 1));"
    )
    record = record_of(driven.program.inserts[0], driven.program.catalog)
    driven.driver.pipe_bytes(record.key, record.value, 5, record.topic)
    assert [(output.key, output.value) for output in driven.driver.outputs] == [(("x",), (1,))]


def test_query_server_sends_inserted_records() -> None:
    sent: list[Inserted] = []
    nothing: Any = list
    program = program_of(HEAD)
    pages = SqlPages(queryable(lambda: program), nothing, nothing, send=sent.extend)
    status, lines = ask(pages, "INSERT INTO keyless VALUES (1);")
    assert (status, lines[1]) == (200, {"row": {"topic": "keyless", "records": 1}})
    assert sent == [SENT["INTO keyless VALUES (1)"]]
    assert ask(pages, "INSERT INTO s (n) VALUES ('many');")[0] == 400
    reading = SqlPages(queryable(lambda: program), nothing, nothing)
    assert ask(reading, "INSERT INTO keyless VALUES (1);")[0] == 400


def test_records_of_a_file_are_sent_to_topics_that_never_had_one(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(f"{HEAD}INSERT INTO keyless VALUES (1); INSERT INTO t VALUES (-7, 'a,b');")
    empty, sent = {"keyless", "rows"}, list[Inserted]()

    def send(_kafka: KafkaSettings, records: Sequence[Inserted]) -> None:
        sent.extend(records)
        empty.difference_update(record.topic for record in records)

    class Job:
        program = staticmethod(lambda: program)

    kafka: Any = None
    service: Any = type("Service", (), {"job": "a.job"})
    monkeypatch.setattr(initial_inserts, "load_job", lambda _: Job)
    monkeypatch.setattr(sending, "empty_topics", lambda _, topics: empty & set(topics))
    monkeypatch.setattr(sending, "send_records", send)
    connect(LocalSubjects())
    before = connected_subjects()
    assert initial_inserts.send_inserted(kafka, service) == {"keyless": 1, "rows": 1}
    assert connected_subjects() is before
    assert initial_inserts.send_inserted(kafka, service) == {}
    assert sent == [SENT["INTO keyless VALUES (1)"], SENT["INTO t VALUES (-7, 'a,b')"]]


def test_a_record_for_the_result_of_a_paused_query_is_refused() -> None:
    program = program_of(f"{HEAD} PAUSE CSAS_O_0;")
    (statement,) = program_of(f"{HEAD} INSERT INTO s VALUES ('x', 1, 1.5, NULL, NULL);").inserts
    with pytest.raises(SqlError, match="O is computed by a query that is paused"):
        record_of(replace(statement, name="O"), program.catalog)
