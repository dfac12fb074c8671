"""An edited program that would misread the rows of a declared table is refused. Harmless edits keep the rows."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.runtime.errors import StoreChanged
from forebay.stores.rows import Rows
from forebay.testing import TestDriver
from tests.sql.driven import Driven
from tests.sql.test_rows_of_0_2 import without_layouts

STREAM = "CREATE STREAM s (k {key} KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');\n"
JOIN = "CREATE STREAM o AS SELECT s.k AS k, {used} FROM s JOIN t ON s.k = t.k;"


def table(
    columns: str = "x INT, y INT", form: str = "JSON", key: str = "STRING", used: str = "x", more: str = ""
) -> str:
    declared = f"k {key} PRIMARY KEY{columns and ', '}{columns}"
    return (
        f"CREATE TABLE t ({declared}) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='{form}'{more});\n"
        + STREAM.format(key=key)
        + JOIN.format(used=used)
    )


def carry(old: TestDriver, new: TestDriver, *, recorded: bool = True) -> None:
    tasks = [task for sub_topology in old.sub_topologies for task in sub_topology.state_tasks]
    rows = {task.place: (list(task.table.scan(b"")), task.position) for task in tasks}
    if not recorded:
        rows = {place: (without_layouts(left), position) for place, (left, position) in rows.items()}
    new.restore(rows)


def results(before: str, after: str, value: Any, key: bytes = b"a", *, recorded: bool = True) -> list[Any]:
    """Return the results of the edited program's join with a table row that the earlier program stored."""
    old, new = Driven(before, tasks=1), Driven(after, tasks=1)
    old.send("t", key, value)
    assert not old.driver.errors
    carry(old.driver, new.driver, recorded=recorded)
    rows = [row for _, row, _ in new.send("s", key, {"n": 1}, 1)]
    assert not new.driver.errors
    return rows


