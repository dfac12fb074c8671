"""Each changed row is written to its store's changelog topic, in a format from which it can be restored."""

from __future__ import annotations

import pytest

from forebay.runtime.changelog.topics import STAMPED, ChangelogRouter, ChangelogRows, changelog_topic, internal_topic
from forebay.stores.binding import RowValue
from forebay.stores.keys import pack_time
from forebay.stores.table import Change

ROUTER = ChangelogRouter(
    {"plain": "app-plain-changelog", "aged": "app-aged-changelog"}, "app-0-task", 3, {"aged": RowValue.STAMPED}
)


def test_a_row_goes_to_its_store_s_topic_under_its_own_key() -> None:
    assert list(ROUTER.route([(b"plain\0k\0y", b"v"), (b"plain\0x", None)], 7)) == [
        ("app-plain-changelog", b"k\0y", b"v", 7),
        ("app-plain-changelog", b"x", None, 7),
    ]


def test_a_stamped_row_s_timestamp_becomes_the_record_s() -> None:
    assert list(ROUTER.route([(b"aged\0k", pack_time(42) + b"\0avro"), (b"aged\0k", None)], 7)) == [
        ("app-aged-changelog", b"k", b"\0avro", 42),
        ("app-aged-changelog", b"k", None, 7),
    ]


def test_the_task_s_own_rows_go_to_the_internal_topic_and_unlogged_stores_nowhere() -> None:
    changes = [(b"\x01timer\0idle\0k", b"t"), (b"\x01due\0aged\0k", b"d"), (b"scratch\0k", b"s")]
    assert [topic for topic, *_ in ROUTER.route(changes, 7)] == ["app-0-task", "app-0-task"]


def test_stores_with_a_common_name_prefix_are_distinguished() -> None:
    router = ChangelogRouter({"a": "a-topic", "ab": "ab-topic"}, "own", 0, {"ab": RowValue.STAMPED})
    changes: list[Change] = [
        (b"a\0b", b"1"),
        (b"ab\0", pack_time(5) + b"2"),
        (b"a\0", b"3"),
        (b"abc\0x", b"none"),
        (b"\x01due\0a\0k", b"4"),
        (b"a\0b\0", b"5"),
    ]
    assert list(router.route(changes, 7)) == [
        ("a-topic", b"b", b"1", 7),
        ("ab-topic", b"", b"2", 5),
        ("a-topic", b"", b"3", 7),
        ("own", b"\x01due\0a\0k", b"4", 7),
        ("a-topic", b"b\0", b"5", 7),
    ]


def test_names_follow_kafka_streams() -> None:
    assert (changelog_topic("app", "plain"), internal_topic("app", 1)) == ("app-plain-changelog", "app-1-task")


@pytest.mark.parametrize("format", RowValue)
def test_rows_come_back_from_their_changelogs_as_they_were(format: RowValue) -> None:
    topics, formats = {"s": "app-s-changelog"}, {"s": format}
    stamp = pack_time(42) if format in STAMPED else b""
    changes: list[Change] = [
        (b"s\0key", stamp + b"\0avro"),
        (b"s\0k\0with zero\0", stamp + b"\0avro"),
        (b"s\0", None),
        (b"\x01timer\0idle\0k", b"12345678"),
        (b"\x01due\0s\0k", b""),
        (b"\x01marks\0s\0latest", None),
    ]
    if format in (RowValue.HELD, RowValue.STAMPED_HELD):
        changes.append((b"s\0null version", stamp))
    routed = ChangelogRouter(topics, "app-0-task", 0, formats).route(changes, 7)
    rows = ChangelogRows(topics, "app-0-task", formats)
    assert [rows.row(*record) for record in routed] == changes


def test_a_null_version_is_no_tombstone_for_compaction() -> None:
    router = ChangelogRouter({"s": "topic"}, "internal", 0, {"s": RowValue.HELD})
    assert [value for _, _, value, _ in router.route([(b"s\0k", b""), (b"s\0gone", None)], 7)] == [b"", None]
