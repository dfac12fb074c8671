"""Cases of pull and push queries: statements, records, and the response of `POST /sql` to each SELECT."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from forebay.builder.topology_job import job
from forebay.http.messages import Request
from forebay.queries.entries import Entry
from forebay.queries.sql_pages import SqlPages
from forebay.queries.stores import Found
from forebay.serde.subjects import LocalSubjects, connect
from forebay.sql.compile import topology_of
from forebay.sql.errors import SqlError
from forebay.sql.inserting import record_of
from forebay.sql.program import program_of_statements
from forebay.sql.queryable import queryable
from forebay.sql.service import NoSettings
from forebay.sql.statements import parse
from forebay.sql.syntax import InsertValues, Select, Statement
from forebay.testing import TestDriver
from forebay.testing.contents import contents
from tests.sql.translation.cases import Case, Json, read
from tests.sql.translation.encoding import Encoding
from tests.sql.translation.running import Failed, register_schemas
from tests.sql.translation.sent_topics import SentTopics


@dataclass(frozen=True, slots=True)
class Question:
    """A case with queries.

    Args:
        case: Statements and records.
        answers: Expected response to each statement.
        status: HTTP status of the last statement if it must be refused, otherwise 0.
    """

    case: Case
    answers: tuple[Json, ...]
    status: int


def questions_of(folder: Path) -> Iterator[Question]:
    """Yield the cases of a file, or of all `.json` files of a folder."""
    for path in sorted(folder.rglob("*.json")) if folder.is_dir() else [folder]:
        for test in read(path.read_text(encoding="utf-8")).get("tests", []):
            for form in test.get("format") or [""]:
                whole = json.loads(json.dumps(test, default=str).replace("{FORMAT}", form))
                topics = [topic for topic in whole.get("topics", []) if isinstance(topic, dict)]
                case = Case(
                    path.name,
                    f"{whole['name']} - {form}" if form else whole["name"],
                    "\n".join(whole.get("statements", [])),
                    {name: str(value) for name, value in whole.get("properties", {}).items()},
                    {topic["name"]: topic for topic in topics},
                    tuple(whole.get("inputs", [])),
                    tuple(whole.get("outputs", [])),
                    "expectedError" in whole,
                    (),
                )
                error = whole.get("expectedError", {})
                yield Question(case, tuple(whole.get("responses", [])), error.get("status", 400) if error else 0)


def failure_of_question(question: Question) -> str:
    """Return the reason why a case fails, or "" if it passes."""
    registry = LocalSubjects()
    connect(registry)
    try:
        register_schemas(question.case, registry)
        _run(question, registry)
    except Failed as failed:
        return str(failed)
    except Exception as error:
        return f"raises {type(error).__name__}: {error!s:.200}"
    finally:
        connect(LocalSubjects())
    return ""


def _run(question: Question, registry: LocalSubjects) -> None:
    case = question.case
    try:
        statements = parse(case.statements, "case.sql")
        program = program_of_statements(
            [item for item in statements if not isinstance(item, Select | InsertValues)], dict(case.properties)
        )
        inserts = [record_of(item, program.catalog) for item in statements if isinstance(item, InsertValues)]
        driver = TestDriver(job(NoSettings, lambda _: topology_of(program)), tasks=1) if program.queries else None
    except SqlError as error:
        if question.status:
            return
        raise Failed(f"refused: {error.reason}") from error
    topics = SentTopics(program, driver)
    encodings: dict[str, Encoding] = {}
    for record in case.inputs:
        topic = record["topic"]
        if topic not in encodings:
            encodings[topic] = Encoding(topics.source(topic), case.topics.get(topic, {}), registry)
        encoding = encodings[topic]
        headers = [
            (header["KEY"], None if header.get("VALUE") is None else base64.b64decode(header["VALUE"]))
            for header in record.get("headers") or []
        ]
        topics.send(topic, encoding.key(record), encoding.value(record), record.get("timestamp") or 0, headers)
    for sent in inserts:
        topics.send(sent.topic, sent.key, sent.value, sent.timestamp or 0)
    asked = queryable(program.copy)
    windows = {table.store: table.source.windowing for table in asked.tables.values() if table.source.windowing}
    sizes = {store: windowing.size_ms for store, windowing in windows.items()}
    pages = SqlPages(asked, lambda: _Stores(driver, sizes), topics.tail, watch=topics.watch)  # type: ignore[arg-type, return-value]
    _check(question, [item for item in statements if isinstance(item, Select)], pages)


class _Stores:
    """The stores of a driver, with the interface of a query server's stores."""

    def __init__(self, driver: TestDriver | None, sizes: Mapping[str, int]) -> None:
        self._driver = driver
        self._sizes = sizes

    def wait_for(self, store: str, wanted: Any, seconds: float) -> None:
        return

    def ages(self, store: str) -> dict[str, int]:
        return {}

    def scan(self, store: str, bounds: Any, limit: int) -> Found:
        assert self._driver is not None
        (stores,) = filter(None, (sub_topology.stores(store) for sub_topology in self._driver.sub_topologies))
        held = contents(stores, str)
        if isinstance(held, dict):
            entries = [Entry(key, record.value, timestamp=record.timestamp) for key, record in held.items()]
        else:
            (low, high), size = bounds.times, self._sizes[store]
            windows = [window for window in held if low <= window.start <= high]
            # A session has no timestamp, so that its end is used.
            entries = [
                Entry(item.key, item.value, item.start, getattr(item, "end", item.start + size), _timestamp(item))
                for item in windows
            ]
        return Found(entries[:limit], {0: 0}, len(entries) > limit)

    def get(self, store: str, key: str, bounds: Any, limit: int) -> Found:
        return Found([entry for entry in self.scan(store, bounds, limit).entries if entry.key == key], {0: 0})


