"""A test driver for the service's logic, with its contracts."""

from __future__ import annotations

import functools
from typing import Any

from forebay.processor.codecs import Codecs
from forebay.serde import AvroCodec, LocalSchemas, load_contract
from forebay.testing import TestDriver
from user_sessions.logic import UserSessions
from user_sessions.model import Location, UserActivity, UserProfile, UserSessionStats
from user_sessions.settings import UserSessionsSettings

START = 1_735_689_600_000
SECOND = 1000
MINUTE = 60 * SECOND

Driver = TestDriver


@functools.cache
def codec(record_type: type[Any]) -> AvroCodec[Any]:
    """Return the codec of a record type with its contract, without a registry."""
    schemas = LocalSchemas()
    return AvroCodec(record_type, schemas.register(load_contract("user-sessions", record_type.__name__)), schemas)


def driver(settings: UserSessionsSettings | None = None, dedupe_retention_ms: int = 600_000) -> Driver:
    codecs = Codecs(
        {"user_activity": codec(UserActivity)},
        {"user-profiles": codec(UserProfile)},
        {"user_session_stats": codec(UserSessionStats)},
    )
    return TestDriver(UserSessions(settings), codecs, service="user-sessions", dedupe_retention_ms=dedupe_retention_ms)


def activity(at: int, session: str = "s1", **fields: Any) -> UserActivity:
    """Return an event `at` ms after START."""
    values: dict[str, Any] = {
        "event_id": None,
        "user_id": "ann",
        "action": "click",
        "session_id": session,
        "duration_ms": 10,
        "timestamp": START + at,
        "page": "/home",
        "browser": "firefox",
        "device_type": "desktop",
        "location": Location("NL", "Utrecht"),
    }
    return UserActivity(**values | fields)


def pipe(to: Driver, at: int, session: str = "s1", key: str = "ann", **fields: Any) -> UserSessionStats:
    """Process one event of `key` and return its only output."""
    (output,) = to.pipe(key, activity(at, session, **fields))
    assert output.key == key
    assert output.timestamp == START + at
    value: UserSessionStats = output.value
    return value


def profile(of: Driver, key: str = "ann") -> UserProfile:
    """Return the state of `key`."""
    result = of.store("user-profiles")[key]
    assert isinstance(result, UserProfile)
    return result
