"""Running a case's input through a topology, one record per batch, and comparing what it gives."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator

from forebay.conformance.bench import Bench
from forebay.conformance.cases import BadCase, Difference, fields
from forebay.conformance.cell import Cell, Json, Keys, plain
from forebay.conformance.compare import Emits, compare_emits, compare_outputs, final_table, matches_unordered
from forebay.operators.results import Result
from forebay.operators.table import LatestByOffset, LatestByTimestamp, Table
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore

_RECORD = {"topic", "key", "value", "ts"}


class Topology(abc.ABC):
    """One topology of a case.

    Args:
        spec: the case's topology.
    """

    def __init__(self, spec: Json, bench: Bench) -> None:
        self.spec = spec
        self.bench = bench
        self.keys = Keys()
        self.stream_time = -1

    @abc.abstractmethod
    def topics(self) -> set[str]:
        """Give the topics it reads."""

    @abc.abstractmethod
    def process(self, topic: str, key: str | None, value: Json, ts: int) -> list[Json]:
        """Process one record; give what it sends. `stream_time` is the caller's to keep where it needs one."""

    def facts(self) -> dict[str, Callable[[], Json]]:
        """Give what else can be compared at the end, by field of `expected`."""
        return {}

    def raw(self) -> list[Json]:
        """Give what was sent before suppression for the last record."""
        raise BadCase("this topology suppresses nothing: raw_per_input is unknown")

    def only_final(self) -> bool:
        """Tell whether intermediate results are not to be compared."""
        return False

    def settle(self, expected: Emits, got: Emits) -> tuple[Emits, Emits, list[Difference]]:
        """Set aside what upstream does otherwise by a documented defect; give the rest and what still differs."""
        return expected, got, []

    def shown(self, results: list[Result[Cell]]) -> list[Json]:
        """Give results as the cases write them."""
        return [{"key": self.keys.decode(r.key), "value": plain(r.value), "ts": r.timestamp} for r in results]

    def table(self, spec: Json, name: str) -> Table[Cell]:
        """Give the table of a case's table specification."""
        kind = spec.get("store") if isinstance(spec, dict) else spec
        if kind == "latest_by_offset":
            fields(name, spec, {"store"})
            return LatestByOffset(self.bench.open(TimestampedKeyValueStore(name, Cell)))
        if kind == "versioned":
            fields(name, spec, {"store", "history_retention_ms"}, {"segment_interval_ms"})
            declared = VersionedKeyValueStore(name, Cell, history_retention_ms=spec["history_retention_ms"])
            return LatestByTimestamp(self.bench.open(declared))
        raise BadCase(f"unknown store of {name}: {kind!r}")


def run_topology(case: Json, topology: Topology, bench: Bench) -> Iterator[Difference]:
    """Run a case's input; give the differences. Raises BadCase for what is unknown, or if nothing is compared."""
    expected = case["expected"]
    got: Emits = []
    raw: Emits = []
    for index, record in enumerate(case["input"]):
        fields(f"input[{index}]", record, _RECORD)
        if record["topic"] not in topology.topics():
            raise BadCase(f"input[{index}]: the topology does not read the topic {record['topic']!r}")
        key = topology.keys.encode(record["key"])
        got.append(topology.process(record["topic"], key, record["value"], record["ts"]))
        if "raw_per_input" in expected:
            raw.append(topology.raw())
        bench.commit()
    yield from _compare(expected, topology, got, raw)


def _compare(expected: Json, topology: Topology, got: Emits, raw: Emits) -> Iterator[Difference]:
    facts = topology.facts()
    known = {"emit_per_input", "all_outputs", "raw_per_input", "final_table", *facts}
    fields("expected", expected, {"final_table"} if topology.only_final() else set(), known)
    if not expected.keys() & known:
        raise BadCase("it expects nothing")
    emits = expected.get("emit_per_input")
    if not topology.only_final():
        kept, mine = got, got
        if emits is not None:
            kept, mine, differences = topology.settle(emits, got)
            yield from differences
            yield from compare_emits("emit_per_input", kept, mine)
        if "raw_per_input" in expected:
            yield from compare_emits("raw_per_input", expected["raw_per_input"], raw)
        if "all_outputs" in expected:
            settled = emits is not None and kept is not emits
            yield from compare_outputs("all_outputs", expected["all_outputs"], emits if settled else got)
    if "final_table" in expected and not matches_unordered(expected["final_table"], final_table(got)):
        yield Difference("final_table", expected["final_table"], final_table(got))
    for name, fact in facts.items():
        if name in expected:
            value = fact()
            same = matches_unordered(expected[name], value) if isinstance(value, list) else expected[name] == value
            if not same:
                yield Difference(name, expected[name], value)
