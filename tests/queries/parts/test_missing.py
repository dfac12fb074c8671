"""If a part doesn't respond, requests are refused soon, unless they accept partial responses."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from forebay.http.messages import Answer, Request
from forebay.queries.parts.peer import AT_ONCE
from forebay.testing.cell import Cell
from tests.queries.parts.parted import PARTS, SECONDS, Parted, get, keys_of, publish, written_tasks

pytestmark = pytest.mark.long

MISSING = "Forebay-Missing-Parts"


@pytest.fixture
def patience() -> float:
    return SECONDS


def test_without_a_part_its_keys_are_refused_and_the_others_found(parts: Parted) -> None:
    parts.lose(1)
    url = parts.urls[0]
    for task in (0, 2, 3):
        assert get(f"{url}/stores/plain/{keys_of(task, 1)[0]}")[0] == 200
    for task in (1, 4):
        status, body, headers = get(f"{url}/stores/plain/{keys_of(task, 1)[0]}")
        assert (status, body["missing"], headers[MISSING]) == (503, [1], "1")
        assert body["error"].startswith("part 1: ")
        assert "partial=true" in body["error"]
    assert parts.servers[0].value("forebay_queries_forward_failures_total", 1) == 2


def test_a_partial_answer_names_what_is_missing(parts: Parted) -> None:
    parts.lose(1)
    url = parts.urls[2]
    assert get(f"{url}/stores/plain")[0] == 503
    status, body, headers = get(f"{url}/stores/plain?partial=true")
    assert (status, body["missing"], headers[MISSING]) == (200, [1], "1")
    assert {entry["key"] for entry in body["entries"]} == {keys_of(task, 1)[0] for task in (0, 2, 3)}
    assert body["batches"] == {"0": 2, "2": 2, "3": 2}
    status, body, _ = get(f"{url}/stores/plain/{keys_of(1, 1)[0]}?partial=true")
    assert (status, body["entries"], body["missing"]) == (200, [], [1])
    status, body, headers = get(f"{url}/stores/plain/{keys_of(0, 1)[0]}?partial=true")
    assert (status, "missing" in body, MISSING in headers) == (200, False, False)


def test_a_key_is_reported_as_missing_only_if_all_parts_answer(parts: Parted) -> None:
    """A key may be in a different task than that of Kafka's partitioner, so that all parts are asked."""
    parts.lose(1)
    nothing = keys_of(0, 2)[1]
    assert get(f"{parts.urls[0]}/stores/plain/{nothing}")[0] == 503
    status, body, _ = get(f"{parts.urls[0]}/stores/plain/{nothing}?partial=true")
    assert (status, body["missing"]) == (200, [1])
    assert get(f"{parts.whole}/stores/plain/{nothing}?partial=true")[0] == 404


def test_a_part_that_recovers_receives_requests_again(parts: Parted) -> None:
    target = f"{parts.urls[0]}/stores/plain/{keys_of(1, 1)[0]}"
    assert get(target)[0] == 200
    parts.handlers[1] = lambda _: Answer(503, "application/json", b'{"error": "resting"}')
    assert get(target)[1]["error"].startswith("part 1: HTTP 503: resting.")
    parts.unblock_all()
    assert get(target)[0] == 200


