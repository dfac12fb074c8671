"""INSERT INTO ... VALUES is accepted with the change of its request, and read by the query that was created with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forebay.codec import Unavailable
from forebay.kafka.settings import KafkaSettings
from forebay.live import engine as engines
from forebay.live.engine import Engine
from forebay.live.history import Change, History

DECLARED = "CREATE STREAM s (id STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
COMPUTED = "CREATE TABLE t AS SELECT id, SUM(n) AS n FROM s GROUP BY id;"
INSERTED = "INSERT INTO s VALUES ('a', 1);"


class Trace:
    """The job and the statements' topic (a `JobKeeper`, a `StatementLog`): notes what is done, in its order."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.is_wanted = False
        self.is_open = True
        self.refuses = False

    def open(self) -> History:
        return History()

    def append(self, change: Change | None, records: Sequence[Any] = ()) -> None:
        if self.refuses:
            raise Unavailable("the broker is away")
        self.steps.append(f"transaction: {'no change' if change is None else 'change'}, {len(records)} records")

    def want(self, file: Path | None) -> None:
        self.is_wanted = file is not None
        self.steps.append("the job starts" if self.is_wanted else "no job")

    def stop(self) -> None:
        self.is_wanted = False
        self.steps.append("the job has stopped")


class Queries:
    """Answers no query (a `QueryServer`)."""

    def __init__(self, *_: Any) -> None: ...

    def read_statements(self) -> None: ...

    def follow(self, *_: Any) -> None: ...


@pytest.fixture
def trace() -> Trace:
    return Trace()


@pytest.fixture
def engine(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(engines, "create_declared", lambda *_: None)
    monkeypatch.setattr(engines, "QueryServer", Queries)
    monkeypatch.setattr(engines, "Serving", lambda server: type("S", (), {"server": server, "close": lambda _: None})())
    monkeypatch.setattr(engines, "connect", lambda _: None)
    monkeypatch.setenv("FOREBAY_SQL", "")
    kafka = KafkaSettings(bootstrap_servers="broker:9092", schema_registry_url="http://registry:8081")
    engine = Engine(kafka, "shop", tmp_path, lambda _: None, trace)  # type: ignore[arg-type]
    monkeypatch.setattr(engine, "_log", trace)
    monkeypatch.setattr(engine, "_is_current", True)
    return engine


def test_records_are_in_the_transaction_of_their_change_before_the_new_job_runs(engine: Engine, trace: Trace) -> None:
    engine.apply(DECLARED + COMPUTED)
    trace.steps.clear()
    engine.apply(COMPUTED.replace(" t ", " u ") + INSERTED + INSERTED)
    assert trace.steps == ["the job has stopped", "transaction: change, 2 records", "the job starts"]


def test_records_alone_leave_the_job_alone(engine: Engine, trace: Trace) -> None:
    engine.apply(DECLARED + COMPUTED)
    trace.steps.clear()
    engine.apply(INSERTED)
    assert trace.steps == ["transaction: no change, 1 records"]


def test_a_declaration_with_records_leaves_the_job_alone(engine: Engine, trace: Trace) -> None:
    engine.apply(DECLARED + COMPUTED)
    trace.steps.clear()
    engine.apply(DECLARED.replace("s (", "w (").replace("'s'", "'w'") + INSERTED)
    assert trace.steps == ["transaction: change, 1 records"]


def test_a_job_that_was_stopped_for_a_change_that_the_broker_refuses_runs_again(engine: Engine, trace: Trace) -> None:
    engine.apply(DECLARED + COMPUTED)
    trace.steps.clear()
    trace.refuses = True
    with pytest.raises(Unavailable):
        engine.apply(COMPUTED.replace(" t ", " u ") + INSERTED)
    assert trace.steps == ["the job has stopped", "the job starts"]
