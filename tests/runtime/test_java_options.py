"""Java's options name the archive of Spark's classes only where there is one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from forebay.runtime.session import archive_file, archive_options


def test_the_archive_belongs_to_the_python_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "an environment"))
    assert archive_options() == ""
    archive_file().parent.mkdir(parents=True)
    archive_file().write_bytes(b"classes")
    assert archive_options().startswith(f'"-XX:SharedArchiveFile={tmp_path}/an environment/share/forebay/spark-')
