"""`POST /sql` answers pull and push queries, SHOW, DESCRIBE and EXPLAIN. Errors have a position and a status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from forebay.builder.keys import Windowed
from forebay.http.messages import Answer, Request
from forebay.http.server import MAX_BODY, HttpServer
from forebay.processor.bound_stores import declared_stores
from forebay.processor.messages import Origin
from forebay.queries.entries import Entry
from forebay.queries.sql_pages import SqlPages
from forebay.queries.stores import Found
from forebay.sql.queryable import queryable
from forebay.stores.values import Stamped
from forebay.testing.contents import contents
from forebay.time.base import Window
from tests.sql.driven import Driven, stream

STATEMENTS = stream("id STRING KEY, n INT") + (
    "CREATE TABLE totals AS SELECT id, COUNT(*) AS c, SUM(n) AS total FROM s GROUP BY id HAVING COUNT(*) < 5;"
    "CREATE TABLE hours AS SELECT id, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 10 MILLISECONDS) GROUP BY id;"
    "CREATE TABLE people (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='people', VALUE_FORMAT='JSON');"
    "CREATE TABLE kept WITH (HISTORY_RETENTION='1 DAY') AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;"
    "CREATE TABLE named AS SELECT totals.id, name, total FROM totals JOIN people ON totals.id = people.id;"
)


class DrivenStores:
    """The stores of a program on the test driver, with the interface of a query server's stores."""

    def __init__(self, driven: Driven) -> None:
        self._driver = driven.driver

    def wait_for(self, store: str, wanted: Any, seconds: float) -> None:
        return

    def ages(self, store: str) -> dict[str, int]:
        return {"commit_age_ms": 7, "checked_age_ms": 3}

    def scan(self, store: str, bounds: Any, limit: int) -> Found:
        (stores,) = filter(None, (sub_topology.stores(store) for sub_topology in self._driver.sub_topologies))
        held = contents(stores, str)  # keys in their stored form
        if isinstance(held, dict):
            results = [Entry(key, record.value, timestamp=record.timestamp) for key, record in held.items()]
        else:
            results = [Entry(w.key, w.value, w.start, w.start + 10, w.timestamp) for w in held]
            low, high = bounds.times
            results = [entry for entry in results if entry.start is not None and low <= entry.start <= high]
        return Found(results[:limit], {0: 3}, len(results) > limit)

    def _versions(self, name: str) -> Any:
        processors = (
            processor for sub_topology in self._driver.sub_topologies for processor in sub_topology.processors
        )
        return next(store for processor in processors for _, store in declared_stores(processor) if store.name == name)

    def get(self, store: str, key: str, bounds: Any, limit: int) -> Found:
        if bounds.as_of is not None:
            version = self._versions(store).get(key, bounds.as_of)
            result = [] if version is None else [Entry(key, version.value, timestamp=version.timestamp)]
            return Found(result, {0: 3})
        result = [entry for entry in self.scan(store, bounds, limit).entries if entry.key == key]
        return Found(result, {0: 3})


class DrivenTail:
    """A reader that returns the records of a topic, and then waits without an end."""

    def __init__(self, records: list[Any]) -> None:
        self._records = records
        self.closed = False

    def __iter__(self) -> Iterator[Any]:
        for offset, (key, value, timestamp) in enumerate(self._records):
            yield key, value, timestamp, Origin(1, offset, [("x", b"1"), ("x", b"2")])
        yield None

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def driven() -> Driven:
    driven = Driven(STATEMENTS, tasks=1)
    for at, (key, n) in enumerate([("a", 1), ("b", 2), ("a", 3), ("c", None)]):
        driven.send("in", key, {"N": n}, at * 5)
    driven.send("people", "a", {"NAME": "anna"}, 50)
    return driven


@pytest.fixture
def tail() -> DrivenTail:
    return DrivenTail([(("a",), (1, 1), 0), (("b",), (1, 2), 5), (("a",), None, 6), (("a",), (2, 4), 10)])


@pytest.fixture
def pages(driven: Driven, tail: DrivenTail) -> SqlPages:
    return SqlPages(queryable(lambda: driven.program), lambda: DrivenStores(driven), lambda *_: tail)  # type: ignore[arg-type, return-value]


