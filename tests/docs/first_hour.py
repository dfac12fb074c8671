"""docs/first-hour.md as commands, and its changes of files."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.docs import walkthrough

PAGE = walkthrough.ROOT / "docs" / "first-hour.md"
NAME = "page-counts"


def of(language: str) -> list[str]:
    """Return the page's blocks of a language."""
    return [text for _, item, text in walkthrough.blocks(PAGE) if item == language]


def make(folder: Path) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Run the commands that make the service, in `folder`; give its folder and what they said."""
    first, *_ = of("bash")
    return folder / NAME, walkthrough.shell(folder, first)


def change(service: Path) -> None:
    """Change the logic and the test as the page tells."""
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
