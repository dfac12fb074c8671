"""`forebay insert` writes a row, specified by column, in the formats of the statements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from forebay.cli import insert
from forebay.cli.main import run
from forebay.cli.sql_client import SqlClient
from forebay.queries.sql_pages import SqlPages
from forebay.sql.inserting import Inserted
from forebay.sql.program import program_of
from forebay.sql.queryable import queryable
from tests.sql.test_queries import ask

HEAD = """
CREATE STREAM readings (
    sensor STRING KEY, n INT, area BIGINT, reading DOUBLE, price DECIMAL(4, 2),
    is_new BOOLEAN, data BYTES, at TIMESTAMP,
    tags ARRAY<STRING>, sizes ARRAY<INT>, by_name MAP<STRING, DOUBLE>, place STRUCT<x INT, y STRING>, `Own` INT,
    times ARRAY<TIMESTAMP>
  ) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');
CREATE TABLE menu (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='rows', FORMAT='DELIMITED');
CREATE STREAM derived AS SELECT sensor, area FROM readings;
"""
ROWS: dict[tuple[str, ...], tuple[bytes | None, dict[str, Any]]] = {
    ("n=-2147483648", "area=-9223372036854775808"): (None, {"N": -(1 << 31), "AREA": -(1 << 63)}),
    ("sensor=s-1", "N=-5", "area=7", "reading=4", "price=1.5"): (
        b"s-1",
        {"N": -5, "AREA": 7, "READING": 4.0, "PRICE": 1.5},
    ),
    ("sensor=it's 1=1", "is_new=TRUE", "data=AQI=", "at=1970-01-01T00:00:01"): (
        b"it's 1=1",
        {"IS_NEW": True, "DATA": "AQI=", "AT": 1000},
    ),
    ('tags=["a", null]', "sizes=[]", 'by_name={"a": 1, "b": 1.5}', 'place={"x": 1, "y": "2"}', "Own=3"): (
        None,
        {"TAGS": ["a", None], "SIZES": [], "BY_NAME": {"a": 1.0, "b": 1.5}, "PLACE": {"X": 1, "Y": "2"}, "Own": 3},
    ),
    ("price=1.555",): (None, {"PRICE": 1.56}),
    ('{"sensor": "${x}", "n": null, "sizes": [1, 2], "place": {"y": "a"}, "by_name": {}}',): (
        b"${x}",
        {"SIZES": [1, 2], "PLACE": {"X": None, "Y": "a"}, "BY_NAME": {}},
    ),
}
REFUSED = {
    ("nothing", "a=1"): "NOTHING does not exist",
    ("reading", "a=1"): "did you mean 'READINGS'?",
    ("readings; DROP", "a=1"): "'readings; DROP' is not a name",
    ("readings", "senso=a"): "there is no column senso: write one of SENSOR, ",
    ("readings", "sensr=a"): "did you mean 'SENSOR'?",
    ("readings", "n=many"): "'many' is not a valid INTEGER: write a whole number",
    ("readings", "n=1.5"): 'N: "1.5" is not a valid INTEGER',
    ("readings", "n=3000000000"): "is not a valid INTEGER: write a whole number of at most 32 bits",
    ("readings", "sizes=[3000000000]"): "is not a valid ARRAY<INTEGER>: write a whole number of at most 32 bits",
    ("readings", 'sizes={"a": 1}'): "write a list in JSON",
    ("readings", "reading=1e999"): "write a number below",
    ("readings", "price=1e999999999"): "write at most 100 digits",
    ("readings", "n=2147483648"): "at most 32 bits",
    ("readings", "price=1000.0"): "the column PRICE DECIMAL(4, 2)",
    ("readings", "is_new=perhaps"): "write true or false",
    ("readings", "data=%"): "the column DATA BYTES",
    ("readings", 'times=["never"]'): "the column TIMES ARRAY<TIMESTAMP>",
    ("readings", "at=never"): "the column AT TIMESTAMP",
    ("readings", 'place={"z": 1}'): "there is no field z: write one of X, Y",
    ("readings", '{"sensor": 5}'): 'SENSOR: 5 is not a valid STRING: write a text such as "a"',
    ("readings", "{sensor: 5}"): "the row is not JSON",
    ("readings", "{}"): "the row has no columns",
    ("readings", '{"sensor": "a", "n": 1, "sensor": "b"}'): '"sensor" occurs twice in one object',
    ("readings", '{"place": {"x": 1, "x": 2}}'): '"x" occurs twice in one object',
    ("readings", 'by_name={"a": 1, "a": 2}'): '"a" occurs twice in one object',
    ("readings", '{"sensor": "a", "SENSOR": "b"}'): "SENSOR occurs twice",
    ("`Readings`", "n=1"): "Readings does not exist",
    ("readings", "sensor"): "'sensor' is not a value of a column: write COLUMN=VALUE",
    ("readings", "sensor=a", "SENSOR=b"): "SENSOR occurs twice",
    ("menu", "name=a"): "give ID a value",
    ("derived", "sensor=a"): "is computed by a query",
}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Inserted]:
    records: list[Inserted] = []
    monkeypatch.setattr(insert, "send_records", lambda _kafka, given: records.extend(given))
    return records


@pytest.fixture(params=["file", "server"])
def way(
    request: pytest.FixtureRequest, tmp_path: Path, sent: list[Inserted], monkeypatch: pytest.MonkeyPatch
) -> Sequence[str]:
    """Return the options for the command with the location of the declarations."""
    if request.param == "file":
        file = tmp_path / "views.sql"
        file.write_text(HEAD)
        return ["-f", str(file), "--bootstrap-servers", "b:1", "--schema-registry-url", "http://r:1"]
    program, nothing = program_of(HEAD), list[Any]
    pages = SqlPages(queryable(lambda: program), nothing, nothing, send=sent.extend)  # type: ignore[arg-type]

    def lines(_client: SqlClient, text: str) -> Iterator[dict[str, Any]]:
        status, answer = ask(pages, text)
        if status != 200:
            raise click.ClickException(answer[0]["error"])
        return iter(answer)

    monkeypatch.setattr("forebay.cli.sql_client.SqlClient.lines", lines)
    return ["--server", "http://s:1"]


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_a_row_is_sent_in_the_declared_formats(row: tuple[str, ...], way: Sequence[str], sent: list[Inserted]) -> None:
    assert run(["insert", "readings", *row, *way]) == 0
    (record,) = sent
    key, value = ROWS[row]
    assert (record.topic, record.key, record.timestamp) == ("in", key, None)
    assert {name: part for name, part in json.loads(record.value or b"").items() if part is not None} == value


def test_inserted_row_may_have_a_timestamp(
    way: Sequence[str], sent: list[Inserted], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["insert", "menu", "id=1", "name=a,b", "rowtime=77", *way]) == 0
    assert sent == [Inserted("rows", b"1", b'"a,b"', 77)]
    assert capsys.readouterr().out == "rows: 1 record sent\n"


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_a_wrong_row_is_refused_with_what_to_write(
    arguments: tuple[str, ...], way: Sequence[str], sent: list[Inserted], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["insert", *arguments, *way]) in (1, 2)
    error = " ".join(capsys.readouterr().err.split())
    assert REFUSED[arguments] in error
    assert "line 1, column" not in error
    assert sent == []


@pytest.mark.parametrize(("target", "exit_code"), [("readings", 0), ("READINGS", 0), ("`READINGS`", 1), ("other", 1)])
def test_the_names_of_a_server_of_views_are_in_lower_case(
    target: str, exit_code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    statements: list[str] = []

    def lines(_client: SqlClient, text: str) -> Iterator[dict[str, Any]]:
        statements.append(text)
        if text.startswith("DESCRIBE") and "`readings`" not in text:
            raise click.ClickException(f"line 1, column 10: {text.split('`')[1]} does not exist")
        yield {"row": {"column": "n", "type": "INTEGER"}}

    monkeypatch.setattr("forebay.cli.sql_client.SqlClient.lines", lines)
    assert run(["insert", target, "n=1", "--server", "http://s:1"]) == exit_code
    if exit_code:
        assert f"{target.strip('`').upper()} does not exist" in capsys.readouterr().err
    else:
        assert statements[-1] == "INSERT INTO `readings` (`n`) VALUES (1);"
