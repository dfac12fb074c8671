"""The driver and the workers of a job exchange messages through a consumer group on a real broker."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest
from own_topics import new_name, settings_of

from forebay.catalog import find_service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.topics import spec_of
from forebay.platform import Endpoints
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.spark.control import DriverControl, WorkerControl
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.clock import now_ms
from forebay.runtime.task.statistics import TaskFigures


@pytest.fixture
def spec(endpoints: Endpoints) -> JobSpec:
    application, settings = new_name("control"), settings_of(endpoints)
    service = find_service("user-sessions").as_application(application)
    TopicAdmin(settings).create(spec_of(topic) for topic in service.topics(application))
    return JobSpec("user-sessions", application, 4, 1, settings, {}, {}, "v1", run="this")


def test_worker_sees_its_report_and_driver_sees_the_name_of_another_driver(
    spec: JobSpec, wait_until: Callable[..., None]
) -> None:
    lease = Lease("checkpoint", 1, 0, 1, 4, now_ms(), {"user_activity": (0, 0, 0, 0)})
    worker, driver = WorkerControl.of(spec, lease), DriverControl(spec)

    def sees_report() -> bool:
        assert worker.silent_seconds < 60, "it asks the broker"
        return worker.is_reported

    assert not sees_report()
    worker.report([TaskFigures(0, task) for task in range(4)], 1)
    wait_until(sees_report, "the broker has the report")
    driver.figures()
    assert driver.begun == driver.planned == lease.planned_at
    other = DriverControl(JobSpec("user-sessions", spec.application, 4, 1, spec.kafka, {}, {}, "v1", run="other"))
    command = other.end_leases(is_followed=True)
    wait_until(lambda: worker.must_end, "the worker sees the command")
    assert worker.is_followed
    assert driver.last_command() == command
    assert driver.other.startswith(f"the driver on {socket.gethostname()} (process ")
    assert driver.other.endswith(", run other)")
    driver.close()
    other.close()