def ask(pages: SqlPages, sql: Any, accept: str = "") -> tuple[int, list[Any]]:
    body = sql if isinstance(sql, bytes) else json.dumps(sql if isinstance(sql, dict) else {"sql": sql}).encode()
    answer = pages.answer(Request(("sql",), method="POST", body=body, accept=accept))
    content = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
    if accept:
        return answer.status, content.decode().split("\n\n")
    return answer.status, [json.loads(line) for line in content.decode().split("\n") if line]


def rows(pages: SqlPages, sql: str) -> list[Any]:
    status, lines = ask(pages, sql)
    assert status == 200, lines
    return [line["row"] for line in lines if "row" in line]


PULLS: dict[str, list[Any]] = {
    "SELECT * FROM totals WHERE id = 'a';": [{"ID": "a", "C": 2, "TOTAL": 4}],
    "SELECT total * 2 AS twice FROM totals WHERE id IN ('b', 'a', 'x');": [{"TWICE": 4}, {"TWICE": 8}],
    "SELECT id FROM totals WHERE c > 1;": [{"ID": "a"}],
    "SELECT id, ROWTIME AS t FROM totals LIMIT 2;": [{"ID": "a", "T": 10}, {"ID": "b", "T": 5}],
    "SELECT id, c, WINDOWSTART AS at FROM hours WHERE id = 'a' AND WINDOWSTART >= 10;": [{"ID": "a", "C": 1, "AT": 10}],
    "SELECT * FROM hours WHERE id = 'a';": [
        {"ID": "a", "WINDOWSTART": 0, "WINDOWEND": 10, "C": 1},
        {"ID": "a", "WINDOWSTART": 10, "WINDOWEND": 20, "C": 1},
    ],
    "SELECT *, c AS more FROM hours WHERE id = 'b';": [
        {"ID": "b", "WINDOWSTART": 0, "WINDOWEND": 10, "C": 1, "MORE": 1}
    ],
    "SELECT id FROM hours WHERE WINDOWSTART < '1970-01-01T00:00:00.010';": [{"ID": "a"}, {"ID": "b"}],
    "SELECT * FROM kept FOR SYSTEM_TIME AS OF 9 WHERE id = 'a';": [{"ID": "a", "C": 1}],
    "SELECT * FROM kept FOR SYSTEM_TIME AS OF '1970-01-01T00:00:00.010' WHERE id = 'a';": [{"ID": "a", "C": 2}],
    "SELECT * FROM kept FOR SYSTEM_TIME AS OF 4 WHERE id IN ('a', 'b');": [{"ID": "a", "C": 1}],
    "SELECT * FROM kept WHERE id = 'a';": [{"ID": "a", "C": 2}],
    "SELECT * FROM named;": [{"TOTALS_ID": "a", "NAME": "anna", "TOTAL": 4}],
}


@pytest.mark.parametrize("sql", PULLS)
def test_a_pull(pages: SqlPages, sql: str) -> None:
    got = [{name.replace("TOTALS_", ""): value for name, value in row.items()} for row in rows(pages, sql)]
    want = [{name.replace("TOTALS_", ""): value for name, value in row.items()} for row in PULLS[sql]]
    assert got == want


def test_a_pull_returns_its_columns_and_its_position(pages: SqlPages) -> None:
    _, lines = ask(pages, "SELECT id, c FROM totals LIMIT 1;")
    assert lines[0] == {"columns": [{"name": "ID", "type": "STRING"}, {"name": "C", "type": "BIGINT"}]}
    assert lines[-1] == {"end": {"rows": 1, "more": True, "batches": {"0": 3}, "commit_age_ms": 7, "checked_age_ms": 3}}


def test_a_push_gives_each_change_once_and_ends_at_its_limit(pages: SqlPages, tail: DrivenTail) -> None:
    _, lines = ask(pages, "SELECT * FROM totals WHERE id = 'a' EMIT CHANGES LIMIT 2;")
    assert lines[1:] == [
        {"row": {"ID": "a", "C": 1, "TOTAL": 1}},
        {"tombstone": {"ID": "a"}},
        {"row": {"ID": "a", "C": 2, "TOTAL": 4}},
        {"end": {"rows": 2}},
    ]
    assert tail.closed


