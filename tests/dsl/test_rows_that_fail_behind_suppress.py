"""If a row that `suppress` emits fails, the record that made it due and the other rows still have their results."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from forebay.builder import Topology
from forebay.operators import UntilTimeLimit, UntilWindowCloses, WhenFull
from forebay.time import tumbling
from tests.dsl.driving import Driven


def fail_for_bad(key: object, value: int) -> str:
    if "bad" in str(key):
        raise ValueError(f"bad row {value}")
    return str(value)


def until_a_time(t: Topology) -> None:
    stream = t.stream("in", str)
    held = stream.group_by_key().count(store="c").suppress(UntilTimeLimit(1000), store="held")
    held.to_stream().map_values(fail_for_bad, str).to("out")
    t.stream("other", str).merge(stream).to("passed")


def until_windows_close(t: Topology) -> None:
    stream, windows = t.stream("in", str), tumbling(1000)
    counts = stream.group_by_key().windowed_by(windows).count(store="c")
    held = counts.suppress(UntilWindowCloses(windows), store="held")
    held.to_stream().map_values(fail_for_bad, str).to("out")
    t.stream("other", str).merge(stream).to("passed")


def until_two_are_held(t: Topology) -> None:
    stream = t.stream("in", str)
    held = stream.group_by_key().count(store="c").suppress(UntilTimeLimit(1000), store="held", max_records=2)
    held.to_stream().map_values(fail_for_bad, str).to("out")
    t.stream("other", str).merge(stream).to("passed")


@pytest.mark.parametrize("build", [until_a_time, until_windows_close])
@pytest.mark.parametrize("topic", ["in", "other", None])
def test_failed_row_is_reported_once_and_other_rows_are_emitted(build: object, topic: str | None) -> None:
    """Rows become due through a record that reaches suppress, through one that does not, or on an idle topic."""
    driver = Driven(build).driver  # type: ignore[arg-type]
    for key in ("a", "bad", "c"):
        driver.pipe(key, "x", "in", 0, headers=[("from", b"record")])
    if topic is None:
        driver.advance_wall_time(5000)
    else:
        for at in (1500, 1600, 1700):
            driver.pipe("later", "y", topic, at, headers=[("from", b"later")])
    out = [sent for sent in driver.outputs if sent.topic == "out"]
    assert [(str(getattr(sent.key, "key", sent.key)), sent.value, sent.headers) for sent in out] == [
        ("a", "1", ()),
        ("c", "1", ()),
    ]
    passed = [(sent.key, sent.timestamp, sent.headers) for sent in driver.outputs if sent.topic == "passed"]
    assert passed[3:] == ([] if topic is None else [("later", at, (("from", b"later"),)) for at in (1500, 1600, 1700)])
    (error,) = driver.errors
    assert (error.key, error.value) == (b"bad", None)
    assert error.headers["error.message"] == "bad row 1"
    assert error.headers["error.timer"] == "release: held"


def test_row_that_fails_on_eviction_does_not_affect_others() -> None:
    driver = Driven(until_two_are_held).driver
    for at, key in enumerate(("bad", "b", "c", "d")):
        driver.pipe(key, "x", "in", at)
    assert [sent.key for sent in driver.outputs if sent.topic == "passed"] == ["bad", "b", "c", "d"]
    assert [sent.key for sent in driver.outputs if sent.topic == "out"] == ["b"]
    assert [error.key for error in driver.errors] == [b"bad"]


def joined_with_itself(t: Topology, limit_ms: int = 1000, **limits: Any) -> None:
    rows = t.table("in", int, store="rows")
    held = rows.suppress(UntilTimeLimit(limit_ms), store="held", **limits).materialized("kept")
    held.join(rows, lambda one, other: one + other, int).to_stream().map_values(fail_for_bad, str).to("out")


def test_row_that_fails_after_a_join_does_not_affect_others() -> None:
    driver = Driven(joined_with_itself).driver
    for at, key in ((0, "bad"), (0, "a"), (1500, "later"), (1600, "later"), (2700, "last")):
        driver.pipe(key, 1, "in", at, headers=[("from", b"record")])
    assert [(sent.key, sent.value, sent.headers) for sent in driver.outputs] == [("a", "2", ()), ("later", "2", ())]
    assert [error.key for error in driver.errors] == [b"bad"]


@pytest.mark.parametrize("limits", [{"max_records": 1}, {"max_bytes": 150}], ids=str)
@pytest.mark.parametrize("restarts", [False, True])
def test_row_that_fails_on_eviction_after_a_join_does_not_affect_others(limits: dict[str, Any], restarts: bool) -> None:
    driver = Driven(partial(joined_with_itself, limit_ms=1000, **limits)).driver
    for at, key in enumerate(("bad", "a", "b", "c")):
        driver.pipe(key, at, "in", at, headers=[("from", b"record")])
        if restarts:
            driver.restart()
    assert [(sent.key, sent.value, sent.headers) for sent in driver.outputs] == [("a", "2", ()), ("b", "4", ())]
    assert [error.key for error in driver.errors] == [b"bad"]


def test_buffer_limit_counts_only_remaining_rows_after_a_join() -> None:
    build = partial(joined_with_itself, max_records=1, when_full=WhenFull.SHUT_DOWN)
    driver = Driven(build).driver
    for at, key in ((0, "a"), (1500, "b"), (1600, "c"), (3000, "d")):
        driver.pipe(key, 1, "in", at)
    assert [sent.key for sent in driver.outputs] == ["a", "b"]
    assert [(error.key, error.headers["error.class"]) for error in driver.errors] == [(b"c", "BufferFull")]
