"""`forebay wait` ends at once when its pod is deleted, rather than after the pod's termination grace period."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

ADDRESSES = ("--bootstrap-servers", "127.0.0.1:9", "--schema-registry-url", "http://127.0.0.1:9")


@pytest.mark.long
def test_sigterm_interrupts_it() -> None:
    command = [sys.executable, "-m", "forebay.cli.main", "wait", *ADDRESSES]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as waiting:
        assert waiting.stderr is not None
        assert "nothing listens on 127.0.0.1:9" in next(line for line in waiting.stderr if "WARNING" in line)
        waiting.send_signal(signal.SIGTERM)
        assert waiting.wait(30) == 130
