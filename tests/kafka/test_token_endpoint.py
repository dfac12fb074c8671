"""For OAuth (OIDC), clients fetch their token themselves with the credentials in the settings."""

from __future__ import annotations

import queue
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from forebay.kafka.environment import settings_from_environment
from forebay.kafka.settings import KafkaSettings


class TokenEndpoint:
    """A token endpoint that rejects every request and records its credentials and body."""

    def __init__(self) -> None:
        self.requests: queue.Queue[tuple[str, dict[str, list[str]]]] = queue.Queue()
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                requests.put((self.headers["Authorization"], parse_qs(body)))
                self.send_error(401)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    endpoint = TokenEndpoint()
    yield endpoint
    endpoint.close()


def settings(endpoint: TokenEndpoint) -> KafkaSettings:
    prefix = "FOREBAY_KAFKA_SASL_OAUTHBEARER"
    return settings_from_environment(
        {
            "FOREBAY_BOOTSTRAP_SERVERS": "127.0.0.1:1",
            "FOREBAY_SCHEMA_REGISTRY_URL": "http://127.0.0.1:1",
            "FOREBAY_KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
            "FOREBAY_KAFKA_SASL_MECHANISM": "OAUTHBEARER",
            f"{prefix}_METHOD": "oidc",
            f"{prefix}_CLIENT_ID": "sessions",
            f"{prefix}_CLIENT_SECRET": "open-sesame",
            f"{prefix}_SCOPE": "kafka",
            f"{prefix}_TOKEN_ENDPOINT_URL": endpoint.url,
        }
    )


@pytest.mark.parametrize("kind", ["consumer", "producer", "admin"])
def test_each_client_asks_for_a_token_with_the_credentials(endpoint: TokenEndpoint, kind: str) -> None:
    chosen = settings(endpoint)
    client: Consumer | Producer | AdminClient
    if kind == "consumer":
        client = Consumer(chosen.consumer())
    elif kind == "producer":
        client = Producer(chosen.producer())
    else:
        client = AdminClient(chosen.admin())
    login, body = endpoint.requests.get(timeout=20)
    assert login == "Basic " + b64encode(b"sessions:open-sesame").decode()
    assert body == {"grant_type": ["client_credentials"], "scope": ["kafka"]}
    if isinstance(client, Consumer):
        client.close()


def test_the_client_s_secret_is_never_shown(endpoint: TokenEndpoint) -> None:
    assert "open-sesame" not in repr(settings(endpoint))
