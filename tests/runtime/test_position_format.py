"""A task's position decodes to the encoded value, including positions of the previous release."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.errorcount import ErrorCount
from forebay.runtime.protocol.position import SenderTime, TaskPosition, commits_in, owner, tag_of

POSITION = TaskPosition(
    checkpoint="c1",
    n=41,
    stream_time=1_000,
    closing_time=2_000,
    code_version="v7",
    ends=(("orders", 0, 12), ("app-grouped-repartition", 3, 99)),
    senders=(SenderTime("app-grouped-repartition", "0-1", 104, 990, 7 << 32 | 3),),
    recent=ErrorCount(500, 3),
    groups=2,
    reports=(("prices", 0, 5),),
    global_stores=(("prices", "prices-orders"),),
)


def of_release_before(**changes: object) -> bytes:
    marker = {"job": "c0", "n": 7, "s": 100, "t": "0" * 32, "code": "v6", "c": None, "to": "5", **changes}
    return json.dumps({"marker": json.dumps(marker), "ends": [["orders", 0, 10]]}).encode()


def test_a_position_decodes_to_the_encoded_value() -> None:
    assert TaskPosition.from_json(POSITION.to_json()) == POSITION


def test_fields_that_earlier_releases_did_not_write_have_their_defaults() -> None:
    fields = json.loads(POSITION.to_json())
    for name in ("reports", "globals"):
        del fields[name]
    earlier = replace(POSITION, reports=(), global_stores=())
    assert TaskPosition.from_json(json.dumps(fields).encode()) == earlier


def test_a_position_of_release_0_2_with_a_caught_up_sender_is_read_without_that_mark() -> None:
    fields = json.loads(POSITION.to_json())
    del fields["done"]
    fields["senders"] = [["app-grouped-repartition", "0-1", 104, 990, 1]]
    known = SenderTime("app-grouped-repartition", "0-1", 104, 990)
    assert TaskPosition.from_json(json.dumps(fields).encode()) == replace(POSITION, senders=(known,))


def test_a_position_of_the_previous_release_is_read() -> None:
    read = TaskPosition.from_json(of_release_before())
    assert read == TaskPosition("c0", 7, 100, -1, "v6", (("orders", 0, 10),), handed_to=0b101)
    assert TaskPosition.from_json(of_release_before(c=300)).closing_time == 300


@pytest.mark.parametrize("data", [b"", b"no JSON", b"{}", b"[1]", b'{"n": 1}', b'{"marker": "{}"}'])
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(StateConflict, match="not written by Forebay"):
        TaskPosition.from_json(data)


def test_offset_metadata_names_the_owner() -> None:
    assert owner(POSITION.metadata()) == ("c1", 41)
    assert owner('{"job":"c0","n":7}') == ("c0", 7)
    with pytest.raises(StateConflict, match="no other program may commit"):
        owner("another program's")


def test_a_tag_contains_the_checkpoint_and_its_number_of_commits() -> None:
    assert commits_in(POSITION.tag, "c1") == 41
    assert commits_in(tag_of("c1", 0), "c1") == 0
    assert commits_in(POSITION.tag, "c2") == -1
    assert commits_in(b"", "c1") == -1
    assert commits_in(b"rebuilding", "c1") == -1
