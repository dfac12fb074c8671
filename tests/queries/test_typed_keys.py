"""Keys that are not text are shown and requested in the form that logic uses, in every type of store."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from forebay.http.server import HttpServer
from forebay.processor.api import Context, Processor
from forebay.queries.pages import QueryPages
from forebay.records import Record
from forebay.serde.key_formats import composite
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.session import SessionStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.testing.cell import Cell
from tests.queries.events import events
from tests.queries.parts.parted import Parted
from tests.queries.test_over_http import get
from tests.queries.written import WrittenTask, job_of


class Place(Record):
    shop: str
    shelf: int


IDS = sorted((uuid.UUID(int=number << 120) for number in (1, 2, 200)), key=str)
PLACES = [Place(shop="a", shelf=-1), Place(shop="a", shelf=5), Place(shop="b", shelf=0)]


class Typed(Processor[Any, Any]):
    numbers = KeyValueStore("numbers", Cell).with_keys(int)
    flags = KeyValueStore("flags", Cell).with_keys(bool)
    amounts = KeyValueStore("amounts", Cell).with_keys(float)
    raw = KeyValueStore("raw", Cell).with_keys(bytes)
    ids = KeyValueStore("ids", Cell).with_keys(uuid.UUID)
    places = KeyValueStore("places", Cell).with_keys(composite(Place))
    windows = WindowStore("windows", Cell, size_ms=10, retention_ms=100).with_keys(int)
    sessions = SessionStore("sessions", Cell, retention_ms=100).with_keys(int)
    versions = VersionedKeyValueStore("versions", Cell, history_retention_ms=100).with_keys(int)

    def process(self, event: Any, ctx: Context[Any]) -> None:
        raise NotImplementedError


KEYS: dict[str, list[tuple[Any, Any, str]]] = {
    "numbers": [(key, key, str(key)) for key in (-7, 0, 12)],
    "flags": [(key, key, str(key).lower()) for key in (False, True)],
    "amounts": [(key, key, str(key)) for key in (-2.5, 0.0, 1e300)],
    "raw": [(key, key.hex(), key.hex()) for key in (b"\0", b"\x01a", b"\xff")],
    "ids": [(key, str(key), str(key)) for key in IDS],
    "places": [
        (key, {"shop": key.shop, "shelf": key.shelf}, json.dumps({"shop": key.shop, "shelf": key.shelf}))
        for key in PLACES
    ],
}
"""Sorted keys by store, each with its form in JSON and in a URL."""
TIMED = ("windows", "sessions", "versions")


@pytest.fixture
def task() -> WrittenTask:
    task = WrittenTask(processor=Typed)
    for name, keys in KEYS.items():
        for key, _, _ in keys:
            task.store(name).put(key, Cell("1"))
        task.store(name).put("own text", Cell("2"))
    for key in (-3, 4):
        task.store("windows").put(key, Cell("3"), 10)
        task.store("sessions").put(key, 10, 12, Cell("4"))
        task.store("versions").put(key, Cell("5"), 10)
    task.publish()
    return task


@pytest.fixture
def url(task: WrittenTask) -> Iterator[str]:
    job = job_of(task)
    server = HttpServer(QueryPages(lambda: job, silent_seconds=0.05).answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.port}"
    job.close()
    server.close()


def shown_keys(content: Any) -> list[Any]:
    return [entry["key"] for entry in content["entries"]]


@pytest.mark.parametrize("store", KEYS)
def test_a_scan_shows_keys_as_values_in_their_order_and_texts_behind_them(url: str, store: str) -> None:
    assert shown_keys(get(f"{url}/stores/{store}")[1]) == [*(shown for _, shown, _ in KEYS[store]), "own text"]


@pytest.mark.parametrize("store", KEYS)
def test_a_key_is_found_as_it_is_shown(url: str, store: str) -> None:
    for _, shown, text in [*KEYS[store], (None, "own text", '"own text"')]:
        status, content = get(f"{url}/stores/{store}/{quote(text, safe='')}")
        assert (status, shown_keys(content)) == (200, [shown])


@pytest.mark.parametrize("store", KEYS)
def test_ranges_take_keys_as_they_are_shown(url: str, store: str) -> None:
    first, last = KEYS[store][0], KEYS[store][-1]
    query = f"from={quote(first[2])}&to={quote(last[2])}"
    assert shown_keys(get(f"{url}/stores/{store}?{query}")[1]) == [shown for _, shown, _ in KEYS[store]]
    assert shown_keys(get(f"{url}/stores/{store}?from={quote(last[2])}")[1]) == [last[1], "own text"]


@pytest.mark.parametrize("store", KEYS)
def test_pages_follow_each_other(url: str, store: str) -> None:
    keys, more = [], ""
    for _ in range(9):
        _, content = get(f"{url}/stores/{store}?limit=1{more}")
        keys += shown_keys(content)
        if not content["more"]:
            break
        more = f"&after={quote(content['next'])}"
    assert keys == [*(shown for _, shown, _ in KEYS[store]), "own text"]


@pytest.mark.parametrize("store", KEYS)
def test_each_entry_contains_its_key_as_text_for_urls(url: str, store: str) -> None:
    for entry in get(f"{url}/stores/{store}")[1]["entries"]:
        assert get(f"{url}/stores/{store}/{quote(entry['key_text'], safe='')}")[1]["entries"] == [entry]


@pytest.mark.parametrize("store", TIMED)
def test_windows_sessions_and_versions_have_typed_keys(url: str, store: str) -> None:
    assert shown_keys(get(f"{url}/stores/{store}")[1]) == [-3, 4]
    assert shown_keys(get(f"{url}/stores/{store}/-3")[1]) == [-3]


@pytest.mark.parametrize("store", ["windows", "sessions"])
def test_ranges_of_windows_and_sessions_take_typed_keys(url: str, store: str) -> None:
    assert shown_keys(get(f"{url}/stores/{store}?from=0&to=9")[1]) == [4]


def test_only_texts_and_uuids_can_be_queried_by_prefix(url: str) -> None:
    assert shown_keys(get(f"{url}/stores/ids?prefix={str(IDS[2])[:2]}")[1]) == [str(IDS[2])]
    assert shown_keys(get(f"{url}/stores/numbers?prefix=%22own%22")[1]) == ["own text"]
    status, content = get(f"{url}/stores/numbers?prefix=1")
    assert status == 400
    assert "have no prefix: request a range of keys" in content["error"]


@pytest.mark.parametrize(("store", "text"), [("numbers", "x"), ("numbers", "9" * 19), ("ids", "1"), ("places", "{}")])
def test_an_invalid_key_is_refused_with_an_example(url: str, store: str, text: str) -> None:
    status, content = get(f"{url}/stores/{store}/{quote(text, safe='')}")
    assert status == 400
    assert "is not a key of the format" in content["error"]
    assert "write" in content["error"]


def test_a_push_shows_and_takes_typed_keys(url: str, task: WrittenTask) -> None:
    with urlopen(f"{url}/changes/numbers/12?begin=snapshot", timeout=10) as answer:
        pushed = events(answer)
        name, data = next(pushed)
        assert (name, data["key"]) == ("row", 12)
        assert next(pushed) == ("now", {"rows": 1})
        task.store("numbers").put(12, Cell("9"))
        task.store("numbers").put(0, Cell("9"))
        task.publish()
        name, data = next(pushed)
        assert (name, data["key"], data["value"]) == ("change", 12, {"json": "9"})


def test_parts_answer_as_one_server() -> None:
    tasks = [WrittenTask(number, processor=Typed) for number in range(3)]
    for number, task in enumerate(tasks):
        task.store("numbers").put(number - 1, Cell("1"))
        task.publish()
    parted = Parted([task.replica for task in tasks], tasks[0].log, tasks[0].codecs, seconds=20)
    try:
        for part in parted.urls:
            assert shown_keys(get(f"{part}/stores/numbers")[1]) == [-1, 0, 1]
            assert shown_keys(get(f"{part}/stores/numbers/-1")[1]) == [-1]
    finally:
        parted.close()
