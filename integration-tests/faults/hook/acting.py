"""The actions that a fault takes in the process in which it fires."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from faults.points import Action, Armed

if TYPE_CHECKING:
    import psutil


class InjectedFault(RuntimeError):
    """An injected failure, in place of any unexpected failure."""


def act(fault: Armed) -> None:
    """Execute the action of the fault on this process, its JVM or its driver."""
    match fault.action:
        case Action.STALL:
            time.sleep(fault.seconds)
        case Action.RAISE:
            raise InjectedFault(f"injected at {fault.point.value}")
        case Action.KILL_SELF:
            os.kill(os.getpid(), signal.SIGKILL)
        case Action.KILL_JVM:
            os.kill(_jvm().pid, signal.SIGKILL)
        case Action.KILL_DRIVER:
            os.kill(_driver().pid, signal.SIGKILL)
        case Action.KILL_ALL:
            _kill_all()


def _kill_all() -> None:
    driver = _driver()
    for process in [driver, *driver.children(recursive=True)]:
        if process.pid != os.getpid():
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _is_driver() -> bool:
    return _runs(sys.argv)


def _own() -> psutil.Process:
    process: psutil.Process = importlib.import_module("psutil").Process()
    return process


def _jvm() -> psutil.Process:
    return next(process for process in _driver().children() if "java" in process.name())


def _driver() -> psutil.Process:
    """Return the driver, which is this process or the nearest parent that runs `forebay run`."""
    own = _own()
    return own if _is_driver() else next(process for process in own.parents() if _runs(process.cmdline()))


def _runs(command: list[str]) -> bool:
    return "run" in command and any(os.path.basename(part) == "main.py" for part in command)  # noqa: PTH119
