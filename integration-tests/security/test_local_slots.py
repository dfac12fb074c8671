"""With several slots Spark's processes have a secret that no command line shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(300)

PROGRAM = """
import os, sys
import psutil
from forebay.runtime.session import SparkOptions, build_session

session = build_session("slots", 2, sys.argv[1], SparkOptions(slots=2, memory="512m"))
context = session.sparkContext
workers = set(context.parallelize(range(40), 8).map(lambda _: os.getppid()).collect())
secret = context.getConf().get("spark.authenticate.secret")
commands = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
shown = [command for command in commands if secret in command]
print(f"workers {len(workers)} secret {len(secret)} shown {len(shown)}")
session.stop()
"""


def test_tasks_run_and_the_secret_is_on_no_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert "workers 2 secret 64 shown 0" in done.stdout, done.stderr[-2000:]
