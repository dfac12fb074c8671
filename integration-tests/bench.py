"""A user-sessions job with new topics on the session's platform, and its expected results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Message
from replays import compare
from service_bench import Brokers, Output, ServiceBench, Value

from forebay.catalog import find_service
from tests.user_sessions.replay import replay

SERVICE = find_service("user-sessions")
INPUT, OUTPUT = "user_activity", "user_session_stats"


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that a job and its replay share."""

    idle_timeout_ms: int = 1_800_000
    dedupe_retention_ms: int = 600_000

    def arguments(self) -> tuple[str, ...]:
        """Return the options of `forebay run`."""
        return (
            *("--set", f"idle_timeout_ms={self.idle_timeout_ms}"),
            *("--dedupe-retention-ms", str(self.dedupe_retention_ms)),
        )


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected results of a job: outputs and states by partition, and the invalid records."""

    outputs: dict[int, list[Output]]
    states: dict[int, dict[str, Value]]
    errors: dict[tuple[int, int], Message]


class Bench(ServiceBench):
    """A user-sessions job that can be compared with its replay."""

    def __init__(self, platform: Brokers, application: str, folder: Path, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        super().__init__(platform, "user-sessions", application, folder, self.rules.arguments())

    def replay_input(self) -> Expected:
        """Replay the input topic."""
        received = self.read_input()
        replayed = Expected({}, {}, received.unusable)
        for partition, records in received.records.items():
            replayed.outputs[partition], replayed.states[partition] = replay(
                records, self.rules.idle_timeout_ms, dedupe_retention_ms=self.rules.dedupe_retention_ms
            )
        return replayed

    def states(self) -> dict[int, dict[str, Value]]:
        """Return the states in the changelog topic."""
        return {
            partition: {key.decode(): value for key, value in rows.items()}
            for partition, rows in self.changelog("user-profiles").items()
        }

    def check(self) -> Expected:
        """Compare everything that the job has written with the replay of everything that was sent."""
        replayed, outputs = self.replay_input(), self.outputs()
        compare("user-sessions", outputs, replayed.outputs)
        assert self.states() == replayed.states
        assert self.check_errors(replayed.errors) == []
        return replayed
