"""The service of the environment's definition files, for the table of services (see forebay.service.plugins)."""

from __future__ import annotations

from forebay.ksml.mounting import read_mounts
from forebay.ksml.registered import NEEDED

SERVICE = read_mounts(registry=NEEDED).service
JOB = read_mounts(registry=NEEDED).job
