"""The declaration of the service user-sessions."""

from __future__ import annotations

from forebay.declaration import declare

SERVICE = declare(
    name="user-sessions",
    summary="session statistics of each user, after every activity and after each session's end",
    job="user_sessions.job",
    columns="user_sessions.columns",
)
