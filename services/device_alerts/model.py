"""Records of the service, which match the contracts in avro/device-alerts field by field."""

from __future__ import annotations

from enum import StrEnum

from forebay.records import Record


class EventType(StrEnum):
    """Event types that the service handles. Any other type only shows that the device is present."""

    SENSOR_READING = "sensor_reading"
    STATUS_UPDATE = "status_update"
    ERROR = "error"
    HEARTBEAT = "heartbeat"


class AlertType(StrEnum):
    """The kind of an alert."""

    TEMPERATURE_ALERT = "TEMPERATURE_ALERT"
    STATUS_UPDATE = "STATUS_UPDATE"
    ERROR = "ERROR"
    HEARTBEAT_SUMMARY = "HEARTBEAT_SUMMARY"
    OFFLINE = "OFFLINE"
    ONLINE = "ONLINE"


class Status:
    """Statuses that the service sets. A status update may contain any other."""

    UNKNOWN = "unknown"
    ACTIVE = "active"
    ERROR = "error"
    ONLINE = "online"
    OFFLINE = "offline"


class DeviceEvent(Record):
    """An event of a device (topic device_events). Times in ms."""

    event_id: str | None
    device_id: str | None
    event_type: str
    value: str | float
    timestamp: int
    facility: str | None = None
    zone: str | None = None


class Device(Record):
    """State per device (store devices). Times in ms; None: never."""

    status: str
    status_at: int | None
    last_temp: float | None
    last_temp_at: int | None
    error_count: int
    heartbeat_count: int
    last_seen: int
    facility: str | None
    zone: str | None
    alerted_at: int | None
    offline_since: int | None
    watched: bool


class DeviceAlert(Record):
    """An alert (topic device_alerts). Times in ms. Fields that do not apply to its type are None."""

    alert_type: str
    device_id: str
    timestamp: int
    status: str
    event_id: str | None
    facility: str | None
    zone: str | None
    temperature: float | None = None
    threshold: float | None = None
    error_code: str | None = None
    error_count: int | None = None
    heartbeat_count: int | None = None
    last_seen: int | None = None
    silent_ms: int | None = None
