"""A task whose records fail too often stops before the batch is committed; a few failures never stop it."""

from __future__ import annotations

import io
import json

import fastavro
import pytest
from forebay.runtime.error_rate import FEWEST, WINDOW

from forebay.processor import Context
from forebay.runtime.errors import TooManyErrors
from forebay.runtime.stateformat import decode_state
from forebay.runtime.task import TaskSettings
from forebay.serde.contracts import load_contract
from tests.runtime.task_harness import Bench, Number, Sum, Total

GOOD, BAD = 1, -1


class Limited(Bench):
    """A task that stops when more than a tenth of its records fail."""

    limit = 0.1

    def worker(self) -> None:  # type: ignore[override]
        super().worker()
        self.task._settings = TaskSettings("sums-0-0", self.code_version, max_error_rate=self.limit)

    def add(self, count: int, amount: int) -> None:
        at = sum(map(len, self.input.partitions.values()))
        self.feed(*(("k", at + number, amount) for number in range(count)))


def test_a_key_that_always_fails_does_not_stop_the_others() -> None:
    bench = Limited()
    for _ in range(20):
        bench.add(190, GOOD)
        bench.add(10, BAD)
        bench.run()
    assert sum(len(transaction.result.errors) for transaction in bench.kafka.transactions) == 200
    assert bench.totals()["k"].count == 3_800


def test_the_batch_that_goes_beyond_the_limit_is_not_committed_and_says_why() -> None:
    bench = Limited()
    bench.add(1_000, GOOD)
    bench.run()
    bench.add(FEWEST - 1, BAD)
    bench.run()
    bench.add(200, BAD)
    batch = bench.plan()
    with pytest.raises(TooManyErrors) as stopped:
        bench.attempt(batch)
    assert len(bench.kafka.transactions) == 2
    text = str(stopped.value)
    assert f"sums-0-0: {200 + 90} of the latest {1_000 + 200} records failed" in text
    assert f"numbers-0 offset {1_000 + FEWEST - 1}, key 'k': ValueError: negative amount (process)" in text
    assert "--max-error-rate 0.1" in text


def test_a_restart_with_repaired_code_processes_the_batch_again() -> None:
    bench = Limited()
    bench.add(500, BAD)
    batch = bench.plan()
    with pytest.raises(TooManyErrors):
        bench.attempt(batch)

    class Repaired(Sum):
        def process(self, event: Number, ctx: Context[Total]) -> None:
            super().process(Number(event.event_id, event.timestamp, abs(event.amount)), ctx)

    bench.processor, bench.code_version = Repaired, "v2"
    bench.worker()
    assert bench.run(batch).errors == 0
    assert bench.totals()["k"] == Total(500, 500)


def test_many_small_batches_count_together_across_restarts() -> None:
    bench = Limited()
    for _ in range(FEWEST - 1):
        bench.add(1, BAD)
        bench.run()
        bench.worker()
    bench.add(1, BAD)
    with pytest.raises(TooManyErrors, match=f"{FEWEST} of the latest {FEWEST} records"):
        bench.attempt(bench.plan())


def test_failures_of_long_ago_do_not_count_for_ever() -> None:
    bench = Limited()
    bench.limit = 1.0
    bench.worker()
    bench.add(WINDOW, BAD)
    bench.run()
    bench.add(20 * WINDOW, GOOD)
    bench.run()
    bench.limit = 0.1
    bench.worker()
    bench.add(FEWEST - 60, BAD)
    bench.run()


def test_a_batch_that_was_committed_before_is_not_stopped() -> None:
    bench = Limited()
    bench.limit = 1.0
    bench.worker()
    bench.add(500, BAD)
    batch = bench.plan()
    bench.attempt(batch)
    bench.limit = 0.1
    bench.worker()
    assert bench.run(batch).step == "suppress"


def test_state_of_the_first_format_is_read_without_a_count() -> None:
    bench = Bench()
    bench.feed(("a", 10, 1))
    bench.run()
    state = decode_state(bench.state.committed["state"])
    contract = json.loads(load_contract("forebay", "TaskState").text)
    now = fastavro.parse_schema(contract, named_schemas={})
    record = fastavro.schemaless_reader(io.BytesIO(bench.state.committed["state"]), now, None)
    assert isinstance(record, dict)
    assert record["recent_records"] == 1
    first = {**contract, "fields": [f for f in contract["fields"] if not f["name"].startswith("recent_")]}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(first, named_schemas={}), {**record, "format": 1})
    read = decode_state(out.getvalue())
    assert (read.batch, read.tag, read.directory) == (state.batch, state.tag, state.directory)
    assert (read.recent.records, read.recent.errors) == (0, 0)
