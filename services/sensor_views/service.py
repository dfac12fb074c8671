"""The declaration of the service sensor-views."""

from __future__ import annotations

from forebay.declaration import declare

SERVICE = declare(
    name="sensor-views",
    summary="average readings per sensor and per area, kept by SQL views",
    job="sensor_views.job",
    compacted=("avg_readings", "part_avg"),
)
