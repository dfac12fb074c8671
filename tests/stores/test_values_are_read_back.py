"""A store returns the value that it would return after a restart, in every format and even if logic mutates objects."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest

from forebay.codec import EncodeError
from forebay.formats import FLOAT, Format, no_contracts, simple
from forebay.records import FrozenMap
from forebay.serde.json_format import JSON, json_of
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
from forebay.stores.buffers import JoinBuffer, SuppressBuffer
from forebay.testing.bench import Bench

PICKLED: Format[Any] = simple("pickled", object, pickle.dumps, pickle.loads)


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Part:
    weight: float


@dataclass(frozen=True, slots=True)
class Whole:
    parts: tuple[Part, ...]
    pair: tuple[str, float]
    by_number: FrozenMap[int, Part]
    maybe: float | None


@dataclass(frozen=True)
class Way:
    """How a store type is declared, and how a value is put and read."""

    declare: Callable[[Format[Any]], Any]
    put: Callable[[Any, Any], object]
    get: Callable[[Any], Any]


WAYS = {
    "key-value": Way(lambda kind: KeyValueStore("s", kind), lambda s, v: s.put("k", v), lambda s: s.get("k")),
    "timestamped": Way(
        lambda kind: TimestampedKeyValueStore("s", kind), lambda s, v: s.put("k", v, 5), lambda s: s.get("k").value
    ),
    "versioned": Way(
        lambda kind: VersionedKeyValueStore("s", kind, history_retention_ms=9),
        lambda s, v: s.put("k", v, 5),
        lambda s: s.get("k").value,
    ),
    "window": Way(
        lambda kind: WindowStore("s", kind, size_ms=5, retention_ms=9),
        lambda s, v: s.put("k", v, 5),
        lambda s: s.fetch_one("k", 5).value,
    ),
    "updated window": Way(
        lambda kind: WindowStore("s", kind, size_ms=5, retention_ms=9),
        lambda s, v: s.update("k", 5, 5, lambda _: v),
        lambda s: next(s.fetch("k", 5, 5)).value,
    ),
    "session": Way(
        lambda kind: SessionStore("s", kind, retention_ms=9),
        lambda s, v: s.put("k", 1, 5, v),
        lambda s: next(s.find_sessions_by_end(0, 9)).value,
    ),
    "list": Way(lambda kind: ListValueStore("s", kind), lambda s, v: s.put("k", v), lambda s: s.get("k")[0]),
    "ttl": Way(lambda kind: TtlKeyValueStore("s", kind, 9), lambda s, v: s.put("k", v), lambda s: s.get("k")),
    "lru": Way(lambda kind: LruStore("s", kind, 9), lambda s, v: s.put("k", v), lambda s: next(s.all())[1]),
    "join buffer": Way(
        lambda kind: JoinBuffer("s", kind), lambda s, v: s.append(5, "k", v), lambda s: next(s.all()).value
    ),
    "suppress buffer": Way(
        lambda kind: SuppressBuffer("s", kind),
        lambda s, v: s.put(5, "k", None, v, 5),
        lambda s: next(s.all()).value,
    ),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param]


def open_store(bench: Bench, way: Way, kind: Format[Any]) -> Any:
    return bench.open(way.declare(kind), kind.codec(no_contracts))


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        (JSON, {"b": [1, (2.5, None)], "a": Colour.RED}, {"a": "red", "b": (1, (2.5, None))}),
        (
            json_of(Whole),
            Whole([Part(1)], ("x", 2), FrozenMap({3: Part(4)}), 5),  # type: ignore[arg-type]
            Whole((Part(1.0),), ("x", 2.0), FrozenMap({3: Part(4.0)}), 5.0),
        ),
        (FLOAT, 0.1, 0.10000000149011612),
        (PICKLED, {3: [{4}, Decimal("1.50")]}, {3: [{4}, Decimal("1.50")]}),
    ],
    ids=["JSON", "record as JSON", "float", "pickled"],
)
def test_a_value_is_read_the_same_before_and_after_a_restart(
    bench: Bench, way: Way, kind: Format[Any], value: Any, read: Any
) -> None:
    store = open_store(bench, way, kind)
    bench.clock.closing_time = 1
    way.put(store, value)
    before = way.get(store)
    bench.commit()
    assert repr(before) == repr(way.get(store)) == repr(read)


@pytest.mark.parametrize("kind", [JSON, PICKLED], ids=["JSON", "pickled"])
def test_an_object_that_changes_after_it_was_put_does_not_change_the_row(
    bench: Bench, way: Way, kind: Format[Any]
) -> None:
    store, value = open_store(bench, way, kind), [1]
    way.put(store, value)
    value.append(2)
    assert list(way.get(store)) == [1]


def test_an_object_that_a_store_returned_does_not_change_the_row(bench: Bench, way: Way) -> None:
    store = open_store(bench, way, PICKLED)
    bench.clock.closing_time = 1
    way.put(store, [1])
    way.get(store).append(2)
    bench.commit()
    way.get(store).append(3)
    assert way.get(store) == [1]


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        (JSON, {"a": {1: 2}}, "the key 1 is not text"),
        (JSON, [float("nan")], "nan is not a JSON number"),
        (JSON, {"a": {1}}, "set can't be written as JSON"),
        (JSON, [Decimal(1)], "Decimal can't be written as JSON"),
        (JSON, [b""], "bytes can't be written as JSON"),
        (json_of(Part), Part("heavy"), "Part.weight is 'heavy'"),  # type: ignore[arg-type]
    ],
)
def test_a_value_that_can_not_be_read_back_is_refused_as_it_is_put(
    bench: Bench, way: Way, kind: Format[Any], value: Any, why: str
) -> None:
    store = open_store(bench, way, kind)
    with pytest.raises(EncodeError, match=f"^store s.*{why}"):
        way.put(store, value)


@dataclass(frozen=True, slots=True)
class Priced:
    price: Decimal


@dataclass(frozen=True, slots=True)
class Keyed:
    by_part: FrozenMap[float, int]


@pytest.mark.parametrize(("record", "why"), [(Priced, "Priced.price: Decimal"), (Keyed, "Keyed.by_part: keys")])
def test_a_record_type_that_json_can_not_represent_is_refused(record: type[Any], why: str) -> None:
    with pytest.raises(TypeError, match=why):
        json_of(record)
