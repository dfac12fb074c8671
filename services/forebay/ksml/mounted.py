"""The service that the environment's definition files are, for the table of services (see forebay.plugins)."""

from __future__ import annotations

from forebay.ksml.mounting import mounted
from forebay.ksml.registered import NEEDED

SERVICE = mounted(registry=NEEDED).service
JOB = mounted(registry=NEEDED).job
