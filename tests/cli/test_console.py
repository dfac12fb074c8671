"""`forebay console` rejects wrong options with the correction, and starts query servers with its Kafka settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from forebay.catalog import find_service
from forebay.cli.console import Command, console
from forebay.console.job_address import WatchedJob
from forebay.kafka.settings import KafkaSettings

BROKER = ["--bootstrap-servers", "broker:9092", "--schema-registry-url", "http://registry:8080"]
WRONG = [
    (["no-service"], "no-service"),
    (["user-sessions=localhost:8080"], "write http://HOST:PORT"),
    (
        ["user-sessions", "--queries", "price-join=http://a:1"],
        "--queries price-join=...: the console shows only user-sessions",
    ),
    (["user-sessions", "--queries", "user-sessions=a:1"], "--queries: 'a:1' is not a URL"),
    (["user-sessions", "--application", "user-sessions"], "is not NAME=VALUE"),
    (["user-sessions", "--topic", "readings=r"], "--topic: "),
    (["user-sessions", "--token-file", "missing"], "--token-file: missing can't be read"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG, ids=[said for _, said in WRONG])
def test_wrong_arguments_are_refused(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(console, [*BROKER, *arguments])
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_a_query_server_is_started_with_the_console_s_connection() -> None:
    kafka = KafkaSettings(bootstrap_servers="broker:9092", schema_registry_url="http://registry:8080")
    command = Command(kafka, Path("home"), Path("token"), ("security.protocol=SSL",))
    line = command(WatchedJob(find_service("user-sessions"), "other-id"), 7071)
    assert line[1:5] == ["-m", "forebay.cli.main", "queries", "user-sessions"]
    pairs = set(zip(line[5::2], line[6::2], strict=True))
    assert pairs >= {
        ("--application", "other-id"),
        ("--bootstrap-servers", "broker:9092"),
        ("--http-port", "7071"),
        ("--token-file", "token"),
        ("--kafka-option", "security.protocol=SSL"),
    }