def test_a_part_that_hangs_costs_a_bounded_time(parts: Parted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.queries.parts.peer._REST_SECONDS", 60.0)
    go_on = parts.hang(1)
    handler, requests = parts.handlers[1], list[Request]()

    def count_and_answer(request: Request) -> Answer:
        requests.append(request)
        return handler(request)

    parts.handlers[1] = count_and_answer
    begun = time.monotonic()
    status, body, _ = get(f"{parts.urls[0]}/stores/plain")
    assert (status, body["missing"]) == (503, [1])
    assert time.monotonic() - begun >= SECONDS
    status, body, _ = get(f"{parts.urls[0]}/stores/plain?partial=true")
    assert (status, body["missing"]) == (200, [1])
    assert len(requests) == 1, "there is no second request to a part that just hung"
    go_on.set()


def test_many_requests_to_a_part_that_hangs_delay_no_other_request(parts: Parted) -> None:
    go_on = parts.hang(1)
    target = f"{parts.urls[0]}/stores/plain/{keys_of(1, 1)[0]}"
    with ThreadPoolExecutor(40) as threads:
        hanging = [threads.submit(get, target) for _ in range(40)]
        begun = time.monotonic()
        while time.monotonic() - begun < SECONDS * 2:
            time.sleep(0.05)
        asked = time.monotonic()
        assert get(f"{parts.urls[0]}/stores/plain/{keys_of(0, 1)[0]}")[0] == 200
        assert time.monotonic() - asked < SECONDS
        assert {item.result()[0] for item in hanging} == {503}
    assert AT_ONCE < 40
    go_on.set()


def test_parts_that_all_ask_each_other_don_t_wait_for_each_other() -> None:
    """There are more requests than threads, but forwarded requests use separate threads."""
    tasks = written_tasks()
    for task in tasks:
        task.store("plain").put(keys_of(task.task, 1)[0], Cell("1"))
    publish(tasks)
    parts = Parted([task.replica for task in tasks], seconds=20, answers=1)

    def ask(number: int) -> int:
        return get(f"{parts.urls[number % PARTS]}/stores/plain/{keys_of((number + 1) % PARTS, 1)[0]}")[0]

    begun = time.monotonic()
    with ThreadPoolExecutor(30) as threads:
        assert set(threads.map(ask, range(180))) == {200}
    assert time.monotonic() - begun < 20
    parts.close()


def test_a_part_that_still_reads_changelogs_is_missing(parts: Parted) -> None:
    for replica in (parts.tasks[1].replica, parts.tasks[4].replica):
        replica.is_current = False
    for url in parts.urls:
        status, body, _ = get(f"{url}/stores/plain")
        assert (status, body["missing"]) == (503, [1])
        assert "the changelogs are still being read" in body["error"]
        assert get(f"{url}/stores/plain/{keys_of(2, 1)[0]}")[0] == 200
        assert get(f"{url}/stores/plain?partial=true")[1]["missing"] == [1]


def test_parts_that_know_other_numbers_of_tasks_are_not_mixed(parts: Parted) -> None:
    parts.servers[1].stores.tasks = 4
    status, body, _ = get(f"{parts.urls[0]}/stores/plain")
    assert (status, body["missing"]) == (503, [1])
    assert "it has 4 tasks, this server 5" in body["error"]


def test_an_offset_of_a_part_that_is_missing(parts: Parted) -> None:
    parts.lose(1)
    key = keys_of(0, 1)[0]
    asked = f"{parts.urls[0]}/stores/plain/{key}?at_least=events-1:5&wait_ms=100"
    assert get(asked)[1]["missing"] == [1]
    status, body, _ = get(f"{asked}&partial=true")
    assert (status, body["missing"], len(body["entries"])) == (200, [1], 1)
    assert get(f"{parts.urls[0]}/stores/plain/{key}?at_least=events-2:5")[0] == 200


@pytest.mark.parametrize("path", ["/part/read", "/part/wait", "/part/changes?store=plain"])
def test_a_request_forwarded_to_another_part_is_refused(parts: Parted, path: str) -> None:
    for sent in ({}, {"Forebay-Forwarded": "app 1/3"}, {"Forebay-Forwarded": "other 0/3"}):
        status, body, _ = get(parts.urls[0] + path, sent)
        assert status == 421
        assert body["error"].startswith("this is part 0/3 of svc (application app)")
    status, body, _ = get(f"{parts.urls[0]}/part/read", {"Forebay-Forwarded": "app 0/3"}, b"\xc1")
    assert status == 400


def test_a_server_reports_its_identity_and_how_many_parts_answer(parts: Parted) -> None:
    status, body, _ = get(f"{parts.urls[2]}/part")
    assert (status, body) == (200, {"service": "svc", "application": "app", "part": 2, "parts": 3, "tasks": 5})
    server = parts.servers[2]
    assert get(f"{parts.urls[2]}/readyz")[0] == 503
    server.health.working()
    stop = threading.Event()
    server.part.begin(stop)
    status, body, _ = get(f"{parts.urls[2]}/readyz")
    assert (status, body["part"], body["parts"]) == (200, 2, {"answering": 3, "of": 3})
    parts.lose(1)
    deadline = time.monotonic() + 20
    while get(f"{parts.urls[2]}/readyz")[1]["parts"]["answering"] == 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    status, body, _ = get(f"{parts.urls[2]}/readyz")
    assert (status, body["ok"], body["parts"]) == (200, True, {"answering": 2, "of": 3})
    stop.set()
