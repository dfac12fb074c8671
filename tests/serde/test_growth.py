"""The codec leaks no memory, and creates few objects that the cyclic garbage collector must track."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable

import pytest

from forebay.codec import DecodeError, EncodeError
from forebay.records import FrozenMap
from tests.serde.everything import CONTRACT, Everything, Inner, codec_of
from tests.serde.paths import NATIVE
from user_sessions.model import Location, UserActivity

pytestmark = pytest.mark.long

RUNS = 1000
CODEC = codec_of(Everything, CONTRACT).native
RECORD = Everything(
    text="é" * 80, number=2**60, small=5, wide=0.5, narrow=0.5, flag=True, raw=b"raw" * 30, nothing=None, colour="RED",
    maybe_text="m" * 30, maybe_inner=Inner("i", 2**40), any_of=2**50, inner=Inner("i", None), texts=("a" * 20,) * 9,
    inners=(Inner("i" * 20, 2**40),) * 9, nested=((2**40,) * 3,) * 3, counts=FrozenMap({"a" * 20: 2**40}),
    inner_by_name=FrozenMap({"b" * 20: Inner("i" * 20, None)}), last="l" * 2000,
)  # fmt: skip
DATA = CODEC.encode(RECORD)
UNFIT = Everything(**{name: getattr(RECORD, name) for name in RECORD.__slots__} | {"last": 5})


def refuse(call: Callable[[], object]) -> Callable[[], object]:
    def run() -> None:
        with contextlib.suppress(DecodeError, EncodeError):
            call()

    return run


@pytest.mark.parametrize(
    "call",
    [
        lambda: CODEC.decode(DATA),
        lambda: CODEC.encode(RECORD),
        refuse(lambda: CODEC.decode(DATA[:-1000])),
        refuse(lambda: CODEC.decode(DATA + b"x")),
        refuse(lambda: CODEC.encode(UNFIT)),
    ],
    ids=["decoded", "encoded", "truncated", "trailing", "unfit"],
)
def test_memory_does_not_grow(call: Callable[[], object]) -> None:
    # A leak grows at every attempt. Threads of other tests allocate only occasionally.
    assert min(grown(call) for _ in range(3)) < RUNS / 2


def grown(call: Callable[[], object]) -> int:
    """Return the number of memory blocks by which many calls grow the process."""
    for _ in range(500):
        call()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(RUNS):
        call()
    gc.collect()
    return sys.getallocatedblocks() - before


@pytest.mark.skipif(NATIVE is None, reason="the explaining path leaves it to the collector")
def test_records_and_maps_of_plain_values_are_not_tracked_by_the_collector() -> None:
    decoded = CODEC.decode(DATA)
    assert not gc.is_tracked(decoded.inner)
    assert not gc.is_tracked(decoded.counts)
    assert gc.is_tracked(decoded.inner_by_name)
    assert gc.is_tracked(decoded)


def test_nested_records_are_tracked_by_the_collector() -> None:
    contract = {
        "type": "record",
        "name": "UserActivity",
        "fields": [
            {"name": name, "type": ["null", "string"]} for name in ("event_id", "user_id")
        ]
        + [{"name": name, "type": "string"} for name in ("action", "session_id")]
        + [{"name": name, "type": "long"} for name in ("duration_ms", "timestamp")]
        + [{"name": name, "type": ["null", "string"]} for name in ("page", "browser", "device_type")]
        + [{
            "name": "location",
            "type": ["null", {"type": "record", "name": "Location", "fields": [
                {"name": name, "type": ["null", "string"]} for name in ("country", "city")
            ]}],
        }],
    }  # fmt: skip
    codec = codec_of(UserActivity, contract).native
    event = UserActivity(
        event_id="e", user_id="u", action="a", session_id="s", duration_ms=1, timestamp=2, location=Location("NL", "U")
    )
    decoded = codec.decode(codec.encode(event))
    assert gc.is_tracked(decoded)
    assert decoded.location is not None
    assert not gc.is_tracked(decoded.location)
