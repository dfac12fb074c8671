"""Spark's JVM ignores a SIGTERM that is sent to all of the driver's processes, so that the driver can shut it down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from forebay.runtime.launch.jvm import _Apart

_PRINTS = """
import os, signal
ignored = [signal.getsignal(number) is signal.SIG_IGN for number in (signal.SIGTERM, signal.SIGINT)]
print(os.getpgid(0) == os.getpid(), *ignored)
"""


def test_the_jvm_has_a_separate_process_group_and_ignores_the_expected_signals() -> None:
    how = _Apart(process_group=0)
    how["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    how["stdout"] = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", _PRINTS], text=True, **how) as child:
        output, _ = child.communicate(timeout=60)
    assert output.split() == ["True"] * 3
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN
    assert os.getpgid(0) != child.pid
