"""The watchdog kills a process that shows no sign of life, and never a process that works."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

SECONDS = 1.0
BEGIN = f"from forebay.runtime.process.watchdog import die_when_silent\ndie_when_silent({SECONDS})\n"

FROZEN = {
    "stopped": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "stuck in native code": "import ctypes\nctypes.PyDLL(None).sleep(60)",
    "stopped while it works": (
        "import os, signal, threading\n"
        "threading.Thread(target=lambda: sum(range(10**12)), daemon=True).start()\n"
        "os.kill(os.getpid(), signal.SIGSTOP)"
    ),
}
ALIVE = {
    "waiting": f"import time\ntime.sleep({3 * SECONDS})",
    "waiting in native code that lets others run": "import ctypes\nctypes.CDLL(None).sleep(3)",
    "busy": f"import time\nend = time.monotonic() + {3 * SECONDS}\nwhile time.monotonic() < end:\n    sum(range(1000))",
}


def exit_code(code: str) -> int:
    return subprocess.run([sys.executable, "-c", BEGIN + code], timeout=50, check=False).returncode


@pytest.mark.long
@pytest.mark.parametrize("how", FROZEN)
def test_a_frozen_process_is_killed(how: str) -> None:
    assert exit_code(FROZEN[how]) == -signal.SIGKILL


@pytest.mark.long
@pytest.mark.parametrize("how", ALIVE)
def test_a_live_process_is_not_killed(how: str) -> None:
    assert exit_code(ALIVE[how]) == 0
