"""Every part responds to every request exactly like a server with all tasks."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from forebay.testing.cell import Cell
from tests.queries.parts.conftest import JOINED, KEYS
from tests.queries.parts.parted import PARTS, TASKS, Parted, get, keys_of, owner
from tests.queries.written import WrittenTask

KEY_STORES = ("plain", "stamped", "expiring", "recent", "sessions", "versions", "lists")
OF_ALL = (
    *(f"/stores/{store}?limit={limit}" for store in (*KEY_STORES, "windows") for limit in (1, 7, 100)),
    *(f"/stores/{store}?order=desc&limit=9" for store in ("plain", "stamped", "windows", "sessions")),
    "/stores",
    "/stores/plain?from=k0002&to=k0030",
    "/stores/plain?prefix=k001&limit=3",
    "/stores/plain?prefix=k001&order=desc",
    "/stores/plain?after=k0005&limit=4",
    "/stores/windows?since=15&until=25",
    "/stores/windows?since=20&order=desc&limit=5",
    "/stores/sessions?since=11&until=31",
    f"/stores/sessions?from={KEYS[3]}&to={KEYS[20]}",
    f"/stores/sessions?from={KEYS[3]}&order=desc&limit=6",
    "/stores/plane",
    "/stores/waiting",
    "/stores/plain?since=1",
    "/stores/plain?limit=0",
    "/stores/plain?form=a",
    "/stores/plain?partial=perhaps",
    "/changes/plane",
    "/changes/waiting",
    "/changes/plain?begin=never",
    "/nothing",
    "/stores/plain/missing",
    "/stores/windows/a/b",
    "/stores/plain/k0001?as_of=3",
    "/stores/plain?at_least=other-1:10&wait_ms=1",
)


@pytest.mark.parametrize("target", OF_ALL)
def test_all_parts_answer_as_one_server(shared_parts: Parted, target: str) -> None:
    status, wanted, _ = get(shared_parts.whole + target)
    for url in shared_parts.urls:
        assert get(url + target)[:2] == (status, wanted)


@pytest.mark.parametrize("store", KEY_STORES)
@pytest.mark.parametrize("more", ["", "?limit=1"])
def test_a_key_is_found_wherever_it_is(shared_parts: Parted, store: str, more: str) -> None:
    result = 0
    for key in KEYS:
        target = f"/stores/{store}/{key}{more}"
        status, wanted, _ = get(shared_parts.whole + target)
        result += status == 200
        for url in shared_parts.urls:
            got, content, _ = get(url + target)
            assert got == status, content
            batches = content.pop("batches")
            assert batches.items() <= wanted["batches"].items()
            assert content == {name: value for name, value in wanted.items() if name != "batches"}
    assert result >= 10


@pytest.mark.parametrize("more", ["", "?since=20", "?until=20&order=desc", "?limit=2"])
def test_windows_of_a_key_of_several_fields(shared_parts: Parted, more: str) -> None:
    for number in range(len(JOINED)):
        target = f"/stores/windows/server-{number}/cpu{more}"
        _, wanted, _ = get(shared_parts.whole + target)
        assert wanted["entries"]
        for url in shared_parts.urls:
            _, content, _ = get(url + target)
            assert (content["entries"], content["more"]) == (wanted["entries"], wanted["more"])


def test_pages_follow_each_other_over_different_parts(shared_parts: Parted) -> None:
    keys: list[str] = []
    more = ""
    for page in range(100):
        _, body, _ = get(f"{shared_parts.urls[page % PARTS]}/stores/plain?limit=4{more}")
        keys += [entry["key"] for entry in body["entries"]]
        if not body["more"]:
            break
        more = f"&after={quote(body['next'])}"
    assert keys == sorted(KEYS)


def test_a_query_of_a_key_is_forwarded_only_to_its_part(parts: Parted) -> None:
    key = keys_of(1, 1)[0]
    assert get(f"{parts.urls[0]}/stores/plain/{key}")[0] == 200
    assert [len(server.asked) for server in parts.servers] == [1, 1, 0]
    own = keys_of(3, 1)[0]
    assert get(f"{parts.urls[0]}/stores/plain/{own}")[0] == 200
    assert [len(server.asked) for server in parts.servers] == [2, 1, 0]
    assert parts.servers[0].value("forebay_queries_forwarded_total", 1) == 1
    assert parts.servers[0].value("forebay_queries_forwarded_total", 2) == 0


def test_a_key_that_is_not_where_it_belongs_is_found(parts: Parted) -> None:
    """A key is in another task if the input was written with another partitioner."""
    stray = keys_of(1, 2, "stray")[1]
    task = parts.tasks[2]
    task.store("plain").put(stray, Cell("1"))
    task.publish()
    for url in parts.urls:
        status, body, _ = get(f"{url}/stores/plain/{stray}")
        assert (status, body["entries"]) == (200, [{"key": stray, "value": {"json": "1"}}])


def test_a_key_that_two_tasks_have_comes_in_their_order(parts: Parted) -> None:
    for number in (4, 0, 2):
        parts.tasks[number].store("plain").put("both", Cell(str(number)))
        parts.tasks[number].publish()
    for more in ("", "?order=desc", "?limit=2"):
        _, wanted, _ = get(f"{parts.whole}/stores/plain{more}")
        for url in parts.urls:
            assert get(f"{url}/stores/plain{more}")[1] == wanted


@pytest.mark.parametrize("number", range(TASKS))
def test_a_read_waits_for_the_part_that_reads_the_offset(parts: Parted, number: int) -> None:
    """Commit n of a task covers the offsets before 10 n of its partition."""
    key = keys_of((number + 1) % TASKS, 1)[0]
    for url in (*parts.urls, parts.whole):
        asked = f"{url}/stores/plain/{key}?at_least=events-{number}:19&wait_ms=50"
        assert get(asked)[0] == 200
        status, body, _ = get(f"{asked}&at_least=events-{number}:20")
        assert (status, body) == (
            503,
            {
                "error": f"the server has not read the effects of events-{number}:20 yet: retry, or wait longer "
                "(wait_ms)"
            },
        )


def test_each_task_belongs_to_exactly_one_part(filled_tasks: list[WrittenTask], shared_parts: Parted) -> None:
    held = [server.part.tasks(TASKS) for server in shared_parts.servers]
    assert sorted(task for tasks in held for task in tasks) == list(range(TASKS))
    assert owner(KEYS[0]) == 0
