"""Existing topics are compared with their declarations. Each difference is reported with its remedy."""

from __future__ import annotations

from dataclasses import replace

from forebay.catalog import Topic
from forebay.kafka.topics import TopicDescription, TopicSpec, differences, spec_of

EXISTING = TopicDescription("orders", "id", 4, 3, {"retention.ms": "-1", "cleanup.policy": "delete"}, frozenset())


def test_nothing_differs() -> None:
    assert differences(TopicSpec("orders", 4, {"retention.ms": "-1"}), EXISTING) == ()
    assert differences(TopicSpec("orders", 4, {"cleanup.policy": "delete"}, 3), EXISTING) == ()


def test_everything_differs() -> None:
    spec = TopicSpec("orders", 8, {"retention.ms": "5", "cleanup.policy": "compact", "new.option": "1"}, 5)
    lines = [str(difference) for difference in differences(spec, EXISTING)]
    assert [line.partition(";")[0] for line in lines] == [
        "orders: the number of partitions is 4, should be 8",
        "orders: the replication factor is 3, should be 5",
        "orders: cleanup.policy is delete, should be compact",
        "orders: new.option is unknown, should be 1",
        "orders: retention.ms is -1, should be 5",
    ]
    assert "declare what exists" in lines[0]
    assert "kafka-configs --alter --entity-type topics --entity-name orders --add-config retention.ms=5" in lines[4]


def test_more_replicas_than_declared_are_no_difference() -> None:
    assert differences(TopicSpec("orders", 4, replication_factor=1), EXISTING) == ()


def test_an_input_topic_s_settings_are_not_checked_except_its_partitions() -> None:
    declared = Topic("orders", partitions=8, config={"retention.ms": "5"}, replicas=5)
    [partitions] = differences(spec_of(declared, is_input=True), EXISTING)
    assert partitions.what == "the number of partitions"


def test_a_setting_for_creation_only_is_no_difference() -> None:
    spec = TopicSpec("orders", 4, {"message.timestamp.after.max.ms": "9223372036854775807"})
    assert differences(spec, EXISTING) == ()


def test_topics_that_a_job_shares_may_have_grown_to_a_multiple() -> None:
    shared, own = spec_of(Topic("orders", partitions=2)), spec_of(Topic("orders", partitions=2, own=True))
    existing = replace(EXISTING, config={"retention.ms": "-1"})
    assert differences(shared, existing) == ()
    assert "is 4, should be 2; partitions decide" in str(differences(own, existing)[0])
    (uneven,) = differences(shared, replace(existing, partitions=3))
    assert "add partitions up to a multiple of 2" in uneven.remedy


def test_topics_of_the_table_become_declarations() -> None:
    spec = spec_of(Topic("orders", partitions=2, config={"retention.ms": "-1"}))
    assert spec == TopicSpec("orders", 2, {"retention.ms": "-1"}, may_grow=True)
