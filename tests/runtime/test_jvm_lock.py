"""The JVM of a killed driver may survive it, so the next driver waits for its end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from forebay.runtime.driver.jvmlock import LOCK, held_by_jvm
from forebay.runtime.errors import StopJob


class Jvm:
    """A JVM that gets the lock after `attempts` failed attempts."""

    def __init__(self, attempts: int) -> None:
        self.attempts, self.opened, self.closed = attempts, "", False
        self.java = SimpleNamespace(io=SimpleNamespace(RandomAccessFile=self._open))

    def _open(self, path: str, mode: str) -> SimpleNamespace:
        assert mode == "rw"
        self.opened = path
        return SimpleNamespace(getChannel=lambda: SimpleNamespace(tryLock=self._try, close=self._close))

    def _try(self) -> object:
        self.attempts -= 1
        return None if self.attempts >= 0 else object()

    def _close(self) -> None:
        self.closed = True


def test_a_free_checkpoint_is_held_until_the_end(tmp_path: Path) -> None:
    jvm = Jvm(0)
    with held_by_jvm(jvm, str(tmp_path), lambda _: pytest.fail("nothing to wait for")):
        assert jvm.opened == str(tmp_path / LOCK)
        assert not jvm.closed
    assert jvm.closed


def test_waiting_for_the_earlier_jvm_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pauses: list[float] = []
    with held_by_jvm(Jvm(3), str(tmp_path), pauses.append):
        assert len(pauses) == 3
    assert len(caplog.records) == 1
    assert "waiting until it ends" in caplog.text


def test_a_lease_that_does_not_end_stops_the_job(tmp_path: Path) -> None:
    jvm = Jvm(1 << 40)
    with (
        pytest.raises(StopJob, match="end that java process"),
        held_by_jvm(jvm, str(tmp_path), lambda _: None, seconds=0.01),
    ):
        pass
    assert jvm.closed


def test_a_checkpoint_with_a_url_is_not_locked() -> None:
    jvm = Jvm(0)
    with held_by_jvm(jvm, "s3a://bucket/cp", lambda _: None):
        assert not jvm.opened
