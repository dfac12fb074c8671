"""A file of SQL inside a package as a service of the table, with producers of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from forebay.catalog import Service
from forebay.job import Job
from forebay.sql.service import job_of, service_of, statements_of


def sql_service(name: str, path: Path, module: str, producers: Sequence[str] = ()) -> tuple[Service, Job]:
    """Return the entry and the job of a file of statements, or of a folder of them.

    Args:
        module: has both, as SERVICE and JOB.
        producers: modules that make records for its inputs.

    Raises:
        SqlError: says file, line, column, and what to write instead.
    """
    statements = statements_of(path)
    job = job_of(statements)
    return replace(service_of(path, statements, job), name=name, job=module, producers=tuple(producers)), job
