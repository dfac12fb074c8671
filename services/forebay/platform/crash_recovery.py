"""Makes the controller detect a crash before the broker restarts.

A restarted KRaft broker whose old session has not expired leads its partitions for a moment, loads its
transactions, and loses the leadership when the old session expires. Commit markers that fall into that gap
are dropped as "likely deleted already": the transaction counts as complete, and readers of committed records
stop before it for ever (seen with Kafka 4.3.0 in half of the kills right after a commit). So after a crash the
controller first runs alone, until it has fenced the crashed broker and a snapshot of its metadata contains that.
Without the snapshot, a broker that reads the log batch by batch would act on the old leaderships in it (seen with
many partitions and little CPU).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from forebay.platform import process
from forebay.platform.errors import PlatformError
from forebay.platform.metadata_log import end_offset, metadata_log, snapshot_offset
from forebay.platform.state import ProcessRecord

_ACTIVE = "Becoming the active controller"
_FENCED = "because its session has timed out"
_REPLAYED = "Replayed BrokerRegistrationChangeRecord"
_START_SECONDS = 120.0
_FENCE_SECONDS = 20.0
_SNAPSHOT_SECONDS = 60.0
_STOP_SECONDS = 30.0
_POLL_SECONDS = 0.05


def has_crashed(data: Path) -> bool:
    """Return whether the last broker with this data directory ended without closing it."""
    return metadata_log(data).is_dir() and not (data / ".kafka_cleanshutdown").exists()


def fence_crashed_broker(java: Path, command: Sequence[str], log: Path, data: Path) -> None:
    """Run the controller alone (`command`) until a snapshot records that the crashed broker is fenced.

    Args:
        command: java's arguments, with a short session timeout and a snapshot after every record (recovery_properties).
        data: the broker's data directory.

    A broker that was fenced before its crash is not fenced again. Then this returns 20 s after the controller's
    start.

    Raises:
        PlatformError: the controller doesn't start. The error contains the log's last lines.
    """
    log.unlink(missing_ok=True)
    controller = process.spawn(java, command, log, "controller")
    try:
        _until(lambda: _ACTIVE in _text(log), controller, log, _START_SECONDS)
        if _until(lambda: _has_fenced(log), controller, log, _FENCE_SECONDS):
            fenced_at = end_offset(data)
            _until(lambda: snapshot_offset(data) >= fenced_at, controller, log, _SNAPSHOT_SECONDS)
        process.terminate(controller, _STOP_SECONDS)
    finally:
        process.kill(controller)


def _until(check: Callable[[], bool], controller: ProcessRecord, log: Path, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            return False
        if process.find(controller) is None:
            raise PlatformError(
                f"what the broker's last process left can't be recovered: the reason is at the end of {log}.",
                process.log_tail(log),
            )
        time.sleep(_POLL_SECONDS)
    return True


def _has_fenced(log: Path) -> bool:
    return _REPLAYED in _text(log).partition(_FENCED)[2]


def _text(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")