def _timestamp(window: Any) -> int | None:
    return getattr(window, "timestamp", None)


def _check(question: Question, selects: Sequence[Statement], pages: SqlPages) -> None:
    wanted = [answer["query"] for answer in question.answers if "query" in answer]
    for number, select in enumerate(selects):
        body = json.dumps({"sql": f"{select.text};", "from_beginning": True}).encode()
        answer = pages.answer(Request(("sql",), method="POST", body=body))
        content = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        lines = [json.loads(line, parse_float=Decimal) for line in content.decode().split("\n") if line]
        if number == len(selects) - 1 and question.status:
            if answer.status == 200:
                raise Failed("answered, but ksqlDB refuses it")
            return
        if answer.status != 200:
            raise Failed(f"refused with {answer.status}: {lines[0]['error']}")
        if number < len(wanted):
            _compare(lines, wanted[number])


def _compare(lines: Sequence[Json], wanted: Sequence[Json]) -> None:
    columns = next(line["columns"] for line in lines if "columns" in line)
    schema = ", ".join(f"`{column['name']}` {column['type']}" for column in columns)
    for line in wanted:
        if "header" in line and "schema" in line["header"]:
            expected = line["header"]["schema"].replace(" KEY", "")
            if expected != schema:
                raise Failed(f"the columns are {schema}, not {expected}")
    names = [column["name"] for column in columns]
    rows = [[line["row"].get(name) for name in names] for line in lines if "row" in line]
    expected_rows = [line["row"]["columns"] for line in wanted if "row" in line and not line["row"].get("tombstone")]
    if len(rows) != len(expected_rows):
        raise Failed(f"{len(rows)} rows, not {len(expected_rows)}: {rows!r:.150}")
    if not all(_equal(row, other) for row, other in zip(rows, expected_rows, strict=True)):
        remaining = list(expected_rows)
        for row in rows:
            match = next((other for other in remaining if _equal(row, other)), None)
            if match is None:
                raise Failed(f"the rows are {rows!r:.150}, not {expected_rows!r:.150}")
            remaining.remove(match)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(part, other[name]) for name, part in one.items())
    if isinstance(one, Decimal | float | int) and not isinstance(one, bool):
        try:
            return math.isclose(float(one), float(other), rel_tol=1e-9)
        except (TypeError, ValueError):
            return False
    return bool(one == other)
