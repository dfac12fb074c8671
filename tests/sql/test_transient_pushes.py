"""Push queries with joins and groups run their own topology over the topics until the response ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from forebay.codec import Unavailable
from forebay.http.messages import Request
from forebay.queries import sql_pushes, transient_run
from forebay.queries.sql_pages import SqlPages
from forebay.sql.program import program_of
from forebay.sql.queryable import queryable
from forebay.testing.shown import PipedRecord
from tests.sql.driven import stream

PROGRAM = stream("id STRING KEY, n INT, words ARRAY<STRING>") + (
    "CREATE STREAM other (id STRING KEY, m INT) WITH (KAFKA_TOPIC='other', VALUE_FORMAT='JSON');"
    "CREATE TABLE people (id STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='people', VALUE_FORMAT='JSON');"
    "CREATE TABLE sizes (id STRING PRIMARY KEY, size INT) WITH (KAFKA_TOPIC='sizes', VALUE_FORMAT='JSON');"
    "CREATE TABLE totals WITH (KAFKA_TOPIC='totals') AS SELECT id, SUM(n) AS total FROM s GROUP BY id;"
    "CREATE TABLE framed (k STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='framed', VALUE_FORMAT='JSON', "
    "WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 SECOND');"
)
Sent = tuple[str, str | None, Any, int]
S: list[Sent] = [("in", "a", {"N": 1}, 1), ("in", "b", {"N": 2}, 2), ("in", "a", {"N": 3}, 1_500)]
PEOPLE: list[Sent] = [("people", "a", {"NAME": "anna"}, 0), ("people", "a", None, 3_000)]


class Topics:
    """A reader that returns the records of topics one by one, and then None, as while it waits."""

    partitions = 2

    def __init__(self, sent: Sequence[Sent], names: Sequence[str], from_beginning: bool) -> None:
        self.names, self.from_beginning, self.is_closed = names, from_beginning, False
        self._sent = sent

    def __iter__(self) -> Iterator[list[PipedRecord] | None]:
        for offset, (topic, key, value, timestamp) in enumerate(self._sent):
            assert topic in self.names
            data = None if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
            raw = None if key is None else key.encode()
            # Offsets have gaps, as in a compacted topic.
            yield [PipedRecord(topic, 7 + 3 * offset, raw, data, timestamp, [], 1)]
        yield None

    def close(self) -> None:
        self.is_closed = True


class Server:
    """The SQL pages of a query server over some records."""

    def __init__(self, sent: Sequence[Sent]) -> None:
        self.watched: list[Topics] = []

        def watch(names: Sequence[str], from_beginning: bool) -> Topics:
            self.watched.append(Topics(sent, names, from_beginning))
            return self.watched[-1]

        program = queryable(lambda: program_of(PROGRAM, "test.sql"))
        self.pages = SqlPages(program, list, Topics, watch=watch)  # type: ignore[arg-type]

    def ask(self, sql: str, **more: Any) -> tuple[int, list[Any]]:
        body = json.dumps({"sql": sql, **more}).encode()
        answer = self.pages.answer(Request(("sql",), method="POST", body=body))
        content = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        return answer.status, [json.loads(line) for line in content.decode().split("\n") if line]


def lines(sql: str, sent: Sequence[Sent]) -> list[Any]:
    """Return rows as lists, and deleted rows as dicts."""
    status, answer = Server(sent).ask(sql)
    assert status == 200, answer
    cells = [list(line["row"].values()) if "row" in line else line.get("tombstone") for line in answer[1:-1]]
    assert answer[-1] == {"end": {"rows": sum(isinstance(cell, list) for cell in cells)}}
    return cells


ANSWERS: dict[str, tuple[list[Sent], list[Any]]] = {
    "SELECT COUNT(*) AS c, SUM(n) AS total FROM s EMIT CHANGES;": (S, [[1, 1], [2, 3], [3, 6]]),
    "SELECT id, SUM(n) AS total FROM s GROUP BY id EMIT CHANGES;": (S, [["a", 1], ["b", 2], ["a", 4]]),
    "SELECT SUM(n) AS total FROM s GROUP BY id HAVING SUM(n) > 1 EMIT CHANGES;": (S, [[2], [4]]),
    "SELECT id FROM s GROUP BY id EMIT CHANGES LIMIT 2;": (S, [["a"], ["b"]]),
    "SELECT WINDOWSTART AS at, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id EMIT CHANGES;": (
        S,
        [[0, 1], [0, 1], [1_000, 1]],
    ),
    "SELECT id, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id EMIT FINAL;": (
        [*S, ("in", "c", {"N": 1}, 90_000)],
        [["a", 1], ["b", 1], ["a", 1]],
    ),
    "SELECT n, id FROM s PARTITION BY n EMIT CHANGES;": (S, [[1, "a"], [2, "b"], [3, "a"]]),
    "SELECT id FROM s PARTITION BY n EMIT CHANGES LIMIT 1;": (S, [["a"]]),
    "SELECT id, EXPLODE(words) AS word FROM s EMIT CHANGES;": (
        [("in", "a", {"WORDS": ["x", "y"]}, 1)],
        [["a", "x"], ["a", "y"]],
    ),
    "SELECT name, n FROM s LEFT JOIN people ON s.id = people.id EMIT CHANGES;": (
        [*PEOPLE, *S],
        [[None, 1], [None, 2], [None, 3]],
    ),
    "SELECT n, m, s.ROWPARTITION AS p, other.ROWOFFSET AS o FROM s JOIN other WITHIN 1 SECOND ON s.id = other.id "
    "EMIT CHANGES;": ([*S, ("other", "a", {"M": 9}, 1_400)], [[3, 9, 1, 16]]),
    "SELECT name, size FROM people JOIN sizes ON people.id = sizes.id EMIT CHANGES;": (
        [PEOPLE[0], ("sizes", "a", {"SIZE": 5}, 1), PEOPLE[1]],
        [["anna", 5], {}],
    ),
    "SELECT people.id AS k, name, size FROM people JOIN sizes ON people.id = sizes.id EMIT CHANGES;": (
        [PEOPLE[0], ("sizes", "a", {"SIZE": 5}, 1), PEOPLE[1]],
        [["a", "anna", 5], {"K": "a"}],
    ),
    # If a source is the result of a query of the job, the push query reads its topic.
    "SELECT total, name FROM totals JOIN people ON totals.id = people.id EMIT CHANGES;": (
        [PEOPLE[0], ("totals", "a", {"TOTAL": 7}, 1)],
        [[7, "anna"]],
    ),
    "SELECT COUNT(*) AS c FROM people EMIT CHANGES;": (PEOPLE, [[1], [0]]),
    # Records that do not fit the declaration are skipped.
    "SELECT COUNT(*) AS c, MAX(n) AS most FROM s EMIT CHANGES;": ([("in", "a", b"{", 1), S[1]], [[1, 2]]),
}


@pytest.mark.parametrize("sql", ANSWERS)
def test_rows_change_as_records_come(sql: str) -> None:
    sent, wanted = ANSWERS[sql]
    assert lines(sql, sent) == wanted


def test_an_answer_reads_its_sources_topics_and_closes_them() -> None:
    server = Server([])
    sql = "SELECT total, name FROM totals JOIN people ON totals.id = people.id EMIT CHANGES;"
    server.ask(sql, from_beginning=True)
    server.ask(sql)
    assert [sorted(topics.names) for topics in server.watched] == [["people", "totals"]] * 2
    assert [topics.from_beginning for topics in server.watched] == [True, False]
    assert all(topics.is_closed for topics in server.watched)


def test_abandoned_answer_closes_its_topics() -> None:
    server = Server(S)
    answer = server.pages.answer(Request(("sql",), method="POST", body=b"SELECT COUNT(*) AS c FROM s EMIT CHANGES;"))
    (topics,) = server.watched
    assert not topics.is_closed
    del answer
    assert topics.is_closed


def test_more_queries_than_the_limit_are_refused_until_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_pushes, "_PLACES", threading.Semaphore(1))
    server, sql = Server(S), "SELECT COUNT(*) AS c FROM s EMIT CHANGES;"
    answer = server.pages.answer(Request(("sql",), method="POST", body=sql.encode()))
    status, (line,) = server.ask(sql)
    assert (status, "MOST_TOPOLOGIES" in line["error"]) == (503, True)
    del answer
    assert server.ask(sql)[0] == 200


def test_servers_of_a_process_share_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_pushes, "_PLACES", threading.Semaphore(1))
    sql = "SELECT COUNT(*) AS c FROM s EMIT CHANGES;"
    answer = Server(S).pages.answer(Request(("sql",), method="POST", body=sql.encode()))
    assert Server(S).ask(sql)[0] == 503
    del answer


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS c FROM s WHERE n > 100 EMIT CHANGES;",
        "SELECT n, m FROM s JOIN other WITHIN 1 SECOND ON s.id = other.id EMIT CHANGES;",
    ],
)
def test_query_without_results_sends_keepalives(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The server detects only when it sends something that the client has disconnected.
    monkeypatch.setattr(sql_pushes, "_SIGN_SECONDS", 0.0)
    answer = Server(S).pages.answer(Request(("sql",), method="POST", body=sql.encode()))
    assert not isinstance(answer.body, bytes)
    assert sum(piece.strip() == b"" for piece in answer.body) > len(S)


@pytest.mark.parametrize(
    ("sql", "sent"),
    [
        ("SELECT n, id FROM s PARTITION BY n EMIT CHANGES;", ("in", "a", None, 1)),
        ("SELECT id, EXPLODE(words) AS word FROM s EMIT CHANGES;", ("in", None, None, 1)),
        ("SELECT id, n FROM s WHERE n IS NULL PARTITION BY n EMIT CHANGES;", ("in", "a", None, 1)),
    ],
)
def test_a_record_without_a_value_does_not_end_the_answer(sql: str, sent: Sent) -> None:
    answer = Server([sent, *S]).ask(sql)[1]
    assert "end" in answer[-1]


def test_an_outage_ends_the_answer_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_self: Topics) -> Iterator[list[PipedRecord] | None]:
        yield None
        raise Unavailable("the broker is gone: ask again")

    monkeypatch.setattr(Topics, "__iter__", fail)
    _, answer = Server(S).ask("SELECT COUNT(*) AS c FROM s EMIT CHANGES;")
    assert answer[-1] == {"error": "the broker is gone: ask again"}


def test_closed_windows_are_removed_from_state(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[transient_run.TransientRun] = []
    begin = transient_run.TransientRun.__init__

    def note(self: transient_run.TransientRun, *args: Any) -> None:
        begin(self, *args)
        runs.append(self)

    monkeypatch.setattr(transient_run.TransientRun, "__init__", note)
    sent: list[Sent] = [("in", f"k{n}", {"N": n}, n * 1_000) for n in range(200)]
    sql = "SELECT id, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id EMIT FINAL;"
    assert Server(sent).ask(sql)[1][-1]["end"]["rows"] > 100
    (run,) = runs
    assert sum(len(list(log.records(0))) for log in run._loop.topics.changelogs.values()) == 0


def test_too_much_state_ends_the_answer_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transient_run, "STATE_BYTES", 1)
    server = Server(S)
    _, answer = server.ask("SELECT COUNT(*) AS c FROM s GROUP BY id EMIT CHANGES;")
    assert "limit STATE_BYTES" in answer[-1]["error"]
    assert server.watched[0].is_closed


def test_a_record_that_exceeds_a_limit_ends_the_answer_with_an_error() -> None:
    _, answer = Server([("in", "a", {"N": 1 << 30}, 1)]).ask(
        "SELECT COUNT(LPAD('x', n, 'y')) AS c FROM s GROUP BY id EMIT CHANGES;"
    )
    assert "TEXT_LETTERS" in answer[-1]["error"]


REFUSED = {
    "SELECT COUNT(*) AS c, n FROM s EMIT CHANGES;": "the column N has many values in a group",
    "SELECT COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 1 SECOND) EMIT CHANGES;": "a WINDOW needs GROUP BY",
    "SELECT COUNT(*) AS c FROM s GROUP BY id EMIT FINAL;": "EMIT FINAL returns the last result of each window",
    "SELECT n FROM s EMIT FINAL;": "EMIT FINAL returns the last result of each window",
    "SELECT * FROM s JOIN other ON s.id = other.id EMIT CHANGES;": "a join of two streams needs a time limit",
    "SELECT COUNT(nothing) AS c FROM s GROUP BY id EMIT CHANGES;": "there is no column NOTHING",
    "SELECT COUNT(*) AS c FROM s GROUP BY id;": "a pull query can't compute GROUP BY",
    "SELECT * FROM framed JOIN people ON framed.n = people.id EMIT CHANGES;": "tables with windows have no join by a",
    "SELECT * FROM sizes JOIN framed ON sizes.size = framed.k EMIT CHANGES;": "tables with windows have no join by a",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_can_not_be_computed_is_refused_with_its_place(sql: str) -> None:
    status, (line,) = Server(S).ask(sql)
    assert status == 400
    assert line["error"].startswith("line 1, column ")
    assert REFUSED[sql] in line["error"]
