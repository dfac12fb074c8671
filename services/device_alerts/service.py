"""The entry of device-alerts in the table of services."""

from __future__ import annotations

from device_alerts.job import JOB
from forebay.declaration import declare

SERVICE = declare(
    JOB,
    name="device-alerts",
    summary="alerts of each device: hot readings, status changes, errors, heartbeats, silence and return",
    module="device_alerts.job",
    columns="device_alerts.columns",
)
