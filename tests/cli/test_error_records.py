"""`forebay errors replay` replays to all inputs of a job, and refuses a start that is not an offset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from forebay.catalog import Service, Topic
from forebay.cli import error_records, names
from forebay.kafka.topics import TopicDescription
from forebay.runtime.errors import Unavailable
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

    def describe(self, wanted: Iterable[str]) -> dict[str, TopicDescription]:
        config = {"max.message.bytes": "3000"}
        return {name: TopicDescription(name, "", TOPICS[name], 1, config, frozenset()) for name in wanted}


def replay(
    monkeypatch: pytest.MonkeyPatch,
    *options: str,
    result: Replayed | None = None,
    failure: Exception | None = None,
) -> tuple[Result, list[Any]]:
    """Run the command with a fake replay. Return its result, and the arguments of the replays.

    Args:
        result: Progress that the replay reports.
        failure: Error of the transaction after that of `result`.
    """
    runs: list[Any] = []

    class Replay:
        def __init__(self, *arguments: object) -> None:
            runs.append(arguments[1:])

        def look(self, max_bytes: Mapping[str, int]) -> Replayed:
            assert max_bytes == dict.fromkeys(runs[0][2], 3_000)
            return result or Replayed()

        def run(self, on_transaction: Callable[[Replayed], None]) -> Replayed:
            if result is not None:
                on_transaction(result)
                on_transaction(result)
            if failure is not None:
                raise failure
            return result or Replayed()

    service = replace(SHOP, patterns={"clicks-.*": ""})
    monkeypatch.setattr(names, "find_service", lambda _: service)
    monkeypatch.setattr(error_records, "TopicAdmin", Admin)
    monkeypatch.setattr(error_records, "ErrorReplay", Replay)
    return CliRunner().invoke(error_records.errors, ["replay", "shop", *BROKER, *options]), runs


def look(monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[Result, list[Any]]:
    """Run the command with `--dry-run`. Return its result, and the arguments of the replays."""
    return replay(monkeypatch, "--dry-run", *options)


def test_topics_that_match_a_pattern_are_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    result, runs = look(monkeypatch, "--from", "7", "--leave-out", "former")
    inputs: Mapping[str, int] = {"orders": 2, "clicks-eu": 3, "clicks-us": 4}
    assert (result.exit_code, runs) == (0, [("shop", "shop.errors", inputs, 7, ("former",))])


@pytest.mark.parametrize("text", ["end", "-1", "", "1.5"])
def test_a_beginning_that_is_no_offset_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    result, runs = look(monkeypatch, "--from", text)
    assert (result.exit_code, runs) == (2, [])
    assert "specify beginning, or an offset" in result.output


@pytest.mark.parametrize(("too_large", "exit_code"), [(0, 0), (2, 1)])
def test_records_that_are_too_large_for_their_topics_are_a_failure(
    monkeypatch: pytest.MonkeyPatch, too_large: int, exit_code: int
) -> None:
    done = Replayed(Counter({("orders", "decode"): 1}), Counter({"larger": too_large}), too_large)
    result, _ = replay(monkeypatch, result=done)
    assert result.exit_code == exit_code
    assert "1 record sent to orders" in result.output
    assert result.output.count("2 records skipped: larger") == bool(too_large)
    assert ("2 records of shop.errors" in result.output) == bool(too_large)


def test_skipped_records_are_reported_before_a_later_transaction_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would not be reported later, because the next run resumes after them."""
    done = Replayed(passed_over=Counter({"larger": 1}), too_large=1)
    result, _ = replay(monkeypatch, result=done, failure=Unavailable("the broker is away"))
    assert result.exit_code == 1
    assert result.output.count("1 record skipped: larger") == 1
