"""Spark settings that exactly-once depends on can't be changed (rule 10 of ARCHITECTURE.md)."""

from __future__ import annotations

import pytest

from forebay.runtime.driver.session import REQUIRED, RefusedSetting, SparkOptions, build_session


@pytest.mark.parametrize("key", REQUIRED)
def test_a_setting_exactness_rests_on_is_refused(key: str) -> None:
    with pytest.raises(RefusedSetting, match=f"{key}=other is refused"):
        build_session("sums", "/data/cp", SparkOptions(conf={key: "other"}))


def test_fewer_task_attempts_than_a_lost_worker_needs_are_refused() -> None:
    with pytest.raises(RefusedSetting, match="must be 4 or more"):
        build_session("sums", "/data/cp", SparkOptions(conf={"spark.task.maxFailures": "1"}))


def test_memory_needs_a_unit() -> None:
    with pytest.raises(RefusedSetting, match="specify a number with k, m, g or t"):
        build_session("sums", "/data/cp", SparkOptions(memory="1024"))


@pytest.mark.parametrize("memory", ["479m", "1000k", "0g"])
def test_a_heap_that_spark_would_refuse_is_refused_with_the_least_one(memory: str) -> None:
    with pytest.raises(RefusedSetting, match=f"'{memory}' is refused: Spark needs a heap of 480m or more"):
        build_session("sums", "/data/cp", SparkOptions(memory=memory))
