"""Settings of the service's logic."""

from __future__ import annotations

import math
from dataclasses import dataclass

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class DeviceAlertsSettings:
    """The settings of the logic that an operator can change.

    Args:
        temperature_threshold: readings above it are hot.
        heartbeat_every: number of a device's heartbeats after which a summary is sent.
        offline_after_ms: a device is offline after this long without an event, in ms of stream time; 0 = never.
        realert_after_ms: hot readings closer than this to the device's last temperature alert, in ms of event time,
            cause no alert; 0 = all cause one.

    Raises:
        ValueError: a value is invalid.
    """

    temperature_threshold: float = 75.0
    heartbeat_every: int = 10
    offline_after_ms: int = 5 * MINUTE_MS
    realert_after_ms: int = 0

    def __post_init__(self) -> None:
        if not math.isfinite(self.temperature_threshold):
            raise ValueError(f"temperature_threshold is {self.temperature_threshold}: use a finite number")
        if self.heartbeat_every < 1:
            raise ValueError(f"heartbeat_every is {self.heartbeat_every}: use 1 (each heartbeat) or more")
        if self.offline_after_ms < 0:
            raise ValueError(f"offline_after_ms is {self.offline_after_ms}: use 0 (never) or a positive number of ms")
        if self.realert_after_ms < 0:
            raise ValueError(
                f"realert_after_ms is {self.realert_after_ms}: use 0 (mute none) or a positive number of ms"
            )
