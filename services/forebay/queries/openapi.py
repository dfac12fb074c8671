"""The query server's paths as an OpenAPI document."""

from __future__ import annotations

from typing import Any

import forebay
from forebay.http.messages import Answer, json_answer
from forebay.http.server import MAX_BODY

_ERRORS = {
    "400": "the request is wrong; the error contains the remedy",
    "401": "a token or login is required",
    "404": "there is no such store, or no entry with the key",
    "503": "not read yet, or not up to the requested offsets, or too many requests: retry",
}
_STORE = {"name": "store", "in": "path", "required": True, "schema": {"type": "string"}}
_KEY = {
    "name": "key",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
    "description": "a key of several fields has a path part for each",
}


def _parameter(name: str, kind: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": kind}, "description": text}


_PARTIAL = _parameter(
    "partial", "boolean", "if servers hold parts of the tasks: accept the result of those that answer"
)
_READ = [
    _PARTIAL,
    _parameter("limit", "integer", "maximum number of entries"),
    _parameter("at_least", "string", "topic-partition:offset that the result must include. Repeatable"),
    _parameter("wait_ms", "integer", "how long to wait for at_least"),
    _parameter("since", "string", "ms, or a time with its zone"),
    _parameter("until", "string", "ms, or a time with its zone"),
    _parameter("as_of", "string", "ms, or a time with its zone: the version that was valid then"),
    _parameter("order", "string", "asc or desc"),
]
_RANGE = [_parameter(name, "string", f"keys: {name}") for name in ("from", "to", "after", "prefix")]


def _operation(summary: str, parameters: list[dict[str, Any]], content: str, **more: Any) -> dict[str, Any]:
    failed = {
        status: {
            "description": text,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        for status, text in _ERRORS.items()
    }
    responses = {"200": {"description": "the answer", "content": {content: {}}}}
    return {"summary": summary, "parameters": parameters, "responses": responses | failed, **more}


def _paths(has_sql: bool) -> dict[str, Any]:
    json_, events = "application/json", "text/event-stream"
    begin = _parameter("begin", "string", "now, or snapshot: all rows first")
    paths: dict[str, Any] = {
        "/stores": {"get": _operation("the stores", [], json_)},
        "/stores/{store}": {"get": _operation("entries of all keys, in order", [_STORE, *_READ, *_RANGE], json_)},
        "/stores/{store}/{key}": {"get": _operation("entries of a key", [_STORE, _KEY, *_READ], json_)},
        "/changes/{store}": {"get": _operation("every change as it is committed", [_STORE, begin, _PARTIAL], events)},
        "/changes/{store}/{key}": {"get": _operation("changes of a key", [_STORE, _KEY, begin, _PARTIAL], events)},
        "/healthz": {"get": {"summary": "alive", "responses": {"200": {"description": "yes"}}, "security": []}},
        "/readyz": {"get": {"summary": "ready", "responses": {"200": {"description": "yes"}}, "security": []}},
        "/metrics": {"get": {"summary": "metrics", "responses": {"200": {"description": "text"}}, "security": []}},
    }
    if has_sql:
        fields = {
            "sql": {"type": "string", "maxLength": MAX_BODY},
            "from_beginning": {"type": "boolean"},
            "at_least": {"type": "array", "items": {"type": "string"}},
            "wait_ms": {"type": "integer"},
            "partial": {"type": "boolean"},
        }
        schema = {"type": "object", "required": ["sql"], "properties": fields, "additionalProperties": False}
        body = {"requestBody": {"required": True, "content": {json_: {"schema": schema}, "text/plain": {}}}}
        paths["/sql"] = {"post": _operation("one statement of SQL: JSON lines", [], "application/x-ndjson", **body)}
    return paths


def openapi(has_sql: bool) -> Answer:
    """Return the response with the OpenAPI document."""
    schemes = {"token": {"type": "http", "scheme": "bearer"}, "login": {"type": "http", "scheme": "basic"}}
    error = {"type": "object", "properties": {"error": {"type": "string"}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Forebay queries", "version": forebay.__version__},
        "paths": _paths(has_sql),
        "components": {"schemas": {"Error": error}, "securitySchemes": schemes},
        "security": [{}, {"token": []}, {"login": []}],
    }
    return json_answer(200, document)
