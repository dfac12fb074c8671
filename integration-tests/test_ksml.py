"""The tutorial's five KSML definitions run as one job, are killed once, and give what their functions give."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from job_process import JobProcess
from topic_reading import read_topic

from forebay.cli.main import run
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from tests.ksml.bodies import DEFINITIONS, NAMES, expected

TOPICS = {
    "user-sessions": ("ksml_user_activity", "ksml_user_session_stats"),
    "windowed-metrics": ("ksml_server_metrics", "ksml_windowed_metrics"),
    "session-analytics": ("ksml_user_clicks", "ksml_session_analytics"),
    "device-alerts": ("ksml_device_events", "ksml_device_alerts"),
    "order-stores": ("ksml_order_events", "ksml_order_results"),
}
Records = list[tuple[str, Any]]


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
            assert last_of(by_key(sent)) == last_of(by_key(expected(name, records)))
            assert len(sent) == len(expected(name, records)) == 300
        else:
            assert by_key(sent) == by_key(expected(name, records))


def records_of(settings: KafkaSettings, topic: str) -> Records:
    """Return a topic's records, partition by partition."""
    return [
        ((message.key() or b"").decode(), json.loads(message.value() or b"null"))
        for messages in read_topic(settings, topic).values()
        for message in messages
    ]


def by_key(records: Records) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for key, value in records:
        found[key].append(value)
    return found


def last_of(found: dict[str, list[Any]]) -> dict[str, Any]:
    """Return each customer's totals in the end: in between they depend on the order of partitions."""
    return {key: values[-1]["customer"] for key, values in found.items()}
