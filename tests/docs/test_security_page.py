"""docs/security.md lists the same rights for each role as the code computes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forebay.cli.main import run
from forebay.kafka.acls import Role

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
LISTED = dict(re.findall(r"<!-- forebay (acl [^\n]*) -->\n```\n(.*?)```", PAGE.read_text(), re.DOTALL))


def test_every_role_has_its_list() -> None:
    assert list(LISTED) == [f"acl user-sessions --role {role.value}" for role in Role]


@pytest.mark.parametrize("command", LISTED)
def test_the_list_is_what_the_command_prints(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command.split()) == 0
    assert capsys.readouterr().out == LISTED[command]
