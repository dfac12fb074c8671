"""A subset of `make faults` for CI: kill -9 at each point, sub-topologies, a second driver, orphaned workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.broker import FaultyPlatform
from faults.plan import Fault, Kind, Plan
from faults.points import Action, Point
from faults.report import Run, Status
from faults.running import run_plan


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyPlatform]:
    with FaultyPlatform(tmp_path_factory.mktemp("faults")) as platform:
        yield platform
        platform.proxy.close()


def killed_at(point: Point, calls: int = 2) -> Fault:
    return Fault(Kind.POINT, 0.0, 0.0, point, Action.KILL_SELF, calls)


def check(run: Run, plan: Plan) -> None:
    assert not run.failure, run.failure
    assert (run.lost, run.doubled) == (0, 0)
    assert [fault.status for fault in run.suffered] == [Status.RECOVERED] * len(plan.faults)
    assert run.outputs > 1_000
    assert run.samples > 10


@pytest.mark.timeout(600)
def test_job_is_exact_after_kills_at_every_kill_point(faulty: FaultyPlatform, tmp_path: Path) -> None:
    plan = Plan(9_001, "user-sessions", tuple(killed_at(point) for point in Point))
    check(run_plan(faulty, plan, tmp_path / "points"), plan)


@pytest.mark.timeout(600)
def test_job_is_exact_after_a_snapshot_during_an_outage_and_a_stale_snapshot(
    faulty: FaultyPlatform, tmp_path: Path
) -> None:
    faults = (Fault(Kind.SNAPSHOT_DUE_AWAY, seconds=6.0), Fault(Kind.SNAPSHOT_OLD, seconds=60_000.0))
    plan = Plan(9_003, "windowed-metrics", faults)
    check(run_plan(faulty, plan, tmp_path / "snapshots"), plan)


@pytest.mark.timeout(600)
def test_job_with_two_sub_topologies_is_exact_despite_a_second_driver(faulty: FaultyPlatform, tmp_path: Path) -> None:
    faults = (
        killed_at(Point.AFTER_COMMIT),
        Fault(Kind.TWO_WORKERS),
        Fault(Kind.REPARTITION_PURGED),
        Fault(Kind.ZOMBIE_SAME),
        Fault(Kind.ZOMBIE_JVM),
    )
    plan = Plan(9_002, "order-stores", faults)
    check(run_plan(faulty, plan, tmp_path / "stages"), plan)


@pytest.mark.timeout(600)
def test_job_is_exact_with_workers_that_survive_their_executor(
    faulty: FaultyPlatform, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = Plan(9_005, "user-sessions", (Fault(Kind.JVM_KILL, 2.0), Fault(Kind.DRIVER_KILL, 2.0)))
    check(run_plan(faulty, plan, tmp_path / "survivors"), plan)
    assert "the loops of this worker continue until other workers take over" in capfd.readouterr().err