WHOLE = {"X": 1, "Y": 2}
PARTITION = "x, t.ROWPARTITION AS p"
NO_COLUMNS = ""
NOSR = {"form": "PROTOBUF_NOSR"}
KEPT: dict[str, tuple[str, str, Any, tuple[Any, ...]]] = {
    "as it was": (table(), table(), WHOLE, (1,)),
    "a column more": (table(), table("x INT, y INT, z STRING", used="x, z"), WHOLE, (1, None)),
    "a column less": (table(), table("x INT"), WHOLE, (1,)),
    "columns in another order": (table(), table("y INT, x INT"), WHOLE, (1,)),
    "a wider number": (table(), table("x BIGINT, y INT"), WHOLE, (1,)),
    "a number as text": (table(), table("x STRING, y INT"), WHOLE, ("1",)),
    "a column of DELIMITED with another name": (
        table(form="DELIMITED"), table("x INT, z INT", "DELIMITED"), "1,2", (1,),
    ),
    "a column of KAFKA with another name": (
        table("x INT", "KAFKA"), table("z INT", "KAFKA", used="z"), b"\0\0\0\1", (1,),
    ),
    "a wider number in DELIMITED": (table(form="DELIMITED"), table("x BIGINT, y INT", "DELIMITED"), "1,2", (1,)),
    "no columns": (table(), table(NO_COLUMNS, used="s.n"), WHOLE, (1,)),
    "no columns of DELIMITED": (table(form="DELIMITED"), table(NO_COLUMNS, "NONE", used="s.n"), "1,2", (1,)),
    "the first reader of ROWPARTITION": (table(), table(used=PARTITION), WHOLE, (1, None)),
    "every reader of ROWPARTITION as it was": (table(used=PARTITION), table(used=PARTITION), WHOLE, (1, 0)),
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_rows_with_a_compatible_format_are_kept(case: str) -> None:
    before, after, value, expected = KEPT[case]
    assert results(before, after, value.decode() if isinstance(value, bytes) else value) == [expected]


REFUSED: dict[str, tuple[str, str, Any]] = {
    "another format": (table(form="DELIMITED"), table(), "1,2"),
    "JSON as DELIMITED": (table(), table(form="DELIMITED"), WHOLE),
    "KAFKA as JSON": (table("x STRING", "KAFKA"), table("x STRING"), '{"X": "y"}'),
    "another delimiter": (
        table("x STRING, y STRING", "DELIMITED"),
        table("x STRING, y STRING", "DELIMITED", more=", VALUE_DELIMITER=';'"),
        '"a;b",c',
    ),
    "columns of DELIMITED in another order": (table(form="DELIMITED"), table("y INT, x INT", "DELIMITED"), "1,2"),
    "a column of DELIMITED of another type": (table(form="DELIMITED"), table("x DOUBLE, y INT", "DELIMITED"), "1,2"),
    "the last reader of ROWPARTITION removed": (table(used=PARTITION), table(), WHOLE),
    "another format of rows with ROWPARTITION": (table(form="DELIMITED"), table(used=PARTITION), "1,2"),
    "text that is no number": (table("x STRING"), table("x INT"), {"X": "abc"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_rows_with_an_incompatible_format_are_refused_at_the_start(case: str) -> None:
    with pytest.raises(StoreChanged, match=r"store t-table holds rows .*another name.*`forebay reset"):
        results(*REFUSED[case])


def test_refusal_after_removing_a_reader_has_a_remedy() -> None:
    with pytest.raises(StoreChanged, match=r"Y INTEGER; ROWPARTITION INTEGER, but.*a statement that reads the"):
        results(*REFUSED["the last reader of ROWPARTITION removed"])


@pytest.mark.parametrize(("before", "after"), [("INT", "BIGINT"), ("INT", "DOUBLE")])
def test_another_type_of_key_is_refused(before: str, after: str) -> None:
    with pytest.raises(StoreChanged, match=r"store t-table holds keys in the format int, but is .* \w+: "):
        results(table(key=before), table(key=after), WHOLE, b"\0\0\0\1")


def test_another_format_of_keys_is_refused() -> None:
    as_json = table(key="INT").replace("VALUE_FORMAT", "KEY_FORMAT='JSON', VALUE_FORMAT")
    with pytest.raises(
        StoreChanged,
        match=r"store t-table holds keys in the format int, but is .* JSON key",
    ):
        results(table(key="INT"), as_json, WHOLE, b"\0\0\0\1")


@pytest.mark.parametrize("columns", ["x INT, y INT, z STRING", "x INT, z INT"])
def test_columns_of_protobuf_without_a_registry_are_found_by_their_numbers(columns: str) -> None:
    # These bytes are field 1 with the varint 5.
    assert results(table(**NOSR), table(columns, **NOSR), "\x08\x05") == [(5,)]


@pytest.mark.parametrize("columns", ["z STRING, x INT, y INT", "y INT, x INT"])
def test_columns_of_protobuf_with_other_numbers_are_refused(columns: str) -> None:
    with pytest.raises(StoreChanged, match="store t-table holds rows of PROTOBUF_NOSR"):
        results(table(**NOSR), table(columns, **NOSR), "\x08\x05")


def test_rows_of_a_release_that_recorded_no_formats_are_taken_over() -> None:
    assert results(table(), table(), WHOLE, recorded=False) == [(1,)]


def test_column_name_with_a_line_break_is_not_mistaken_for_an_edit() -> None:
    columns = '"x\nvalues", t.ROWPARTITION AS p'
    program = table().replace("x INT", '"x\nvalues" INT').replace("k, x FROM", f"k, {columns} FROM")
    assert results(program, program, {"x\nvalues": 1, "Y": 2}) == [(1, 0)]


def test_rows_behind_the_first_ones_are_decoded_after_an_edit() -> None:
    old, new = Driven(table("x STRING"), tasks=1), Driven(table("x INT"), tasks=1)
    for number in range(150):
        old.send("t", f"{number:03}", {"X": "abc" if number == 149 else "1"})
    with pytest.raises(StoreChanged, match="store t-table holds rows from before an edit"):
        carry(old.driver, new.driver)


def test_rows_are_not_decoded_again_when_a_commit_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = Driven(table("x INT"), tasks=1), Driven(table("x INT, y INT"), tasks=1)
    old.send("t", "a", {"X": 1})
    decoded: list[int] = []

    def note(_rows: Rows[Any], most: int) -> int:
        decoded.append(most)
        return 0

    monkeypatch.setattr(Rows, "decode_first", note)
    carry(old.driver, new.driver)
    assert decoded == [200_000]
    for engine in (engine for sub_topology in new.driver.sub_topologies for engine in sub_topology.engines):
        engine.load(engine.position)
    assert decoded == [200_000]


def test_edited_stores_of_a_task_share_the_limit_of_rows_that_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.stores.layouts._CHECKED_ROWS_OF_EDITS", 10)
    joins = "CREATE STREAM o AS SELECT s.k AS k, u.x FROM s JOIN u ON s.k = u.k JOIN v ON s.k = v.k;"
    declared = "CREATE TABLE {0} (k STRING PRIMARY KEY, {1}) WITH (KAFKA_TOPIC='{0}', VALUE_FORMAT='JSON');\n"
    old, new = (
        Driven("".join(declared.format(name, columns) for name in "uv") + STREAM.format(key="STRING") + joins, tasks=1)
        for columns in ("x INT", "x INT, y INT")
    )
    # The stores share the limit, so the second one may use what the first one does not use.
    for number in range(20):
        old.send("v", str(number), {"X": 1})
    old.send("u", "a", {"X": 1})
    decoded: list[int] = []
    decode_first = Rows.decode_first

    def count(rows: Rows[Any], most: int) -> int:
        decoded.append(decode_first(rows, most))
        return decoded[-1]

    monkeypatch.setattr(Rows, "decode_first", count)
    carry(old.driver, new.driver)
    assert sorted(decoded) == [1, 9]


SIDES = "".join(
    f"CREATE {{kind}} {name} (k STRING {{key}}, a STRING, b STRING) WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON');\n"
    for name in ("s", "other")
)
STREAMS = SIDES.format(kind="STREAM", key="KEY") + (
    "CREATE STREAM j AS SELECT {s}.k AS k, {s}.a AS a, {s}.b AS b, other.k AS l, other.a AS c, other.b AS d "
    "FROM s {s} JOIN other WITHIN 1 HOUR ON {on};"
)
TABLES = SIDES.format(kind="TABLE", key="PRIMARY KEY") + (
    "CREATE TABLE j AS SELECT {s}.k AS k, {s}.a AS a, {s}.b AS b, other.a AS c FROM s {s} LEFT JOIN other ON {on};"
)


@pytest.mark.parametrize(
    ("program", "before", "after"),
    [
        (STREAMS, "{s}.a = other.a", "{s}.b = other.b"),
        (STREAMS, "{s}.a = other.a", "{s}.a = other.b"),
        (STREAMS, "{s}.a = other.a", "UCASE({s}.a) = other.a"),
        (STREAMS, "{s}.k = other.k", "{s}.a = other.k"),
        (TABLES, "{s}.a = other.k", "{s}.b = other.k"),
    ],
)
def test_a_join_by_another_expression_is_refused(program: str, before: str, after: str) -> None:
    old, new, same = (
        Driven(program.format(s=alias, on=on.format(s=alias)), tasks=1)
        for alias, on in (("s", before), ("s", after), ("alias", before))
    )
    for topic in ("s", "other"):
        old.send(topic, "x", {"a": "x", "b": "y"})
    with pytest.raises(StoreChanged, match=r"store j-join-.* holds keys in the format values of .*, but is declared"):
        carry(old.driver, new.driver)
    carry(old.driver, same.driver)
    assert same.send("other", "x", {"a": "x", "b": "z"})


THREE = "".join(
    f"CREATE STREAM {name} (k STRING KEY, a STRING) WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON');\n"
    for name in "suv"
)


@pytest.mark.parametrize(("on", "is_same"), [("{s}.k = v.k", True), ("{u}.k = v.k", False)])
def test_aliases_of_sources_with_equal_columns_may_change(on: str, is_same: bool) -> None:
    def program(s: str, u: str, on: str) -> str:
        return THREE + (
            f"CREATE STREAM o AS SELECT {s}.k AS k, {s}.a AS a, {u}.a AS b, v.a AS c FROM s {s} "
            f"JOIN u {u} WITHIN 1 HOUR ON {s}.k = {u}.k JOIN v WITHIN 1 HOUR ON {on.format(s=s, u=u)};"
        )

    old, new = Driven(program("s", "u", "{s}.k = v.k"), tasks=1), Driven(program("x", "y", on), tasks=1)
    for topic in "suv":
        old.send(topic, "x", {"a": topic})
    if is_same:
        carry(old.driver, new.driver)
        assert new.send("v", "x", {"a": "w"})
    else:
        with pytest.raises(StoreChanged, match="holds keys in the format values of"):
            carry(old.driver, new.driver)


def test_groups_whose_keys_contain_another_name_are_refused() -> None:
    counts = STREAM.format(key="STRING") + (
        "CREATE TABLE c WITH (KEY_FORMAT='JSON') AS SELECT k, n AS number, COUNT(*) AS total FROM s GROUP BY k, n;"
    )
    old, new = (Driven(program, tasks=1) for program in (counts, counts.replace("number", "named")))
    old.send("s", "a", {"n": 1})
    with pytest.raises(StoreChanged, match=r"store c holds keys .*\(the column NUMBER is NAMED now"):
        carry(old.driver, new.driver)
