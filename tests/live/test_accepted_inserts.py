"""Statements and the records of their request are accepted together or not at all. Later failures are retried."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forebay.codec import Unavailable
from forebay.http.messages import Request
from forebay.kafka.errors import KafkaRefused, RegistryRefused
from forebay.kafka.settings import KafkaSettings
from forebay.live import engine as engines
from forebay.live.draft import Draft
from forebay.live.engine import Engine
from forebay.live.history import Change, History
from forebay.live.pages import EnginePages
from forebay.queries.gate import Gate
from forebay.sql.errors import Place, SqlError

KAFKA = KafkaSettings(bootstrap_servers="broker:9092", schema_registry_url="http://registry:8081")
DECLARED = "CREATE STREAM s (id STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
COMPUTED = "CREATE TABLE t AS SELECT id, SUM(n) AS n FROM s GROUP BY id;"
SECOND = COMPUTED.replace(" t ", " u ")
INSERTED = "INSERT INTO s VALUES ('a', 1);"


class Trace:
    """A `JobKeeper` and a `StatementLog` that record the order of what is done."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.is_wanted = False
        self.is_open = True
        self.changes: list[Change] = []
        self.refuses = False
        """Whether the broker commits nothing."""
        self.is_away = False
        """Whether the broker commits what is sent but does not respond."""

    def open(self) -> History:
        if self.is_away:
            raise Unavailable("the broker is away")
        self.is_open = True
        return History(tuple(self.changes))

    def check(self) -> None: ...

    def append(self, change: Change | None, records: Sequence[Any] = ()) -> None:
        if change is not None and not self.refuses:
            self.changes.append(change)
        if self.refuses or self.is_away:
            self.is_open = False
            raise Unavailable("the broker is away")
        self.steps.append(f"transaction: {'no change' if change is None else 'change'}, {len(records)} records")

    def want(self, file: Path | None) -> None:
        self.is_wanted = file is not None
        self.steps.append("the job starts" if self.is_wanted else "no job")

    def start(self) -> None: ...

    @property
    def state(self) -> str:
        return "running" if self.is_wanted else "not running"

    def stop(self) -> None:
        self.is_wanted = False
        self.steps.append("the job has stopped")


class Queries:
    """A `QueryServer` that does nothing."""

    refused: Exception | None = None

    def __init__(self, *_: Any) -> None:
        if self.refused is not None:
            raise self.refused

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
    engine = Engine(KAFKA, "shop", tmp_path, lambda _: None, trace)  # type: ignore[arg-type]
    monkeypatch.setattr(engine, "_log", trace)
    monkeypatch.setattr(engine, "_is_current", True)
    return engine


def test_records_are_in_the_transaction_of_their_change_before_the_new_job_runs(engine: Engine, trace: Trace) -> None:
    engine.apply(DECLARED + COMPUTED)
    trace.steps.clear()
    engine.apply(SECOND + INSERTED + INSERTED)
    assert trace.steps == ["the job has stopped", "transaction: change, 2 records", "the job starts"]


def test_records_without_a_change_do_not_restart_the_job(engine: Engine, trace: Trace) -> None:
    engine.apply(DECLARED + COMPUTED)
    trace.steps.clear()
    engine.apply(INSERTED)
    assert trace.steps == ["transaction: no change, 1 records"]


def test_declaration_with_records_does_not_restart_the_job(engine: Engine, trace: Trace) -> None:
    engine.apply(DECLARED + COMPUTED)
    trace.steps.clear()
    engine.apply(DECLARED.replace("s (", "w (").replace("'s'", "'w'") + INSERTED)
    assert trace.steps == ["transaction: change, 1 records"]


def test_a_job_that_was_stopped_for_a_change_that_the_broker_refuses_runs_again(engine: Engine, trace: Trace) -> None:
    engine.apply(DECLARED + COMPUTED)
    trace.steps.clear()
    trace.refuses = True
    with pytest.raises(Unavailable):
        engine.apply(SECOND + INSERTED)
    assert trace.steps == ["the job has stopped"]
    engine.check()
    assert trace.steps == ["the job has stopped", "the job starts"]
    assert result_names(engine) == ["T"]


def test_a_job_waits_until_it_is_known_whether_its_change_was_accepted(engine: Engine, trace: Trace) -> None:
    engine.apply(DECLARED + COMPUTED)
    trace.steps.clear()
    trace.is_away = True
    with pytest.raises(Unavailable):
        engine.apply(SECOND + INSERTED)
    engine.check()
    assert (trace.steps, engine.state) == (["the job has stopped"], "changing")
    trace.is_away = False
    engine.check()
    assert trace.steps == ["the job has stopped", "the job starts"]
    assert (result_names(engine), engine.state) == (["T", "U"], "running")
    engine.check()
    assert trace.steps == ["the job has stopped", "the job starts"]


