"""The engine over HTTP: `POST /sql` and `/status`. The job's query server answers all other requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from forebay.codec import EncodeError, Unavailable
from forebay.http.messages import Answer, Request, json_answer
from forebay.kafka.errors import KafkaRefused
from forebay.kafka.settings import KafkaSettings
from forebay.live.engine import Engine
from forebay.live.log import Replaced
from forebay.queries.gate import Gate
from forebay.queries.merged_topics import MergedTopics
from forebay.queries.printing import follow_topic
from forebay.queries.push import Tail
from forebay.queries.sql_pages import SqlPages
from forebay.queries.sql_requests import body_of
from forebay.queries.stores import JobStores
from forebay.runtime.driver.prepare import TopicsUnfit
from forebay.sql.administration import Define
from forebay.sql.changes import is_change
from forebay.sql.encodings.json_bytes import encode_json
from forebay.sql.errors import SqlError
from forebay.sql.queryable import Queryable, codecs_of
from forebay.sql.syntax import Command, SetProperty

_HELP = "no query computes anything yet: send CREATE STREAM or TABLE ... AS SELECT to POST /sql"
_STARTS = "the query server has not started yet. The engine retries, and its log has the reason: send the request again"


class EnginePages:
    """Answers requests.

    Args:
        reads: check of the token of every request. Without a token, none is required.
        changes: check of the token of statements that change something.
        replaced: called once another engine has taken over.
    """

    def __init__(
        self, engine: Engine, kafka: KafkaSettings, reads: Gate, changes: Gate, replaced: Callable[[str], None]
    ) -> None:
        self._engine = engine
        self._kafka = kafka
        self._reads = reads
        self._changes = changes
        self._replaced = replaced

    def answer(self, request: Request) -> Answer:
        """Return the response to a request. An error in it is returned as `{"error": ...}`."""
        if request.path in (("healthz",), ("readyz",)):
            state = self._engine.state
            return json_answer(200, {"ok": True, "reason": f"statements are taken; the job is {state}"})
        refused = self._reads.refusal(request)
        if refused is not None:
            return refused
        if request.path == ("sql",) and request.method == "POST":
            return self._sql(request)
        if request.path == ("status",) and request.method == "GET":
            return json_answer(200, self._engine.status())
        return self._query(request, lambda _: json_answer(404, {"error": _HELP}))

    def _sql(self, request: Request) -> Answer:
        try:
            text = str(body_of(request)["sql"])
            parsed = self._engine.parse(text)
            statements = [statement for statement in parsed if not isinstance(statement, SetProperty | Define)]
            changes = [statement for statement in statements if is_change(statement)]
            if changes:
                if len(changes) < len(statements):
                    other = next(statement for statement in statements if not is_change(statement))
                    raise SqlError(
                        other.place,
                        "send queries (SELECT, SHOW, DESCRIBE ...) in their own request, without statements that "
                        "change something",
                    )
                refused = self._changes.refusal(request)
                return refused or _lines(self._apply(text))
            if statements and _is(statements[0], "SHOW", "QUERIES") and len(statements) == 1:
                return _lines(self._queries())
        except (RecursionError, MemoryError, SyntaxError):  # Python's own limits of what it reads and compiles
            return json_answer(400, {"error": "the statement is nested too deeply: split it"})
        except (SqlError, TopicsUnfit, EncodeError, KafkaRefused, ValueError) as error:
            return json_answer(400, {"error": str(error)})
        except Replaced as error:
            self._replaced(str(error))
            return json_answer(503, {"error": str(error)})
        except Unavailable as error:
            return json_answer(503, {"error": str(error)})
        return self._query(request, lambda request: self._pages_without_job().answer(request))

    def _query(self, request: Request, answer_without_job: Callable[[Request], Answer]) -> Answer:
        serving = self._engine.serving
        if serving is not None:
            return serving.server.answer(request)
        if self._engine.draft.service is not None:
            return json_answer(503, {"error": _STARTS})
        return answer_without_job(request)

    def _apply(self, text: str) -> Iterator[dict[str, Any]]:
        rows = [
            {"statement": statement.statement, "result": statement.result} for statement in self._engine.apply(text)
        ]
        return _rows(["statement", "result"], rows)

    def _queries(self) -> Iterator[dict[str, Any]]:
        state, program = self._engine.state, self._engine.draft.program
        rows = [
            {"query": query.name, "writes": query.target.name, "topic": query.target.topic,
             "state": "paused" if query in program.waiting else state, "statement": query.text}
            for query in (*program.queries, *program.waiting)
        ]  # fmt: skip
        return _rows(["query", "writes", "topic", "state", "statement"], rows)

    def _pages_without_job(self) -> SqlPages:
        """Return the SQL pages while there are no queries: push queries of declared topics, SHOW, DESCRIBE."""
        queryable = Queryable(self._engine.program, {})
        tail, follow = partial(Tail, self._kafka, codecs_of), partial(follow_topic, self._kafka)
        watch = partial(MergedTopics, self._kafka)
        return SqlPages(queryable, lambda: JobStores([], []), tail, follow=follow, lag=lambda _topics: {}, watch=watch)


def _is(statement: Any, verb: str, subject: str) -> bool:
    return isinstance(statement, Command) and (statement.verb, statement.subject) == (verb, subject)


def _rows(columns: list[str], rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield {"columns": [{"name": name} for name in columns]}
    yield from ({"row": row} for row in rows)
    yield {"end": {"rows": len(rows)}}


def _lines(lines: Iterator[dict[str, Any]]) -> Answer:
    body = b"".join(encode_json(line) + b"\n" for line in lines)
    return Answer(200, "application/x-ndjson", body)
