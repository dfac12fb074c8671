"""Workers that survive the executor that started them, while the job's driver or the executor's pod is replaced.

An executor's JVM ends with its driver, and when its pod is terminated. By default, Spark's Python workers end with it.
The pod itself stays at least for its grace period, and the workers may stay with it: their loops continue to commit
until the workers with the next leases fence them, or until the grace period of the loops is over. The successor reads a
loop's commits since its last snapshot from the changelogs, as after any loss.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, MutableMapping
from contextlib import suppress

import psutil

from forebay.runtime.process.memory import memory_bytes

log = logging.getLogger(__name__)

_VARIABLE = "FOREBAY_WORKERS_SURVIVE"
_LOOK_SECONDS = 0.2
LEAVE = signal.SIGUSR1
"""The signal by which a worker asks its executor's supervisor to leave the driver (`leave_driver`)."""


class _Survival:
    """Whether this process may survive its executor.

    Attributes:
        prepared: whether the process waits for its loops before it ends.
        room: whether the pod had memory for a second copy of each worker at the last lease.
    """

    prepared = False
    room = False


def allow_survivors(environment: MutableMapping[str, str]) -> None:
    """Let the workers of an executor survive it. This process, which starts the executor, waits for them.

    Their log lines then go to the log of this process, because an executor that has ended forwards nothing.
    """
    environment[_VARIABLE] = str(os.getpid())


def is_supervised() -> bool:
    """Return whether this worker's executor has a supervisor, as in a pod, and may have other code than the driver."""
    return _VARIABLE in os.environ


def leave_driver(why: Exception) -> None:
    """Let this worker's executor leave its driver, whose leases it can't hold. Does nothing without a supervisor."""
    with suppress(KeyError, ProcessLookupError):
        os.kill(int(os.environ[_VARIABLE]), LEAVE)
        log.warning("%s", why)  # Spark retries the task on other executors, and the driver learns only if all fail.


def surviving_workers() -> list[psutil.Process]:
    """Return the running workers of executors that have ended, which a container's first process inherits."""
    return [process for process in psutil.Process().children() if not _is_over(process)]


def _is_over(process: psutil.Process) -> bool:
    """Return whether a child has ended; if so, collect its exit code."""
    try:
        process.wait(0)
    except psutil.TimeoutExpired:
        return False
    return True


def survives_executor() -> bool:
    """Return whether this Spark worker continues when its executor ends."""
    return _Survival.prepared and _Survival.room


def survive_executor(is_working: Callable[[], bool]) -> None:
    """Let this worker of Spark, if that is allowed, end only when no loop works in it any more.

    Args:
        is_working: returns whether a loop still works; called five times a second.
    """
    if not is_supervised():
        return
    _Survival.room = _has_room()
    if _Survival.prepared:
        return
    _Survival.prepared = True
    if os.getpgrp() != os.getpid():
        # Spark's daemon ends with a SIGHUP to its process group, in which its workers are.
        os.setpgid(0, 0)
    leave = os._exit

    def leave_later(code: int) -> None:
        if _Survival.room and is_working():
            _log_where(os.environ[_VARIABLE])
            log.info("the executor has ended: the loops of this worker continue until other workers take over")
            while is_working():
                time.sleep(_LOOK_SECONDS)
            log.info("the loops of this worker have ended")
        leave(code)

    # The daemon's child always ends by this call, regardless of how its executor ended.
    os._exit = leave_later  # type: ignore[assignment]


def _log_where(keeper: str) -> None:
    """Redirect this process's stderr to that of another process, if the system allows it."""
    with suppress(OSError):
        # The pipe to the executor has no reader any more, so log lines would be lost.
        there = os.open(f"/proc/{keeper}/fd/2", os.O_WRONLY | os.O_APPEND)
        os.dup2(there, 2)
        os.close(there)


def _has_room() -> bool:
    """Return whether the pod has memory for a second copy of each of the executor's workers."""
    own = psutil.Process()
    parent = own.parent()
    workers = 1 if parent is None else len(parent.children())
    taken = sum(map(_share, psutil.process_iter()))
    # The workers with the next leases run at the same time as these until they have taken over. Without the memory for
    # both, the kernel would kill one of them.
    return taken + workers * _share(own) <= memory_bytes()


def _share(process: psutil.Process) -> int:
    """Return the memory (bytes) of a process, including its share of pages that several processes use."""
    try:
        # Proportional: workers are forked from one daemon and share most of their pages.
        return int(process.memory_full_info().pss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
