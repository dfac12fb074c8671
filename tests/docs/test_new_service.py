"""The files on docs/new-service.md form a complete, working service."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs import walkthrough

pytestmark = pytest.mark.long


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    walkthrough.write(tmp_path)
    return tmp_path


def test_every_block_is_a_file_a_command_or_the_overview() -> None:
    languages = [language for name, language, _ in walkthrough.blocks() if not name]
    assert languages == ["text", "bash", "bash", "sh", "sh"]
    assert walkthrough.PAGE.read_text().count("```") == 2 * len(walkthrough.blocks())


def test_the_overview_names_the_files() -> None:
    overview = next(text for _, language, text in walkthrough.blocks() if language == "text")
    named = set(re.findall(r"[\w*]+\.(?:py|avsc|toml|yaml)|Dockerfile", overview)) - {"__init__.py", "*.avsc"}
    assert named == {Path(name).name for name in walkthrough.files() if not name.endswith(".avsc")}


def test_its_tests_pass_and_the_command_line_knows_it(folder: Path) -> None:
    done = walkthrough.shell(folder, walkthrough.commands()[0])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
    assert "page-counts: views of each page, and each site's most viewed pages" in done.stdout
    assert "page_limit=1000 (int): most pages that are counted per site; the least viewed give way" in done.stdout


def test_once_installed_the_entry_point_is_enough(folder: Path) -> None:
    walkthrough.install(folder)
    done = walkthrough.shell(folder, 'PYTHONPATH="$PWD:$PYTHONPATH" forebay services')
    assert done.returncode == 0, done.stderr
    assert "page-counts" in done.stdout
    assert "user-sessions" in done.stdout


def test_the_option_names_it_too(folder: Path) -> None:
    script = 'export PYTHONPATH="$PWD:$PYTHONPATH"; forebay --services page_counts.service services page-counts --json'
    done = walkthrough.shell(folder, script)
    assert done.returncode == 0, done.stderr
    assert '"record": "PageView"' in done.stdout


def test_its_topic_can_be_produced(folder: Path) -> None:
    script = 'export PYTHONPATH="$PWD:$PYTHONPATH"; forebay --services page_counts.service produce nothing'
    done = walkthrough.shell(folder, script)
    assert done.returncode == 2
    assert "page_views" in done.stderr


def test_it_is_written_as_the_repository_is(folder: Path) -> None:
    options = f'--config "{walkthrough.ROOT}/pyproject.toml"'
    script = f"ruff check {options} --ignore I001,D103,D104 .; ruff format {options} --check ."
    done = walkthrough.shell(folder, script)
    assert done.returncode == 0, done.stdout
