"""forebay sql on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.cli.main import run


def test_a_server_that_is_no_url_is_refused_with_what_one_looks_like(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "--server", "foo", "-e", "SHOW TABLES;"]) == 2
    assert "--server foo: write the query server's URL, such as http://127.0.0.1:7070" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "views.sql:1:1: there are no statements: write CREATE STREAM or TABLE ... AS SELECT"),
        ("\nSELECT * FROM s;", "views.sql:2:1: nothing is computed: write CREATE STREAM or TABLE ... AS SELECT"),
    ],
)
def test_a_file_that_computes_nothing_is_refused_before_it_runs(
    text: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "views.sql"
    file.write_text(text)
    assert run(["sql", "-f", str(file)]) == 1
    assert problem in capsys.readouterr().err


def test_a_file_of_declarations_can_be_asked_what_it_declares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "views.sql"
    file.write_text("CREATE STREAM s (id BIGINT KEY) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');")
    assert run(["sql", "-f", str(file), "-e", "SHOW STREAMS;", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("S,in,")
