"""The console asks the engines of SQL that it watches, with its token, and says which does not answer."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from forebay.console.engines import Engines
from forebay.http.server import Answer, HttpServer, Request, json_answer
from forebay.platform.ports import HOST, free_port
from forebay.queries.gate import Gate

TOKEN = "0123456789abcdef"


@pytest.fixture
def engine() -> Iterator[str]:
    gate = Gate(TOKEN.encode())

    def answer(request: Request) -> Answer:
        return gate.refusal(request) or json_answer(200, {"application": "shop", "path": list(request.path)})

    server = HttpServer(answer, HOST, 0)
    yield f"http://{HOST}:{server.port}"
    server.close()


def test_each_engine_answers_or_has_the_reason(engine: str) -> None:
    nowhere = f"http://{HOST}:{free_port()}"
    shop, away = Engines([engine, nowhere], TOKEN).read()
    assert (shop["url"], shop["application"], shop["path"]) == (engine, "shop", ["status"])
    assert away["url"] == nowhere
    assert "forebay sql --live" in away["error"]


def test_a_wrong_token_is_the_reason(engine: str) -> None:
    (refused,) = Engines([engine], "wrong").read()
    assert "token" in refused["error"]


def test_another_program_is_recognized() -> None:
    for body in (b"<h1>hello</h1>", json.dumps([1]).encode()):
        other = HttpServer(lambda _, body=body: Answer(200, "text/html", body), HOST, 0)  # type: ignore[misc]
        (wrong,) = Engines([f"http://{HOST}:{other.port}"]).read()
        other.close()
        assert "not as an engine does" in wrong["error"]


def test_without_engines_nothing_is_asked() -> None:
    assert Engines().read() == []
