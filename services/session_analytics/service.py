"""The entry of session-analytics in the table of services."""

from __future__ import annotations

from forebay.declaration import declare
from session_analytics.job import JOB

SERVICE = declare(
    JOB,
    name="session-analytics",
    summary="the figures of each user's session, after every click and once when it ended",
    module="session_analytics.job",
    columns="session_analytics.columns",
)
