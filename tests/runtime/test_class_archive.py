"""The class archive of a failed training run is discarded, because it may lack classes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from forebay.runtime.driver import class_archive

NOISE = "[1.0s][warning][cds] Skipping some/Class: Not linked\n"


def test_the_archive_of_a_failed_java_process_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        Path(command[-1]).write_bytes(b"half of the classes")
        return subprocess.CompletedProcess(command, 1, "", f"{NOISE}StreamingQueryException: of the query\n{NOISE}")

    monkeypatch.setattr(subprocess, "run", fails)
    with pytest.raises(OSError, match=r"did not complete the archive: StreamingQueryException: of the query$"):
        class_archive.build(tmp_path / "spark.jsa")
    assert list(tmp_path.iterdir()) == []


def test_a_training_without_an_archive_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, "", NOISE))
    with pytest.raises(OSError, match=r"did not complete the archive: $"):
        class_archive.build(tmp_path / "spark.jsa")
