"""After rows are spread over another number of tasks, each task behaves as if it had always had its keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.partitioner import partition_of
from forebay.processor import NO_KEY, Context, Processor
from forebay.processor.batch import Position
from forebay.processor.codecs import Codecs
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.stores import KeyValueStore, SessionStore, VersionedKeyValueStore, WindowStore
from forebay.stores.binding import Store
from forebay.stores.keys import pack_time
from forebay.stores.lru import LruStore
from forebay.stores.memory import MemoryTable
from forebay.stores.spread import NotSpreadable, Spreader
from tests.runtime.task_records import TOPIC, JsonCodec, Number, Record, Total

pytestmark = pytest.mark.long

HOUR = 3_600_000
KEYS = ["", *(f"user-{n}" for n in range(40))]


class Everything(Processor[Number, Total]):
    """Puts each number into a store of every type, and sets a timer per key and one for the task."""

    totals = KeyValueStore("totals", Total)
    windows = WindowStore("windows", Total, size_ms=1_000, retention_ms=20_000)
    sessions = SessionStore("sessions", Total, retention_ms=20_000)
    versions = VersionedKeyValueStore("versions", Total, history_retention_ms=20_000)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        old = self.totals.get(ctx.key) or Total(0, 0)
        new = Total(old.amount + event.amount, old.count + 1)
        ts = event.timestamp
        self.totals.put(ctx.key, new)
        self.windows.update(ctx.key, ts - ts % 1_000, ts, lambda held: Total((held.amount if held else 0) + 1, 0))
        self.sessions.put(ctx.key, ts, ts, new)
        self.versions.put(ctx.key, new, ts)
        ctx.schedule("idle", ts + 5_000)
        ctx.schedule("all", ts + 7_000, NO_KEY)
        ctx.forward(new)


@dataclass
class Side:
    """Several tasks, each with a real engine on its own table."""

    tasks: int
    tables: list[MemoryTable]
    positions: list[Position]

    @classmethod
    def fresh(cls, tasks: int) -> Side:
        return cls(tasks, [MemoryTable() for _ in range(tasks)], [Position()] * tasks)

    def run(self, records: list[tuple[str, int, int]], batch: int) -> list[tuple[str, bytes | None]]:
        sent = []
        codec = JsonCodec(Number)
        kinds = {store.name: JsonCodec(Total) for store in stores()}
        for task in range(self.tasks):
            engine = TaskEngine(
                Everything(),
                Codecs({TOPIC: codec}, kinds, {"out": JsonCodec(Total)}),
                self.tables[task],
                EngineSettings(service="s"),
            )
            engine.load(self.positions[task])
            mine = [
                Record(n, key.encode(), codec.encode(Number(f"{batch}/{n}", ts, amount)))
                for n, (key, ts, amount) in enumerate(records)
                if partition_of(key.encode(), self.tasks) == task
            ]
            engine.run([iter(mine)], 1_000_000)
            result = engine.finish(batch)
            self.tables[task].apply(result.changes, b"t")
            self.positions[task] = result.position
            sent += [((output.key or b"").decode(), output.value) for output in result.outputs]
        return sent

    def spread(self, tasks: int) -> Side:
        spreader = Spreader(stores(), Everything().record_key, self.tasks, tasks)
        other = Side.fresh(tasks)
        for task, rows in enumerate(spreader.spread([table.scan(b"") for table in self.tables])):
            other.tables[task].apply(sorted(rows.items()), b"t")
            positions = [self.positions[ancestor] for ancestor in spreader.ancestors(task)]
            other.positions[task] = Position(
                max(p.stream_time for p in positions), max(p.closing_time for p in positions)
            )
        return other

    def rows(self, store: str) -> dict[bytes, bytes]:
        prefix = store.encode() + b"\0"
        return {key: value for table in self.tables for key, value in table.scan(prefix, store.encode() + b"\1")}


def stores() -> Iterator[Store[Total]]:
    kind = Everything
    return iter([kind.totals, kind.windows, kind.sessions, kind.versions])


def timers(table: MemoryTable) -> Iterator[tuple[bytes, bytes]]:
    return table.scan(b"\x01timer\0idle", b"\x01timer\0idlf")


RECORDS = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 15_000), st.integers(1, 9)), max_size=60)


@settings(max_examples=40)
@given(RECORDS, RECORDS, st.sampled_from([(4, 8), (4, 2), (4, 1), (1, 3), (3, 2), (2, 6)]))
def test_outputs_and_stores_continue_as_if_the_number_of_tasks_had_never_changed(
    before: list[tuple[str, int, int]], after: list[tuple[str, int, int]], tasks: tuple[int, int]
) -> None:
    old, always = Side.fresh(tasks[0]), Side.fresh(tasks[1])
    old.run(before, 1)
    always.run(before, 1)
    new = old.spread(tasks[1])
    for store in ("totals", "versions"):
        assert new.rows(store) == always.rows(store) == old.rows(store)
    for table, whole, position in zip(new.tables, always.tables, new.positions, strict=True):
        missing = set(timers(whole)) - set(timers(table))
        assert all(int.from_bytes(due, "big") <= position.stream_time for _, due in missing), (
            "a timer that is not due is gone"
        )
    assert sorted(new.run(after, 2)) == sorted(always.run(after, 2))
    assert new.rows("totals") == always.rows("totals")


def test_doubling_and_halving_the_tasks_gives_the_same_rows() -> None:
    side = Side.fresh(4)
    side.run([(key, 100 * n, n + 1) for n, key in enumerate(KEYS)], 1)
    there = side.spread(8)
    back = there.spread(4)
    for store in ("totals", "windows", "sessions", "versions"):
        assert back.rows(store) == there.rows(store) == side.rows(store)
    assert [p.stream_time for p in back.positions] == [p.stream_time for p in side.positions]
    assert all(len(table) for table in there.tables)


def test_repeated_events_are_known_to_the_new_tasks() -> None:
    side = Side.fresh(2)
    records = [(key, 1_000, 1) for key in KEYS]
    side.run(records, 1)
    for tasks in (4, 1):
        new = side.spread(tasks)
        digests = b"".join(value for table in new.tables for _, value in table.scan(b"\x01dedupe", b"\x01dedupf"))
        assert len(digests) == 16 * len(KEYS) * (2 if tasks == 4 else 1)


def spreader(*declared: Store[Total], before: int = 2, after: int = 1) -> Spreader:
    return Spreader(declared or tuple(stores()), Everything().record_key, before, after)


def test_a_row_that_is_not_where_its_key_belongs_is_refused() -> None:
    key = next(key for key in KEYS if partition_of(key.encode(), 2) == 1)
    with pytest.raises(NotSpreadable, match=f"key '{key}': task 0 holds it, but .* belong to task 1"):
        spreader().spread([[(b"totals\0" + key.encode(), b"v")], []])


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (b"gone\0k", "store gone is not declared"),
        (b"lru\0k", "of the format 'lru' can't be spread"),
        (b"\x01marks\0totals\0mystery", "keeps 'mystery' of its task"),
    ],
)
def test_rows_without_a_rule_to_redistribute_them_are_refused(row: bytes, what: str) -> None:
    with pytest.raises(NotSpreadable, match=what):
        spreader(LruStore("lru", Total, 3), *stores()).spread([[(row, pack_time(1))], [(row, pack_time(2))]])


@pytest.mark.parametrize(("mark", "wanted"), [(b"latest", 9), (b"first-time", 3), (b"close-due", 3), (b"puts", 9)])
def test_merged_marks_have_the_value_that_is_safe_for_both_tasks(mark: bytes, wanted: int) -> None:
    row = b"\x01marks\0windows\0" + mark
    (new,) = spreader().spread([[(row, pack_time(9))], [(row, pack_time(3))]])
    assert new == {row: pack_time(wanted)}


def test_merged_times_of_a_removed_sub_topology_are_the_later_ones() -> None:
    row = b"\x01parked\0clicks\0\x01times"
    later, earlier = (pack_time(time) + json.dumps({"senders": [["t", "a-0", 7, 1, 0]]}).encode() for time in (9, 3))
    (new,) = spreader().spread([[(row, later)], [(row, earlier)]])
    assert (new[row][:8], json.loads(new[row][8:])) == (pack_time(9), {"senders": [], "done": []})


def test_an_index_is_read_from_its_beginning_if_one_task_has_no_position() -> None:
    row = b"\x01starts\0windows\0"
    assert spreader().spread([[(row, pack_time(9))], [(row, pack_time(3))]]) == [{row: pack_time(3)}]
    assert spreader().spread([[(row, pack_time(9))], []]) == [{}]
