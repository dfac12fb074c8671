"""While broker or registry is away, the running job logs it and waits. It loses and duplicates nothing."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import fastavro
import pytest
from bench import INPUT, OUTPUT, Bench
from faults.feeder import Feeder
from faults.watch import PositionSampler
from job_process import JobProcess
from topic_reading import parse, read_topic

from forebay.kafka.registry import SchemaRegistry
from forebay.platform import Platform
from forebay.runtime.driver.lease_end import UNSENT_SECONDS
from forebay.serde import Schema, load_contract

SECONDS_TO_STOP = UNSENT_SECONDS + 60.0
"""Time, without a broker, until the driver abandons the leases, and for the end of the JVM on a busy machine."""


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "outages", tmp_path)
    yield bench
    bench.close()


@pytest.fixture
def load(bench: Bench, platform: Platform) -> Iterator[Feeder]:
    positions = PositionSampler(bench)
    load = Feeder(bench, 3, positions.ends)
    yield load
    platform.up()
    load.close()
    positions.close()


@pytest.mark.timeout(500)
def test_the_job_survives_every_outage(bench: Bench, platform: Platform, load: Feeder) -> None:
    platform.broker.stop()
    job = bench.job()
    until_logged(job, "no answer from the broker|not reachable", 0)
    assert job.http("/healthz")[0] == 200
    status, body = job.http("/readyz")
    assert (status, json.loads(body)["ok"]) == (503, False)
    platform.broker.start()
    job.until_commits()
    job.until(lambda: job.http("/readyz")[0] == 200, "the job is ready")

    since = len(job.lines())
    platform.broker.kill()
    until_logged(job, "not reachable|can't be reached", since)
    platform.broker.start()
    job.until_commits()
    until_logged(job, "reachable again", since)

    since = len(job.lines())
    platform.broker.stop()
    until_logged(job, "not reachable|can't be reached", since)
    platform.broker.start()
    job.until_commits()

    since = len(job.lines())
    newer = newer_record(bench)
    platform.registry.kill()
    bench.send((b"newer", newer, {}))
    until_logged(job, "registry", since)
    assert outputs_of(bench, "newer") == 0
    platform.registry.start()
    job.until(lambda: outputs_of(bench, "newer") == 1, "the record that waited for the registry is processed")

    load.close()
    job.until(bench.has_read_everything, "everything that was sent is processed")
    job.until(lambda: 'forebay_lag_records{partition="0"' in job.http("/metrics")[1], "lag is measured")
    check_metrics(job)
    platform.broker.stop()
    until_logged(job, "not reachable|can't be reached", len(job.lines()))
    assert job.terminate(SECONDS_TO_STOP) == 0, job.text()
    assert "stopped" in job.messages()[-1]
    platform.broker.start()
    bench.drain()
    bench.check()


def until_logged(job: JobProcess, words: str, since: int) -> None:
    """Wait for a log line, after the first `since` ones, that matches `words` and has level warning or above."""

    def is_logged() -> bool:
        return any(re.search(words, line["message"]) for line in job.lines()[since:] if line["level"] != "info")

    job.until(is_logged, f"a line that says {words!r}", 90)


def newer_record(bench: Bench) -> bytes:
    """Register a newer schema that no worker has read yet, and return a record written with it."""
    contract = json.loads(load_contract("user-sessions", "UserActivity").text)
    contract["fields"].append({"name": "outage", "type": ["null", "string"], "default": None})
    registered = SchemaRegistry(bench.settings.registry()).register(f"{INPUT}-value", Schema(json.dumps(contract)))
    schema = parse(json.dumps(contract))
    body = io.BytesIO()
    last = max(m.timestamp()[1] for messages in read_topic(bench.settings, INPUT).values() for m in messages)
    event = {"action": "click", "session_id": "s", "duration_ms": 1, "timestamp": last}
    fastavro.schemaless_writer(body, schema, event)
    return b"\0" + registered.schema_id.to_bytes(4, "big") + body.getvalue()


def outputs_of(bench: Bench, key: str) -> int:
    messages = [m for part in read_topic(bench.settings, OUTPUT).values() for m in part if m.key() == key.encode()]
    return sum(bench.decoder.decode(m.value() or b"")["activity"] is not None for m in messages)


def check_metrics(job: JobProcess) -> None:
    samples = dict(line.rsplit(" ", 1) for line in job.http("/metrics")[1].splitlines() if not line.startswith("#"))
    assert float(samples['forebay_records_in_total{service="user-sessions",topic="user_activity"}']) > 0
    assert float(samples['forebay_records_out_total{kind="output",service="user-sessions"}']) > 0
    assert float(samples['forebay_state_rows{service="user-sessions",stage="0",subtopology="0",task="3"}']) > 0
    assert job.http("/nonsense")[0] == 404
