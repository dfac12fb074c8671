"""The rows of `POST /sql` over parts, with their order and ages, are those of a server with all tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from forebay.queries.replica import TaskReplica
from forebay.queries.sql_pages import SqlPages
from forebay.runtime.changelog.sub_topology_log import sub_topology_log
from forebay.sql.queryable import queryable
from tests.queries.parts.parted import PARTS, Parted, get
from tests.sql.driven import Driven, stream

TASKS = 4
STATEMENTS = stream("id STRING KEY, n INT") + (
    "CREATE TABLE totals AS SELECT id, COUNT(*) AS c, SUM(n) AS total FROM s GROUP BY id;"
    "CREATE TABLE hours AS SELECT id, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 10 MILLISECONDS) GROUP BY id;"
    "CREATE TABLE kept WITH (HISTORY_RETENTION='1 DAY') AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;"
)


@pytest.fixture(scope="module")
def parts() -> Iterator[Parted]:
    driven = Driven(STATEMENTS, tasks=TASKS)
    for at in range(60):
        driven.send("in", f"key-{at % 17}", {"N": at}, at)
    (sub_topology,) = driven.driver.sub_topologies
    log = sub_topology_log("app", 0, sub_topology.processors[0])
    codecs = {store.name: sub_topology.codecs.stores[store.name] for store in log.stores}
    replicas = [TaskReplica(task, log, codecs) for task in range(TASKS)]
    for replica, table in zip(replicas, sub_topology.tables, strict=True):
        replica.is_current, replica.batch, replica._table = True, 7, table
        replica.committed_ms = 1_000 * (1 + replica.task)
    # A part may be slow on a busy machine. Wait long enough, because every part must respond.
    parts = Parted(replicas, log, codecs, seconds=60.0)
    whole = SqlPages(queryable(lambda: driven.program), lambda: parts.all, lambda *_: iter(()))  # type: ignore[arg-type]
    parts.whole_answer = whole.answer
    for part, server in enumerate(parts.servers):
        pages = SqlPages(
            queryable(lambda: driven.program),
            lambda server=server: server.stores,  # type: ignore[misc]
            lambda *_: iter(()),  # type: ignore[arg-type]
            server.part.all,
        )

        def answer(request: Any, server: Any = server, pages: SqlPages = pages) -> Any:
            return pages.answer(request) if request.path == ("sql",) else server.answer(request)

        parts.handlers[part] = answer
    yield parts
    parts.close()


PULLS = (
    "SELECT * FROM totals;",
    "SELECT * FROM totals LIMIT 5;",
    "SELECT c, total FROM totals WHERE c > 3;",
    "SELECT * FROM totals WHERE id = 'key-3';",
    "SELECT * FROM totals WHERE id IN ('key-9', 'key-1', 'none', 'key-5');",
    "SELECT id, c, WINDOWSTART AS at FROM hours;",
    "SELECT id, WINDOWSTART AS at FROM hours WHERE WINDOWSTART >= 20 LIMIT 9;",
    "SELECT c, WINDOWSTART AS at FROM hours WHERE id = 'key-2';",
    "SELECT * FROM kept FOR SYSTEM_TIME AS OF 30 WHERE id IN ('key-2', 'key-16');",
    "SELECT * FROM kept WHERE id = 'key-2';",
    "SELECT * FROM nothing;",
)


def ask(url: str, content: dict[str, Any]) -> tuple[int, list[Any]]:
    status, body, _ = get(f"{url}/sql", body=json.dumps(content).encode())
    return status, body if isinstance(body, list) else [body]


@pytest.mark.parametrize("sql", PULLS)
def test_a_pull_gives_the_same_rows_in_the_same_order(parts: Parted, sql: str) -> None:
    status, wanted = ask(parts.whole, {"sql": sql})
    for url in parts.urls:
        got, body = ask(url, {"sql": sql})
        assert (got, body[:-1]) == (status, wanted[:-1])
        if status == 200:
            end, whole = body[-1]["end"], wanted[-1]["end"]
            assert (end["rows"], end["more"]) == (whole["rows"], whole["more"])
            assert end["batches"].items() <= whole["batches"].items()


def test_the_age_is_that_of_the_oldest_part(parts: Parted) -> None:
    """The parts have the tasks 0 and 3, 1, and 2. Their newest commits are 4, 2 and 3 s after 1970."""
    _, whole = ask(parts.whole, {"sql": "SELECT * FROM totals;"})
    _, body = ask(parts.urls[0], {"sql": "SELECT * FROM totals;"})
    older = body[-1]["end"]["commit_age_ms"] - whole[-1]["end"]["commit_age_ms"]
    assert older >= 2_000


def test_without_a_part_sql_is_refused_or_partial(parts: Parted) -> None:
    handler, parts.handlers[1] = parts.handlers[1], Parted._nobody
    try:
        status, (result,) = ask(parts.urls[0], {"sql": "SELECT * FROM totals;"})
        assert (status, result["missing"]) == (503, [1])
        status, result, headers = get(
            f"{parts.urls[2]}/sql", body=json.dumps({"sql": "SELECT * FROM totals;", "partial": True}).encode()
        )
        assert (status, headers["Forebay-Missing-Parts"], result[-1]["end"]["missing"]) == (200, "1", [1])
        assert set(result[-1]["end"]["batches"]) == {"0", "2", "3"}
        assert get(f"{parts.urls[2]}/sql?partial=true", body=b"SELECT * FROM totals;")[0] == 200
    finally:
        parts.handlers[1] = handler
    assert PARTS == 3
