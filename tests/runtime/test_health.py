"""A job without progress fails its liveness check. A job that has ended does not, because others share its process."""

from __future__ import annotations

from forebay.http.health import Health


def test_a_job_without_progress_is_not_alive() -> None:
    assert not Health(stuck_seconds=-1.0).alive().ok


def test_a_job_that_ended_does_not_restart_the_others_of_its_process() -> None:
    health = Health(stuck_seconds=-1.0)
    health.set_end("no such topic", exit_code=1)
    health.failing("a report that comes later")
    assert health.alive().ok
    assert (health.ready().ok, health.ready().reason) == (False, "ended: no such topic")