def test_a_push_gives_windows_with_a_star(driven: Driven) -> None:
    tail = DrivenTail([(Windowed(("a",), Window(0, 10)), (1,), 5), (Windowed(("a",), Window(0, 10)), None, 6)])
    pages = SqlPages(queryable(lambda: driven.program), lambda: DrivenStores(driven), lambda *_: tail)  # type: ignore[arg-type, return-value]
    assert ask(pages, "SELECT * FROM hours EMIT CHANGES LIMIT 2;")[1][1:3] == [
        {"row": {"ID": "a", "WINDOWSTART": 0, "WINDOWEND": 10, "C": 1}},
        {"tombstone": {"ID": "a", "WINDOWSTART": 0, "WINDOWEND": 10}},
    ]


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ("SELECT * FROM s EMIT CHANGES LIMIT 1;", {"ID": None, "N": 110}),
        ("SELECT n, ROWTIME AS at FROM s WHERE id IS NULL EMIT CHANGES LIMIT 1;", {"N": 110, "AT": 5}),
    ],
)
def test_a_push_gives_records_without_a_key(driven: Driven, sql: str, row: dict[str, Any]) -> None:
    tail = DrivenTail([(None, (110,), 5)])
    pages = SqlPages(queryable(lambda: driven.program), lambda: DrivenStores(driven), lambda *_: tail)  # type: ignore[arg-type, return-value]
    assert ask(pages, sql)[1][1] == {"row": row}


def test_a_push_as_events(pages: SqlPages) -> None:
    _, events = ask(pages, "SELECT c FROM totals EMIT CHANGES LIMIT 1;", "text/event-stream")
    assert events[1] == 'event: row\ndata: {"C":1}'


def test_describe_function_shows_how_it_is_called(pages: SqlPages) -> None:
    calls = [line["row"]["function"] for line in ask(pages, "DESCRIBE FUNCTION instr;")[1][1:-1]]
    assert calls == ["INSTR(STRING, STRING, [INTEGER], [INTEGER])"]
    assert ask(pages, "DESCRIBE FUNCTION TOPK;")[1][1]["row"] == {"function": "TOPK(...)", "kind": "aggregate"}
    assert ask(pages, "DESCRIBE FUNCTION NOTHING;")[0] == 400


def test_show_describe_explain(pages: SqlPages) -> None:
    assert [row["name"] for row in rows(pages, "SHOW TABLES;")] == ["TOTALS", "HOURS", "PEOPLE", "KEPT", "NAMED"]
    for statement in ("SHOW TABLES;", "SHOW TYPES;", "DESCRIBE totals;", "DESCRIBE FUNCTION instr;", "EXPLAIN totals;"):
        assert [line for line in ask(pages, statement)[1] if "end" in line], "otherwise a client takes it for cut off"
    assert rows(pages, "DESCRIBE totals;")[0] == {"column": "ID", "type": "STRING", "role": "key"}
    plan = [row["plan"] for row in rows(pages, "EXPLAIN totals;")]
    assert plan[2:6] == [
        "  select COUNT(*) as C, SUM(S.N) as TOTAL",
        "    keep where (COUNT(*) < 5)",
        "        (COUNT(*):BIGINT < 5)",
        "      aggregate COUNT(*), SUM(S.N)",
    ]


EXPLAINED = {
    "SELECT c FROM totals WHERE id IN ('a', 'b') LIMIT 5;": [
        "pull query of table TOTALS",
        "  columns C BIGINT",
        "  reads keys: 2",
        "  keeps rows where IN(ID, 'a', 'b')",
        "  returns at most 5 rows",
    ],
    "SELECT * FROM totals EMIT CHANGES;": [
        "push query of table TOTALS",
        "  columns ID STRING, C BIGINT, TOTAL INTEGER",
        "  reads all keys",
    ],
    "SELECT n, COUNT(*) AS c FROM s GROUP BY n EMIT CHANGES;": [
        "push query, which computes its result from the topics",
        "  select COUNT(*) as C",
        "    aggregate COUNT(*)",
        "      key S.N (KAFKA), repartition",
        "        read stream S: N",
    ],
}


