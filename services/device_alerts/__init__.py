"""Device alerts: device_events -> device_alerts."""
