"""The commands of docs/first-hour.md work as printed, up to the first step that needs a broker."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forebay.cli.main import COMMANDS
from tests.docs import first_hour, walkthrough

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def made_service(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, done = first_hour.make(tmp_path_factory.mktemp("first-hour"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert first_hour.of("text")[0] in done.stdout
    assert "5 passed" in done.stdout
    return folder


@pytest.fixture
def service(made_service: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made_service, tmp_path / made_service.name)


def test_the_change_and_its_test_work(service: Path) -> None:
    first_hour.change(service)
    done = walkthrough.shell(service, first_hour.of("bash")[1])
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def test_the_mistake_is_reported_as_the_page_shows(service: Path) -> None:
    first_hour.change(service)
    logic = service / "page_counts" / "logic.py"
    logic.write_text(logic.read_text().replace("event.amount", "event.amont", 1))
    logic.write_text(logic.read_text().replace("if event.amont <", "if event.amount <"))
    logic.write_text(logic.read_text().replace("-event.amount", "-event.amont"))
    done = walkthrough.shell(service, "forebay check page-counts")
    assert done.returncode == 1
    assert done.stderr.split() == first_hour.of("text")[1].split()


def test_every_command_of_the_page_is_one() -> None:
    named = {
        line.split()[1]
        for text in first_hour.of("bash") + first_hour.of("sh")
        for line in text.splitlines()
        if line.startswith("forebay ")
    }
    assert {"new", "check", "demo", "up", "produce", "run", "tail", "queries"} <= named <= COMMANDS.keys()
