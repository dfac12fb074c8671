"""Queries of a running job return the content of its changelogs, even after kills and a restore."""

from __future__ import annotations

import json
import struct
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from confluent_kafka import Consumer, TopicPartition
from job_process import JobProcess
from service_bench import PARTITIONS, ServiceBench

from forebay.platform import Platform
from forebay.platform.ports import free_port
from forebay.producing.base import Options
from tests.queries.events import events

pytestmark = pytest.mark.timeout(900)

START_MS = 1_735_689_600_000
WINDOW_MS, RETENTION_MS = 300_000, 3_600_000


class QueryBench(ServiceBench):
    """A service with a query server next to its job."""

    def __init__(self, platform: Platform, service: str, folder: Path, arguments: tuple[str, ...] = ()) -> None:
        super().__init__(platform, service, f"queried-{service}", folder, arguments)
        self.folder = folder

    def feed(self, seed: int, topic: str | None = None) -> None:
        self.produce(
            Options(
                count=4_000,
                keys=100,
                seed=seed,
                out_of_order=0.05,
                duplicates=0.03,
                malformed=0.03,
                start_ms=START_MS + seed * 300_000,
                event_rate=20,
                max_delay_ms=20_000,
            ),
            topic=topic,
        )

    def ends(self) -> list[str]:
        """Return the offset of the last record in each partition of the first input, as values for `at_least`."""
        consumer = Consumer(self.settings.consumer(**{"group.id": "tests-ends"}))
        try:
            places = [TopicPartition(self.input, number) for number in range(PARTITIONS)]
            ends = [consumer.get_watermark_offsets(place, 20)[1] for place in places]
        finally:
            consumer.close()
        return [f"{self.input}-{number}:{end - 1}" for number, end in enumerate(ends) if end]

    def server(self, number: int = 0, port: int = 0, *more: str, waits: bool = True) -> JobProcess:
        """Start a query server, and wait until it is ready, unless `waits` is false."""
        arguments = [
            *(self.service.name, "--application", self.application, "--http-port", str(port), "--every-ms", "20"),
            *more,
            *("--bootstrap-servers", self.settings.bootstrap_servers),
            *("--schema-registry-url", self.settings.schema_registry_url),
        ]
        server = JobProcess(arguments, self.folder / f"queries-{number}.log", self.environment, "queries")
        self._jobs.append(server)
        if not waits:
            return server
        server.until(lambda: server.http("/readyz")[0] == 200 if "http://" in server.text() else False, "it is ready")
        return server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def pull(server: JobProcess, target: str, *, status: int = 200) -> Any:
    result, text = server.http(target)
    assert result == status, text
    return json.loads(text)


def everything(server: JobProcess, store: str, page: int = 1_000) -> list[dict[str, Any]]:
    """Read a store page by page, and return its entries in key order."""
    entries: list[dict[str, Any]] = []
    target = f"/stores/{store}?limit={page}"
    while True:
        result = pull(server, target)
        entries += result["entries"]
        if not result["more"]:
            return entries
        target = f"/stores/{store}?limit={page}&after={quote(result['next'])}"


class Followed(threading.Thread):
    """A thread that follows a store's changes, and collects the events until the push query ends."""

    def __init__(self, server: JobProcess, store: str) -> None:
        super().__init__(daemon=True)
        _, listed = server.http("/stores")
        assert store in listed
        self._url = next(m for m in server.messages() if "http://" in m).split("http://")[1].split()[0]
        self._store = store
        self.events: list[tuple[str, Any]] = []
        self.start()

    def run(self) -> None:
        try:
            with urlopen(f"http://{self._url}/changes/{self._store}?begin=snapshot", timeout=60) as response:
                self.events.extend(events(response))
        except (OSError, ValueError) as error:
            self.events.append(("broken", str(error)))

    def rows(self) -> dict[str, Any]:
        """Return the store's content after all events so far."""
        rows: dict[str, Any] = {}
        for name, event in list(self.events):
            if name in ("row", "change"):
                rows[event["key"]] = event["value"]
        return {key: value for key, value in rows.items() if value is not None}


def logged_rows(bench: ServiceBench, store: str) -> dict[str, Any]:
    """Return a key-value store's content from its changelog."""
    return {key.decode(): value for of_task in bench.changelog(store).values() for key, value in of_task.items()}


