"""An engine reports its queries with their lag, and how its job ended by itself."""

from __future__ import annotations

from collections.abc import Sequence

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
    """Answers what the lag of topics is, and counts the requests."""

    def __init__(self, lag: dict[str, int]) -> None:
        self.lag = lag
        self.is_away = False
        self.requests: list[list[str]] = []

    def __call__(self, topics: Sequence[str]) -> dict[str, int]:
        self.requests.append(list(topics))
        if self.is_away:
            raise Unavailable("the broker is away")
        return {topic: records for topic, records in self.lag.items() if topic in topics}


def test_the_lag_of_a_query_is_that_of_all_its_topics() -> None:
    broker = Broker({"s": 3, "r": 4})
    status = status_of("shop", "running", program_of(PROGRAM), CachedLag(broker), [])
    assert [(query["writes"], sorted(query["reads"]), query["lag"]) for query in status["queries"]] == [
        ("J", ["r", "s"], 7),
        ("T", ["s"], 3),
    ]
    assert (status["application"], status["state"], status["ends"]) == ("shop", "running", [])
    assert status["queries"][1]["statement"].startswith("CREATE TABLE t AS")


def test_a_topic_that_is_not_read_yet_leaves_the_lag_unknown() -> None:
    status = status_of("shop", "starting", program_of(PROGRAM), CachedLag(Broker({"s": 3})), [])
    assert [query["lag"] for query in status["queries"]] == [None, 3]
    away = Broker({})
    away.is_away = True
    status = status_of("shop", "starting", program_of(PROGRAM), CachedLag(away), [])
    assert [query["lag"] for query in status["queries"]] == [None, None]


def test_the_broker_is_asked_every_two_seconds_or_for_other_topics() -> None:
    now, broker = [10.0], Broker({"s": 1})
    lag = CachedLag(broker, lambda: now[0])
    for _ in range(5):
        lag.read(["s", "s"])
    assert broker.requests == [["s"]]
    lag.read(["s", "r"])
    now[0] += 2
    lag.read(["s", "r"])
    assert broker.requests == [["s"], ["s", "r"], ["s", "r"]]


def test_ends_are_listed_newest_first() -> None:
    ends = [JobEnd(1, 1.5, "no such topic"), JobEnd(-9, 2.5, "its log is empty")]
    status = status_of("shop", "starting", Program(), CachedLag(Broker({})), ends)
    assert [(end["at"], end["exit_code"], end["reason"]) for end in status["ends"]] == [
        (2_500, -9, "its log is empty"),
        (1_500, 1, "no such topic"),
    ]