@pytest.mark.parametrize("select", EXPLAINED)
def test_explain_shows_what_a_select_reads(pages: SqlPages, select: str) -> None:
    assert [row["plan"] for row in rows(pages, f"EXPLAIN {select}")] == EXPLAINED[select]


def test_explain_of_a_windowed_query_shows_the_window_bounds(pages: SqlPages) -> None:
    plan = rows(pages, "EXPLAIN SELECT * FROM hours WHERE WINDOWSTART > 5 AND WINDOWSTART <= 9;")
    assert plan[2] == {"plan": "  reads all keys, windows that start from 6 ms to 9 ms"}


def drawn(pages: SqlPages, sql: str) -> dict[str, set[str]]:
    """Return the labels of the nodes of a plan's graph, by kind."""
    (graph,) = [line["graph"] for line in ask(pages, sql)[1] if "graph" in line]
    ends = {end for arrow in graph["arrows"] for end in (arrow["tail"], arrow["head"])}
    assert ends == {node["id"] for node in graph["nodes"]}
    kinds = {node["kind"] for node in graph["nodes"]}
    return {kind: {node["label"] for node in graph["nodes"] if node["kind"] == kind} for kind in kinds}


def test_explain_includes_the_graph_of_the_query(pages: SqlPages, driven: Driven) -> None:
    whole, one = drawn(pages, "EXPLAIN ALL;"), drawn(pages, "EXPLAIN totals;")
    assert {query.target.topic for query in driven.program.queries} <= whole["topic"]
    assert one["topic"] == {"in", "TOTALS"}
    assert one["store"] < whole["store"]
    _, events = ask(pages, "EXPLAIN totals;", "text/event-stream")
    assert events[-2].startswith("event: graph\ndata: {")


REFUSED: dict[Any, tuple[int, str]] = {
    "EXPLAIN SELECT nothing FROM totals;": (400, "line 1, column 16: there is no column NOTHING"),
    "EXPLAIN SELECT * FROM nothing EMIT CHANGES;": (400, "line 1, column 23: NOTHING does not exist"),
    "SELECT id AS a, c AS a FROM totals;": (400, "line 1, column 17: two columns are called A: give one another name"),
    "SELECT *, id FROM totals EMIT CHANGES;": (400, "line 1, column 11: two columns are called ID: give one another"),
    "SELECT nothing FROM totals;": (400, "line 1, column 8: there is no column NOTHING: write one of ID, C, TOTAL"),
    "SELECT * FROM people;": (400, "declare it with CREATE SOURCE TABLE, follow it with EMIT CHANGES, or query"),
    "SELECT * FROM totals WHERE id = NULL;": (400, "line 1, column 33: the key ID is never NULL"),
    "SELECT * FROM totals WHERE id = NULL EMIT CHANGES;": (400, "can't compare with NULL: write IS NULL"),
    "SELECT * FROM totals WHERE id IN ('a', NULL);": (400, "line 1, column 40: the key ID is never NULL"),
    "SELECT COUNT(*) FROM totals;": (400, "a pull query can't compute COUNT: write CREATE TABLE ... AS SELECT"),
    "SELECT id FROM totals WHERE SUM(c) > 1;": (400, "a pull query can't compute SUM"),
    "SELECT EXPLODE(ARRAY[c]) FROM totals;": (400, "a pull query can't compute EXPLODE: write CREATE STREAM"),
    "SELECT id, COUNT(*) FROM totals GROUP BY id;": (400, "write CREATE TABLE ... AS SELECT"),
    "SELECT id FROM totals; SELECT id FROM totals;": (400, "send one at a time"),
    "CREATE TABLE x AS SELECT id FROM totals;": (400, "change the files and restart the job"),
    "TERMINATE totals;": (400, "run as one job"),
    "SELECT * FROM totals FOR SYSTEM_TIME AS OF 9 WHERE id = 'a';": (
        400,
        "write CREATE TABLE TOTALS WITH (HISTORY_RETENTION",
    ),
    "SELECT * FROM kept FOR SYSTEM_TIME AS OF 9;": (400, "FOR SYSTEM_TIME AS OF needs the keys: add WHERE key"),
    "SELECT * FROM kept FOR SYSTEM_TIME AS OF 'noon' WHERE id = 'a';": (400, "line 1, column 42: 'noon' is not a time"),
    "SELECT * FROM kept FOR SYSTEM_TIME AS OF '+999999999-01-01' WHERE id = 'a';": (
        400,
        "line 1, column 42: '+999999999-01-01' is not a time",
    ),
    "SELECT * FROM kept FOR SYSTEM_TIME AS OF 9 EMIT CHANGES;": (400, "leave FOR SYSTEM_TIME AS OF out"),
    f"SELECT * FROM totals WHERE c = {'(' * 20_000}1;": (400, "line 1, column 96: more than 64 brackets are open here"),
    f"SELECT * FROM totals WHERE {'NOT ' * 200}c = 1;": (400, "nested too deeply"),
    f"SELECT * FROM totals WHERE {'NOT ' * 5_000}c = 1;": (400, "nested too deeply"),
    f"SELECT * FROM totals WHERE id IN ({', '.join(f'{n!r}' for n in map(str, range(1_001)))});": (400, "1001 keys"),
    b'{"sql": ' + b"[" * 60_000: (400, "nested too deeply"),
    b"\xff": (400, "not UTF-8"),
    b'{"sql": 1}': (400, "the body may have the fields sql"),
    b'{"sql": "SHOW TABLES;", "sort": 1}': (400, "unknown fields sort: the body may have"),
    b'{"sql": ': (400, "Expecting value"),
}


