"""The service that the environment's definition files are, for the table of services (see forebay.plugins)."""

from __future__ import annotations

from forebay.ksml.mounting import mounted

SERVICE = mounted().service
JOB = mounted().job
