"""Random topologies and their records: re-keyed streams, tables, joins, merges, windows and sessions.

A join behind a repartition never reads results whose emission depends on the progress of other records (final results,
suppression).
"""

from __future__ import annotations

import random
from typing import Any

from forebay.builder import Topology, job
from forebay.operators import Fold
from forebay.time import SessionWindows, hopping, tumbling, within
from tests.dsl.driving import Nothing

STREAMS, TABLES = ("s0", "s1"), ("t0", "t1")
KEYS = 4
Record = tuple[str, str, Any, int]
TEXT: Fold[Any, str] = Fold(
    lambda: "",
    lambda _, value, text: f"{text},{value}"[-60:],
    lambda _, value, text: text.replace(f",{value}", "", 1),
    lambda _, one, two: (one + two)[-60:],
)


def digest(text: Any) -> int:
    """Return a small number that depends only on the text."""
    return sum(map(ord, str(text)))


def rekey(stream: Any, number: int) -> Any:
    return stream.select_key(lambda key, value: f"k{(digest(value) + number) % KEYS}", str)


def pair(one: Any, other: Any) -> str:
    return f"({one}|{other})"[-80:]


class Drawn:
    """A random topology, determined by its seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._count = 0
        self._t = Topology()
        self._streams = [self._t.stream(name, str) for name in STREAMS]
        self._tables = [self._t.table(name, str, store=name) for name in TABLES]
        for _ in range(self._draw.randrange(3, 7)):
            self._draw.choice((self._rekey, self._rekey, self._join_table, self._join_table, self._merge))()
        for _ in range(self._draw.randrange(1, 4)):
            self._draw.choice((self._join_streams, self._aggregate, self._group_table))()
        self._streams[-1].to(self._name("out"))
        self._tables[-1].to_stream().to(self._name("out"))
        self.topology = self._t

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def _stream(self) -> Any:
        return self._draw.choice(self._streams)

    def _rekey(self) -> None:
        self._streams.append(rekey(self._stream(), self._draw.randrange(KEYS)))

    def _merge(self) -> None:
        self._streams.append(self._stream().merge(self._stream()))

    def _join_table(self) -> None:
        stream, table = self._stream(), self._draw.choice(self._tables)
        join = self._draw.choice((stream.join, stream.left_join))
        self._streams.append(join(table, pair, str))
        self._streams[-1].to(self._name("out"))

    def _join_streams(self) -> None:
        one, other = self._stream(), self._stream()
        windows, store = within(self._draw.choice((5, 40))), self._name("join")
        one.join(other, pair, str, windows=windows, store=store).to(self._name("out"))

    def _aggregate(self) -> None:
        grouped, store = self._stream().group_by_key(), self._name("store")
        kind = self._draw.randrange(4)
        if kind == 0:
            grouped.aggregate(TEXT, str, store=store).to_stream().to(self._name("out"))
            return
        windows: Any = (tumbling(30), hopping(40, 20), SessionWindows(12))[kind - 1]
        grouped.windowed_by(windows).aggregate(TEXT, str, store=store).to_stream().to(self._name("out"))

    def _group_table(self) -> None:
        number = self._draw.randrange(KEYS)
        table = self._draw.choice(self._tables).group_by(lambda key, value: f"g{(digest(value) + number) % 2}", str)
        table.count(store=self._name("count")).to_stream().to(self._name("out"))


def drawn_job(seed: int) -> Any:
    """Return the job of a random topology."""
    return job(Nothing, lambda _: Drawn(seed).topology)


def drawn_records(seed: int, count: int) -> list[Record]:
    """Return random (topic, key, value, timestamp) by time, at different times."""
    draw, at = random.Random(seed), 100
    records: list[Record] = []
    for number in range(count):
        at += draw.choice((1, 1, 2, 5, 20))
        topic = draw.choice((*STREAMS, *TABLES))
        is_deleted = topic in TABLES and draw.random() < 0.15
        records.append((topic, f"k{draw.randrange(KEYS)}", None if is_deleted else f"{topic}.{number}", at))
    return records
