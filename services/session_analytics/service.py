"""The declaration of the service session-analytics."""

from __future__ import annotations

from forebay.declaration import declare

SERVICE = declare(
    name="session-analytics",
    summary="the figures of each user's session, after every click and once when it ended",
    job="session_analytics.job",
    columns="session_analytics.columns",
)
