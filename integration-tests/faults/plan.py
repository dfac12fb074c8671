"""The plan of a run, whose faults are determined by a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random

from faults.points import Action, Point


class Kind(Enum):
    """Faults that the harness injects."""

    POINT = "at a named point"
    DRIVER_KILL = "driver killed"
    JVM_KILL = "JVM killed"
    WORKER_KILL = "Python worker killed"
    SOURCE_KILL = "source process killed"
    TWO_WORKERS = "two workers of one group"
    SNAPSHOT_OLD = "all processes killed, snapshot older than the retention of deletes"
    REPARTITION_PURGED = "worker killed, repartition topic purged"
    MACHINE_KILL = "all processes killed"
    JVM_FREEZE = "JVM frozen"
    BROKER_RESTART = "broker stopped and started"
    BROKER_KILL = "broker killed and started"
    SNAPSHOT_DUE_AWAY = "a snapshot is due while the broker is away"
    REGISTRY_OUTAGE = "registry and job killed, registry back later"
    NETWORK_SLOW = "network slow"
    NETWORK_SILENT = "network silent"
    NETWORK_CUT = "network cut"
    DISK_FULL = "checkpoint's disk full"
    DISK_SLOW = "checkpoint's disk slow"
    ZOMBIE_SAME = "second driver, same checkpoint"
    ZOMBIE_COPY = "second driver, old copy of the checkpoint"
    ZOMBIE_FROZEN = "frozen driver wakes after its successor took over"
    ZOMBIE_JVM = "driver killed, its frozen JVM wakes later"
    CLOCK_FORWARD = "clock jumps forward"
    CLOCK_BACK = "clock jumps back"
    TRANSACTION_TIMEOUT = "transaction timed out"
    DISK_STALLED = "checkpoint's disk stalled"
    EXECUTOR_KILL = "executor and its workers killed"
    EXECUTOR_LEAVE = "executor left"
    EXECUTORS_ROLLED = "all executors left in turn"


ON_EXECUTORS = (Kind.EXECUTOR_KILL, Kind.EXECUTOR_LEAVE, Kind.EXECUTORS_ROLLED)
"""Faults of a job with several executors."""
CHOSEN = tuple(kind for kind in Kind if kind not in (Kind.DISK_STALLED, *ON_EXECUTORS))
"""Faults of runs with one executor if no kinds are specified. An additional kind would change the plans of seeds."""
CHOSEN_ON_EXECUTORS = (*CHOSEN, Kind.DISK_STALLED, *ON_EXECUTORS * 3)
"""Faults of runs with several executors if no kinds are specified. Faults of executors are more frequent."""


POINT_ACTIONS: dict[Point, tuple[Action, ...]] = {
    Point.PLANNING: (Action.KILL_SELF, Action.KILL_JVM, Action.KILL_ALL, Action.RAISE, Action.STALL),
    Point.BEFORE_COMMIT: tuple(Action),
    Point.AFTER_COMMIT: tuple(Action),
    Point.BEFORE_SNAPSHOT: tuple(Action),
    Point.AFTER_STATE: tuple(Action),
    Point.BEFORE_COMMIT_LOG: (Action.KILL_SELF, Action.KILL_JVM, Action.KILL_ALL, Action.RAISE, Action.STALL),
    Point.LEASE_CHANGE: tuple(Action),
}
"""The actions at each point. In the driver (planning, commit log), KILL_SELF is the same as KILL_DRIVER."""

TRANSACTION_TIMEOUT_MS = 5_000
CHECKPOINT_INTERVAL_MS = 4_000
"""Interval of snapshots, which is short so that some faults occur while one is being written."""

_WEIGHTS: dict[Kind, int] = {Kind.POINT: 16, Kind.WORKER_KILL: 2, Kind.REPARTITION_PURGED: 4}
_SECONDS: dict[Kind, tuple[float, float]] = {
    Kind.JVM_FREEZE: (0.5, 4.0),
    Kind.BROKER_RESTART: (0.0, 3.0),
    Kind.BROKER_KILL: (0.0, 3.0),
    Kind.SNAPSHOT_DUE_AWAY: (CHECKPOINT_INTERVAL_MS / 1000 + 1, CHECKPOINT_INTERVAL_MS / 1000 + 4),
    Kind.SNAPSHOT_OLD: (50_000.0, 90_000.0),
    Kind.REGISTRY_OUTAGE: (2.0, 8.0),
    Kind.NETWORK_SLOW: (1.0, 4.0),
    Kind.NETWORK_SILENT: (1.0, 6.0),
    Kind.NETWORK_CUT: (0.5, 6.0),
    Kind.DISK_FULL: (1.0, 4.0),
    Kind.DISK_SLOW: (2.0, 8.0),
    Kind.DISK_STALLED: (5.0, 25.0),
    Kind.CLOCK_FORWARD: (60.0, 90_000.0),
    Kind.CLOCK_BACK: (60.0, 90_000.0),
    Kind.TRANSACTION_TIMEOUT: (TRANSACTION_TIMEOUT_MS / 1000 + 2, TRANSACTION_TIMEOUT_MS / 1000 + 3),
}
_STALL = (0.2, 2.0)


@dataclass(frozen=True, slots=True)
class Fault:
    """A planned fault.

    Args:
        pause: Time (s) of undisturbed work before the fault.
        seconds: Duration of an outage, a freeze or a stall, or the distance by which a clock jumps.
        point, action: Point and action of a fault at a named point.
        calls: Number of the point's call at which the fault fires, from 1.
        where: Text that the transactional id must contain. "" for any id.
    """

    kind: Kind
    pause: float = 0.0
    seconds: float = 0.0
    point: Point | None = None
    action: Action | None = None
    calls: int = 1
    where: str = ""

    @property
    def label(self) -> str:
        """The name of the fault in the report."""
        if self.kind is not Kind.POINT or self.point is None or self.action is None:
            return self.kind.value
        return f"{self.point.value}: {self.action.value}"


ON_A_DISK = frozenset({Kind.DISK_FULL, Kind.DISK_SLOW, Kind.DISK_STALLED})
"""Faults that require a separate disk for the checkpoint."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run: a service's job from its first start, and its faults in order.

    Args:
        executors: Number of executors. If it is 1, the tasks run in the driver's JVM.
    """

    seed: int
    service: str
    faults: tuple[Fault, ...]
    executors: int = 1

    def has(self, *kinds: Kind) -> bool:
        """Return whether the run has a fault of any of these kinds."""
        return any(fault.kind in kinds for fault in self.faults)


_ONLY: dict[Kind, tuple[str, ...]] = {Kind.REPARTITION_PURGED: ("order-stores",)}
"""The services to which some kinds are limited, because they need repartition topics."""

SERVICES = (
    *("user-sessions",) * 3,
    *("windowed-metrics", "order-stores", "price-join") * 2,
    *("session-analytics", "device-alerts"),
)
"""Services, repeated by their share of the runs."""


def plan_of(
    seed: int, faults: int, services: Sequence[str] = SERVICES, kinds: Sequence[Kind] = (), executors: int = 1
) -> Plan:
    """Return the plan of a seed, which is always the same for the same arguments.

    Args:
        kinds: Kinds from which the faults are chosen. If empty, all that the number of executors allows.
    """
    kinds = kinds or (CHOSEN if executors == 1 else CHOSEN_ON_EXECUTORS)
    random = Random(seed)
    service = random.choice(services)
    kinds = [kind for kind in kinds if service in _ONLY.get(kind, (service,))]
    weights = [_WEIGHTS.get(kind, 1) for kind in kinds]
    chosen = random.choices(kinds, weights, k=faults)
    return Plan(seed, service, tuple(_fault(kind, random) for kind in chosen), executors)


def _fault(kind: Kind, random: Random) -> Fault:
    pause = random.uniform(0.0, 1.5)
    if kind is Kind.POINT:
        point = random.choice(list(Point))
        action = random.choice(POINT_ACTIONS[point])
        return Fault(kind, pause, random.uniform(*_STALL), point, action, random.randint(1, 6))
    if kind is Kind.TRANSACTION_TIMEOUT:
        at = {"point": Point.BEFORE_COMMIT, "action": Action.STALL, "calls": random.randint(1, 6)}
        return Fault(kind, pause, random.uniform(*_SECONDS[kind]), **at)  # type: ignore[arg-type]
    return Fault(kind, pause, random.uniform(*_SECONDS.get(kind, (0.0, 0.0))))
