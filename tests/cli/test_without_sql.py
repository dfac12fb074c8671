"""Commands that need no SQL load without the extra `sql`."""

from __future__ import annotations

import subprocess
import sys

import pytest

_COMMANDS = ("run", "queries", "console", "tail", "topics", "status")


@pytest.mark.parametrize("command", _COMMANDS)
def test_a_command_loads_without_the_parser_of_sql(command: str) -> None:
    code = f"import sys; sys.modules |= dict.fromkeys(('regex', 'sqlglot')); import forebay.cli.{command}"
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
