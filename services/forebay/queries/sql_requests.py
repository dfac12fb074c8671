"""Parsing of the requests of `POST /sql`: one statement, as text or JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from forebay.http.messages import Request
from forebay.queries import parameters
from forebay.queries.parts.stores import Caller
from forebay.sql.administration import Define
from forebay.sql.statements import parse
from forebay.sql.syntax import SetProperty, Statement

_FIELDS = dict.fromkeys(("sql", "from_beginning", "at_least", "wait_ms", "partial"))


@dataclass(frozen=True, slots=True)
class Asked:
    """A parsed request.

    Args:
        at_least: offsets that the result of a pull query must include, `topic-partition:offset`.
        caller: the client's authorization, and whether it accepts a partial response.
    """

    statement: Statement
    from_beginning: bool
    at_least: list[str]
    wait_ms: int
    as_events: bool
    caller: Caller


def body_of(request: Request) -> dict[str, Any]:
    """Return the fields of a request's body, among them `sql`. Raises ValueError."""
    try:
        text = request.body.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"the body is not UTF-8: {error}: send text or JSON") from error
    given: dict[str, Any] = {"sql": text}
    if text.lstrip().startswith("{"):
        given = json.loads(text)
    try:
        json.dumps(given, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the body holds half of a surrogate pair, which is not a character: {error}") from error
    unknown = sorted(given.keys() - _FIELDS)
    if unknown or not isinstance(given.get("sql"), str):
        problem = f"unknown fields {', '.join(unknown)}" if unknown else "no statement in the field sql"
        raise ValueError(f"{problem}: the body may have the fields {', '.join(_FIELDS)}")
    return given


def read(request: Request, *, lower: bool) -> Asked:
    """Return the parsed request. Raises SqlError, ValueError."""
    given = body_of(request)
    statements = parse(given["sql"], lower=lower)
    begins = bool(given.get("from_beginning", False))
    for statement in statements:
        if isinstance(statement, SetProperty) and statement.name == "auto.offset.reset":
            begins = statement.value == "earliest"
    rest = [statement for statement in statements if not isinstance(statement, SetProperty | Define)]
    if len(rest) != 1:
        raise ValueError(f"the body has {len(rest)} statements: send one at a time")
    wait = given.get("wait_ms", parameters.WAIT_MS)
    at_least = given.get("at_least", [])
    if not isinstance(wait, int) or not 0 <= wait <= parameters.LONGEST_WAIT_MS or not isinstance(at_least, list):
        raise ValueError(
            f"wait_ms must be a number from 0 to {parameters.LONGEST_WAIT_MS}, and at_least a list of texts such as "
            "user_activity-2:1041"
        )
    partial = given.get("partial", False) or request.parameters.get("partial") == ["true"]
    caller = Caller(request.authorization, takes_partial=bool(partial))
    return Asked(
        rest[0], begins, [str(position) for position in at_least], wait, "text/event-stream" in request.accept, caller
    )
