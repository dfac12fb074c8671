"""The code version changes whenever a file of the service's package changes that can affect results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forebay.catalog import Service, Topic, all_services
from forebay.runtime.code_version import code_version

SERVICES = all_services()

JOB = """
from dataclasses import dataclass
from forebay.job import Job
@dataclass(frozen=True)
class Settings:
    limit: int = 1
JOB = Job({}, {}, Settings, None)
"""
SERVICE = Service("versioned", "counts", (Topic("in"),), (Topic("out"),), {}, "versioned.job")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "versioned"
    (folder / "views").mkdir(parents=True)
    for name, text in {
        "__init__.py": "",
        "job.py": JOB,
        "counts.py": "LIMIT = 1",
        "views/totals.sql": "SELECT 1",
        "pipeline.yaml": "streams: {}",
        "README.md": "words",
    }.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "versioned"]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["counts.py", "job.py", "views/totals.sql", "pipeline.yaml"])
def test_a_change_of_any_file_that_computes_is_another_version(package: Path, name: str) -> None:
    before = code_version(SERVICE, {})
    file = package / name
    file.write_text(file.read_text() + " \n")
    assert code_version(SERVICE, {}) != before


def test_a_file_that_is_added_or_renamed_is_another_version(package: Path) -> None:
    before = code_version(SERVICE, {})
    (package / "views" / "totals.sql").rename(package / "views" / "sums.sql")
    assert code_version(SERVICE, {}) != before


def test_settings_are_part_of_it_and_other_files_are_not(package: Path) -> None:
    before = code_version(SERVICE, {})
    (package / "README.md").write_text("other words")
    assert code_version(SERVICE, {}) == before
    assert code_version(SERVICE, {"limit": 2}) != before


def test_the_services_of_the_table_have_versions() -> None:
    versions = [code_version(service, {}) for service in SERVICES.values()]
    assert len(set(versions)) == len(SERVICES)
