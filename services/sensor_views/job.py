"""The job of sensor-views."""

from __future__ import annotations

from importlib import resources

from forebay.views import Source, load_views, views_job
from sensor_views.logic import check_reading
from sensor_views.model import Reading
from sensor_views.settings import SensorViewsSettings

READINGS = Source("readings", Reading, key="sensor", check=check_reading)
VIEWS = load_views(resources.files("sensor_views") / "views", READINGS)

JOB = views_job(SensorViewsSettings, READINGS, VIEWS)
