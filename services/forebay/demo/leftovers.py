"""Ensures that only one demo per home runs, and ends the processes of a killed demo."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from forebay.demo.children import end_session
from forebay.demo.errors import DemoError

_GRACE_S = 60.0
_SAME_MOMENT_S = 1.0


class Ledger:
    """The file of the demo's child processes, by which the next demo finds them if this one is killed."""

    def __init__(self, home: Path) -> None:
        self._path = home / "demo.json"
        self._entries: list[dict[str, float]] = []

    def add(self, pid: int) -> None:
        """Record a child that was just started."""
        self._entries.append({"pid": pid, "started": psutil.Process(pid).create_time()})
        self._path.write_text(json.dumps(self._entries), encoding="utf-8")

    def clear(self) -> None:
        """Record that no child is left."""
        self._path.unlink(missing_ok=True)

    def end_leftovers(self, say: Callable[[str], None]) -> None:
        """End the children of an earlier demo that was killed."""
        for process in reversed(self._alive()):
            say(f"an earlier demo left process {process.pid} running: stopping it")
            process.terminate()
            psutil.wait_procs([process], _GRACE_S)
            end_session(process.pid, 0.0)
        self.clear()

    def _alive(self) -> list[psutil.Process]:
        try:
            entries = json.loads(self._path.read_text(encoding="utf-8"))
            return [process for entry in entries if (process := _find(int(entry["pid"]), float(entry["started"])))]
        except (OSError, ValueError, TypeError, KeyError):
            return []


@contextmanager
def only_demo(home: Path) -> Iterator[Ledger]:
    """Lock `home` against other demos while the block runs. Raises DemoError if another demo has locked it."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "demo.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DemoError(f"another demo runs in {home}: end it first, or give this one another --home.") from error
        yield Ledger(home)


def _find(pid: int, started: float) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        return process if abs(process.create_time() - started) < _SAME_MOMENT_S else None
    except psutil.Error:
        return None
