"""A push query to any part has the changes of all parts, in order for each task, and ends if a part is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import urlopen

import pytest

from forebay.http.messages import Answer
from forebay.queries.events import FOLLOWING
from forebay.stores.keys import join_key
from forebay.testing.cell import Cell
from tests.queries.events import events
from tests.queries.parts.parted import PARTS, SECONDS, TASKS, Parted, get, keys_of
from tests.queries.written import WrittenTask

pytestmark = pytest.mark.long


@pytest.fixture
def patience() -> float:
    return SECONDS


@contextmanager
def following(url: str) -> Iterator[Iterator[tuple[str, Any]]]:
    with urlopen(url, timeout=20) as response:
        yield events(response)


def put(task: WrittenTask, key: str, value: str | None) -> None:
    task.store("plain").put(key, None if value is None else Cell(value))
    task.publish()


def until_followed(parts: Parted, count: int = 1) -> None:
    deadline = time.monotonic() + 20
    while any(server.stores.subscribers != count for server in parts.servers):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("part", range(PARTS))
def test_rows_come_as_from_one_server_and_then_every_change(parts: Parted, part: int) -> None:
    for task in parts.tasks:
        for key in keys_of(task.task, 4):
            put(task, key, key[1:].lstrip("0") or "0")
    with following(f"{parts.whole}/changes/plain?begin=snapshot") as wanted:
        rows = [next(wanted) for _ in range(4 * TASKS + 1)]
    with following(f"{parts.urls[part]}/changes/plain?begin=snapshot") as pushed:
        assert [next(pushed) for _ in rows] == rows
        assert rows[-1] == ("now", {"rows": 4 * TASKS})
        for number in range(30):
            put(parts.tasks[number % TASKS], keys_of(number % TASKS, 1)[0], str(number))
        changes = [next(pushed) for _ in range(30)]
    assert {name for name, _ in changes} == {"change"}
    for at in range(TASKS):
        values = [int(change["value"]["json"]) for _, change in changes if change["task"] == at]
        assert values == list(range(at, 30, TASKS))
    until_followed(parts, 0)


def test_a_push_follows_all_parts_once_it_reports_that_it_follows(parts: Parted) -> None:
    with urlopen(f"{parts.urls[0]}/changes/plain", timeout=20) as response:
        assert response.readline() == b": following\n"
        assert [server.stores.subscribers for server in parts.servers] == [1, 1, 1]


def test_changes_of_a_key(parts: Parted) -> None:
    key = join_key("a", "b")
    for url in parts.urls:
        with following(f"{url}/changes/plain/a/b?begin=snapshot") as pushed:
            assert next(pushed) == ("now", {"rows": 0})
            put(parts.tasks[1], key, "1")
            put(parts.tasks[2], "another", "1")
            put(parts.tasks[3], key, "3")
            results = [next(pushed)[1] for _ in range(2)]
            assert {(change["task"], change["key"]) for change in results} == {(1, key), (3, key)}
        until_followed(parts, 0)
        put(parts.tasks[1], key, None)
        put(parts.tasks[3], key, None)


@pytest.mark.parametrize("begin", ["now", "snapshot"])
def test_a_part_that_is_lost_ends_a_push(parts: Parted, begin: str) -> None:
    with following(f"{parts.urls[0]}/changes/plain?begin={begin}") as pushed:
        until_followed(parts)
        put(parts.tasks[2], "k", "1")
        while next(pushed)[1].get("key") != "k":
            pass
        parts.http[1].close()
        assert next(pushed) == ("end", {"reason": "part lost", "missing": [1]})
        assert list(pushed) == []


def test_a_part_that_hangs_ends_a_push_within_seconds(parts: Parted) -> None:
    go_on = threading.Event()

    def silent() -> Iterator[bytes]:
        yield FOLLOWING
        go_on.wait(30)

    parts.handlers[1] = lambda _: Answer(200, "text/event-stream", silent())
    begun = time.monotonic()
    with following(f"{parts.urls[0]}/changes/plain") as pushed:
        assert list(pushed) == [("end", {"reason": "part lost", "missing": [1]})]
    assert time.monotonic() - begun < 25, "the end came before the part resumed"
    go_on.set()


def test_a_restart_of_the_job_in_a_part_ends_a_push(parts: Parted) -> None:
    with following(f"{parts.urls[0]}/changes/plain") as pushed:
        until_followed(parts)
        parts.servers[2].stores.close()
        assert list(pushed) == [("end", {"reason": "restart", "part": 2})]


def test_a_push_that_accepts_partial_answers_continues_and_reports_missing_parts(parts: Parted) -> None:
    with following(f"{parts.urls[0]}/changes/plain?partial=true") as pushed:
        until_followed(parts)
        parts.http[1].close()
        assert next(pushed) == ("missing", {"missing": [1]})
        put(parts.tasks[2], "k", "1")
        assert next(pushed)[1]["key"] == "k"
    with following(f"{parts.urls[0]}/changes/plain?partial=true&begin=snapshot") as pushed:
        rows = [next(pushed) for _ in range(5)]
        assert [row["task"] for name, row in rows if name == "row"] == [0, 2, 2, 3]
        assert rows[-1] == ("now", {"rows": 4})
        assert next(pushed) == ("missing", {"missing": [1]})


def test_a_push_is_refused_without_a_part(parts: Parted) -> None:
    parts.lose(1)
    status, body, headers = get(f"{parts.urls[0]}/changes/plain")
    assert (status, body["missing"], headers["Forebay-Missing-Parts"]) == (503, [1], "1")
    until_followed(parts, 0)
