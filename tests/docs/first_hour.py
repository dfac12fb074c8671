"""The commands and file changes of docs/first-hour.md."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.docs import walkthrough

PAGE = walkthrough.ROOT / "docs" / "first-hour.md"
NAME = "page-counts"


def of(language: str) -> list[str]:
    """Return the page's code blocks of a language."""
    return [text for _, item, text in walkthrough.blocks(PAGE) if item == language]


def make(folder: Path) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Run the commands that create the service in `folder`. Return the service's folder and the finished process."""
    first, *_ = of("bash")
    return folder / NAME, walkthrough.shell(folder, first)


def change(service: Path) -> None:
    """Change the logic and its test as the page describes."""
    (diff,) = of("diff")
    old = "".join(line[1:] for line in diff.splitlines(keepends=True) if line.startswith("-"))
    new = "".join(line[1:] for line in diff.splitlines(keepends=True) if line.startswith("+"))
    logic = service / "page_counts" / "logic.py"
    text = logic.read_text()
    assert text.count(old) == 1
    logic.write_text(text.replace(old, new))
    (added,) = of("python")
    test = service / "test_page_counts.py"
    test.write_text(f"{test.read_text()}\n\n{added}")
