"""The declaration of the service device-alerts."""

from __future__ import annotations

from forebay.declaration import declare

SERVICE = declare(
    name="device-alerts",
    summary="alerts of each device: hot readings, status changes, errors, heartbeats, silence and return",
    job="device_alerts.job",
    columns="device_alerts.columns",
)