def test_a_store_is_queried_while_its_job_is_killed_and_restored(platform: Platform, folder: Path) -> None:
    bench = QueryBench(platform, "user-sessions", folder, ("--max-records-per-commit", "700"))
    try:
        server = bench.server()
        assert pull(server, "/stores/user-profiles")["batches"] == dict.fromkeys("0123", -1)
        followed = Followed(server, "user-profiles")
        bench.feed(1)
        job = bench.job()
        job.until_commits(3)
        job.kill()
        bench.feed(2)
        bench.drain()

        reached = "&".join(f"at_least={end}" for end in bench.ends())
        (key, *_) = wanted = logged_rows(bench, "user-profiles")
        assert len(wanted) == 100
        result = pull(server, f"/stores/user-profiles/{key}?{reached}&wait_ms=30000")
        assert result["entries"] == [{"key": key, "value": wanted[key]}]
        entries = everything(server, "user-profiles", page=30)
        assert [entry["key"] for entry in entries] == sorted(wanted)
        assert {entry["key"]: entry["value"] for entry in entries} == wanted
        server.until(lambda: followed.rows() == wanted, "all changes were pushed")
        batches: dict[int, int] = {}
        for name, event in followed.events:
            if name == "change":
                assert event["batch"] >= batches.get(event["task"], 0)
                batches[event["task"]] = event["batch"]

        server.kill()
        again = bench.server(1)
        assert {entry["key"]: entry["value"] for entry in everything(again, "user-profiles")} == wanted
        ended = Followed(again, "user-profiles")
        bench.lose_checkpoint()
        bench.feed(3)
        bench.drain("--restore")
        again.until(lambda: ("end", {"reason": "restart"}) in ended.events, "the push reports the restore", 60)
        reached = "&".join(f"at_least={end}" for end in bench.ends())
        again.until(lambda: again.http(f"/stores/user-profiles?{reached}&wait_ms=0")[0] == 200, "all is read", 60)
        assert {e["key"]: e["value"] for e in everything(again, "user-profiles")} == logged_rows(bench, "user-profiles")
        assert (
            'forebay_queries_answered_total{service="user-sessions",status="200",store="user-profiles"}'
            in (again.http("/metrics")[1])
        )
        assert again.terminate() == 0
    finally:
        bench.close()


def test_windows_and_versions_are_those_of_the_changelog(platform: Platform, folder: Path) -> None:
    windows = QueryBench(platform, "windowed-metrics", folder)
    versions = QueryBench(platform, "price-join", folder)
    try:
        windows.feed(1)
        windows.drain()
        versions.feed(1, "menu_prices")
        versions.drain()
        check_windows(windows.server(2), windows)
        check_versions(versions.server(3), versions)
    finally:
        windows.close()
        versions.close()


def test_rows_of_views_are_pushed_and_pulled_with_their_averages(platform: Platform, folder: Path) -> None:
    bench = QueryBench(platform, "sensor-views", folder)
    try:
        server = bench.server(4)
        followed = [Followed(server, store) for store in bench.service.stores]
        bench.feed(1)
        bench.drain()
        check_view(server, bench, followed[0], "avg-readings", "sensor")
        check_view(server, bench, followed[1], "part-avg", "area")
    finally:
        bench.close()


def test_two_partial_servers_answer_as_one(platform: Platform, folder: Path) -> None:
    bench = QueryBench(platform, "user-sessions", folder, ("--max-records-per-commit", "700"))
    ports = [free_port(), free_port()]
    peers = ",".join(f"http://127.0.0.1:{port}" for port in ports)
    try:
        whole = bench.server(10)
        second = ("--part", "1/2", "--peers", peers, "--store-directory", str(folder / "part"))
        parts = [bench.server(11, ports[0], "--part", "0/2", "--peers", peers), bench.server(12, ports[1], *second)]
        followed = [Followed(server, "user-profiles") for server in parts]
        bench.feed(1)
        bench.drain()
        reached = "&".join(f"at_least={end}" for end in bench.ends())
        wanted = pull(whole, f"/stores/user-profiles?limit=1000&{reached}&wait_ms=30000")
        assert len(wanted["entries"]) == 100
        for server in parts:
            assert pull(server, f"/stores/user-profiles?limit=1000&{reached}&wait_ms=30000") == wanted
            assert everything(server, "user-profiles", page=30) == wanted["entries"]
            for entry in wanted["entries"][:20]:
                result = pull(server, f"/stores/user-profiles/{entry['key']}?{reached}")
                assert result["entries"] == [entry]
                assert len(result["batches"]) == PARTITIONS / 2
        rows = {entry["key"]: entry["value"] for entry in wanted["entries"]}
        for follower, server in zip(followed, parts, strict=True):
            server.until(lambda follower=follower: follower.rows() == rows, "changes of both parts came", 60)  # type: ignore[misc]
        held = [_metric(server, 'forebay_queries_rows{service="user-sessions"}') for server in (whole, *parts)]
        assert held[0] == held[1] + held[2]
        assert min(held) > 0

        with parts[1].frozen():
            assert pull(parts[0], "/stores/user-profiles", status=503)["missing"] == [1]
        parts[0].until(lambda: parts[0].http("/stores/user-profiles")[0] == 200, "requests reach it again")

        parts[1].kill()
        first, other = followed
        parts[0].until(lambda: first.events[-1][0] == "end", "the push reports a lost part", 60)
        assert first.events[-1] == ("end", {"reason": "part lost", "missing": [1]})
        assert other.events[-1][0] != "end"
        assert pull(parts[0], "/stores/user-profiles", status=503)["missing"] == [1]
        partial = pull(parts[0], "/stores/user-profiles?partial=true&limit=1000")
        assert partial["missing"] == [1]
        assert 0 < len(partial["entries"]) < 100
        assert _metric(parts[0], 'forebay_queries_forward_failures_total{part="1",service="user-sessions"}') > 0

        wrong = bench.server(13, ports[1], "--part", "0/2", "--peers", peers, waits=False)
        assert wrong.finish() == 2
        assert f"http://127.0.0.1:{ports[1]} is part 0/2 of user-sessions" in " ".join(wrong.text().split())
        again = bench.server(14, ports[1], *second)
        assert pull(again, f"/stores/user-profiles?limit=1000&{reached}") == wanted
        assert pull(parts[0], f"/stores/user-profiles?limit=1000&{reached}") == wanted
        assert again.terminate() == 0
    finally:
        bench.close()


