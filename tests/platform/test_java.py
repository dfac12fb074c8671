from __future__ import annotations

from pathlib import Path

import pytest

from forebay.platform import PlatformError
from forebay.platform.java import find_java


def java_saying(directory: Path, version: str) -> Path:
    java = directory / "java"
    java.write_text(f"#!/bin/sh\necho '{version}' >&2\n", encoding="utf-8")
    java.chmod(0o755)
    return java


@pytest.fixture(autouse=True)
def only_this_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_no_java_is_refused_with_the_remedy() -> None:
    with pytest.raises(PlatformError, match=r"no Java found.*install a JRE 17 or newer"):
        find_java()


@pytest.mark.parametrize(
    ("version", "major"),
    [('openjdk version "11.0.2" 2019-01-15', 11), ('java version "1.8.0_292"', 8)],
)
def test_an_old_java_is_refused_by_its_version(tmp_path: Path, version: str, major: int) -> None:
    java_saying(tmp_path, version)
    with pytest.raises(PlatformError, match=f"is Java {major}, but Java 17 or newer is needed"):
        find_java()


@pytest.mark.parametrize("version", ['openjdk version "17.0.15" 2025-04-15', 'openjdk version "21" 2023-09-19'])
def test_java_on_path_is_found(tmp_path: Path, version: str) -> None:
    java = java_saying(tmp_path, version)
    assert find_java() == java


def test_something_that_is_no_java_is_refused(tmp_path: Path) -> None:
    java_saying(tmp_path, "hello")
    with pytest.raises(PlatformError, match="reports no version"):
        find_java()


def test_java_home_without_a_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java_saying(tmp_path, 'openjdk version "17.0.1"')
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(PlatformError, match="JAVA_HOME is /nowhere, but there is no bin/java"):
        find_java()
