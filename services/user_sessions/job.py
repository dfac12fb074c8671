"""The job of user-sessions."""

from __future__ import annotations

from forebay.job import Job
from user_sessions.logic import UserSessions
from user_sessions.model import UserActivity, UserSessionStats
from user_sessions.settings import UserSessionsSettings

JOB = Job(
    inputs={"user_activity": UserActivity},
    outputs={"user_session_stats": UserSessionStats},
    settings=UserSessionsSettings,
    processor=UserSessions,
)
