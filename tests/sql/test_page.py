"""The statements in docs/sql.md run, its queries parse, and the functions that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forebay.sql.aggregates.loaded import AGGREGATES
from forebay.sql.compile import topology_of
from forebay.sql.errors import SqlError
from forebay.sql.exploding import TABLE_FUNCTIONS
from forebay.sql.extension.declaring import DECLARED, remove
from forebay.sql.extension.loading import load_file
from forebay.sql.functions import loaded
from forebay.sql.functions.registry import SIGNATURES, SPECIAL
from forebay.sql.program import program_of
from forebay.sql.reading import reading_of
from tests.sql.driven import Driven

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text()
BLOCKS = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


def test_the_statements_of_the_page_become_topologies() -> None:
    for block, queries in ((BLOCKS[0], 2), (BLOCKS[0] + BLOCKS[2], 3), (BLOCKS[3], 6)):
        program = program_of(block, "page.sql")
        assert topology_of(program).graph.nodes
        assert len(program.queries) == queries


def test_the_queries_of_the_page_are_understood() -> None:
    program = program_of(BLOCKS[0] + BLOCKS[1])
    readings = [reading_of(select.query, program.catalog) for select in program.selects]
    assert [reading.keys for reading in readings] == [(("sensor-1",),), (("sensor-1",),), None]


def test_error_message_matches_the_page() -> None:
    (shown,) = re.findall(r"```text\n(.*?)\n```", PAGE)
    head = BLOCKS[0].split("CREATE TABLE")[0].replace("\n", "").replace("  WITH", " \n\nWITH") + "\n"
    wrong = head + "CREATE TABLE a AS SELECT sensor,    area FROM readings GROUP BY sensor;"
    with pytest.raises(SqlError) as refused:
        program_of(wrong, "readings.sql")
    assert str(refused.value).partition(": ")[2] == shown.partition(": ")[2]


def test_the_functions_of_the_page_exist() -> None:
    assert loaded.MODULES
    listed = PAGE[PAGE.index("## Aggregates") : PAGE.index("**Nulls and errors.**")]
    known = {*SIGNATURES, *SPECIAL, *AGGREGATES, *TABLE_FUNCTIONS}
    for name in re.findall(r"`([A-Z_]+(?:\.\.\.)?)`", listed):
        plain = name.removesuffix("...")
        assert plain in known or any(item.startswith(plain) for item in known), name


def test_the_functions_in_python_of_the_page_are_called(tmp_path: Path) -> None:
    file = tmp_path / "functions.py"
    file.write_text(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0])
    load_file(file)
    try:
        driven = Driven(BLOCKS[-1])
        assert driven.send("guests", "k", {"NAME": "Ada King", "SHARE": 0.5}) == [
            ("k", ("AK", "Ada"), 0),
            ("k", ("AK", "King"), 0),
            ("k", (0.5,), 0),
        ]
    finally:
        for name in list(DECLARED):
            remove(name)
