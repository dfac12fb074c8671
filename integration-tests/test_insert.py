"""`forebay insert` writes a row to a real broker in the formats of a SQL file, with schemas from the registry."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay.cli.main import run
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec
from forebay.platform import Platform


@pytest.mark.parametrize("form", ["AVRO", "JSON"])
def test_inserted_row_is_read_back_unchanged(
    form: str, platform: Platform, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoints, topic = platform.up(), f"inserted-{form.lower()}"
    connection = [
        *("--bootstrap-servers", endpoints.bootstrap_servers),
        *("--schema-registry-url", endpoints.registry_url),
    ]
    settings = KafkaSettings(bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url)
    TopicAdmin(settings).create([TopicSpec(topic, 1)])
    file = tmp_path / "taps.sql"
    file.write_text(
        "CREATE STREAM taps (id STRING KEY, n INT, sizes ARRAY<DOUBLE>) "
        f"WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='{form}', PARTITIONS=1);"
    )
    assert run(["insert", "taps", "id=a", "n=5", "sizes=[1, 2.5]", "-f", str(file), *connection]) == 0
    assert capsys.readouterr().out == f"{topic}: 1 record sent\n"
    assert run(["tail", topic, "--from", "beginning", "--no-follow", *connection]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert shown["key"] == "a"
    assert shown["value"] == {"N": 5, "SIZES": [1.0, 2.5]}
