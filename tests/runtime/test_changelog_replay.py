"""A changelog replay puts all records into the tables, regardless of their size and of how reads divide them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from forebay.runtime.changelog.topics import ChangelogRows
from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.runtime.task import tail as reading
from forebay.runtime.task.tail import Tail
from forebay.runtime.worker import tails as readers
from forebay.runtime.worker.tails import read_tails
from forebay.stores.binding import RowValue
from forebay.stores.keys import pack_time
from forebay.stores.memory import MemoryTable
from tests.runtime.simulator.broker import Broker
from tests.runtime.simulator.clients import MemoryConsumer

STORE, INTERNAL = "app-users-changelog", "app-0-task"


@pytest.fixture
def broker() -> Broker:
    broker = Broker(random.Random(0))
    for topic in (STORE, INTERNAL):
        broker.create(topic, 2)
    return broker


def put(broker: Broker, number: int, key: bytes, value: bytes | None, topic: str = STORE, timestamp: int = 1) -> None:
    broker.append((topic, number), key, value, timestamp, None, None)


def read(broker: Broker, formats: Any = None, **offsets: int) -> list[Tail]:
    rows = ChangelogRows({"users": STORE}, INTERNAL, formats or {})
    tails = [Tail(f"app-0-{number}", rows, number, MemoryTable(), dict(offsets)) for number in range(2)]
    consumer: Any = MemoryConsumer(broker, lambda _: None, lambda _: None)
    read_tails("app", tails, lambda: consumer)
    return tails


def rows_of(tail: Tail) -> dict[bytes, bytes]:
    return dict(tail.table.scan(b""))


def test_each_task_s_rows_are_their_last_values(broker: Broker) -> None:
    put(broker, 0, b"ann", b"1")
    put(broker, 0, b"bob", b"2")
    put(broker, 0, b"ann", b"3")
    put(broker, 0, b"bob", None)
    put(broker, 1, b"cat", b"4")
    first, second = read(broker)
    assert (rows_of(first), rows_of(second)) == ({b"users\0ann": b"3"}, {b"users\0cat": b"4"})
    assert set(first.keys) == {b"users\0ann", b"users\0bob"}, "a snapshot has to lose bob's row, too"
    assert first.offsets == {STORE: 4, INTERNAL: 0}


def test_a_task_resumes_at_its_last_position(broker: Broker) -> None:
    for n in (1, 2):
        put(broker, 0, POSITION, TaskPosition("c", n).to_json(), INTERNAL)
        put(broker, 0, b"\x01timer\0t", b"%d" % n, INTERNAL)
    first, second = read(broker)
    assert first.position == TaskPosition("c", 2)
    assert rows_of(first) == {b"\x01timer\0t": b"2"}
    assert second.position is None


def test_stamped_rows_get_the_timestamp_of_their_record(broker: Broker) -> None:
    put(broker, 0, b"ann", b"1", timestamp=77)
    put(broker, 0, b"bob", None, timestamp=78)
    first, _ = read(broker, {"users": RowValue.STAMPED})
    assert rows_of(first) == {b"users\0ann": pack_time(77) + b"1"}


@pytest.mark.parametrize("piece", [1, 2, 3, 100])
def test_rows_that_are_read_in_pieces_are_complete(broker: Broker, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    for module in (reading, readers):
        monkeypatch.setattr(module, "FETCH", piece)
    chosen, expected = random.Random(piece), dict[bytes, bytes]()
    for number in range(300):
        key = b"user-%d" % chosen.randrange(40)
        value = None if chosen.random() < 0.2 else b"%d" % number
        put(broker, 0, key, value)
        if value is None:
            expected.pop(b"users\0" + key, None)
        else:
            expected[b"users\0" + key] = value
    first, _ = read(broker)
    assert rows_of(first) == expected


def test_a_changelog_that_lacks_the_required_offset_stops_the_start(broker: Broker) -> None:
    with pytest.raises(StateConflict, match=f"the changelog {STORE}-0 does not reach back to offset 5"):
        read(broker, **{STORE: 5})
