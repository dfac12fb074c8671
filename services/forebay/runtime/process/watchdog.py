"""Kills this process if it is stopped, or stuck in native code that holds the interpreter.

A worker that hangs delays Spark's batch, and with it the leases of all groups. It can't end itself, and no other
process of a job can watch it everywhere. Therefore the kernel does: a timer sends SIGKILL, which also reaches a stopped
process, unless a thread of this process sets the timer again in time.
"""

from __future__ import annotations

import ctypes
import logging
import signal
import sys
import threading
import time

log = logging.getLogger(__name__)

SILENT_SECONDS = 60.0
_BEATS = 10
"""How often the timer is set again within that time."""

_SIGEV_SIGNAL = 0


class _Event(ctypes.Structure):
    """`struct sigevent` of Linux."""

    _fields_ = [
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("rest", ctypes.c_byte * 48),
    ]


class _Setting(ctypes.Structure):
    """`struct itimerspec`: interval and time left, in seconds and nanoseconds."""

    _fields_ = [(name, ctypes.c_long) for name in ("every", "every_ns", "left", "left_ns")]


_STARTED = threading.Lock()


def die_when_silent(seconds: float = SILENT_SECONDS) -> None:
    """Let the kernel kill this process once its interpreter has not run for `seconds`. Only Linux supports this.

    Calls after the first change nothing.
    """
    if sys.platform != "linux" or not _STARTED.acquire(blocking=False):
        return
    try:
        library = ctypes.CDLL(None, use_errno=True)
        create, arm = library.timer_create, library.timer_settime
    except (OSError, AttributeError) as error:  # an older C library has them elsewhere
        log.warning("there is no watchdog, so a frozen worker will not be killed: %s", error)
        return
    # A kernel timer, not a thread: a thread of a stopped process does not run.
    timer = ctypes.c_void_p()
    event = _Event(None, signal.SIGKILL, _SIGEV_SIGNAL)
    if create(time.CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)):
        log.warning(
            "there is no watchdog, so a frozen worker will not be killed: timer_create failed with %d",
            ctypes.get_errno(),
        )
        return
    whole, part = divmod(seconds, 1)
    setting = _Setting(0, 0, int(whole), int(part * 1e9))

    def live() -> None:
        while True:
            time.sleep(seconds / _BEATS)
            arm(timer, 0, ctypes.byref(setting), None)

    # Before the thread starts, so that a process that freezes right now is killed, too.
    arm(timer, 0, ctypes.byref(setting), None)
    threading.Thread(target=live, name="watchdog", daemon=True).start()
