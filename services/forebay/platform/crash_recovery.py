"""Let the controller notice a crash before the broker comes back.

A restarted KRaft broker whose old session still counts leads its partitions for a moment, loads its
transactions, and loses the leadership when the old session expires. Commit markers that fall into that gap
are dropped as "likely deleted already": the transaction counts as complete, and readers of committed records
stop before it for ever (seen with Kafka 4.3.0 in half of the kills right after a commit). So after a crash the
controller first runs alone, until it has fenced the crashed broker.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from forebay.platform import process
from forebay.platform.errors import PlatformError

_FENCED = "because its session has timed out"
_ALONE_SECONDS = 20.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.05


def crashed(data: Path) -> bool:
    """Tell whether the broker that used this data directory last ended without closing it."""
    return (data / "__cluster_metadata-0").is_dir() and not (data / ".kafka_cleanshutdown").exists()


def fence_crashed_broker(java: Path, command: Sequence[str], log: Path) -> None:
    """Run the controller alone (`command`, a short session timeout) until it has fenced the crashed broker.

    A broker that was fenced before its crash is not fenced again: then this ends after 20 s.

    Raises:
        PlatformError: the controller doesn't start; holds the log's last lines.
    """
    log.unlink(missing_ok=True)
    controller = process.spawn(java, command, log, "controller")
    try:
        deadline = time.monotonic() + _ALONE_SECONDS
        while _FENCED not in log.read_text(encoding="utf-8", errors="replace") and time.monotonic() < deadline:
            if process.find(controller) is None:
                raise PlatformError(
                    f"the broker can't be recovered after its crash: the reason is at the end of {log}.",
                    process.log_tail(log),
                )
            time.sleep(_POLL_SECONDS)
        process.terminate(controller, _STOP_SECONDS)
    finally:
        process.kill(controller)
