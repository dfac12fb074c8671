"""The execution of a run: a job's life under its plan, and the verdict on its results."""

from __future__ import annotations

import time
from pathlib import Path

from faults.broker import FaultyPlatform
from faults.disk import NotPermitted
from faults.inject import suffer
from faults.life import Life
from faults.plan import ON_A_DISK, Fault, Plan
from faults.proxy import Network
from faults.report import Run, Status, Suffered
from faults.verdict import Verdict, judge


def run_plan(platform: FaultyPlatform, plan: Plan, folder: Path) -> Run:
    """Run a plan and judge its results. If a fault can't be injected on this machine, skip it and report the reason."""
    begun = time.monotonic()
    platform.up()
    platform.proxy.become(Network.FINE)
    skipped: dict[Fault, str] = {}
    try:
        life = Life(platform, plan, folder)
    except NotPermitted as reason:
        skipped = {fault: str(reason) for fault in plan.faults if fault.kind in ON_A_DISK}
        without = Plan(
            plan.seed, plan.service, tuple(fault for fault in plan.faults if fault not in skipped), plan.executors
        )
        life = Life(platform, without, folder.with_name(f"{folder.name}-without-disk"))
    suffered: list[Suffered] = []
    verdict = Verdict()
    try:
        life.until_commits(1)
        for fault in plan.faults:
            if fault in skipped:
                suffered.append(Suffered(fault.label, Status.SKIPPED, reason=skipped[fault]))
                continue
            suffered.append(_suffer(life, fault))
            assert suffered[-1].status is Status.RECOVERED, suffered[-1].reason
        life.finish()
        verdict = judge(plan.service, life.bench)
    except Exception as failure:
        verdict = Verdict(failure=f"{type(failure).__name__}: {failure}")
    finally:
        platform.proxy.become(Network.FINE)
        life.close()
    return Run(
        plan.seed,
        plan.service,
        tuple(suffered),
        life.outputs.received,
        life.positions.samples,
        verdict.lost,
        verdict.doubled,
        verdict.failure,
        time.monotonic() - begun,
    )


def _suffer(life: Life, fault: Fault) -> Suffered:
    try:
        recovery = suffer(life, fault)
    except AssertionError as failure:
        return Suffered(fault.label, Status.NOT_RECOVERED, reason=f"{fault.label}: {failure}")
    return Suffered(fault.label, Status.RECOVERED, recovery.from_fault, recovery.from_repair, recovery.everywhere)
