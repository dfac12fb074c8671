"""A processor's stores accept the keys of its stream in any format and return them in order."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from forebay.builder import Topology
from forebay.formats import INT
from forebay.processor import Context, Processor
from forebay.serde.key_formats import composite
from forebay.stores import (
    KeyValueStore,
    ListValueStore,
    LruStore,
    SessionStore,
    TimestampedKeyValueStore,
    TtlKeyValueStore,
    VersionedKeyValueStore,
    WindowStore,
)
from forebay.testing import TestDriver


@dataclass(frozen=True, slots=True, order=True)
class Place:
    town: str
    number: int


ONE, TWO = uuid.UUID(int=1), uuid.UUID(int=2)
KEYS = [
    pytest.param(int, -3, 20, id="long"),
    pytest.param(INT, -3, 20, id="int"),
    pytest.param(float, -0.5, 20.0, id="double"),
    pytest.param(bytes, b"\0a", b"\xff", id="bytes"),
    pytest.param(bool, False, True, id="boolean"),
    pytest.param(uuid.UUID, ONE, TWO, id="uuid"),
    pytest.param(composite(Place), Place("a", -1), Place("b", 0), id="composite"),
    pytest.param(str, "a", "b", id="text"),
]


class EveryStore(Processor[str, str]):
    plain = KeyValueStore("plain", str)
    stamped = TimestampedKeyValueStore("stamped", str)
    versioned = VersionedKeyValueStore("versioned", str, history_retention_ms=100)
    windows = WindowStore("windows", str, size_ms=5, retention_ms=100)
    sessions = SessionStore("sessions", str, retention_ms=100)
    lists = ListValueStore("lists", str)
    lru = LruStore("lru", str, 9)
    ttl = TtlKeyValueStore("ttl", str, 100)

    def process(self, event: str, ctx: Context[str]) -> None:
        key: Any = ctx.key
        assert self.plain.get(key) == self.plain.put_if_absent(key, event)
        self.stamped.put(key, event, 1)
        self.versioned.put(key, event, 1)
        self.windows.put(key, event, 1)
        self.sessions.put(key, 1, 2, event)
        self.lists.put(key, event)
        self.lru.put(key, event)
        self.ttl.put_all([(key, event)])
        assert (self.plain.get(key), self.lru.get(key), self.ttl.get(key)) == (event, event, event)
        stamped, version = self.stamped.get(key), self.versioned.get(key)
        assert stamped is not None
        assert version is not None
        assert (stamped.value, version.value, self.lists.get(key)) == (event, event, (event,))
        assert [entry.key for entry in self.windows.fetch(key, 0, 9)] == [key]
        assert [entry.key for entry in self.sessions.fetch(key)] == [key]
        ctx.forward(repr(self.read(key)))

    def read(self, low: Any) -> dict[str, list[Any]]:
        """Return the keys of every store in their order. Range reads begin at `low`."""
        return {
            "plain": [key for key, _ in self.plain.range(low, None)],
            "reverse": [key for key, _ in self.stamped.reverse_all()],
            "versioned": [key for key, _, _ in self.versioned.history()],
            "windows": [entry.key for entry in self.windows.fetch_key_range(None, low, 0, 9)],
            "sessions": [entry.key for entry in self.sessions.all()],
            "lists": [key for key, _ in self.lists.all()],
            "lru": [key for key, _ in self.lru.all()],
            "ttl": [key for key, _ in self.ttl.all()],
        }


@pytest.mark.parametrize(("kind", "low", "high"), KEYS)
def test_every_store_type_accepts_the_keys_of_the_stream(kind: Any, low: Any, high: Any) -> None:
    t = Topology()
    t.stream("in", str, key=kind).process(EveryStore, str, name="p").to("out")
    driver = TestDriver(t, raise_errors=True)
    driver.pipe(high, "h", "in", 1)
    driver.restart()
    (sent,) = driver.pipe(low, "l", "in", 1)
    both = [low, high]
    assert sent.value == repr(
        {
            "plain": both,
            "reverse": [high, low],
            "versioned": both,
            "windows": [low],
            "sessions": both,
            "lists": both,
            "lru": both,
            "ttl": both,
        }
    )
    assert driver.store("plain") == {low: "l", high: "h"}
    assert driver.store("lists") == {low: ("l",), high: ("h",)}


class OfTwoKinds(Processor[str, str]):
    """Uses store keys that are texts, the stream's keys, or keys of a third format."""

    texts = KeyValueStore("texts", str)
    places = KeyValueStore("places", str).with_keys(composite(Place))

    def process(self, event: str, ctx: Context[str]) -> None:
        key: Any = Place(event, 1)
        self.texts.put(event, event)
        self.texts.put(ctx.key, event)
        self.places.put(key, event)
        ctx.forward(f"{list(self.texts.all())} {list(self.places.all())}")


def test_texts_and_other_formats_are_keys_as_well() -> None:
    t = Topology()
    t.stream("in", str, key=int).process(OfTwoKinds, str, name="p").to("out")
    (sent,) = TestDriver(t, raise_errors=True).pipe(7, "a", "in")
    assert sent.value == "[(7, 'a'), ('a', 'a')] [(Place(town='a', number=1), 'a')]"


class LooksUp(Processor[str, str]):
    stock = TimestampedKeyValueStore("stock", int)

    def process(self, event: str, ctx: Context[str]) -> None:
        result = self.stock.get(ctx.key)
        ctx.forward(f"{result} {list(self.stock.all())}")


def test_a_table_s_store_that_a_processor_shares_has_the_table_s_keys() -> None:
    t = Topology()
    t.table("stock", int, key=int, store="stock")
    t.stream("in", str, key=int).process(LooksUp, str, name="p", stores=["stock"]).to("out")
    driver = TestDriver(t, raise_errors=True)
    driver.pipe(7, 5, "stock", 1)
    (sent,) = driver.pipe(7, "a", "in", 2)
    assert sent.value == "Stamped(value=5, timestamp=1) [(7, Stamped(value=5, timestamp=1))]"
    assert driver.store("stock") == {7: (5, 1)} or driver.store("stock")[7].value == 5


class WrongKey(Processor[str, str]):
    store = KeyValueStore("kept", str)

    def process(self, event: str, ctx: Context[str]) -> None:
        key: Any = 1.5
        self.store.put(key, event)


def test_key_of_another_format_is_refused_with_a_remedy() -> None:
    t = Topology()
    t.stream("in", str, key=int).process(WrongKey, str, name="p").to("out")
    driver = TestDriver(t)
    driver.pipe(7, "a", "in")
    assert (
        "keys of this store are long or text; declare others with with_keys()"
        in driver.errors[0].headers["error.message"]
    )


def test_keys_go_to_the_task_of_their_record_when_the_number_of_tasks_changes() -> None:
    t = Topology()
    t.stream("in", str, key=int).process(EveryStore, str, name="p").to("out")
    driver = TestDriver(t)
    driver.pipe(5, "x", "in")
    processor: Any = driver.sub_topologies[0].processors[0]
    ((row, _),) = processor.store0._rows.scan(b"", None)
    assert processor.record_key("plain", row.decode()) == (5).to_bytes(8, "big")
