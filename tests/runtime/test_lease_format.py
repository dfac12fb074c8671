"""Leases and source offsets decode to the encoded values, and equal values have equal text."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.lease import SENTINEL, Lease, LeaseOffset

OFFSET = LeaseOffset(
    checkpoint="c1",
    number=3,
    groups=2,
    tasks=5,
    planned_at=1_700,
    start={"b": (0, 4), "a": (7,)},
    topic_ids={"b": "id-b", "a": "id-a"},
    until={"b": (9, 9), "a": (8,)},
    close_until=77,
)


def through_json(offset: LeaseOffset) -> LeaseOffset | None:
    return LeaseOffset.from_json(json.loads(json.dumps(offset.to_json())))


def test_an_offset_is_read_as_it_was_written() -> None:
    assert through_json(OFFSET) == OFFSET
    assert through_json(replace(OFFSET, until=None)) == replace(OFFSET, until=None)


def test_the_text_of_an_offset_does_not_depend_on_the_order_of_topics() -> None:
    other = replace(
        OFFSET,
        start={"a": (7,), "b": (0, 4)},
        topic_ids={"a": "id-a", "b": "id-b"},
        until={"a": (8,), "b": (9, 9)},
    )
    assert json.dumps(other.to_json()) == json.dumps(OFFSET.to_json())


def test_the_sentinel_precedes_the_first_lease() -> None:
    assert LeaseOffset.from_json(dict(SENTINEL)) is None


@pytest.mark.parametrize("offset", [{"job": "c0", "n": 4, "ends": {}}, {"v": 1}, {**SENTINEL, "v": 3}])
def test_a_checkpoint_of_another_release_is_refused_with_the_remedy(offset: dict[str, object]) -> None:
    with pytest.raises(StateConflict, match="forebay run --restore"):
        LeaseOffset.from_json(offset)


def test_every_group_gets_a_lease_and_every_task_a_group() -> None:
    leases = OFFSET.leases()
    assert [lease.group for lease in leases] == [0, 1]
    assert sorted(number for lease in leases for number in lease.numbers) == list(range(5))
    assert {(lease.number, lease.close_until, lease.restore) for lease in leases} == {(3, 77, False)}


def test_a_lease_decodes_to_the_encoded_value() -> None:
    for lease in (*OFFSET.leases(), *replace(OFFSET, until=None, restore=True).leases()):
        assert Lease.from_json(lease.to_json()) == lease
