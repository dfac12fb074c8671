"""Invalid arguments are rejected when a store is declared. Each error names the store and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from forebay.stores.listvalue import ListValueStore
from forebay.stores.lru import LruStore
from forebay.stores.session import SessionStore
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.ttl import TtlKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "retention shorter than the window": (
        lambda: WindowStore("w", Cell, size_ms=10, retention_ms=9),
        r"store w: retention_ms 9 .* 10 ms; specify at least",
    ),
    "window of no length": (
        lambda: WindowStore("w", Cell, size_ms=0, retention_ms=9),
        r"store w: size_ms .* at least 1",
    ),
    "session retention of nothing": (lambda: SessionStore("s", Cell, retention_ms=0), r"store s: .* at least 1"),
    "negative history": (
        lambda: VersionedKeyValueStore("v", Cell, history_retention_ms=-1),
        r"store v: history_retention_ms is -1 ms; specify at least 0",
    ),
    "no entries": (lambda: LruStore("l", Cell, max_entries=0), r"store l: max_entries is 0; specify at least 1"),
    "no time to live": (lambda: TtlKeyValueStore("t", Cell, ttl_ms=0), r"store t: ttl_ms is 0 ms; specify at least 1"),
    "name that is not a topic name": (lambda: ListValueStore("a b", Cell), r"store 'a b': .* use 1 to 200"),
    "empty name": (lambda: ListValueStore("", Cell), r"store '': "),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_invalid_declaration_is_refused(what: str) -> None:
    declare, message = REFUSED[what]
    with pytest.raises(ValueError, match=message):
        declare()


def test_the_smallest_good_values_are_accepted() -> None:
    WindowStore("w", Cell, size_ms=1, retention_ms=1)
    SessionStore("s", Cell, retention_ms=1)
    VersionedKeyValueStore("v", Cell, history_retention_ms=0)
    LruStore("l", Cell, max_entries=1)
    TtlKeyValueStore("t", Cell, ttl_ms=1)


@dataclass
class Mutable:
    value: int


def test_a_value_type_that_can_change_is_refused() -> None:
    with pytest.raises(TypeError, match="Mutable must be a frozen dataclass"):
        TimestampedKeyValueStore("s", Mutable)


def test_the_error_of_an_unbound_store_names_the_remedy() -> None:
    with pytest.raises(RuntimeError, match="store prices is not bound: run the processor in a job or in a TestDriver"):
        VersionedKeyValueStore("prices", Cell, history_retention_ms=0).get("k")


def test_a_value_of_another_type_is_refused(bench: Bench) -> None:
    wrong: Any = "text"
    with pytest.raises(TypeError, match="store s holds Cell, not str"):
        bench.open(TimestampedKeyValueStore("s", Cell)).put("k", wrong, 0)
    with pytest.raises(TypeError, match="store w holds Cell, not str"):
        bench.open(WindowStore("w", Cell, size_ms=1, retention_ms=1)).put("k", wrong, 0)
    with pytest.raises(TypeError, match="store v holds Cell, not str"):
        bench.open(VersionedKeyValueStore("v", Cell, history_retention_ms=0)).put("k", wrong, 0)
    with pytest.raises(TypeError, match="store x holds Cell, not str"):
        bench.open(SessionStore("x", Cell, retention_ms=1)).put("k", 0, 0, wrong)


def test_binding_does_not_change_the_declaration(bench: Bench) -> None:
    declared = LruStore("l", Cell, max_entries=1)
    bench.open(declared).put("k", Cell("a"))
    with pytest.raises(RuntimeError, match="not bound"):
        declared.get("k")
