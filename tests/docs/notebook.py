"""The code blocks of docs/notebook.md by heading."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "notebook.md"


def blocks() -> list[tuple[str, str]]:
    """Return the heading and code of each Python block, in order."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(), flags=re.MULTILINE)
    result = zip(parts[1::2], parts[2::2], strict=True)
    return [(heading, code) for heading, text in result for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL)]
