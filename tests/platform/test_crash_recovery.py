from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from forebay.platform import PlatformError
from forebay.platform.crash_recovery import fence_crashed_broker, has_crashed
from forebay.platform.metadata_log import end_offset, snapshot_offset

MakeJava = Callable[[str], Path]

FENCES = """
import pathlib, time
print('Becoming the active controller at epoch 7', flush=True)
print('Fencing broker 1 because its session has timed out.', flush=True)
print('Replayed BrokerRegistrationChangeRecord fenced=1', flush=True)
metadata = pathlib.Path(sys.argv[-1]) / '__cluster_metadata-0'
(metadata / f'{6:020}-0000000001.checkpoint').write_text('too early')
time.sleep(0.3)
(metadata / f'{8:020}-0000000001.checkpoint').write_text('covers it')
signal.pause()
"""


def batch(base: int, records: int) -> bytes:
    """Return a record batch with its length and offsets, but without the rest of its header and its records."""
    rest = struct.pack(">iBiHi", 1, 2, 0, 0, records - 1) + b"\0" * 40
    return struct.pack(">qi", base, len(rest)) + rest


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a data directory whose metadata log ends at offset 8."""
    log = tmp_path / "__cluster_metadata-0"
    log.mkdir()
    (log / f"{0:020}.log").write_bytes(batch(0, 5) + batch(5, 2))
    (log / f"{7:020}.log").write_bytes(batch(7, 1) + batch(8, 1)[:-3])
    return tmp_path


def test_the_metadata_log_ends_after_its_last_whole_batch(data: Path) -> None:
    assert end_offset(data) == 8


def test_an_empty_metadata_log_ends_at_its_segment(tmp_path: Path) -> None:
    (tmp_path / "__cluster_metadata-0").mkdir()
    assert (end_offset(tmp_path), snapshot_offset(tmp_path)) == (0, 0)
    (tmp_path / "__cluster_metadata-0" / f"{12:020}.log").touch()
    assert end_offset(tmp_path) == 12


def test_a_data_directory_shows_whether_it_was_closed(tmp_path: Path) -> None:
    assert not has_crashed(tmp_path)
    (tmp_path / "__cluster_metadata-0").mkdir()
    assert has_crashed(tmp_path)
    (tmp_path / ".kafka_cleanshutdown").write_text("", encoding="utf-8")
    assert not has_crashed(tmp_path)


def test_the_controller_runs_alone_until_a_snapshot_shows_the_broker_as_fenced(fake_java: MakeJava, data: Path) -> None:
    log = data / "recovery.log"
    log.write_text("because its session has timed out: that was the last time", encoding="utf-8")
    fence_crashed_broker(fake_java(FENCES), ["kafka.Kafka", str(data)], log, data)
    assert log.read_text(encoding="utf-8").startswith("Becoming the active")
    assert snapshot_offset(data) == 8


def test_a_controller_that_dies_is_reported_with_the_end_of_its_log(fake_java: MakeJava, data: Path) -> None:
    with pytest.raises(PlatformError, match="what the broker's last process left can't be recovered") as failed:
        fence_crashed_broker(fake_java("print('no quorum')"), ["kafka.Kafka"], data / "recovery.log", data)
    assert "no quorum" in failed.value.log_tail


def test_the_wait_for_a_broker_that_was_fenced_before_is_bounded(
    fake_java: MakeJava, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forebay.platform.crash_recovery._FENCE_SECONDS", 0.1)
    active = "print('Becoming the active controller', flush=True); signal.pause()"
    fence_crashed_broker(fake_java(active), ["kafka.Kafka"], data / "recovery.log", data)
