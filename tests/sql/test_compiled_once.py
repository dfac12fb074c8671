"""Each statement of a file is analysed and compiled once per process, no matter how often the program is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forebay.service.agreement import check_agreement
from forebay.sql import compile as compiling
from forebay.sql import program as programs
from forebay.sql import service
from forebay.sql.analyze import Analysis
from forebay.sql.errors import NOWHERE
from forebay.testing import TestDriver

SOURCE = "CREATE STREAM s (k STRING KEY, a STRING, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');\n"
QUERY = "CREATE TABLE t{0} AS SELECT a, SUM(v + {0}) AS n FROM s GROUP BY a;\n"


@pytest.mark.parametrize("number", [1, 10])
def test_each_statement_is_compiled_once(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"understood": 0, "compiled": 0}
    compiler = compiling.Compiler._query

    def understand(*arguments: Any) -> Any:
        counts["understood"] += 1
        return Analysis(*arguments)

    def compile_one(*arguments: Any) -> Any:
        counts["compiled"] += 1
        return compiler(*arguments)

    monkeypatch.setattr(programs, Analysis.__name__, understand)
    monkeypatch.setattr(compiling.Compiler, "_query", compile_one)
    file = tmp_path / "many.sql"
    file.write_text(SOURCE + "".join(map(QUERY.format, range(number))))
    monkeypatch.setenv(service.VARIABLE, str(file))
    job, entry = service.JOB, service.SERVICE
    assert service.program_at(file).queries == job.program().queries
    check_agreement(entry, job)
    driver = TestDriver(job, tasks=4)
    driver.pipe_bytes(b"k", b'{"a": "x", "v": 1}', 1, "s")
    driver.restart()
    assert len(driver.outputs) == number
    assert counts == {"understood": number, "compiled": number}


def test_changing_a_copy_of_a_program_does_not_change_the_job(tmp_path: Path) -> None:
    file = tmp_path / "one.sql"
    file.write_text(SOURCE + QUERY.format(0))
    other = service.program_at(file)
    other.queries.clear()
    other.catalog.drop("T0", NOWHERE)
    assert [query.target.name for query in service.program_at(file).queries] == ["T0"]
    assert service.program_at(file).catalog.find("T0") is not None