@pytest.mark.parametrize("reason", [Unavailable("away"), KafkaRefused("no"), RegistryRefused("no")])
def test_accepted_statements_are_acknowledged_before_they_can_be_queried(
    engine: Engine, trace: Trace, monkeypatch: pytest.MonkeyPatch, reason: Exception
) -> None:
    engine.apply(DECLARED + COMPUTED)
    before = engine.serving
    monkeypatch.setattr(Queries, "refused", reason)
    assert [accepted.result for accepted in engine.apply(SECOND + INSERTED)] == ["created", "inserted"]
    assert (result_names(engine), trace.is_wanted, engine.serving) == (["T", "U"], True, None)
    assert [answer_to(engine, "SELECT * FROM t;"), answer_to(engine, "SHOW QUERIES;")] == [503, 200]
    steps = list(trace.steps)
    servings = []
    for refused in (reason, None):
        monkeypatch.setattr(Queries, "refused", refused)
        engine.check()
        servings.append(engine.serving)
    assert servings[0] is None
    assert servings[1] not in (None, before)
    assert trace.steps == steps, "the job runs already"


def test_an_engine_whose_queries_can_t_be_answered_yet_starts(
    engine: Engine, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace.changes.append(Change(DECLARED + COMPUTED))
    monkeypatch.setattr(Queries, "refused", Unavailable("the registry is away"))
    engine.start()
    assert (result_names(engine), trace.is_wanted, engine.serving) == (["T"], True, None)


JOINED = (
    DECLARED
    + "CREATE TABLE p (id STRING PRIMARY KEY, price INT) WITH (KAFKA_TOPIC='p', PARTITIONS=1, VALUE_FORMAT='JSON');"
    + "CREATE STREAM r AS SELECT id, n, CAST(n AS STRING) AS other, CAST(n + 1 AS STRING) AS third FROM s;"
)
JOIN = "CREATE STREAM j AS SELECT r.n, p.price, p.id FROM r JOIN p ON r.other = p.id;"
EDITED_JOIN = JOIN.replace("CREATE", "CREATE OR REPLACE").replace("r.other =", "r.third =")


def test_incompatible_edit_with_unread_records_is_refused_and_the_job_continues(
    engine: Engine, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    unread: list[str] = []

    def refuse(_kafka: KafkaSettings, _application: str, draft: Draft, place: Place) -> None:
        trace.steps.append("look at unread records")
        if unread:
            raise SqlError(place, unread[0])

    monkeypatch.setattr(engines, "refuse_unread", refuse)
    engine.apply(JOINED + JOIN)
    trace.steps.clear()
    unread.append("3 records are unread")
    with pytest.raises(SqlError, match="3 records are unread"):
        engine.apply(EDITED_JOIN)
    assert trace.steps == ["the job has stopped", "look at unread records", "the job starts"]
    assert "r.other" in str(engine.draft.program.queries[-1].text)
    unread.clear()
    trace.steps.clear()
    engine.apply(EDITED_JOIN)
    assert trace.steps == [
        "the job has stopped",
        "look at unread records",
        "transaction: change, 0 records",
        "the job starts",
    ]
    trace.steps.clear()
    engine.apply(COMPUTED)
    assert trace.steps == ["transaction: change, 0 records", "the job starts"], "no repartition was edited"


def test_records_of_a_paused_statement_are_looked_for_when_it_is_edited(
    engine: Engine, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "refuse_unread", lambda *_: trace.steps.append("look at unread records"))
    engine.apply(JOINED + JOIN)
    engine.apply("PAUSE CSAS_R_0; PAUSE CSAS_J_1;")
    trace.steps.clear()
    engine.apply(EDITED_JOIN + "RESUME CSAS_R_0; RESUME CSAS_J_2;")
    assert trace.steps == ["look at unread records", "transaction: change, 0 records", "the job starts"]


def result_names(engine: Engine) -> list[str]:
    return [query.target.name for query in engine.draft.program.queries]


def answer_to(engine: Engine, sql: str) -> int:
    """Return the HTTP status of the response to a statement."""
    pages = EnginePages(engine, KAFKA, Gate(), Gate(), pytest.fail)
    return pages.answer(Request(("sql",), method="POST", body=sql.encode())).status
