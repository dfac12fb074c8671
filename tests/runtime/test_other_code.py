"""An executor of another release can read the driver's job spec, or reports that it can't."""

from __future__ import annotations

from dataclasses import dataclass, replace
from unittest.mock import Mock

import pytest

from forebay.kafka.secret import Secret
from forebay.kafka.settings import KafkaSettings
from forebay.runtime import spec as spec_module
from forebay.runtime.code_version import code_version
from forebay.runtime.driver.causes import cause_of
from forebay.runtime.errors import GroupFenced, StoreChanged, Unavailable
from forebay.runtime.spark.holder import LeaseHolder, hold_lease
from forebay.runtime.spark.other_code import OtherCodeError, explain_failure
from forebay.runtime.spark.sealed import SealedSpec
from forebay.runtime.spec import JobSpec, StartFrom

KAFKA = KafkaSettings(
    bootstrap_servers="nowhere:1",
    schema_registry_url="http://nowhere:1",
    schema_registry_token=Secret("hunter2"),
    kafka={"sasl.password": "hunter3"},
)
SPEC = JobSpec("user-sessions", "app", 2, 1, KAFKA, {}, {}, "1", start=StartFrom("timestamp", 5))


def pose_as(monkeypatch: pytest.MonkeyPatch, other: type) -> None:
    """Replace StartFrom in this process by another release's declaration."""
    other.__module__, other.__qualname__ = StartFrom.__module__, StartFrom.__qualname__
    monkeypatch.setattr(spec_module, "StartFrom", other)


def test_a_spec_arrives_as_it_was() -> None:
    arrived = SealedSpec(SPEC).open()
    assert arrived == SPEC
    assert arrived.kafka.consumer()["sasl.password"] == "hunter3"


def test_a_field_that_only_the_driver_knows_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Before:
        position: str = "earliest"

    sealed = SealedSpec(SPEC)
    pose_as(monkeypatch, Before)
    start: object = sealed.open().start
    assert start == Before("timestamp")


def test_a_field_that_the_driver_does_not_know_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class After:
        position: str
        timestamp_ms: int
        zone: str = "UTC"

    sealed = SealedSpec(SPEC)
    pose_as(monkeypatch, After)
    start: object = sealed.open().start
    assert start == After("timestamp", 5, "UTC")


def test_an_unreadable_message_is_reported_with_both_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Elsewhere:
        zone: str

    sealed = SealedSpec(SPEC)
    pose_as(monkeypatch, Elsewhere)
    left: list[Exception] = []
    monkeypatch.setattr("forebay.runtime.spark.sealed.leave_driver", left.append)
    with pytest.raises(OtherCodeError, match=r"can't read what its driver of .* \(TypeError: .*zone.*pod is replaced"):
        sealed.open()
    assert left, "its executor leaves the driver"


@pytest.mark.parametrize(
    ("supervised", "raised", "left"),
    [
        (True, OtherCodeError, True),
        (False, StoreChanged, False),  # users may edit a service's files while its job runs from them
    ],
)
def test_an_executor_leaves_its_driver_only_if_it_is_supervised(
    monkeypatch: pytest.MonkeyPatch, supervised: bool, raised: type[Exception], left: bool
) -> None:
    def hold(*given: object) -> str:
        raise StoreChanged("convert them")

    leaving: list[Exception] = []
    monkeypatch.setattr("forebay.runtime.spark.leases.hold", hold)
    monkeypatch.setattr("forebay.runtime.spark.holder.is_supervised", lambda: supervised)
    monkeypatch.setattr("forebay.runtime.spark.holder.leave_driver", leaving.append)
    with pytest.raises(raised, match="convert them"):
        hold_lease(SealedSpec(SPEC), "{}")
    assert bool(leaving) is left


def test_an_executor_leaves_a_driver_of_release_0_2(monkeypatch: pytest.MonkeyPatch) -> None:
    leaving: list[Exception] = []
    monkeypatch.setattr("forebay.runtime.spark.holder.leave_driver", leaving.append)
    holder = LeaseHolder.__new__(LeaseHolder)
    holder.init(Mock())
    with pytest.raises(OtherCodeError, match="release 0"):
        holder.handleInputRows(None, [{"lease": "{}"}], None)
    assert leaving


@pytest.mark.parametrize("failure", [Unavailable("the broker is away"), GroupFenced("group 0")])
def test_a_temporary_failure_is_not_attributed_to_code(failure: Exception) -> None:
    assert explain_failure(failure, SPEC) is failure


def test_a_failure_is_not_attributed_to_code_if_the_versions_match() -> None:
    failure = StoreChanged("convert them")
    own = replace(SPEC, code_version=code_version(SPEC.entry, SPEC.logic))
    assert explain_failure(failure, own) is failure


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (SPEC, r"this executor has code \S+, its driver 1 \(StoreChanged: convert them\)"),
        (replace(SPEC, logic={"newer": 1}), r"does not know the job as its driver does \(TypeError: .*newer"),
        (replace(SPEC, service="newer"), r"does not know the job as its driver does \(UnknownService: "),
    ],
)
def test_a_failure_of_other_code_does_not_end_the_job(spec: JobSpec, said: str) -> None:
    failure = explain_failure(StoreChanged("convert them"), spec)
    with pytest.raises(OtherCodeError, match=said):
        raise failure
    assert "forebay.stop" not in str(failure)
    name = f"{OtherCodeError.__module__}.{OtherCodeError.__qualname__}"
    assert cause_of(f"Traceback\n  File x\n{name}: {failure}\n").startswith(name)
