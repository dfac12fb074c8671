"""Named fault points in a job's processes. The harness arms a fault, and the first process at the point fires it once.

Every Python process of a job under test imports this module, so that it uses only the standard library.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

VARIABLE = "FOREBAY_FAULTS"
"""Environment variable that names the armory's directory."""


class Point(Enum):
    """The points of a job at which a fault can fire."""

    PLANNING = "planning"
    BEFORE_COMMIT = "before-kafka-commit"
    AFTER_COMMIT = "after-kafka-commit"
    BEFORE_SNAPSHOT = "before-snapshot"
    AFTER_STATE = "after-state-write"
    BEFORE_COMMIT_LOG = "before-spark-commit-log"
    LEASE_CHANGE = "change-of-leases"


class Action(Enum):
    """The action of a fault, which affects the driver, Python worker or data source that reaches the point."""

    KILL_SELF = "kill-self"
    KILL_JVM = "kill-jvm"
    KILL_DRIVER = "kill-driver"
    KILL_ALL = "kill-all"
    RAISE = "raise"
    STALL = "stall"


@dataclass(frozen=True, slots=True)
class Armed:
    """An armed fault.

    Args:
        where: Text that the place's name must contain (a transactional id such as `app-group-0`). "" for any place.
        seconds: Duration of a stall.
    """

    point: Point
    action: Action
    where: str = ""
    seconds: float = 0.0


class Armory:
    """A directory with at most one armed fault, shared by the harness and all processes of a job.

    A fault that is armed for the k-th call has k tokens. Each call claims a token by renaming it, which only one
    process can do. The call that claims the last token fires the fault.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._armed = directory / "armed.json"
        self._tokens = directory / "tokens"
        self._fired = directory / "fired.json"
        self._clock = directory / "clock"
        self._hurry = directory / "hurry"

    def arm(self, fault: Armed, calls: int = 1) -> None:
        """Arm a fault for the `calls`-th call from now on."""
        self.disarm()
        self._fired.unlink(missing_ok=True)
        self._tokens.mkdir(parents=True, exist_ok=True)
        for number in range(calls):
            (self._tokens / str(number)).touch()
        fields = {**asdict(fault), "point": fault.point.value, "action": fault.action.value}
        draft = self._armed.with_suffix(".tmp")
        draft.write_text(json.dumps(fields))
        draft.replace(self._armed)

    def disarm(self) -> None:
        """Disarm a fault that has not fired."""
        self._armed.unlink(missing_ok=True)
        for token in self._tokens.glob("*"):
            token.unlink(missing_ok=True)

    def fired_at(self) -> float | None:
        """Return the wall-clock time (s) at which the fault fired, or None if it has not fired."""
        try:
            return float(json.loads(self._fired.read_text())["at"])
        except (OSError, ValueError):
            return None

    def take(self, point: Point, place: str) -> Armed | None:
        """Return the fault that fires at this call, or None. The job's processes call this."""
        try:
            fields = json.loads(self._armed.read_text())
        except (OSError, ValueError):
            return None
        if fields["point"] != point.value or fields["where"] not in place:
            return None
        tokens = sorted(path.name for path in self._tokens.glob("*") if path.name.isdecimal())
        for name in tokens:
            try:
                (self._tokens / name).rename(self._tokens / f"{name}.{os.getpid()}")
            except OSError:
                continue
            if any(path.name.isdecimal() for path in self._tokens.glob("*")):
                return None
            return self._fire(fields, place)
        return None

    def _fire(self, fields: dict[str, object], place: str) -> Armed | None:
        try:
            self._armed.unlink()
        except FileNotFoundError:
            return None
        draft = self._fired.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({"at": time.time(), "pid": os.getpid(), "place": place}))
        draft.replace(self._fired)
        return Armed(
            Point(fields["point"]), Action(fields["action"]), str(fields["where"]), float(str(fields["seconds"]))
        )

    def hurry(self) -> None:
        """Make `linger` return at once from now on, so that commits are as frequent as possible."""
        self._hurry.touch()

    def linger(self, seconds: float) -> None:
        """Wait some seconds, unless `hurry` was called. The job's processes call this."""
        if not self._hurry.exists():
            time.sleep(seconds)

    def jump(self, milliseconds: int) -> None:
        """Set the shift of the clock for the driver, the data source and the workers."""
        draft = self._clock.with_suffix(".tmp")
        draft.write_text(str(milliseconds))
        draft.replace(self._clock)

    def shift(self) -> int:
        """Return the shift of the clock in ms."""
        try:
            return int(self._clock.read_text())
        except (OSError, ValueError):
            return 0
