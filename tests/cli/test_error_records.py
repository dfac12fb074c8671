"""`forebay errors replay` knows all inputs of a job, and refuses a beginning that is not an offset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from forebay.catalog import Service, Topic
from forebay.cli import error_records, names
from forebay.runtime.maintenance.error_replay import Replayed

TOPICS = {"orders": 2, "clicks-eu": 3, "clicks-us": 4, "other": 1, "shop.errors": 1}
SHOP = Service("shop", "", (Topic("orders", ""),), (Topic("out", ""),), {}, "device_alerts.job")

BROKER = ("--bootstrap-servers", "nowhere:1", "--schema-registry-url", "http://nowhere:1")


class Admin:
    def __init__(self, _settings: object) -> None: ...

    def names(self) -> list[str]:
        return list(TOPICS)

    def partitions(self, wanted: Iterable[str]) -> dict[str, int]:
        return {name: TOPICS[name] for name in wanted if name in TOPICS}


def look(monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[Result, list[Any]]:
    """Return the command's result, and what it would replay."""
    runs: list[Any] = []

    class Replay:
        def __init__(self, *arguments: object) -> None:
            runs.append(arguments[1:])

        def look(self) -> Replayed:
            return Replayed()

    service = replace(SHOP, patterns={"clicks-.*": ""})
    monkeypatch.setattr(names, "find_service", lambda _: service)
    monkeypatch.setattr(error_records, "TopicAdmin", Admin)
    monkeypatch.setattr(error_records, "ErrorReplay", Replay)
    return CliRunner().invoke(error_records.errors, ["replay", "shop", "--dry-run", *BROKER, *options]), runs


def test_topics_that_match_a_pattern_are_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    result, runs = look(monkeypatch, "--from", "7", "--leave-out", "former")
    inputs: Mapping[str, int] = {"orders": 2, "clicks-eu": 3, "clicks-us": 4}
    assert (result.exit_code, runs) == (0, [("shop", "shop.errors", inputs, 7, ("former",))])


@pytest.mark.parametrize("text", ["end", "-1", "", "1.5"])
def test_a_beginning_that_is_no_offset_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    result, runs = look(monkeypatch, "--from", text)
    assert (result.exit_code, runs) == (2, [])
    assert "specify beginning, or an offset" in result.output
