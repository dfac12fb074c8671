"""The commands of docs/new-service.md create, feed, run and read a service outside the repository on a real broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from page_counts_results import check_counts

from forebay.kafka.settings import KafkaSettings
from forebay.platform import Platform
from tests.docs import walkthrough

EVENTS = 2000


@pytest.mark.timeout(420)
def test_the_commands_of_the_page_run_the_service(platform: Platform, tmp_path: Path) -> None:
    endpoints = platform.up()
    walkthrough.write(tmp_path)
    prepared, commands = walkthrough.commands()
    done = walkthrough.shell(tmp_path, prepared.splitlines()[0] + "\n" + commands, FOREBAY_HOME=str(platform.home))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "page-counts-sites-changelog: created, 4 partitions" in done.stdout
    assert f"page_views: {EVENTS:,} events in" in done.stdout
    printed = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(printed) == 3
    assert all(record["value"]["site"] == record["key"] for record in printed)

    settings = KafkaSettings(bootstrap_servers=endpoints.bootstrap_servers, schema_registry_url=endpoints.registry_url)
    assert check_counts(settings) == EVENTS
