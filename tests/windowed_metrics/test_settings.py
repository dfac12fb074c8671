"""Meaningless settings are rejected by name, with the correction."""

from typing import Any

import pytest

from windowed_metrics.settings import EmitResults, WindowedMetricsSettings


def test_defaults() -> None:
    assert WindowedMetricsSettings() == WindowedMetricsSettings(
        300_000, 60_000, 3_600_000, EmitResults.EVERY, 0, 10, 100
    )


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("window_ms", 0, "use 1 or more"),
        ("grace_ms", -1, "use 0 or more"),
        ("idle_timeout_ms", -1, "use 0 or more"),
        ("samples", 0, "use 1 or more"),
        ("list_limit", 0, "use 1 or more"),
        ("retention_ms", 359_999, r"use at least window_ms \+ grace_ms, 360000"),
    ],
)
def test_invalid_setting_is_refused(name: str, value: int, remedy: str) -> None:
    fields: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=f"{name} is {value}: {remedy}"):
        WindowedMetricsSettings(**fields)


def test_minimum_retention_is_accepted() -> None:
    assert WindowedMetricsSettings(retention_ms=360_000).retention_ms == 360_000
