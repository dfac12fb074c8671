"""docs/new-service.md on a real broker: its commands create, feed, run and read a service outside the repository."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from topic_reading import Decoder, read_topic

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
    decode = Decoder(endpoints.registry_url).decode
    views = [m for messages in read_topic(settings, "page_views").values() for m in messages]
    expected: dict[str, Counter[str]] = defaultdict(Counter)
    for message in views:
        expected[(message.key() or b"").decode()][decode(message.value() or b"")["page"]] += 1
    outputs = [m for messages in read_topic(settings, "page_counts").values() for m in messages]
    last = {(v["site"], v["page"]): v["page_views"] for m in outputs for v in [decode(m.value() or b"")]}
    totals = {v["site"]: v["site_views"] for m in outputs for v in [decode(m.value() or b"")]}
    assert len(outputs) == len(views) == EVENTS
    assert last == {(site, page): count for site, pages in expected.items() for page, count in pages.items()}
    assert totals == {site: pages.total() for site, pages in expected.items()}
