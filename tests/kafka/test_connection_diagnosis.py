"""If a broker does not answer, probing its address finds the cause. Each wrong address or protocol has its message."""

from __future__ import annotations

import logging
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator

import pytest

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.connection_probe import look, why_silent
from forebay.kafka.errors import KafkaUnavailable
from forebay.kafka.settings import KafkaSettings

Serve = Callable[[socket.socket], None]
Listen = Callable[[Serve], str]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Yield a function that starts a server, which runs a handler per connection, and returns its address."""
    servers = []

    def start(serve: Serve) -> str:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

        def handle(connection: socket.socket) -> None:
            with connection:
                try:
                    serve(connection)
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        return f"127.0.0.1:{server.getsockname()[1]}"

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=broker"
    subprocess.run(
        [*command.split(), "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True
    )
    result = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    result.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return result


def kafka(apis: tuple[int, ...]) -> Serve:
    """Return a handler that answers requests of these API keys and closes the connection at others, like a broker."""

    def serve(connection: socket.socket) -> None:
        while header := connection.recv(4):
            request = connection.recv(struct.unpack(">i", header)[0])
            if struct.unpack(">h", request[:2])[0] not in apis:
                return
            answer = request[4:8] + bytes(600)
            connection.sendall(struct.pack(">i", len(answer)) + answer)

    return serve


def hang_up(connection: socket.socket) -> None:
    connection.recv(100)


def http(connection: socket.socket) -> None:
    connection.recv(100)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def settings(servers: str) -> KafkaSettings:
    return KafkaSettings(bootstrap_servers=servers, schema_registry_url="http://127.0.0.1:9")


def test_a_reachable_broker_has_no_problem(listen: Listen) -> None:
    assert look(listen(kafka((18, 3))), "PLAINTEXT") == ""


def test_a_name_that_is_not_known() -> None:
    assert look("nowhere.invalid:9092", "PLAINTEXT").startswith("the name nowhere.invalid is not known here (")


def test_a_port_without_a_listener() -> None:
    address = free_address()
    assert look(address, "PLAINTEXT").startswith(f"nothing listens on {address}: check that the broker runs there")


def test_a_listener_with_sasl_is_recognized_because_it_hangs_up(listen: Listen) -> None:
    address = listen(kafka((18,)))
    assert f"{address} closes connections of clients without SASL: set -X security.protocol" in look(
        address, "PLAINTEXT"
    )
    assert look(address, "SASL_PLAINTEXT") == ""


def test_a_listener_with_tls(listen: Listen, context: ssl.SSLContext) -> None:
    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(100)

    address = listen(serve)
    assert f"{address} expects TLS: " in look(address, "PLAINTEXT")
    assert "=SASL_SSL and ssl.ca.location" in look(address, "SASL_PLAINTEXT")
    assert look(address, "SSL") == ""


def test_a_listener_without_tls(listen: Listen) -> None:
    error = look(listen(hang_up), "SASL_SSL")
    assert "does not speak TLS, but the client does (SASL_SSL)" in error
    assert "=SASL_PLAINTEXT, or use another port" in error


def test_a_server_that_is_not_a_broker(listen: Listen) -> None:
    assert "answers with HTTP, so it is not a Kafka broker" in look(listen(http), "PLAINTEXT")
    assert "does not answer as a Kafka broker does" in look(listen(hang_up), "PLAINTEXT")


def test_one_server_that_is_fine_is_enough(listen: Listen) -> None:
    bad = free_address()
    assert why_silent(settings(f"{bad},{listen(kafka((18, 3)))}")) == ""
    assert why_silent(settings(f"{bad},nowhere.invalid:1")).startswith("nothing listens on")


@pytest.mark.long
def test_a_request_without_an_answer_reports_the_cause(listen: Listen, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "forebay.kafka")
    address = listen(http)
    admin = TopicAdmin(settings(address), 2.5)
    with pytest.raises(KafkaUnavailable, match=f"no answer from the broker: {address} answers with HTTP"):
        admin.partitions(["anything"])
    assert [record.getMessage() for record in caplog.records] == [
        f"waiting for the broker {address}: {look(address, 'PLAINTEXT')}"
    ]
