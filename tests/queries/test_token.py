"""A query server with a token accepts only requests that contain it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request as Ask
from urllib.request import urlopen

import pytest

from forebay.catalog import find_service
from forebay.http.messages import Request
from forebay.http.server import HttpServer
from forebay.kafka.settings import KafkaSettings
from forebay.queries.gate import Gate, NoToken, read_logins, read_token
from forebay.queries.openapi import openapi
from forebay.queries.server import QueryServer

TOKEN = "a-token-of-enough-bytes"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    kafka = KafkaSettings(bootstrap_servers="nowhere:1", schema_registry_url="http://nowhere")
    queries = QueryServer(kafka, find_service("user-sessions"), "user-sessions", {}, TOKEN.encode())
    server = HttpServer(queries.answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.port}"
    server.close()


def ask(url: str, authorization: str | None = None) -> tuple[int, str | None]:
    headers = {} if authorization is None else {"Authorization": authorization}
    try:
        with urlopen(Ask(url, headers=headers), timeout=10) as response:
            return response.status, None
    except HTTPError as error:
        with error:
            error.read()
            return error.code, error.headers.get("WWW-Authenticate")


@pytest.mark.parametrize("path", ["/stores", "/stores/user-profiles", "/changes/user-profiles", "/anything"])
def test_without_the_token_every_query_is_refused(url: str, path: str) -> None:
    assert ask(f"{url}{path}") == (401, "Bearer")


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN]
)
def test_anything_but_the_token_is_refused(url: str, authorization: str) -> None:
    assert ask(f"{url}/stores", authorization)[0] == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_with_the_token_queries_are_answered(url: str, scheme: str) -> None:
    assert ask(f"{url}/stores", f"{scheme} {TOKEN}") == (200, None)


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
def test_health_and_metrics_are_open(url: str, path: str) -> None:
    assert ask(f"{url}{path}")[0] == 200


def test_the_refusal_names_the_required_header() -> None:
    answer = Gate(TOKEN.encode()).refusal(Request(("stores",)))
    assert answer is not None
    assert isinstance(answer.body, bytes)
    assert "Authorization: Bearer" in json.loads(answer.body)["error"]


def test_without_a_configured_token_every_request_is_accepted() -> None:
    assert Gate().refusal(Request(("stores",))) is None


def test_white_space_around_a_file_s_token_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f" {TOKEN}\n")
    assert read_token(tmp_path / "token") == TOKEN.encode()


@pytest.mark.parametrize("content", ["", "short\n", "two words, though long enough", "a line of enough\nand another"])
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "token").write_text(content)
    with pytest.raises(NoToken, match="token"):
        read_token(tmp_path / "token")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoToken, match="nowhere can't be read: No such file"):
        read_token(tmp_path / "nowhere")


def basic(login: str) -> str:
    return f"Basic {base64.b64encode(login.encode()).decode()}"


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (basic("ann:long-enough"), None),
        (basic("bob:also:long"), None),
        (f"Bearer {TOKEN}", None),
        (basic("ann:also:long"), 401),
        (basic("ann:"), 401),
        ("Bearer ann:long-enough", 401),
        ("Basic !", 401),
        ("Digest x", 401),
        ("", 401),
    ],
)
def test_a_login_of_the_file_will_do_as_well(authorization: str, status: int | None, tmp_path: Path) -> None:
    (tmp_path / "logins").write_text("# who may query\nann:long-enough\n\nbob:also:long\n")
    gate = Gate(TOKEN.encode(), read_logins(tmp_path / "logins"))
    answer = gate.refusal(Request(("stores",), authorization=authorization))
    assert (None if answer is None else answer.status) == status


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "has no login"), ("ann", ":1: write name:password"), ("a:long-enough\nb:short", ":2: write name:password")],
)
def test_a_file_that_holds_no_logins_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "logins").write_text(text)
    with pytest.raises(NoToken, match=reason):
        read_logins(tmp_path / "logins")


def test_the_paths_are_described_as_openapi(url: str) -> None:
    with urlopen(Ask(f"{url}/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"}), timeout=10) as response:
        document = json.load(response)
    assert document["openapi"] == "3.1.0"
    assert "/stores/{store}/{key}" in document["paths"]
    assert "/sql" not in document["paths"]
    openapi_document = json.loads(openapi(True).body)  # type: ignore[arg-type]
    limits = openapi_document["paths"]["/sql"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert limits["properties"]["sql"]["maxLength"] == 65_536
