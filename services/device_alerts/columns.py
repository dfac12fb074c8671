"""The columns of device-alerts' results in the demo."""

from __future__ import annotations

from forebay.demo.columns import Column

COLUMNS = {
    "device_alerts": (
        Column("device", "device_id", 12),
        Column("alert", "alert_type", 17),
        Column("status", "status", 12),
        Column("temperature", "temperature", 11),
        Column("errors", "error_count", 6),
        Column("heartbeats", "heartbeat_count", 10),
        Column("facility", "facility", 12),
        Column("zone", "zone", 10),
    ),
}
