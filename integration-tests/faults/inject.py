"""Injection of each kind of fault into a running job."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from faults import zombies
from faults.life import Life
from faults.plan import ON_EXECUTORS, Fault, Kind
from faults.points import Armed, Point
from faults.proxy import Network

FIRING_SECONDS = 900.0
SLOW_WRITES_PER_SECOND = 40
_CHANGES = (Point.PLANNING, Point.BEFORE_COMMIT_LOG, Point.LEASE_CHANGE)
"""Points that a job reaches only when its leases change, which the harness must cause."""
ZOMBIES = (Kind.TWO_WORKERS, Kind.ZOMBIE_SAME, Kind.ZOMBIE_COPY, Kind.ZOMBIE_FROZEN, Kind.ZOMBIE_JVM)


@dataclass(frozen=True, slots=True)
class Injected:
    """The times (monotonic, s) at which a fault began and was repaired. They are equal for a kill."""

    at: float
    repaired: float


@dataclass(frozen=True, slots=True)
class Recovery:
    """The time (s) for which a job had no outputs.

    Args:
        from_fault: Time from the fault to the next committed output. If the fault is a second driver or concerns
            executors, the longest time without an output.
        from_repair: Time from the end of the outage to the next committed output.
        everywhere: Time from the fault until every output partition had another output.
    """

    from_fault: float
    from_repair: float
    everywhere: float


def suffer(life: Life, fault: Fault) -> Recovery:
    """Inject a fault and wait until an output of a later transaction arrives. Raises NotRecovered."""
    life.until_commits(1)
    life.rest(fault.pause)
    ends = None
    if fault.kind in _LASTING:
        began = time.monotonic()
        _LASTING[fault.kind](life)
        ends = life.outputs.ends()
        life.rest(fault.seconds)
        _REPAIRS[fault.kind](life)
        injected = Injected(began, time.monotonic())
    elif fault.point is not None:
        injected = _at_point(life, fault)
    else:
        injected = _at_once(life, fault)
    after = ends if ends is not None else life.outputs.ends()
    life.until(lambda: life.outputs.everywhere_beyond(after) is not None, f"outputs after: {fault.label}")
    first, everywhere = life.outputs.beyond(after), life.outputs.everywhere_beyond(after)
    assert first is not None
    assert everywhere is not None
    if fault.kind in (*ZOMBIES, *ON_EXECUTORS):
        silence = life.outputs.longest_silence(injected.at)
        return Recovery(silence, silence, silence)
    return Recovery(first - injected.at, max(0.0, first - injected.repaired), everywhere - injected.at)


def _at_point(life: Life, fault: Fault) -> Injected:
    assert fault.point is not None
    assert fault.action is not None
    life.armory.arm(Armed(fault.point, fault.action, fault.where, fault.seconds), fault.calls)

    def has_fired() -> bool:
        if fault.point in _CHANGES:
            life.change_leases()
        return life.armory.fired_at() is not None

    life.until(has_fired, f"reached: {fault.label}", FIRING_SECONDS)
    fired = life.armory.fired_at()
    assert fired is not None
    at = time.monotonic() - (time.time() - fired)
    return Injected(at, at)


def _at_once(life: Life, fault: Fault) -> Injected:
    at = time.monotonic()
    match fault.kind:
        case Kind.CLOCK_FORWARD:
            life.armory.jump(life.armory.shift() + int(fault.seconds * 1000))
        case Kind.CLOCK_BACK:
            life.armory.jump(life.armory.shift() - int(fault.seconds * 1000))
        case Kind.SNAPSHOT_OLD:
            life.armory.jump(life.armory.shift() + int(fault.seconds * 1000))
            at = _kill(life, Kind.MACHINE_KILL)
        case Kind.REPARTITION_PURGED:
            at = _kill(life, Kind.WORKER_KILL)
            life.purge()
        case Kind.TWO_WORKERS:
            at = zombies.second_worker(life)
        case Kind.ZOMBIE_SAME:
            at = zombies.on_the_same_checkpoint(life)
        case Kind.ZOMBIE_COPY:
            at = zombies.on_an_old_copy(life)
        case Kind.ZOMBIE_FROZEN:
            at = zombies.woken_after_its_successor(life)
        case Kind.ZOMBIE_JVM:
            at = zombies.jvm_outlives_its_driver(life)
        case Kind.EXECUTOR_KILL | Kind.EXECUTOR_LEAVE | Kind.EXECUTORS_ROLLED:
            at = _end_executors(life, fault.kind)
        case _:
            at = _kill(life, fault.kind)
    return Injected(at, at)


def _end_executors(life: Life, kind: Kind) -> float:
    """Kill one executor, or decommission one or all. Return the time of the fault. Raises NotRecovered."""
    job = life.executor_job()
    at = time.monotonic()
    first, *others = job.executors()
    if kind is Kind.EXECUTOR_KILL:
        job.kill_executor(first)
        return at
    for executor in [first, *(others if kind is Kind.EXECUTORS_ROLLED else ())]:
        job.decommission(executor, life.change_leases)
    return at


def _kill(life: Life, kind: Kind) -> float:
    """Kill processes of the job once they exist. Return the time of the fault. Raises NotRecovered."""
    victims: list[psutil.Process] = []

    def has_victims() -> bool:
        victims[:] = _victims(life, kind)
        return bool(victims)

    life.until(has_victims, f"there is something to kill: {kind.value}")
    at = time.monotonic()
    for victim in victims:
        with suppress(psutil.NoSuchProcess):
            victim.kill()
    psutil.wait_procs(victims, 30)
    return at


def _victims(life: Life, kind: Kind) -> list[psutil.Process]:
    job = life.job
    with suppress(psutil.NoSuchProcess, ValueError):
        match kind:
            case Kind.DRIVER_KILL:
                return [job.process]
            case Kind.JVM_KILL:
                return [job.jvm()]
            case Kind.WORKER_KILL:
                return job.workers()[:1]
            case Kind.SOURCE_KILL:
                return job.sources()[:1]
            case Kind.MACHINE_KILL:
                return [job.process, *job.process.children(recursive=True)]
            case _:
                raise AssertionError(f"{kind} kills nothing")
    return []


def _registry_away(life: Life) -> None:
    life.platform.registry.kill()
    life.job.kill()


def _suspend(life: Life) -> None:
    with suppress(psutil.NoSuchProcess, ValueError):
        life.job.jvm().suspend()


def _resume(life: Life) -> None:
    with suppress(psutil.NoSuchProcess, ValueError):
        life.job.jvm().resume()


def _network(mode: Network) -> Callable[[Life], None]:
    return lambda life: life.platform.proxy.become(mode)


def _fill(life: Life) -> None:
    assert life.disk is not None
    life.disk.fill()


def _free(life: Life) -> None:
    assert life.disk is not None
    life.disk.free()


def _slow(life: Life) -> None:
    assert life.disk is not None
    life.disk.slow(SLOW_WRITES_PER_SECOND)


def _fast(life: Life) -> None:
    assert life.disk is not None
    life.disk.slow(0)


def _stall(life: Life) -> None:
    assert life.disk is not None
    life.disk.stall()


def _thaw(life: Life) -> None:
    assert life.disk is not None
    life.disk.thaw()


_LASTING: dict[Kind, Callable[[Life], None]] = {
    Kind.JVM_FREEZE: _suspend,
    Kind.BROKER_RESTART: lambda life: life.platform.broker.stop(),
    Kind.BROKER_KILL: lambda life: life.platform.broker.kill(),
    Kind.SNAPSHOT_DUE_AWAY: lambda life: life.platform.broker.kill(),
    Kind.REGISTRY_OUTAGE: _registry_away,
    Kind.NETWORK_SLOW: _network(Network.SLOW),
    Kind.NETWORK_SILENT: _network(Network.SILENT),
    Kind.NETWORK_CUT: _network(Network.CUT),
    Kind.DISK_FULL: _fill,
    Kind.DISK_SLOW: _slow,
    Kind.DISK_STALLED: _stall,
}

_REPAIRS: dict[Kind, Callable[[Life], None]] = {
    Kind.JVM_FREEZE: _resume,
    Kind.BROKER_RESTART: lambda life: life.platform.broker.start(),
    Kind.BROKER_KILL: lambda life: life.platform.broker.start(),
    Kind.SNAPSHOT_DUE_AWAY: lambda life: life.platform.broker.start(),
    Kind.REGISTRY_OUTAGE: lambda life: life.platform.registry.start(),
    Kind.NETWORK_SLOW: _network(Network.FINE),
    Kind.NETWORK_SILENT: _network(Network.FINE),
    Kind.NETWORK_CUT: _network(Network.FINE),
    Kind.DISK_FULL: _free,
    Kind.DISK_SLOW: _fast,
    Kind.DISK_STALLED: _thaw,
}
