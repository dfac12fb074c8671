"""A store's rows are written under the store's name, and all other rows under the task's internal prefix."""

from __future__ import annotations

from forebay.stores.keys import pack_time
from forebay.stores.session import SessionStore
from forebay.stores.table import Change
from forebay.stores.values import Held, HeldCodec, Stamped, StampedCodec
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell, CellCodec


def own(changes: list[Change], store: bytes) -> list[Change]:
    return [(key, value) for key, value in changes if key.startswith(store + b"\0")]


def test_a_version_is_one_row_by_key_and_timestamp_and_holds_the_values_own_bytes(bench: Bench) -> None:
    store = bench.open(VersionedKeyValueStore("prices", Cell, history_retention_ms=100))
    store.put("curry", Cell("8"), 5)
    store.put("curry", None, 7)
    changes = bench.commit()
    row = b"prices\0curry\0\x01"
    assert own(changes, b"prices") == [(row + pack_time(5), b"8"), (row + pack_time(7), b"")]
    assert all(key.startswith((b"prices\0", b"\x01")) for key, _ in changes)


def test_a_window_entry_is_one_row_with_its_timestamp_before_the_values_own_bytes(bench: Bench) -> None:
    store = bench.open(WindowStore("metrics", Cell, size_ms=1, retention_ms=9))
    store.put("k", Cell("v"), 5, 6)
    assert [value for _, value in own(bench.commit(), b"metrics")] == [pack_time(6) + b"v"]
    store.put("k", Cell("w"), 5, 6)
    assert len(bench.commit()) == 1


def test_a_session_is_one_row_of_the_values_own_bytes(bench: Bench) -> None:
    store = bench.open(SessionStore("sessions", Cell, retention_ms=9))
    store.put("k", 1, 2, Cell("v"))
    assert own(bench.commit(), b"sessions") == [(b"sessions\0k\0\x01" + pack_time(2) + pack_time(1), b"v")]


def test_null_empty_and_escaped_values_stay_apart() -> None:
    codec = HeldCodec(CellCodec())
    assert codec.encode(Held(None)) == b""
    assert codec.encode(Held(Cell("a"))) == b"a"
    for value in (None, Cell(""), Cell("a"), Cell("\0")):
        assert codec.decode(codec.encode(Held(value))) == Held(value)


def test_stamped_values_decode_to_the_encoded_value() -> None:
    codec = StampedCodec(CellCodec())
    assert codec.decode(codec.encode(Stamped(Cell("a"), 5))) == Stamped(Cell("a"), 5)
