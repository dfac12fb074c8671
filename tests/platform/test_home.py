from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from forebay.platform import Platform, PlatformError
from forebay.platform.home import STATE_FILE, default_home, delete_home, lock, make_home


def test_a_directory_that_cant_be_made_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(PlatformError, match=r"can't write under .*file/home.*--home or FOREBAY_HOME"):
        make_home(tmp_path / "file" / "home")


def test_a_read_only_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(PlatformError, match=r"Read-only file system"):
        make_home(tmp_path / "home")


def test_a_full_disk_is_refused_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type(shutil.disk_usage(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 10**6, 10**6))
    with pytest.raises(PlatformError, match=r"only 1 MB are free under .*537 MB are needed"):
        Platform(tmp_path / "home").up()


def test_two_commands_at_once_are_refused(tmp_path: Path) -> None:
    with lock(tmp_path), pytest.raises(PlatformError, match="another forebay command"), lock(tmp_path):
        pass
    with lock(tmp_path):
        pass


def test_only_a_platforms_directory_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("", encoding="utf-8")
    with pytest.raises(PlatformError, match="holds no platform"):
        delete_home(tmp_path)
    assert (tmp_path / "precious").exists()
    (tmp_path / STATE_FILE).write_text("{}", encoding="utf-8")
    delete_home(tmp_path)
    assert not tmp_path.exists()


def test_the_default_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FOREBAY_HOME", raising=False)
    assert default_home() == tmp_path / ".forebay"
    monkeypatch.setenv("FOREBAY_HOME", "/data/forebay")
    assert default_home() == Path("/data/forebay")
