"""Before the next transaction, the worker knows whether the client retried requests of the last one, or assumes so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forebay.runtime.worker.retries import RetryWatch

INTERVAL_MS = 1_000
SLOW = 0.5


class Client:
    """A producer whose statistics are due every second of simulated time.

    Args:
        retries: Retry counts in the statistics, by the time (s) from which they apply.
    """

    def __init__(self, watch: RetryWatch, time: Time, retries: dict[float, int], **config: Any) -> None:
        self._time = time
        self._created = time.now
        self._retries = retries
        self.every = 1.0
        self._due = time.now + self.every
        self.is_silent = False
        self.reports: list[str] = []
        self.config = watch.configure(
            {"statistics.interval.ms": INTERVAL_MS, "stats_cb": self.reports.append, **config}
        )

    def poll(self, seconds: float) -> int:
        self._time.now += seconds
        while self._time.now >= self._due and not self.is_silent:
            self.report(self._due)
            self._due += self.every
        return 0

    def report(self, at: float) -> None:
        """Pass the statistics of a time (s) to the callback."""
        count = max((count for since, count in self._retries.items() if since <= at), default=0)
        age = int((at - self._created) * 1_000_000)
        self.config["stats_cb"](json.dumps({"age": age, "brokers": {"TxnCoordinator": {"txretries": count}}}))


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def takes(self, seconds: float) -> Any:
        """Return a call that takes this time."""

        def call() -> None:
            self.now += seconds

        return call


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def watch(time: Time) -> RetryWatch:
    return RetryWatch(time)


def was_repeated(watch: RetryWatch, client: Any, call: Any) -> bool:
    return watch.has_repeated(client, call)


def test_a_commit_that_is_faster_than_any_retry_is_not_checked(watch: RetryWatch, time: Time) -> None:
    client = Client(watch, time, {})
    assert not was_repeated(watch, client, time.takes(0.19))
    assert time.now == pytest.approx(100.19), "no wait"


def test_a_slow_commit_without_a_retry_only_waits_for_statistics(watch: RetryWatch, time: Time) -> None:
    client = Client(watch, time, {})
    assert not was_repeated(watch, client, time.takes(SLOW))
    assert 101 <= time.now < 102


@pytest.mark.parametrize(("partitions", "interval_ms"), [(0, 250), (40, 250), (100, 400), (250, 1_000), (3_000, 1_000)])
def test_producers_of_few_partitions_report_statistics_often(time: Time, partitions: int, interval_ms: int) -> None:
    watch = RetryWatch(time, partitions)
    assert watch.configure({})["statistics.interval.ms"] == interval_ms
    assert watch.configure({"statistics.interval.ms": 900})["statistics.interval.ms"] == 900


def test_a_slow_commit_waits_for_an_interval_at_most(watch: RetryWatch, time: Time) -> None:
    client = Client(watch, time, {})
    client.config = watch.configure({"stats_cb": client.reports.append})
    client.every, client._due = client.config["statistics.interval.ms"] / 1_000, time.now + 0.25
    assert not was_repeated(watch, client, time.takes(SLOW))
    assert SLOW <= time.now - 100 <= SLOW + 0.31


def test_a_retry_during_a_slow_commit_is_seen(watch: RetryWatch, time: Time) -> None:
    assert was_repeated(watch, Client(watch, time, {100.1: 1}), time.takes(SLOW))


def test_retries_of_earlier_commits_do_not_count_again(watch: RetryWatch, time: Time) -> None:
    client = Client(watch, time, {100.1: 1})
    assert was_repeated(watch, client, time.takes(SLOW))
    assert not was_repeated(watch, client, time.takes(SLOW))


def test_statistics_from_before_the_end_of_the_commit_prove_nothing(watch: RetryWatch, time: Time) -> None:
    client = Client(watch, time, {100.3: 1})

    def call() -> None:
        client.report(100.2)
        time.now += SLOW

    assert was_repeated(watch, client, call)


def test_without_statistics_a_slow_commit_counts_as_repeated(watch: RetryWatch, time: Time) -> None:
    client = Client(watch, time, {})
    client.is_silent = True
    assert was_repeated(watch, client, time.takes(SLOW))


@pytest.mark.parametrize(
    ("config", "seconds"),
    [
        ({"retry.backoff.ms": "1000"}, 0.79),
        ({"retry.backoff.ms": "10"}, 0.19),
        ({"retry.backoff.max.ms": "10"}, 0.19),
        ({"retry.backoff.ms": "2000", "retry.backoff.max.ms": 1_000}, 0.99),
    ],
)
def test_what_counts_as_slow_follows_from_the_client_s_options(
    watch: RetryWatch, time: Time, config: Any, seconds: float
) -> None:
    client = Client(watch, time, {0: 1}, **config)
    assert not was_repeated(watch, client, time.takes(seconds))
    assert was_repeated(watch, client, time.takes(seconds + 0.02))


@pytest.mark.parametrize("interval", ["0", 0, "3600000", 1_001])
def test_statistics_come_each_second_despite_the_user_s_options(watch: RetryWatch, time: Time, interval: Any) -> None:
    client = Client(watch, time, {}, **{"statistics.interval.ms": interval})
    assert client.config["statistics.interval.ms"] == 1_000
    assert not was_repeated(watch, client, time.takes(SLOW)), "the group stays open"
    assert time.now < 102


@pytest.mark.parametrize("name", ["retry.backoff.ms", "retry.backoff.max.ms"])
@pytest.mark.parametrize("value", ["0", 1, 249])
def test_a_backoff_is_never_so_short_that_each_commit_is_slow(watch: RetryWatch, name: str, value: Any) -> None:
    assert watch.configure({name: value})[name] == 250


@pytest.mark.parametrize(
    "option", [("statistics.interval.ms", 100), ("retry.backoff.ms", 400), ("retry.backoff.max.ms", 900)]
)
def test_options_that_the_watch_supports_are_not_changed(
    watch: RetryWatch, caplog: pytest.LogCaptureFixture, option: tuple[str, int]
) -> None:
    assert option in watch.configure(dict([option])).items()
    assert not caplog.messages


def test_an_option_that_is_not_followed_is_logged_once(watch: RetryWatch, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        watch.configure({"statistics.interval.ms": "0"})
    (message,) = caplog.messages
    assert message.startswith("producers of task groups ignore the client option statistics.interval.ms=0")


def test_an_unconfigured_watch_takes_every_commit_for_repeated_that_could_be(watch: RetryWatch, time: Time) -> None:
    assert not was_repeated(watch, None, time.takes(0.079))
    assert was_repeated(watch, None, time.takes(0.081))


def test_the_statistics_still_reach_the_user_s_callback(watch: RetryWatch, time: Time) -> None:
    client = Client(watch, time, {})
    client.poll(1.0)
    assert len(client.reports) == 1


def test_the_statistics_of_a_producer_that_was_replaced_are_not_taken_for_the_new_one_s(
    watch: RetryWatch, time: Time
) -> None:
    old = Client(watch, time, {100.0: 5})
    time.now += 10
    new = Client(watch, time, {})
    old.report(time.now)
    assert not was_repeated(watch, new, time.takes(SLOW))


def test_an_error_of_a_commit_is_raised(watch: RetryWatch, time: Time) -> None:
    def call() -> None:
        raise RuntimeError("refused")

    with pytest.raises(RuntimeError, match="refused"):
        was_repeated(watch, Client(watch, time, {}), call)
