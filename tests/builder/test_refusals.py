"""A topology that can't run is refused when it is described; the message says where and what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from forebay.builder import Topology, job
from forebay.builder.graph import TopologyError
from forebay.operators import Emission, Fold, counting
from forebay.time import tumbling
from forebay.time.sessions import SessionWindows
from tests.builder.menu import Bill, Count, Order, Price, Settings, Span, Total, Vote, VoteChange, bill, span


@dataclass(frozen=True, slots=True)
class Timeless:
    dish: str


SUM: Fold[Vote, Total] = Fold(lambda: Total(0), lambda _, __, total: total)


def topology(describe: Callable[[Topology], Any]) -> Callable[[], Any]:
    return lambda: describe(Topology())


def joined_behind_rekey(t: Topology) -> None:
    prices = t.table("prices", Price, store="prices")
    t.stream("orders", Order).rekey("by-customer", lambda _, o: o.customer).join(prices, bill, Bill)


def repartitioned_twice(t: Topology) -> None:
    votes = t.stream("votes", Vote)
    votes.rekey("one", lambda _, v: v.dish).count(Count, store="a")
    votes.rekey("two", lambda _, v: v.dish).count(Count, store="b")


def two_records_to_a_topic(t: Topology) -> None:
    votes = t.stream("votes", Vote)
    votes.to("out")
    votes.count(Count, store="counts").to("out")


def joined_table_of_a_stream(t: Topology) -> None:
    prices, votes = t.table("prices", Price, store="prices"), t.table("votes", Vote, store="votes")
    both = prices.join(votes, lambda _, vote: Timeless(vote.dish), Timeless)  # type: ignore[union-attr]
    t.stream("orders", Order).join(both, lambda order, _: order, Order)


def joined_with_itself(t: Topology) -> None:
    prices = t.table("prices", Price, store="prices")
    prices.join(prices, lambda one, _: one or Price(0, 0), Price)


def group(t: Topology) -> Any:
    return t.table("votes", Vote, store="votes").group_by("by-dish", lambda _, v: v.dish, VoteChange)


def window(t: Topology, windows: Any, fold: Any = SUM, **options: Any) -> None:
    t.stream("votes", Vote).window(windows).aggregate(fold, Total, span, Span, store="sums", **options)


def join(t: Topology, history: int | None, grace: int, waiting: str = "waiting") -> None:
    prices = t.table("prices", Price, store="prices", history_retention_ms=history)
    t.stream("orders", Order).join(prices, bill, Bill, grace_ms=grace, waiting=waiting)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a record without a time": (
        topology(lambda t: t.stream("words", Timeless)),
        r"topic words: Timeless must carry its event time: give it a field timestamp \(ms\)",
    ),
    "a topic read twice": (
        topology(lambda t: (t.stream("votes", Vote), t.table("votes", Vote, store="votes"))),
        "topic votes is read twice: keep what stream",
    ),
    "two topics of one record": (
        topology(lambda t: (t.stream("votes", Vote), t.stream("others", Vote))),
        "topics votes and others both hold Vote: .* give each topic its own",
    ),
    "a store's name used twice": (
        topology(lambda t: (t.table("votes", Vote, store="x"), t.stream("orders", Order).count(Count, store="x"))),
        "store x: the name is used twice; give each store its own",
    ),
    "a table behind a repartition": (
        topology(joined_behind_rekey),
        "table prices is read in stage 0, the stream was repartitioned into stage 1: .* join before the rekey",
    ),
    "two repartitions of one stage": (
        topology(repartitioned_twice),
        "repartitions one and two both leave stage 0: .* or make two services",
    ),
    "a topic of two records": (
        topology(two_records_to_a_topic),
        "topic out is sent Vote and Count: map them to one record, or give each a topic",
    ),
    "a stream with a joined table": (
        topology(joined_table_of_a_stream),
        r"join prices and votes \(inner\) keeps no rows: join the stream with its sides",
    ),
    "a table with itself": (
        topology(joined_with_itself),
        "table prices: a table can't be joined with itself",
    ),
    "a crossing that holds no change": (
        topology(lambda t: t.table("votes", Vote, store="votes").group_by("by-dish", lambda _, v: v.dish, Count)),
        "repartition by-dish: Count must have the fields old, new .* and timestamp",
    ),
    "a group's fold without subtract": (
        topology(lambda t: group(t).aggregate(SUM, Total, store="sums")),
        "store sums: rows leave groups, but the fold has no subtract: give it one",
    ),
    "sessions whose fold can't merge": (
        topology(lambda t: window(t, SessionWindows(5, 0))),
        "store sums: sessions merge, but the fold has no merge: give it one",
    ),
    "sessions with updates": (
        topology(lambda t: window(t, SessionWindows(5, 0), counting(Total), emission=Emission.UPDATES)),
        "store sums: sessions give finals only here",
    ),
    "a retention shorter than window and grace": (
        topology(lambda t: window(t, tumbling(10, grace_ms=5), retention_ms=14)),
        "store sums: retention_ms 14 .* give at least 15 ms",
    ),
    "a grace on an unversioned table": (
        topology(lambda t: join(t, None, 5)),
        "store prices: .* make the table a VersionedKeyValueStore, or join without a grace",
    ),
    "a grace above the history": (topology(lambda t: join(t, 4, 5)), "store prices: .* at least 5"),
    "a grace without a place to wait": (topology(lambda t: join(t, 9, 5, "")), "store prices: .* name it: waiting="),
    "nothing read": (
        lambda: job(Settings, lambda _: Topology()),
        r"reads no topic: begin with stream\(\) or table\(\)",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str) -> None:
    describe, message = REFUSED[what]
    with pytest.raises(ValueError, match=message):
        describe()


def test_nothing_sent_is_refused() -> None:
    def read(_: Settings) -> Topology:
        made = Topology()
        made.stream("votes", Vote)
        return made

    with pytest.raises(TopologyError, match=r"the topology sends nothing: end with to\(\)"):
        job(Settings, read)
