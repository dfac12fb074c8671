"""The console responds over HTTP: keys of every type, tokens, missing resources, and its own pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from forebay.http.messages import Request
from forebay.queries.stores import JobStores
from forebay.stores.keys import join_key
from forebay.testing.cell import Cell
from tests.console.watching import Console
from tests.queries.written import WrittenTask, job_of

pytestmark = pytest.mark.long

PAGES = files("forebay.console") / "pages"
ODD = ['"quoted"', "it's", "a/b", "../up", "zero\0byte", "<img src=x onerror=alert(1)>", "ü?#&%", " ", "\u202eturned"]
TOKEN = "0123456789abcdef"
QUERIES = "/api/jobs/user-sessions/q"


@pytest.fixture
def task() -> WrittenTask:
    task = WrittenTask()
    task.publish()
    return task


@pytest.fixture
def stores(task: WrittenTask) -> JobStores:
    return job_of(task)


@pytest.fixture
def console(stores: JobStores) -> Iterator[Console]:
    console = Console(["http://127.0.0.1:1"], stores)
    yield console
    console.close()


def test_a_key_of_any_characters_is_found(console: Console, task: WrittenTask) -> None:
    for key in ODD:
        task.store("plain").put(key, Cell('"<b>"'))
    task.publish()
    for key in ODD:
        status, body = console.get(f"{QUERIES}/stores/plain/{quote(key, safe='')}")
        assert status == 200, body
        assert [(entry["key"], entry["value"]) for entry in body["entries"]] == [(key, {"json": '"<b>"'})]


def test_a_key_of_several_fields_and_parameters_are_forwarded(console: Console, task: WrittenTask) -> None:
    task.store("windows").put(join_key("a/1", "cpu"), Cell("1"), 10)
    task.publish()
    _, body = console.get(f"{QUERIES}/stores/windows/a%2F1/cpu?since=0&until=1970-01-01T00:00:01Z")
    assert body["entries"][0]["key_parts"] == ["a/1", "cpu"]
    status, refused = console.get(f"{QUERIES}/stores/windows/a?prefix=x")
    assert (status, "it takes" in refused["error"]) == (400, True)


def test_a_store_without_a_key_is_read_a_page_at_a_time(console: Console, task: WrittenTask) -> None:
    for number in range(250):
        task.store("plain").put(f"key-{number:03}", Cell("1"))
    task.publish()
    _, body = console.get(f"{QUERIES}/stores/plain?limit=100")
    assert (len(body["entries"]), body["more"], body["next"]) == (100, True, "key-099")
    _, body = console.get(f"{QUERIES}/stores/plain?limit=100&after=key-199")
    assert (len(body["entries"]), body["more"]) == (50, False)


def test_changes_are_forwarded_as_they_arrive(console: Console, task: WrittenTask) -> None:
    with urlopen(f"{console.url}{QUERIES}/changes/plain/k?begin=snapshot", timeout=10) as pushed:
        assert pushed.readline() == b"event: now\n"
        task.store("plain").put("k", Cell("7"))
        task.publish()
        line = next(line for line in pushed if line.startswith(b'data: {"task"'))
    assert b'"key": "k"' in line


def test_without_the_token_only_the_page_itself_is_served(stores: JobStores) -> None:
    console = Console(["http://127.0.0.1:1"], stores, TOKEN.encode())
    for token in ("", "wrong-wrong-wrong-wrong"):
        for path in ("/api/jobs", f"{QUERIES}/stores", "/api/jobs/user-sessions/topics"):
            status, body = console.get(path, token)
            assert (status, "a token is required" in body["error"]) == (401, True)
    with urlopen(console.url) as page:
        assert b"<!doctype html>" in page.read()
    # The query server requires the same token, so the console forwards it.
    assert console.get(f"{QUERIES}/stores", TOKEN)[0] == 200
    console.close()


def test_an_unknown_name_is_reported_with_the_known_ones(console: Console) -> None:
    assert console.get("/api/jobs/none") == (
        404,
        {"error": "the console watches no job 'none': choose from user-sessions"},
    )
    status, body = console.get("/api/jobs/user-sessions/records/secrets")
    assert (status, "is not a topic of user-sessions: choose from user_activity" in body["error"]) == (404, True)
    status, body = console.get("/api/nothing")
    assert (status, "try /api/jobs" in body["error"]) == (404, True)
    status, body = console.get("/api/jobs/user-sessions/records/user_activity?last=1000000")
    assert (status, body["error"]) == (400, "last=1000000: specify a number from 1 to 500")


def test_an_unreachable_query_server_is_reported(console: Console) -> None:
    console.queries.close()
    status, body = console.get(f"{QUERIES}/stores")
    assert (status, "start it with `forebay queries SERVICE`" in body["error"]) == (502, True)


def test_topics_are_listed_by_what_they_are(console: Console) -> None:
    _, body = console.get("/api/jobs/user-sessions/topics")
    roles = {topic["name"]: topic["role"] for topic in body["topics"]}
    assert roles["user_activity"] == "input"
    assert roles["user-sessions.errors"] == "errors"
    assert roles["user-sessions-user-profiles-changelog"] == "changelog"


def test_the_pages_are_small_and_can_not_run_scripts_of_other_hosts(console: Console) -> None:
    sizes = {file.name: len(file.read_bytes()) for file in PAGES.iterdir()}
    assert sum(sizes.values()) <= 150_000, sizes
    with urlopen(console.url) as page:
        policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for name in ("app.js", "style.css", "icon.svg"):
        with urlopen(f"{console.url}/{name}") as file:
            assert file.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("name", sorted(file.name for file in PAGES.iterdir()))
def test_a_page_escapes_data_and_requests_nothing_from_other_hosts(name: str) -> None:
    text = (PAGES / name).read_text()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser", text
    )
    foreign = set(re.findall(r"https?://[\w.]+", text)) - {"http://www.w3.org", "http://HOST"}
    assert not foreign


def test_a_path_of_the_console_s_own_files_does_not_reach_others(console: Console) -> None:
    for path in (("..", "server.py"), ("server.py",), ("pages", "app.js"), ("../server.py",)):
        assert console._pages.get(Request(path).path) is None
