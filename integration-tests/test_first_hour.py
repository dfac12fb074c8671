"""The commands of docs/first-hour.md create topics, send, run, read and query a new service on a real broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay.platform import Platform
from forebay.platform.ports import free_port
from tests.docs import first_hour, walkthrough


@pytest.mark.timeout(300)
def test_the_commands_of_the_page_feed_run_and_query_the_service(platform: Platform, tmp_path: Path) -> None:
    platform.up()
    service, result = first_hour.make(tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    first_hour.change(service)
    port = str(free_port())
    commands = "".join(first_hour.of("bash")[2:]).replace("7070", port)
    done = walkthrough.shell(service, commands, FOREBAY_HOME=str(platform.home), FOREBAY_QUERIES_HTTP_PORT=port)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "page_counts_events: 2,000 events in" in done.stdout
    printed = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    *results, answer = printed
    assert [result["value"]["user"] for result in results] == [result["key"] for result in results]
    assert len(results) == 2
    assert len(answer["entries"]) == 3, answer
    # The broker is shared with tests of other pages. One of them has a service with the same name.
    forgotten = walkthrough.shell(service, "forebay reset page-counts --yes", FOREBAY_HOME=str(platform.home))
    assert forgotten.returncode == 0, forgotten.stdout + forgotten.stderr
