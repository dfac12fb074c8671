"""A stopped job never starts after `stop` has returned."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from forebay.live import keeper as keepers
from forebay.live.keeper import JobKeeper


class Gap(threading.Event):
    """A `JobKeeper._idle` that records whether the keeper's lock was held when a job was about to start."""

    def __init__(self, lock: threading.Condition) -> None:
        super().__init__()
        self.set()
        self._lock = lock
        self.was_locked: list[bool] = []

    def clear(self) -> None:
        self.was_locked.append(self._lock._is_owned())  # type: ignore[attr-defined]
        super().clear()


def test_a_change_between_the_end_of_a_job_and_the_pause_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = JobKeeper("shop", lambda _file, _port: [sys.executable, "-c", ""], tmp_path)
    first, second, has_changed = tmp_path / "1.sql", tmp_path / "2.sql", threading.Event()
    ran: list[Path] = []

    def run(file: Path) -> None:
        ran.append(file)
        if file is second:
            has_changed.set()

    def monotonic() -> float:
        # The keeper reads the clock before and after a run.
        if ran == [first] and keeper._wanted is first:
            keeper.want(second)
        return 0.0

    monkeypatch.setattr(keeper, "_run", run)
    monkeypatch.setattr(keepers, "_FIRST_PAUSE_S", 30.0)
    monkeypatch.setattr(keepers, "time", SimpleNamespace(monotonic=monotonic))
    keeper.want(first)
    keeper.start()
    assert has_changed.wait(10), "the change waits for the pause"
    keeper.close()


def test_stop_does_not_race_with_the_start_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = JobKeeper("shop", lambda _file, _port: [sys.executable, "-c", ""], tmp_path)
    gap = Gap(keeper._changed)
    monkeypatch.setattr(keeper, "_idle", gap)
    begins = threading.Event()
    monkeypatch.setattr(keeper, "_run", lambda _file: begins.set())
    keeper.start()
    keeper.want(tmp_path / "shop.sql")
    begins.wait()
    keeper.stop()
    assert gap.is_set()
    keeper.close()
    assert set(gap.was_locked) == {True}
