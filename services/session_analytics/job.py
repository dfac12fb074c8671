"""The job of session-analytics."""

from __future__ import annotations

from forebay.job import Job
from session_analytics.logic import SessionAnalyst
from session_analytics.model import SessionAnalytics, UserClick
from session_analytics.settings import SessionAnalyticsSettings

JOB = Job(
    inputs={"user_clicks": UserClick},
    outputs={"session_analytics": SessionAnalytics},
    settings=SessionAnalyticsSettings,
    processor=SessionAnalyst,
)
