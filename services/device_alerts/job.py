"""The job of device-alerts."""

from __future__ import annotations

from device_alerts.logic import DeviceAlerts
from device_alerts.model import DeviceAlert, DeviceEvent
from device_alerts.settings import DeviceAlertsSettings
from forebay.job import Job

JOB = Job(
    inputs={"device_events": DeviceEvent},
    outputs={"device_alerts": DeviceAlert},
    settings=DeviceAlertsSettings,
    processor=DeviceAlerts,
)
