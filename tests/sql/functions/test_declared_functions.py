"""A user's function that SQL can't call is rejected in one line with its place and the correction."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forebay.cli.main import run
from forebay.sql.errors import SqlError
from forebay.sql.extension.declaring import DECLARED, remove
from forebay.sql.extension.loading import VARIABLE, load_file
from forebay.sql.packaged import sql_service
from forebay.testing import TestDriver

HEAD = """from decimal import Decimal
from forebay.sql.extension import aggregate_function, scalar_function, table_function
"""


@pytest.fixture(autouse=True)
def no_functions() -> Iterator[None]:
    yield
    for name in list(DECLARED):
        remove(name)


def scalar(signature: str) -> str:
    return f"@scalar_function\ndef f{signature}:\n    return x"


def aggregate(methods: str) -> str:
    return "@aggregate_function\nclass F:\n" + "\n".join(
        f"    def {method}:\n        return None" for method in methods.split("; ")
    )


GOOD = "initialize(self) -> int; aggregate(self, s: int, x: int) -> int; merge(self, a: int, b: int) -> int"
REFUSED = {
    scalar("(x) -> str"): "the parameter x has no type: annotate it, such as x: str",
    scalar("(x: str)"): "nothing says what it returns: annotate it, such as def f(...) -> str",
    scalar("(x: str) -> object"): "the result: object is not a type of SQL: write int, float, str",
    scalar("(x: complex) -> str"): "the parameter x: complex is not a type of SQL",
    scalar("(x: int | str) -> str"): "is of several types",
    scalar("(x: str) -> Decimal"): "write Annotated[Decimal, 'DECIMAL(10, 2)']",
    scalar("(x: list[Decimal]) -> str"): "write Annotated[Decimal, 'DECIMAL(10, 2)']",
    scalar("(x: 'Missing') -> str"): "its annotations can't be read: name 'Missing' is not defined",
    scalar("(*, x: str) -> str"): "SQL passes no arguments by name: take x by position",
    scalar("(**x: str) -> str"): "SQL passes no arguments by name",
    "@table_function\ndef f(x: str) -> str: ...": "a table function returns several values: annotate it",
    "@scalar_function\ndef lpad(x: str) -> str: ...": "LPAD is a function or word of SQL itself: write another name",
    "@scalar_function\ndef explode(x: str) -> str: ...": "EXPLODE is a function or word of SQL itself",
    "@scalar_function\ndef count(x: str) -> str: ...": "COUNT is a function or word of SQL itself",
    "@scalar_function\ndef cast(x: str) -> str: ...": "CAST is a function or word of SQL itself",
    "@scalar_function\ndef transform(x: str) -> str: ...": "TRANSFORM is a function or word of SQL itself",
    "@scalar_function(name='a-b')\ndef f(x: str) -> str: ...": "A-B is not a name of a function: write name='...'",
    "@aggregate_function\ndef f(x: str) -> str: ...": "an aggregate function is a class",
    aggregate("initialize(self) -> int"): "it has no method aggregate: write def aggregate(self, state",
    aggregate(GOOD.replace("-> int; agg", "; agg")): "initialize: nothing says what it returns",
    aggregate(GOOD.replace(", x: int", "")): "aggregate takes a state and values",
    aggregate(GOOD.replace("s: int", "s: str")): "the state is BIGINT by initialize, but aggregate takes another type",
    aggregate(GOOD.replace("b: int) -> int", "b: int) -> str")): "but merge returns another type",
    aggregate(GOOD + "; undo(self, s: int, x: str) -> int"): "undo takes other values than aggregate",
    aggregate(GOOD + "; map(self, s: float) -> int"): "but map takes another type",
    aggregate(GOOD + "; __init__(self, n)"): "the parameter n has no type",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_declaration_is_refused_with_file_line_and_what_to_write(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEAD + text + "\n")
    with pytest.raises(SqlError) as refused:
        load_file(file)
    message = str(refused.value)
    assert "mine.py:3:1: " in message
    assert REFUSED[text] in message
    assert "\n" not in message
    assert not DECLARED


def test_two_functions_of_a_name_are_refused_with_both_places(tmp_path: Path) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    for file in (one, other):
        file.write_text(HEAD + scalar("(x: str) -> str"))
    load_file(one)
    with pytest.raises(SqlError, match=r"other.py:3:1: the function F is defined at .*one.py:3:1 already"):
        load_file(other)


@pytest.mark.parametrize(
    ("text", "says"),
    [("1 / 0", "line 1: ZeroDivisionError"), ("import missing_module", "missing_module"), ("def f(:", "SyntaxError")],
)
def test_a_file_that_fails_is_named_with_its_line(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(SqlError) as refused:
        load_file(file)
    assert "mine.py" in str(refused.value)
    assert says in str(refused.value)


STATEMENTS = """
CREATE STREAM s (id STRING KEY, n INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT id, TWICE(n) AS n FROM s;
"""
TWICE = HEAD + "from helper import FACTOR\n@scalar_function\ndef twice(n: int) -> int:\n    return n * FACTOR\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with statements, the functions that they call, and a file that these import."""
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helper.py").write_text("FACTOR = 2\n")
    (tmp_path / "twice.py").write_text(TWICE)
    (tmp_path / "statements.sql").write_text(STATEMENTS)
    return tmp_path


def test_a_file_is_named_on_the_command_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statements = str(files / "statements.sql")
    assert run(["sql", "-f", statements]) == 1
    assert "statements.sql:3:31: there is no function TWICE" in capsys.readouterr().err
    assert run(["sql", "-f", statements, "--functions", str(files / "twice.py")]) == 0
    assert "TWICE" in capsys.readouterr().out
    assert os.environ[VARIABLE] == str(files / "twice.py")


def sent(driver: TestDriver) -> list[Any]:
    driver.pipe_bytes(b"k", b'{"N": 4}', 0, "in")
    return [output.value for output in driver.outputs]


def test_a_package_names_its_functions_by_an_entry_point(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(files))
    (files / "pyproject.toml").write_text(
        '[project]\nname = "mine"\n[project.entry-points."forebay.sql_functions"]\nmine = "twice"\n'
    )
    _, job = sql_service("packaged", files / "statements.sql", "packaged.job")
    assert sent(TestDriver(job)) == [(8,)]


def test_an_entry_point_without_a_module_is_named(files: Path) -> None:
    (files / "pyproject.toml").write_text(
        '[project]\nname = "mine"\n[project.entry-points."forebay.sql_functions"]\nmine = "nowhere_at_all"\n'
    )
    with pytest.raises(SqlError, match=r"nowhere_at_all .*the entry point mine in pyproject.toml"):
        sql_service("packaged", files / "statements.sql", "packaged.job")
