"""Each store's format is recorded with its rows. A changed declaration is rejected until the rows are converted."""

from __future__ import annotations

from typing import Any

import pytest

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
from forebay.stores.binding import Store
from forebay.stores.buffers import JoinBuffer, SuppressBuffer
from forebay.stores.kinds import PREFIX, KindChanged, OnChange
from forebay.stores.upgrade import describe_store
from forebay.stores.window_reads import Duplicates
from forebay.testing.cell import Cell
from tests.stores.upgrading import Task, cell

NAME = "prices"

DESCRIPTIONS: list[tuple[Store[Any], str]] = [
    (KeyValueStore(NAME, Cell), "key-value"),
    (TimestampedKeyValueStore(NAME, Cell), "timestamped"),
    (LruStore(NAME, Cell, 5), "lru max_entries=5"),
    (TtlKeyValueStore(NAME, Cell, 7), "ttl ttl_ms=7"),
    (ListValueStore(NAME, Cell), "list-value"),
    (WindowStore(NAME, Cell, size_ms=2, retention_ms=9), "window size_ms=2 duplicates=replace retention_ms=9"),
    (SessionStore(NAME, Cell, retention_ms=9), "session retention_ms=9"),
    (VersionedKeyValueStore(NAME, Cell, history_retention_ms=0), "versioned history_retention_ms=0"),
    (JoinBuffer(NAME, Cell), "join-buffer"),
    (SuppressBuffer(NAME, Cell), "suppress-buffer"),
]
KINDS = [text.split(" ")[0] for _, text in DESCRIPTIONS]
REWRITTEN = {"key-value", "timestamped", "versioned"}


def recorded_as(text: str) -> Task:
    """Return a task with one row of the store, recorded with this description of its format."""
    task = Task()
    task.table.apply([(PREFIX + NAME.encode(), text.encode()), (NAME.encode() + b"\0k", b"1")], b"1")
    return task


@pytest.mark.parametrize(("store", "text"), DESCRIPTIONS, ids=KINDS)
def test_a_declaration_has_a_description_that_does_not_change(store: Store[Any], text: str) -> None:
    assert describe_store(store) == text


def test_the_kind_is_recorded_with_the_first_change_and_only_then() -> None:
    task = Task()
    store = task.open(KeyValueStore(NAME, Cell))
    assert (task.commit(), task.recorded_kind(NAME)) == (0, None)
    store.put("k", cell(1))
    assert (task.commit(), task.recorded_kind(NAME)) == (3, "key-value"), "the row, its kind and its layout"
    store.put("k", cell(2))
    assert task.commit() == 1


def test_a_row_put_and_deleted_within_a_commit_records_nothing() -> None:
    task = Task()
    store = task.open(KeyValueStore(NAME, Cell))
    store.put("k", cell(1))
    store.put("k", None)
    assert task.commit() == 0


def test_a_change_of_rows_of_the_internal_prefix_records_the_format_too() -> None:
    task = Task()
    task.open(WindowStore(NAME, Cell, size_ms=1, retention_ms=1)).put("k", None, 5)
    task.commit()
    assert task.recorded_kind(NAME) == "window size_ms=1 duplicates=replace retention_ms=1"


def test_a_restart_with_the_same_declaration_changes_nothing() -> None:
    task = recorded_as("key-value")
    store = task.open(KeyValueStore(NAME, Cell))
    assert (store.get("k"), task.commit()) == (cell(1), 0)


def test_rows_of_an_earlier_release_are_assumed_to_have_the_declared_format() -> None:
    task = Task()
    task.table.apply([(b"prices\0k", b"1")], b"1")
    store = task.open(KeyValueStore(NAME, Cell))
    assert store.get("k") == cell(1)
    store.put("k", cell(2))
    task.commit()
    assert task.recorded_kind(NAME) == "key-value"


def test_another_declaration_is_refused_with_the_command_that_converts() -> None:
    task = recorded_as("key-value")
    with pytest.raises(KindChanged) as refused:
        task.open(VersionedKeyValueStore(NAME, Cell, history_retention_ms=5))
    assert str(refused.value) == (
        "store prices holds rows of the format 'key-value', but is declared as 'versioned history_retention_ms=5': it "
        "would misread them. Convert them with `forebay store upgrade kitchen` (with the options of `forebay run`; "
        "--dry-run shows what it would do), or declare it as it was"
    )


@pytest.mark.parametrize(
    ("recorded", "store"),
    [
        (text, store)
        for _, text in DESCRIPTIONS
        for store, _ in DESCRIPTIONS
        if describe_store(store).split()[0] not in text
    ],
    ids=lambda item: item.split()[0] if isinstance(item, str) else item.kind,
)
def test_another_store_format_is_converted_only_if_a_conversion_exists(recorded: str, store: Store[Any]) -> None:
    task = Task()
    task.table.apply([(PREFIX + NAME.encode(), recorded.encode())], b"1")
    if {recorded.split(maxsplit=1)[0], store.kind} <= REWRITTEN:
        task.convert(store)
        assert task.recorded_kind(NAME) == describe_store(store)
        return
    for on_change in OnChange:
        with pytest.raises(KindChanged, match=r"store prices .* start over with `forebay reset kitchen`"):
            task.open(store, on_change)
    assert task.recorded_kind(NAME) == recorded


@pytest.mark.parametrize(
    "store",
    [
        WindowStore(NAME, Cell, size_ms=3, retention_ms=9),
        WindowStore(NAME, Cell, size_ms=2, retention_ms=9, duplicates=Duplicates.KEEP),
    ],
    ids=["size", "duplicates"],
)
def test_settings_that_every_row_depends_on_can_not_change(store: WindowStore[Cell]) -> None:
    task = recorded_as("window size_ms=2 duplicates=replace retention_ms=9")
    with pytest.raises(KindChanged, match="no conversion between the two"):
        task.open(store, OnChange.CONVERT)


def test_a_kind_of_a_later_release_is_refused() -> None:
    with pytest.raises(KindChanged, match="rows of the format 'column-family x=1'"):
        recorded_as("column-family x=1").open(KeyValueStore(NAME, Cell), OnChange.CONVERT)
