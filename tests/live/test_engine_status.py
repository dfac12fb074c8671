"""An engine reports its queries with their lag, and the ends of its job that it did not request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from forebay.codec import Unavailable
from forebay.live.keeper import JobEnd
from forebay.live.status import CachedLag, status_of
from forebay.sql.program import Program, program_of

PROGRAM = """
CREATE STREAM s (id STRING KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM r (id STRING KEY, m INT) WITH (KAFKA_TOPIC='r', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM j AS SELECT s.id, n, m FROM s JOIN r WITHIN 1 HOUR ON s.id = r.id;
CREATE TABLE t AS SELECT id, SUM(n) AS n FROM s GROUP BY id;
"""


class Broker:
    """A function that returns the lag of topics, and records the requests."""

    def __init__(self, lag: dict[str, int]) -> None:
        self.lag = lag
        self.is_away = False
        self.requests: list[list[str]] = []
        self.answers = threading.Event()
        self.answers.set()

    def __call__(self, topics: Sequence[str]) -> dict[str, int]:
        self.requests.append(list(topics))
        self.answers.wait()
        if self.is_away:
            raise Unavailable("the broker is away")
        return {topic: records for topic, records in self.lag.items() if topic in topics}


def cached_lag(broker: Broker, now: Callable[[], float] = lambda: 10.0) -> CachedLag:
    """Return a `CachedLag` that waits for the broker even on a slow machine."""
    return CachedLag(broker, now, patience_s=600.0)


def test_the_lag_of_a_query_is_that_of_all_its_topics() -> None:
    broker = Broker({"s": 3, "r": 4})
    status = status_of("shop", "running", program_of(PROGRAM), cached_lag(broker), [])
    assert [(query["writes"], sorted(query["reads"]), query["lag"]) for query in status["queries"]] == [
        ("J", ["r", "s"], 7),
        ("T", ["s"], 3),
    ]
    assert (status["application"], status["state"], status["ends"]) == ("shop", "running", [])
    assert status["queries"][1]["statement"].startswith("CREATE TABLE t AS")


def test_a_topic_that_is_not_read_yet_leaves_the_lag_unknown() -> None:
    status = status_of("shop", "starting", program_of(PROGRAM), cached_lag(Broker({"s": 3})), [])
    assert [query["lag"] for query in status["queries"]] == [None, 3]
    away = Broker({})
    away.is_away = True
    status = status_of("shop", "starting", program_of(PROGRAM), cached_lag(away), [])
    assert [query["lag"] for query in status["queries"]] == [None, None]


def test_lag_is_cached_for_two_seconds_per_set_of_topics() -> None:
    now, broker = [10.0], Broker({"s": 1})
    lag = cached_lag(broker, lambda: now[0])
    for _ in range(5):
        lag.read(["s", "s"])
    assert broker.requests == [["s"]]
    lag.read(["s", "r"])
    now[0] += 2
    lag.read(["s", "r"])
    assert broker.requests == [["s"], ["s", "r"], ["s", "r"]]


def test_page_shows_the_previous_lag_during_one_slow_request() -> None:
    now, broker = [10.0], Broker({"s": 1})
    lag = CachedLag(broker, lambda: now[0], patience_s=0.0)
    while lag.read(["s"]) != {"s": 1}:
        pass
    now[0] += 2
    broker.lag = {"s": 5}
    broker.answers.clear()
    assert [lag.read(["s"]) for _ in range(3)] == [{"s": 1}] * 3
    broker.answers.set()
    while lag.read(["s"]) != {"s": 5}:
        pass
    assert broker.requests == [["s"], ["s"]]


def test_ends_are_listed_newest_first() -> None:
    ends = [JobEnd(1, 1.5, "no such topic"), JobEnd(-9, 2.5, "its log is empty")]
    status = status_of("shop", "starting", Program(), cached_lag(Broker({})), ends)
    assert [(end["at"], end["exit_code"], end["reason"]) for end in status["ends"]] == [
        (2_500, -9, "its log is empty"),
        (1_500, 1, "no such topic"),
    ]
