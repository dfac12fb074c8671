"""Restart of a process whose certificates change, because clients read them only when they are created."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click

VARIABLE = "FOREBAY_WATCH"
"""The variable with a folder. If its files change, the process ends as at SIGTERM, and its container restarts.

Only commands that run until they are stopped watch it. If a command that ends by itself were stopped, a Job would be
complete with a part of its work, and a command that a user runs with `kubectl exec` would be cut off.
"""

_EVERY_S = 10.0
_SPREAD_S = 120.0


def watch_given_folder() -> None:
    """Watch the folder that the environment names, if any. Child processes do not: they end with this one.

    Call it before the process reads the files, in a command that runs until it is stopped.
    """
    folder = os.environ.pop(VARIABLE, "")
    if folder:
        arguments = (Path(folder), lambda: os.kill(os.getpid(), signal.SIGTERM))
        threading.Thread(target=watch, args=arguments, name="watched files", daemon=True).start()


def watch(folder: Path, end: Callable[[], None], pause: Callable[[float], object] = time.sleep) -> None:
    """Call `end` once after the files of a folder have changed.

    Wait up to two minutes first, so that the processes of a job end at different times. The old certificates are valid
    for longer than that.

    Args:
        pause: waits for a number of seconds.
    """
    before = digest(folder)
    while digest(folder) in (before, ""):
        pause(_EVERY_S)
    delay = random.uniform(0, _SPREAD_S)
    click.echo(f"the files in {folder} have changed: restarting in {delay:.0f} s, to read them", err=True)
    pause(delay)
    end()


def digest(folder: Path) -> str:
    """Return a digest of the files' names and contents; "" if they can't be read or there are none."""
    total = hashlib.sha256()
    files = sorted(file for file in folder.glob("*") if file.is_file())
    with suppress(OSError):
        for file in files:
            total.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
        return total.hexdigest() if files else ""
    return ""
