"""The query server of a part requires the token for some requests, and not for others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forebay.catalog import find_service
from forebay.http.messages import Request
from forebay.kafka.settings import KafkaSettings
from forebay.queries.parts.servers import Settings
from forebay.queries.parts.share import Share
from forebay.queries.server import QueryServer

TOKEN = "a-token-of-enough-bytes"
PEERS = ("http://127.0.0.1:1", "http://127.0.0.1:2")


@pytest.fixture(scope="module")
def server() -> QueryServer:
    kafka = KafkaSettings(bootstrap_servers="nowhere:1", schema_registry_url="http://nowhere")
    parts = Settings(Share(1, 2), PEERS)
    return QueryServer(kafka, find_service("user-sessions"), "app", {}, TOKEN.encode(), parts=parts)


def ask(server: QueryServer, target: str, authorization: str = "", forwarded: str = "") -> tuple[int, Any]:
    answer = server.answer(Request.of(target, authorization, forwarded=forwarded))
    assert isinstance(answer.body, bytes)
    return answer.status, json.loads(answer.body) if answer.content_type == "application/json" else answer.body.decode()


def test_any_client_may_request_the_part_s_identity(server: QueryServer) -> None:
    info = {"service": "user-sessions", "application": "app", "part": 1, "parts": 2, "tasks": 0}
    assert ask(server, "/part") == (200, info)
    status, ready = ask(server, "/readyz")
    assert (status, ready["ok"], ready["part"], ready["parts"]) == (503, False, 1, {"answering": 1, "of": 2})
    metrics = ask(server, "/metrics")[1]
    assert 'forebay_queries_forwarded_total{part="0",service="user-sessions"} 0.0' in metrics
    assert 'forebay_queries_forward_failures_total{part="0",service="user-sessions"} 0.0' in metrics
    assert 'forebay_queries_parts_answering{service="user-sessions"} 1.0' in metrics


@pytest.mark.parametrize("path", ["/stores/user-profiles", "/part/read", "/part/changes", "/changes/user-profiles"])
def test_rows_require_the_token(server: QueryServer, path: str) -> None:
    assert ask(server, path, forwarded="app 1/2" if "part" in path else "")[0] == 401


def test_no_store_looks_empty_before_the_server_knows_the_tasks(server: QueryServer) -> None:
    status, body = ask(server, "/stores/user-profiles", f"Bearer {TOKEN}")
    assert (status, body["missing"]) == (503, [0, 1])
    assert ask(server, "/stores/user-profiles?partial=true", f"Bearer {TOKEN}")[0] == 503
    assert ask(server, "/changes/user-profiles?partial=true", f"Bearer {TOKEN}")[0] == 503


def test_a_forwarded_request_is_not_forwarded_again(server: QueryServer) -> None:
    status, body = ask(server, "/stores/user-profiles", f"Bearer {TOKEN}", "app 1/2")
    assert (status, "parts ask each other" in body["error"]) == (404, True)
    assert ask(server, "/stores/user-profiles", f"Bearer {TOKEN}", "app 0/2")[0] == 421
