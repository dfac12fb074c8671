"""The console requests the status of SQL engines with its token, and reports engines that do not respond."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from forebay.console.engines import Engines
from forebay.http.messages import Answer, Request, json_answer
from forebay.http.server import HttpServer
from forebay.platform.ports import HOST, free_port
from forebay.queries.gate import Gate

TOKEN = "0123456789abcdef"


@pytest.fixture
def engine() -> Iterator[str]:
    gate = Gate(TOKEN.encode())

    def answer(request: Request) -> Answer:
        status = {"application": "shop", "state": "runs", "queries": [], "ends": [], "path": list(request.path)}
        return gate.refusal(request) or json_answer(200, status)

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
    for body in (b"<h1>hello</h1>", b"[1]", b"[]", b"{}", b"1", b'{"ok": true}', b'{"state": "runs", "queries": []}'):
        other = HttpServer(lambda _, body=body: Answer(200, "text/html", body), HOST, 0)  # type: ignore[misc]
        (wrong,) = Engines([f"http://{HOST}:{other.port}"]).read()
        other.close()
        assert "not as an engine does" in wrong["error"]


@pytest.mark.parametrize("sent", [b"SSH-2.0-other\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}"])
def test_an_address_that_speaks_no_http_does_not_hide_the_other_engines(engine: str, sent: bytes) -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(sent)

        thread = threading.Thread(target=answer)
        thread.start()
        wrong, shop = Engines([f"http://{HOST}:{port}", engine], TOKEN).read()
        thread.join()
    assert shop["application"] == "shop"
    assert "forebay sql --live" in wrong["error"]
    assert TOKEN not in wrong["error"]


def test_nothing_is_requested_without_engines() -> None:
    assert Engines().read() == []
