"""forebay sql on the command line."""

from __future__ import annotations

import pytest

from forebay.cli.main import run


def test_a_server_that_is_no_url_is_refused_with_what_one_looks_like(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "--server", "foo", "-e", "SHOW TABLES;"]) == 2
    assert "--server foo: write the query server's URL, such as http://127.0.0.1:7070" in capsys.readouterr().err
