"""Which changed rows go to which changelog topic, and in what form."""

from __future__ import annotations

from forebay.runtime.changelog import ChangelogRouter, changelog_topic, internal_topic
from forebay.stores.binding import RowValue
from forebay.stores.keys import pack_time

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


def test_names_follow_kafka_streams() -> None:
    assert (changelog_topic("app", "plain"), internal_topic("app", 1)) == ("app-plain-changelog", "app-1-task")