@pytest.mark.parametrize("sql", REFUSED)
def test_errors_are_reported(pages: SqlPages, sql: Any) -> None:
    status, text = REFUSED[sql]
    result, (error,) = ask(pages, sql)
    assert result == status
    assert text in error["error"]


def test_a_get_is_refused(pages: SqlPages) -> None:
    assert pages.answer(Request(("sql",))).status == 405


def test_a_body_that_is_too_large_or_has_no_length_is_refused() -> None:
    server = HttpServer(lambda _: Answer(200, "text/plain", b"never"), "127.0.0.1", 0)
    try:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("POST", "/sql", headers={"Content-Length": str(MAX_BODY + 1)})
        assert connection.getresponse().status == 413
        connection.close()
        connection.putrequest("POST", "/sql")
        connection.endheaders()
        assert connection.getresponse().status == 411
        connection.close()
    finally:
        server.close()


def test_rows_of_a_store_are_stamped(driven: Driven) -> None:
    """Pull queries can return ROWTIME because tables store it with each row."""
    store = driven.driver.store("totals")
    assert all(isinstance(item, Stamped) for item in store.values())


@pytest.mark.parametrize(
    "condition",
    [
        "CAST(s AS INT) > 5 OR n = 1",
        "NOT (CAST(s AS INT) = 1)",
        "COALESCE(CAST(s AS INT), 0) = 0",
        "CAST(s AS INT) IS NULL",
        "CASE WHEN CAST(s AS INT) > 5 THEN n = 1 ELSE n = 2 END",
        "n + 1 > 2",
        "IFNULL(n, 1) = 1",
    ],
)
def test_where_of_a_pull_query_matches_that_of_a_persistent_query(condition: str) -> None:
    driven = Driven(
        "CREATE TABLE p (id STRING PRIMARY KEY, s STRING, n INT) WITH (KAFKA_TOPIC='p', VALUE_FORMAT='JSON');"
        "CREATE TABLE whole AS SELECT id, s, n FROM p;"
        f"CREATE TABLE part AS SELECT id, n FROM p WHERE {condition};",
        tasks=1,
    )
    for number, (text, n) in enumerate([("7", 1), ("x", 1), ("x", 2), ("1", 2), (None, None), ("8", None)]):
        driven.send("p", f"key{number}", {"S": text, "N": n}, number)
    asked = SqlPages(queryable(lambda: driven.program), lambda: DrivenStores(driven), lambda *_: None)  # type: ignore[arg-type, return-value]
    assert rows(asked, f"SELECT id FROM whole WHERE {condition};") == rows(asked, "SELECT id FROM part;")
