"""A job that is stopped does not begin after `stop` has returned."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from forebay.live.keeper import JobKeeper


class Gap(threading.Event):
    """Notes whether the keeper's lock was held when a job was about to begin (a `JobKeeper._idle`)."""

    def __init__(self, lock: threading.Condition) -> None:
        super().__init__()
        self.set()
        self._lock = lock
        self.was_locked: list[bool] = []

    def clear(self) -> None:
        self.was_locked.append(self._lock._is_owned())  # type: ignore[attr-defined]
        super().clear()


def test_stop_can_t_come_between_the_choice_of_a_job_and_its_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
