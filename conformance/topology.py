"""Execution of a topology on the input of a case, one record at a time, and comparison of its results."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence

from conformance.cases import BadCase, Difference, fields
from conformance.compare import Emits, compare_emits, compare_outputs, final_table, matches_unordered
from conformance.script import Outcome, Script, Stores
from forebay.operators.results import Result
from forebay.operators.table import LatestByOffset, LatestByTimestamp, Table
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.testing.cell import Cell, Json, plain

_RECORD = {"topic", "key", "value", "ts"}


class Topology(Script):
    """A topology of a case. It has a step for each input record, and a last step for facts about the end.

    Args:
        case: The case.
        spec: Its topology.
    """

    def __init__(self, case: Json, stores: Stores) -> None:
        super().__init__(stores)
        self.spec: Json = case["topology"]
        self.input: list[Json] = case["input"]
        self.expected: Json = case["expected"]
        self.stream_time = -1

    def check(self) -> None:
        """Raise BadCase for inputs that the topology does not read, and expectations that are not compared."""
        for index, record in enumerate(self.input):
            fields(f"input[{index}]", record, _RECORD)
            if record["topic"] not in self.topics():
                raise BadCase(f"input[{index}]: the topology does not read the topic {record['topic']!r}")
        known = {"emit_per_input", "all_outputs", "raw_per_input", "final_table", *self.facts()}
        fields("expected", self.expected, {"final_table"} if self.only_final() else set(), known)
        if not self.expected.keys() & known:
            raise BadCase("it expects nothing")
        null = sorted(name for name in known if name in self.expected and self.expected[name] is None)
        if null:
            raise BadCase(f"its expected {', '.join(null)} is null: give what must come, [] for nothing")
        if "raw_per_input" in self.expected and self.raw() is None:
            raise BadCase("this topology suppresses nothing: raw_per_input is unknown")

    @abc.abstractmethod
    def topics(self) -> set[str]:
        """Return the topics that the topology reads."""

    @abc.abstractmethod
    def process(self, topic: str, key: str | None, value: Json, ts: int) -> list[Json]:
        """Process a record, and return the results that it sends. If stream time is needed, the caller stores it."""

    def facts(self) -> dict[str, Callable[[], Json]]:
        """Return functions for other facts that can be compared at the end, by field of `expected`."""
        return {}

    def raw(self) -> list[Json] | None:
        """Return the results of the last record before suppression, or None if there is no suppression."""
        return None

    def only_final(self) -> bool:
        """Return whether intermediate results must not be compared."""
        return False

    def settle(self, expected: Emits, got: Emits, facts: dict[str, Json]) -> tuple[Emits, Emits, list[Difference]]:
        """Remove results that differ by a documented defect of Kafka Streams. Return the others, and differences."""
        return expected, got, []

    def steps(self) -> int:
        return len(self.input) + 1

    def run(self, index: int) -> Json:
        if index == len(self.input):
            return {name: fact() for name, fact in self.facts().items()}
        record = self.input[index]
        sent = self.process(record["topic"], self.keys.encode(record["key"]), record["value"], record["ts"])
        return {"sent": sent, "raw": self.raw()}

    def memory(self) -> dict[str, Json]:
        return {**super().memory(), "stream_time": self.stream_time}

    def remember(self, memory: dict[str, Json]) -> None:
        super().remember(memory)
        self.stream_time = memory["stream_time"]

    def differences(self, outcomes: Sequence[Outcome]) -> Iterator[Difference]:
        for index, outcome in enumerate(outcomes):
            if outcome.error:
                yield Difference(f"input[{index}]", "no error", f"error: {outcome.text}")
                return
        got = [outcome.value["sent"] for outcome in outcomes[:-1]]
        raw = [outcome.value["raw"] for outcome in outcomes[:-1]]
        yield from self._compare(got, raw, outcomes[-1].value)

    def _compare(self, got: Emits, raw: Emits, facts: dict[str, Json]) -> Iterator[Difference]:
        expected = self.expected
        emits = expected.get("emit_per_input")
        if not self.only_final():
            expected_emits, mine = got, got
            if emits is not None:
                expected_emits, mine, differences = self.settle(emits, got, facts)
                yield from differences
                yield from compare_emits("emit_per_input", expected_emits, mine)
            if "raw_per_input" in expected:
                yield from compare_emits("raw_per_input", expected["raw_per_input"], raw)
            if "all_outputs" in expected:
                # If sessions were set aside above, the expected results of each input are the reference for the order,
                # too.
                settled = emits is not None and expected_emits is not emits
                yield from compare_outputs("all_outputs", expected["all_outputs"], emits if settled else got)
        if "final_table" in expected and not matches_unordered(expected["final_table"], final_table(got)):
            yield Difference("final_table", expected["final_table"], final_table(got))
        for name, value in facts.items():
            if name not in expected:
                continue
            same = matches_unordered(expected[name], value) if isinstance(value, list) else expected[name] == value
            if not same:
                yield Difference(name, expected[name], value)

    def show(self, results: list[Result[Cell]]) -> list[Json]:
        """Return results in the format of the cases."""
        return [{"key": self.keys.decode(r.key), "value": plain(r.value), "ts": r.timestamp} for r in results]

    def table(self, spec: Json, name: str) -> Table[Cell]:
        """Return the table that a case specifies."""
        kind = spec.get("store") if isinstance(spec, dict) else spec
        if kind == "latest_by_offset":
            fields(name, spec, {"store"})
            return LatestByOffset(self.stores.open(TimestampedKeyValueStore(name, Cell)))
        if kind == "versioned":
            fields(name, spec, {"store", "history_retention_ms"}, {"segment_interval_ms"})
            declared = VersionedKeyValueStore(name, Cell, history_retention_ms=spec["history_retention_ms"])
            return LatestByTimestamp(self.stores.open(declared))
        raise BadCase(f"unknown store of {name}: {kind!r}")
