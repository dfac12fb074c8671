"""The tutorial's five KSML definitions run as one job, which is killed once. The results are those of the functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from job_process import JobProcess
from ksml_records import by_key, records_of
from topic_reading import read_topic

from forebay.cli.main import run
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from forebay.serde import Schema
from forebay.serde.framing import header
from tests.ksml.bodies import DEFINITIONS, NAMES, expected_records

TOPICS = {
    "user-sessions": ("ksml_user_activity", "ksml_user_session_stats"),
    "windowed-metrics": ("ksml_server_metrics", "ksml_windowed_metrics"),
    "session-analytics": ("ksml_user_clicks", "ksml_session_analytics"),
    "device-alerts": ("ksml_device_events", "ksml_device_alerts"),
    "order-stores": ("ksml_order_events", "ksml_order_results"),
}


@pytest.mark.timeout(300)
def test_the_tutorial_s_definitions_survive_a_kill_and_give_each_result_once(
    endpoints: Endpoints, tmp_path: Path
) -> None:
    broker = ["--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url]
    settings = KafkaSettings(bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url)
    arguments = ["run", str(DEFINITIONS), *broker, "--application", "ksml-tutorial", "--tasks", "2"]
    arguments += ["--checkpoint", str(tmp_path / "checkpoint"), "--max-error-rate", "1"]

    assert run(["ksml", "produce", str(DEFINITIONS), *broker]) == 0
    job = JobProcess(arguments, tmp_path / "job.log", {}, "ksml")
    job.until_commits(2)
    job.kill()
    assert run(["ksml", "produce", str(DEFINITIONS), *broker]) == 0
    job = JobProcess([*arguments, "--trigger", "available-now"], tmp_path / "job.log", {}, "ksml")
    assert job.finish() == 0, job.text()

    for name in NAMES:
        source, target = TOPICS[name]
        records, sent = records_of(settings, source), records_of(settings, target)
        assert len(records) == 600
        if name == "order-stores":
            assert last_of(by_key(sent)) == last_of(by_key(expected_records(name, records)))
            assert len(sent) == len(expected_records(name, records)) == 300
        else:
            assert by_key(sent) == by_key(expected_records(name, records))


def last_of(found: dict[str, list[Any]]) -> dict[str, Any]:
    """Return each customer's final totals. Earlier ones depend on the order of partitions."""
    return {key: values[-1]["customer"] for key, values in found.items()}


KEYED = """
streams:
  visits: {topic: ksml_visits, keyType: avro:Place, valueType: avro}
  sorted:
    topic: ksml_sorted_visits
    keyType: avro:Place
    valueType: protobuf:Visit
    partitioner: by_zone

functions:
  by_zone:
    type: streamPartitioner
    expression: "key['zone'] % numPartitions"
  make_visit:
    type: generator
    globalCode: number = 0
    code: |
      global number
      number += 1
      return {"city": "Delft", "zone": number % 7}, {"guest": f"guest {number}"}
    resultType: (avro:Place, avro:Visit)

pipelines:
  main:
    from: visits
    to: sorted

producers:
  visits:
    generator: make_visit
    count: 40
    to: {topic: ksml_visits, keyType: avro:Place, valueType: avro:Visit}
"""
PLACE = {
    "type": "record",
    "name": "Place",
    "fields": [{"name": "city", "type": "string"}, {"name": "zone", "type": "int"}],
}
VISIT = {"type": "record", "name": "Visit", "fields": [{"name": "guest", "type": "string"}]}
VISIT_PROTO = 'syntax = "proto3"; message Visit { string guest = 1; }'


@pytest.mark.timeout(300)
def test_avro_keys_and_partitioners_work_with_a_broker(endpoints: Endpoints, tmp_path: Path) -> None:
    broker = ["--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url]
    settings = KafkaSettings(bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url)
    definition = tmp_path / "keyed.yaml"
    definition.write_text(KEYED)
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    for name, schema in (("Place", PLACE), ("Visit", VISIT)):
        (schemas / f"{name}.avsc").write_text(json.dumps(schema))
    (schemas / "Visit.proto").write_text(VISIT_PROTO)
    files = [str(definition), "--schemas", str(schemas), *broker]

    assert run(["ksml", "produce", *files]) == 0
    arguments = ["run", *files, "--tasks", "2", "--checkpoint", str(tmp_path / "c"), "--trigger", "available-now"]
    job = JobProcess(arguments, tmp_path / "job.log", {}, "ksml")
    assert job.finish() == 0, job.text()

    registry = SchemaRegistry(settings.registry())
    key_id = registry.register("ksml_sorted_visits-key", Schema(json.dumps(PLACE))).schema_id
    result = read_topic(settings, "ksml_sorted_visits")
    assert sum(map(len, result.values())) == 40
    for partition, messages in result.items():
        for message in messages:
            key = message.key() or b""
            assert key[:5] == header(key_id)
            assert (key[-1] // 2) % len(result) == partition, "a zone is a zigzag number at the key's end"
    values = {(message.value() or b"")[6:] for messages in result.values() for message in messages}
    assert values == {b"\n" + bytes([len(guest)]) + guest for guest in (b"guest %d" % n for n in range(1, 41))}
