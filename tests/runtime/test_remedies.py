"""A failure that an operator can fix names the remedy."""

from __future__ import annotations

from forebay.runtime.driver.remedies import PASSING, explain

FULL = "java.io.IOException: No space left on device"


def test_the_cause_is_followed_by_the_remedy() -> None:
    said = explain(FULL, f"org.apache.spark.SparkException: Job aborted\n{FULL}\n\tat somewhere")
    assert said.startswith(f"{FULL}: a volume is full")
    assert "free space or enlarge the volume" in said


def test_a_more_specific_cause_replaces_the_reported_cause() -> None:
    said = explain("SparkException: Job aborted", f"SparkException: Job aborted\nCaused by: {FULL}")
    assert said.startswith("No space left on device: a volume is full")


def test_other_causes_stay_as_they_are() -> None:
    assert explain("ValueError: no", "ValueError: no\n at somewhere") == "ValueError: no"


def test_a_full_disk_is_a_temporary_failure() -> None:
    assert any(sign in FULL for sign in PASSING)
