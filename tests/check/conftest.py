"""A service as `forebay new` generates it, for tests that break it. Each test uses a separate package."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from forebay.scaffold.project import write_project
from forebay.service.plugins import VARIABLE

_NUMBERS = count()


class Project:
    """A service's folder, which is also the current directory."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.package = name.replace("-", "_")
        self.folder = folder

    def change(self, file: str, old: str, new: str) -> None:
        """Replace `old` by `new` in a file of the package, which must contain it."""
        path = self.folder / self.package / file
        old, new = self.fill_names(old), self.fill_names(new)
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        importlib.invalidate_caches()

    def fill_names(self, text: str) -> str:
        return text.replace("PACKAGE", self.package).replace("NAME", self.name)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    project = Project(f"broken-{next(_NUMBERS)}", tmp_path / "project")
    write_project(project.name, project.folder)
    monkeypatch.chdir(project.folder)
    yield project
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == project.package:
            del sys.modules[name]
