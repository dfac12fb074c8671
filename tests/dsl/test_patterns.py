"""A stream may read the topics that match a pattern. The topics are determined when the job starts."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from forebay.builder import Topology, TopologyError
from forebay.catalog import Service, Topic, find_service
from forebay.job import load_job, match_topics
from forebay.kafka.acls import Role, rights
from forebay.runtime.driver.pattern_inputs import MatchWatch, matches
from forebay.runtime.errors import StopJob
from forebay.runtime.spec import JobSpec, recall_matches
from forebay.service.agreement import disagreements
from forebay.testing import TestDriver
from tests.dsl.driving import Driven

PATTERN = r"orders-\w+"
MODULE = "pattern_job"
ENTRY = Service(
    "all-orders", "", (Topic("prices"),), (Topic("orders-out"),), {"n": ""}, MODULE, stages=3, patterns={PATTERN: ""}
)


def build(t: Topology) -> None:
    t.stream("prices", str).to("orders-out")
    orders = t.stream(re.compile(PATTERN), str)
    by_value = orders.group_by(lambda _, value: value, str).count(store="n")
    by_value.to_stream().map_values(lambda _, n: str(n), str).to("orders-out")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    module = ModuleType(MODULE)
    module.JOB = Driven(build).job  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, MODULE, module)
    module.SERVICE = ENTRY  # type: ignore[attr-defined]
    monkeypatch.setenv("FOREBAY_SERVICES", MODULE)
    yield ENTRY
    match_topics(MODULE, {})


def test_the_driver_reads_the_topics_that_match() -> None:
    t = Topology()
    build(t)
    driver = TestDriver(t, tasks=2, topics=["orders-eu", "orders-us", "my-orders-eu", "orders-", "prices"])
    driver.pipe("k", "tea", "orders-eu", 1)
    assert [sent.value for sent in driver.pipe("j", "tea", "orders-us", 2)] == ["2"]
    for other in ("my-orders-eu", "orders-"):
        with pytest.raises(KeyError, match=f"no topic '{other}': choose from prices, orders-eu, orders-us"):
            driver.pipe("k", "tea", other, 3)


def test_entry_and_job_must_declare_the_same_pattern(service: Service) -> None:
    assert disagreements(service, load_job(MODULE)) == []
    (line,) = disagreements(Service(**{**_fields(service), "patterns": {}}), load_job(MODULE))
    said = {PATTERN: ""}
    assert line == f"patterns are {{}} in the entry, {said} in the job: write patterns={said} in the entry"


def _fields(service: Service) -> dict[str, Any]:
    return {name: getattr(service, name) for name in service.__dataclass_fields__}


def test_entry_and_job_of_a_process_read_what_matched(service: Service) -> None:
    names = ["orders-eu", "orders-us", "orders-out", "prices", "all-orders-n-changelog", "other"]
    result = matches(service, "all-orders", names)
    assert result == {PATTERN: ("orders-eu", "orders-us")}
    match_topics(MODULE, result)
    assert [topic.name for topic in find_service("all-orders").inputs] == ["prices", "orders-eu", "orders-us"]
    job = load_job(MODULE)
    assert list(job.inputs) == ["prices", "orders-eu", "orders-us"]
    assert disagreements(find_service("all-orders"), job) == []
    assert [part.name for part in job.topology] == [part.name for part in Driven(build).job.topology]
    later = matches(find_service("all-orders"), "all-orders", [*names, "orders-asia"])
    assert later == {PATTERN: ("orders-asia", "orders-eu", "orders-us")}


def test_pattern_without_matching_topics_stops_the_start(service: Service) -> None:
    with pytest.raises(StopJob, match=r"no topic matches orders-\\w\+: create the topics that all-orders reads"):
        matches(service, "all-orders", ["prices", "orders-out"])


def test_a_topic_of_two_patterns_stops_the_start(service: Service) -> None:
    both = Service(**{**_fields(service), "patterns": {PATTERN: "", "orders-e.": ""}})
    with pytest.raises(StopJob, match=r"the topic orders-eu matches orders-\\w\+ and orders-e\.: change the patterns"):
        matches(both, "all-orders", ["orders-eu"])


def test_read_acl_uses_the_common_prefix_of_a_pattern(service: Service) -> None:
    assert "Read on the topic orders-*" in {str(right) for right in rights(service, "all-orders", Role.RUN)}


REFUSED: dict[str, tuple[Callable[[Topology], Any], str]] = {
    "no beginning": (lambda t: t.stream(re.compile(".*-orders"), str), "needs a prefix that all its topics share"),
    "either": (lambda t: t.stream(re.compile("orders-a|sales"), str), "needs a prefix"),
    "a letter that may be missing": (lambda t: t.stream(re.compile("o?rders"), str), "needs a prefix"),
    "read twice": (
        lambda t: [t.stream(re.compile("orders-.*"), str) for _ in range(2)],
        "the pattern 'orders-.*' is read already: use the stream",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_pattern_that_cant_be_read_is_refused(what: str) -> None:
    describe, message = REFUSED[what]
    with pytest.raises(TopologyError, match=rf"^test_patterns.py:\d+: .*{re.escape(message)}"):
        describe(Topology())


def test_a_topic_that_matches_later_is_reported_once(service: Service) -> None:
    kafka: Any = None
    results = {PATTERN: ("orders-eu",)}
    spec = JobSpec("all-orders", "all-orders", 1, 1, kafka, {}, {}, "1", matched=results)
    recall_matches(spec)
    watch = MatchWatch(spec)
    assert watch.look(["orders-eu", "prices"]) == []
    assert watch.look(["orders-eu", "orders-us", "orders-out"]) == ["orders-us"]
    assert watch.look(["orders-eu", "orders-us"]) == []
