"""The code blocks of docs/notebook.md run in order as a script, on a separate broker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.notebook import blocks

pytestmark = pytest.mark.timeout(420)


def test_the_page_runs_as_a_script(tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n".join(code for _, code in blocks()))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    logs = "\n".join(file.read_text()[-2000:] for file in tmp_path.glob(".forebay/logs/*word-counts.log"))
    assert done.returncode == 0, done.stderr + logs
    assert "word-counts: stopped" in logs
