"""The metrics of the format `forebay` are sums of tasks, and the lag from Spark's progress."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from forebay.spark import metrics
from forebay.spark.metrics import HELP, LAG, Amounts, SparkMetrics, lag_of


@pytest.mark.parametrize(
    ("end", "latest", "lag"),
    [
        ({"a": {"0": 3, "1": 4}}, {"a": {"0": 5, "1": 4}}, {"a": 2}),
        ({"a": {"0": 3}, "b": {"0": 0}}, {"a": {"0": 3}, "b": {"0": 9}}, {"a": 0, "b": 9}),
        # A partition that is newer than the micro-batch, and a topic that was recreated.
        ({"a": {"0": 3}}, {"a": {"0": 4, "1": 7}}, {"a": 1}),
        ({"a": {"0": 3}}, {"a": {"0": 1}}, {"a": 0}),
        ({"a": {"0": 3}}, None, {}),
        (None, {"a": {"0": 3}}, {"a": 0}),
        # Offsets of other sources.
        ("7", "9", {}),
        ({"seconds": 7}, {"seconds": 9}, {}),
        ("[1]", "[2]", {}),
        ("no JSON", "no JSON", {}),
    ],
)
def test_lag_is_the_number_of_records_after_the_micro_batch(end: Any, latest: Any, lag: dict[str, int]) -> None:
    assert (
        lag_of(*(text if text is None or isinstance(text, str) else json.dumps(text) for text in (end, latest))) == lag
    )


def session(*progresses: Any) -> Any:
    """Return a Spark session whose queries have this progress."""
    queries = [SimpleNamespace(lastProgress=progress) for progress in progresses]
    return SimpleNamespace(streams=SimpleNamespace(active=queries))


def progress(end: int, latest: int) -> Any:
    source = SimpleNamespace(endOffset=json.dumps({"a": {"0": end}}), latestOffset=json.dumps({"a": {"0": latest}}))
    return SimpleNamespace(sources=[source])


@pytest.fixture
def amounts(monkeypatch: pytest.MonkeyPatch) -> Amounts:
    amounts: Amounts = {}
    monkeypatch.setattr(metrics, "session_sums", lambda _: SimpleNamespace(value=amounts))
    return amounts


def test_sums_and_the_lag_of_all_queries(amounts: Amounts) -> None:
    values = SparkMetrics(session(progress(3, 5), None, progress(1, 5)))
    amounts |= {("rows_written", "a"): 7, ("rows_written", "b"): 1}
    assert values.values() == {
        **{name: {} for name in HELP},
        "rows_written": {"a": 7, "b": 1},
        LAG: {"a": 6},
    }


def test_all_metrics_are_exported_to_prometheus(amounts: Amounts) -> None:
    registry = CollectorRegistry()
    registry.register(SparkMetrics(session(progress(3, 5))))
    amounts |= {(name, "a"): number for number, name in enumerate(HELP)}
    text = generate_latest(registry).decode()
    for number, name in enumerate(HELP):
        assert f'forebay_spark_{name}_total{{topic="a"}} {number:.1f}' in text
    assert f'forebay_spark_{LAG}{{topic="a"}} 2.0' in text


def test_sums_of_tasks_are_added() -> None:
    sums = metrics._Sums()
    total = sums.addInPlace({("commits", "a"): 1}, {("commits", "a"): 2, ("commits", "b"): 3})
    assert total == {("commits", "a"): 3, ("commits", "b"): 3}
    assert sums.zero(total) == {}
