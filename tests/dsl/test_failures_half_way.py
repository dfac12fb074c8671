"""A record that fails at any of its puts leaves no trace in stores, buffers and marks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from forebay.builder import Topology, job
from forebay.operators import Emission, UntilTimeLimit, UntilWindowCloses
from forebay.stores.rows import Rows
from forebay.testing import TestDriver
from forebay.time import SessionWindows, SlidingWindows, hopping, tumbling, within
from tests.dsl.driving import Nothing
from tests.dsl.random_topologies import TEXT, pair

pytestmark = pytest.mark.long

TOPICS = ("s0", "s1", "t0", "t1")
SEEDS = (*range(40), 237, 250, 262)
"""With the last seeds, records fail while joins behind a branch wait for their other sides."""


def windows_of(draw: random.Random) -> Any:
    return draw.choice((tumbling(10, 5), hopping(20, 10), SessionWindows(8, 4), SlidingWindows(10, 5)))


def build(seed: int) -> Topology:
    """Return a random topology of one sub-topology. No operator changes keys."""
    draw, t = random.Random(seed), Topology()
    streams: list[Any] = [t.stream("s0", str), t.stream("s1", str)]
    tables: list[Any] = [t.table("t0", str, store="t0"), t.table("t1", str, store="t1", history_retention_ms=30)]
    for number in range(draw.randrange(2, 6)):
        name, stream, table = f"n{number}", draw.choice(streams), draw.choice(tables)
        match draw.randrange(7):
            case 0:
                streams.append(draw.choice((stream.join, stream.left_join))(table, pair, str))
            case 1:
                join = draw.choice((stream.join, stream.left_join, stream.outer_join))
                windows = within(draw.choice((5, 20)), draw.choice((0, 5)))
                streams.append(join(draw.choice(streams), pair, str, windows=windows, store=name))
            case 2:
                join = draw.choice((table.join, table.left_join, table.outer_join))
                tables.append(join(draw.choice(tables), pair, str))
            case 3:
                grouped = stream.group_by_key().windowed_by(windows_of(draw), draw.choice(list(Emission)))
                grouped.aggregate(TEXT, str, store=name).to_stream().to(f"{name}-out")
            case 4:
                windows = windows_of(draw)
                rows = stream.group_by_key().windowed_by(windows).aggregate(TEXT, str, store=name)
                held = rows.suppress(UntilWindowCloses(windows), store=f"{name}-held")
                held.to_stream().to(f"{name}-out")
            case 5:
                tables.append(stream.group_by_key().aggregate(TEXT, str, store=name))
                limits = draw.choice(({}, {"max_records": 2}))
                held = tables[-1].suppress(UntilTimeLimit(10), store=f"{name}-held", **limits)
                held.to_stream().to(f"{name}-out")
            case _:
                streams.append(stream.deduplicate(lambda _, v: v[-1:] if v else None, store=name, ttl_ms=15))
    for number, stream in enumerate((*streams, *(table.to_stream() for table in tables))):
        stream.to(f"out{number}")
    return t


class FailingPuts:
    """Makes the put fail before which `left` other puts have succeeded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1
        put = Rows.put

        def counting(rows: Rows[Any], key: bytes, value: Any) -> None:
            self.left -= 1
            if self.left == -1:
                raise ValueError("this put fails")
            put(rows, key, value)

        monkeypatch.setattr(Rows, "put", counting)


def outputs(sent: list[Any]) -> list[Any]:
    return [(record.topic, record.key, record.value, record.timestamp) for record in sent]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_failed_record_changes_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    described = job(Nothing, lambda _: build(seed))
    driver, spared = TestDriver(described), TestDriver(described)
    puts, draw, at = FailingPuts(monkeypatch), random.Random(seed), 100
    for number in range(60):
        at += draw.choice((0, 0, 1, 2, 5, 15))
        key, topic, time = f"k{draw.randrange(3)}", draw.choice(TOPICS), at - draw.choice((0, 0, 0, 3, 12, 40))
        if number > 3:
            # The failing record does not advance stream time, and nothing is due before it.
            now = min(sub_topology.positions()[0].stream_time for sub_topology in driver.sub_topologies)
            assert outputs(driver.advance_stream_time(now)) == outputs(spared.advance_stream_time(now))
            failed, puts.left = len(driver.errors), draw.randrange(14)
            bad = draw.choice(TOPICS), f"k{draw.randrange(3)}", f"bad{number}", max(0, min(time, now))
            sent = outputs(driver.pipe(bad[1], bad[2], bad[0], bad[3]))
            puts.left = -1
            if len(driver.errors) == failed:
                assert sent == outputs(spared.pipe(bad[1], bad[2], bad[0], bad[3]))
            else:
                assert sent == []
        if draw.random() < 0.1:
            driver.restart()
            spared.restart()
        value = None if draw.random() < 0.15 else f"{topic}.{number}"
        assert outputs(driver.pipe(key, value, topic, time)) == outputs(spared.pipe(key, value, topic, time)), number
    assert outputs(driver.advance_stream_time(at + 1000)) == outputs(spared.advance_stream_time(at + 1000))
    assert driver.errors
    assert not spared.errors
