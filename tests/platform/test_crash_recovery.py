from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from forebay.platform import PlatformError
from forebay.platform.crash_recovery import crashed, fence_crashed_broker

MakeJava = Callable[[str], Path]

FENCES = "print('Fencing broker 1 because its session has timed out.', flush=True); signal.pause()"


def test_a_data_directory_tells_whether_it_was_closed(tmp_path: Path) -> None:
    assert not crashed(tmp_path)
    (tmp_path / "__cluster_metadata-0").mkdir()
    assert crashed(tmp_path)
    (tmp_path / ".kafka_cleanshutdown").write_text("", encoding="utf-8")
    assert not crashed(tmp_path)


def test_the_controller_runs_alone_until_it_has_fenced_the_broker(fake_java: MakeJava, tmp_path: Path) -> None:
    log = tmp_path / "recovery.log"
    log.write_text("because its session has timed out: that was the last time", encoding="utf-8")
    fence_crashed_broker(fake_java(FENCES), ["kafka.Kafka"], log)
    assert log.read_text(encoding="utf-8").startswith("Fencing broker 1")


def test_a_controller_that_dies_is_reported_with_its_last_words(fake_java: MakeJava, tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match="can't be recovered after its crash") as failed:
        fence_crashed_broker(fake_java("print('no quorum')"), ["kafka.Kafka"], tmp_path / "recovery.log")
    assert "no quorum" in failed.value.log_tail


def test_a_broker_that_was_fenced_before_is_waited_for_no_longer(
    fake_java: MakeJava, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forebay.platform.crash_recovery._ALONE_SECONDS", 0.1)
    fence_crashed_broker(fake_java("signal.pause()"), ["kafka.Kafka"], tmp_path / "recovery.log")
