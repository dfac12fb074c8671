"""The logic of device-alerts. Rules: docs/services/device-alerts.md."""

from __future__ import annotations

from device_alerts.model import AlertType, Device, DeviceAlert, DeviceEvent, Status
from device_alerts.reports import HEARTBEAT, STATUS_UPDATE, report_of
from device_alerts.settings import DeviceAlertsSettings
from forebay.processor import Context, Processor, Timer
from forebay.records import replace
from forebay.stores import KeyValueStore

SILENCE = "silence"

_TEMPERATURE_ALERT = AlertType.TEMPERATURE_ALERT.value
_STATUS_UPDATE = AlertType.STATUS_UPDATE.value
_ERROR = AlertType.ERROR.value
_HEARTBEAT_SUMMARY = AlertType.HEARTBEAT_SUMMARY.value


class DeviceAlerts(Processor[DeviceEvent, DeviceAlert]):
    """Keeps each device's state, and sends an alert if an event, or the lack of events, requires one."""

    devices = KeyValueStore("devices", Device)

    def __init__(self, settings: DeviceAlertsSettings | None = None) -> None:
        settings = settings or DeviceAlertsSettings()
        self._threshold = float(settings.temperature_threshold)
        self._heartbeat_every = settings.heartbeat_every
        self._offline_after_ms = settings.offline_after_ms
        self._realert_after_ms = settings.realert_after_ms

    def process(self, event: DeviceEvent, ctx: Context[DeviceAlert]) -> None:
        """Update the device's state from the event, then send the alert that it requires.

        The timer is set once per period of presence, not once per event, because moving it costs more than the event.
        """
        key, ts = ctx.key, event.timestamp
        status, temperature, error_code = report_of(event)
        device = self.devices.get(key) or _unknown(ts)
        if device.offline_since is not None:
            device = self._looked_for(device, event, status, ctx)
        is_hot = temperature is not None and self._is_hot(temperature, ts, device.alerted_at)
        watched = device.watched
        if not watched and device.offline_since is None and self._offline_after_ms:
            ctx.schedule(SILENCE, ts + self._offline_after_ms)
            watched = True
        facility, zone = event.facility or device.facility, event.zone or device.zone
        errors = device.error_count if error_code is None else device.error_count + 1
        heartbeats = device.heartbeat_count + 1 if event.event_type == HEARTBEAT else device.heartbeat_count
        is_newest = ts >= device.last_seen
        reported, reported_at = _status(device, status, ts)
        last_temp, last_temp_at = _temperature(device, temperature, ts)
        self.devices.put(
            key,
            replace(
                device,
                status=reported,
                status_at=reported_at,
                last_temp=last_temp,
                last_temp_at=last_temp_at,
                error_count=errors,
                heartbeat_count=heartbeats,
                last_seen=ts if is_newest else device.last_seen,
                facility=facility if is_newest else device.facility or facility,
                zone=zone if is_newest else device.zone or zone,
                alerted_at=max(ts, device.alerted_at or ts) if is_hot else device.alerted_at,
                watched=watched,
            ),
        )
        if status is None:
            return
        update = DeviceAlert(
            alert_type=_STATUS_UPDATE,
            device_id=key,
            timestamp=ts,
            status=status,
            event_id=event.event_id,
            facility=facility,
            zone=zone,
        )
        if is_hot:
            ctx.forward(
                replace(update, alert_type=_TEMPERATURE_ALERT, temperature=temperature, threshold=self._threshold)
            )
        elif error_code is not None:
            ctx.forward(replace(update, alert_type=_ERROR, error_code=error_code, error_count=errors))
        elif event.event_type == STATUS_UPDATE:
            ctx.forward(update)
        elif event.event_type == HEARTBEAT and heartbeats % self._heartbeat_every == 0:
            ctx.forward(replace(update, alert_type=_HEARTBEAT_SUMMARY, heartbeat_count=heartbeats))

    def on_timer(self, timer: Timer, ctx: Context[DeviceAlert]) -> None:
        """Mark the device as offline if it has been silent long enough. Otherwise, move the timer to that time."""
        device = self.devices.get(timer.key)
        if device is None:
            return
        if not self._offline_after_ms:
            self.devices.put(timer.key, replace(device, watched=False))
            return
        due = device.last_seen + self._offline_after_ms
        if due > timer.due:
            ctx.schedule(SILENCE, due)
            return
        self.devices.put(timer.key, replace(device, status=Status.OFFLINE, offline_since=timer.due, watched=False))
        ctx.forward(_presence(AlertType.OFFLINE, timer.key, timer.due, Status.OFFLINE, device, None))

    def _looked_for(self, device: Device, event: DeviceEvent, status: str | None, ctx: Context[DeviceAlert]) -> Device:
        """Send ONLINE and return the device as present, unless it would be offline again at once."""
        ts = event.timestamp
        if (self._offline_after_ms and ts + self._offline_after_ms <= ctx.closing_time) or ts <= device.last_seen:
            return device
        status = status or Status.ONLINE
        ctx.forward(_presence(AlertType.ONLINE, ctx.key, ts, status, device, event))
        return replace(device, status=status, status_at=ts, offline_since=None)

    def _is_hot(self, temperature: float, ts: int, alerted_at: int | None) -> bool:
        """Return whether a reading causes an alert, which is not the case within `realert_after_ms` of the last one."""
        if temperature <= self._threshold:
            return False
        return alerted_at is None or abs(ts - alerted_at) >= self._realert_after_ms


def _unknown(ts: int) -> Device:
    return Device(
        status=Status.UNKNOWN,
        status_at=None,
        last_temp=None,
        last_temp_at=None,
        error_count=0,
        heartbeat_count=0,
        last_seen=ts,
        facility=None,
        zone=None,
        alerted_at=None,
        offline_since=None,
        watched=False,
    )


def _status(device: Device, reported: str | None, ts: int) -> tuple[str, int | None]:
    """Return the status of the latest report, and its time. Reports do not change the status of an offline device."""
    at = device.status_at
    if reported is None or device.offline_since is not None or (at is not None and ts < at):
        return device.status, at
    return reported, ts


def _temperature(device: Device, reading: float | None, ts: int) -> tuple[float | None, int | None]:
    """Return the last reading and its time."""
    at = device.last_temp_at
    if reading is None or (at is not None and ts < at):
        return device.last_temp, at
    return reading, ts


def _presence(
    alert: AlertType, key: str, ts: int, status: str, device: Device, event: DeviceEvent | None
) -> DeviceAlert:
    facility, zone = device.facility, device.zone
    event_id = None
    if event is not None:
        facility, zone, event_id = event.facility or facility, event.zone or zone, event.event_id
    return DeviceAlert(
        alert_type=alert.value,
        device_id=key,
        timestamp=ts,
        status=status,
        event_id=event_id,
        facility=facility,
        zone=zone,
        last_seen=device.last_seen,
        silent_ms=ts - device.last_seen,
    )
