"""An edited program reads the unread records of its repartition topics in their original format, or refuses them."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.runtime.errors import FormatChanged
from forebay.serde.schema import Schema
from forebay.serde.subjects import LocalSubjects
from tests.sql.driven import Driven
from tests.unread import carry_unread

SOURCES = "CREATE STREAM s (k STRING KEY, a {a}, b INT, c STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');\n"
TABLE = "CREATE TABLE u (k INT PRIMARY KEY, x INT) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');\n"
ROW = {"a": 1, "b": 2, "c": "x"}


def program(statement: str, a: str = "INT") -> str:
    return SOURCES.format(a=a) + TABLE + statement


def read(before: str, after: str) -> list[Any]:
    """Return the results of an edited program for the unread repartition records of the earlier one."""
    old, new = Driven(before, tasks=1), Driven(after, tasks=1)
    old.send("s", "k", ROW, 1)
    assert not old.driver.errors
    carry_unread(old.driver, new.driver)
    assert not new.driver.errors
    return [output.value for output in new.driver.outputs]


def group_by(by: str, what: str = "SUM(b) AS n", more: str = "") -> str:
    return program(f"CREATE TABLE t {more} AS SELECT {by}, {what} FROM s GROUP BY {by};")


def group_under(form: str, by: str = "a, c", more: str = "") -> str:
    return group_by(by, more=f"WITH (KEY_FORMAT='{form}'{more})")


def join_with(columns: str, a: str = "INT") -> str:
    return program(f"CREATE STREAM j AS SELECT s.k, s.a, {columns}, u.x FROM s LEFT JOIN u ON s.a = u.k;", a)


def foreign_join(by: str) -> str:
    table = SOURCES.replace("STREAM s (k STRING KEY", "TABLE s (k STRING PRIMARY KEY")
    return table.format(a="INT") + TABLE + f"CREATE TABLE j AS SELECT s.k, s.a, s.b, u.x FROM s JOIN u ON s.{by} = u.k;"


def windowed_join(by: str) -> str:
    streams = SOURCES.format(a="INT") + TABLE.replace("TABLE u (k INT PRIMARY KEY", "STREAM u (k INT KEY")
    join = "FROM s JOIN u WITHIN 1 HOUR GRACE PERIOD 1 HOUR"
    return streams + f"CREATE STREAM j AS SELECT s.k, s.a, s.b, u.x {join} ON s.{by} = u.k;"


READ = {
    "as it was": (group_by("a"), group_by("a"), (2,)),
    "another name of the result": (group_by("a"), group_by("a", "SUM(b) AS total"), (2,)),
    "a filter behind it": (
        group_by("a"),
        group_by("a").replace(";\n", ";\n").replace("BY a;", "BY a HAVING SUM(b) > 0;"),
        (2,),
    ),
    "a statement in front": (
        group_by("a"),
        group_by("a").replace(
            "CREATE TABLE t ", "CREATE TABLE r AS SELECT c, COUNT(*) AS m FROM s GROUP BY c; CREATE TABLE t "
        ),
        (2,),
    ),
}


@pytest.mark.parametrize("case", READ)
def test_records_with_a_compatible_format_are_processed(case: str) -> None:
    before, after, expected = READ[case]
    assert read(before, after) == [expected]


ENRICHED = {
    name: f"CREATE STREAM {name} AS SELECT s.k, s.{by}, s.c, u.x FROM s LEFT JOIN u ON s.{by} = u.k;\n"
    for name, by in (("j1", "a"), ("j2", "b"))
}
EDITS = {
    "the first join dropped": ("j1 j2", "j2"),
    "the second join dropped": ("j1 j2", "j1"),
    "another join in front": ("j2", "j1 j2"),
    "joins in another order": ("j1 j2", "j2 j1"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_join_keeps_its_records_if_other_joins_of_its_table_come_and_go(edit: str) -> None:
    before, after = (program("".join(ENRICHED[name] for name in names.split())) for names in EDITS[edit])
    old, new = Driven(before, tasks=1), Driven(after, tasks=1)
    old.send("s", "k", ROW, 1)
    carry_unread(old.driver, new.driver)
    assert not new.driver.errors
    # A join that is new reads none of the records, and a dropped one leaves its own unread.
    assert {output.topic for output in new.driver.outputs} == names_of(before) & names_of(after)


def names_of(text: str) -> set[str]:
    return {line.split()[2].upper() for line in text.splitlines() if " AS SELECT " in line}


FORMS = ("AVRO", "JSON", "JSON_SR", "PROTOBUF", "DELIMITED")
REFUSED = {
    "another type of the key": (group_by("a"), program(
        "CREATE TABLE t AS SELECT a, SUM(b) AS n FROM s GROUP BY a;", "DOUBLE")),
    "another argument": (group_by("a"), group_by("a", "SUM(a + b) AS n")),
    "arguments in another order": (
        group_by("c", "SUM(a) AS n, MAX(b) AS m"), group_by("c", "MAX(b) AS m, SUM(a) AS n"),
    ),
    "another column of the same type": (group_by("c", "SUM(a) AS n"), group_by("c", "SUM(b) AS n")),
    "an argument more": (group_by("c", "SUM(a) AS n"), group_by("c", "SUM(a) AS n, MAX(b) AS m")),
    "a joined row's column more": (join_with("s.b"), join_with("s.b, s.c")),
    "another ON": (join_with("s.b"), join_with("s.b").replace("ON s.a", "ON s.b")),
    "another ON of a foreign key": (foreign_join("a"), foreign_join("b")),
    "another ON of a windowed join": (windowed_join("a"), windowed_join("b")),
    "another KEY_FORMAT": (group_under("JSON"), group_under("AVRO")),
    **{f"keys in another order in {form}": (group_under(form), group_under(form, "c, a")) for form in FORMS},
}  # fmt: skip


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("case", REFUSED)
def test_records_with_an_incompatible_format_are_refused(case: str) -> None:
    with pytest.raises(FormatChanged, match=r"-repartition-0 holds .* would be misread"):
        read(*REFUSED[case])


SCHEMAS = {
    "AVRO": '"int"',
    "JSON_SR": '{"type": "integer", "connect.type": "int32"}',
    "PROTOBUF": 'syntax = "proto3"; message K { int32 A = 1; }',
}


@pytest.mark.parametrize("form", SCHEMAS)
def test_key_schema_id_does_not_change_repartitioned_keys(form: str, registry: LocalSubjects) -> None:
    """Only keys in output topics contain a schema id. Keys in repartition topics do not."""
    for schema_id in (77, 78):
        registry.register("given", Schema(SCHEMAS[form]), schema_id=schema_id)
    before, after = (group_under(form, "a", f", KEY_SCHEMA_ID={schema_id}") for schema_id in (77, 78))
    assert read(before, after) == [(2,)]
