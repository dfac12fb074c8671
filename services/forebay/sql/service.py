"""Services from a file or folder with SQL statements.

The environment variable FOREBAY_SQL names the file or folder. Child processes and Spark's workers inherit it, so that
every process of a job reads the same statements.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from forebay.builder.topology import Topology
from forebay.builder.topology_job import job
from forebay.catalog import COMPACTED, KEEP_FOREVER, Service, Topic
from forebay.job import Job
from forebay.service.agreement import store_contracts
from forebay.sql.catalog import Wanted
from forebay.sql.compile import Compiler
from forebay.sql.errors import NOWHERE, Place, SqlError
from forebay.sql.extension.loading import load_functions
from forebay.sql.program import Program, program_of_statements
from forebay.sql.schemas.inference import Lookup
from forebay.sql.schemas.lookup import Kept, ask
from forebay.sql.scripts import Scripts
from forebay.sql.store_names import has_ended
from forebay.sql.syntax import Select, Statement

VARIABLE = "FOREBAY_SQL"
ENGINE = "FOREBAY_ENGINE"
"""Environment variable with the engine that started a job, which the job's process and Spark's workers inherit."""
MODULE = "forebay.sql.service"
PARTITIONS = 4
"""Number of partitions of a topic if no statement specifies it."""
_COMPUTE = "write CREATE STREAM or TABLE ... AS SELECT"


@dataclass(frozen=True, slots=True)
class NoSettings:
    """Settings without fields, because the logic is fully specified by SQL statements."""


def statements_of(path: Path) -> list[Statement]:
    """Return the statements of a file, or of a folder's `.sql` files in the order of their names. Raises SqlError."""
    load_functions()
    files = sorted(path.glob("*.sql")) if path.is_dir() else [path]
    if not files:
        raise SqlError(Place(str(path)), "the folder has no .sql files: put the statements into one")
    scripts = Scripts()
    statements = [statement for file in files for statement in scripts.read(file)]
    if not statements:
        raise SqlError(Place(files[0].name), f"there are no statements: {_COMPUTE}")
    return statements


def runnable(statements: list[Statement], lookup: Lookup = ask) -> Program:
    """Return the program of statements, after checking that it can run as a job. Raises SqlError.

    Args:
        statements: The statements.
        lookup: Returns the schemas of topics whose columns are not declared.
    """
    result = program_of_statements(
        (statement for statement in statements if not isinstance(statement, Select)), lookup=lookup
    )
    if not result.queries:
        place = statements[0].place if statements else NOWHERE
        raise SqlError(place, f"nothing is computed: {_COMPUTE}")
    return result


def job_of(statements: list[Statement], lookup: Lookup = ask) -> Job:
    """Return the job of statements, which are analyzed and compiled once per process. Raises SqlError."""
    program = runnable(statements, lookup)

    def build(_settings: NoSettings) -> Topology:
        topology = Compiler(program).run()
        # An engine's statements are final. A DROP may later be removed from a file, so the file's job keeps all rows.
        topology.has_ended = has_ended(program) if ENGINE in os.environ else None
        return topology

    return replace(job(NoSettings, build, is_shared=True), program=program.copy)


def name_of(path: Path) -> str:
    """Return the name of the service, which is that of the file or folder in lower case with hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-") or "sql"


def service_of(path: Path, statements: list[Statement], made: Job, lookup: Lookup = ask) -> Service:
    """Return the entry of a job in the table of services."""
    program = runnable(statements, lookup) if made.program is None else made.program()
    wanted = {source.topic: source.wanted for source in program.catalog if source.wanted != Wanted()}
    compacted = {query.target.topic for query in program.queries if query.is_table}
    compacted |= {source.topic for source in program.catalog if source.is_table}
    # Inputs are co-partitioned, so topics without PARTITIONS get the smallest number that a statement specifies.
    few = min((wanted.get(topic, Wanted()).partitions or PARTITIONS for topic in made.inputs), default=PARTITIONS)

    def topic_of(name: str) -> Topic:
        asked = wanted.get(name, Wanted())
        config = topic_config(name in compacted, asked.retention_ms)
        return Topic(name, "", asked.partitions or few, config, replicas=asked.replicas)

    return Service(
        name=name_of(path),
        summary=f"the statements of {path.name}",
        inputs=tuple(map(topic_of, made.inputs)),
        outputs=tuple(map(topic_of, made.outputs)),
        stores=store_contracts(made, NoSettings()),
        job=MODULE,
        stages=len(made.topology),
    )


def topic_config(is_table: bool, retention_ms: int | None) -> Mapping[str, str]:
    """Return the configuration of a topic with rows.

    Args:
        is_table: Whether the topic contains a table, so that it is compacted.
        retention_ms: Retention (ms), or None if it is not limited.
    """
    config = COMPACTED if is_table else KEEP_FOREVER
    if retention_ms is None:
        return config
    policy = {"cleanup.policy": "compact,delete"} if is_table else {}
    return {**config, **policy, "retention.ms": str(retention_ms)}


def path_of() -> Path:
    """Return the file or folder that the environment variable names. Raises SqlError."""
    named = os.environ.get(VARIABLE, "")
    if not named:
        raise SqlError(NOWHERE, f"no statements are named: set {VARIABLE} to a .sql file or a folder of them")
    return Path(named)


@cache
def load(path: Path) -> tuple[Job, Service]:
    """Return the job of a file or folder, and its entry in the table of services. Raises SqlError."""
    statements, lookup = statements_of(path), Kept(path)
    result = job_of(statements, lookup)
    return result, service_of(path, statements, result, lookup)


def program_at(path: Path) -> Program:
    """Return the program of a file or folder. Raises SqlError."""
    program: Callable[[], Program] | None = load(path)[0].program
    assert program is not None
    return program()


def __getattr__(name: str) -> Any:
    """Return JOB or SERVICE, which are created on first access."""
    if name == "JOB":
        return load(path_of())[0]
    if name == "SERVICE":
        return load(path_of())[1]
    raise AttributeError(name)
