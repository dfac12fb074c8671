"""A commit that exceeds a worker's memory is divided into smaller commits. All records are processed once."""

from __future__ import annotations

import io
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import fastavro
import psutil
import pytest
from bench import INPUT, SERVICE, Bench
from job_process import JobProcess

from forebay.kafka.registry import SchemaRegistry, subject_of
from forebay.platform import Platform
from forebay.serde import Schema, load_contract

MEGABYTE = 1 << 20
ROOM = 120 * MEGABYTE
LARGE = 400_000
AT_ONCE = 40
COUNT = 500
SMALL_QUEUES = ("-X", "queued.max.messages.kbytes=4096", "-X", "queue.buffering.max.kbytes=4096")
USER = "user"
NEIGHBOURS = tuple(f"neighbour-{number}" for number in range(12))
"""Keys of other tasks of the same group, whose records are in the same commits."""

NOW = time.time_ns() // 1_000_000


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "memory", tmp_path)
    yield bench
    bench.close()


def send(bench: Bench, count: int, size: int, *keys: str) -> None:
    """Send activities with pages of `size` characters, whose keys take turns."""
    contract = load_contract(SERVICE.name, "UserActivity").text
    schema_id = SchemaRegistry(bench.settings.registry()).register(subject_of(INPUT), Schema(contract)).schema_id
    schema = fastavro.parse_schema(json.loads(contract), named_schemas={})
    for first in range(0, count, AT_ONCE):
        records: list[tuple[bytes | None, bytes | None, dict[str, bytes]]] = []
        for number in range(first, min(first + AT_ONCE, count)):
            body = io.BytesIO()
            activity = {
                "action": "click",
                "session_id": f"{size} {number}",
                "duration_ms": 1,
                "timestamp": NOW + number,
            }
            fastavro.schemaless_writer(body, schema, {**activity, "page": "p" * size})
            value = b"\0" + schema_id.to_bytes(4, "big") + body.getvalue()
            records.append((keys[number % len(keys)].encode(), value, {}))
        bench.send(*records)


def limit_memory(job: JobProcess) -> None:
    """Limit the memory of all current and future workers to ROOM bytes more than the largest one has."""
    workers = job.workers()
    most = max(worker.memory_info().vms for worker in workers) + ROOM
    for process in [*workers, *{worker.parent() for worker in workers}]:
        assert isinstance(process, psutil.Process)
        process.rlimit(resource.RLIMIT_AS, (most, most))


# If a failed allocation in librdkafka ends a worker, Spark replaces it before the query fails. The new worker uses less
# memory and may have enough for all records, so that commits don't become smaller. The test then fails and says so.
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_large_records_lead_to_smaller_commits_under_a_memory_limit(bench: Bench) -> None:
    send(bench, 1, 10, USER)
    job = bench.job(*SMALL_QUEUES)
    job.until(lambda: job.records_in() == 1, "the first record is through")
    limit_memory(job)
    with job.frozen():
        send(bench, COUNT, LARGE, USER)
        send(bench, len(NEIGHBOURS), 10, *NEIGHBOURS)
    job.until(bench.has_read_everything, "all records are through", 400)
    assert job.terminate() == 0
    assert "commits have at most" in job.text(), "the memory sufficed: the test shows nothing"
    outputs = [(key, value) for part in bench.outputs().values() for key, value, _ in part]
    totals = [value["session_totals"]["total_time_ms"] for key, value in outputs if key == USER]
    assert totals == list(range(1, COUNT + 2))
    assert sorted(key for key, _ in outputs if key != USER) == sorted(NEIGHBOURS)
    assert bench.errors() == []
