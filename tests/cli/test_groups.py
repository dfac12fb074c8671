"""Each task group needs its own slot, so that more groups than slots are refused."""

from __future__ import annotations

import pytest

from forebay.cli.main import run


def test_more_groups_than_slots_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    reach = ("--bootstrap-servers", "b:1", "--schema-registry-url", "http://r:1")
    assert run(["run", "user-sessions", "--groups", "3", "--slots", "2", *reach]) == 2
    assert "--groups 3 needs --slots 3: each group occupies a slot" in capsys.readouterr().err
