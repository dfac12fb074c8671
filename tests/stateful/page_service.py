"""The service of docs/transform-with-state.md as files."""

from __future__ import annotations

from pathlib import Path

from tests.docs import walkthrough

PAGE = Path(__file__).parents[2] / "docs" / "transform-with-state.md"
BLOCKS = [text for name, language, text in walkthrough.blocks(PAGE) if language == "python" and not name]
"""The page's code without a file name: class, job, test, initial state."""
(COMMANDS,) = [text for _, language, text in walkthrough.blocks(PAGE) if language == "bash"]


def write_service(folder: Path) -> None:
    """Write the service's two files."""
    (folder / "user_visits.py").write_text("\n\n".join(BLOCKS[:2]))
    for name, _, text in walkthrough.blocks(PAGE):
        if name:
            (folder / name).write_text(text)