def _metric(server: JobProcess, name: str) -> float:
    (result,) = [line for line in server.http("/metrics")[1].splitlines() if line.startswith(f"{name} ")]
    return float(result.rsplit(" ", 1)[1])


def check_view(server: JobProcess, bench: ServiceBench, followed: Followed, store: str, group: str) -> None:
    stored = logged_rows(bench, store)
    server.until(lambda: followed.rows() == stored, f"all changes of {store} were pushed", 60)
    rows = {entry["key"]: entry["value"] for entry in everything(server, store)}
    assert rows == stored
    outputs = bench.outputs(store.replace("-", "_"))
    sent = {key: row for of_partition in outputs.values() for key, row, _ in of_partition}
    assert {key: {name: row[name] for name in (group, "avg_reading")} for key, row in rows.items()} == sent
    assert len(rows) > 5
    assert all(row["avg_reading_total"]["count"] > 0 for row in rows.values())
    view = store.replace("-", "_")
    assert sorted(ask(server, f"SELECT * FROM {view}"), key=lambda row: str(row[group])) == [
        sent[key] for key in sorted(sent)
    ]
    key, row = next(iter(sent.items()))
    assert ask(server, f"SELECT avg_reading AS mean FROM {view} WHERE {group} = '{key}'") == [
        {"mean": row["avg_reading"]}
    ]
    changes = ask(server, f"SELECT * FROM {view} EMIT CHANGES LIMIT {len(rows)}", from_beginning=True)
    assert all(change in [value for of_one in outputs.values() for _, value, _ in of_one] for change in changes)
    assert len(changes) == len(rows)


def ask(server: JobProcess, sql: str, **more: Any) -> list[dict[str, Any]]:
    """Send a SQL query and return its rows."""
    status, text = server.http("/sql", json.dumps({"sql": sql, **more}).encode())
    assert status == 200, text
    return [line["row"] for line in map(json.loads, text.splitlines()) if "row" in line]


def check_windows(server: JobProcess, bench: ServiceBench) -> None:
    wanted = []
    for rows in bench.changelog("metric-windows").values():
        starts = {row: _time(row, -16) for row in rows}
        visible = {row for row, start in starts.items() if start > max(starts.values()) - RETENTION_MS}
        for row in visible:
            key = row[:-18].replace(b"\0\xff", b"\0").decode()
            wanted.append((starts[row], key, rows[row]))
    entries = pull(server, "/stores/metric-windows?limit=10000")["entries"]
    assert len(entries) > 300
    results = [(entry["start"], entry["key"], entry["value"]) for entry in entries]
    assert results == sorted(wanted, key=lambda item: (item[0], item[1].encode()))
    assert all(entry["end"] - entry["start"] == WINDOW_MS for entry in entries)
    server_id, metric = entries[0]["key_parts"]
    one = pull(server, f"/stores/metric-windows/{server_id}/{quote(metric)}?until={entries[0]['start']}")["entries"]
    assert one == entries[:1]


def check_versions(server: JobProcess, bench: ServiceBench) -> None:
    history: dict[str, list[tuple[int, Any]]] = {}
    for rows in bench.changelog("menu-prices").values():
        for row, value in rows.items():
            history.setdefault(row[:-10].decode(), []).append((_time(row, -8), value))
    assert len(history) > 5
    for item, versions in history.items():
        versions.sort(key=lambda version: version[0])
        target = f"/stores/menu-prices/{quote(item)}"
        entries = pull(server, f"{target}?since=0&limit=10000")["entries"]
        assert [(entry["timestamp"], entry["value"]) for entry in entries] == versions
        middle = len(versions) // 2
        at, value = versions[middle]
        (as_of,) = pull(server, f"{target}?as_of={at}")["entries"]
        assert (as_of["timestamp"], as_of["value"]) == (at, value)
        (latest,) = pull(server, target)["entries"]
        assert latest["value"] == versions[-1][1]


def _time(row: bytes, at: int) -> int:
    """Return the signed time that 8 big-endian bytes encode so that they sort like the times."""
    return int(struct.unpack_from(">Q", row, len(row) + at)[0]) - (1 << 63)
