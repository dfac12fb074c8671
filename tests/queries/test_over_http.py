"""Queries over HTTP, as users send them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from forebay.http.messages import Answer, Request
from forebay.http.server import HttpServer
from forebay.queries.pages import QueryPages
from forebay.queries.stores import JobStores
from forebay.stores.keys import join_key
from forebay.testing.cell import Cell
from tests.queries.events import events
from tests.queries.written import WrittenTask

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def jobs() -> list[JobStores]:
    return []


@pytest.fixture(scope="module")
def server(jobs: list[JobStores]) -> Iterator[HttpServer]:
    server = HttpServer(QueryPages(lambda: jobs[-1], silent_seconds=0.05).answer, HOST, 0)
    yield server
    server.close()


@pytest.fixture
def url(server: HttpServer, jobs: list[JobStores], job: JobStores) -> Iterator[str]:
    jobs.append(job)
    yield f"http://{HOST}:{server.port}"
    job.close()


def get(url: str) -> tuple[int, Any]:
    try:
        with urlopen(url, timeout=10) as response:
            return response.status, json.load(response)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_the_stores_are_listed(url: str) -> None:
    status, body = get(f"{url}/stores")
    assert status == 200
    assert body["stores"][0] == {"store": "plain", "kind": "key-value", "record": "Cell", "stage": 0}
    assert len(body["stores"]) == 9


def test_a_key_is_read(url: str, task: WrittenTask) -> None:
    task.store("plain").put("a/ü?", Cell("1"))
    task.publish()
    assert get(f"{url}/stores/plain/a%2F%C3%BC%3F") == (
        200,
        {"entries": [{"key": "a/ü?", "value": {"json": "1"}}], "batches": {"0": 2}, "more": False},
    )
    status, body = get(f"{url}/stores/plain/b")
    assert (status, body) == (404, {"error": "store plain has nothing under the key 'b'", "batches": {"0": 2}})


def test_a_key_of_several_fields_is_a_path_of_several_parts(url: str, task: WrittenTask) -> None:
    task.store("windows").put(join_key("server-1", "cpu"), Cell("1"), 10)
    task.publish()
    status, body = get(f"{url}/stores/windows/server-1/cpu?since=0&until=1970-01-01T00:00:01Z")
    assert status == 200
    (entry,) = body["entries"]
    assert entry["key_parts"] == ["server-1", "cpu"]
    assert (entry["start"], entry["end"], entry["timestamp"]) == (10, 20, 10)


def test_pages_follow_each_other(url: str, task: WrittenTask) -> None:
    for key in "abcde":
        task.store("plain").put(key, Cell(key))
    task.publish()
    keys: list[str] = []
    target = f"{url}/stores/plain?limit=2"
    for _ in range(3):
        _, page = get(target)
        keys += [entry["key"] for entry in page["entries"]]
        target = f"{url}/stores/plain?limit=2&after={page.get('next')}"
    assert keys == list("abcde")
    assert "next" not in page


@pytest.mark.parametrize(
    ("target", "status", "message"),
    [
        ("/", 404, "try /stores"),
        ("/stores/plane", 404, "there is no store 'plane': choose from plain"),
        ("/changes/plane", 404, "there is no store 'plane': choose from plain"),
        ("/stores/waiting", 400, "can't be queried"),
        ("/changes/waiting", 400, "can't be queried"),
        ("/stores?limit=1", 400, "there is no parameter limit"),
        ("/stores/plain?form=a", 400, "there is no parameter form: choose from from, to, after"),
        ("/stores/plain?limit=0", 400, "limit=0: specify a number from 1 to 10000"),
        ("/stores/plain?limit=x", 400, "limit=x: specify a number"),
        ("/stores/plain?order=up", 400, "order=up: choose from asc, desc"),
        ("/stores/plain?from=a&from=b", 400, "from occurs 2 times"),
        ("/stores/plain?since=1", 400, "does not have the parameter time_from"),
        ("/stores/windows?since=2025-01-01", 400, "a date and time with its zone"),
        ("/stores/windows?since=yesterday", 400, "specify ms since the epoch"),
        ("/stores/plain?at_least=events", 400, "specify topic-partition:offset"),
        (
            "/stores/plain?at_least=events-0:10&wait_ms=10",
            503,
            "the server has not read the effects of events-0:10 yet",
        ),
        ("/changes/plain?begin=never", 400, "begin=never: choose from now, snapshot"),
    ],
)
def test_bad_queries_are_rejected_with_the_remedy(url: str, target: str, status: int, message: str) -> None:
    result, content = get(url + target)
    assert result == status
    assert message in content["error"]


def test_a_read_waits_for_an_offset(url: str, task: WrittenTask, job: JobStores) -> None:
    task.store("plain").put("a", Cell("1"))
    answers: list[tuple[int, Any]] = []
    target = f"{url}/stores/plain/a?at_least=events-0:10&wait_ms=30000"
    reader = threading.Thread(target=lambda: answers.append(get(target)))
    reader.start()
    task.publish()
    job.round_is_over()
    reader.join(30)
    assert answers[0][0] == 200


def test_changes_are_pushed_after_the_rows(url: str, task: WrittenTask, job: JobStores) -> None:
    task.store("plain").put("a", Cell("1"))
    task.publish()
    with urlopen(f"{url}/changes/plain?begin=snapshot", timeout=10) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        pushed = events(response)
        assert next(pushed) == ("row", {"task": 0, "batch": 2, "key": "a", "value": {"json": "1"}})
        assert next(pushed) == ("now", {"rows": 1})
        task.store("plain").put("a", None)
        task.publish()
        assert next(pushed) == ("change", {"task": 0, "batch": 3, "key": "a", "value": None})
        job.close()
        assert next(pushed) == ("end", {"reason": "restart"})
        assert list(pushed) == []
    assert job.subscribers == 0


def test_a_disconnected_client_is_detected_without_any_change(url: str, task: WrittenTask, job: JobStores) -> None:
    left = threading.Event()
    leave = job.unsubscribe
    job.unsubscribe = lambda subscription: (leave(subscription), left.set())  # type: ignore[method-assign,assignment,func-returns-value]
    with urlopen(f"{url}/changes/plain", timeout=10) as response:
        assert response.readline().startswith(b": ")
    assert left.wait(30)
    assert job.subscribers == 0


def test_a_request_is_decoded_part_by_part() -> None:
    assert Request.of("/stores/a%2Fb/%C3%BC?x=1&x=%26&y=") == Request(
        ("stores", "a/b", "ü"), {"x": ["1", "&"], "y": [""]}
    )


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/", ("",)),
        ("/stores/", ("stores",)),
        ("/stores/s", ("stores", "s")),
        ("/stores/s/", ("stores", "s", "")),
        ("/stores/s/a/", ("stores", "s", "a", "")),
        ("/stores/s//a", ("stores", "s", "", "a")),
    ],
)
def test_a_slash_at_the_end_of_a_key_adds_an_empty_field(target: str, path: tuple[str, ...]) -> None:
    assert Request.of(target).path == path


def test_an_empty_key_is_read_and_followed(url: str, task: WrittenTask) -> None:
    for number, key in enumerate(("", "a")):
        task.store("plain").put(key, Cell(str(number)))
    task.publish()
    _, body = get(f"{url}/stores/plain/")
    assert body["entries"] == [{"key": "", "value": {"json": "0"}}]
    with urlopen(f"{url}/changes/plain/?begin=snapshot", timeout=10) as response:
        pushed = events(response)
        assert next(pushed) == ("row", {"task": 0, "batch": 2, "key": "", "value": {"json": "0"}})
        assert next(pushed) == ("now", {"rows": 1})


def test_a_streamed_answer_is_sent_piece_by_piece() -> None:
    go_on = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b"first\n"
        assert go_on.wait(30)
        yield b"second\n"

    server = HttpServer(lambda _: Answer(200, "text/plain", pieces()), HOST, 0)
    try:
        with urlopen(f"http://{HOST}:{server.port}/", timeout=10) as response:
            assert response.readline() == b"first\n"
            go_on.set()
            assert response.read() == b"second\n"
    finally:
        server.close()
