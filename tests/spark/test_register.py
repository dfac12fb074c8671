"""The format `forebay` is registered in sessions with and without Spark Connect."""

from __future__ import annotations

from typing import Any

import pytest

import forebay.spark

NAMES = ("spark.sql.python.filterPushdown.enabled", "spark.sql.timeType.enabled")


class Settings:
    """The settings of a session, which code can't change, as in a declarative pipeline."""

    def __init__(self, values: dict[str, str], *, is_locked: bool) -> None:
        self.values, self._is_locked = values, is_locked

    def get(self, name: str, default: str) -> str:
        if default not in ("true", "false"):
            raise ValueError(f"{name} is a boolean, not {default}")
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        if self._is_locked:
            raise RuntimeError("SESSION_MUTATION_IN_DECLARATIVE_PIPELINE")
        self.values[name] = value


class ConnectSession:
    """A session without a Spark context."""

    def __init__(self, values: dict[str, str], *, is_locked: bool) -> None:
        self.conf = Settings(values, is_locked=is_locked)
        self.sources: list[type[Any]] = []
        self.dataSource: Any = self

    def register(self, source: type[Any]) -> None:
        self.sources.append(source)


def register(session: Any) -> None:
    forebay.spark.register(session)


def test_a_session_of_spark_connect_takes_the_format() -> None:
    session = ConnectSession({}, is_locked=False)
    register(session)
    assert [source.name() for source in session.sources] == ["forebay"]
    assert session.conf.values == dict.fromkeys(NAMES, "true")


def test_a_pipeline_that_has_the_settings_takes_the_format() -> None:
    session = ConnectSession(dict.fromkeys(NAMES, "true"), is_locked=True)
    register(session)
    assert [source.name() for source in session.sources] == ["forebay"]


def test_a_pipeline_without_the_settings_gets_sparks_error() -> None:
    with pytest.raises(RuntimeError, match="SESSION_MUTATION"):
        register(ConnectSession({NAMES[0]: "true"}, is_locked=True))
